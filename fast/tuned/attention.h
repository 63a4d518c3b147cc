/* attention.h -- softmax attention of one head, in tiles
 *
 *     Y_ik = sum_j softmax_j(A_ij + R_ij) V_jk,    A_ij = scale sum_c Q_ic K_jc
 *
 * Cost: queries * keys * 2c multiplications, and O((block + 96) c) reals per thread, for any number of keys.  Contract:
 * reference/msa.h. */

#pragma once
#include "../../reference/runtime/grid.h"
#include "../../reference/runtime/arena.h"

/* ATTENTION_TILE: keys in a tile.  ATTENTION_BLOCK: queries in a block, where attention_block is not called. */
#ifndef ATTENTION_TILE
#define ATTENTION_TILE 96
#endif
enum { ATTENTION_BLOCK = 96 };

/* Computes keys and values first ... first + count - 1, dense [count][channels].  first is a multiple of
 * ATTENTION_TILE, and count is ATTENTION_TILE except for the last tile. */
typedef void attention_fill(real *k, real *v, size_t first, size_t count, void *context);

/* Writes R of queries i ... i + queries - 1 and keys j ... j + keys - 1.  A row of r holds the queries of one key; rows
 * are `stride` >= queries reals apart.  At most ATTENTION_TILE keys and 3 LANES queries.  Rows are written in order.
 * Each may overrun into the next, and the last may write 64 bytes too many. */
typedef void attention_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *context);

/* Rows are `stride` reals apart, so that slices of a [N][3C] projection need no copies.  Unused members are 0. */
struct attention {
    size_t queries, keys, channels;
    real scale;
    const real *q, *k, *v;
    size_t q_stride, k_stride, v_stride;
    attention_fill *fill;           /* if not NULL, replaces k and v */
    void *fill_context;
    attention_bias *bias;           /* NULL: R = 0 */
    void *bias_context;
};

/* Rows first ... first + count - 1 of Y, on the calling thread; y points at the first of them.  The bits of a row do
 * not depend on how queries are divided among calls.  workspace is scratch, aligned to 64 bytes. */
void attention_fast(real *y, size_t y_stride, const struct attention *a, size_t first, size_t count, real *workspace);

/* *reals = size of the workspace for at most `block` queries; false on overflow.  attention_prepare reserves one for
 * each thread. */
bool attention_fast_workspace(size_t *reals, size_t channels, size_t block);
void attention_prepare(struct arena *arena, real **workspace, size_t channels, size_t block);

/* Queries per block.  Each block reads or computes all keys and values again, so blocks are as large as the second
 * cache allows.  If there are enough queries, each thread gets the same number of blocks, or about eight or more. */
size_t attention_block(size_t queries, size_t channels, size_t heads, size_t threads);

/* Part of the second cache for the queries and sums of a block, or for keys and values. */
#define ATTENTION_BYTES (512 * 1024)

/* ---- relative positions ------------------------------------------------- */

/* R = T(e) as a bias, for one or several tables e.  Threads share it: it is constant after load. */
struct attention_rpe {
    grid g;                         /* of queries and keys: the whole grid, or a window of it */
    size_t tables;
    real *reversed;                 /* [tables][P + LANES]: each e in reverse order */
};

/* One table: the context of attention_rpe_bias. */
struct attention_rpe_table {
    grid tokens;                    /* the box of g that queries and keys come from, row-major */
    const grid *g;                  /* the grid of the table */
    const real *reversed;
};

/* e [whole->offsets][tables] belongs to the grid `whole`; g is that grid or a window of it. */
void attention_rpe_prepare(struct attention_rpe *rpe, struct arena *arena, const grid *g, size_t tables);
void attention_rpe_load(struct attention_rpe *rpe, const grid *whole, const real *e);
struct attention_rpe_table attention_rpe_table(const struct attention_rpe *rpe, size_t table);
void attention_rpe_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *table);

/* R of all pairs of at most ATTENTION_TILE tokens, computed once: r [keys][attention_written_width]. */
struct attention_written {
    size_t width;
    const real *r;
};

size_t attention_written_width(size_t tokens);
void attention_write(real *r, const struct attention_rpe_table *table);
void attention_written_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *written);
