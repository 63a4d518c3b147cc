/* vec_grid.h -- convolution on a grid, a block of LANES channels at a time
 *
 * A block is LANES channels of all tokens.  Its convolution with two real
 * kernels per channel at once goes
 *
 *     spectrum    of the block, which is real: half of it says all
 *     product     with the spectrum of  kernel_0 + sqrt(-1) kernel_1
 *     inverse     along the slow axis, with the product on the way in, and
 *                 along the middle axis; what is left is a field
 *     rows        the caller's, along the fast axis: the real part is the
 *                 convolution with kernel_0, the imaginary part with kernel_1
 *
 * so that nothing larger than a field exists, and the caller can contract a
 * row while it is in the first cache.
 *
 * Axes are slow, middle and fast here: a line of tokens has {1, 1, N}, a plane
 * {H, 1, W}, a block {T, H, W}.  Tokens are the first of each axis's points on
 * the circle (circulant.h); the points behind them are zero on the way in and
 * not computed, where that saves a line, on the way out.  A field is a row of
 * the fast axis for each slow token t and each middle point m:
 *
 *                           x = 0 ... tokens[2] - 1 ... size[2] - 1
 *     t = 0    m = 0          [ tokens             |  behind them ] .
 *              m = 1          [ tokens             |  behind them ] .
 *              ...
 *              m = size[1]-1  [ behind the tokens                 ] .
 *     t = 1    m = 0          [ tokens             |  behind them ] .
 *     ...
 *     t = tokens[0] - 1 ...
 *
 * From one row to the next are `row` points, an odd number, with one that is not
 * used (the dot) where size[2] is even: so a column does not crowd into few sets
 * of the cache.
 *
 * Spectra are stored in the order of use: lines along the slow axis, one for
 * each middle and fast frequency.  A block's has fast frequencies up to the
 * half.  A kernel's has all of them, each line followed by its mirror image
 * (the frequency's negative), which meets the same line of the block, and each
 * line in the order in which the first butterflies take it: spectra of kernels
 * are too large for the caches, and only a plain stream comes from memory at
 * full speed.
 *
 * `line` is room for `line` points wherever it is asked for. */

#ifndef TWICETOLD_LANE_GRID_H
#define TWICETOLD_LANE_GRID_H

#include "circulant.h"
#include "vec_fft.h"

struct lane_grid {
    struct circulant circle;
    size_t tokens[GRID_AXES], size[GRID_AXES];
    struct lane_fft fft[GRID_AXES];
    size_t row;                 /* points from row to row of a field */
    size_t field;               /* points of a field */
    size_t whole;               /* points of a field with every point of the circle */
    size_t line;                /* points of the longest line */
    size_t half, points;        /* points of a block's spectrum, of a kernel's */
};

/* The circles of these tokens, each a product of 2, 3, 5 and 7: prepare asks for
 * the tables, load fills them.  Refused: what circulant_create refuses. */
void lane_grid_prepare(struct lane_grid *g, struct room *room, const grid *tokens, const grid *window, bool wraps);
void lane_grid_load(struct lane_grid *g);

/* Half the spectrum of a block: `channels` <= LANES reals at each of the tokens,
 * which are `stride` reals apart.  The lanes behind them are zero. */
void lane_grid_spectrum(const struct lane_grid *g, real *spectrum, const real *tokens, size_t stride,
                        size_t channels, real *field, real *line);

/* A kernel's spectrum in the order of use, divided by the number of points;
 * `field` holds the kernel on the whole circle, and is overwritten.  Twice the
 * room in `line`. */
void lane_grid_kernel(const struct lane_grid *g, real *kernel, real *field, real *line);

/* Product and inverse up to the rows, with a kernel for each lane [points] of
 * L + L reals, or with one for all lanes [points][re, im].  The field has real
 * and imaginary parts exchanged, as the rows want them: an inverse transform
 * is a transform with both exchanged before and after. */
void lane_grid_multiply(const struct lane_grid *g, real *field, const real *spectrum,
                        const real *kernel, bool one_for_all, real *line);

/* The same for the complex block (even[n] + sqrt(-1) odd[n]) tokens[n], there and
 * back in one go, with one kernel for all lanes.  Twice the room in `line`. */
void lane_grid_filter(const struct lane_grid *g, real *field, const real *tokens, size_t stride, size_t channels,
                      const real *even, const real *odd, const real *kernel, real *line);

#endif
