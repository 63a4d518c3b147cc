/* fuzz.c -- the list of targets, and what they share; see fuzz.h */

#define _POSIX_C_SOURCE 200809L

#include "fuzz.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct target targets[] = {
    {"safetensors", fuzz_safetensors},
    {"images", fuzz_images},
    {"command", fuzz_command},
    {"forms", fuzz_forms},
    {NULL, NULL}
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
    if (s.code == STATUS_OK) return *s.message ? wrong("OK, and says '%s'", s.message) : NULL;
    if (s.code != STATUS_FAILURE && s.code != STATUS_BAD_INPUT) return wrong("status %d, which there is not", s.code);
    if (!*s.message) return wrong("status %d without a word", s.code);
    if (!memchr(s.message, '\0', sizeof s.message)) return wrong("a message without an end");
    return strchr(s.message, '\n') ? wrong("a message of two lines: %s", s.message) : NULL;
}

unsigned choose(struct bytes *b, unsigned n)
{
    if (!b->left) return 0;
    b->left--;
    return *b->next++ % n;
}

/* ---- the folder ---------------------------------------------------------- */

const char *scratch_enter(struct scratch *s)
{
    const char *places[] = {"/dev/shm", "/tmp"};
    s->before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        snprintf(s->path, sizeof s->path, "%s/fuzz-XXXXXX", places[p]);
        if (mkdtemp(s->path)) return s->before < 0 || chdir(s->path) ? wrong("%s: cannot be entered", s->path) : NULL;
    }
    return wrong("no folder can be made");
}

static int among(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return 1;
    return 0;
}

const char *scratch_leave(struct scratch *s, const char *expected)
{
    const char *fault = NULL;
    DIR *folder = opendir(".");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (!among(e->d_name, expected)) fault = wrong("left behind: %.200s", e->d_name);
        unlink(e->d_name);
    }
    if (folder) closedir(folder);
    if (fchdir(s->before)) fault = wrong("there is no way back");
    close(s->before);
    if (rmdir(s->path)) fault = wrong("%s: cannot be removed", s->path);
    return fault;
}

const char *scratch_write(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *f = fopen(name, "wb");
    size_t written = f && size ? fwrite(bytes, 1, size, f) : 0;
    return !f || fclose(f) || written != size ? wrong("%s: cannot be written", name) : NULL;
}
