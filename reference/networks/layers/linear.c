/* linear.c -- y = W x + b for each token, or gelu of it
 *
 * With --gelu, it computes tile by tile, so that GELU reads y from the cache.  Cost: B N C D multiply-adds, a copy of
 * the weights. */

#include "layer.h"

struct tokens_map {
    size_t B, N, C, D;
    bool gelu;
    const real *w, *b;
};

struct map_form { struct linear map; };

static const struct option options[] = {
    {.name = "channels", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = 1e9, .letter = "D",
     .meaning = "output channels (those of the weights)"},
    {.name = "gelu", .kind = OPTION_FLAG, .meaning = "apply GELU to the output"},
    {0}
};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "w", .shape = "D C", .fan_in = "C", .meaning = "a row for each channel of y"},
    {.name = "b", .shape = "D", .optional = true, .fan_in = "C", .meaning = "its bias"},
    {0}
};

static const struct letter letters[] = {{"D", "channels of y"}, {0}};

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct tokens_map *)params = (struct tokens_map){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .D = lookup_size(&names, "D"), .gelu = lookup_given(&names, "gelu"),
        .w = lookup_tensor(&names, "w"), .b = lookup_tensor(&names, "b"),
    };
    return names.error;
}

static void run_chunk(const struct team *t)
{
    const struct tokens_map *p = t->plan->params;
    const struct map_form *f = t->plan->state;
    size_t items = t->images * p->N, tile = layer_tile(p->D);
    if (!p->gelu) team_linear(t, t->y, p->D, t->x, p->C, &f->map, items);
    for (size_t n, end; p->gelu && team_next_range(t, items, tile, &n, &end);) {
        linear_apply(t->y + n * p->D, p->D, t->x + n * p->C, p->C, &f->map, end - n, 0, 1);
        gelu_row(t->y + n * p->D, (end - n) * p->D);
    }
}

static status prepare(struct plan *plan)
{
    const struct tokens_map *p = plan->params;
    struct map_form *f = plan->state;
    linear_prepare(&f->map, &linear_packed, &plan->arena, p->C, p->D);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct tokens_map *p = plan->params;
    struct map_form *f = plan->state;
    linear_load(&f->map, 0, p->D, p->w, p->b);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct tokens_map *p = params;
    return (double)p->B * (double)p->N * (double)p->C * (double)p->D;
}

const struct form layer_linear_form = {
    .name = "layer", .state = sizeof(struct map_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_linear = {
    .name = "linear",
    .summary = "a linear map of each token, and optionally GELU",
    .letters = letters,
    .output = "B N D",
    .options = options,
    .tensors = tensors,
    .resolved = sizeof(struct tokens_map),
    .resolve = resolve,
};
