/* packed_linear.h -- linear maps whose weights are repacked once, when a plan is loaded
 *
 * y = x W^T + b, as in linear.h.  A BLAS repacks W in every call.  Several maps of the same input can be one map, with
 * their rows one after another.
 *
 * Outputs are divided into panels of a few vectors, [1 + in][vectors LANES]: the bias, then one row for each input.
 * Panel widths differ by at most one vector; the last panel is padded with zeros.
 *
 * Each output is one sum, in the order of the inputs.  Its bits do not depend on how tokens and panels are divided.
 * Memory: a copy of the weights, out rounded up to LANES.  Multiply-adds: tokens in out. */

#pragma once
#include "../../reference/runtime/linear.h"

extern const struct linear_kind linear_packed;

/* Packs rows of W, `stride` apart, as outputs first ... first + rows - 1.  For weights that change during a run, the
 * caller makes a map {&linear_packed, in, out} with panels of (in + 1) out reals, out rounded up to LANES, aligned to
 * 64 bytes. */
void linear_packed_load(struct linear *map, size_t first, size_t rows, const real *weight, size_t stride,
                        const real *bias);

/* y from planes: input n of token t is planes[n * plane + t]. */
void linear_packed_planes(real *y, size_t y_stride, const real *planes, size_t plane, const struct linear *map,
                          size_t tokens);
