/* tokens.c -- the commands that write inputs: tokens alone, or with an operator's parameters */

#include <stdio.h>
#include <stdlib.h>
#include "../runtime/bytes.h"
#include "../io/safetensors.h"
#include "../io/tokens.h"
#include "../runtime/lookup.h"
#include "../runtime/sizes.h"
#include "command.h"

/* The source of the tokens, from the options of a command. */
static struct token_source source_of(const struct call *c)
{
    const char *path = own_text(c, "images", NULL);
    return (struct token_source){
        .kind = path ? TOKENS_IMAGES : TOKENS_IMAGES_OR_NOISE,
        .path = path,
        .patch = (size_t)problem_number(&c->own, "patch"),
        .first = (size_t)problem_number(&c->own, "first"),
        .seed = (uint64_t)problem_number(&c->own, "seed"),
    };
}

/* Reject more than --max-memory allows: x, `more` other reals, and the memory of tokens_make.  The limit also holds for
 * the file of images, whose size is known only when it is open. */
static status allow(const struct call *c, size_t batch, const grid *g, size_t channels, size_t more)
{
    size_t allowed, needed, row;
    struct token_source source = source_of(c);
    status s = bytes_allowed(&allowed, own_text(c, "max-memory", NULL));
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
    const struct problem *p = &c->own;
    size_t size[] = {problem_size(p, "B"), p->grid.tokens, problem_size(p, "C")};
    struct token_source source = source_of(c);

    status s = allow(c, size[0], &p->grid, size[2], 0);
    if (s.code) return s;
    s = tensor_create(&x, "x", 3, size);
    if (!s.code) s = tokens_make(x.data, size[0], &p->grid, size[2], &source, origin, sizeof origin);
    if (!s.code) s = safetensors_write(c->output, &x, 1);
    if (!s.code) printf("%s\n", origin);
    tensor_release(&x);
    return s;
}

/* ---- parameters ------------------------------------------------------------- */

static status parameters(const struct call *c)
{
    struct problem p;
    struct token_source source = source_of(c);
    struct tensor all[PROBLEM_TENSORS];
    real *x = NULL, *block = NULL;
    char origin[200];

    /* Step 1: all sizes, and whether their memory is allowed. */
    struct problem_sizes o = {
        .words = c->words, .word = c->word, .grid = own_text(c, "grid", NULL),
        .batch = problem_size(&c->own, "B"), .channels = problem_size(&c->own, "C"),
        .sizes = own_text(c, "sizes", NULL), .without = own_text(c, "without", NULL),
    };
    status s = problem_from_sizes(&p, c->operator, &o);
    if (!s.code) s = allow(c, o.batch, &p.grid, o.channels, problem_parameters(&p));
    if (s.code) return s;

    /* Step 2: tokens, parameters, the file. */
    x = memory_reals(problem_input_count(&p), 1, 1, 1);
    if (!x) s = out_of_memory("x");
    if (!s.code) s = tokens_make(x, o.batch, &p.grid, o.channels, &source, origin, sizeof origin);
    if (!s.code) s = problem_draw(&p, source.seed, &block);
    p.tensor[0].data = x;
    if (!s.code) s = safetensors_write(c->output, all, problem_list(all, &p));
    if (!s.code) printf("tokens of %s\n%zu parameters, drawn with seed %llu\n", origin, problem_parameters(&p),
                        (unsigned long long)source.seed);
    memory_free(block);
    memory_free(x);
    return s;
}

static const struct option token_options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    OPTIONS_TOKENS,
    OPTION_MAX_MEMORY,
    {0}
};

const struct command tokens_command = {
    .own = {.name = "tokens", .summary = "write x: images cut into patches, each projected to C channels",
            .options = token_options},
    .output = true,
    .run = tokens,
};

static const struct option parameter_options[] = {
    OPTIONS_TOKENS,
    {.name = "sizes", .kind = OPTION_CHOICE, .default_value = "", .value = "LETTER=n,...",
     .meaning = "sizes that grid and channels leave open"},
    {.name = "without", .kind = OPTION_CHOICE, .default_value = "", .value = "NAME,...",
     .meaning = "optional tensors to leave out"},
    {.name = "grid", .kind = OPTION_GRID, .default_value = "", .low = 1, .high = 3,
     .meaning = "for operators that know no grid: how their tokens lie"},
    OPTION_MAX_MEMORY,
    {0}
};

const struct command parameters_command = {
    .own = {.name = "parameters", .summary = "write an input for apply: x of images, parameters drawn at random",
            .options = parameter_options},
    .what = "Give it the operator's options as apply will be given them. Optional tensors are there unless --without\n"
            "names them; entries are normal, their variance one over the number of terms that they are summed with.",
    .operator = true,
    .output = true,
    .run = parameters,
};
