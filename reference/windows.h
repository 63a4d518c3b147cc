/* windows.h -- a plane of tokens cut into windows
 *
 * Windows are squares of edge x edge tokens that do not overlap, counted
 * row-major; so are the entries of a window.  Where they do not tile the plane
 * the last ones reach beyond it at the bottom and on the right: those entries
 * are padding.  An edge of 0 makes one window of the whole grid, of 1, 2 or 3
 * axes. */

#ifndef TWICETOLD_WINDOWS_H
#define TWICETOLD_WINDOWS_H

#include <stdint.h>
#include "grid.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WINDOW_PADDING SIZE_MAX

struct windows {
    grid tokens;
    size_t edge;                /* 0 for the whole grid */
    size_t rows, columns;       /* of windows */
    size_t count, entries;      /* rows columns; tokens of a window, padding and all */
};

/* Refused: windows on other grids than planes, and more than INT_MAX tokens,
 * padding and all. */
status windows_create(struct windows *w, const grid *tokens, size_t edge);

/* The token at an entry of a window, or WINDOW_PADDING. */
size_t windows_token(const struct windows *w, size_t window, size_t entry);

/* The window that a token lies in, and its entry there. */
size_t windows_of(const struct windows *w, size_t token);
size_t windows_entry(const struct windows *w, size_t token);

#ifdef __cplusplus
}
#endif

#endif
