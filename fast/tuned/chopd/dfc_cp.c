/* dfc_cp.c -- Eq. 6, one factor at a time, as two matrix products
 *
 *     z_mr = sum_c u4_cr x_mc                a matrix product
 *     s_r  = u1_r sum_m u2_mr z_mr           R numbers for the whole image; u1 may be absent
 *     y_nd = sum_r (u3_nr s_r) u5_dr         a matrix product
 *
 * Contract: reference/dfc.h. */

#include "../../../reference/dfc.h"
#include "../../../reference/runtime/batch.h"
#include "../../../reference/runtime/linear.h"
#include "../forms.h"
#include "../gelu.h"

struct dfc_cp_fast {
    real *z;                    /* [slots][M][R] */
    real *sum;                  /* [slots][R] */
    real *gated;                /* [slots][N][R] */
};

static status prepare(struct plan *plan)
{
    const struct dfc_problem *p = plan->params;
    struct dfc_cp_fast *f = plan->state;
    size_t threads = (size_t)plan->threads, slots = p->B < threads ? p->B : threads;

    arena_reals(&plan->arena, PER_RUN, &f->z, "the components of the tokens in", slots, p->M, p->R);
    arena_reals(&plan->arena, PER_RUN, &f->sum, "the components of an image", slots, p->R);
    arena_reals(&plan->arena, PER_RUN, &f->gated, "the components of the tokens out", slots, p->N, p->R);
    return arena_status(&plan->arena);
}

/* One image.  The threads divide the input tokens, then the components, then the output tokens. */
static void one_image(const struct team *t)
{
    const struct dfc_problem *p = t->plan->params;
    const struct dfc_cp_fast *f = t->plan->state;
    size_t M = p->M, N = p->N, C = p->C, D = p->D, R = p->R;
    real *z = f->z + t->slot * M * R, *sum = f->sum + t->slot * R, *gated = f->gated + t->slot * N * R;
    const real *u1_i = p->u1 ? p->u1 + t->first * R : NULL;

    /* Step 1: channels to components. */
    for (size_t m, end; team_next_range(t, M, TEAM_TOKENS, &m, &end);)
        linear_product(z + m * R, R, t->x + m * C, C, p->u4, end - m, C, R);
    team_barrier(t);

    /* Step 2: one number per component for the whole image. */
    for (size_t from, end; team_next_range(t, R, R, &from, &end);) {
        for (size_t r = from; r < end; r++) sum[r] = 0;
        for (size_t m = 0; m < M; m++)
            for (size_t r = from; r < end; r++) sum[r] += p->u2[m * R + r] * z[m * R + r];
        for (size_t r = from; r < end && u1_i; r++) sum[r] *= u1_i[r];
    }
    team_barrier(t);

    /* Step 3: components to channels, and sigma. */
    for (size_t first, end; team_next_range(t, N, TEAM_TOKENS, &first, &end);) {
        for (size_t n = first; n < end; n++)
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

const struct form dfc_cp_fast = {
    .name = "fast", .state = sizeof(struct dfc_cp_fast), .prepare = prepare, .run = run,
    .multiply_adds = dfc_cp_multiply_adds,
};
