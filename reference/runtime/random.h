/* random.h -- numbers that depend on a seed and a place, and on nothing else
 *
 * The n-th number of a stream is a function of (seed, stream, n): no state, so
 * any thread may ask for any of them in any order, and every platform gives
 * the same.  Bits come from Philox4x32-10 (Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011); normal draws by
 * Karney's rejection from uniforms ("Sampling exactly from the normal
 * distribution", ACM TOMS 42, 2016), which compares and divides but never
 * calls log or cos, whose last digits differ between C libraries.
 *
 * The double and the float build draw the same doubles; float rounds them. */

#ifndef TWICETOLD_RANDOM_H
#define TWICETOLD_RANDOM_H

#include <stdint.h>
#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53; standard normal. */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t n);
double random_normal(uint64_t seed, uint64_t stream, uint64_t n);

/* count reals: uniform in [low, high), normal with this standard deviation,
 * or whole numbers from -bound to bound. */
void random_fill_uniform(real *a, size_t count, uint64_t seed, uint64_t stream, double low, double high);
void random_fill_normal(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation);
void random_fill_integers(real *a, size_t count, uint64_t seed, uint64_t stream, int bound);

#ifdef __cplusplus
}
#endif

#endif
