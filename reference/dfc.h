/* dfc.h -- fully connected layers, dense and in factors
 *
 * "Chopping Formers is what you need in vision" (anonymous, under review),
 * Sec. 2, Eq. 2-6.  Read beside chapters/4-chopd.md.
 *
 *     fc       Eq. 2    y_nd  = sum_mc x_mc w_mncd
 *     dfc-cp   Eq. 5    W_imncd = sum_r u1_ir u2_mr u3_nr u4_cr u5_dr
 *              Eq. 3    y_ind = sigma(sum_mc x_imc W_imncd + b_nd)
 *              Eq. 6    y_ind = sigma(sum_r u5_dr u3_nr u1_ir sum_m u2_mr sum_c u4_cr x_imc + b_nd)
 *
 *     i  images, B of them       m  tokens in, M of them      n  tokens out, N of them
 *     c  channels in, C          d  channels out, D           r  components, R of them
 *     sigma  GELU with the exact normal distribution function, or nothing
 *
 * All arrays are dense, row-major and dimensionless:
 *
 *     fc       x [B][M][C]  w [M][N][C][D]                              y [B][N][D]
 *     dfc-cp   x [B][M][C]  u1 [B][R]  u2 [M][R]  u3 [N][R]  u4 [C][R]
 *              u5 [D][R]  b [N][D]                                      y [B][N][D]
 *
 * Cost of all images:
 *
 *                     multiply-adds                       extra memory (reals)
 *     fc naive        B M N C D                           0
 *     fc fast         the same, in one product            M N C D, W laid out anew
 *     dfc-cp naive    B M N C D (4 R + 1)                 B M N C D: W itself
 *     dfc-cp fast     B (M C R + M R + R + N R + N D R)   (M + N + 1) R
 *
 * told in naive/fc.c, naive/dfc_cp.c, fast/fc.c and fast/dfc_cp.c.
 *
 * Errors: a product of sizes beyond what BLAS counts; memory; a file that does
 * not fit.
 *
 * Departs from the paper: m and n are the tokens of Eq. 3 and 5 in Eq. 6 too,
 * where the print unfolds x and lets m count positions relative to n (chapter
 * 4 tells the difference). */

#ifndef TWICETOLD_DFC_H
#define TWICETOLD_DFC_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration fc, dfc_cp;
extern const struct form fc_naive, fc_fast, dfc_cp_naive, dfc_cp_fast;

struct dfc_sizes { size_t B, M, N, C, D, R; };

struct dfc_sizes dfc_sizes(const struct problem *p);

/* Whether the option says GELU; and sigma(y + b) for one image, in place, b [N][D]
 * with rows `b_stride` apart (0: one row for all tokens). */
bool dfc_gelu(const struct problem *p);
void dfc_finish(real *y, const real *b, size_t b_stride, size_t N, size_t D, bool with_gelu);

/* The activation, as an option of every layer here. */
#define DFC_ACTIVATION \
    {.name = "activation", .kind = OPTION_CHOICE, .fallback = "gelu", .choices = "gelu|none", \
     .meaning = "sigma: the exact GELU, or nothing"}

/* ---- the hearts of the naive forms ------------------------------------- */

/* Eq. 2 for one image: y [N][D] from x [M][C] and w [M][N][C][D]. */
void fc_naive_apply(real *y, const real *x, const real *w, size_t M, size_t N, size_t C, size_t D);

/* Eq. 5: w [B][M][N][C][D] from its factors. */
void dfc_naive_tensor(real *w, const real *u1, const real *u2, const real *u3, const real *u4, const real *u5,
                      const struct dfc_sizes *s);

/* Eq. 3: y [B][N][D] from x [B][M][C] and w [B][M][N][C][D]: every image meets
 * a layer of its own. */
void dfc_naive_apply(real *y, const real *x, const real *w, const struct dfc_sizes *s);

#ifdef __cplusplus
}
#endif

#endif
