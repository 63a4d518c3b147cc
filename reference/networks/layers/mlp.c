/* mlp.c -- two linear maps with a GELU between them, and optionally a 3 x 3 convolution
 *
 *     y = W_2 gelu(W_1 x + b_1) + b_2
 *     y = W_2 gelu(conv(W_1 x + b_1) + conv_b) + b_2            --depthwise
 *
 * conv convolves each of the r C hidden channels, with zero padding.  Without it, the hidden channels of a tile of
 * tokens stay in the cache.  With it, those of whole images are computed first; then each tile is convolved, activated
 * and mapped.
 *
 * Cost: 2 B N r C^2 multiply-adds, and 9 B N r C more with the convolution.  Memory: a copy of the weights, a tile for
 * each thread, and with the convolution N r C for each image of a chunk. */

#include "layer.h"

struct mlp {
    size_t B, N, C, hidden;     /* hidden = r C */
    size_t H, W;                /* the plane, with the convolution */
    bool depthwise;
    const real *w_1, *b_1, *conv_w, *conv_b, *w_2, *b_2;
};

struct mlp_form {
    struct linear first, second;
    real *conv;                 /* [3][3][hidden] */
    real *hidden;               /* [images of a chunk][N][hidden] */
    real *rows;                 /* PER_THREAD [tile][hidden] */
};

static const struct option options[] = {
    LAYER_GRID(1, 3, "N, HxW or TxHxW"),
    {.name = "ratio", .kind = OPTION_INTEGER, .default_value = "4", .low = 1, .high = 1024, .letter = "r",
     .meaning = "hidden channels over C"},
    {.name = "depthwise", .kind = OPTION_FLAG, .meaning = "a 3x3 convolution of each hidden channel before the GELU"},
    {0}
};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "w_1", .shape = "r*C C", .fan_in = "C", .meaning = "to the hidden channels"},
    {.name = "b_1", .shape = "r*C", .optional = true, .fan_in = "C", .meaning = "its bias"},
    {.name = "conv_w", .shape = "r*C 3 3", .when = "depthwise=given", .fan_in = "9",
     .meaning = "the convolution of each hidden channel"},
    {.name = "conv_b", .shape = "r*C", .when = "depthwise=given", .optional = true, .fan_in = "9",
     .meaning = "its bias"},
    {.name = "w_2", .shape = "C r*C", .fan_in = "r*C", .meaning = "from the hidden channels"},
    {.name = "b_2", .shape = "C", .optional = true, .fan_in = "r*C", .meaning = "its bias"},
    {0}
};

static const struct letter letters[] = {{"r", "hidden channels over C"}, {0}};

static status derive(struct problem *p)
{
    size_t hidden;
    if (problem_given(p, "depthwise") && p->grid.axes != 2)
        return bad_input("option --depthwise: found a grid of %d axes, expected two", p->grid.axes);
    if (!size_multiply(&hidden, problem_size(p, "r"), problem_size(p, "C")) || hidden > INT_MAX)
        return bad_input("option --ratio: found %zu, expected at most %d hidden channels", problem_size(p, "r"),
                         INT_MAX);
    return status_ok();
}

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct mlp *)params = (struct mlp){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .hidden = lookup_size(&names, "r") * lookup_size(&names, "C"),
        .H = p->grid.size[0], .W = p->grid.size[1], .depthwise = lookup_given(&names, "depthwise"),
        .w_1 = lookup_tensor(&names, "w_1"), .b_1 = lookup_tensor(&names, "b_1"),
        .conv_w = lookup_tensor(&names, "conv_w"), .conv_b = lookup_tensor(&names, "conv_b"),
        .w_2 = lookup_tensor(&names, "w_2"), .b_2 = lookup_tensor(&names, "b_2"),
    };
    return names.error;
}

static void convolve(real *z, const real *hidden, const struct mlp *p, const real *weights, size_t n)
{
    const real *x[9], *w[9];
    size_t taps = 0, row = n / p->W, column = n % p->W;
    for (size_t tap = 0; tap < 9; tap++) {
        size_t y = row + tap / 3, z_at = column + tap % 3;     /* plus 1, so that they are not negative */
        if (y < 1 || y > p->H || z_at < 1 || z_at > p->W) continue;
        x[taps] = hidden + ((y - 1) * p->W + z_at - 1) * p->hidden;
        w[taps++] = weights + tap * p->hidden;
    }
    sum_taps(z, x, w, taps, p->conv_b, p->hidden, true);
}

static void run_chunk(const struct team *t)
{
    const struct mlp *p = t->plan->params;
    const struct mlp_form *f = t->plan->state;
    size_t C = p->C, width = p->hidden, items = t->images * p->N, tile = layer_tile(width);
    real *rows = arena_thread(&t->plan->arena, f->rows, t->thread);

    /* All hidden channels first, if neighbours will need them. */
    if (p->depthwise) team_linear(t, f->hidden, width, t->x, C, &f->first, items);
    if (p->depthwise) team_barrier(t);

    for (size_t n, end; team_next_range(t, items, tile, &n, &end);) {
        if (!p->depthwise) {
            linear_apply(rows, width, t->x + n * C, C, &f->first, end - n, 0, 1);
            gelu_row(rows, (end - n) * width);
        }
        for (size_t i = n; i < end && p->depthwise; i++)
            convolve(rows + (i - n) * width, f->hidden + i / p->N * p->N * width, p, f->conv, i % p->N);

        linear_apply(t->y + n * C, C, rows, width, &f->second, end - n, 0, 1);
    }
}

static status prepare(struct plan *plan)
{
    const struct mlp *p = plan->params;
    struct mlp_form *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t together = p->depthwise ? chunk_images(p->N, p->B) : 0;
    linear_prepare(&f->first, &linear_packed, arena, p->C, p->hidden);
    linear_prepare(&f->second, &linear_packed, arena, p->hidden, p->C);
    arena_reals(arena, PERSISTENT, &f->conv, "the convolution, entries first", p->depthwise ? 9 : 0, p->hidden);
    arena_reals(arena, PER_RUN, &f->hidden, "the hidden channels", together, p->N, p->hidden);
    arena_reals(arena, PER_THREAD, &f->rows, "a tile of hidden channels", layer_tile(p->hidden), p->hidden);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct mlp *p = plan->params;
    struct mlp_form *f = plan->state;
    linear_load(&f->first, 0, p->hidden, p->w_1, p->b_1);
    linear_load(&f->second, 0, p->C, p->w_2, p->b_2);
    if (p->depthwise) entries_first(f->conv, p->conv_w, p->hidden, 9);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct mlp *p = plan->params;
    const struct batch batch = {
        .images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->C,
        .chunk = p->depthwise ? chunk_images(p->N, p->B) : p->B,
    };
    return batch_run(plan, y, x, &batch, run_chunk);
}

static double multiply_adds(const void *params)
{
    const struct mlp *p = params;
    return (double)p->B * (double)p->N * (double)p->hidden * (2 * (double)p->C + (p->depthwise ? 9 : 0));
}

const struct form layer_mlp_form = {
    .name = "layer", .state = sizeof(struct mlp_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_mlp = {
    .name = "mlp",
    .summary = "two linear maps with a GELU between them, and optionally a 3x3 convolution of each hidden channel",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct mlp),
    .resolve = resolve,
};
