/* window_attention.h -- attention within small windows, LANES windows at a time
 *
 *     y_t = sum_u softmax_u(scale q_t . k_u) v_u,   t, u tokens of one window
 *
 * Windows of so few tokens fill no vector: here lane l works for window l.  Rows are read where the projection left
 * them, transposed into lanes, and transposed back into the rows of y.
 *
 * Multiply-adds: 2 tokens^2 channels for each window.  NaN stays in its window. */

#ifndef TWICETOLD_WINDOW_ATTENTION_H
#define TWICETOLD_WINDOW_ATTENTION_H

#include "../../../reference/runtime/heads.h"
#include "../../../reference/runtime/windows.h"
#include "../vec.h"

/* The largest windows that are computed so, of s x s tokens; at least 2 x 2. */
enum { WINDOW_ATTENTION_EDGE = 3 };

/* Parts of a head. */
static inline size_t window_attention_parts(const struct windows *w) { return (w->count + LANES - 1) / LANES; }

/* Of each thread: s^2 (3 channels + s^2) vectors. */
void window_attention_prepare(struct arena *arena, real **workspace, size_t s, size_t channels);

/* Windows LANES one->part ... of a head.  The row `padding` is the query of a token of the padding, whose key and value
 * are as far behind it as any token's. */
void window_attention(const struct head *head, const struct windows *windows, const real *padding,
                      real scale, size_t channels, real *workspace);

#endif
