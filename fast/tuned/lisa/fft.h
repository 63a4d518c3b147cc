/* fft.h -- FFTW, many complex signals on one grid at a time
 *
 *     out[o] = sum_i in[i] exp(-2 pi sqrt(-1) i.o),  i.o = sum of i_a o_a / size_a,
 *
 * in place, for signals side by side: points [P][signals][re, im].  Plans are made by estimate, not by measurement, so
 * that the same call gives the same digits in every process.
 *
 * FFTW's planner is not safe for threads: everything in this library that plans does so inside the OpenMP critical
 * section fftw_planner.  fft_run may be called by any number of threads with the same plan. */

#ifndef TWICETOLD_FFT_H
#define TWICETOLD_FFT_H

#include <stdbool.h>
#include "../../../reference/runtime/grid.h"
#include "../../../reference/runtime/real.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fft {
    void *forward, *inverse;    /* FFTW's plans */
};

/* Plans for `signals` signals on a grid of these sizes, which replace those of f.  points is only an example: later
 * arrays must be as well aligned.  Fails if FFTW has no memory. */
status fft_load(struct fft *f, int axes, const size_t *size, size_t signals, real *points);

/* Frees the plans; harmless on a zeroed or released one. */
void fft_release(struct fft *f);

/* Transforms in place; the inverse does not divide by the number of points. */
void fft_run(const struct fft *f, real *points, bool inverse);

#ifdef __cplusplus
}
#endif

#endif
