/* attention.c -- softmax attention in one pass, with a running softmax and without the weights of all pairs
 *
 * The naive form stores the logits l_ij of all pairs, and then takes the softmax of each row.  Here a query reads its
 * keys once, tile by tile, and keeps three running results (Milakov and Gimelshein, "Online normalizer calculation
 * for softmax", 2018):
 *
 *     top = max_j l_j        sum = sum_j exp(l_j - top)        y_c = sum_j exp(l_j - top) v_jc
 *
 * If a tile has a larger logit, top grows, and sum and y shrink by exp(old top - new top).  At the end y is divided by
 * sum.  Each tile is summed from zero, so that rounding errors grow with the number of tiles, not of keys.  The
 * multiplications are those of the naive form plus a few for each tile; the memory is one tile.
 *
 *     j  keys     c  channels
 *
 * Contract: fast/attention.h. */

#include "attention.h"
#include <tgmath.h>

enum { TILE = ATTENTION_QUERY_TILE };

void attention_query(real *y, const real *q, const real *k, const real *v, size_t stride, const real *r, real scale,
                     size_t keys, size_t channels)
{
    real top = -REAL_MAX, sum = 0, l[TILE];     /* every finite logit is at least this top */

    for (size_t c = 0; c < channels; c++) y[c] = 0;
    for (size_t first = 0; first < keys; first += TILE) {
        size_t tile = keys - first < TILE ? keys - first : TILE;
        const real *k_first = k + first * stride, *v_first = v + first * stride;

        /* Step 1: the logits of this tile, and the largest so far. */
        real old_top = top;
        for (size_t j = 0; j < tile; j++) {
            real dot = 0;
            for (size_t c = 0; c < channels; c++) dot += q[c] * k_first[j * stride + c];
            l[j] = scale * dot;
            if (r) l[j] += r[first + j];
            if (l[j] > top) top = l[j];
        }

        /* Step 2: scale the results of earlier tiles to the new top. */
        real shrink = exp(old_top - top);
        sum *= shrink;
        for (size_t c = 0; c < channels; c++) y[c] *= shrink;

        /* Step 3: the weights of this tile, their sum, and the weighted values. */
        real tile_sum = 0;
        for (size_t j = 0; j < tile; j++) {
            l[j] = exp(l[j] - top);
            tile_sum += l[j];
        }
        sum += tile_sum;
        for (size_t c = 0; c < channels; c++) {
            real tile_y = 0;
            for (size_t j = 0; j < tile; j++) tile_y += l[j] * v_first[j * stride + c];
            y[c] += tile_y;
        }
    }
    for (size_t c = 0; c < channels; c++) y[c] /= sum;
}

double attention_query_multiply_adds(size_t keys, size_t channels)
{
    double tiles = (double)((keys + TILE - 1) / TILE), c = (double)channels;
    return (double)keys * (2 * c + 1) + tiles * (c + 1);
}
