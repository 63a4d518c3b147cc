/* neighbours.h -- a table of the tokens in the window around each token
 *
 *     token  [centres][entries]
 *
 * A window is a box of odd sizes, centred on a token; its entries are row-major.  Entry m of the window around a centre
 * j is the token j + step(m), or OFF_GRID.  Along every axis step runs from -(size/2) to size/2, times the dilation.
 *
 * The centres are the tokens whose coordinates are multiples of the strides, in row-major order.
 *
 * Memory: centres * entries ints, constant after load. */

#pragma once
#include "grid.h"
#include "arena.h"

BEGIN_C_DECLS

#define OFF_GRID (-1)

struct neighbours {
    size_t centres, entries;    /* J, |M| */
    size_t stride[GRID_AXES], dilation;
    grid tokens, window;
    int *token;
};

/* prepare declares the table, load fills it.  There is one stride for each axis; strides and dilation are at least 1.
 * If stride is NULL, every token is a centre. */
void neighbours_prepare(struct neighbours *n, struct arena *arena, const grid *tokens, const grid *window,
                        const size_t *stride, size_t dilation);
void neighbours_load(struct neighbours *n);

/* The number of centres: the product of ceil(size / stride). */
size_t neighbours_centres(const grid *tokens, const size_t stride[GRID_AXES]);

/* Copies the window of a centre, [entries][columns], from rows [tokens][columns], `stride` reals apart; zeros off the
 * grid. */
void neighbours_unfold(real *window, const struct neighbours *n, size_t centre,
                       const real *rows, size_t stride, size_t columns);

END_C_DECLS
