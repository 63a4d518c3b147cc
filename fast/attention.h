/* attention.h -- softmax attention of one query, in one pass over its keys */

#pragma once
#include "../reference/runtime/real.h"

/* y_c = sum_j softmax_j(scale q . k_j + r_j) v_jc.  y and q have `channels` numbers; r has one per key, or is NULL.
 * Rows of k and v are `stride` apart.  If every logit is minus infinity, the result is NaN. */
void attention_query(real *y, const real *q, const real *k, const real *v, size_t stride, const real *r, real scale,
                     size_t keys, size_t channels);

enum { ATTENTION_QUERY_TILE = 32 };     /* keys in a tile */

/* Multiplications: 2 channels + 1 for each key, channels + 1 for each tile of keys. */
double attention_query_multiply_adds(size_t keys, size_t channels);
