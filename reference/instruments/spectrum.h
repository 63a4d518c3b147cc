/* spectrum.h -- how much of each frequency a feature map holds
 *
 * Pan, Cai and Zhuang, Fast Vision Transformers with HiLo Attention
 * (NeurIPS 2022), Algorithm 1, the picture behind its Fig. 8 and 9.  For each
 * channel c and frequency (u, v)
 *
 *     out[c, (u + H/2) mod H, (v + W/2) mod W]
 *         = 1/B  sum_b  log | sum_{y,x} y[b,y,x,c] exp(-2 pi i (u y / H + v x / W)) |
 *
 * with H/2 and W/2 rounded down, as NumPy's and PyTorch's fftshift have it for
 * odd sizes too: the zero frequency comes to row H/2, column W/2.
 *
 *     out  [C][H][W], natural logarithms of magnitudes; may not overlap y
 *     y    [B][H][W][C]
 *
 * A frequency that one image lacks altogether gives log 0 = -infinity, for
 * the mean over the batch as well; where rounding leaves a trace of it
 * instead, the trace is what one sees.  NaN and infinities pass through.
 *
 * Work: B C FFTs of H W reals.  Extra memory: about 2 H W reals.  FFTW's
 * planner is not safe for threads; every call of it in this library is made
 * inside the OpenMP critical section named fftw_planner.
 *
 * Departs from the paper: channels come last in y; fftshift moves the two axes
 * of the image only, where Algorithm 1, naming no axes, also rotates samples
 * and channels (harmless in the mean over samples, but panel c of its drawing
 * is channel (c - C/2) mod C).  The mean is over logarithms, as there. */

#ifndef TWICETOLD_SPECTRUM_H
#define TWICETOLD_SPECTRUM_H

#include "../real.h"
#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Refused: a size of 0, H W beyond INT_MAX.  Fails when memory is out. */
status spectrum(real *out, const real *y, size_t batch, size_t height, size_t width, size_t channels);

#ifdef __cplusplus
}
#endif

#endif
