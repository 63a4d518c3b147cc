/* apply.c -- applies the filters, one per channel, to the values in place
 *
 *     f_ic = sum_n filter_cni v_{i+n,c},   filter_cni = factor_cn w_ni + summand_cn
 *
 *     values    [groups][rows][pad + columns + pad][LANES]
 *     matrices  [groups][K^2][factor, summand]
 *
 * 1. The filters are not stored: the ghost head is applied to a weight w of the head in a register.
 * 2. A vector holds channels of one head (a group), not tokens as in the logits.  So a neighbour is a whole number of
 *    vectors away, no load crosses a cache line, and nothing is transposed; but each weight is broadcast.
 * 3. Blocks of 8 tokens of a row by one vector of channels are summed in registers.  Without dilation, their K <= 7
 *    neighbours of a row are 8 + K - 1 vectors; each is loaded once and used for up to K taps.  With K = 7 a tap has 16
 *    multiply-adds for 8 loads of weights, 2 of values and 2 of the ghost head.  With 16 registers, blocks have 4
 *    tokens.
 * 4. Zeros on both sides of the rows replace tests.
 *
 * Tried without gain: 14 tokens with 32 registers, 5 to 7 with 16; a list of neighbours instead of steps. */

#include "elsa.h"
#include <string.h>

/* Tokens in a block. */
#if LANE_REGISTERS == 32
#define TOKENS ((size_t)8)
#else
#define TOKENS ((size_t)4)
#endif

/* The largest K whose neighbours of a row are kept in registers. */
#define MOST_TAPS ((size_t)7)

/* ---- groups of channels ----------------------------------------------------- */

void elsa_values_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p)
{
    struct elsa_values *v = &f->values;

    v->groups = (p->heads.c + LANES - 1) / LANES;
    v->pad = elsa_widest(p);
    v->columns = p->grid.size[1] + 2 * v->pad;
    v->taps = p->dilation == 1 && v->pad == p->K / 2 && p->K <= MOST_TAPS ? p->K : 1;
    arena_reals(arena, PER_RUN, &v->data, "the values", p->heads.h * v->groups, p->grid.size[0], v->columns, LANES);
    arena_objects(arena, PERSISTENT, &v->matrices, "the ghost head in vectors",
                  p->ghost.add ? 2 * p->heads.h * v->groups : 0, p->entries, sizeof *v->matrices);
}

/* The first channel of a group within its head, and the number of its channels. */
static size_t group_first(size_t *channels, const struct elsa_fast *f, const struct elsa_problem *p, size_t group)
{
    size_t first = group % f->values.groups * LANES, left = p->heads.c - first;
    *channels = left < LANES ? left : LANES;
    return first;
}

void elsa_values_load(struct elsa_fast *f, const struct elsa_problem *p)
{
    vec *to = f->values.matrices;

    for (size_t group = 0; to && group < p->heads.h * f->values.groups; group++) {
        size_t channels, first = group_first(&channels, f, p, group);
        for (size_t n = 0; n < p->entries; n++, to += 2) {
            to[0] = to[1] = (vec){0};
            for (size_t l = 0; l < channels; l++) {
                size_t ch = ghost_channel(&p->ghost, group / f->values.groups, first + l);
                to[0][l] = f->ghost.factor[ch * p->entries + n];
                to[1][l] = f->ghost.summand[ch * p->entries + n];
            }
        }
    }
}

void elsa_values_fill(const struct elsa_fast *f, const struct elsa_problem *p, size_t row, const real *v, size_t v_step)
{
    size_t W = p->grid.size[1], zeros = f->values.pad * LANES;

    for (size_t group = 0; group < p->heads.h * f->values.groups; group++) {
        size_t channels, first = group_first(&channels, f, p, group);
        const real *from = v + group / f->values.groups * p->heads.c + first;
        real *to = f->values.data + (group * p->grid.size[0] + row) * f->values.columns * LANES;

        memset(to, 0, zeros * sizeof *to);
        to += zeros;
        if (channels == LANES)
            for (size_t x = 0; x < W; x++) vec_store(to + x * LANES, vec_loadu(from + x * v_step));
        else
            for (size_t x = 0; x < W; x++) vec_store(to + x * LANES, vec_load_partial(from + x * v_step, channels));
        memset(to + W * LANES, 0, zeros * sizeof *to);
    }
}

/* ---- a block of tokens -------------------------------------------------------- */

/* out = f of `tokens` tokens and one group of channels.  w, value and matrices belong to the first neighbour of the
 * first token.  `taps` neighbours of a row share the loaded values.  Callers pass constants for tokens, taps and
 * ghost. */
INLINED
void sum_block(real *out, size_t channels, const struct elsa_chunk *here, const real *w, const real *value,
               const vec *matrices, size_t tokens, size_t taps, bool ghost)
{
    const struct elsa_problem *p = here->p;
    size_t C = p->heads.C, aside = p->dilation * LANES, below = p->dilation * here->f->values.columns * LANES;
    size_t rest = p->K - (here->across.end - here->across.first);
    vec sum[TOKENS];

    for (size_t t = 0; t < tokens; t++) sum[t] = (vec){0};
    for (size_t ky = here->down.first; ky < here->down.end; ky++, value += below) {
        const real *there = value;
        for (size_t kx = here->across.first; kx < here->across.end; kx += taps, there += aside) {
            vec near[TOKENS + MOST_TAPS - 1];
            for (size_t x = 0; x < tokens + taps - 1; x++) near[x] = vec_load(there + x * LANES);
            for (size_t x = 0; x < tokens - 1; x++) near[x] = vec_in_register(near[x]);
            for (size_t k = 0; k < taps; k++, w += ELSA_CHUNK * LANES) {
                vec *next = &near[k + tokens - 1];        /* vec_in_register delays its load */
                vec factor = {0}, summand = {0};
                *next = vec_in_register(*next);
                if (ghost) factor = vec_in_register(matrices[0]), summand = vec_in_register(matrices[1]), matrices += 2;
                for (size_t t = 0; t < tokens; t++) {
                    if (ghost) sum[t] += (factor * w[t] + summand) * near[t + k];
                    else sum[t] += w[t] * near[t + k];
                }
            }
        }
        w += rest * ELSA_CHUNK * LANES;
        if (ghost) matrices += rest * 2;
    }
    if (channels == LANES)
        for (size_t t = 0; t < tokens; t++) vec_storeu(out + t * C, sum[t]);
    else
        for (size_t t = 0; t < tokens; t++) vec_store_partial(out + t * C, sum[t], channels);
}

/* Head a of a chunk, in blocks; the last block may overlap the one before it. */
INLINED
void apply(const struct elsa_chunk *here, size_t a, size_t tokens, size_t taps, bool ghost)
{
    const struct elsa_problem *p = here->p;
    const struct elsa_fast *f = here->f;
    size_t C = p->heads.C, columns = f->values.columns, n = here->down.first * p->K + here->across.first;
    const real *w = (const real *)(here->w + n * ELSA_CHUNK);
    ptrdiff_t corner = elsa_step(p, here->down.first) * (ptrdiff_t)columns + elsa_step(p, here->across.first);

    for (size_t group = a * f->values.groups; group < (a + 1) * f->values.groups; group++) {
        size_t channels, first = group_first(&channels, f, p, group), row = group * p->grid.size[0] + here->row;
        const real *value = f->values.data + (ptrdiff_t)(row * columns + f->values.pad + here->x) * (ptrdiff_t)LANES
                          + corner * (ptrdiff_t)LANES;
        const vec *matrices = ghost ? f->values.matrices + (group * p->entries + n) * 2 : NULL;
        real *out = here->out + a * p->heads.c + first;

        for (size_t t = 0; t < here->tokens; t += tokens) {
            if (t + tokens > here->tokens) t = here->tokens - tokens;
            sum_block(out + t * C, channels, here, w + t, value + t * LANES, matrices, tokens, taps, ghost);
        }
    }
}

INLINED
void apply_some(const struct elsa_chunk *here, size_t a, size_t tokens, bool ghost)
{
    switch (here->f->values.taps) {
    case 7: apply(here, a, tokens, 7, ghost); break;
    case 5: apply(here, a, tokens, 5, ghost); break;
    case 3: apply(here, a, tokens, 3, ghost); break;
    default: apply(here, a, tokens, 1, ghost); break;
    }
}

void elsa_apply(const struct elsa_chunk *here, size_t a)
{
    bool ghost = here->f->values.matrices != NULL;
    if (here->tokens >= TOKENS) {
        if (ghost) apply_some(here, a, TOKENS, true);
        else apply_some(here, a, TOKENS, false);
    } else {
        if (ghost) apply_some(here, a, 1, true);
        else apply_some(here, a, 1, false);
    }
}
