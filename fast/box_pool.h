/* box_pool.h -- means over boxes of any size, at one price
 *
 * An integral image (Crow, "Summed-area tables for texture mapping", 1984) holds
 * at (Y, X) the sum of all that lies above and to the left, so a box is four
 * numbers of it, however large. Here one component's plane [H][W] is pooled over
 * its G boxes, each of which follows the token, and the weighted sum of the
 * means is the new plane:
 *
 *     out_n = factor_n sum_g mix_g mean of the plane over (y0, x0, y1, x1)_g around n
 *
 * What box_pool.c does to make that fast, and safe in float, is told there.
 *
 * Cost of a plane: 2 additions for each token and box, and at most 6
 * multiply-adds; 1 where the edges lie between tokens. */

#ifndef TWICETOLD_BOX_POOL_H
#define TWICETOLD_BOX_POOL_H

#include <stdbool.h>
#include "../reference/real.h"
#include "../reference/resample.h"
#include "../reference/status.h"

/* Two edges along one axis, seen from token 0: they lie in the cells low and
 * high, and what is between them is
 *
 *     first (T[low + 1] - T[low]) + (T[high] - T[low + 1]) + last (T[high + 1] - T[high])
 *
 * for the running sums T of the axis; within one cell the first term alone. */
struct span {
    enum { SPAN_GENERAL, SPAN_WITHIN, SPAN_WHOLE } kind;    /* WHOLE: first is 1 and last 0 */
    ptrdiff_t low, high;
    real first, last, weight;
};

struct box_pool {
    size_t H, W, G, components;
    size_t line;                /* reals of a row of running sums with its pads */
    struct span *down, *across; /* [components][G]; down bears the weights over the areas */
};

/* boxes [components][G][4], mix [components][G].  Fails when memory is out; the
 * release accepts what a failed creation left. */
status box_pool_create(struct box_pool *pool, size_t H, size_t W, size_t components, size_t G,
                       const real *boxes, const real *mix);
void box_pool_release(struct box_pool *pool);

/* Workspace of a thread, in reals; false where that overflows.  It is cleared
 * once, before its first use. */
bool box_pool_reals(size_t *reals, const struct box_pool *pool);
void box_pool_clear(const struct box_pool *pool, real *workspace);

/* What multiplies the result: rows [..][stride] of W reals each, and between
 * which two of them each of the H rows lies. */
struct box_pool_factor {
    const real *rows;
    size_t stride;
    const struct tap *tap;      /* [H] */
};

/* out [H][W] from plane [H][W] of one component; they may be the same.  factor
 * may be NULL. */
void box_pool_plane(const struct box_pool *pool, size_t component, real *out, const real *plane,
                    const struct box_pool_factor *factor, real *workspace);

#endif
