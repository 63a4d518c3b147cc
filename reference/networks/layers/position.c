/* position.c -- y = x + table: a learned vector for each position
 *
 * Cost: B N C additions, counted as multiply-adds. */

#include "layer.h"

struct position {
    size_t B, N, C;
    const real *table;
};

static const struct option options[] = {{0}};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "table", .shape = "N C", .fan_in = "1", .meaning = "the vectors that are added"},
    {0}
};

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct position *)params = (struct position){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .table = lookup_tensor(&names, "table"),
    };
    return names.error;
}

static void run_chunk(const struct team *t)
{
    const struct position *p = t->plan->params;
    size_t C = p->C, items = t->images * p->N;
    for (size_t n, end; team_next_range(t, items, layer_tile(C), &n, &end);)
        for (; n < end; n++)
            for (size_t c = 0; c < C; c++) t->y[n * C + c] = t->x[n * C + c] + p->table[n % p->N * C + c];
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct position *p = params;
    return (double)p->B * (double)p->N * (double)p->C;
}

const struct form layer_position_form = {.name = "layer", .run = run, .multiply_adds = multiply_adds};

const struct declaration layer_position = {
    .name = "position",
    .summary = "a learned vector added to each token",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .resolved = sizeof(struct position),
    .resolve = resolve,
};
