/* kernels.h -- the spectra of LiSA's kernels, computed when a plan is loaded
 *
 * Latents d and d + 1 are one complex kernel; if D is odd, the last imaginary part is zero.  In Eq. 4 a table is one
 * real kernel.  A block is up to LANES channels of one head; a point is L real and L imaginary parts (vec.h). */

#pragma once
#include "vec_grid.h"

struct lisa_kernels {
    size_t blocks;              /* of channels in a head */
    size_t pairs;               /* of latents; in Eq. 4, of query channels in a head */
    size_t tables;              /* of the value: one per pair; in Eq. 4, the RPE tables */
    real *key;                  /* [blocks][pairs][points] points; Eq. 5: [pairs][points][re, im]; Eq. 4: NULL */
    real *value;                /* [tables][points][re, im], shared by all channels */
    real *key_bias, *value_bias;        /* [blocks][pairs] points */
    int threads;                /* that load uses */
    real *field, *line;         /* only during load, for each thread: vec_grid.h */
    real *spectrum;             /* only during load */
};

/* load needs a loaded grid. */
void lisa_kernels_prepare(struct lisa_kernels *k, struct arena *arena, const struct lisa_problem *p,
                          const struct vec_grid *g);
void lisa_kernels_load(struct lisa_kernels *k, const struct lisa_problem *p, const struct vec_grid *g);
