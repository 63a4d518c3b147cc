/* words.h -- the words of a command line
 *
 * "--key=value" becomes two words; "-o=value" and "key=value" stay one. */

#pragma once
#include <stdbool.h>
#include "../runtime/status.h"

struct words {
    int count;
    const char **word;          /* ends at NULL */
    bool *joined;               /* the word followed a "=" in the same argument */
    bool help, version;         /* --help or -h, --version or -V is among the words */
    char *text;                 /* the characters of all words */
};

/* Takes the words argv[0] ... argv[argc-1].  Fails only if memory is exhausted; release them also then. */
status words_take(struct words *w, int argc, const char *const *argv);
void words_release(struct words *w);

/* Prints "twicetold 1.0, float", with the program's name. */
void print_version(const char *program);
