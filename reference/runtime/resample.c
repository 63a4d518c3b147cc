/* resample.c -- adaptive average pooling and bilinear interpolation; see resample.h */

#include "resample.h"

void adaptive_mean(real *mean, const real *x, size_t H, size_t W, size_t C, size_t s)
{
    for (size_t i = 0; i < s; i++)
        for (size_t j = 0; j < s; j++) {
            size_t top = i * H / s, bottom = ((i + 1) * H + s - 1) / s;
            size_t left = j * W / s, right = ((j + 1) * W + s - 1) / s;
            real *cell = mean + (i * s + j) * C, count = (real)((bottom - top) * (right - left));

            for (size_t c = 0; c < C; c++) cell[c] = 0;
            for (size_t y = top; y < bottom; y++)
                for (size_t at = left; at < right; at++)
                    for (size_t c = 0; c < C; c++) cell[c] += x[(y * W + at) * C + c];
            for (size_t c = 0; c < C; c++) cell[c] /= count;
        }
}

struct tap bilinear_tap(size_t i, size_t from, size_t to)
{
    double at = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    if (at < 0) at = 0;
    size_t low = (size_t)at < from ? (size_t)at : from - 1;
    return (struct tap){low, low + 1 < from ? low + 1 : low, (real)(at - (double)low)};
}
