/* dfc_cp.c -- Eq. 6, one factor at a time: two matrix products, and between them a sum or a convolution (plane.h)
 *
 *     z_mr = sum_c u4_cr x_mc                a matrix product
 *     s_r  = u1_r sum_m u2_mr z_mr           R numbers for the whole image; u1 may be absent
 *     y_nd = sum_r (u3_nr s_r) u5_dr         a matrix product
 *
 * With relative positions:
 *
 *     s_nr = u1_r sum_m u2_{m-n,r} z_mr      a convolution, with a gate
 *
 * Contract: reference/dfc.h. */

#include "../../../reference/dfc.h"
#include "../../../reference/runtime/batch.h"
#include "../../../reference/runtime/linear.h"
#include "../forms.h"
#include "../gelu.h"
#include "plane.h"
#include <string.h>

struct dfc_cp_fast {
    size_t row;                 /* of z: R, or with relative positions whole vectors, the last lanes zero */
    real *z;                    /* [slots][M][row] */
    real *sum;                  /* [slots][R] */
    real *gated;                /* [slots][N][R] */
    struct plane plane;         /* if relative */
};

static status prepare(struct plan *plan)
{
    const struct dfc_problem *p = plan->params;
    struct dfc_cp_fast *f = plan->state;
    size_t threads = (size_t)plan->threads, slots = p->B < threads ? p->B : threads;

    f->row = p->relative ? plane_row(p->R) : p->R;
    if (p->relative) plane_prepare(&f->plane, &plan->arena, &p->grid, p->R);
    arena_reals(&plan->arena, PER_RUN, &f->z, "the components of the tokens in", slots, p->M, f->row);
    arena_reals(&plan->arena, PER_RUN, &f->sum, "the components of an image", p->relative ? 0 : slots, p->R);
    arena_reals(&plan->arena, PER_RUN, &f->gated, "the components of the tokens out", slots, p->N, p->R);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct dfc_problem *p = plan->params;
    struct dfc_cp_fast *f = plan->state;
    if (p->relative) plane_load(&f->plane, p->u2);
    return status_ok();
}

/* Step 2 with absolute positions: one number per component for the whole image. */
static void sum_tokens(const struct team *t, real *sum, const real *z, const real *u1_i)
{
    const struct dfc_problem *p = t->plan->params;
    size_t R = p->R;
    for (size_t from, end; team_next_range(t, R, R, &from, &end);) {
        for (size_t r = from; r < end; r++) sum[r] = 0;
        for (size_t m = 0; m < p->M; m++)
            for (size_t r = from; r < end; r++) sum[r] += p->u2[m * R + r] * z[m * R + r];
        for (size_t r = from; r < end && u1_i; r++) sum[r] *= u1_i[r];
    }
}

/* One image.  The threads divide the input tokens, then the components, then the output tokens. */
static void one_image(const struct team *t)
{
    const struct dfc_problem *p = t->plan->params;
    const struct dfc_cp_fast *f = t->plan->state;
    size_t M = p->M, N = p->N, C = p->C, D = p->D, R = p->R;
    real *z = f->z + t->slot * M * f->row, *sum = f->sum ? f->sum + t->slot * R : NULL;
    real *gated = f->gated + t->slot * N * R;
    const real *u1_i = p->u1 ? p->u1 + t->first * R : NULL;

    /* Step 1: channels to components. */
    for (size_t m, end; team_next_range(t, M, TEAM_TOKENS, &m, &end);) {
        linear_product(z + m * f->row, f->row, t->x + m * C, C, p->u4, end - m, C, R);
        for (; m < end && f->row > R; m++) memset(z + m * f->row + R, 0, (f->row - R) * sizeof *z);
    }
    team_barrier(t);

    /* Step 2: tokens in. */
    if (p->relative) plane_run(t, &f->plane, gated, z, p->u3, u1_i);
    else sum_tokens(t, sum, z, u1_i);
    team_barrier(t);

    /* Step 3: components to channels, and sigma. */
    for (size_t first, end; team_next_range(t, N, TEAM_TOKENS, &first, &end);) {
        for (size_t n = first; n < end && !p->relative; n++)
            for (size_t r = 0; r < R; r++) gated[n * R + r] = p->u3[n * R + r] * sum[r];
        linear_map(t->y + first * D, D, gated + first * R, R, p->u5, NULL, end - first, R, D);
        for (size_t n = first; n < end; n++) bias_and_gelu(t->y + n * D, p->b + n * D, D, p->gelu);
    }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct dfc_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->M * p->C, .y_image = p->N * p->D, .per_thread = true};
    return batch_run(plan, y, x, &batch, one_image);
}

static double multiply_adds(const void *params)
{
    const struct dfc_problem *p = params;
    double direct = (double)p->M * (double)p->N, R = (double)p->R;
    double sums = p->relative ? (direct - plane_multiply_adds(&p->grid)) * R : 0;
    return dfc_cp_multiply_adds(params) - (double)p->B * sums;
}

const struct form dfc_cp_fast = {
    .name = "fast", .state = sizeof(struct dfc_cp_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
