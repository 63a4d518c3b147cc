/* fc.c -- the fully connected layer as one product of matrices
 *
 * Tokens and channels in are one index of M C values, tokens and channels out
 * another of N D.  In w [M][N][C][D] they are interleaved; laid out anew as
 * [M C][N D], once, the layer of all images is one GEMM.  It is bound by memory
 * where there are few images: every weight is read for two operations each.
 *
 * Contract: reference/dfc.h. */

#include <string.h>
#include "../reference/dfc.h"
#include "../reference/linear.h"
#include "../reference/memory.h"

static status prepare(struct plan *plan)
{
    struct dfc_sizes s = dfc_sizes(plan->problem);
    const real *w = problem_tensor(plan->problem, "w");
    real *matrix = memory_reals(s.M, s.C, s.N, s.D);

    if (!matrix) return out_of_memory("the layer's matrix");
    plan->state = matrix;
    for (size_t m = 0; m < s.M; m++)
        for (size_t n = 0; n < s.N; n++)
            for (size_t c = 0; c < s.C; c++)
                memcpy(matrix + ((m * s.C + c) * s.N + n) * s.D, w + ((m * s.N + n) * s.C + c) * s.D, s.D * sizeof *w);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x)
{
    struct dfc_sizes s = dfc_sizes(plan->problem);
    linear_product(y, s.N * s.D, x, s.M * s.C, plan->state, s.B, s.M * s.C, s.N * s.D);
    return status_ok();
}

static void release(struct plan *plan)
{
    memory_free(plan->state);
}

static double multiply_adds(const struct problem *p)
{
    return fc_naive.multiply_adds(p);
}

const struct form fc_fast = {"fast", prepare, run, release, multiply_adds};
