/* packed.h -- linear maps whose weights are laid out once, where they are read
 *
 * y = x W^T + b, as linear.h has it, for a W that meets many tokens in many
 * runs.  A BLAS lays W out anew in every call, which at 196 tokens is a tenth
 * of the work; here it is done when a plan is prepared.  Several maps of the
 * same input make one, their rows one behind the other.
 *
 * Panels of WIDE vectors of outputs, [1 + in][WIDE LANES]: the bias, then one
 * row for each input.  What is left over makes panels of one vector, the last
 * of them filled up with zeros.
 *
 * Each output is one sum in the order of the inputs, and the same to the last
 * bit however tokens and panels are divided.  The maps cannot fail and allocate
 * nothing.  Multiply-adds: tokens in out. */

#ifndef TWICETOLD_PACKED_H
#define TWICETOLD_PACKED_H

#include <stdbool.h>
#include "lanes.h"

struct packed {
    size_t in, out;
    real *panels;
};

/* Room for such a map; false when memory is out.  The release accepts zeros,
 * and what a failed creation left. */
bool packed_create(struct packed *map, size_t in, size_t out);
void packed_release(struct packed *map);

/* Rows first ... first + rows - 1 of W and b; NULL for no bias. */
void packed_fill(struct packed *map, size_t first, size_t rows, const real *weight, const real *bias);

/* A share of y = x W^T + b, the calling thread's: number `part` of `parts`
 * that together are the whole.  Rows of x and y are strides apart. */
void packed_apply(real *y, size_t y_stride, const real *x, size_t x_stride, const struct packed *map,
                  size_t tokens, size_t part, size_t parts);

#endif
