/* box_pool.h -- means over boxes of any size, at one price
 *
 * An integral image (Crow, "Summed-area tables for texture mapping", 1984) holds at (Y, X) the sum of everything above
 * and to the left, so a box of any size is four numbers of it.  The plane [H][W] of one component is pooled over its G
 * boxes, each of which follows the token, and the weighted sum of the means is the new plane:
 *
 *     out_n = factor_n sum_g mix_g mean of the plane over (y0, x0, y1, x1)_g around n
 *
 * Cost of a plane: 2 additions for each token and box, and at most 6 multiply-adds; 1 where the edges lie between
 * tokens.  Memory: two spans for each box of each component; for each thread about H (W + 9 L) reals. */

#ifndef TWICETOLD_BOX_POOL_H
#define TWICETOLD_BOX_POOL_H

#include "../../../reference/runtime/resample.h"
#include "../../../reference/runtime/arena.h"

/* How a box lies along one axis, the same for every token.  Its edges are in the tokens `low` and `high`, counted from
 * the box's own.  It covers the share `first` of the one, `last` of the other, and all tokens between.  For token t and
 * running sums T_k of all tokens before k it sums
 *
 *     first (T[t+low+1] - T[t+low]) + (T[t+high] - T[t+low+1]) + last (T[t+high+1] - T[t+high])
 *
 * and if both edges are in one token, the first term with a share of 1: the mean over such a box is that token. */
enum span_kind { SPAN_GENERAL, SPAN_WITHIN, SPAN_WHOLE };   /* WITHIN one token; of WHOLE tokens: first is 1, last 0 */

struct span {
    enum span_kind kind;
    ptrdiff_t low, high;
    real first, last;
    real weight;                /* of the middle term; first and last are multiplied by it already */
};

struct box_pool {
    size_t H, W, G, components;
    size_t line;                /* reals of a row of running sums with its pads */
    struct span *down, *across; /* [components][G]; the weights of `down` are mix over the box's area */
    real *T, *S;                /* of each thread: running sums along the rows, and down the columns */
};

/* prepare asks for the spans and for what each thread works in; load fills the
 * spans from boxes [components][G][4] and mix [components][G]. */
void box_pool_prepare(struct box_pool *pool, struct arena *arena, size_t H, size_t W, size_t components, size_t G);
void box_pool_load(struct box_pool *pool, const real *boxes, const real *mix);

/* The zeros around a thread's running sums, which no plane overwrites: in a run, each thread writes them before its
 * first plane. */
void box_pool_clear(const struct box_pool *pool, const struct arena *arena, size_t thread);

/* What multiplies the result: rows [..][stride] of W reals each, and between
 * which two of them each of the H rows lies. */
struct box_pool_factor {
    const real *rows;
    size_t stride;
    const struct tap *tap;      /* [H] */
};

/* out [H][W] from plane [H][W] of one component; they may be the same.  factor
 * may be NULL; arena is the one that prepare was given. */
void box_pool_plane(const struct box_pool *pool, size_t component, real *out, const real *plane,
                    const struct box_pool_factor *factor, const struct arena *arena, size_t thread);

#endif
