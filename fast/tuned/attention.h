/* attention.h -- softmax attention of one head, in tiles
 *
 *     Y_ik = sum_j softmax_j(A_ij + R_ij) V_jk,    A_ij = scale sum_c Q_ic K_jc
 *
 * Contract: reference/msa.h.  queries keys 2c multiplications and O((block + 96) c) reals for each thread, whatever the
 * number of keys. */

#ifndef TWICETOLD_FAST_ATTENTION_H
#define TWICETOLD_FAST_ATTENTION_H

#include "../../reference/runtime/grid.h"
#include "../../reference/runtime/arena.h"

/* Keys are taken ATTENTION_TILE at a time.  ATTENTION_BLOCK queries are a good number for one call, unless
 * attention_block asks for more. */
#ifndef ATTENTION_TILE
#define ATTENTION_TILE 96
#endif
enum { ATTENTION_BLOCK = 96 };

/* Makes keys and values first ... first + count - 1, dense [count][channels].  first is a multiple of ATTENTION_TILE,
 * and count is ATTENTION_TILE except for the last tile. */
typedef void attention_fill(real *k, real *v, size_t first, size_t count, void *context);

/* Writes R of queries i ... i + queries - 1 and keys j ... j + keys - 1: R_ij at r[0], the row of the next key `stride`
 * further on.  At most ATTENTION_TILE keys, and as many queries as three vectors have lanes; stride >= queries. Rows
 * are written in order and may run over into the next, the last one by 64 bytes. */
typedef void attention_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *context);

/* Rows are `stride` reals apart, so that slices of a [N][3C] projection need no copies.  Unused members are 0. */
struct attention {
    size_t queries, keys, channels;
    real scale;
    const real *q, *k, *v;
    size_t q_stride, k_stride, v_stride;
    attention_fill *fill;           /* makes keys and values; then k and v are not looked at */
    void *fill_context;
    attention_bias *bias;           /* NULL: R = 0 */
    void *bias_context;
};

/* Rows first ... first + count - 1 of Y, y pointing at the first of them, on the calling thread.  Each row has the same
 * bits however queries are divided among calls.  workspace is the caller's, aligned to 64 bytes, and is only used
 * during the call. */
void attention_fast(real *y, size_t y_stride, const struct attention *a, size_t first, size_t count, real *workspace);

/* *reals = the workspace of a call with at most `block` queries; false where
 * that overflows.  Or a plan asks for it, one for each thread. */
bool attention_fast_workspace(size_t *reals, size_t channels, size_t block);
void attention_prepare(struct arena *arena, real **workspace, size_t channels, size_t block);

/* Queries of a block.  Each block reads or makes all keys and values anew, so blocks are large where that costs, but
 * what one gathers stays in the second cache.  Every thread gets the same number of blocks, or so many that it does not
 * matter. A query's result does not depend on its block. */
size_t attention_block(size_t queries, size_t channels, size_t heads, size_t threads);

/* What queries and sums of a block, or keys and values, may take of the second cache. */
#define ATTENTION_BYTES (512 * 1024)

/* ---- relative positions ------------------------------------------------- */

/* R = T(e) as a bias, for one table e or several side by side.  Read only after it is loaded, so threads share it. */
struct attention_rpe {
    grid g;                         /* the tokens that meet: the whole grid, or a window of it */
    size_t tables;
    real *reversed;                 /* [tables][P + LANES]: each e from its end to its start */
};

/* One of the tables, the context of attention_rpe_bias.  `tokens` is the box of the grid whose tokens meet. */
struct attention_rpe_table {
    grid tokens;                    /* those that meet, row-major */
    const grid *g;                  /* the table is of these */
    const real *reversed;
};

/* e [whole->offsets][tables] is of the grid `whole`; g is that grid itself or a
 * window, no longer than it along any axis. */
void attention_rpe_prepare(struct attention_rpe *rpe, struct arena *arena, const grid *g, size_t tables);
void attention_rpe_load(struct attention_rpe *rpe, const grid *whole, const real *e);
struct attention_rpe_table attention_rpe_table(const struct attention_rpe *rpe, size_t table);
void attention_rpe_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *table);

/* R of all pairs of at most ATTENTION_TILE tokens, written once: r [keys][attention_written_width]. */
struct attention_written {
    size_t width;
    const real *r;
};

size_t attention_written_width(size_t tokens);
void attention_write(real *r, const struct attention_rpe_table *table);
void attention_written_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *written);

#endif
