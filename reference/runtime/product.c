/* product.c -- products of matrices; see product.h
 *
 * OpenBLAS chooses its kernels by a list of processors.  On a processor that is newer than the list it takes slow
 * kernels, unless OPENBLAS_CORETYPE names a similar one.  oneDNN generates its kernels at run time, for the
 * instructions that the processor has. */

#include "product.h"
#include <cblas.h>
#include <string.h>
#if defined TWICETOLD_ONEDNN && !defined TWICETOLD_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#define ONEDNN
#endif

/* Copies start to the rows of C.  Returns beta, the factor of C: 1, or 0 without start. */
static int set_rows(real *c, size_t c_stride, const real *start, size_t rows, size_t columns)
{
    for (size_t r = 0; start && r < rows; r++) memcpy(c + r * c_stride, start, columns * sizeof *c);
    return start != NULL;
}

/* False if oneDNN is absent or out of memory; C may have changed.  Without terms oneDNN computes 0 C, which is NaN if C
 * is NaN, so CBLAS does it. */
static bool by_onednn(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
                      size_t rows, size_t terms, size_t columns)
{
#ifdef ONEDNN
    if (!terms) return false;
    float beta = (float)set_rows(c, c_stride, start, rows, columns);
    return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', (dnnl_dim_t)rows, (dnnl_dim_t)columns,
                      (dnnl_dim_t)terms, 1, a.at, (dnnl_dim_t)a.stride, b.at, (dnnl_dim_t)b.stride, beta, c,
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

    int beta = set_rows(c, c_stride, start, rows, columns);
    BLAS(gemm)(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans,
               (int)rows, (int)columns, (int)terms, 1, a.at, (int)a.stride, b.at, (int)b.stride,
               (real)beta, c, (int)c_stride);
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
