/* lisa_fftw.h -- variant 1 of LiSA's fast form: FFTW
 *
 * See lisa_fftw.c for what it does and how it fared. */

#ifndef TWICETOLD_LISA_FFTW_H
#define TWICETOLD_LISA_FFTW_H

#include "../reference/operator.h"

/* The three steps of a form, for every equation and every grid. */
status lisa_fftw_prepare(struct plan *plan);
status lisa_fftw_run(struct plan *plan, real *y, const real *x);
void lisa_fftw_release(struct plan *plan);

#endif
