/* cblas.h -- the function of BLAS that reference/runtime/product.c calls, for WebAssembly, which has no BLAS */

#pragma once

enum { CblasRowMajor = 101 };
enum { CblasNoTrans = 111, CblasTrans = 112 };

/* c [m][n] = a b + beta c, a [m][k] and b [k][n], each possibly transposed in memory.  beta is 0 or 1, alpha is 1. */
void cblas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                 const float *b, int b_stride, float beta, float *c, int c_stride);
