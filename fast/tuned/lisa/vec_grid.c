/* vec_grid.c -- convolution on a grid, a block of LANES channels at a time; see vec_grid.h
 *
 * t, m, x count along the slow, middle and fast axis. */

#include "vec_grid.h"
#include "vec_pass.h"

/* Prefetch distance of a kernel's spectrum, in points. */
#define AHEAD ((size_t)32)

void lane_grid_prepare(struct vec_grid *g, struct arena *arena, const grid *tokens, const grid *window, bool wraps)
{
    static const int slow_middle_fast[GRID_AXES + 1][GRID_AXES] = {{0}, {2, 1, 0}, {0, 2, 1}, {0, 1, 2}};

    *g = (struct vec_grid){.line = 1};
    arena_fail(arena, circulant_create(&g->circle, tokens, window, wraps, true));
    if (arena_status(arena).code) return;
    for (int a = 0; a < GRID_AXES; a++) {
        int axis = slow_middle_fast[tokens->axes][a];
        g->tokens[a] = tokens->size[axis];
        g->size[a] = g->circle.size[axis];
        if (g->size[a] > g->line) g->line = g->size[a];
        lane_fft_prepare(&g->fft[a], arena, g->size[a]);
    }
    g->row = g->size[2] | 1;
    g->field = g->tokens[0] * g->size[1] * g->row;
    g->whole = g->size[0] * g->size[1] * g->row;
    g->half = g->size[0] * g->size[1] * (g->size[2] / 2 + 1);
    g->points = g->circle.points;
}

void lane_grid_load(struct vec_grid *g)
{
    for (int a = 0; a < GRID_AXES; a++) lane_fft_load(&g->fft[a]);
}

/* The column of a field at frequencies m and x, or its mirror image. */
static size_t column_at(const struct vec_grid *g, size_t m, size_t x, bool mirrored)
{
    return mirrored ? (g->size[1] - m) % g->size[1] * g->row + g->size[2] - x : m * g->row + x;
}

/* 0 if x is its own mirror image, otherwise 1. */
static int mirror_images(const struct vec_grid *g, size_t x)
{
    return x != (g->size[2] - x) % g->size[2];
}

/* A line of a block, with zeros after the last token. */
struct token_line { const real *at; size_t stride, tokens, channels; const real *even, *odd; };

INLINED vec token(const struct token_line *t, size_t i)
{
    if (i >= t->tokens) return (vec){0};
    if (t->channels < LANES) return vec_load_partial(t->at + i * t->stride, t->channels);
    return vec_loadu(t->at + i * t->stride);
}

INLINED point load_tokens(void *line, size_t place)
{
    return (point){token(line, place / POINT), {0}};
}

INLINED point load_weighed_tokens(void *line, size_t place)
{
    const struct token_line *t = line;
    size_t i = place / POINT;
    const vec a = token(t, i);
    if (i >= t->tokens) return (point){a, a};
    return (point){a * t->even[i], a * t->odd[i]};
}

LANE_ENTER(enter_tokens, struct token_line, load_tokens)
LANE_ENTER(enter_weighed_tokens, struct token_line, load_weighed_tokens)

/* A line of a field, with points `step` apart; only the first `kept` points are stored. */
struct field_line { real *at; size_t step, kept; };

INLINED point load_field(void *line, size_t place)
{
    const struct field_line *f = line;
    return place < f->kept * POINT ? line_load(f->at, place * f->step) : (point){{0}, {0}};
}

INLINED void store_field(void *line, size_t place, point z)
{
    struct field_line *f = line;
    if (place < f->kept * POINT) line_store(f->at, place * f->step, z);
}

LANE_ENTER(enter_field, struct field_line, load_field)
LANE_LEAVE(leave_field, struct field_line, store_field)

/* Transforms all lines of a field along the middle axis; reads `in` points of each, and writes `out`. */
static void along_middle(const struct vec_grid *g, real *field, size_t rows, size_t columns,
                         size_t in, size_t out, real *line)
{
    if (g->size[1] == 1) return;
    for (size_t t = 0; t < rows; t++)
        for (size_t x = 0; x < columns; x++) {
            real *at = field + (t * g->size[1] * g->row + x) * POINT;
            struct field_line source = {at, g->row, in}, sink = {at, g->row, out};
            vec_pass(&g->fft[1], enter_field, &source, leave_field, &sink, line);
        }
}

void lane_grid_spectrum(const struct vec_grid *g, real *spectrum, const real *tokens, size_t stride,
                        size_t channels, real *field, real *line)
{
    size_t T = g->tokens[0], M = g->tokens[1], W = g->tokens[2], columns = g->size[2] / 2 + 1;

    /* Step 1: the rows; they are real, so half of the frequencies are enough. */
    for (size_t t = 0; t < T; t++)
        for (size_t m = 0; m < M; m++) {
            struct token_line source = {tokens + (t * M + m) * W * stride, stride, W, channels, NULL, NULL};
            struct field_line sink = {field + (t * g->size[1] + m) * g->row * POINT, 1, columns};
            vec_pass(&g->fft[2], enter_tokens, &source, leave_field, &sink, line);
        }

    /* Step 2: the middle axis, in place. */
    along_middle(g, field, T, columns, M, g->size[1], line);

    /* Step 3: the slow axis, into the order of use. */
    for (size_t x = 0; x < columns; x++)
        for (size_t m = 0; m < g->size[1]; m++, spectrum += g->size[0] * POINT) {
            struct field_line source = {field + (m * g->row + x) * POINT, g->size[1] * g->row, T};
            vec_pass(&g->fft[0], enter_field, &source, lane_line, spectrum, line);
        }
}

void lane_grid_kernel(const struct vec_grid *g, real *kernel, real *field, real *line)
{
    size_t T = g->size[0], M = g->size[1], W = g->size[2];

    /* Step 1: fast and middle axis, in place. */
    for (size_t t = 0; t < T * M; t++) {
        real *row = field + t * g->row * POINT;
        vec_pass(&g->fft[2], lane_line, row, lane_line, row, line);
    }
    along_middle(g, field, T, W, M, M, line);

    /* Step 2: the slow axis, each line followed by its mirror image. */
    const size_t *order = g->fft[0].stage[0].from;
    const real share = 1 / (real)g->points;
    real *transformed = line + g->line * POINT;
    for (size_t x = 0; x <= W / 2; x++)
        for (size_t m = 0; m < M; m++)
            for (int mirrored = 0; mirrored <= mirror_images(g, x); mirrored++) {
                struct field_line source = {field + column_at(g, m, x, mirrored) * POINT, M * g->row, T};
                vec_pass(&g->fft[0], enter_field, &source, lane_line, transformed, line);
                for (size_t t = 0; t < T; t++, kernel += POINT) {
                    point z = line_load(transformed, order[t]);
                    line_store(kernel, 0, (point){z.re * share, z.im * share});
                }
            }
}

/* A line of a block's spectrum and one of a kernel's.  Each loaded point advances `kernel`. */
struct factors { const real *block, *kernel; size_t size; };

INLINED point block_point(const struct factors *f, size_t place)
{
    return line_load((real *)f->block, place);
}

/* The block is real, so its spectrum at the mirrored frequency is the complex conjugate. */
INLINED point mirrored_point(const struct factors *f, size_t place)
{
    point a = block_point(f, place ? f->size * POINT - place : 0);
    return (point){a.re, -a.im};
}

/* The product of a and the next point of a kernel per lane, or of one for all lanes; its parts are exchanged. */
INLINED point times_each(point a, struct factors *f)
{
    const vec re = vec_load(f->kernel), im = vec_load(f->kernel + LANES);
    __builtin_prefetch(f->kernel + AHEAD * POINT);
    __builtin_prefetch(f->kernel + AHEAD * POINT + LANES);
    f->kernel += POINT;
    return (point){a.re * im + a.im * re, a.re * re - a.im * im};
}

INLINED point times_one(point a, struct factors *f)
{
    const real re = f->kernel[0], im = f->kernel[1];
    f->kernel += 2;
    return (point){a.re * im + a.im * re, a.re * re - a.im * im};
}

INLINED point load_each(void *f, size_t place) { return times_each(block_point(f, place), f); }
INLINED point load_each_mirrored(void *f, size_t place) { return times_each(mirrored_point(f, place), f); }
INLINED point load_one(void *f, size_t place) { return times_one(block_point(f, place), f); }
INLINED point load_one_mirrored(void *f, size_t place) { return times_one(mirrored_point(f, place), f); }

LANE_ENTER(enter_each, struct factors, load_each)
LANE_ENTER(enter_each_mirrored, struct factors, load_each_mirrored)
LANE_ENTER(enter_one, struct factors, load_one)
LANE_ENTER(enter_one_mirrored, struct factors, load_one_mirrored)

/* lane_grid_multiply along the slow axis, for kernels with `width` reals per point. */
static void multiply_columns(const struct vec_grid *g, real *field, const real *spectrum, const real *kernel,
                             size_t width, lane_part *enter, lane_part *enter_mirrored, real *line)
{
    size_t T = g->size[0], M = g->size[1], W = g->size[2];

    for (size_t x = 0; x <= W / 2; x++)
        for (size_t m = 0; m < M; m++, spectrum += T * POINT)
            for (int mirrored = 0; mirrored <= mirror_images(g, x); mirrored++, kernel += T * width) {
                struct factors source = {spectrum, kernel, T};
                real *at = field + column_at(g, m, x, mirrored) * POINT;
                struct field_line sink = {at, M * g->row, g->tokens[0]};
                vec_pass(&g->fft[0], mirrored ? enter_mirrored : enter, &source, leave_field, &sink, line);
            }
}

void lane_grid_multiply(const struct vec_grid *g, real *field, const real *spectrum,
                        const real *kernel, bool one_for_all, real *line)
{
    if (one_for_all)
        multiply_columns(g, field, spectrum, kernel, 2, enter_one, enter_one_mirrored, line);
    else
        multiply_columns(g, field, spectrum, kernel, POINT, enter_each, enter_each_mirrored, line);
    along_middle(g, field, g->tokens[0], g->size[2], g->size[1], g->tokens[1], line);
}

void lane_grid_filter(const struct vec_grid *g, real *field, const real *tokens, size_t stride, size_t channels,
                      const real *even, const real *odd, const real *kernel, real *line)
{
    size_t T = g->tokens[0], M = g->tokens[1], W = g->tokens[2];
    real *transformed = line + g->line * POINT;

    /* Step 1: rows and middle axis, forward. */
    for (size_t t = 0; t < T; t++)
        for (size_t m = 0; m < M; m++) {
            size_t first = (t * M + m) * W;
            struct token_line source = {tokens + first * stride, stride, W, channels, even + first, odd + first};
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            vec_pass(&g->fft[2], enter_weighed_tokens, &source, lane_line, row, line);
        }
    along_middle(g, field, T, g->size[2], M, g->size[1], line);

    /* Step 2: each line of the slow axis: forward, times the kernel, and back. */
    for (size_t x = 0; x <= g->size[2] / 2; x++)
        for (size_t m = 0; m < g->size[1]; m++)
            for (int mirrored = 0; mirrored <= mirror_images(g, x); mirrored++, kernel += 2 * g->size[0]) {
                real *at = field + column_at(g, m, x, mirrored) * POINT;
                struct field_line column = {at, g->size[1] * g->row, T};
                struct factors product = {transformed, kernel, g->size[0]};
                vec_pass(&g->fft[0], enter_field, &column, lane_line, transformed, line);
                vec_pass(&g->fft[0], enter_one, &product, leave_field, &column, line);
            }

    /* Step 3: the middle axis back. */
    along_middle(g, field, T, g->size[2], g->size[1], M, line);
}
