/* circulant.h -- a sum over tokens as a circular convolution
 *
 *     G_i = sum_n k_n f_{i-n}
 *
 * The offset i - n either wraps around the grid (LiSA, Eq. 10: f has one entry per token), or does not (Eq. 4-7: f has
 * one entry per offset j - i, an offset table of grid.h; local kernels: one per entry of a window).
 *
 * Each axis becomes a circle, on which the sum is a product of spectra.  If f wraps, an axis of n tokens needs a circle
 * of n points.  If it does not, the circle needs at least 2n - 1 points, so that no two offsets share a point: a
 * Toeplitz matrix is a corner of a circulant one.  If f reaches only r tokens far, n + r points are enough.
 *
 * An f that wraps may use the larger circle, too, if it is laid out for every offset -(n-1) ... n-1.  This serves axes
 * whose length has a large prime factor. */

#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "../reference/lisa.h"

BEGIN_C_DECLS

struct circulant {
    grid tokens;
    grid window;                /* of f; no axes if f has entries for the whole grid */
    bool wraps;
    size_t reach[GRID_AXES];    /* the largest distance along an axis for which f has an entry, at most n - 1 */
    size_t size[GRID_AXES];     /* points of the circles; 1 beyond the last axis */
    size_t points;              /* their product */
};

/* The circles for this grid, and for a window if it has axes.  Sizes that differ from the grid's are products of 2, 3,
 * 5 and 7; with smooth_only all sizes are.  More than INT_MAX points are an error. */
status circulant_create(struct circulant *circle, const grid *tokens, const grid *window, bool wraps, bool smooth_only);

/* The entry of f for this point of the circles, both row-major; NO_ENTRY if f is zero there. */
#define NO_ENTRY SIZE_MAX
size_t circulant_entry(const struct circulant *circle, size_t point);

/* The point of the circles, row-major, of token n. */
size_t circulant_place(const struct circulant *circle, size_t n);

/* Multiply-adds of LiSA on these circles, with projections; NaN if circulant_create fails.  A complex transform of P
 * points is 5 P log2 P operations, or half as many multiply-adds; a complex product is 4.  A head transforms the c
 * channels of key and value forward once, and back for every two latents.  In Eq. 4 it transforms those of the value
 * forward and back for every two channels of the query. */
double circulant_multiply_adds(const struct lisa_problem *p, bool smooth_only);

/* True if n has no prime factor above 7. */
bool smooth(size_t n);

END_C_DECLS
