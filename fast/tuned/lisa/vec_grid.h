/* vec_grid.h -- convolution on a grid, a block of LANES channels at a time
 *
 * The convolution of a block, LANES channels of all tokens, with two real kernels per channel:
 *
 *     spectrum    of the block, which is real: half of it is enough
 *     product     with the spectrum of  kernel_0 + sqrt(-1) kernel_1
 *     inverse     along the slow axis, with the product on the way in, and along the middle axis; the result is a field
 *     rows        by the caller, along the fast axis: real and imaginary part are the convolutions with kernel_0 and _1
 *
 * Nothing larger than a field exists, and the caller can contract a row while it is in the first cache.
 *
 * Axes are slow, middle and fast: a line of tokens has {1, 1, N}, a plane {H, 1, W}, a block {T, H, W}.  Tokens are the
 * first of each axis's points on the circle (circulant.h).  The points after them are zero on the way in, and on the
 * way out not computed where that saves a line.  A field has a row of the fast axis for each slow token t and each
 * middle point m.  Rows are `row` points apart, an odd number, so that a column does not fall into few sets of the
 * cache.
 *
 * Spectra are stored in the order of use: lines along the slow axis, one for each middle and fast frequency, up to half
 * the fast frequencies for a block.  A kernel has all of them, each line followed by its mirror image (the negative
 * frequency), which meets the same line of the block, in the order in which the first butterflies take it: these
 * spectra are too large for the caches, and only one stream comes from memory at full speed.
 *
 * `line` is memory for `line` points wherever it is asked for. */

#ifndef TWICETOLD_VEC_GRID_H
#define TWICETOLD_VEC_GRID_H

#include "../../circulant.h"
#include "vec_fft.h"

struct vec_grid {
    struct circulant circle;
    size_t tokens[GRID_AXES], size[GRID_AXES];
    struct vec_fft fft[GRID_AXES];
    size_t row;                 /* points from row to row of a field */
    size_t field;               /* points of a field */
    size_t whole;               /* points of a field with every point of the circle */
    size_t line;                /* points of the longest line */
    size_t half, points;        /* points of a block's spectrum, of a kernel's */
};

/* The circles of these tokens, each a product of 2, 3, 5 and 7.  Rejected: what circulant_create rejects. */
void lane_grid_prepare(struct vec_grid *g, struct arena *arena, const grid *tokens, const grid *window, bool wraps);
void lane_grid_load(struct vec_grid *g);

/* Half the spectrum of a block: `channels` <= LANES reals at each of the tokens, `stride` reals apart; other lanes are
 * zero. */
void lane_grid_spectrum(const struct vec_grid *g, real *spectrum, const real *tokens, size_t stride,
                        size_t channels, real *field, real *line);

/* A kernel's spectrum in the order of use, divided by the number of points.  `field` holds the kernel on the whole
 * circle, and is overwritten.  `line` has twice the memory. */
void lane_grid_kernel(const struct vec_grid *g, real *kernel, real *field, real *line);

/* Product and inverse up to the rows, with a kernel for each lane [points] of L + L reals, or one for all lanes
 * [points][re, im].  Real and imaginary parts of the field are exchanged, as the rows want them: an inverse transform
 * is a transform with both exchanged before and after. */
void lane_grid_multiply(const struct vec_grid *g, real *field, const real *spectrum,
                        const real *kernel, bool one_for_all, real *line);

/* The same for the complex block (even[n] + sqrt(-1) odd[n]) tokens[n], there and back, with one kernel for all lanes.
 * `line` has twice the memory. */
void lane_grid_filter(const struct vec_grid *g, real *field, const real *tokens, size_t stride, size_t channels,
                      const real *even, const real *odd, const real *kernel, real *line);

#endif
