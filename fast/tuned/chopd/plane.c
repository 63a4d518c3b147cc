/* plane.c -- a depth-wise convolution as large as the plane; see plane.h
 *
 * Directly: a tile is TILE consecutive outputs of a row, whose sums stay in registers.  From one token to the next each
 * output moves to the weight that its neighbour had, so a token takes one new weight for TILE multiply-adds. */

#include "plane.h"
#include <math.h>
#include "../lisa/vec_pass.h"

#define TILE ((size_t)4)

/* ---- the choice --------------------------------------------------------------- */

static double direct_multiply_adds(const grid *g) { return (double)g->tokens * (double)g->tokens; }

/* A complex transform of P points counts 2.5 P log2 P (circulant.h), that of real numbers half of it; there is one of
 * real numbers forward, and a complex one back.  NaN if the circle is too large. */
static double transform_multiply_adds(const grid *g)
{
    struct circulant circle;
    if (circulant_create(&circle, g, &(grid){0}, false, true).code) return NAN;
    double P = (double)circle.points;
    return 3.75 * P * log2(P) + 4 * P;
}

static bool by_transforms(const grid *g) { return transform_multiply_adds(g) < direct_multiply_adds(g); }

double plane_multiply_adds(const grid *g)
{
    return by_transforms(g) ? transform_multiply_adds(g) : direct_multiply_adds(g);
}

/* ---- the weights ---------------------------------------------------------------- */

void plane_prepare(struct plane *p, struct arena *arena, const grid *g, size_t R)
{
    const struct vec_grid *circle = &p->circle;
    *p = (struct plane){.grid = *g, .R = R, .blocks = plane_row(R) / LANES, .transforms = by_transforms(g)};
    if (!p->transforms) {
        arena_reals(arena, PERSISTENT, &p->u2, "the offsets, by blocks of components", p->blocks, g->offsets, LANES);
        return;
    }
    lane_grid_prepare(&p->circle, arena, g, &(grid){0}, false);
    arena_reals(arena, PERSISTENT, &p->u2, "the spectra of the offsets", p->blocks, circle->points, POINT);
    arena_reals(arena, LOAD_SCRATCH, &p->kernel, "the offsets on their circle", circle->whole, POINT);
    arena_reals(arena, PER_THREAD, &p->spectrum, "the spectrum of a block", circle->half, POINT);
    arena_reals(arena, PER_THREAD, &p->field, "a field", circle->field, POINT);
    arena_reals(arena, PER_THREAD, &p->line, "a line and its copy", 2 * circle->line, POINT);
}

/* Lanes of block b from a row of R components; the others are zero. */
static vec part(const struct plane *p, const real *row, size_t b)
{
    size_t left = p->R - b * LANES;
    return left < LANES ? vec_load_partial(row + b * LANES, left) : vec_loadu(row + b * LANES);
}

void plane_load(struct plane *p, const real *u2)
{
    const struct vec_grid *g = &p->circle;
    size_t P = p->grid.offsets, fast = p->transforms ? g->size[2] : 1;

    if (p->transforms) lane_grid_load(&p->circle);
    for (size_t b = 0; b < p->blocks; b++) {
        for (size_t e = 0; e < P && !p->transforms; e++)
            vec_store(p->u2 + (b * P + e) * LANES, part(p, u2 + e * p->R, b));
        if (!p->transforms) continue;
        for (size_t i = 0; i < g->points; i++) {
            size_t e = circulant_entry(&g->circle, i);
            vec entry = {0};
            if (e != NO_ENTRY) entry = part(p, u2 + e * p->R, b);
            line_store(p->kernel, (i / fast * g->row + i % fast) * POINT, (point){entry, {0}});
        }
        lane_grid_kernel(g, p->u2 + b * g->points * POINT, p->kernel, p->line);
    }
}

/* ---- the run --------------------------------------------------------------------- */

/* Where sums of a block go, and their factors. */
struct gate { const struct plane *plane; real *out; const real *u3, *u1; size_t block, token; };

INLINED void store_gated(const struct gate *s, size_t n, vec sum)
{
    const struct plane *p = s->plane;
    size_t left = p->R - s->block * LANES;
    real *to = s->out + n * p->R + s->block * LANES;
    sum *= part(p, s->u3 + n * p->R, s->block);
    if (s->u1) sum *= part(p, s->u1, s->block);
    if (left < LANES) vec_store_partial(to, sum, left);
    else vec_storeu(to, sum);
}

/* The sums of `tile` outputs from token (row, x). */
INLINED void direct_tile(const struct gate *s, const size_t tile, const real *u2, const real *z, size_t row, size_t x)
{
    size_t H = s->plane->grid.size[0], W = s->plane->grid.size[1], step = plane_row(s->plane->R);
    vec sum[TILE] = {{0}}, weight[TILE];

    for (size_t m_y = 0; m_y < H; m_y++) {
        const real *u2_m = u2 + ((m_y + H - 1 - row) * (2 * W - 1) + W - 1 - x) * LANES;
        for (size_t j = 1; j < tile; j++) weight[j - 1] = vec_load(u2_m - j * LANES);
        for (size_t m_x = 0; m_x < W; m_x++, u2_m += LANES, z += step) {
            const vec z_m = vec_load(z);
            for (size_t j = tile - 1; j > 0; j--) weight[j] = weight[j - 1];
            weight[0] = vec_load(u2_m);
            for (size_t j = 0; j < tile; j++) sum[j] += weight[j] * z_m;
        }
    }
    for (size_t j = 0; j < tile; j++) store_gated(s, row * W + x + j, sum[j]);
}

/* A row of outputs.  If the last tile does not fit, it begins earlier and repeats some outputs. */
static void direct_row(const struct gate *s, const real *u2, const real *z, size_t row)
{
    size_t W = s->plane->grid.size[1];
    for (size_t x = 0; x < W && W < TILE; x++) direct_tile(s, 1, u2, z, row, x);
    for (size_t x = 0; x < W && W >= TILE; x += TILE) direct_tile(s, TILE, u2, z, row, x + TILE < W ? x : W - TILE);
}

/* The parts of the last transform's results are exchanged (vec_grid.h). */
INLINED void store_token(void *sink, size_t place, point z)
{
    const struct gate *s = sink;
    if (place < s->plane->grid.size[1] * POINT) store_gated(s, s->token + place / POINT, z.im);
}

LANE_LEAVE(leave_token, struct gate, store_token)

static void transformed_block(const struct team *t, struct gate *s, const real *z)
{
    const struct plane *p = s->plane;
    const struct vec_grid *g = &p->circle;
    const struct arena *arena = &t->plan->arena;
    real *spectrum = arena_thread(arena, p->spectrum, t->thread), *field = arena_thread(arena, p->field, t->thread);
    real *line = arena_thread(arena, p->line, t->thread);

    lane_grid_spectrum(g, spectrum, z, plane_row(p->R), LANES, field, line);
    lane_grid_multiply(g, field, spectrum, p->u2 + s->block * g->points * POINT, false, line);
    for (size_t row = 0; row < g->tokens[0]; row++) {
        s->token = row * g->tokens[2];
        vec_pass(&g->fft[2], lane_line, field + row * g->row * POINT, leave_token, s, line);
    }
}

void plane_run(const struct team *t, const struct plane *p, real *out, const real *z, const real *u3, const real *u1)
{
    struct gate s = {.plane = p, .out = out, .u3 = u3, .u1 = u1};
    size_t H = p->grid.size[0], rows = p->transforms ? 1 : H;

    for (size_t task; team_next(t, p->blocks * rows, &task);) {
        s.block = task / rows;
        if (p->transforms) transformed_block(t, &s, z + s.block * LANES);
        else direct_row(&s, p->u2 + s.block * p->grid.offsets * LANES, z + s.block * LANES, task % rows);
    }
}
