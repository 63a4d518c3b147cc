/* atomic_file.c -- replace a file completely or not at all; see atomic_file.h */

#define _DEFAULT_SOURCE         /* realpath */

#include "atomic_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../runtime/memory.h"

static _Atomic(char *) pending;         /* for the signal handler */

status path_error(const char *be_done, const char *path, int error)
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

bool is_stream(const char *path)
{
    struct stat found;
    if (!strcmp(path, "-")) return true;
    return stat(path, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode) || S_ISCHR(found.st_mode));
}

static status open_stream(struct atomic_file *f)
{
    bool standard = !strcmp(f->path, "-");
    int fd = standard ? dup(STDOUT_FILENO) : open(f->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    f->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (f->file) return status_ok();
    status s = path_error("written", f->path, errno);
    if (fd >= 0) close(fd);
    return s;
}

void atomic_file_remove(void)
{
    char *path = atomic_load(&pending);
    if (path) unlink(path);
}

static status find_target(struct atomic_file *f)
{
    struct stat found;
    size_t length = strlen(f->path);
    if (!length || f->path[length - 1] == '/') return bad_input("'%.120s' does not name a file", f->path);
    f->replaces = lstat(f->path, &found) == 0;
    if (!f->replaces && errno != ENOENT) return path_error("written", f->path, errno);
    if (f->replaces) {
        f->target = realpath(f->path, NULL);
        if (!f->target && errno == ENOMEM) return out_of_memory("the path");
        if (!f->target || stat(f->target, &found) != 0) return path_error("written", f->path, errno);
        if (!S_ISREG(found.st_mode))
            return bad_input("%.120s is %s, expected a file", f->path,
                             S_ISDIR(found.st_mode) ? "a folder" : "no regular file");
        if (faccessat(AT_FDCWD, f->target, W_OK, AT_EACCESS) != 0) return path_error("written", f->path, errno);
        f->mode = found.st_mode & 0777;
    }
    const char *target = f->target ? f->target : f->path;
    size_t size = strlen(target) + sizeof ".tmp";
    f->temporary = memory_get(size, 1);
    if (!f->temporary) return out_of_memory("the path");
    snprintf(f->temporary, size, "%s.tmp", target);
    return status_ok();
}

status atomic_file_open(struct atomic_file *f, const char *path)
{
    *f = (struct atomic_file){.path = path};
    if (is_stream(path)) return open_stream(f);
    status s = find_target(f);
    if (!s.code) {
        unlink(f->temporary);           /* O_EXCL then does not write through a link of this name */
        atomic_store(&pending, f->temporary);
        int fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, f->replaces ? 0600 : 0666);
        f->file = fd < 0 ? NULL : fdopen(fd, "wb");
        if (!f->file) s = path_error("written", path, errno);
        if (!f->file && fd >= 0) {
            close(fd);
            unlink(f->temporary);
        }
    }
    return s.code ? atomic_file_close(f, s) : s;
}

status atomic_file_close(struct atomic_file *f, status s)
{
    int error = 0;
    if (f->file) {
        int fd = fileno(f->file);
        if (!s.code && (fflush(f->file) != 0 || (f->replaces && fchmod(fd, f->mode) != 0)
                        || (f->temporary && fsync(fd) != 0)))
            error = errno;
        if (fclose(f->file) != 0 && !error) error = errno;
        const char *target = f->target ? f->target : f->path;
        if (!s.code && !error && f->temporary && rename(f->temporary, target) != 0) error = errno;
        if (!s.code && error) s = path_error("written", f->path, error);
        if (s.code && f->temporary) unlink(f->temporary);
    }
    atomic_store(&pending, NULL);
    memory_free(f->temporary);
    free(f->target);
    *f = (struct atomic_file){0};
    return s;
}
