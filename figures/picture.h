/* picture.h -- the image that the maps of the chapters are made of
 *
 * EDGE x EDGE pixels, each a token that sees its 3 x 3 neighbourhood. */

#ifndef TWICETOLD_PICTURE_H
#define TWICETOLD_PICTURE_H

#include <math.h>
#include "../reference/instruments/images.h"

enum { EDGE = 28, TOKENS = EDGE * EDGE, SEEN = 9 };

/* pixels [EDGE][EDGE] of one image of the data set, or without it a disc, which
 * has edges of all directions; where they are from. */
static inline status picture(real *pixels, size_t number, const char **origin)
{
    struct image_set set;
    status s = image_set_open(&set, IMAGES_DEFAULT);
    *origin = "Fashion-MNIST (test)";
    if (!s.code) {
        if (set.rows != EDGE || set.columns != EDGE) s = bad_input("found images of %zu x %zu", set.rows, set.columns);
        if (!s.code) s = image_set_read(pixels, &set, number, 1);
        image_set_close(&set);
        return s;
    }
    *origin = "a disc, for want of the data set";
    for (size_t i = 0; i < TOKENS; i++) pixels[i] = hypot((double)(i / EDGE) - 13.5, (double)(i % EDGE) - 13.5) < 9;
    return status_ok();
}

/* x [TOKENS][SEEN], rows `stride` apart: the neighbourhood less the image's
 * mean, zero pixels outside. */
static inline void picture_see(real *x, size_t stride, const real *pixels)
{
    double mean = 0;
    for (size_t i = 0; i < TOKENS; i++) mean += (double)pixels[i] / TOKENS;
    for (size_t i = 0; i < TOKENS; i++)
        for (size_t m = 0; m < SEEN; m++) {
            size_t row = i / EDGE + m / 3, column = i % EDGE + m % 3;       /* one more than the pixel's */
            bool inside = row >= 1 && row <= EDGE && column >= 1 && column <= EDGE;
            x[i * stride + m] = (real)((inside ? (double)pixels[(row - 1) * EDGE + column - 1] : 0) - mean);
        }
}

#endif
