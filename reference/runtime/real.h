/* real.h -- the number type of the whole library, chosen once per build
 *
 * real is float, or double where TWICETOLD_DOUBLE is defined.  Everything is
 * built twice from the same sources: double shows that two forms are the same
 * algebra, float shows what one lives with.
 *
 * Mathematics goes through <tgmath.h>, so that sqrt(x) of a real is sqrtf or
 * sqrt without a second spelling; BLAS and FFTW names go through the two
 * macros below. */

#ifndef TWICETOLD_REAL_H
#define TWICETOLD_REAL_H

#include <float.h>
#include <stddef.h>

#ifdef COUNTING_REAL            /* a class in its place: tests/support/counting.h, which counts, or tests/exact/field.h */
#include COUNTING_REAL
#elif defined TWICETOLD_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* For the few numbers that are made once and not in bulk: at least double, so that float
 * loses nothing in between.  A real that is no floating-point number is its own. */
#ifdef COUNTING_REAL
typedef real wide_real;
#else
typedef double wide_real;
#endif

#ifdef TWICETOLD_DOUBLE
#define REAL_NAME "double"
#define REAL_EPSILON DBL_EPSILON        /* the gap above 1; the unit roundoff is half of it */
#define REAL_MAX DBL_MAX
#define BLAS(name) cblas_d##name        /* BLAS(gemm) */
#define FFTW(name) fftw_##name          /* FFTW(plan) */
#else
#define REAL_NAME "float"
#define REAL_EPSILON FLT_EPSILON
#define REAL_MAX FLT_MAX
#define BLAS(name) cblas_s##name
#define FFTW(name) fftwf_##name
#endif

#endif
