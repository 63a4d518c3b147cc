/* lisa_lanes.h -- variant 2 of LiSA's fast form: own FFTs, channels in the lanes
 *
 * See lisa_lanes.c for what it does and how it fared.  A block is up to LANES
 * channels of one head, a pair two latents; a point is L real and L imaginary
 * parts (lanes.h). */

#ifndef TWICETOLD_LISA_LANES_H
#define TWICETOLD_LISA_LANES_H

#include "lane_grid.h"
#include "../reference/operator.h"

struct lisa_lanes {
    size_t images, tokens, channels, heads, head_channels, latents;     /* B N C h c D */
    size_t equation;            /* 4, 5, 6, 7 or 10 */
    size_t blocks;              /* of channels in a head */
    size_t pairs;               /* of latents; in Eq. 4, of query channels in a head */
    size_t tables;              /* of the value: one for each pair; in Eq. 4, the RPEs */
    size_t chunk;               /* images that are taken together */
    size_t threads;
    struct lane_grid grid;

    real *key_kernels;          /* [blocks][pairs][points] points; Eq. 5: [pairs][points][re, im]; Eq. 4: NULL */
    real *value_kernels;        /* [tables][points][re, im], one for all channels */
    real *key_bias, *value_bias;        /* [blocks][pairs] points */

    size_t a_row;               /* reals of a row: N, and room for a vector behind it */
    real *a;                    /* [chunk][heads][2 pairs][a_row]; in Eq. 4 the query, channel by channel */
    real *keys;                 /* in Eq. 4 the key likewise, else NULL */
    real *spectra;              /* [chunk][heads][blocks][half] points */
    real *scratch;              /* [threads][scratch_reals] */
    size_t scratch_reals;
};

/* The three steps of a form, for every equation and every grid. */
status lisa_lanes_prepare(struct plan *plan);
status lisa_lanes_run(struct plan *plan, real *y, const real *x);
void lisa_lanes_release(struct plan *plan);

/* Fills key_kernels, value_kernels and both biases; sizes and grid are there. */
status lisa_lanes_kernels(struct lisa_lanes *l, const struct problem *p, const struct circulant *circle);

#endif
