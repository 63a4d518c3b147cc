/* dfc.h -- the cores of the fully connected layers, as Eq. 2-5 read; dense arrays.  Contract: reference/dfc.h. */

#pragma once
#include "../reference/dfc.h"

/* Eq. 2 for one image: y [N][D] from x [M][C] and w [M][N][C][D]. */
void fc_naive_apply(real *y, const real *x, const real *w, size_t M, size_t N, size_t C, size_t D);

/* y <- sigma(y + b) for one image: y [N][D]; rows of b are b_stride apart (0: one row for all tokens); b may be
 * NULL. */
void dfc_naive_finish(real *y, const real *b, size_t b_stride, size_t N, size_t D, bool with_gelu);

/* Eq. 5: w [B][M][N][C][D] from p's factors. */
void dfc_naive_tensor(real *w, const struct dfc_problem *p);

/* The sum of Eq. 3, with different weights for each image: y [B][N][D] from x [B][M][C] and w [B][M][N][C][D]. */
void dfc_naive_apply(real *y, const real *x, const real *w, size_t B, size_t M, size_t N, size_t C, size_t D);
