/* merge.c -- patches of 2 x 2 tokens joined, a layer norm, a linear map
 *
 *     y = W norm([x_00 x_10 x_01 x_11]),     x_rc the token in row r, column c of the patch
 *
 * Swin has this layer between stages.  epsilon of the norm is 1e-5.  Cost: B N/4 (8 C^2 + 12 C) multiply-adds.  Memory:
 * a copy of the weights, a tile for each thread. */

#include "layer.h"
#include "../../../fast/tuned/activations.h"

struct merge {
    size_t B, N, C, W;
    const real *g, *b, *w;
};

struct merge_form {
    struct linear map;
    real *rows;                 /* PER_THREAD [tile][4C] */
};

static const struct option options[] = {LAYER_GRID(2, 2, "HxW, even"), {0}};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "norm_g", .shape = "4*C", .fan_in = "1", .adjust = layer_adjust_gain, .meaning = "gain of the norm"},
    {.name = "norm_b", .shape = "4*C", .fan_in = "C", .meaning = "its bias"},
    {.name = "w", .shape = "2*C 4*C", .fan_in = "4*C", .meaning = "the linear map"},
    {0}
};

static const struct letter letters[] = {{"N'", "tokens of y, N/4"}, {0}};

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct merge *)params = (struct merge){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .W = p->grid.size[1], .g = lookup_tensor(&names, "norm_g"), .b = lookup_tensor(&names, "norm_b"),
        .w = lookup_tensor(&names, "w"),
    };
    return names.error;
}

/* The patch of token n of y, normalised. */
static void gather(real *row, const real *x, const struct merge *p, size_t n)
{
    size_t C = p->C, half = p->W / 2, first = n / half * 2 * p->W + n % half * 2;
    for (size_t tap = 0; tap < 4; tap++)
        memcpy(row + tap * C, x + (first + tap % 2 * p->W + tap / 2) * C, C * sizeof *row);
    norm_row(row, p->g, p->b, 4 * C, 1e-5);
}

static void run_chunk(const struct team *t)
{
    const struct merge *p = t->plan->params;
    const struct merge_form *f = t->plan->state;
    size_t C = p->C, patches = p->N / 4, items = t->images * patches, tile = layer_tile(4 * C);
    real *rows = arena_thread(&t->plan->arena, f->rows, t->thread);
    for (size_t n, end; team_next_range(t, items, tile, &n, &end);) {
        for (size_t i = n; i < end; i++)
            gather(rows + (i - n) * 4 * C, t->x + i / patches * p->N * C, p, i % patches);
        linear_apply(t->y + n * 2 * C, 2 * C, rows, 4 * C, &f->map, end - n, 0, 1);
    }
}

static status prepare(struct plan *plan)
{
    const struct merge *p = plan->params;
    struct merge_form *f = plan->state;
    linear_prepare(&f->map, &linear_packed, &plan->arena, 4 * p->C, 2 * p->C);
    arena_reals(&plan->arena, PER_THREAD, &f->rows, "a tile of patches", layer_tile(4 * p->C), 4, p->C);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct merge *p = plan->params;
    struct merge_form *f = plan->state;
    linear_load(&f->map, 0, 2 * p->C, p->w, NULL);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct merge *p = params;
    return (double)p->B * (double)(p->N / 4) * (double)p->C * (8 * (double)p->C + 12);
}

const struct form layer_merge_form = {
    .name = "layer", .state = sizeof(struct merge_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_merge = {
    .name = "merge",
    .summary = "2x2 tokens joined, a layer norm, a linear map to 2C channels",
    .letters = letters,
    .output = "B N' 2*C",
    .options = options,
    .tensors = tensors,
    .derive = layer_halve,
    .resolved = sizeof(struct merge),
    .resolve = resolve,
};
