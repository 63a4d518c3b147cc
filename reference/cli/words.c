/* words.c -- the words of a command line; see words.h */

#include "words.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../runtime/real.h"

#ifndef TWICETOLD_VERSION
#define TWICETOLD_VERSION "1.0"
#endif

status words_take(struct words *w, int argc, const char *const *argv)
{
    size_t most = 2 * (size_t)argc + 1, characters = 1;
    for (int a = 0; a < argc; a++) characters += strlen(argv[a]) + 1;
    *w = (struct words){.word = calloc(most, sizeof *w->word), .joined = calloc(most, sizeof *w->joined),
                        .text = malloc(characters)};
    if (!w->word || !w->joined || !w->text) return out_of_memory("the command line");

    char *at = w->text;
    for (int a = 0; a < argc; a++) {
        memcpy(at, argv[a], strlen(argv[a]) + 1);
        w->help |= !strcmp(at, "--help") || !strcmp(at, "-h");
        w->version |= !strcmp(at, "--version") || !strcmp(at, "-V");
        char *equals = strncmp(at, "--", 2) ? NULL : strchr(at, '=');
        w->word[w->count++] = at;
        at += strlen(at) + 1;
        if (!equals) continue;
        *equals = '\0';
        w->joined[w->count] = true;
        w->word[w->count++] = equals + 1;
    }
    return status_ok();
}

void words_release(struct words *w)
{
    free(w->word);
    free(w->joined);
    free(w->text);
    *w = (struct words){0};
}

void print_version(const char *program)
{
    printf("%s %s, %s\n", program, TWICETOLD_VERSION, REAL_NAME);
}
