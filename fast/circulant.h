/* circulant.h -- a sum over tokens as a circular convolution
 *
 *     G_i = sum_n k_n f_{i-n}
 *
 * The offset i - n either wraps around the grid (LiSA, Eq. 10: f has one entry per token), or does not (Eq. 4-7: f has
 * one entry per offset j - i, an offset table of grid.h; local kernels: one per entry of a window).
 *
 * The sum is laid on a circle per axis, where it is one product of spectra.  If f wraps, a circle of n points serves an
 * axis of n tokens.  Otherwise it needs 2n - 1 points or more, so that no two offsets meet: a Toeplitz matrix is a
 * corner of a circulant one.  Where f reaches r tokens, n + r points are enough.  This holds for an f that wraps, too,
 * if it is laid out for every offset -(n-1) ... n-1; so an axis of awkward length may move to a larger circle. */

#ifndef TWICETOLD_CIRCULANT_H
#define TWICETOLD_CIRCULANT_H

#include <stdbool.h>
#include <stdint.h>
#include "../reference/lisa.h"

#ifdef __cplusplus
extern "C" {
#endif

struct circulant {
    grid tokens;
    grid window;                /* of f; without axes where it has entries for the whole grid */
    bool wraps;                 /* whether f does */
    size_t reach[GRID_AXES];    /* the furthest two tokens that an entry is for, at most n - 1 */
    size_t size[GRID_AXES];     /* points of the circles; 1 beyond the last axis */
    size_t points;              /* their product */
};

/* The circles for this grid, and a window if it has axes.  Sizes beyond those of the grid, and in `smooth_only` all,
 * are products of 2, 3, 5 and 7.  Rejected: more than INT_MAX points. */
status circulant_create(struct circulant *circle, const grid *tokens, const grid *window, bool wraps, bool smooth_only);

/* Which entry of f belongs at this point of the circle, both row-major;
 * NO_ENTRY where none does and f is to be zero. */
#define NO_ENTRY SIZE_MAX
size_t circulant_entry(const struct circulant *circle, size_t point);

/* The point of the circle, row-major, where token n lies. */
size_t circulant_place(const struct circulant *circle, size_t n);

/* Multiply-adds of LiSA on such circles with projections; NaN if they are rejected.  A complex transform of P points is
 * 5 P log2 P operations, half as many multiply-adds; a complex product 4.  A head transforms its c keys and c values
 * there and, for every two latents, back; in Eq. 4 its c values there and back for every two channels of the query. */
double circulant_multiply_adds(const struct lisa_problem *p, bool smooth_only);

/* Whether n has no prime factor beyond 7. */
bool smooth(size_t n);

#ifdef __cplusplus
}
#endif

#endif
