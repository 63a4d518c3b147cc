/* attention.c -- softmax attention as Eq. 1-3 of LiSA read
 *
 * The matrix of all queries against all keys is really there.  Never
 * optimised; to be read beside the equations.
 *
 *     i  queries     j  keys     c  channels
 *
 * Contract: reference/attention.h. */

#include "../reference/attention.h"
#include "../reference/steps.h"

void attention_naive(real *y, real *a, const real *q, const real *k, const real *v, const real *r,
                     real scale, size_t queries, size_t keys, size_t channels)
{
    /* Step 1: A_ij, how query i meets key j, and the bias of the pair. */
    for (size_t i = 0; i < queries; i++)
        for (size_t j = 0; j < keys; j++) {
            real sum = 0;
            for (size_t c = 0; c < channels; c++)
                sum += q[i * channels + c] * k[j * channels + c];
            a[i * keys + j] = scale * sum;
            if (r) a[i * keys + j] += r[i * keys + j];
        }

    /* Step 2: the softmax along j. */
    for (size_t i = 0; i < queries; i++)
        softmax(a + i * keys, keys);

    /* Step 3: Y_ic, the mean of the values under these weights. */
    for (size_t i = 0; i < queries; i++)
        for (size_t c = 0; c < channels; c++) {
            real sum = 0;
            for (size_t j = 0; j < keys; j++)
                sum += a[i * keys + j] * v[j * channels + c];
            y[i * channels + c] = sum;
        }
}

void attention_naive_toeplitz(real *r, const real *e, size_t e_stride, const grid *g)
{
    for (size_t i = 0; i < g->tokens; i++)
        for (size_t j = 0; j < g->tokens; j++)
            r[i * g->tokens + j] = e[grid_offset(g, i, j) * e_stride];
}
