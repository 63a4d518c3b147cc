/* product.c -- products of matrices; see product.h
 *
 * OpenBLAS chooses its kernels by a list of processors.  On a processor that is newer than the list it takes slow
 * kernels, unless OPENBLAS_CORETYPE names a similar one.  oneDNN generates its kernels at run time, for the
 * instructions that the processor has.  Generating one takes longer than a small product, so small products are
 * computed here. */

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

#ifdef ONEDNN
/* oneDNN computes products with a larger B or more multiply-adds. */
enum { SMALL_FACTOR = 1 << 17, SMALL_PRODUCT = 2000000 };

static bool is_small(size_t rows, size_t terms, size_t columns)
{
    double factor = (double)terms * (double)columns;
    return factor <= SMALL_FACTOR && factor * (double)rows <= SMALL_PRODUCT;
}

#ifdef __AVX512F__
typedef real line __attribute__((vector_size(64)));
#else
typedef real line __attribute__((vector_size(32)));
#endif
enum { LINE = sizeof(line) / sizeof(real), ROWS = 8, TERMS = 384 };

static size_t at_most(size_t n, size_t limit) { return n < limit ? n : limit; }

static void copy_line(void *to, const void *from, size_t width)
{
    if (width == LINE) memcpy(to, from, sizeof(line));
    else memcpy(to, from, width * sizeof(real));
}

/* LINE columns, TERMS terms and ROWS rows at a time; beyond the last row, loops repeat it.  Each sum adds its terms in
 * order, and then start. */
static void by_loops(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
                     size_t rows, size_t terms, size_t columns)
{
    size_t row = a.transposed ? 1 : a.stride, term = a.transposed ? a.stride : 1;

    for (size_t j = 0; j < columns; j += LINE)
        for (size_t from = 0; from < terms; from += TERMS) {
            size_t width = at_most(columns - j, LINE), count = at_most(terms - from, TERMS);
            line panel[TERMS], begin = {0};

            /* Step 1: the part of B, and of start with the last terms. */
            if (width < LINE) memset(panel, 0, sizeof panel);
            for (size_t l = 0; b.transposed && l < width; l++)
                for (size_t t = 0; t < count; t++) panel[t][l] = b.at[(j + l) * b.stride + from + t];
            for (size_t t = 0; !b.transposed && t < count; t++)
                copy_line(&panel[t], b.at + (from + t) * b.stride + j, width);
            if (start && from + count == terms) copy_line(&begin, start + j, width);

            /* Step 2: its products with all rows of A. */
            for (size_t i = 0; i < rows; i += ROWS) {
                const real *factor[ROWS];
                line sum[ROWS] = {{0}};
                for (size_t r = 0; r < ROWS; r++) {
                    size_t at = at_most(i + r, rows - 1);
                    factor[r] = a.at + at * row + from * term;
                    if (from) copy_line(&sum[r], c + at * c_stride + j, width);
                }
                for (size_t t = 0; t < count; t++)
                    for (size_t r = 0; r < ROWS; r++) sum[r] += factor[r][t * term] * panel[t];
                for (size_t r = 0; r < ROWS && i + r < rows; r++) {
                    sum[r] += begin;
                    copy_line(c + (i + r) * c_stride + j, &sum[r], width);
                }
            }
        }
}
#endif

/* False if there is no oneDNN, if it is out of memory (C may have changed), or if there are no terms: oneDNN would
 * compute 0 * C, which is NaN if C is NaN. */
static bool without_cblas(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
                          size_t rows, size_t terms, size_t columns)
{
#ifdef ONEDNN
    if (!terms) return false;
    if (is_small(rows, terms, columns)) {
        by_loops(c, c_stride, a, b, start, rows, terms, columns);
        return true;
    }
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
    if (without_cblas(c, c_stride, a, b, start, rows, terms, columns)) return;

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
