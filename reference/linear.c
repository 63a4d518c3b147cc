/* linear.c -- linear maps of tokens, over CBLAS; see linear.h */

#include "linear.h"
#include <cblas.h>
#include <string.h>

void linear_map(real *y, size_t y_stride, const real *x, size_t x_stride,
                const real *weight, const real *bias, size_t tokens, size_t in, size_t out)
{
    /* The bias is laid down first and the product added to it. */
    if (bias)
        for (size_t n = 0; n < tokens; n++) memcpy(y + n * y_stride, bias, out * sizeof *y);
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasTrans, (int)tokens, (int)out, (int)in,
               1, x, (int)x_stride, weight, (int)in, bias ? 1 : 0, y, (int)y_stride);
}

void linear_product(real *y, size_t y_stride, const real *x, size_t x_stride,
                    const real *values, size_t tokens, size_t in, size_t out)
{
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)tokens, (int)out, (int)in,
               1, x, (int)x_stride, values, (int)out, 0, y, (int)y_stride);
}

void linear_from_planes(real *y, size_t y_stride, const real *planes, const real *weight,
                        size_t tokens, size_t in, size_t out)
{
    BLAS(gemm)(CblasRowMajor, CblasTrans, CblasTrans, (int)tokens, (int)out, (int)in,
               1, planes, (int)tokens, weight, (int)in, 0, y, (int)y_stride);
}
