/* kernels.h -- the spectra of LiSA's kernels, computed once, when a plan is loaded
 *
 * Two latents d, d+1 are one complex kernel (of Eq. 4, one table is one real kernel); a last latent without a partner
 * gets zeros.  A block is up to LANES channels of one head; a point is L real and L imaginary parts (vec.h). */

#ifndef TWICETOLD_LISA_KERNELS_H
#define TWICETOLD_LISA_KERNELS_H

#include "vec_grid.h"

struct lisa_kernels {
    size_t blocks;              /* of channels in a head */
    size_t pairs;               /* of latents; in Eq. 4, of query channels in a head */
    size_t tables;              /* of the value: one for each pair; in Eq. 4, the RPEs */
    real *key;                  /* [blocks][pairs][points] points; Eq. 5: [pairs][points][re, im]; Eq. 4: NULL */
    real *value;                /* [tables][points][re, im], one for all channels */
    real *key_bias, *value_bias;        /* [blocks][pairs] points */
    real *field, *spectrum, *line;      /* room for load alone */
};

/* Asks for them; fills them, from parameters and a loaded grid. */
void lisa_kernels_prepare(struct lisa_kernels *k, struct arena *arena, const struct lisa_problem *p,
                          const struct vec_grid *g);
void lisa_kernels_load(struct lisa_kernels *k, const struct lisa_problem *p, const struct vec_grid *g);

#endif
