/* command.c -- commands by name, and the values of their options; see command.h */

#include "command.h"
#include <string.h>
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

struct problem_sizes call_sizes(const struct call *c)
{
    return (struct problem_sizes){
        .words = c->words, .word = c->word, .grid = option_text(c, "grid", NULL),
        .batch = problem_size(&c->options, "B"), .channels = problem_size(&c->options, "C"),
        .sizes = option_text(c, "sizes", NULL), .without = option_text(c, "without", NULL),
    };
}
