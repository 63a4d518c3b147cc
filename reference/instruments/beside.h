/* beside.h -- a file is written beside, and then put in its place
 *
 * A path holds the old file or the whole new one, and after an error still the old
 * one.  What is written beside is called .twicetold-PID-N, lies in the same folder, and
 * is locked for as long as somebody writes to it.
 *
 *     struct beside b;
 *     status s = beside_open(&b, path);
 *     if (!s.code && fputs(text, b.file) < 0) s = path_refused("written", path, errno);
 *     return beside_close(&b, s);
 *
 * The new file takes over the old one's permissions, its owner and its group; where the
 * group is not ours to give, it takes none of the group's permissions.  A symbolic link
 * is followed: the file it names is replaced, the link stays.
 *
 * A killed process leaves its file beside behind.  Whoever writes next into that folder
 * finds it without a lock, and removes it.  The new file is flushed to the disk (fsync)
 * before it is renamed, so a machine that loses power keeps one of the two, whole.  The
 * folder is not flushed: that one may still be the old file. */

#ifndef TWICETOLD_BESIDE_H
#define TWICETOLD_BESIDE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct beside {
    FILE *file;                 /* to be written to */
    const char *path, *base;    /* as it was given; the name in its folder */
    char *followed;             /* where a link led, or NULL */
    int folder, slot;           /* held open, as the name beside may be longer than the path may grow */
    char name[48];              /* of the file beside; empty where there is none */
    bool old;                   /* a file is replaced: */
    struct stat found;
};

/* STATUS_BAD_INPUT where path is a folder or no regular file, may not be written to, or
 * its folder is absent or not writable; STATUS_FAILURE where the machine fails.  The path
 * must outlive it.  After an error beside_close is allowed, and does nothing but hand it back. */
status beside_open(struct beside *b, const char *path);

/* Puts the file in its place, or, where s is an error or this is one, takes it back.  The
 * first error is returned. */
status beside_close(struct beside *b, status s);

/* Removes all files that this process is writing beside.  For a signal's handler, behind
 * which the process ends. */
void beside_remove_all(void);

/* "PATH cannot be BE_DONE: ...", of an errno: the caller's fault where another path would
 * have helped, the machine's where it would not. */
status path_refused(const char *be_done, const char *path, int error);

#ifdef __cplusplus
}
#endif

#endif
