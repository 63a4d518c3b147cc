/* tiled_attention.h -- the tiled attention (attention.h) as cores (heads.h)
 *
 * A core computes a block of queries with all keys, so that several threads can share a head; or one side of a window,
 * whose tokens are both queries and keys.  The caller sets sizes, scale and bias in `a`; these functions set rows and
 * strides. */

#pragma once
#include "../../reference/runtime/heads.h"
#include "../../reference/runtime/windows.h"
#include "attention.h"

struct tiled {
    size_t block;               /* queries in a block */
    real *workspace;            /* per thread: attention_fast's */
    real *q, *k, *v, *y;        /* per thread, [entries][channels]: one window of one head */
};

/* For `heads` heads with the queries, keys and channels of `a`, and for windows of `entries` tokens (0: none). */
void tiled_prepare(struct tiled *tiled, struct plan *plan, struct attention a, size_t heads, size_t entries);

/* The number of blocks of a head. */
static inline size_t tiled_blocks(const struct tiled *tiled, size_t queries)
{
    return (queries + tiled->block - 1) / tiled->block;
}

/* Block head->part of the queries, in place. */
void tiled_block(const struct head *head, struct attention a, const struct tiled *tiled);

/* One side of window head->part: the whole window, if no seam crosses it.  Copies its rows, and sets a.queries and
 * a.keys.  `padding` points at the query of a padding token; its key and value follow at the same distance as for any
 * token.  It may be NULL if windows tile the plane. */
void tiled_window(const struct head *head, struct attention a, const struct windows *windows, size_t side,
                  const real *padding, const struct tiled *tiled);
