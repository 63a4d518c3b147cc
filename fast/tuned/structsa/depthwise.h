/* depthwise.h -- D depth-wise convolutions, for some centres at a time
 *
 *     out_jdc = sum_m filter_dmc row_{j+m,c},     d < D,  c < channels
 *
 * where j + m is the token at entry m of the window around centre j (reference/runtime/neighbours.h), and nothing off the grid.
 *
 * Channels are in the lanes.  A vector of a row is loaded once and meets up to eight filters, whose sums stay in
 * registers.  Filters are copied into the order in which they are met.  A filter that all channels share is stored
 * once, repeated in every lane.
 *
 * Multiply-adds: D channels for each entry on the grid.  Memory: the filters, channels rounded up to LANES, or LANES
 * for all channels where they are shared.  Read only after it is loaded, so threads share it. */

#ifndef TWICETOLD_DEPTHWISE_H
#define TWICETOLD_DEPTHWISE_H

#include "../../../reference/structsa.h"

struct depthwise {
    const struct neighbours *around;
    size_t channels, filters;       /* filters: D */
    size_t columns;                 /* of a filter: 1, shared by the channels, or one for each */
    size_t sets;                    /* of filters: one, or one for each head */
    size_t set_step, block_step;    /* reals from one set, or vector of channels, to the next */
    real *packed;                   /* [sets][blocks][entries][D][LANES] */
};

/* prepare asks for the filters of one side; load repacks them from [sets][D][entries][columns]. */
void depthwise_prepare(struct depthwise *w, struct arena *arena, const struct neighbours *around,
                       const struct structsa_problem *p);
void depthwise_load(struct depthwise *w, const real *filters);

/* out [count][channels], virtual tokens first ... first + count - 1 of a head: number t is filter t mod D at centre t
 * div D. rows [tokens][channels] are `stride` reals apart. */
void depthwise_run(real *out, const struct depthwise *w, size_t head, size_t first, size_t count,
                   const real *rows, size_t stride);

/* Prefetches the rows that these virtual tokens will read. */
void depthwise_prefetch(const struct depthwise *w, size_t first, size_t count, const real *rows, size_t stride);

/* ---- virtual tokens ---------------------------------------------------------- */

/* The first member of the form's state, instead of struct heads: packed projections, and what makes virtual keys and
 * values.  The windows have the filters in the problem's layout, while loading. */
struct virtual_tokens {
    struct heads heads;
    struct structsa_windows windows;
    struct depthwise keys, values;
};
HEADS_FIRST(struct virtual_tokens);

void virtual_tokens_prepare(struct plan *plan, struct core_options core);
status virtual_tokens_load(struct plan *plan);

#endif
