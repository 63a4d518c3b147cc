/* command.c -- commands by name, and the values of their options; see command.h */

#include "command.h"
#include <stdio.h>
#include <string.h>
#include "../runtime/lookup.h"

const struct command *command_find(const struct command *const *commands, const char *name)
{
    while (*commands && strcmp((*commands)->declaration.name, name)) commands++;
    return *commands;
}

const char *command_names(char *text, size_t size, const struct command *const *commands)
{
    size_t at = 0;
    for (const struct command *const *c = commands; *c && at < size; c++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", c == commands ? "" : c[1] ? ", " : " or ",
                               (*c)->declaration.name);
    return text;
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
