/* packed_linear.h -- linear maps whose weights are repacked once, in the order
 * in which they are read
 *
 * y = x W^T + b, as linear.h has it, for a W that meets many tokens in many
 * runs.  A BLAS repacks W in every call, which at 196 tokens is a tenth
 * of the work; here it is done when a plan is loaded.  Several maps of the
 * same input make one, their rows one behind the other.
 *
 * Panels of a few vectors of outputs, [1 + in][vectors LANES]: the bias, then one
 * row for each input.  All are almost equally wide, and the last is filled up with
 * zeros.
 *
 * Each output is one sum in the order of the inputs, and the same to the last
 * bit however tokens and panels are divided.  Memory: the weights once more, out
 * rounded up to LANES.  Multiply-adds: tokens in out. */

#ifndef TWICETOLD_PACKED_LINEAR_H
#define TWICETOLD_PACKED_LINEAR_H

#include "../../reference/runtime/linear.h"

extern const struct linear_kind linear_packed;

/* For weights that live no longer than a step of a run: rows of W that lie `stride` apart, into a map
 * {&linear_packed, in, out} whose panels are the caller's: in + 1 times out, rounded up to LANES, aligned to 64
 * bytes. */
void linear_packed_load(struct linear *map, size_t first, size_t rows, const real *weight, size_t stride,
                        const real *bias);

/* y of tokens that lie in planes, one for each input, `plane` reals apart: input n of token t is
 * planes[n * plane + t].  A number is repeated over a vector of outputs from wherever it lies, so no token need be put
 * together first. */
void linear_packed_planes(real *y, size_t y_stride, const real *planes, size_t plane, const struct linear *map,
                          size_t tokens);

#endif
