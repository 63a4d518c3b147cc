/* depthwise.h -- D depth-wise convolutions, for some centres at a time
 *
 *     out_jdc = sum_m filter_dmc row_{j+m,c},     d < D,  c < channels
 *
 * where j + m is the token at entry m of the window around centre j
 * (reference/neighbours.h), and nothing where the entry lies off the grid.
 *
 * Channels are in the lanes.  A vector of a row is loaded once and meets up to
 * eight filters, whose sums stay in registers.  Filters are copied into the
 * order in which they are met, one vector of channels after the other, so that
 * what all centres of a call need next stays in the nearest cache.  A filter
 * that all channels share is stored once, its number repeated in every lane.
 *
 * Multiply-adds: D channels for each entry on the grid.  Memory: the filters,
 * channels rounded up to LANES, or LANES for all channels where they are
 * shared.  Read only after creation, so threads share it. */

#ifndef TWICETOLD_DEPTHWISE_H
#define TWICETOLD_DEPTHWISE_H

#include "../reference/neighbours.h"

struct depthwise {
    const struct neighbours *around;
    size_t channels, filters;       /* filters: D */
    size_t heads;                   /* sets of filters: one, or one a head */
    size_t head_step, block_step;   /* reals from one head, or vector of channels, to the next */
    real *packed;                   /* [heads][blocks][entries][D][LANES] */
};

/* From filters [heads][D][entries][columns]; columns is 1 (shared by the
 * channels) or the number of channels.  Fails when memory is out; the release
 * accepts what a failed creation left. */
status depthwise_create(struct depthwise *w, const struct neighbours *around, const real *filters,
                        size_t heads, size_t D, size_t columns, size_t channels);
void depthwise_release(struct depthwise *w);

/* out [count][channels], virtual tokens first ... first + count - 1 of a head:
 * number t is filter t mod D at centre t div D.  rows [tokens][channels] are
 * `stride` reals apart. */
void depthwise_run(real *out, const struct depthwise *w, size_t head, size_t first, size_t count,
                   const real *rows, size_t stride);

/* Asks for the rows that these virtual tokens will read, before they are wanted. */
void depthwise_ahead(const struct depthwise *w, size_t first, size_t count, const real *rows, size_t stride);

#endif
