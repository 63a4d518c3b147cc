/* cblas.h -- the one product of BLAS that reference/runtime/linear.c asks for, where there is no BLAS
 *
 * A browser has none.  The folder of this file comes first when the library is
 * compiled to WebAssembly, and nowhere else; see live.c. */

#ifndef TWICETOLD_LIVE_CBLAS_H
#define TWICETOLD_LIVE_CBLAS_H

enum { CblasRowMajor = 101 };
enum { CblasNoTrans = 111, CblasTrans = 112 };

/* c [m][n] = a b + beta c for beta of 0 or 1, a [m][k] and b [k][n]; or either of
 * them transposed in memory.  alpha is 1. */
void cblas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                 const float *b, int b_stride, float beta, float *c, int c_stride);

#endif
