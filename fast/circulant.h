/* circulant.h -- a sum over tokens as a circular convolution
 *
 *     G_i = sum_n k_n f_{i-n}
 *
 * where the offset i - n either wraps around the grid (LiSA, Eq. 10: f has
 * one entry per token), or does not (Eq. 4-7: f has one entry per offset
 * j - i, an offset table of grid.h).  An offset that does not wrap is brought
 * into a larger circle of at least 2 axis - 1 points per axis, on which it
 * cannot meet itself: a Toeplitz matrix is a corner of a circulant one.
 *
 * Both are then one product of spectra on the circle. */

#ifndef TWICETOLD_CIRCULANT_H
#define TWICETOLD_CIRCULANT_H

#include <stdbool.h>
#include "../reference/grid.h"

struct circulant {
    grid tokens;
    bool wraps;
    size_t size[GRID_AXES];     /* points of the circle per axis; 1 beyond the last axis */
    size_t points;              /* their product */
    size_t entries;             /* of f: N, or P */
};

/* The circle for this grid; where offsets do not wrap, each of its axes is the
 * smallest product of 2, 3, 5 and 7 that is large enough.  Refused: more than
 * INT_MAX points. */
status circulant_create(struct circulant *circle, const grid *tokens, bool wraps);

/* Where on the circle, row-major, entry number `entry` of f lies. */
size_t circulant_place(const struct circulant *circle, size_t entry);

/* Whether n has no prime factor beyond 7. */
bool smooth(size_t n);

#endif
