/* words.h -- the words of a command line
 *
 * "--key=value" becomes two words; "-o=value" and "key=value" stay one.  The
 * words after "--help", "-h" or "--version", wherever those stand, no longer matter. */

#ifndef TWICETOLD_PROGRAM_WORDS_H
#define TWICETOLD_PROGRAM_WORDS_H

#include <stdbool.h>
#include "../runtime/status.h"

struct words {
    int count;
    const char **word;          /* ends at NULL */
    bool *joined;               /* stood behind "=" of the word before */
    bool help, version;         /* asked for */
    char *arena;
};

/* The words of argv[0] ... argv[argc-1].  Fails when memory is out; released either way. */
status words_take(struct words *w, int argc, const char *const *argv);
void words_release(struct words *w);

/* "twicetold 1.0, float", the answer to --version, with the program's name. */
void print_version(const char *program);

#endif
