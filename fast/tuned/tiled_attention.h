/* tiled_attention.h -- the tiled attention (attention.h) as hearts (heads.h)
 *
 * A block of queries against all keys, so that the threads have work when there is one head; or one side of a window of
 * tokens against itself.  Each is part one->part of a head.  The caller's `a` has the numbers of queries, keys and
 * channels, the scale and the bias; where rows lie is filled in here. */

#ifndef TWICETOLD_TILED_ATTENTION_H
#define TWICETOLD_TILED_ATTENTION_H

#include "../../reference/runtime/heads.h"
#include "../../reference/runtime/windows.h"
#include "attention.h"

/* Of each thread: attention's workspace, and one window of one head. */
struct tiled {
    size_t block;               /* queries of a block */
    real *workspace;
    real *q, *k, *v, *y;        /* [entries][channels], where a window was asked for */
};

/* For this many heads of queries, keys and channels as `a` says; or for windows of `entries` tokens. */
void tiled_prepare(struct tiled *tiled, struct plan *plan, struct attention a, size_t heads, size_t entries);

/* Blocks of a head. */
static inline size_t tiled_blocks(const struct tiled *tiled, size_t queries)
{
    return (queries + tiled->block - 1) / tiled->block;
}

/* Block one->part of the queries; rows are read where they lie. */
void tiled_block(const struct head *head, struct attention a, const struct tiled *tiled);

/* One side of window one->part, all of it where no seam runs through it.  Its rows are copied, and its queries and keys
 * counted here.  The row `padding` is the query of a token of the padding, whose key and value are as far behind it as
 * any token's; it may be NULL where windows tile the plane. */
void tiled_window(const struct head *head, struct attention a, const struct windows *windows, size_t side,
                  const real *padding, const struct tiled *tiled);

#endif
