/* attention.h -- softmax attention of one head, the ancestor of every operator here
 *
 * Vaswani et al., "Attention is all you need", NeurIPS 2017, in the notation
 * of Kwon et al., "Lightweight Structure-Aware Attention", Sec. 3:
 *
 *     Y_ik = sum_j softmax_j(A_ij + R_ij) V_jk,                       (Eq. 3)
 *     A_ij = scale sum_c Q_ic K_jc                                    (Eq. 1)
 *
 *     i  queries     j  keys     c, k  channels
 *     R  an additive bias, or nothing; R = T(e) for a table of relative
 *        positions e, whose entry for i and j depends on j - i alone    (Eq. 2)
 *
 * There are at least one query, one key and one channel, and as many values
 * as keys; queries and keys may differ in number.  All arrays are row-major
 * and dimensionless.  y overlaps no input.
 *
 * A NaN in a query, key, value or bias reaches every output that depends on
 * it.  A score of -inf is a weight of zero; a row with no other scores is NaN,
 * as is a row with a score of +inf.  The hearts cannot fail and allocate nothing.
 *
 *                        multiplications            memory besides y
 *     attention_naive    queries keys (2 c + 1)     queries keys: A itself
 *     attention_fast     queries keys 2 c           O((block + 96) c) per thread, whatever N
 *
 * and queries keys exponentials each.
 *
 * Departs from the paper: scale is free (1 / sqrt(c) is the caller's choice;
 * the paper divides by sqrt(C), before it speaks of heads), and R need not be
 * a Toeplitz matrix. */

#ifndef TWICETOLD_ATTENTION_H
#define TWICETOLD_ATTENTION_H

#include <stdbool.h>
#include "grid.h"
#include "real.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the equation: naive/attention.c --------------------------------- */

/* y [queries][channels] from q [queries][channels], k and v [keys][channels];
 * a [queries][keys] is room for the attention kernel, and holds it on return;
 * r [queries][keys] is R, or NULL.  All dense. */
void attention_naive(real *y, real *a, const real *q, const real *k, const real *v, const real *r,
                     real scale, size_t queries, size_t keys, size_t channels);

/* r [N][N] = T(e) on a grid of N tokens; e has g->offsets entries, e_stride
 * apart (the number of heads, where e is one head's column of [P][h]). */
void attention_naive_toeplitz(real *r, const real *e, size_t e_stride, const grid *g);

/* ---- tiled: fast/attention.c ----------------------------------------- */

/* Keys are taken ATTENTION_TILE at a time.  ATTENTION_BLOCK queries are a good
 * share for one call; where keys are made on the fly a larger one makes them
 * less often. */
enum { ATTENTION_TILE = 96, ATTENTION_BLOCK = 96 };

/* Makes keys and values first ... first + count - 1: k and v are dense,
 * [count][channels].  first is a multiple of ATTENTION_TILE, and count is
 * ATTENTION_TILE but for the last tile. */
typedef void attention_fill(real *k, real *v, size_t first, size_t count, void *context);

/* Writes R of queries i ... i + queries - 1 and keys j ... j + keys - 1, keys
 * outermost: R_ij at r[0], the next key's row `stride` further on.  There are
 * at most ATTENTION_TILE keys and ATTENTION_BLOCK queries, and stride >=
 * queries.  Rows written in order may run over into the next, and the last
 * one by 64 bytes. */
typedef void attention_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys,
                            void *context);

/* What a head attends to.  Rows are `stride` reals apart, so that slices of a
 * [N][3C] projection are taken as they lie.  Unused members are 0. */
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

/* Rows first ... first + count - 1 of Y, y pointing at the first of them, on
 * the calling thread.  Each row comes out the same to the last bit however
 * queries are divided among calls.  workspace is the caller's, aligned to 64
 * bytes, and holds nothing from one call to the next. */
void attention_fast(real *y, size_t y_stride, const struct attention *a, size_t first, size_t count,
                    real *workspace);

/* *reals = the workspace of a call with at most `block` queries; false where
 * that overflows. */
bool attention_fast_workspace(size_t *reals, size_t channels, size_t block);

/* R = T(e), prepared as a bias for attention_fast: pass attention_rpe_bias and
 * a pointer to this struct.  Holds a copy of e; read only, so threads share it. */
struct attention_rpe {
    grid g;                         /* the tokens that meet: the whole grid, or a window of it */
    real *reversed;                 /* e from its end to its start, P reals */
};

/* e is the table of the grid `whole`, its entries e_stride apart; g is that
 * grid itself or a window, no longer than it along any axis.  Fails when
 * memory is out; the release accepts what a failed creation left, and may be
 * called twice. */
status attention_rpe_create(struct attention_rpe *rpe, const grid *g, const grid *whole,
                            const real *e, size_t e_stride);
void attention_rpe_release(struct attention_rpe *rpe);
void attention_rpe_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *rpe);

#ifdef __cplusplus
}
#endif

#endif
