/* command.c -- commands by name, and the values of their options; see command.h */

#include "command.h"
#include <stdio.h>
#include <string.h>
#include "../runtime/lookup.h"

const struct command *command_find(const struct command *const *commands, const char *name)
{
    while (*commands && strcmp((*commands)->own.name, name)) commands++;
    return *commands;
}

const char *command_names(char *text, size_t size, const struct command *const *commands)
{
    size_t at = 0;
    for (const struct command *const *c = commands; *c && at < size; c++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", c == commands ? "" : c[1] ? ", " : " or ", (*c)->own.name);
    return text;
}

const char *own_text(const struct call *c, const char *option, const char *missing)
{
    const char *text = problem_text(&c->own, option);
    return text && *text ? text : missing;
}

struct problem_sizes own_sizes(const struct call *c)
{
    return (struct problem_sizes){
        .words = c->words, .word = c->word, .grid = own_text(c, "grid", NULL),
        .batch = problem_size(&c->own, "B"), .channels = problem_size(&c->own, "C"),
        .sizes = own_text(c, "sizes", NULL), .without = own_text(c, "without", NULL),
    };
}
