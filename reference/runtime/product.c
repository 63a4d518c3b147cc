/* product.c -- products of matrices, by the best library at hand; see product.h
 *
 * OpenBLAS chooses its kernels by a list of processors; on one that is newer than
 * the list it takes those of any x86-64.  oneDNN asks the processor which
 * instructions it has, and writes the kernel then.  On one core of an Intel Emerald
 * Rapids (AVX-512), which OpenBLAS 0.3.21 does not know, 196 tokens, 64 inputs and 768
 * outputs take oneDNN 2.6 0.12 ms and OpenBLAS 0.65; 0.15 where OPENBLAS_CORETYPE names
 * the nearest that it knows.  Only below 1000 multiply-adds is oneDNN the slower,
 * by a ten-thousandth of a millisecond. */

#include "product.h"
#include <cblas.h>
#include <string.h>
#if defined TWICETOLD_ONEDNN && !defined TWICETOLD_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#define ONEDNN
#endif

/* Rows of C as they begin; what the library is to multiply them by. */
static int begin(real *c, size_t c_stride, const real *start, size_t rows, size_t columns)
{
    for (size_t r = 0; start && r < rows; r++) memcpy(c + r * c_stride, start, columns * sizeof *c);
    return start != NULL;
}

/* False, with C spoilt, where oneDNN is not there, or has no memory to lay out A and B in.  Of no terms
 * it makes 0 C, which is NaN where C held one: those it is not asked for. */
static bool by_onednn(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
                      size_t rows, size_t terms, size_t columns)
{
#ifdef ONEDNN
    if (!terms) return false;
    float kept = (float)begin(c, c_stride, start, rows, columns);
    return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', (dnnl_dim_t)rows, (dnnl_dim_t)columns,
                      (dnnl_dim_t)terms, 1, a.at, (dnnl_dim_t)a.stride, b.at, (dnnl_dim_t)b.stride, kept, c,
                      (dnnl_dim_t)c_stride) == dnnl_success;
#else
    (void)c, (void)c_stride, (void)a, (void)b, (void)start, (void)rows, (void)terms, (void)columns;
    return false;
#endif
}

void product(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
             size_t rows, size_t terms, size_t columns)
{
    if (by_onednn(c, c_stride, a, b, start, rows, terms, columns)) return;

    int kept = begin(c, c_stride, start, rows, columns);
    BLAS(gemm)(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans,
               (int)rows, (int)columns, (int)terms, 1, a.at, (int)a.stride, b.at, (int)b.stride,
               (real)kept, c, (int)c_stride);
}

void product_library(char *text, size_t size)
{
#ifdef ONEDNN
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, size, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
#else
    if (size) *text = 0;
#endif
}
