/* hilo.h -- the cores of HiLo's naive form
 *
 * All of one image, dense: tokens of the padded plane, [M][channels], and
 * windows, [n][channels], both row-major.  Outputs overlap no input.
 *
 * Contract: reference/hilo.h. */

#ifndef TWICETOLD_NAIVE_HILO_H
#define TWICETOLD_NAIVE_HILO_H

#include "../reference/hilo.h"

/* [M][C] from x [N][C]: zeros at the bottom and on the right. */
void hilo_naive_pad(real *padded, const real *x, const struct hilo_problem *p);

/* r [M][M]: 0 where two tokens share a window, -inf elsewhere. */
void hilo_naive_mask(real *r, const struct hilo_problem *p);

/* [n][C]: the mean of each window's s^2 tokens. */
void hilo_naive_pool(real *pooled, const real *padded, const struct hilo_problem *p);

/* [M][channels]: every token carries the row of its window. */
void hilo_naive_carry(real *tokens, const real *rows, const struct hilo_problem *p, size_t channels);

/* [M][channels]: rows that stand at the windows' centres, interpolated. */
void hilo_naive_spread(real *tokens, const real *rows, const struct hilo_problem *p, size_t channels);

/* The tokens that x has, into rows of y `stride` apart. */
void hilo_naive_crop(real *y, size_t stride, const real *padded, const struct hilo_problem *p, size_t channels);

#endif
