/* vec_grid.h -- convolution on a grid, a block of LANES channels at a time
 *
 * The convolution of a block (LANES channels of all tokens) with two real kernels per channel:
 *
 *     spectrum    of the block; the block is real, so half of its spectrum is enough
 *     product     with the spectrum of kernel_0 + sqrt(-1) kernel_1, in the first stage of the inverse transform
 *     inverse     along the slow and the middle axis; the result is a field
 *     rows        by the caller, along the fast axis: real and imaginary part are the convolutions with kernel_0 and _1
 *
 * The largest array is a field, and the caller can contract a row while it is in the first cache.
 *
 * Axes are slow, middle and fast: a line of tokens has {1, 1, N}, a plane {H, 1, W}, a volume {T, H, W}.  The tokens
 * are the first points of each circle (circulant.h).  The points after them are zero as inputs, and as outputs not
 * computed if that saves a line.  A field has a row of the fast axis for each slow token t and middle point m.  Rows
 * are `row` points apart, an odd number, so that the points of a column use all sets of the cache.
 *
 * Spectra are stored in the order of use: lines along the slow axis, one for each middle and fast frequency.  A block
 * has half of the fast frequencies, a kernel has all.  A line of a kernel is in the order of the first stage.  Its
 * mirror image (the negative frequency) follows, because both use the same line of the block.  These spectra do not fit
 * the caches, and memory is fastest with a single stream.
 *
 * Parameters `line` are scratch for g->line points. */

#pragma once
#include "../../circulant.h"
#include "vec_fft.h"

struct vec_grid {
    struct circulant circle;
    size_t tokens[GRID_AXES], size[GRID_AXES];
    struct vec_fft fft[GRID_AXES];
    size_t row;                 /* points between rows of a field */
    size_t field;               /* points of a field */
    size_t whole;               /* points of a field with every point of the circle */
    size_t line;                /* points of the longest line */
    size_t half, points;        /* points of the spectrum of a block, and of a kernel */
};

/* The circles of these tokens, each a product of 2, 3, 5 and 7.  Fails if circulant_create fails. */
void lane_grid_prepare(struct vec_grid *g, struct arena *arena, const grid *tokens, const grid *window, bool wraps);
void lane_grid_load(struct vec_grid *g);

/* Half the spectrum of a block: `channels` <= LANES reals of each token, tokens `stride` reals apart; the other lanes
 * are zero. */
void lane_grid_spectrum(const struct vec_grid *g, real *spectrum, const real *tokens, size_t stride,
                        size_t channels, real *field, real *line);

/* The spectra of LANES kernels in the order of use, divided by the number of points.  `field` holds the kernels on the
 * whole circle, and is overwritten.  `line` has twice the size. */
void lane_grid_kernel(const struct vec_grid *g, real *kernel, real *field, real *line);

/* Product and inverse except the rows, with a kernel for each lane ([points] of L + L reals) or one shared by all lanes
 * ([points][re, im]).  The real and imaginary parts of the field are exchanged: an inverse transform is a forward
 * transform with the parts exchanged before and after. */
void lane_grid_multiply(const struct vec_grid *g, real *field, const real *spectrum,
                        const real *kernel, bool one_for_all, real *line);

/* Forward transform, product and inverse of the complex block (even[n] + sqrt(-1) odd[n]) tokens[n], with one kernel
 * shared by all lanes.  `line` has twice the size. */
void lane_grid_filter(const struct vec_grid *g, real *field, const real *tokens, size_t stride, size_t channels,
                      const real *even, const real *odd, const real *kernel, real *line);
