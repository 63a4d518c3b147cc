/* dfc_cp.c -- Eq. 3-5: builds the weights W_imncd of every image, and applies them; never optimised
 *
 * Contract: reference/dfc.h. */

#include "dfc.h"
#include "forms.h"
#include "../reference/runtime/steps.h"

/* W_imncd = sum_r u1_ir u2_mr u3_nr u4_cr u5_dr, or with u2_{m-n,r}; u1 = 1 if it is absent. */
void dfc_naive_tensor(real *w, const struct dfc_problem *p)
{
    size_t M = p->M, N = p->N, C = p->C, D = p->D, R = p->R;

    for (size_t i = 0; i < p->B; i++)
        for (size_t m = 0; m < M; m++)
            for (size_t n = 0; n < N; n++)
                for (size_t c = 0; c < C; c++)
                    for (size_t d = 0; d < D; d++) {
                        const real *u1_i = p->u1 ? p->u1 + i * R : NULL;
                        size_t position = p->relative ? grid_offset(&p->grid, n, m) : m;
                        const real *u2_m = p->u2 + position * R, *u3_n = p->u3 + n * R;
                        const real *u4_c = p->u4 + c * R, *u5_d = p->u5 + d * R;
                        real sum = 0;
                        for (size_t r = 0; r < R; r++)
                            sum += (u1_i ? u1_i[r] : (real)1) * u2_m[r] * u3_n[r] * u4_c[r] * u5_d[r];
                        w[(((i * M + m) * N + n) * C + c) * D + d] = sum;
                    }
}

/* y_ind = sum_mc x_imc W_imncd. */
void dfc_naive_apply(real *y, const real *x, const real *w, size_t B, size_t M, size_t N, size_t C, size_t D)
{
    for (size_t i = 0; i < B; i++)
        fc_naive_apply(y + i * N * D, x + i * M * C, w + i * M * N * C * D, M, N, C, D);
}

/* y_nd <- sigma(y_nd + b_nd). */
void dfc_naive_finish(real *y, const real *b, size_t b_stride, size_t N, size_t D, bool with_gelu)
{
    for (size_t n = 0; n < N; n++)
        for (size_t d = 0; d < D; d++) {
            real sum = b ? y[n * D + d] + b[n * b_stride + d] : y[n * D + d];
            y[n * D + d] = with_gelu ? gelu(sum) : sum;
        }
}

/* ---- the form ------------------------------------------------------------ */

struct dfc_cp_naive {
    real *w;                    /* [B][M][N][C][D] */
};

static status prepare(struct plan *plan)
{
    const struct dfc_problem *p = plan->params;
    struct dfc_cp_naive *f = plan->state;
    arena_reals(&plan->arena, PER_RUN, &f->w, "the tensor W", p->B * p->M, p->N, p->C, p->D);
    return arena_status(&plan->arena);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct dfc_problem *p = plan->params;
    const struct dfc_cp_naive *f = plan->state;
    size_t B = p->B, M = p->M, N = p->N, C = p->C, D = p->D;

    dfc_naive_tensor(f->w, p);
    dfc_naive_apply(y, x, f->w, B, M, N, C, D);
    for (size_t i = 0; i < B; i++) dfc_naive_finish(y + i * N * D, p->b, D, N, D, p->gelu);
    return status_ok();
}

static double multiply_adds(const void *params)
{
    const struct dfc_problem *p = params;
    return (double)p->B * (double)p->M * (double)p->N * (double)p->C * (double)p->D * (4 * (double)p->R + 1);
}

const struct form dfc_cp_naive = {
    .name = "naive", .state = sizeof(struct dfc_cp_naive), .prepare = prepare, .run = run,
    .multiply_adds = multiply_adds,
};
