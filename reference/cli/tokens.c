/* tokens.c -- the commands that write inputs: tokens alone, or with an operator's parameters */

#include <stdio.h>
#include <stdlib.h>
#include "../runtime/bytes.h"
#include "../io/tokens.h"
#include "../runtime/lookup.h"
#include "command.h"

static struct token_source source_of(const struct call *c)
{
    const char *path = option_text(c, "images", c->input[0]);
    return (struct token_source){
        .kind = path ? TOKENS_IMAGES : TOKENS_IMAGES_OR_NOISE,
        .path = path,
        .patch = (size_t)problem_number(&c->options, "patch"),
        .first = (size_t)problem_number(&c->options, "first"),
        .seed = (uint64_t)problem_number(&c->options, "seed"),
    };
}

/* Checks x, `more` other reals and the memory of tokens_make against --max-memory.  Later allocations are limited, too:
 * the size of the file of images is known only when it is open. */
static status allow(const struct call *c, size_t batch, const grid *g, size_t channels, size_t more)
{
    size_t allowed, needed, row;
    struct token_source source = source_of(c);
    status s = bytes_allowed(&allowed, option_text(c, "max-memory", NULL));
    if (!s.code) s = tokens_bytes(&needed, g, channels, &source);
    if (s.code) return s;
    if (!size_multiply(&row, g->tokens, channels)) row = SIZE_MAX;
    size_add(&needed, more, sizeof(real));
    for (size_t r = 0; r < sizeof(real); r++) size_add(&needed, batch, row);
    if ((s = bytes_fit(needed, allowed)).code) return s;
    memory_set_limit(allowed);
    return s;
}

static status tokens(const struct call *c)
{
    struct tensor x = {0};
    char origin[200];
    const struct problem *p = &c->options;
    size_t size[] = {problem_size(p, "B"), p->grid.tokens, problem_size(p, "C")};
    struct token_source source = source_of(c);
    status s = allow(c, size[0], &p->grid, size[2], 0);
    if (s.code) return s;
    s = tensor_create(&x, "x", 3, size);
    if (!s.code) s = tokens_make(x.data, size[0], &p->grid, size[2], &source, origin, sizeof origin);
    if (!s.code) s = tensor_file_write(c->output, &x, 1);
    if (!s.code) fprintf(printed_beside(c->output), "%s\n", origin);
    tensor_release(&x);
    return s;
}

status draw_input(struct problem *p, const struct call *c, size_t more, real **block, char origin[ORIGIN_TEXT])
{
    struct token_source source = source_of(c);
    size_t inputs = problem_input_count(p), B = problem_size(p, "B"), C = problem_size(p, "C");
    size_add(&more, problem_parameters(p), 1);
    status s = allow(c, B, &p->grid, C, more);
    if (s.code) return s;
    real *x = memory_reals(inputs, 1, 1, 1);
    if (!x) return out_of_memory("x");
    s = tokens_make(x, B, &p->grid, C, &source, origin, ORIGIN_TEXT);
    if (!s.code) s = problem_draw(p, source.seed, block);
    p->tensor[0].data = x;
    return s;
}

static status parameters(const struct call *c)
{
    struct problem p;
    struct tensor all[PROBLEM_TENSORS];
    real *block = NULL;
    char origin[ORIGIN_TEXT];
    struct problem_sizes sizes = call_sizes(c);
    status s = problem_from_sizes(&p, c->operator, &sizes);
    if (s.code) return s;
    s = draw_input(&p, c, 0, &block, origin);
    if (!s.code) s = tensor_file_write(c->output, all, problem_list(all, &p));
    if (!s.code) fprintf(printed_beside(c->output), "tokens of %s\n%zu parameters, drawn with seed %.0f\n", origin,
                         problem_parameters(&p), problem_number(&c->options, "seed"));
    memory_free(block);
    memory_free(p.tensor[0].data);
    return s;
}

static const struct option token_options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    OPTIONS_TOKENS,
    OPTION_MAX_MEMORY,
    {0}
};

const struct command tokens_command = {
    .declaration = {.name = "tokens", .summary = "write x: images cut into patches, each projected to C channels",
            .options = token_options},
    .inputs = {"[IMAGE]"},
    .output = true,
    .run = tokens,
};

static const struct option parameter_options[] = {
    OPTIONS_TOKENS,
    OPTIONS_SIZES,
    OPTION_MAX_MEMORY,
    {0}
};

const struct command parameters_command = {
    .declaration = {.name = "parameters", .summary = "write an input for apply: x from images, random parameters",
            .options = parameter_options},
    .what = "Takes the same options of the operator as apply. Writes all optional tensors but those of --without.\n"
            "Entries are normal; their variance is one over the number of terms in their sum.",
    .operator = true,
    .inputs = {"[IMAGE]"},
    .output = true,
    .run = parameters,
};
