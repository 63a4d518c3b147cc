/* dfc_cp.c -- a layer for each image, at the cost of its factors
 *
 * Eq. 6 takes the sums of Eq. 3 one factor at a time, and nothing of five
 * indices is there:
 *
 *     z_mr = sum_c u4_cr x_mc                one product of matrices
 *     s_r  = u1_r sum_m u2_mr z_mr           the whole image in R numbers
 *     y_nd = sum_r (u3_nr s_r) u5_dr         another product
 *
 * Every step is linear in the tokens.  What an image is to the tokens out are
 * the R numbers s_r: with absolute positions, Eq. 5 knows no more.
 *
 * Contract: reference/dfc.h. */

#include "../reference/dfc.h"
#include "../reference/linear.h"
#include "../reference/memory.h"
#include "gelu.h"

struct factors {
    real *z;                    /* [M][R] */
    real *sum;                  /* [R] */
    real *gated;                /* [N][R] */
};

static status prepare(struct plan *plan)
{
    struct dfc_sizes s = dfc_sizes(plan->problem);
    struct factors *f = memory_get(1, sizeof *f);

    if (!f) return out_of_memory("a plan");
    plan->state = f;
    f->z = memory_reals(s.M, s.R, 1, 1);
    f->sum = memory_reals(s.R, 1, 1, 1);
    f->gated = memory_reals(s.N, s.R, 1, 1);
    return f->z && f->sum && f->gated ? status_ok() : out_of_memory("the factors' sums");
}

/* One image. */
static void one_image(const struct factors *f, const struct problem *p, size_t i, real *y, const real *x)
{
    struct dfc_sizes s = dfc_sizes(p);
    const real *u1 = problem_tensor(p, "u1"), *u2 = problem_tensor(p, "u2"), *u3 = problem_tensor(p, "u3");

    /* Step 1: channels to components. */
    linear_product(f->z, s.R, x, s.C, problem_tensor(p, "u4"), s.M, s.C, s.R);

    /* Step 2: all tokens into one number per component, and what this image makes of it. */
    for (size_t r = 0; r < s.R; r++) f->sum[r] = 0;
    for (size_t m = 0; m < s.M; m++)
        for (size_t r = 0; r < s.R; r++) f->sum[r] += u2[m * s.R + r] * f->z[m * s.R + r];
    for (size_t r = 0; r < s.R; r++) f->sum[r] *= u1[i * s.R + r];

    /* Step 3: what each token takes of it, and components to channels. */
    for (size_t n = 0; n < s.N; n++)
        for (size_t r = 0; r < s.R; r++) f->gated[n * s.R + r] = u3[n * s.R + r] * f->sum[r];
    linear_map(y, s.D, f->gated, s.R, problem_tensor(p, "u5"), NULL, s.N, s.R, s.D);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    struct dfc_sizes s = dfc_sizes(p);
    const real *b = problem_tensor(p, "b");
    bool with_gelu = dfc_gelu(p);

    for (size_t i = 0; i < s.B; i++) one_image(plan->state, p, i, y + i * s.N * s.D, x + i * s.M * s.C);
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t in = 0; in < s.B * s.N; in++)
        bias_and_gelu(y + in * s.D, b + in % s.N * s.D, s.D, with_gelu);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct factors *f = plan->state;
    if (!f) return;
    memory_free(f->z);
    memory_free(f->sum);
    memory_free(f->gated);
    memory_free(f);
}

static double multiply_adds(const struct problem *p)
{
    struct dfc_sizes s = dfc_sizes(p);
    double M = (double)s.M, N = (double)s.N, C = (double)s.C, D = (double)s.D, R = (double)s.R;
    return (double)s.B * (M * C * R + M * R + R + N * R + N * D * R);
}

const struct form dfc_cp_fast = {"fast", prepare, run, release, multiply_adds};
