/* deform.c -- a deformable convolution of 2 x 2 taps and stride 2, batch norm, GELU
 *
 *     o_n = offset_w patch(n) + offset_b                      (dy, dx) of each of the 4 taps
 *     y_n = gelu(norm(W [x(p_nt + o_nt) of all taps t] + b))
 *
 * p_nt is the position of tap t of patch n, taps row-major.  Between tokens x is interpolated bilinearly; off the plane
 * it is zero, so a point half a step outside has half the value of the border.  LITv2 has this layer between stages,
 * with this order of weights: columns of W are [C][2][2].
 *
 * load folds the batch norm (epsilon 1e-5) into W and b.  Samples are gathered tile by tile and multiplied.
 *
 * Cost: B N/4 (8 C^2 + 32 C + 16 C) multiply-adds: the convolution, that of the offsets, four factors for each sample.
 * Memory: packed copies of both weights, a tile for each thread. */

#include "layer.h"
#include <tgmath.h>

#define TAPS 4

struct deform {
    size_t B, N, C, H, W;
    const real *w, *b, *offset_w, *offset_b, *g, *norm_b, *mean, *var;
};

struct deform_form {
    struct linear map, offset_map;          /* of rows [4][C]; map includes the norm */
    real *w, *b, *offset_w, *factor;        /* LOAD_SCRATCH: [2C][4][C], [2C], [8][4][C], [2C] */
    real *rows, *offsets;                   /* PER_THREAD: [tile][4][C], [tile][8] */
};

static const struct option options[] = {LAYER_GRID(2, 2, "HxW, even"), {0}};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "w", .shape = "2*C C 2 2", .fan_in = "4*C", .meaning = "the convolution of the samples"},
    {.name = "b", .shape = "2*C", .optional = true, .fan_in = "4*C", .meaning = "its bias"},
    {.name = "offset_w", .shape = "8 C 2 2", .fan_in = "4*C",
     .meaning = "the convolution that computes the offsets dy and dx"},
    {.name = "offset_b", .shape = "8", .optional = true, .fan_in = "4*C", .meaning = "its bias"},
    {.name = "norm_g", .shape = "2*C", .fan_in = "1", .adjust = layer_adjust_gain, .meaning = "gain of the batch norm"},
    {.name = "norm_b", .shape = "2*C", .fan_in = "C", .meaning = "its bias"},
    {.name = "norm_mean", .shape = "2*C", .fan_in = "C", .running_statistic = true, .meaning = "its kept mean"},
    {.name = "norm_var", .shape = "2*C", .fan_in = "1", .adjust = layer_adjust_variance, .running_statistic = true,
     .meaning = "its kept variance"},
    {0}
};

static const struct letter letters[] = {{"N'", "tokens of y, N/4"}, {0}};

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct deform *)params = (struct deform){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .H = p->grid.size[0], .W = p->grid.size[1],
        .w = lookup_tensor(&names, "w"), .b = lookup_tensor(&names, "b"),
        .offset_w = lookup_tensor(&names, "offset_w"), .offset_b = lookup_tensor(&names, "offset_b"),
        .g = lookup_tensor(&names, "norm_g"), .norm_b = lookup_tensor(&names, "norm_b"),
        .mean = lookup_tensor(&names, "norm_mean"), .var = lookup_tensor(&names, "norm_var"),
    };
    return names.error;
}

/* row <- x at (y, z), bilinear, zero off the plane.  If a coordinate is NaN, so is the row. */
static void sample(real *row, const real *x, const struct deform *p, real y, real z)
{
    size_t C = p->C;
    bool outside = y <= -1 || z <= -1 || y >= (real)p->H || z >= (real)p->W;
    bool nan = isnan(y) || isnan(z);
    if (outside || nan) {
        for (size_t c = 0; c < C; c++) row[c] = nan ? y + z : 0;
        return;
    }
    real top = floor(y), left = floor(z), down = y - top, right = z - left;
    ptrdiff_t first_row = (ptrdiff_t)top, first_column = (ptrdiff_t)left;
    const real share[4] = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right};
    static const struct { ptrdiff_t row, column; } corner[4] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    const real *token[4];
    size_t corners = 0;
    real part[4];

    for (size_t i = 0; i < 4; i++) {
        ptrdiff_t r = first_row + corner[i].row, c = first_column + corner[i].column;
        if (r < 0 || c < 0 || r >= (ptrdiff_t)p->H || c >= (ptrdiff_t)p->W) continue;
        token[corners] = x + (r * (ptrdiff_t)p->W + c) * (ptrdiff_t)C;
        part[corners++] = share[i];
    }
    for (size_t c = 0; c < C; c++) row[c] = part[0] * token[0][c];
    for (size_t i = 1; i < corners; i++)
        for (size_t c = 0; c < C; c++) row[c] += part[i] * token[i][c];
}

static void run_chunk(const struct team *t)
{
    const struct deform *p = t->plan->params;
    const struct deform_form *f = t->plan->state;
    size_t C = p->C, D = 2 * C, width = TAPS * C, half = p->W / 2, patches = p->N / 4, tile = layer_tile(width);
    size_t items = t->images * patches;
    real *rows = arena_thread(&t->plan->arena, f->rows, t->thread);
    real *offsets = arena_thread(&t->plan->arena, f->offsets, t->thread);

    for (size_t n, end; team_next_range(t, items, tile, &n, &end);) {
        /* Step 1: the patches without offsets, and the offset of each tap. */
        for (size_t i = n; i < end; i++) {
            size_t at = i % patches, first = at / half * 2 * p->W + at % half * 2;
            const real *x = t->x + (i / patches * p->N + first) * C;
            memcpy(rows + (i - n) * width, x, 2 * C * sizeof *rows);
            memcpy(rows + (i - n) * width + 2 * C, x + p->W * C, 2 * C * sizeof *rows);
        }
        linear_apply(offsets, 2 * TAPS, rows, width, &f->offset_map, end - n, 0, 1);

        /* Step 2: the samples at the moved taps. */
        for (size_t i = n; i < end; i++) {
            size_t at = i % patches, row = at / half * 2, column = at % half * 2;
            const real *o = offsets + (i - n) * 2 * TAPS;
            for (size_t tap = 0; tap < TAPS; tap++)
                sample(rows + (i - n) * width + tap * C, t->x + i / patches * p->N * C, p,
                       (real)(row + tap / 2) + o[2 * tap], (real)(column + tap % 2) + o[2 * tap + 1]);
        }

        /* Step 3: the convolution, with the norm, and GELU. */
        linear_apply(t->y + n * D, D, rows, width, &f->map, end - n, 0, 1);
        gelu_row(t->y + n * D, (end - n) * D);
    }
}

static status prepare(struct plan *plan)
{
    const struct deform *p = plan->params;
    struct deform_form *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t tile = layer_tile(TAPS * p->C);
    linear_prepare(&f->map, &linear_packed, arena, TAPS * p->C, 2 * p->C);
    linear_prepare(&f->offset_map, &linear_packed, arena, TAPS * p->C, 2 * TAPS);
    arena_reals(arena, LOAD_SCRATCH, &f->w, "the weights with the norm", 2, p->C, TAPS, p->C);
    arena_reals(arena, LOAD_SCRATCH, &f->b, "their bias", 2, p->C);
    arena_reals(arena, LOAD_SCRATCH, &f->offset_w, "the offsets' weights", 2 * TAPS, TAPS, p->C);
    arena_reals(arena, LOAD_SCRATCH, &f->factor, "the norm's factors", 2, p->C);
    arena_reals(arena, PER_THREAD, &f->rows, "a tile of samples", tile, TAPS, p->C);
    arena_reals(arena, PER_THREAD, &f->offsets, "a tile of offsets", tile, 2 * TAPS);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct deform *p = plan->params;
    struct deform_form *f = plan->state;
    size_t C = p->C, D = 2 * C, width = TAPS * C;
    layer_fold(f->factor, f->b, p->g, p->norm_b, p->mean, p->var, D, 1e-5);
    for (size_t d = 0; d < D; d++) {
        entries_first(f->w + d * width, p->w + d * width, C, TAPS);
        for (size_t i = 0; i < width; i++) f->w[d * width + i] *= f->factor[d];
        if (p->b) f->b[d] += p->b[d] * f->factor[d];
    }
    for (size_t o = 0; o < 2 * TAPS; o++) entries_first(f->offset_w + o * width, p->offset_w + o * width, C, TAPS);
    linear_load(&f->map, 0, D, f->w, f->b);
    linear_load(&f->offset_map, 0, 2 * TAPS, f->offset_w, p->offset_b);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct deform *p = params;
    return (double)p->B * (double)(p->N / 4) * (double)p->C * (8 * (double)p->C + 32 + 16);
}

const struct form layer_deform_form = {
    .name = "layer", .state = sizeof(struct deform_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_deform = {
    .name = "deform",
    .summary = "a deformable 2x2 convolution of stride 2 to 2C channels, batch norm, GELU",
    .letters = letters,
    .output = "B N' 2*C",
    .options = options,
    .tensors = tensors,
    .derive = layer_halve,
    .resolved = sizeof(struct deform),
    .resolve = resolve,
};
