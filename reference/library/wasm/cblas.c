/* cblas.c -- products of matrices in loops; see cblas.h
 *
 * The inner loops are vectorised: along the rows of b, or along k if b is transposed.  The large projections are packed
 * (fast/tuned/packed_linear.h) and do not use this. */

#include "cblas.h"
#include <stddef.h>

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

enum { AT_ONCE = 256 };

static float dot(const float *a, const float *b, size_t n)
{
    four sums = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) sums += *(const four *)(a + i) * *(const four *)(b + i);
    float sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

void cblas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                 const float *b, int b_stride, float beta, float *c, int c_stride)
{
    size_t A = (size_t)a_stride, B = (size_t)b_stride, rows = (size_t)m, columns = (size_t)n, terms = (size_t)k;
    (void)order;
    (void)alpha;
    for (size_t i = 0; i < rows; i++) {
        float row[AT_ONCE], *c_i = c + i * (size_t)c_stride;
        for (size_t j = 0; j < columns && beta == 0; j++) c_i[j] = 0;

        /* Copy AT_ONCE terms of row i of a, then multiply them with b. */
        for (size_t from = 0; from < terms; from += AT_ONCE) {
            size_t count = terms - from < AT_ONCE ? terms - from : AT_ONCE;
            for (size_t t = from; t < from + count; t++)
                row[t - from] = turn_a == CblasTrans ? a[t * A + i] : a[i * A + t];
            if (turn_b == CblasTrans)
                for (size_t j = 0; j < columns; j++) c_i[j] += dot(row, b + j * B + from, count);
            else
                for (size_t t = 0; t < count; t++)
                    for (size_t j = 0; j < columns; j++) c_i[j] += row[t] * b[(from + t) * B + j];
        }
    }
}
