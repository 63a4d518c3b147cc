/* regrid.h -- kernels and tables for another grid
 *
 * Some parameters have an entry for each token, or for each offset between two tokens.  A model
 * that was trained on one grid can run on another one if these are resampled.
 *
 * LiSA's circular kernels have two rules, since its appendix B allows two readings.  Both keep
 * the sum of a kernel, so a constant image gives the same answer on both grids.
 *
 *     zeros      The spectrum keeps its bins and gets zeros at new, higher frequencies.  The
 *                kernel is stretched with the image: twice the tokens, twice as wide.  On an
 *                axis of even size n, half of bin n/2 goes to +n/2 and half to -n/2.
 *     spectrum   The half spectrum of rfftn is interpolated along the index of its bins by the
 *                cubic rule below with aligned corners.  The kernel keeps its width in tokens.
 *                The public code of the global filter layer (GFNet) does this with its filters.
 *                The last axis holds frequencies 0 to n/2, which aligned corners map onto each
 *                other.  Other axes hold both signs, as the FFT orders them, and there the rule
 *                moves negative frequencies a little: a symmetric kernel becomes slightly skew.
 *
 * Tables that are read without a Fourier transform have one rule:
 *
 *     bicubic    Cubic interpolation along each axis, as F.interpolate(mode="bicubic",
 *                align_corners=False) without antialiasing: a = -0.75, the outermost entries
 *                repeated beyond the border.  Position tables have an entry for each token, an
 *                RPE one for each offset (2n - 1 along an axis).
 *
 * Every rule is one matrix for each axis; the result is the real part of their product with the
 * table.  They are computed in double by direct sums: entries x new size of an axis. */

#ifndef TWICETOLD_REGRID_H
#define TWICETOLD_REGRID_H

#include "../runtime/grid.h"
#include "../runtime/real.h"
#include "../runtime/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum regrid_rule { REGRID_ZEROS, REGRID_SPECTRUM, REGRID_BICUBIC };

/* y [outer][to][inner] of x [outer][from][inner], where from and to are the products of the sizes of each axis.
 * STATUS_BAD_INPUT for a size of 0, and if REGRID_ZEROS has to shrink an axis.  STATUS_FAILURE if memory is out. */
status regrid(real *y, const real *x, size_t outer, const size_t from[GRID_AXES], const size_t to[GRID_AXES],
              size_t inner, enum regrid_rule rule);

#ifdef __cplusplus
}
#endif

#endif
