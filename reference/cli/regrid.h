/* regrid.h -- kernels and tables for another grid
 *
 * Parameters with an entry for each token, or each offset between two, are resampled.  For LiSA's circular kernels
 * there are two rules, because its appendix B allows two readings.  Both preserve the sum of a kernel.
 *
 *     zeros      The spectrum keeps its bins and gets zeros at new, higher frequencies: the kernel is stretched with
 *                the image.  On an axis of even size n, half of bin n/2 goes to +n/2 and half to -n/2.
 *     spectrum   The half spectrum of rfftn is interpolated along the index of its bins by the cubic rule with aligned
 *                corners, as GFNet does with its filters: the kernel keeps its width in tokens.  On all axes but the
 *                last, negative frequencies move a little: a symmetric kernel becomes slightly skew.
 *     bicubic    For tables that are read without a transform: F.interpolate(mode="bicubic", align_corners=False)
 *                without antialiasing, a = -0.75, the outermost entries repeated beyond the border.
 *
 * Every rule is one matrix for each axis; the result is the real part of their product with the table, computed in
 * double by direct sums.  An axis takes entries x new size multiply-adds. */

#pragma once
#include "../runtime/grid.h"
#include "../runtime/real.h"
#include "../runtime/status.h"

BEGIN_C_DECLS

enum regrid_rule { REGRID_ZEROS, REGRID_SPECTRUM, REGRID_BICUBIC };

/* y [outer][to][inner] from x [outer][from][inner], where from and to are products of the sizes of all axes.  Bad
 * input: a size of 0, or an axis that REGRID_ZEROS would shrink.  Fails if memory is exhausted. */
status regrid(real *y, const real *x, size_t outer, const size_t from[GRID_AXES], const size_t to[GRID_AXES],
              size_t inner, enum regrid_rule rule);

END_C_DECLS
