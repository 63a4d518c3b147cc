/* vec_fft.h -- LANES Fourier transforms of the same size, one per lane
 *
 *     out[o] = sum_i in[i] exp(-2 pi sqrt(-1) i o / n),   0 <= i, o < n,
 *
 * Every operand is a vector, every twiddle factor a scalar, and no lanes are shuffled.  Tokens with channels innermost
 * already have this layout, so a transform along an axis of a grid is this transform with a stride.
 *
 * n is a product of 2, 3, 5 and 7, and small enough that a line and its copy fit the first cache.  This is the plan of
 * a transform; vec_pass.h runs it. */

#pragma once
#include "../vec.h"
#include "../../../reference/runtime/arena.h"

#define LANE_FFT_STAGES 32

/* The index of the m-th result of a butterfly.  With an odd radix, results k and radix - k are neighbours, because they
 * share most of their sums; this saves registers. */
static inline size_t lane_fft_result(size_t radix, size_t m)
{
    if (radix % 2 && m) return m % 2 ? m / 2 + 1 : radix - m / 2;
    if (radix == 16) return m % 4 * 4 + m / 4;
    return m;
}

/* One stage: n / radix butterflies.  Butterfly b reads the places from[b radix + k], k < radix, and writes its m-th
 * result to place to[b radix + m].  If there are twiddle factors, they multiply all results except the first.  The
 * place of point i is i POINT. */
struct lane_stage {
    size_t radix;               /* 1, 2, 3, 4, 5, 7, 8 or 16 */
    size_t butterflies;
    const size_t *from, *to;
    const real *twiddle;        /* [butterflies][radix-1][re, im], or NULL */
};

struct vec_fft {
    size_t n;
    size_t stages;              /* two or more */
    struct lane_stage stage[LANE_FFT_STAGES];
    size_t *places;             /* memory of all from and to */
    real *twiddles;             /* memory of all twiddle */
};

/* Fails if n has a prime factor above 7. */
void lane_fft_prepare(struct vec_fft *fft, struct arena *arena, size_t n);
void lane_fft_load(struct vec_fft *fft);

/* [n]: the places of the results, in the order in which the last stage computes them. */
static inline const size_t *lane_fft_order(const struct vec_fft *fft) { return fft->stage[fft->stages - 1].to; }
