/* resample.h -- adaptive average pooling and bilinear interpolation, as in PyTorch
 *
 * Naive and fast forms share them.  Maps are tokens, [H][W][C], row-major. */

#pragma once
#include <stddef.h>
#include "real.h"

BEGIN_C_DECLS

/* mean [s][s][C] of x [H][W][C], as nn.AdaptiveAvgPool2d(s).  Along an axis of n tokens, cell i is the mean of tokens
 * floor(i n / s) to ceil((i + 1) n / s) - 1; cells may overlap.  Additions: H W C if s divides H and W, else more. */
void adaptive_mean(real *mean, const real *x, size_t H, size_t W, size_t C, size_t s);

/* The interpolation (1 - weight) x[low] + weight x[high]. */
struct tap {
    size_t low, high;
    real weight;
};

/* Point i of an axis that is resized from `from` to `to` points, as in F.interpolate (bilinear, align_corners = False).
 * Its position is (i + 1/2) from/to - 1/2; beyond the first and the last point it takes their values. */
struct tap bilinear_tap(size_t i, size_t from, size_t to);

struct small_map {
    const real *at;             /* [rows][columns][channels] */
    size_t rows, columns, channels;
};

/* The first `count` tokens of row `row` of a map that is interpolated to H x W.  y [count][channels], rows y_stride
 * apart.  3 multiplications for each number. */
static inline void bilinear_row(real *y, size_t y_stride, size_t count, const struct small_map *map,
                                size_t row, size_t H, size_t W)
{
    struct tap down = bilinear_tap(row, map->rows, H);
    for (size_t column = 0; column < count; column++) {
        struct tap across = bilinear_tap(column, map->columns, W);
        const real *upper = map->at + down.low * map->columns * map->channels;
        const real *lower = map->at + down.high * map->columns * map->channels;
        const real *upper_left = upper + across.low * map->channels, *upper_right = upper + across.high * map->channels;
        const real *lower_left = lower + across.low * map->channels, *lower_right = lower + across.high * map->channels;
        for (size_t c = 0; c < map->channels; c++) {
            real above = upper_left[c] + across.weight * (upper_right[c] - upper_left[c]);
            real below = lower_left[c] + across.weight * (lower_right[c] - lower_left[c]);
            y[column * y_stride + c] = above + down.weight * (below - above);
        }
    }
}

END_C_DECLS
