/* dfc.h -- fully connected layers, dense and in factors
 *
 * "Chopping Formers is what you need in vision" (anonymous, under review), Sec. 2, Eq. 2-6.
 * Chapter: chapters/4-chopd.md.
 *
 *     fc       Eq. 2    y_nd  = sum_mc x_mc w_mncd
 *     dfc-cp   Eq. 5    W_imncd = sum_r u1_ir u2_mr u3_nr u4_cr u5_dr
 *              Eq. 3    y_ind = sigma(sum_mc x_imc W_imncd + b_nd)
 *              Eq. 6    y_ind = sigma(sum_r u5_dr u3_nr u1_ir sum_m u2_mr sum_c u4_cr x_imc + b_nd)
 *
 *     i  images, B of them       m  tokens in, M of them      n  tokens out, N of them
 *     c  channels in, C          d  channels out, D           r  components, R of them
 *     sigma  GELU with the exact normal distribution function, or the identity
 *
 * If u1 is absent, it is 1: all images have the same layer (FC-CP of Tab. 1).  All arrays are dense, row-major and
 * dimensionless:
 *
 *     fc       x [B][M][C]  w [M][N][C][D]                              y [B][N][D]
 *     dfc-cp   x [B][M][C]  u1 [B][R]  u2 [M][R]  u3 [N][R]  u4 [C][R]
 *              u5 [D][R]  b [N][D]                                      y [B][N][D]
 *
 * Cost of all images:
 *
 *                     multiply-adds                       extra memory (reals)
 *     fc naive        B M N C D                           0
 *     fc plain        the same, weights fetched once      0
 *     fc fast         the same, as one matrix product     (M C + 1) N D: w, repacked; M C while loading
 *     dfc-cp naive    B M N C D (4 R + 1)                 B M N C D: W
 *     dfc-cp plain    B (M C R + M R + R + N R + N D R)   2 R
 *     dfc-cp fast     the same                            (M + N + 1) R for each image in work
 *
 * Without u1, dfc-cp plain and fast have B R multiply-adds fewer.  The fast form of dfc-cp works on one image, or on
 * one per thread if there are at least as many images as threads.
 *
 * Implemented in naive/, fast/ and fast/tuned/chopd/, files fc.c and dfc_cp.c, and in fast/cuda/dfc.cu.
 *
 * Errors: a product of sizes beyond INT_MAX, which BLAS cannot count; memory; a file that does not match.
 *
 * Departs from the paper: in Eq. 6, m and n are tokens, as in Eq. 3 and 5.  The printed Eq. 6 unfolds x and counts m
 * relative to n (chapter 4 shows the difference). */

#pragma once
#include "runtime/lookup.h"

BEGIN_C_DECLS

extern const struct declaration fc, dfc_cp;

struct fc_problem {
    size_t B, M, N, C, D;
    const real *w;              /* [M][N][C][D] */
};

struct dfc_problem {
    size_t B, M, N, C, D, R;
    bool gelu;                  /* sigma is GELU, else the identity */
    const real *u1, *u2, *u3, *u4, *u5;     /* [B][R] or NULL, [M][R], [N][R], [C][R], [D][R] */
    const real *b;              /* [N][D] */
};

/* Multiply-adds of all forms of fc, and of the plain and the fast form of dfc_cp. */
double fc_multiply_adds(const void *params);
double dfc_cp_multiply_adds(const void *params);

/* The option that chooses sigma, for dfc-cp and chopd.  dfc_gelu is true if it is GELU. */
#define DFC_ACTIVATION \
    {.name = "activation", .kind = OPTION_CHOICE, .default_value = "gelu", .choices = "gelu|none", \
     .meaning = "sigma: the exact GELU, or nothing"}

bool dfc_gelu(struct lookup *names);

END_C_DECLS
