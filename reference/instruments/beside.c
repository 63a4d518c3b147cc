/* beside.c -- a file is written beside, and then put in its place; see beside.h */

#define _DEFAULT_SOURCE         /* flock, realpath, openat */

#include "beside.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "../memory.h"

#define PREFIX ".twicetold-"
#define PENDING 16              /* files beside that a signal's handler finds; more are written all the same */

status path_refused(const char *be_done, const char *path, int error)
{
    if (!*path) path = "''";
    switch (error) {
    case ENOENT: case ENOTDIR: case EISDIR: case ELOOP: case ENAMETOOLONG:
    case EACCES: case EPERM: case EROFS: case ENXIO: case ENODEV: case EOVERFLOW:
        return bad_input("%.120s cannot be %s: %s", path, be_done, strerror(error));
    default:
        return failure("%.120s cannot be %s: %s", path, be_done, strerror(error));
    }
}

/* ---- what a signal's handler must find ------------------------------------- */

enum { FREE, TAKEN, WRITTEN };
static struct { atomic_int state; int folder; char name[48]; } pending[PENDING];

/* A place for this file, or -1. */
static int remember(int folder, const char *name)
{
    for (int n = 0; n < PENDING; n++) {
        int free_one = FREE;
        if (!atomic_compare_exchange_strong(&pending[n].state, &free_one, TAKEN)) continue;
        pending[n].folder = folder;
        memcpy(pending[n].name, name, sizeof pending[n].name);
        atomic_store(&pending[n].state, WRITTEN);
        return n;
    }
    return -1;
}

static void forget(int slot)
{
    if (slot >= 0) atomic_store(&pending[slot].state, FREE);
}

void beside_remove_all(void)
{
    for (int n = 0; n < PENDING; n++)
        if (atomic_load(&pending[n].state) == WRITTEN) unlinkat(pending[n].folder, pending[n].name, 0);
}

/* ---- what a killed process left -------------------------------------------- */

/* ".twicetold-12-0" and nothing else. */
static bool is_beside(const char *name)
{
    static const char digits[] = "0123456789";
    if (strncmp(name, PREFIX, strlen(PREFIX))) return false;
    name += strlen(PREFIX);
    size_t process = strspn(name, digits), number = name[process] == '-' ? strspn(name + process + 1, digits) : 0;
    return process && number && !name[process + 1 + number];
}

/* Removes it if it is ours and nobody holds its lock. */
static void clear(int folder, const char *name)
{
    struct stat found;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid()
        && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

static void clear_left_behind(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries && fd >= 0) close(fd);
    for (struct dirent *e; entries && (e = readdir(entries));)
        if (is_beside(e->d_name)) clear(folder, e->d_name);
    if (entries) closedir(entries);
}

/* ---- one file -------------------------------------------------------------- */

/* A new file under a name that nobody has, remembered before it is there, and locked.  Between its making and its locking
 * somebody may have taken it for one left behind: then it has no name any more. */
static int create(struct beside *b)
{
    struct stat made;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        memset(b->name, 0, sizeof b->name);
        snprintf(b->name, sizeof b->name, PREFIX "%ld-%u", (long)getpid(), attempt);
        b->slot = remember(b->folder, b->name);
        int fd = openat(b->folder, b->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, b->old ? 0600 : 0666);
        if (fd >= 0) {
            flock(fd, LOCK_EX);
            if (fstat(fd, &made) == 0 && made.st_nlink) return fd;
            close(fd);
        }
        int error = errno;
        forget(b->slot);
        errno = error;
        if (fd < 0 && error != EEXIST) break;
    }
    b->slot = -1;
    b->name[0] = '\0';
    return -1;
}

/* What the old file lets whom do.  Whoever is not root may not give a file away, and only
 * to a group of his own. */
static int take_over(int fd, const struct stat *old)
{
    struct stat now;
    mode_t mode = old->st_mode & 0777;
    if (fstat(fd, &now) != 0) return -1;
    if (now.st_uid != old->st_uid && fchown(fd, old->st_uid, (gid_t)-1) != 0 && errno != EPERM) return -1;
    if (now.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0) mode &= ~(mode_t)S_IRWXG;
    return fchmod(fd, mode);
}

/* The folder of the path, and what of it is to be replaced: nothing or a regular file. */
static status find_place(struct beside *b)
{
    struct stat link;

    /* Step 1: the path, a symbolic link followed, cut into folder and base. */
    if (lstat(b->path, &link) == 0 && S_ISLNK(link.st_mode)) {
        b->followed = realpath(b->path, NULL);
        if (!b->followed) return path_refused("written", b->path, errno);
    }
    const char *target = b->followed ? b->followed : b->path, *slash = strrchr(target, '/');
    b->base = slash ? slash + 1 : target;
    if (!*b->base) return bad_input("'%.120s' does not name a file", b->path);

    /* Step 2: the folder. */
    size_t cut = (size_t)(b->base - target);
    char *folder = memory_get(cut + 2, 1);
    if (!folder) return out_of_memory("the path");
    memcpy(folder, target, cut);
    memcpy(folder + cut, cut ? "" : ".", cut ? 1 : 2);
    b->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    memory_free(folder);
    if (b->folder < 0) return path_refused("written", b->path, error);

    /* Step 3: the old file, if there is one. */
    b->old = fstatat(b->folder, b->base, &b->found, AT_SYMLINK_NOFOLLOW) == 0;
    if (!b->old) return errno == ENOENT ? status_ok() : path_refused("written", b->path, errno);
    if (!S_ISREG(b->found.st_mode))
        return bad_input("%.120s is %s, expected a file", b->path,
                         S_ISDIR(b->found.st_mode) ? "a folder" : "no regular file");
    if (faccessat(b->folder, b->base, W_OK, AT_EACCESS) != 0) return path_refused("written", b->path, errno);
    return status_ok();
}

status beside_open(struct beside *b, const char *path)
{
    *b = (struct beside){.path = path, .folder = -1, .slot = -1};
    status s = find_place(b);
    if (!s.code) {
        clear_left_behind(b->folder);
        int fd = create(b);
        b->file = fd < 0 ? NULL : fdopen(fd, "wb");
        if (!b->file) s = path_refused("written", path, errno);
        if (!b->file && fd >= 0) close(fd);
    }
    return s.code ? beside_close(b, s) : s;
}

status beside_close(struct beside *b, status s)
{
    int error = 0;

    /* Step 1: all of it on the disk, with the old one's permissions, before it has the old one's name. */
    if (b->file && !s.code && (fflush(b->file) != 0 || (b->old && take_over(fileno(b->file), &b->found) != 0)
                               || fsync(fileno(b->file)) != 0))
        error = errno;
    if (b->file && fclose(b->file) != 0 && !error) error = errno;
    if (error && !s.code) s = path_refused("written", b->path, error);

    /* Step 2: rename over, or take it all back. */
    if (*b->name && !s.code && renameat(b->folder, b->name, b->folder, b->base) != 0)
        s = path_refused("written", b->path, errno);
    if (*b->name && s.code) unlinkat(b->folder, b->name, 0);
    forget(b->slot);
    if (b->folder >= 0) close(b->folder);
    free(b->followed);
    *b = (struct beside){.folder = -1, .slot = -1};
    return s;
}
