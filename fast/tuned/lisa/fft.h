/* fft.h -- FFTW, many complex signals on one grid at a time
 *
 *     out[o] = sum_i in[i] exp(-2 pi sqrt(-1) i.o),  i.o = sum of i_a o_a / size_a,
 *
 * in place, for signals side by side: points [P][signals][re, im].  Plans are
 * made by estimate and not by measurement, so that the same call gives the
 * same digits in every process.
 *
 * FFTW's planner is the one part of it that threads must not enter together.
 * Everything in this library that plans does so inside the OpenMP critical
 * section named fftw_planner, which excludes all threads of the process, whoever
 * made them; fft_run may be called by any number of them with the same plan. */

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

/* Plans for `signals` signals on a grid with these sizes of its axes, in the
 * place of those that f held.  points is an array such as fft_run will get; it is
 * not touched, and later ones must be as well aligned.  Fails when FFTW has no
 * memory. */
status fft_load(struct fft *f, int axes, const size_t *size, size_t signals, real *points);

/* Frees the plans; harmless on a zeroed or released one. */
void fft_release(struct fft *f);

/* Transforms in place; the inverse does not divide by the number of points. */
void fft_run(const struct fft *f, real *points, bool inverse);

#ifdef __cplusplus
}
#endif

#endif
