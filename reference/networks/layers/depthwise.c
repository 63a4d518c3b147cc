/* depthwise.c -- a convolution of each channel
 *
 *     y_nc = b_c + sum_m w_cm x_{n+m,c}
 *
 * over a window of odd sizes around n, zeros off the grid.  With --kind mean all w are 1/M, also next to the border,
 * and there is no b.  The inner loop is over vectors of channels.
 *
 * Cost: B N M C multiply-adds.  Memory: a copy of the weights, 2 M pointers for each thread. */

#include "layer.h"

struct depthwise {
    size_t B, N, C, M;
    size_t grid[GRID_AXES], size[GRID_AXES];    /* the last is the fastest */
    bool mean;
    const real *w, *b;
};

struct depthwise_form {
    real *w;                    /* [M][C] */
    const real **taps;          /* PER_THREAD [2][M]: rows of x, and of weights */
};

static const struct option options[] = {
    LAYER_GRID(1, 3, "N, HxW or TxHxW"),
    {.name = "size", .kind = OPTION_KERNEL, .letter = "M", .meaning = "of the window, odd: M, MxM or MxMxM"},
    {.name = "kind", .kind = OPTION_CHOICE, .default_value = "learned", .choices = "learned|mean",
     .meaning = "learned weights for each channel, or the mean of the window"},
    {0}
};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "w", .shape = "C M", .when = "kind=learned", .fan_in = "M", .meaning = "a window for each channel"},
    {.name = "b", .shape = "C", .when = "kind=learned", .optional = true, .fan_in = "M", .meaning = "its bias"},
    {0}
};

static status resolve(void *params, const struct problem *problem)
{
    struct lookup names = {.problem = problem};
    struct depthwise *p = params;
    *p = (struct depthwise){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .M = lookup_size(&names, "M"), .mean = lookup_choice(&names, "kind") == 1,
        .w = lookup_tensor(&names, "w"), .b = lookup_tensor(&names, "b"),
    };
    align_axes(p->grid, problem->grid.size, problem->grid.axes, 1);
    align_axes(p->size, lookup_sizes(&names, "size"), problem->grid.axes, 1);
    return names.error;
}

/* The rows of x and of weights in the window at token n of an image; returns how many are on the grid. */
static size_t window(const real **rows, const real **weights, const real *x, const struct depthwise_form *f,
                     const struct depthwise *p, size_t n)
{
    size_t taps = 0, m = 0, half[GRID_AXES], at[GRID_AXES] = {n / p->grid[2] / p->grid[1], n / p->grid[2] % p->grid[1],
                                                              n % p->grid[2]};
    for (int a = 0; a < GRID_AXES; a++) half[a] = p->size[a] / 2;
    for (size_t i = 0; i < p->size[0]; i++)
        for (size_t j = 0; j < p->size[1]; j++)
            for (size_t k = 0; k < p->size[2]; k++, m++) {
                size_t t = at[0] + i - half[0], r = at[1] + j - half[1], c = at[2] + k - half[2];
                if (t >= p->grid[0] || r >= p->grid[1] || c >= p->grid[2]) continue;    /* negative wraps around */
                rows[taps] = x + ((t * p->grid[1] + r) * p->grid[2] + c) * p->C;
                weights[taps++] = f->w + m * p->C;
            }
    return taps;
}

static void run_chunk(const struct team *t)
{
    const struct depthwise *p = t->plan->params;
    const struct depthwise_form *f = t->plan->state;
    size_t C = p->C, items = t->images * p->N;
    const real **rows = arena_thread(&t->plan->arena, f->taps, t->thread), **weights = rows + p->M;
    for (size_t n, end; team_next_range(t, items, layer_tile(C), &n, &end);)
        for (; n < end; n++) {
            size_t taps = window(rows, weights, t->x + n / p->N * p->N * C, f, p, n % p->N);
            sum_taps(t->y + n * C, rows, weights, taps, p->b, C, false);
        }
}

static status prepare(struct plan *plan)
{
    const struct depthwise *p = plan->params;
    struct depthwise_form *f = plan->state;
    arena_reals(&plan->arena, PERSISTENT, &f->w, "the weights, entries first", p->M, p->C);
    arena_objects(&plan->arena, PER_THREAD, &f->taps, "the window of a token", p->M, 2, sizeof *f->taps);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct depthwise *p = plan->params;
    const struct depthwise_form *f = plan->state;
    for (size_t m = 0; p->mean && m < p->M * p->C; m++) f->w[m] = 1 / (real)p->M;
    if (!p->mean) entries_first(f->w, p->w, p->C, p->M);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct depthwise *p = params;
    return (double)p->B * (double)p->N * (double)p->M * (double)p->C;
}

const struct form layer_depthwise_form = {
    .name = "layer", .state = sizeof(struct depthwise_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_depthwise = {
    .name = "depthwise",
    .summary = "a convolution of each channel, or its mean; odd sizes, zero padding",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .resolved = sizeof(struct depthwise),
    .resolve = resolve,
};
