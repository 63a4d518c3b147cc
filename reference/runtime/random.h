/* random.h -- random numbers without state
 *
 * The n-th number of a stream is a function of (seed, stream, n).  So threads may compute numbers in any order, and the
 * numbers are the same on every platform.
 *
 * Bits come from Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 * Normal numbers come from Karney's rejection from uniforms ("Sampling exactly from the normal distribution", ACM TOMS
 * 42, 2016).  It does not call log or cos, whose last digits differ between C libraries.
 *
 * Both builds compute the same doubles; the float build rounds them. */

#pragma once
#include <stdint.h>
#include "real.h"

BEGIN_C_DECLS

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53; standard normal. */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t n);
double random_normal(uint64_t seed, uint64_t stream, uint64_t n);

/* Fill `count` reals: uniform in [low, high), normal with this standard deviation, or whole numbers from -bound to
 * bound. */
void random_fill_uniform(real *a, size_t count, uint64_t seed, uint64_t stream, double low, double high);
void random_fill_normal(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation);
void random_fill_integers(real *a, size_t count, uint64_t seed, uint64_t stream, int bound);

/* Almost normal, in a fortieth of the time: sums of four uniforms of 16 bits, at most 2 sqrt(3) deviations from 0. */
void random_fill_sums(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation);

END_C_DECLS
