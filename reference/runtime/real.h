/* real.h -- the number type of the library: float, or double if TWICETOLD_DOUBLE is defined
 *
 * The same sources are compiled for both.  In double, tests show that two forms are the same algebra.
 *
 * Sources include <tgmath.h>, so that sqrt(x) is sqrtf or sqrt.  Names of BLAS and FFTW go through two macros. */

#pragma once
#include <float.h>
#include <stddef.h>
#include "linkage.h"

#ifdef COUNTING_REAL            /* a header that defines it as a class: tests/support/counting.h, tests/exact/field.h */
#include COUNTING_REAL
#elif defined TWICETOLD_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* The type of numbers that need the precision of double in the float build, too.  If real is a class: that class. */
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
