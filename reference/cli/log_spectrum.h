/* log_spectrum.h -- the frequencies of a feature map
 *
 * Source: Pan, Cai and Zhuang, Fast Vision Transformers with HiLo Attention (NeurIPS 2022), Algorithm 1, as drawn in
 * its Fig. 8 and 9.  For each channel c and frequency (u, v)
 *
 *     out[c, (u + H/2) mod H, (v + W/2) mod W]
 *         = 1/B  sum_b  log | sum_{y,x} y[b,y,x,c] exp(-2 pi i (u y / H + v x / W)) |
 *
 *     out  [C][H][W], natural logarithms of magnitudes; may not overlap y
 *     y    [B][H][W][C]
 *
 * H/2 and W/2 are rounded down, as by fftshift.  A frequency that one image lacks gives -infinity, or the logarithm of
 * a rounding error.  NaN and infinities propagate.  Cost: B C FFTs of H W reals, and about 2 H W reals of memory.
 *
 * Differs from the paper: channels are last in y, and fftshift moves the two axes of the image only.  Algorithm 1 names
 * no axes and so also rotates samples and channels: panel c of its figures is channel (c - C/2) mod C. */

#pragma once
#include "../runtime/real.h"
#include "../runtime/status.h"

BEGIN_C_DECLS

/* Bad input: a size of 0, H W above INT_MAX.  Fails if memory is exhausted. */
status spectrum(real *out, const real *y, size_t batch, size_t height, size_t width, size_t channels);

END_C_DECLS
