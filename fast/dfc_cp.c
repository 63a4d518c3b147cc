/* dfc_cp.c -- Eq. 6 in plain C: one factor after another
 *
 * The naive form multiplies the factors out to the tensor W_imncd.  But a factor that does not depend on an index can
 * move out of the sum over that index:
 *
 *     y_ind = sigma(sum_r u5_dr u3_nr u1_ir sum_m u2_mr sum_c u4_cr x_imc + b_nd)                              (6)
 *
 * Read from the right, these are five steps.  After the sum over m, an image is R numbers.
 *
 * With relative positions, the sum over m is another for each n: a depth-wise convolution as large as the plane.
 *
 *     i  images     m, n  tokens in, out     c, d  channels in, out     r  components
 *
 * Contract: reference/dfc.h. */

#include "chopd.h"
#include "forms.h"
#include "../reference/dfc.h"
#include "../reference/runtime/steps.h"

/* ---- the core ------------------------------------------------------------ */

void dfc_plain_components(real *z, const real *x, const real *u4, size_t C, size_t R)
{
    for (size_t r = 0; r < R; r++) z[r] = 0;
    for (size_t c = 0; c < C; c++)
        for (size_t r = 0; r < R; r++) z[r] += u4[c * R + r] * x[c];
}

void dfc_plain_channels(real *y, const real *z, const real *u5, const real *b, size_t R, size_t D, bool with_gelu)
{
    for (size_t d = 0; d < D; d++) {
        real sum = b[d];
        for (size_t r = 0; r < R; r++) sum += u5[d * R + r] * z[r];
        y[d] = with_gelu ? gelu(sum) : sum;
    }
}

/* Eq. 6 for image i; z and t have R numbers each. */
static void one_image(real *y, const real *x, size_t i, real *z, real *t, const struct dfc_problem *p)
{
    size_t C = p->C, D = p->D, R = p->R;

    for (size_t r = 0; r < R; r++) t[r] = 0;
    for (size_t m = 0; m < p->M; m++) {
        dfc_plain_components(z, x + m * C, p->u4, C, R);                        /* z_mr   = sum_c u4_cr x_mc */
        for (size_t r = 0; r < R; r++) t[r] += p->u2[m * R + r] * z[r];         /* t_r    = sum_m u2_mr z_mr */
    }
    if (p->u1)
        for (size_t r = 0; r < R; r++) t[r] *= p->u1[i * R + r];                /* t'_r   = u1_r t_r */
    for (size_t n = 0; n < p->N; n++) {
        for (size_t r = 0; r < R; r++) z[r] = p->u3[n * R + r] * t[r];          /* t''_nr = u3_nr t'_r */
        dfc_plain_channels(y + n * D, z, p->u5, p->b + n * D, R, D, p->gelu);   /* y_nd   = sum_r u5_dr t''_nr */
    }
}

/* The same with relative positions; z [M][R] and t [R]. */
static void one_plane(real *y, const real *x, size_t i, real *z, real *t, const struct dfc_problem *p)
{
    size_t C = p->C, D = p->D, R = p->R;
    const real *u1_i = p->u1 ? p->u1 + i * R : NULL;

    for (size_t m = 0; m < p->M; m++) dfc_plain_components(z + m * R, x + m * C, p->u4, C, R);
    for (size_t n = 0; n < p->N; n++) {
        for (size_t r = 0; r < R; r++) t[r] = 0;
        for (size_t m = 0; m < p->M; m++) {                                     /* t_nr = sum_m u2_{m-n,r} z_mr */
            const real *u2_mn = p->u2 + grid_offset(&p->grid, n, m) * R, *z_m = z + m * R;
            for (size_t r = 0; r < R; r++) t[r] += u2_mn[r] * z_m[r];
        }
        for (size_t r = 0; r < R; r++) {
            t[r] *= p->u3[n * R + r];
            if (u1_i) t[r] *= u1_i[r];
        }
        dfc_plain_channels(y + n * D, t, p->u5, p->b + n * D, R, D, p->gelu);
    }
}

/* ---- the form ------------------------------------------------------------ */

struct dfc_cp_plain {
    real *z;                    /* [R], or [M][R] with relative positions */
    real *t;                    /* [R] */
};

static status prepare(struct plan *plan)
{
    const struct dfc_problem *p = plan->params;
    struct dfc_cp_plain *f = plan->state;
    arena_reals(&plan->arena, PER_RUN, &f->z, "the components of a token", p->relative ? p->M : 1, p->R);
    arena_reals(&plan->arena, PER_RUN, &f->t, "the components of an image", p->R);
    return arena_status(&plan->arena);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct dfc_problem *p = plan->params;
    const struct dfc_cp_plain *f = plan->state;
    for (size_t i = 0; i < p->B; i++)
        (p->relative ? one_plane : one_image)(y + i * p->N * p->D, x + i * p->M * p->C, i, f->z, f->t, p);
    return status_ok();
}

const struct form dfc_cp_plain = {
    .name = "plain", .state = sizeof(struct dfc_cp_plain), .prepare = prepare, .run = run,
    .multiply_adds = dfc_cp_multiply_adds,
};
