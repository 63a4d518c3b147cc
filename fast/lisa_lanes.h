/* lisa_lanes.h -- variant 2 of LiSA's fast form: own FFTs, channels in the lanes
 *
 * See lisa_lanes.c for what it does and how it fared, lisa.c for the choice
 * between the variants. */

#ifndef TWICETOLD_LISA_LANES_H
#define TWICETOLD_LISA_LANES_H

#include "circulant.h"
#include "../reference/operator.h"

/* The three steps of a form.  Requires: Eq. 5, 6, 7 or 10, and a circle that
 * lane_grid_fits. */
status lisa_lanes_prepare(struct plan *plan, const struct circulant *circle);
status lisa_lanes_run(struct plan *plan, real *y, const real *x);
void lisa_lanes_release(struct plan *plan);

#endif
