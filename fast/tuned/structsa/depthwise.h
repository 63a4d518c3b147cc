/* depthwise.h -- D depth-wise convolutions, for a few centres at a time
 *
 *     out_jdc = sum_m filter_dmc row_{j+m,c},     d < D,  c < channels
 *
 * j + m is the token at entry m of the window around centre j (reference/runtime/neighbours.h); tokens off the grid are
 * skipped.
 *
 * Lanes hold channels.  A vector of a row is loaded once for up to eight filters, whose sums stay in registers.
 * Filters are stored in the order of use.  A filter that all channels share is stored as one vector.
 *
 * Multiply-adds: D channels for each entry of a window that is on the grid.  Memory: for each entry of a filter, its
 * channels rounded up to LANES, or LANES numbers if all channels share it.  Threads share the filters. */

#pragma once
#include "../../../reference/structsa.h"

struct depthwise {
    const struct neighbours *around;
    size_t channels, filters;       /* filters: D */
    size_t columns;                 /* of a filter: 1 (shared by all channels), or one per channel */
    size_t sets;                    /* of filters: 1, or one per head */
    size_t set_step, block_step;    /* reals between sets, and between vectors of channels */
    real *packed;                   /* [sets][blocks][entries][D][LANES] */
};

/* For the filters of keys or of values; load repacks them from [sets][D][entries][columns]. */
void depthwise_prepare(struct depthwise *w, struct arena *arena, const struct neighbours *around,
                       const struct structsa_problem *p);
void depthwise_load(struct depthwise *w, const real *filters);

/* out [count][channels]: virtual tokens first ... first + count - 1 of a head.  Number t is filter t mod D at centre
 * t div D.  rows [tokens][channels] are `stride` reals apart. */
void depthwise_run(real *out, const struct depthwise *w, size_t head, size_t first, size_t count,
                   const real *rows, size_t stride);

void depthwise_prefetch(const struct depthwise *w, size_t first, size_t count, const real *rows, size_t stride);

/* ---- virtual tokens ---------------------------------------------------------- */

/* The first member of the form's state, instead of struct heads.  After virtual_tokens_prepare, `windows` holds the
 * filters only during load. */
struct virtual_tokens {
    struct heads heads;
    struct structsa_windows windows;
    struct depthwise keys, values;
};
HEADS_FIRST(struct virtual_tokens);

void virtual_tokens_prepare(struct plan *plan, struct core_options core);
status virtual_tokens_load(struct plan *plan);
