/* lisa.c -- LiSA's fast form, and its variants as forms of their own
 *
 * Variant 1, lisa_fftw.c, is the one to read first.  Variant 2, lisa_lanes.c, is
 * the fast form: where an axis of the grid is not a product of 2, 3, 5 and 7
 * it moves to a larger circle, and is still ahead of FFTW on the axis itself.
 *
 * Contract: reference/lisa.h. */

#include "lisa_fftw.h"
#include "lisa_lanes.h"
#include "../reference/heads.h"
#include "../reference/lisa.h"

/* (multiply-adds) */

const struct form lisa_fast = {
    .name = "fast", .prepare = lisa_lanes_prepare, .run = lisa_lanes_run, .release = lisa_lanes_release,
};

const struct form lisa_fftw = {
    .name = "fftw", .prepare = lisa_fftw_prepare, .run = lisa_fftw_run, .release = lisa_fftw_release,
};
