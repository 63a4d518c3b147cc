/* chopd.h -- the cores of the ChoP'D layer, as Eq. 8-10 read; dense arrays.  Contract: reference/chopd.h. */

#pragma once
#include "../reference/chopd.h"

/* P [N][N][R][G] from boxes [R][G][4]. */
void chopd_naive_pooling(real *P, const real *boxes, size_t H, size_t W, size_t R, size_t G);

/* Eq. 8: u2 [N][N][R] from P and E [R][G]. */
void chopd_naive_mixing(real *u2, const real *P, const real *E, size_t N, size_t R, size_t G);

/* Eq. 9 without phi: u13 [N][R] from phi's map [s][s][R]. */
void chopd_naive_larger(real *u13, const real *map, size_t s, size_t H, size_t W, size_t R);

/* The weights w [N][N][C][D] of one image, from u2, u13 and p's u4 and u5. */
void chopd_naive_tensor(real *w, const real *u2, const real *u13, const struct chopd_problem *p);
