/* fft.h -- FFTW: transforms of several complex signals on one grid
 *
 *     out[o] = sum_i in[i] exp(-2 pi sqrt(-1) i.o),  i.o = sum of i_a o_a / size_a,
 *
 * in place; points [P][signals][re, im].  Plans use FFTW_ESTIMATE, not measurement, so that results have the same bits
 * in every process.
 *
 * FFTW's planner is not thread-safe: calls to it are inside the OpenMP critical section fftw_planner.  Several threads
 * may call fft_run with the same plan. */

#pragma once
#include <stdbool.h>
#include "../../../reference/runtime/grid.h"
#include "../../../reference/runtime/real.h"

BEGIN_C_DECLS

struct fft {
    void *forward, *inverse;    /* FFTW's plans */
};

/* Replaces the plans of f.  points only shows the alignment, which later arrays must have, too.  Fails if FFTW has no
 * memory. */
status fft_load(struct fft *f, int axes, const size_t *size, size_t signals, real *points);

/* Frees the plans.  f may be zeroed or already released. */
void fft_release(struct fft *f);

/* Transforms in place; the inverse does not divide by the number of points. */
void fft_run(const struct fft *f, real *points, bool inverse);

END_C_DECLS
