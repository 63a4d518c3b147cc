/* lane_fft.h -- as many Fourier transforms at once as a vector has lanes
 *
 *     out[o] = sum_i in[i] exp(-2 pi sqrt(-1) i o / n),   0 <= i, o < n,
 *
 * for LANES independent signals side by side: every operand is a vector, every
 * twiddle factor a scalar, and nothing is ever shuffled between lanes.  That
 * is the whole trick.  Token-major data with channels innermost already lie
 * this way, so a transform along one axis of a grid is this transform with a
 * stride.
 *
 * n is a product of 2, 3, 5 and 7, and moderate (a line and its copy should
 * stay in the first cache).  This file refuses to be a general FFT: FFTW does
 * every other size, real input, and one signal at a time. */

#ifndef TWICETOLD_LANE_FFT_H
#define TWICETOLD_LANE_FFT_H

#include <stdbool.h>
#include "lanes.h"
#include "../reference/status.h"

#define LANE_FFT_STAGES 32

/* One stage: n / radix butterflies.  Butterfly b takes the points from[b radix
 * + k], k < radix, and leaves its results at to[b radix + k], all but the
 * first multiplied by a twiddle factor where there are any. */
struct lane_stage {
    size_t radix;               /* 1, 2, 3, 4, 5, 7 or 8 */
    size_t butterflies;
    const unsigned *from, *to;
    const real *twiddle;        /* [butterflies][radix-1][re, im], or NULL */
};

struct lane_fft {
    size_t n;
    size_t stages;              /* two or more */
    struct lane_stage stage[LANE_FFT_STAGES];
    unsigned *places;           /* owned: all from and to */
    real *twiddles;             /* owned: all twiddle */
};

/* Prepares transforms of n points.  Refused: n with a prime factor beyond 7. */
status lane_fft_prepare(struct lane_fft *fft, size_t n);

/* Frees what prepare took; harmless on a zeroed or released plan. */
void lane_fft_release(struct lane_fft *fft);

/* Transforms a line of n points that are from_stride points apart into one
 * whose points are to_stride apart; `to` and `from` are the same line, or do
 * not overlap.  The inverse has exp(+2 pi ...) and does not divide by n.
 * line: room for n points.  All aligned to a vector. */
void lane_fft_run(const struct lane_fft *fft, real *to, size_t to_stride,
                  const real *from, size_t from_stride, bool inverse, real *line);

#endif
