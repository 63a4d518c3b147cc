/* apply.c -- filters, one a channel, applied to the values where they lie
 *
 *     f_ic = sum_n filter_cni v_{i+n,c},   filter_cni = factor_cn w_ni + summand_cn
 *
 * The filters are nowhere: a weight w of the head is bent for some channels while it is
 * in a register.  A vector holds channels of one head here, and not tokens as in the
 * logits.  So a neighbour stands a whole number of vectors away, where a vector of
 * tokens that is shifted by a few crosses the end of a cache line and is loaded twice;
 * a row of 56 tokens is seven blocks, and not three vectors and half a one; and nothing
 * is transposed.  What is paid is that a weight is repeated for every token, one load
 * for the channels of two vectors.
 *
 * Eight tokens by two vectors of channels are sums in registers.  For each neighbour
 * they take 16 loads of values, 8 of weights and 4 of the ghost head's matrices, which
 * feed 32 multiply-adds: two of each a cycle, so that nothing waits for a load.
 *
 *     values  [groups][rows][pad + columns + pad][width],   width = vectors LANES
 *     bend    [groups][K^2][factor, summand][vectors]
 *
 * A group are the channels of one head that are summed together.  Beside the rows are
 * zeros, so that no test is needed there. */

#include "elsa.h"
#include <string.h>

#define TOKENS ((size_t)8)      /* of a block */
#if defined __AVX512F__ || defined __aarch64__
#define VECTORS ((size_t)2)     /* of a group: 16 sums of 32 registers, or 8 of 16 */
#else
#define VECTORS ((size_t)1)
#endif

/* ---- groups of channels ----------------------------------------------------- */

void elsa_values_prepare(struct elsa_fast *f, struct room *room, const struct elsa_problem *p)
{
    size_t whole = (p->heads.c + LANES - 1) / LANES, h = p->heads.h;
    struct elsa_values *v = &f->values;

    v->vectors = whole % VECTORS ? 1 : VECTORS;
    v->groups = whole / v->vectors;
    v->pad = elsa_widest(p);
    v->columns = p->grid.size[1] + 2 * v->pad;
    room_reals(room, OF_RUN, &v->data, "the values", h * whole, p->grid.size[0], v->columns, LANES);
    room_objects(room, OF_LOAD, &v->bend, "the ghost head in vectors", p->ghost.add ? 2 * h * whole : 0, p->entries,
                 sizeof *v->bend);
}

/* The first channel of a group within its head, and how many there are. */
static size_t group_first(size_t *channels, const struct elsa_fast *f, const struct elsa_problem *p, size_t group)
{
    size_t width = f->values.vectors * LANES, first = group % f->values.groups * width, left = p->heads.c - first;
    *channels = left < width ? left : width;
    return first;
}

void elsa_values_load(struct elsa_fast *f, const struct elsa_problem *p)
{
    size_t vectors = f->values.vectors, groups = p->heads.h * f->values.groups;
    real *to = (real *)f->values.bend;

    for (size_t group = 0; to && group < groups; group++) {
        size_t channels, first = group_first(&channels, f, p, group);
        for (size_t n = 0; n < p->entries; n++, to += 2 * vectors * LANES)
            for (size_t l = 0; l < vectors * LANES; l++) {
                size_t ch = ghost_channel(&p->ghost, group / f->values.groups, first + l);
                to[l] = l < channels ? f->ghost.factor[ch * p->entries + n] : 0;
                to[vectors * LANES + l] = l < channels ? f->ghost.summand[ch * p->entries + n] : 0;
            }
    }
}

/* Some vectors of channels, and zeros behind them. */
static void copy_channels(real *to, const real *from, size_t channels, size_t vectors)
{
    for (size_t v = 0; v < vectors; v++) {
        size_t left = channels - v * LANES;
        lanes_store(to + v * LANES, left < LANES ? lanes_load_part(from + v * LANES, left)
                                                 : lanes_load_anywhere(from + v * LANES));
    }
}

void elsa_values_fill(const struct elsa_fast *f, const struct elsa_problem *p, size_t row, const real *v, size_t v_step)
{
    size_t W = p->grid.size[1], vectors = f->values.vectors, width = vectors * LANES, zeros = f->values.pad * width;

    for (size_t group = 0; group < p->heads.h * f->values.groups; group++) {
        size_t channels, first = group_first(&channels, f, p, group);
        const real *from = v + group / f->values.groups * p->heads.c + first;
        real *to = f->values.data + (group * p->grid.size[0] + row) * f->values.columns * width;

        memset(to, 0, zeros * sizeof *to);
        to += zeros;
        for (size_t x = 0; x < W; x++) copy_channels(to + x * width, from + x * v_step, channels, vectors);
        memset(to + W * width, 0, zeros * sizeof *to);
    }
}

/* ---- a block of tokens -------------------------------------------------------- */

/* Sums [tokens][vectors] of one group of channels, whose values and matrices begin at `value` and
 * `bend`; w is the attention of the first token.  All numbers are constants where this is called. */
INLINED
void sum_block(lanes *out, const struct elsa_chunk *here, const real *w, const real *value, const lanes *bend,
               size_t tokens, size_t vectors, bool ghost)
{
    ptrdiff_t columns = (ptrdiff_t)here->f->values.columns;
    lanes sum[TOKENS][VECTORS];

    for (size_t t = 0; t < tokens; t++)
        for (size_t v = 0; v < vectors; v++) sum[t][v] = (lanes){0};
    for (size_t r = 0; r < here->count; r++) {
        size_t n = here->reached[r].n;
        ptrdiff_t tokens_on = here->reached[r].dy * columns + here->reached[r].dx;
        const real *there = value + tokens_on * (ptrdiff_t)(vectors * LANES);
        const real *weight = w + n * ELSA_CHUNK * LANES;
        const lanes *factor = ghost ? bend + n * 2 * vectors : NULL;     /* and the summands behind */
        for (size_t t = 0; t < tokens; t++)
            for (size_t v = 0; v < vectors; v++) {
                lanes value_tv = lanes_load(there + (t * vectors + v) * LANES);
                if (ghost) sum[t][v] += (factor[v] * weight[t] + factor[vectors + v]) * value_tv;
                else sum[t][v] += weight[t] * value_tv;
            }
    }
    for (size_t t = 0; t < tokens; t++)
        for (size_t v = 0; v < vectors; v++) out[t * vectors + v] = sum[t][v];
}

/* Head a of a chunk, by blocks of almost the same number of tokens. */
INLINED
void apply(const struct elsa_chunk *here, size_t a, size_t vectors, bool ghost)
{
    const struct elsa_problem *p = here->p;
    const struct elsa_fast *f = here->f;
    size_t C = p->heads.C, width = vectors * LANES, blocks = (here->tokens + TOKENS - 1) / TOKENS;

    for (size_t group = a * f->values.groups; group < (a + 1) * f->values.groups; group++) {
        size_t channels, first = group_first(&channels, f, p, group), row = group * p->grid.size[0] + here->row;
        const real *value = f->values.data + (row * f->values.columns + f->values.pad + here->x) * width;
        const lanes *bend = ghost ? f->values.bend + group * p->entries * 2 * vectors : NULL;
        real *to = here->out + a * p->heads.c + first;

        for (size_t block = 0; block < blocks; block++) {
            size_t t = share(here->tokens, block, blocks), tokens = share(here->tokens, block + 1, blocks) - t;
            const real *w = (const real *)here->w + t, *from = value + t * width;
            lanes sum[TOKENS * VECTORS];
            switch (tokens) {
#define CASE(n) case n: sum_block(sum, here, w, from, bend, n, vectors, ghost); break;
            CASE(8) CASE(7) CASE(6) CASE(5) CASE(4) CASE(3) CASE(2) CASE(1)
#undef CASE
            }
            for (size_t s = 0; s < tokens * vectors; s++) {
                size_t left = channels - s % vectors * LANES;
                real *at = to + (t + s / vectors) * C + s % vectors * LANES;
                if (left < LANES) lanes_store_part(at, sum[s], left);
                else lanes_store_anywhere(at, sum[s]);
            }
        }
    }
}

void elsa_apply(const struct elsa_chunk *here, size_t a)
{
    bool ghost = here->f->values.bend != NULL, one = here->f->values.vectors == 1;
    if (one && ghost) apply(here, a, 1, true);
    else if (one) apply(here, a, 1, false);
    else if (ghost) apply(here, a, VECTORS, true);
    else apply(here, a, VECTORS, false);
}
