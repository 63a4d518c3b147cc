/* dfc.h -- fully connected layers, static and for each image, dense and in factors
 *
 * "Chopping Formers is what you need in vision" (anonymous, under review), Sec. 2, Eq. 2-6.
 * Chapter: chapters/4-chopd.md.
 *
 *     fc       Eq. 2    y_nd  = sum_mc x_mc w_mncd
 *     dfc      Eq. 3    y_ind = sigma(sum_mc x_imc w_imncd + b_nd)
 *     dfc-cp   Eq. 5    W_imncd = sum_r u1_ir u2_mr u3_nr u4_cr u5_dr, in Eq. 3
 *              Eq. 6    y_ind = sigma(sum_r u5_dr u3_nr u1_ir sum_m u2_mr sum_c u4_cr x_imc + b_nd)
 *
 * With --positions relative, u2 has a row for each offset on a plane of N = M tokens: u2_{m-n,r} instead of u2_mr.  The
 * sum over m is then a depth-wise convolution as large as the plane.
 *
 *     i  images, B of them       m  tokens in, M of them      n  tokens out, N of them
 *     c  channels in, C          d  channels out, D           r  components, R of them
 *     sigma  GELU with the exact normal distribution function, or the identity
 *
 * If u1 is absent, it is 1: all images have the same layer (FC-CP of Tab. 1).  All arrays are dense, row-major and
 * dimensionless:
 *
 *     fc       x [B][M][C]  w [M][N][C][D]                              y [B][N][D]
 *     dfc      x [B][M][C]  w [B][M][N][C][D]  b [N][D], optional       y [B][N][D]
 *     dfc-cp   x [B][M][C]  u1 [B][R]  u2 [M][R]  u3 [N][R]  u4 [C][R]
 *              u5 [D][R]  b [N][D]                                      y [B][N][D]
 *              relative: u2 [P][R], an offset table (runtime/grid.h)
 *
 * Cost of all images:
 *
 *                     multiply-adds                       extra memory (reals)
 *     fc naive        B M N C D                           0
 *     fc plain        the same, weights fetched once      0
 *     fc fast         the same, as one matrix product     (M C + 1) N D: w, repacked; M C while loading
 *     dfc, all forms  B M N C D                           0
 *     dfc-cp naive    B M N C D (4 R + 1)                 B M N C D: W
 *     dfc-cp plain    B (M C R + M R + R + N R + N D R)   2 R
 *     dfc-cp fast     the same                            (M + N + 1) R for each image in work
 *     relative plain  B (M C R + N M R + 2 N R + N D R)   (M + 1) R
 *     relative fast   the same, or N M R by transforms    (M + N + P) R, or with spectra for P
 *
 * Without u1, dfc-cp plain and fast have B R multiply-adds fewer, B N R with relative positions.  The fast forms of dfc
 * and dfc-cp work on one image, or on one per thread if there are at least as many images as threads.  The fast form of
 * relative positions chooses the cheaper of sum and transforms (fast/tuned/chopd/plane.h).
 *
 * Implemented in naive/, fast/ and fast/tuned/chopd/, files fc.c, dfc.c and dfc_cp.c, and in fast/cuda/dfc.cu, which
 * has no dfc.
 *
 * Errors: a product of sizes beyond INT_MAX, which BLAS cannot count; relative positions without a plane of M = N
 * tokens; memory; a file that does not match.
 *
 * Departs from the paper: the default is absolute positions, where m and n are tokens in Eq. 6 as in Eq. 3 and 5.  The
 * printed Eq. 6 unfolds x and counts m relative to n (chapter 4 shows the difference): --positions relative. */

#pragma once
#include "runtime/lookup.h"

BEGIN_C_DECLS

extern const struct declaration fc, dfc, dfc_cp;

/* Of fc and of dfc.  In fc, sigma is the identity, and b is NULL. */
struct fc_problem {
    size_t B, M, N, C, D;
    bool gelu;                  /* sigma is GELU, else the identity */
    const real *w;              /* fc: [M][N][C][D]; dfc: [B][M][N][C][D] */
    const real *b;              /* [N][D] or NULL */
};

struct dfc_problem {
    size_t B, M, N, C, D, R;
    bool gelu;                  /* as above */
    bool relative;              /* u2 is [P][R] */
    struct grid grid;           /* of M = N tokens, if relative */
    const real *u1, *u2, *u3, *u4, *u5;     /* [B][R] or NULL, [M][R], [N][R], [C][R], [D][R] */
    const real *b;              /* [N][D] */
};

/* Multiply-adds of all forms of fc and dfc; of the plain form of dfc_cp, and of the fast one without transforms. */
double fc_multiply_adds(const void *params);
double dfc_cp_multiply_adds(const void *params);

/* The option that chooses sigma, for dfc, dfc-cp and chopd.  dfc_gelu is true if it is GELU. */
#define DFC_ACTIVATION \
    {.name = "activation", .kind = OPTION_CHOICE, .default_value = "gelu", .choices = "gelu|none", \
     .meaning = "sigma: the exact GELU, or nothing"}

bool dfc_gelu(struct lookup *names);

END_C_DECLS
