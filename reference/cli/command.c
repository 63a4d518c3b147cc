/* command.c -- commands by name, and the values of their options; see command.h */

#define _POSIX_C_SOURCE 200809L

#include "command.h"
#include <string.h>
#include "../io/atomic_file.h"
#include "../runtime/lookup.h"

const struct command *command_find(const struct command *const *commands, const char *name)
{
    while (*commands && strcmp((*commands)->declaration.name, name)) commands++;
    return *commands;
}

int call_threads(const struct call *c)
{
    return problem_given(&c->options, "threads") ? (int)problem_number(&c->options, "threads") : plan_threads();
}

const char *option_text(const struct call *c, const char *option, const char *missing)
{
    const char *text = problem_text(&c->options, option);
    return text && *text ? text : missing;
}

void print_ignored(const struct safetensors *file, const char *path)
{
    char name[sizeof file->first_ignored];
    snprintf(name, sizeof name, "%s", file->first_ignored);
    status_one_line(name);
    if (file->ignored)
        fprintf(stderr, "twicetold: %s: ignored %zu tensor%s that nothing needs, first '%s'\n", path, file->ignored,
                file->ignored == 1 ? "" : "s", name);
}

FILE *printed_beside(const char *path)
{
    return is_stream(path) ? stderr : stdout;
}

struct problem_sizes call_sizes(const struct call *c)
{
    return (struct problem_sizes){
        .words = c->words, .word = c->word, .grid = option_text(c, "grid", NULL),
        .batch = problem_size(&c->options, "B"), .channels = problem_size(&c->options, "C"),
        .sizes = option_text(c, "sizes", NULL), .without = option_text(c, "without", NULL),
    };
}
