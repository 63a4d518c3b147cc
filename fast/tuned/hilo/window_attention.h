/* window_attention.h -- attention within small windows, LANES windows at a time
 *
 *     y_t = sum_u softmax_u(scale q_t . k_u) v_u,   t, u tokens of one window
 *
 * Windows of so few tokens do not fill a vector, so lane l computes window l.  Rows are transposed into lanes, and the
 * output is transposed back.
 *
 * Multiply-adds: 2 tokens^2 channels for each window.  NaN stays in its window. */

#pragma once
#include "../../../reference/runtime/heads.h"
#include "../../../reference/runtime/windows.h"
#include "../vec.h"

/* For windows of 2 x 2 up to EDGE x EDGE tokens. */
enum { WINDOW_ATTENTION_EDGE = 3 };

/* The number of parts of a head, each LANES windows. */
static inline size_t window_attention_parts(const struct windows *w) { return (w->count + LANES - 1) / LANES; }

/* Reserves s^2 (3 channels + s^2) vectors per thread. */
void window_attention_prepare(struct arena *arena, real **workspace, size_t s, size_t channels);

/* LANES windows of a head, from window LANES head->part on.  `padding` points at the query of a padding token; its key
 * and value follow at the same distance as for any token. */
void window_attention(const struct head *head, const struct windows *windows, const real *padding,
                      real scale, size_t channels, real *workspace);
