/* hilo.h -- the cores of HiLo's naive form
 *
 * One image; tokens of the padded plane are [M][channels] and windows [n][channels], dense and row-major.  Outputs
 * overlap no input.  Contract: reference/hilo.h. */

#pragma once
#include "../reference/hilo.h"

/* padded [M][C]: x [N][C], then zeros at the bottom and on the right. */
void hilo_naive_pad(real *padded, const real *x, const struct hilo_problem *p);

/* r [M][M]: 0 for two tokens of one window, -inf otherwise. */
void hilo_naive_mask(real *r, const struct hilo_problem *p);

/* pooled [n][C]: the mean of each window's s^2 tokens. */
void hilo_naive_pool(real *pooled, const real *padded, const struct hilo_problem *p);

/* tokens [M][channels]: copies the row of each window to its tokens. */
void hilo_naive_carry(real *tokens, const real *rows, const struct hilo_problem *p, size_t channels);

/* tokens [M][channels]: interpolates between rows at the centres of the windows. */
void hilo_naive_spread(real *tokens, const real *rows, const struct hilo_problem *p, size_t channels);

/* Copies the N tokens that are not padding into rows of y, `stride` apart. */
void hilo_naive_crop(real *y, size_t stride, const real *padded, const struct hilo_problem *p, size_t channels);
