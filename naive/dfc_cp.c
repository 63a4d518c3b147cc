/* dfc_cp.c -- a layer for each image, with the tensor of all its weights
 *
 * Eq. 5 and Eq. 3 of reference/dfc.h: W_imncd, five indices, is really there.
 * Never optimised: it is what the factors of Eq. 6 save. */

#include "../reference/dfc.h"
#include "../reference/memory.h"

/* W_imncd = sum_r u1_ir u2_mr u3_nr u4_cr u5_dr. */
void dfc_naive_tensor(real *w, const real *u1, const real *u2, const real *u3, const real *u4, const real *u5,
                      const struct dfc_sizes *s)
{
    size_t R = s->R, at = 0;
    for (size_t i = 0; i < s->B; i++)
        for (size_t m = 0; m < s->M; m++)
            for (size_t n = 0; n < s->N; n++)
                for (size_t c = 0; c < s->C; c++)
                    for (size_t d = 0; d < s->D; d++, at++) {
                        w[at] = 0;
                        for (size_t r = 0; r < R; r++)
                            w[at] += u1[i * R + r] * u2[m * R + r] * u3[n * R + r] * u4[c * R + r] * u5[d * R + r];
                    }
}

/* y_ind = sum_mc x_imc W_imncd. */
void dfc_naive_apply(real *y, const real *x, const real *w, const struct dfc_sizes *s)
{
    for (size_t i = 0; i < s->B; i++)
        fc_naive_apply(y + i * s->N * s->D, x + i * s->M * s->C, w + i * s->M * s->N * s->C * s->D,
                       s->M, s->N, s->C, s->D);
}

static status prepare(struct plan *plan)
{
    struct dfc_sizes s = dfc_sizes(plan->problem);
    size_t images;
    if (!size_multiply(&images, s.B, s.M)) return out_of_memory("the tensor W");
    plan->state = memory_reals(images, s.N, s.C, s.D);
    return plan->state ? status_ok() : out_of_memory("the tensor W");
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    struct dfc_sizes s = dfc_sizes(p);
    real *w = (real *)plan->state;

    dfc_naive_tensor(w, problem_tensor(p, "u1"), problem_tensor(p, "u2"), problem_tensor(p, "u3"),
                     problem_tensor(p, "u4"), problem_tensor(p, "u5"), &s);
    dfc_naive_apply(y, x, w, &s);
    for (size_t i = 0; i < s.B; i++)
        dfc_finish(y + i * s.N * s.D, problem_tensor(p, "b"), s.D, s.N, s.D, dfc_gelu(p));
    return status_ok();
}

static void release(struct plan *plan)
{
    memory_free(plan->state);
}

static double multiply_adds(const struct problem *p)
{
    struct dfc_sizes s = dfc_sizes(p);
    return (double)s.B * (double)s.M * (double)s.N * (double)s.C * (double)s.D * (4 * (double)s.R + 1);
}

const struct form dfc_cp_naive = {"naive", prepare, run, release, multiply_adds};
