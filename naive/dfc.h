/* dfc.h -- the cores of the fully connected layers, as Eq. 2-5 read
 *
 * Contract and letters: reference/dfc.h.  All arrays are dense. */

#ifndef TWICETOLD_NAIVE_DFC_H
#define TWICETOLD_NAIVE_DFC_H

#include "../reference/dfc.h"

/* Eq. 2 for one image: y [N][D] from x [M][C] and w [M][N][C][D]. */
void fc_naive_apply(real *y, const real *x, const real *w, size_t M, size_t N, size_t C, size_t D);

/* sigma(y + b) for one image, in place: y [N][D], the rows of b b_stride apart (0: one row for all tokens). */
void dfc_naive_finish(real *y, const real *b, size_t b_stride, size_t N, size_t D, bool with_gelu);

/* Eq. 5: w [B][M][N][C][D] from p's factors. */
void dfc_naive_tensor(real *w, const struct dfc_problem *p);

/* The sum of Eq. 3: y [B][N][D] from x [B][M][C] and w [B][M][N][C][D]; every image meets a layer of its own. */
void dfc_naive_apply(real *y, const real *x, const real *w, size_t B, size_t M, size_t N, size_t C, size_t D);

#endif
