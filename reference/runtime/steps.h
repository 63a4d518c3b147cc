/* steps.h -- the plain steps that are nobody's subject
 *
 * All work in place on dense rows, are safe for any number of threads, and
 * let NaN through. */

#ifndef TWICETOLD_STEPS_H
#define TWICETOLD_STEPS_H

#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x[j] <- exp(x[j]) / sum exp(x), the largest entry taken off first so that
 * nothing overflows. */
void softmax(real *x, size_t n);

/* x / max(|x|, 1e-12), as PyTorch's F.normalize: the zero row stays zero. */
void l2_normalise(real *x, size_t n);

/* x Phi(x) with the exact normal distribution function, not the tanh fit. */
real gelu(real x);

/* (x - mean) / sqrt(variance + epsilon) gain + bias, the variance divided by
 * n.  gain and bias have n entries, or are NULL for 1 and 0.  The mean is
 * that of what lies beyond x[0], which is added again: so equal entries are
 * their own mean to the last bit, whose rounding a small epsilon would make
 * 1 / sqrt(epsilon) times as large. */
void layer_norm(real *x, const real *gain, const real *bias, size_t n, double epsilon);

#ifdef __cplusplus
}
#endif

#endif
