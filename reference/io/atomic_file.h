/* atomic_file.h -- replace a file completely or not at all
 *
 *     struct atomic_file f;
 *     status s = atomic_file_open(&f, path);
 *     if (!s.code && fputs(text, f.file) < 0) s = path_error("written", path, errno);
 *     return atomic_file_close(&f, s);
 *
 * The data goes to PATH.tmp, which is flushed to the disk (fsync) and renamed.  A killed process leaves PATH.tmp, which
 * the next one overwrites.  So two processes must not write the same PATH at the same time.
 *
 * The new file has the permission bits of the old one.  A symbolic link is followed: the file it names is replaced, the
 * link stays.  A name must be at least four bytes shorter than the file system allows.
 *
 * Pipes, sockets and character devices are written directly, and so is standard output, by the name "-". */

#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include "../runtime/status.h"

BEGIN_C_DECLS

struct atomic_file {
    FILE *file;                 /* write here */
    const char *path;           /* as the caller gave it */
    char *target;               /* path with links followed; NULL for a new file */
    char *temporary;            /* target with ".tmp" */
    bool replaces;              /* there is an old file, with this mode: */
    mode_t mode;
};

/* True if the path is "-", or a file that is no regular one and no folder. */
bool is_stream(const char *path);

/* STATUS_BAD_INPUT if path is a folder or a block device, may not be written to, or its folder is absent or not
 * writable; STATUS_FAILURE for other errors.  After an error nothing is open.  path must outlive the open file. */
status atomic_file_open(struct atomic_file *f, const char *path);

/* Rename the new file, or remove it if s or this call is an error.  Return the first error. */
status atomic_file_close(struct atomic_file *f, status s);

/* Remove the temporary file that is open, the last one if there are several.  For a signal handler that then ends the
 * process. */
void atomic_file_remove(void);

/* "PATH cannot be BE_DONE: ..." from an errno: bad input if another path would have worked, otherwise a failure. */
status path_error(const char *be_done, const char *path, int error);

END_C_DECLS
