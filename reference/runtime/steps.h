/* steps.h -- softmax, normalisation and GELU, which naive and fast forms share
 *
 * All but gelu work in place on dense rows.  They may be called by any number of threads, and propagate NaN. */

#pragma once
#include "real.h"

BEGIN_C_DECLS

/* x[j] <- exp(x[j]) / sum exp(x), computed with x minus its largest entry, so that nothing overflows. */
void softmax(real *x, size_t n);

/* x / max(|x|, 1e-12), as PyTorch's F.normalize: a zero row stays zero. */
void l2_normalise(real *x, size_t n);

/* x Phi(x), Phi the exact normal distribution function (erf), not the approximation by tanh. */
real gelu(real x);

/* (x - mean) / sqrt(variance + epsilon) gain + bias, the variance with divisor n.  gain and bias have n entries, or are
 * NULL for 1 and 0.  The mean is x[0] plus the mean of x - x[0], so that the mean of equal entries is exact.  A
 * rounding error would be multiplied by 1 / sqrt(epsilon). */
void layer_norm(real *x, const real *gain, const real *bias, size_t n, double epsilon);

END_C_DECLS
