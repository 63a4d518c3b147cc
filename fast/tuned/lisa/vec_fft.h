/* vec_fft.h -- as many Fourier transforms at once as a vector has lanes
 *
 *     out[o] = sum_i in[i] exp(-2 pi sqrt(-1) i o / n),   0 <= i, o < n,
 *
 * for LANES independent signals side by side: every operand is a vector, every twiddle factor a scalar, and no lane is
 * shuffled.  Token-major data with channels innermost already lie this way, so a transform along one axis of a grid is
 * this transform with a stride.
 *
 * n is a product of 2, 3, 5 and 7, and moderate: a line and its copy should stay in the first cache.  This is the plan
 * of a transform; vec_pass.h runs it. */

#ifndef TWICETOLD_VEC_FFT_H
#define TWICETOLD_VEC_FFT_H

#include "../vec.h"
#include "../../../reference/runtime/arena.h"

#define LANE_FFT_STAGES 32

/* The number of the m-th result of a butterfly.  With an odd radix two results share most of their sums and follow each
 * other, so that 16 registers hold almost all. */
static inline size_t lane_fft_result(size_t radix, size_t m)
{
    if (radix % 2 && m) return m % 2 ? m / 2 + 1 : radix - m / 2;
    return m;
}

/* One stage: n / radix butterflies.  Butterfly b takes the points from[b radix + k], k < radix, and leaves its m-th
 * result at to[b radix + m], all but the first multiplied by a twiddle factor if there are any.  The place of point i
 * is i POINT, multiplied once here and not by each line. */
struct lane_stage {
    size_t radix;               /* 1, 2, 3, 4, 5, 7 or 8 */
    size_t butterflies;
    const size_t *from, *to;
    const real *twiddle;        /* [butterflies][radix-1][re, im], or NULL */
};

struct vec_fft {
    size_t n;
    size_t stages;              /* two or more */
    struct lane_stage stage[LANE_FFT_STAGES];
    size_t *places;             /* all from and to */
    real *twiddles;             /* all twiddle */
};

/* Transforms of n points: prepare asks for the tables, load fills them. Refused: n with a prime factor beyond 7. */
void lane_fft_prepare(struct vec_fft *fft, struct arena *arena, size_t n);
void lane_fft_load(struct vec_fft *fft);

/* The places of a transformed line's points, [n], in the order in which the last stage leaves them. */
static inline const size_t *lane_fft_order(const struct vec_fft *fft) { return fft->stage[fft->stages - 1].to; }

#endif
