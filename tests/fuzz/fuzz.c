/* fuzz.c -- the fuzz targets' list and common functions; see fuzz.h */

#define _POSIX_C_SOURCE 200809L

#include "fuzz.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../reference/runtime/memory.h"

const struct target targets[] = {
    {"safetensors", fuzz_safetensors, "in out in.npy out.npy in.npz out.npz"},
    {"images", fuzz_images, "in out"},
    {"command", fuzz_command, "in drawn"},
    {"forms", fuzz_forms, NULL},
    {NULL, NULL, NULL}
};

const struct target *target_named(const char *name)
{
    const struct target *t = targets;
    while (t->name && strcmp(t->name, name)) t++;
    return t->name ? t : NULL;
}

const char *wrong(const char *format, ...)
{
    static char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

const char *wrong_status(status s)
{
    if (s.code == STATUS_OK) return *s.message ? wrong("OK, with the message '%s'", s.message) : NULL;
    if (s.code != STATUS_FAILURE && s.code != STATUS_BAD_INPUT) return wrong("status %d, which does not exist", s.code);
    if (!*s.message) return wrong("status %d without a message", s.code);
    if (!memchr(s.message, '\0', sizeof s.message)) return wrong("a message without an end");
    return strchr(s.message, '\n') ? wrong("a message of two lines: %s", s.message) : NULL;
}

unsigned choose(struct bytes *b, unsigned n)
{
    if (!b->left) return 0;
    b->left--;
    return *b->next++ % n;
}

status choose_sizes(struct problem *p, const struct declaration *d, struct problem_sizes o, struct bytes *b)
{
    static char sizes[128];     /* must outlive the problem */
    char letter[4];
    *sizes = '\0';
    o.sizes = sizes;
    status s = problem_from_sizes(p, d, &o);
    while (s.code && problem_open_letter(letter, p) && strlen(sizes) + sizeof letter + 4 < sizeof sizes) {
        size_t at = strlen(sizes);
        snprintf(sizes + at, sizeof sizes - at, " %s=%u", letter, choose(b, 12) + 1);
        s = problem_from_sizes(p, d, &o);
    }
    return s;
}

const char *write_file(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *f = fopen(name, "wb");
    size_t written = f && size ? fwrite(bytes, 1, size, f) : 0;
    return !f || fclose(f) || written != size ? wrong("%s: cannot be written", name) : NULL;
}

/* Creates a temporary folder and enters it. */
static const char *enter_folder(char *path, size_t size)
{
    const char *places[] = {"/dev/shm", "/tmp"};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        snprintf(path, size, "%s/fuzz-XXXXXX", places[p]);
        if (mkdtemp(path)) return chdir(path) ? wrong("%s: cannot be entered", path) : NULL;
    }
    return wrong("no temporary folder can be created");
}

static int is_listed(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return 1;
    return 0;
}

static const char *remove_folder(const char *path, int before, const char *expected)
{
    const char *fault = NULL;
    DIR *folder = opendir(".");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (!is_listed(e->d_name, expected)) fault = wrong("leaves a file: %.200s", e->d_name);
        unlink(e->d_name);
    }
    if (folder) closedir(folder);
    if (fchdir(before)) fault = wrong("cannot return to the previous folder");
    if (rmdir(path)) fault = wrong("%s: cannot be removed", path);
    return fault;
}

const char *target_run(const struct target *target, const uint8_t *bytes, size_t size)
{
    char path[64];
    size_t memory = memory_in_use();
    int before = target->files ? open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const char *fault = target->files ? enter_folder(path, sizeof path) : NULL;
    if (fault) return fault;
    fault = target->attempt(bytes, size);
    memory_set_limit(0);
    if (!fault && memory_in_use() != memory) fault = wrong("leaks memory");
    const char *left = target->files ? remove_folder(path, before, target->files) : NULL;
    if (before >= 0) close(before);
    return fault ? fault : left;
}
