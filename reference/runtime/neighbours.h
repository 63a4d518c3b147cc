/* neighbours.h -- which tokens lie in the window around which
 *
 * A window is a box of odd sizes, centred on a token.  Its entries m are
 * row-major; entry m of the window around a centre j is the token j + step(m),
 * where step runs from -(size/2) to size/2 along every axis, times the
 * dilation, or it lies off the grid.
 *
 * The centres are the tokens whose every coordinate is a multiple of its axis's
 * stride, in row-major order.  The table is index arithmetic done once: both
 * forms of an operator read it, and neither asks what a border is.
 *
 *     token  [centres][entries]
 *
 * Memory: centres * entries ints.  Read only after it is loaded, so threads
 * share it. */

#ifndef TWICETOLD_NEIGHBOURS_H
#define TWICETOLD_NEIGHBOURS_H

#include "grid.h"
#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OFF_GRID (-1)

struct neighbours {
    size_t centres, entries;    /* J, |M| */
    size_t stride[GRID_AXES], dilation;
    grid tokens, window;
    int *token;                 /* OFF_GRID where there is none */
};

/* The windows of this shape on a grid; strides, one per axis, and dilation are
 * at least 1.  NULL for the strides: every token is a centre.  prepare asks for
 * the table, load fills it. */
void neighbours_prepare(struct neighbours *n, struct arena *arena, const grid *tokens, const grid *window,
                        const size_t *stride, size_t dilation);
void neighbours_load(struct neighbours *n);

/* How many centres there are: the product of ceil(size / stride). */
size_t neighbours_centres(const grid *tokens, const size_t stride[GRID_AXES]);

/* windows [entries][columns] of one centre from rows [tokens][columns], rows
 * `stride` reals apart; zeros off the grid. */
void neighbours_unfold(real *window, const struct neighbours *n, size_t centre,
                       const real *rows, size_t stride, size_t columns);

#ifdef __cplusplus
}
#endif

#endif
