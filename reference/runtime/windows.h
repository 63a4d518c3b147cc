/* windows.h -- a plane of tokens cut into windows
 *
 * Windows are squares of edge x edge tokens that do not overlap; they and their entries are numbered row-major.  If
 * they do not tile the plane, the last windows extend beyond it at the bottom and on the right; those entries are
 * padding.  With edge 0 there is one window, the whole grid, of 1, 2 or 3 axes.
 *
 * Windows that tile the plane may be shifted (Liu et al., "Swin Transformer", 2021).  The plane is rolled by -shift on
 * both axes before it is cut, so entry 0 of window 0 is the token (shift, shift).  The last windows of a row or column
 * then join tokens from opposite borders of the plane, which are not neighbours.  The seam between them cuts a window
 * into two regions, two seams cut it into four.  A region is a box of entries, and its tokens are a box of the
 * plane. */

#pragma once
#include <stdint.h>
#include "grid.h"

BEGIN_C_DECLS

#define WINDOW_PADDING SIZE_MAX

struct windows {
    struct grid grid;
    size_t edge;                /* 0: the whole grid */
    size_t rows, columns;       /* of windows */
    size_t count, entries;      /* rows * columns; entries of a window, with padding */
    size_t shift;               /* 0: not shifted */
};

/* A box of a window's entries. */
struct window_region {
    size_t top, left, rows, columns;
};

/* Bad input if edge is not 0 and the grid is not a plane, or if there are more than INT_MAX entries with padding. */
status windows_create(struct windows *w, const grid *tokens, size_t edge);

/* Bad input if a shift above 0 is not smaller than the edge, or if its windows do not tile the plane. */
status windows_shift(struct windows *w, size_t shift);

/* The token at an entry of a window, or WINDOW_PADDING. */
size_t windows_token(const struct windows *w, size_t window, size_t entry);

/* The window of a token, and its entry there. */
size_t windows_of(const struct windows *w, size_t token);
size_t windows_entry(const struct windows *w, size_t token);

/* The number of regions of a window (1, 2 or 4; 1 without shift), a region, and the region of an entry. */
size_t windows_regions(const struct windows *w, size_t window);
struct window_region windows_region(const struct windows *w, size_t window, size_t region);
size_t windows_region_of(const struct windows *w, size_t window, size_t entry);

/* The number of pairs of entries in the same region, in all windows, with padding. */
double windows_pairs(const struct windows *w);

END_C_DECLS
