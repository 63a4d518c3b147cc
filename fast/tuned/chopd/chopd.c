/* chopd.c -- the ChoP'D layer one factor at a time
 *
 *     z_rn   = sum_c u4_cr x_nc                                         a product whose output is planes
 *     z_rn  <- gate_rn sum_g E_rg mean of z_r over box g around n       box_pool.h
 *     y_nd   = sigma(sum_r u5_dr z_rn + b_d)                            a product whose input is planes; gelu.h
 *
 * Apart from phi's, no tensor of an image has more than N R numbers.
 *
 * 1. Both products are those of packed_linear.h.  The first repacks a strip of tokens as if they were weights, so that
 *    its vectors hold tokens.  The second reads the planes directly.
 * 2. GELU is applied to a strip of y while it is in the cache.
 * 3. The gate interpolates phi's map of s x s cells: along x once for each plane, along y for each row of tokens.  A
 *    vector has columns between the same two cells.
 * 4. One thread computes phi of an image.  With at least as many images as threads, each thread has its own images.
 *
 * Contract: reference/chopd.h. */

#include "../../../reference/chopd.h"
#include "../../../reference/runtime/batch.h"
#include "../../../reference/runtime/linear.h"
#include "../forms.h"
#include "../gelu.h"
#include "../packed_linear.h"
#include "box_pool.h"

/* Tokens in a strip, which fits the cache. */
#define STRIP ((size_t)48)

/* The columns from `from` to the next stretch lie between cells `low` and `high` of phi's map. */
struct stretch { size_t from, low, high; };

struct chopd_fast {
    struct box_pool pool;
    struct chopd_gate gate;
    real *u4_rc;                /* [R][C] */
    struct tap *down;           /* [H]: the position of each row on phi's map */
    struct stretch *across;     /* [stretches + 1]: the positions of the columns; the last marks the end */
    size_t stretches;
    real *weight;               /* [W + LANES]: distance of a column from its lower cell, then zeros */
    struct linear output;       /* u5 and b */
    real *z;                    /* [slots][R][N] */
    real *panels;               /* per thread: a strip of x, repacked */
    real *rows;                 /* per thread, [s][W + LANES]: one component of phi's map, interpolated along x */
};

static status prepare(struct plan *plan)
{
    const struct chopd_problem *p = plan->params;
    struct chopd_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t threads = (size_t)plan->threads, slots = p->B < threads ? p->B : threads;

    box_pool_prepare(&f->pool, arena, p->H, p->W, p->R, p->G);
    chopd_gate_prepare(&f->gate, arena, p, slots);
    arena_reals(arena, PERSISTENT, &f->u4_rc, "the factor u4", p->R, p->C);
    arena_objects(arena, PERSISTENT, &f->down, "the rows of phi's map", p->H, 1, sizeof *f->down);
    arena_objects(arena, PERSISTENT, &f->across, "the columns of phi's map", p->s + 1, 1, sizeof *f->across);
    arena_reals(arena, PERSISTENT, &f->weight, "the columns between phi's cells", p->W + LANES);
    arena_reals(arena, PER_RUN, &f->z, "an image's components", slots, p->R, p->N);
    linear_prepare(&f->output, &linear_packed, arena, p->R, p->D);
    arena_reals(arena, PER_THREAD, &f->panels, "a strip of tokens, repacked", STRIP, p->C + 1);
    arena_reals(arena, PER_THREAD, &f->rows, "the gate of a component", p->s, p->W + LANES);
    return arena_status(arena);
}

/* The position of each column on phi's map. */
static void load_columns(struct chopd_fast *f, const struct chopd_problem *p)
{
    size_t n = 0;
    for (size_t x = 0; x < p->W; x++) {
        struct tap tap = bilinear_tap(x, p->s, p->W);
        if (n == 0 || tap.low != f->across[n - 1].low) f->across[n++] = (struct stretch){x, tap.low, tap.high};
        f->weight[x] = tap.weight;
    }
    for (size_t l = 0; l < LANES; l++) f->weight[p->W + l] = 0;
    f->across[n] = (struct stretch){.from = p->W};
    f->stretches = n;
}

static status load(struct plan *plan)
{
    const struct chopd_problem *p = plan->params;
    struct chopd_fast *f = plan->state;

    box_pool_load(&f->pool, p->boxes, p->mix);
    linear_load(&f->output, 0, p->D, p->u5, p->b);
    for (size_t c = 0; c < p->C; c++)
        for (size_t r = 0; r < p->R; r++) f->u4_rc[r * p->C + c] = p->u4[c * p->R + r];
    for (size_t y = 0; y < p->H; y++) f->down[y] = bilinear_tap(y, p->s, p->H);
    load_columns(f, p);
    return status_ok();
}

/* Interpolates component r of phi's map along x: rows [s][W + LANES] from map [s][s][R].  A stretch is written in
 * whole vectors; the next stretch overwrites the excess. */
static void gate_rows(real *rows, const real *map, const struct chopd_fast *f, const struct chopd_problem *p, size_t r)
{
    for (size_t i = 0; i < p->s; i++, rows += p->W + LANES, map += p->s * p->R)
        for (const struct stretch *here = f->across; here < f->across + f->stretches; here++) {
            real low = map[here->low * p->R + r], high = map[here->high * p->R + r];
            for (size_t x = here->from; x < here[1].from; x += LANES)
                vec_storeu(rows + x, low + (high - low) * vec_loadu(f->weight + x));
        }
}

/* z of `tokens` tokens, as planes: the product u4^T x^T, with the tokens repacked as weights. */
static void to_planes(real *z, const real *x, const struct chopd_fast *f, const struct chopd_problem *p,
                      real *panels, size_t tokens)
{
    struct linear map = {.kind = &linear_packed, .in = p->C, .out = tokens, .panels = panels};
    linear_packed_load(&map, 0, tokens, x, p->C, NULL);
    linear_apply(z, p->N, f->u4_rc, p->C, &map, p->R, 0, 1);
}

/* One image.  The threads divide the tokens, then the components, then the tokens again. */
static void one_image(const struct team *t)
{
    const struct chopd_problem *p = t->plan->params;
    const struct chopd_fast *f = t->plan->state;
    const struct arena *arena = &t->plan->arena;
    size_t N = p->N, C = p->C, D = p->D, R = p->R, strips = (N - 1) / STRIP + 1;
    const real *map = f->gate.map + t->slot * p->s * p->s * R;
    real *z = f->z + t->slot * R * N, *rows = arena_thread(arena, f->rows, t->thread);

    /* Step 1: phi's map; channels to components. */
    if (t->part == 0) chopd_gate(&f->gate, t->slot, t->x, p);
    for (size_t s; team_next(t, strips, &s);) {
        size_t n = s * STRIP, tokens = N - n < STRIP ? N - n : STRIP;
        to_planes(z + n, t->x + n * C, f, p, arena_thread(arena, f->panels, t->thread), tokens);
    }
    team_barrier(t);

    /* Step 2: the boxes and the gate of each component. */
    const struct box_pool_factor factor = {rows, p->W + LANES, f->down};
    box_pool_clear(&f->pool, arena, t->thread);
    for (size_t r; team_next(t, R, &r);) {
        gate_rows(rows, map, f, p, r);
        box_pool_plane(&f->pool, r, z + r * N, z + r * N, &factor, arena, t->thread);
    }
    team_barrier(t);

    /* Step 3: components to channels, and sigma. */
    for (size_t s; team_next(t, strips, &s);) {
        size_t n = s * STRIP, tokens = N - n < STRIP ? N - n : STRIP;
        linear_packed_planes(t->y + n * D, D, z + n, N, &f->output, tokens);
        if (p->gelu) gelu_row(t->y + n * D, tokens * D);
    }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct chopd_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->D, .per_thread = true};
    return batch_run(plan, y, x, &batch, one_image);
}

static double multiply_adds(const void *params)
{
    const struct chopd_problem *p = params;
    double N = (double)p->N, R = (double)p->R;
    return (double)p->B * (N * R * ((double)p->C + (double)p->D + 6 * (double)p->G + 2)
                           + (double)p->s * (double)p->W * R + chopd_gate_multiply_adds(p));
}

const struct form chopd_fast = {
    .name = "fast", .state = sizeof(struct chopd_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
