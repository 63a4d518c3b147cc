/* resample.h -- maps made smaller by averaging and larger by interpolation,
 * by PyTorch's rules
 *
 * Both are plain steps that are nobody's subject.  Maps are tokens, [H][W][C],
 * row-major; nothing here fails or allocates. */

#ifndef TWICETOLD_RESAMPLE_H
#define TWICETOLD_RESAMPLE_H

#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mean [s][s][C] of x [H][W][C], as nn.AdaptiveAvgPool2d(s): cell i of an axis
 * of n tokens averages tokens floor(i n / s) to ceil((i + 1) n / s) - 1.  Cells
 * may share tokens.  Additions: about H W C. */
void adaptive_mean(real *mean, const real *x, size_t H, size_t W, size_t C, size_t s);

/* A point between two others: (1 - weight) low + weight high. */
struct tap {
    size_t low, high;
    real weight;
};

/* Where point i of `to` on an axis lies among `from`, as F.interpolate in
 * bilinear mode with align_corners = False: at (i + 1/2) from/to - 1/2, and the
 * outermost points held beyond the border. */
struct tap bilinear_tap(size_t i, size_t from, size_t to);

#ifdef __cplusplus
}
#endif

#endif
