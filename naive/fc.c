/* fc.c -- the fully connected layer as Eq. 2 reads; see reference/dfc.h
 *
 * Four loops.  Never optimised. */

#include "../reference/dfc.h"

/* y_nd = sum_mc x_mc w_mncd. */
void fc_naive_apply(real *y, const real *x, const real *w, size_t M, size_t N, size_t C, size_t D)
{
    for (size_t n = 0; n < N; n++)
        for (size_t d = 0; d < D; d++) {
            y[n * D + d] = 0;
            for (size_t m = 0; m < M; m++)
                for (size_t c = 0; c < C; c++)
                    y[n * D + d] += x[m * C + c] * w[((m * N + n) * C + c) * D + d];
        }
}

static status run(struct plan *plan, real *y, const real *x)
{
    struct dfc_sizes s = dfc_sizes(plan->problem);
    for (size_t i = 0; i < s.B; i++)
        fc_naive_apply(y + i * s.N * s.D, x + i * s.M * s.C, problem_tensor(plan->problem, "w"), s.M, s.N, s.C, s.D);
    return status_ok();
}

static double multiply_adds(const struct problem *p)
{
    struct dfc_sizes s = dfc_sizes(p);
    return (double)s.B * (double)s.M * (double)s.N * (double)s.C * (double)s.D;
}

const struct form fc_naive = {"naive", NULL, run, NULL, multiply_adds};
