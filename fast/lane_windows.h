/* lane_windows.h -- attention within small windows, LANES windows at a time
 *
 * Windows of so few tokens fill no vector: here lane l works for window l, and
 * no lane looks at another.  Rows are read where the projection left them,
 * turned into lanes, and turned back into the rows of y.
 *
 *     y_t = sum_u softmax_u(scale q_t . k_u) v_u,   t, u tokens of one window
 *
 * Multiply-adds: 2 tokens^2 channels a window.  NaN stays in its window. */

#ifndef TWICETOLD_LANE_WINDOWS_H
#define TWICETOLD_LANE_WINDOWS_H

#include <stdbool.h>
#include "lanes.h"

/* The largest windows that are told so, s x s tokens. */
enum { LANE_WINDOWS_EDGE = 3 };

struct lane_windows {
    size_t s, channels;         /* 2 <= s <= LANE_WINDOWS_EDGE */
    real scale;
    const real **row;           /* [s^2][LANES]: the query of token t of window l */
    size_t apart;               /* reals from a query to its key, and from there to its value */
    real **y;                   /* [s^2][LANES]: where its output goes; NULL: nowhere */
};

/* On the calling thread; workspace is the caller's, aligned to 64 bytes. */
void lane_windows_attend(const struct lane_windows *w, real *workspace);

/* *reals = what that takes; false where it overflows. */
bool lane_windows_workspace(size_t *reals, size_t s, size_t channels);

#endif
