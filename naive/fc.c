/* fc.c -- the fully connected layer as Eq. 2 reads, in four loops; never optimised.  Contract: reference/dfc.h. */

#include "dfc.h"
#include "forms.h"

/* y_nd = sum_mc x_mc w_mncd. */
void fc_naive_apply(real *y, const real *x, const real *w, size_t M, size_t N, size_t C, size_t D)
{
    for (size_t n = 0; n < N; n++)
        for (size_t d = 0; d < D; d++) {
            real sum = 0;
            for (size_t m = 0; m < M; m++)
                for (size_t c = 0; c < C; c++) {
                    const real *x_m = x + m * C, *w_mnc = w + ((m * N + n) * C + c) * D;
                    sum += x_m[c] * w_mnc[d];
                }
            y[n * D + d] = sum;
        }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->params;
    for (size_t i = 0; i < p->B; i++)
        fc_naive_apply(y + i * p->N * p->D, x + i * p->M * p->C, p->w, p->M, p->N, p->C, p->D);
    return status_ok();
}

const struct form fc_naive = {.name = "naive", .run = run, .multiply_adds = fc_multiply_adds};
