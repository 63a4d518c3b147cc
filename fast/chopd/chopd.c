/* chopd.c -- the ChoP'D layer one factor at a time
 *
 *     z_rn   = sum_c u4_cr x_nc               a product that leaves planes, one a component
 *     z_rn  <- gate_rn sum_g E_rg mean of z_r over box g around n       box_pool.h
 *     y_nd   = sigma(sum_r u5_dr z_rn + b_d)  a product that takes planes, and gelu.h
 *
 * No tensor of more than N R numbers is there.  Turning tokens into planes and
 * back costs nothing: BLAS reads either operand in either order.
 *
 * The gate is bilinear between the s x s values of phi: first along every row
 * of the small map, once for a plane, then between two of those for each row of
 * tokens.
 *
 * One thread computes phi.  Of several images each thread takes its own, so that
 * nobody waits for it: it is half of the work on 14 x 14 tokens.
 *
 * 56 x 56 tokens, R = C = D = 96, G = 4, one core, in ms: the products 0.58, the
 * pooling 0.35, GELU 0.09, phi and what is between them 0.2.
 *
 * Contract: reference/chopd.h. */

#include "../../reference/chopd.h"
#include "../../reference/flight.h"
#include "../../reference/linear.h"
#include "../forms.h"
#include "../gelu.h"
#include "box_pool.h"

struct chopd_fast {
    struct box_pool pool;
    struct chopd_gate gate;
    real *u4_rc;                /* [R][C] */
    struct tap *down, *across;  /* where a token lies on phi's map, [H], [W] */
    real *z;                    /* [slots][R][N] */
    real *rows;                 /* of each thread: phi's rows of one component, [s][W] */
};

static status prepare(struct plan *plan)
{
    const struct chopd_problem *p = plan->of;
    struct chopd_fast *f = plan->state;
    struct room *room = &plan->room;
    size_t threads = (size_t)plan->threads, slots = p->B < threads ? p->B : threads;

    box_pool_prepare(&f->pool, room, p->H, p->W, p->R, p->G);
    chopd_gate_prepare(&f->gate, room, p, slots);
    room_reals(room, OF_LOAD, &f->u4_rc, "the factor u4", p->R, p->C, 1, 1);
    room_objects(room, OF_LOAD, &f->down, "the rows of phi's map", p->H, 1, sizeof *f->down);
    room_objects(room, OF_LOAD, &f->across, "the columns of phi's map", p->W, 1, sizeof *f->across);
    room_reals(room, OF_RUN, &f->z, "an image's components", slots, p->R, p->N, 1);
    room_reals(room, OF_THREAD, &f->rows, "the gate of a component", p->s, p->W, 1, 1);
    return room_status(room);
}

static status load(struct plan *plan)
{
    const struct chopd_problem *p = plan->of;
    struct chopd_fast *f = plan->state;

    box_pool_load(&f->pool, p->boxes, p->mix);
    for (size_t c = 0; c < p->C; c++)
        for (size_t r = 0; r < p->R; r++) f->u4_rc[r * p->C + c] = p->u4[c * p->R + r];
    for (size_t y = 0; y < p->H; y++) f->down[y] = bilinear_tap(y, p->s, p->H);
    for (size_t x = 0; x < p->W; x++) f->across[x] = bilinear_tap(x, p->s, p->W);
    return status_ok();
}

/* phi's rows for component r, made W long: rows [s][W] from map [s][s][R]. */
static void gate_rows(real *rows, const real *map, const struct tap *across, const struct chopd_problem *p, size_t r)
{
    for (size_t i = 0; i < p->s; i++)
        for (size_t x = 0; x < p->W; x++) {
            const real *map_i = map + i * p->s * p->R;
            struct tap tap = across[x];
            real low = map_i[tap.low * p->R + r], high = map_i[tap.high * p->R + r];
            rows[i * p->W + x] = low + tap.weight * (high - low);
        }
}

/* One image.  The threads share the tokens, then the components, then the tokens
 * again. */
static void one_image(const struct flight *t)
{
    const struct chopd_problem *p = t->plan->of;
    const struct chopd_fast *f = t->plan->state;
    const struct room *room = &t->plan->room;
    size_t N = p->N, C = p->C, D = p->D, R = p->R, first = flight_from(t, N), end = flight_to(t, N);
    const real *map = f->gate.map + t->slot * p->s * p->s * R;
    real *z = f->z + t->slot * R * N, *rows = room_own(room, f->rows, t->thread);

    /* Step 1: what the gate will be, and channels to components. */
    if (t->part == 0) chopd_gate(&f->gate, t->slot, t->x, p);
    linear_map(z + first, N, f->u4_rc, C, t->x + first * C, NULL, R, C, end - first);
    flight_meet(t);

    /* Step 2: every component pools over its boxes. */
    const struct box_pool_factor factor = {rows, p->W, f->down};
    box_pool_clear(&f->pool, room, t->thread);
    for (size_t r = flight_from(t, R); r < flight_to(t, R); r++) {
        gate_rows(rows, map, f->across, p, r);
        box_pool_plane(&f->pool, r, z + r * N, z + r * N, &factor, room, t->thread);
    }
    flight_meet(t);

    /* Step 3: components to channels, and sigma. */
    linear_from_planes(t->y + first * D, D, z + first, N, p->u5, end - first, R, D);
    for (size_t n = first; n < end; n++) bias_and_gelu(t->y + n * D, p->b, D, p->gelu);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct chopd_problem *p = plan->of;
    const struct batch batch = {.images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->D, .apart = true};
    return flights_run(plan, y, x, &batch, one_image);
}

static double multiply_adds(const void *of)
{
    const struct chopd_problem *p = of;
    double N = (double)p->N, R = (double)p->R;
    return (double)p->B * (N * R * ((double)p->C + (double)p->D + 6 * (double)p->G + 2)
                           + (double)p->s * (double)p->W * R + chopd_gate_multiply_adds(p));
}

const struct form chopd_fast = {"fast", sizeof(struct chopd_fast), prepare, load, run, NULL, multiply_adds};
