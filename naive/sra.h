/* sra.h -- the core of spatial-reduction attention's naive form.  Contract: reference/sra.h. */

#pragma once
#include "../reference/sra.h"

/* reduced [M][C], before the norm, from one image x [N][C]. */
void sra_naive_convolve(real *reduced, const real *x, const struct sra_problem *p);
