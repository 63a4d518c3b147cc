/* windows.h -- a plane of tokens cut into windows
 *
 * Windows are squares of edge x edge tokens that do not overlap, counted
 * row-major; so are the entries of a window.  Where they do not tile the plane
 * the last ones reach beyond it at the bottom and on the right: those entries
 * are padding.  An edge of 0 makes one window of the whole grid, of 1, 2 or 3
 * axes.
 *
 * Windows that tile the plane may be shifted (Liu et al., "Swin Transformer",
 * 2021): the plane is rolled by -shift on both axes before it is cut, so that
 * entry 0 of window 0 is the token (shift, shift).  What was rolled past the edge
 * lies in the last windows of a row or column, behind a seam: its neighbours there
 * are not its neighbours on the plane.  A seam cuts a window into two sides, two
 * seams into four.  A side is a box of entries whose tokens are a box of the
 * plane. */

#ifndef TWICETOLD_WINDOWS_H
#define TWICETOLD_WINDOWS_H

#include <stdint.h>
#include "grid.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WINDOW_PADDING SIZE_MAX

struct windows {
    struct grid grid;
    size_t edge;                /* 0 for the whole grid */
    size_t rows, columns;       /* of windows */
    size_t count, entries;      /* rows columns; tokens of a window, padding and all */
    size_t shift;               /* 0 for windows that are not shifted */
};

/* A box of a window's entries. */
struct window_region {
    size_t top, left, rows, columns;
};

/* Refused: windows on other grids than planes, and more than INT_MAX tokens,
 * padding and all. */
status windows_create(struct windows *w, const grid *tokens, size_t edge);

/* Shifts them.  Refused: a shift that is no smaller than the edge, and windows
 * that do not tile the plane. */
status windows_shift(struct windows *w, size_t shift);

/* The token at an entry of a window, or WINDOW_PADDING. */
size_t windows_token(const struct windows *w, size_t window, size_t entry);

/* The window that a token lies in, and its entry there. */
size_t windows_of(const struct windows *w, size_t token);
size_t windows_entry(const struct windows *w, size_t token);

/* How many sides a window has, 1, 2 or 4, and the box of each; the side that an
 * entry lies on.  Windows of the whole grid and windows with padding have one. */
size_t windows_regions(const struct windows *w, size_t window);
struct window_region windows_region(const struct windows *w, size_t window, size_t side);
size_t windows_region_of(const struct windows *w, size_t window, size_t entry);

/* Pairs of entries on the same side, of all windows, padding and all. */
double windows_pairs(const struct windows *w);

#ifdef __cplusplus
}
#endif

#endif
