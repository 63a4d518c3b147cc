/* linear.h -- linear maps of tokens, over CBLAS
 *
 * y = x W^T + b, PyTorch's convention.  Projections are nobody's subject, so
 * naive and fast forms share them.
 *
 *     y  [tokens][out],  rows y_stride apart
 *     x  [tokens][in],   rows x_stride apart
 *     W  [out][in], dense
 *     b  [out], or NULL
 *
 * All sizes and strides are at most INT_MAX (operator.c refuses larger ones);
 * y overlaps no input.  Multiply-adds: tokens * in * out.  Runs on OpenBLAS's
 * OpenMP pool, or on the calling thread alone inside a parallel region. */

#ifndef TWICETOLD_LINEAR_H
#define TWICETOLD_LINEAR_H

#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

void linear_map(real *y, size_t y_stride, const real *x, size_t x_stride,
                const real *weight, const real *bias, size_t tokens, size_t in, size_t out);

/* y = x V for V [in][out], dense: the values under their weights. */
void linear_product(real *y, size_t y_stride, const real *x, size_t x_stride,
                    const real *values, size_t tokens, size_t in, size_t out);

/* y = P^T W^T for planes P [in][tokens], dense: the maps' channels lie apart. */
void linear_from_planes(real *y, size_t y_stride, const real *planes, const real *weight,
                        size_t tokens, size_t in, size_t out);

#ifdef __cplusplus
}
#endif

#endif
