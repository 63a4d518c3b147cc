/* meeting.h -- which tokens meet on the device: windows of a grid, and offsets in it
 *
 * What reference/runtime/windows.h and grid.h say, in numbers that a kernel takes by value.
 * Without windows all tokens are one. */

#ifndef TWICETOLD_FAST_CUDA_MEETING_H
#define TWICETOLD_FAST_CUDA_MEETING_H

#include "../../reference/runtime/windows.h"
#include "device.h"

struct meeting {
    int tokens, windows, entries;       /* of the grid; of them; of one window */
    int edge, across;                   /* of a window, 0 for the whole grid; windows in a row */
    int rows, columns;                  /* the last two axes of the grid */
    int middle;                         /* of the offset table: the entry of an offset of 0 */
    int shift;                          /* of the windows, 0 where they are not shifted */
};

static inline struct meeting meeting_of(const struct windows *w)
{
    const grid *g = &w->tokens;
    struct meeting m = {(int)g->tokens, (int)w->count, (int)w->entries, (int)w->edge, (int)w->columns, 1, 1,
                        (int)(g->offsets / 2), (int)w->shift};
    if (g->axes > 1) m.rows = (int)g->size[g->axes - 2];
    m.columns = (int)g->size[g->axes - 1];
    return m;
}

/* The token at an entry of a window; shifted windows are cut from the rolled plane. */
__device__ inline int meeting_token(const struct meeting &m, int window, int entry)
{
    if (!m.edge) return entry;
    int y = window / m.across * m.edge + entry / m.edge, x = window % m.across * m.edge + entry % m.edge;
    if (m.shift) {
        y = (y + m.shift) % m.rows;
        x = (x + m.shift) % m.columns;
    }
    return y * m.columns + x;
}

/* The window that a token lies in, and its entry there. */
__device__ inline int meeting_window(const struct meeting &m, int token)
{
    if (!m.edge) return 0;
    int y = (token / m.columns + m.rows - m.shift) % m.rows, x = (token % m.columns + m.columns - m.shift) % m.columns;
    return y / m.edge * m.across + x / m.edge;
}

__device__ inline int meeting_entry(const struct meeting &m, int token)
{
    if (!m.edge) return token;
    int y = (token / m.columns + m.rows - m.shift) % m.rows, x = (token % m.columns + m.columns - m.shift) % m.columns;
    return y % m.edge * m.edge + x % m.edge;
}

/* The side of the seam that an entry lies on: those of different sides do not meet. */
__device__ inline int meeting_side(const struct meeting &m, int window, int entry)
{
    if (!m.shift) return 0;
    bool last_row = window / m.across == m.windows / m.across - 1, last_column = window % m.across == m.across - 1;
    bool below = last_row && entry / m.edge >= m.edge - m.shift;
    bool beside = last_column && entry % m.edge >= m.edge - m.shift;
    return 2 * below + beside;
}

/* Where the offset table holds the pair of query i and key j: offsets of an axis of n
 * points have 2n - 1 places. */
__device__ inline int meeting_offset(const struct meeting &m, int i, int j)
{
    int plane = m.rows * m.columns;
    int t = j / plane - i / plane, y = j % plane / m.columns - i % plane / m.columns, x = j % m.columns - i % m.columns;
    return m.middle + (t * (2 * m.rows - 1) + y) * (2 * m.columns - 1) + x;
}

#endif
