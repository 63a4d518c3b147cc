/* elsa.c -- ELSA with nothing unfolded
 *
 *     l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an
 *
 * Neither sum depends on both i and its neighbour: each is a linear map of
 * the Hadamard product at one token, h K^2 numbers of it.  Where Algorithm 2
 * unfolds z to N x K^2 x C and then contracts, here one matrix product makes
 * both halves for all tokens, and the second half is read from where the
 * neighbour stands.  Nor are the values unfolded: they are read in place.
 *
 * What was done for speed, at 56 x 56 tokens, 96 channels, 3 heads, K = 7, with a
 * ghost head, where 2.7 ms were reached on one core of a Zen 5 with AVX-512 and
 * arithmetic alone needs 1.8 (matrix products 1.55 ms at full speed, their
 * packing and clearing 0.3, filters applied 0.45, softmax 0.16, transposing tokens
 * into planes and back 0.2):
 *
 * 1. Planes (planes.h): a vector holds the same number of 16 neighbouring
 *    tokens.  A shift is then a load from another address, the softmax over the
 *    neighbours needs no sums across a vector, and logits come out of the
 *    matrix product as planes by themselves: [2 h K^2][N] = R z^T.
 * 2. Borders without tests.  Rows off the grid are left out of a list made once
 *    a row; columns off the grid are masked to zero in the logits, and are zeros
 *    beside the rows of the values.
 * 3. The ghost head folded into the application: two multiply-adds for each
 *    neighbour, channel and vector.  Four vectors of two channels at a time, so
 *    that filters are read once for two channels and the static matrices once
 *    for four vectors.
 * 4. The softmax with the number of vectors a constant, so that tops and sums
 *    stay in registers: 0.15 ms.
 *
 * What did not help: two rows of tokens at a time, so that a value which both
 * reach is loaded once for both.
 *
 * Threads share the rows of tokens up to the logits, and then chunks of rows.
 *
 * Contract: reference/elsa.h. */

#include "elsa.h"
#include "../exponential.h"
#include "../forms.h"
#include "../packed_linear.h"

/* ---- the softmax --------------------------------------------------------- */

/* w [K^2][CHUNK] = the attention of head a on a chunk.  vectors is a constant
 * where this is called. */
INLINED
void attend(const struct elsa_chunk *here, size_t a, size_t vectors)
{
    const struct elsa_problem *p = here->p;
    const struct elsa_fast *f = here->f;
    size_t K = p->K, entries = p->entries, N = p->heads.N, count = p->equation ? here->count : 0;
    const real *own = f->logits + a * entries * N + here->row * p->grid.size[1] + here->x;
    const real *other = own + p->heads.h * entries * N;
    const real *bias = (p->equation ? p->rb : p->mix_b) + a * entries;
    const lanes_mask *on_grid = f->on_grid + here->x / LANES;
    size_t whole = (p->grid.size[1] - 1) / LANES + 1;   /* vectors of a row */
    lanes *w = here->w, top[ELSA_CHUNK], sum[ELSA_CHUNK];

    /* Step 1: the token's own half, in powers of two. */
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++)
            w[n * ELSA_CHUNK + v] = (lanes_load_anywhere(own + n * N + v * LANES) + bias[n]) * LOG2_E;

    /* Step 2: the neighbour's half, zero off the grid; the final variant has none. */
    for (size_t r = 0; r < count; r++) {
        size_t n = here->reached[r].n;
        const real *from = other + n * N + here->reached[r].token;
        const lanes_mask *mask = on_grid + n % K * whole;
        for (size_t v = 0; v < vectors; v++)
            w[n * ELSA_CHUNK + v] += lanes_pick(mask[v], lanes_load_anywhere(from + v * LANES), (lanes){0}) * LOG2_E;
    }

    /* Step 3: the softmax over the neighbours, lane by lane. */
    for (size_t v = 0; v < vectors; v++) {
        top[v] = w[v];
        sum[v] = (lanes){0};
    }
    for (size_t n = 1; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) top[v] = lanes_larger(w[n * ELSA_CHUNK + v], top[v]);
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) {
            w[n * ELSA_CHUNK + v] = exp2_lanes(w[n * ELSA_CHUNK + v] - top[v]);
            sum[v] += w[n * ELSA_CHUNK + v];
        }
    for (size_t v = 0; v < vectors; v++) sum[v] = 1 / sum[v];
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) w[n * ELSA_CHUNK + v] *= sum[v];
}

/* ---- the filters applied ------------------------------------------------- */

/* Some channels of one head, `step` apart, on a chunk.  All numbers but the first
 * channel and the step are constants where this is called. */
INLINED
void apply_some(const struct elsa_chunk *here, size_t channel, size_t step, size_t channels, size_t vectors, bool ghost)
{
    const struct elsa_fast *f = here->f;
    size_t entries = here->p->entries;
    const real *value = planes_row(&f->values, channel, here->row) + here->x;
    size_t value_step = step * f->values.rows * f->values.stride;
    const real *factor = ghost ? f->ghost.factor + channel * entries : NULL;
    const real *summand = ghost ? f->ghost.summand + channel * entries : NULL;
    lanes sum[2][ELSA_CHUNK];

    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < vectors; v++) sum[c][v] = (lanes){0};
    for (size_t r = 0; r < here->count; r++) {
        size_t n = here->reached[r].n;
        for (size_t c = 0; c < channels; c++)
            for (size_t v = 0; v < vectors; v++) {
                lanes filter = here->w[n * ELSA_CHUNK + v];
                if (ghost) filter = factor[c * step * entries + n] * filter + summand[c * step * entries + n];
                sum[c][v] += filter * lanes_load_anywhere(value + c * value_step + here->reached[r].offset + v * LANES);
            }
    }
    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < vectors; v++) here->out[(channel + c * step) * ELSA_CHUNK + v] = sum[c][v];
}

/* out [C][CHUNK]: all channels of head a, two at a time. */
INLINED
void apply(const struct elsa_chunk *here, size_t a, size_t vectors, bool ghost)
{
    const struct elsa_problem *p = here->p;
    size_t c = p->heads.c, first = p->ghost.by_block ? a * c : a, step = p->ghost.by_block ? 1 : p->heads.h, at = 0;

    for (; at + 2 <= c; at += 2) apply_some(here, first + at * step, step, 2, vectors, ghost);
    if (at < c) apply_some(here, first + at * step, step, 1, vectors, ghost);
}

/* Every head's attention, and its channels. */
INLINED
void all_heads(const struct elsa_chunk *here, size_t vectors)
{
    for (size_t a = 0; a < here->p->heads.h; a++) {
        attend(here, a, vectors);
        if (here->f->ghost.factor) apply(here, a, vectors, true);
        else apply(here, a, vectors, false);
    }
}

/* ---- an image ------------------------------------------------------------ */

/* z = scale q o k of one row of tokens, or for Eq. 6 both apart; and the values
 * as planes. */
static void gather_row(const struct elsa_fast *f, const struct elsa_problem *p, size_t row)
{
    size_t Q = p->heads.Q, W = p->grid.size[1], width = 2 * Q + p->heads.C;
    real scale = p->scale;

    for (size_t i = row * W; i < (row + 1) * W; i++) {
        const real *q_i = f->heads.qkv + i * width, *k_i = q_i + Q;
        if (p->equation == 6)
            for (size_t c = 0; c < Q; c++) {
                f->own[i * Q + c] = scale * q_i[c];
                f->other[i * Q + c] = scale * k_i[c];
            }
        else
            for (size_t c = 0; c < Q; c++) f->own[i * Q + c] = scale * (q_i[c] * k_i[c]);
    }
    planes_fill(&f->values, row, f->heads.qkv + row * W * width + 2 * Q, width);
    if (!p->equation) planes_fill(&f->products, row, f->own + row * W * Q, Q);
}

/* The logits of Eq. 6 and 7 as planes, [h K^2][N] twice: the columns of some tokens. */
static void logits(const struct elsa_fast *f, const struct elsa_problem *p, size_t first, size_t tokens)
{
    size_t N = p->heads.N, C = p->heads.C, maps = p->heads.h * p->entries;
    real *l = f->logits + first;

    if (!tokens) return;
    if (p->equation == 7) {
        linear_map(l, N, f->maps, C, f->own + first * C, NULL, 2 * maps, C, tokens);
    } else {
        linear_map(l, N, f->maps, C, f->own + first * C, NULL, maps, C, tokens);
        linear_map(l + maps * N, N, f->maps + maps * C, C, f->other + first * C, NULL, maps, C, tokens);
    }
}

/* One chunk of a row of y. */
static void chunk(const struct flight *t, real *y, size_t item)
{
    struct elsa_chunk here = elsa_chunk_at(t, item);
    size_t C = here.p->heads.C;

    switch (here.vectors) {
    case 4: all_heads(&here, 4); break;
    case 3: all_heads(&here, 3); break;
    case 2: all_heads(&here, 2); break;
    default: all_heads(&here, 1); break;
    }
    planes_drain(y + (here.row * here.p->grid.size[1] + here.x) * C, C, here.out, ELSA_CHUNK, here.tokens, C);
}

static void fly(const struct flight *t)
{
    const struct elsa_problem *p = t->plan->of;
    const struct elsa_fast *f = t->plan->state;
    size_t rows = p->grid.size[0], W = p->grid.size[1], chunks = rows * elsa_chunks(p);
    size_t from = flight_from(t, rows), to = flight_to(t, rows);

    /* Step 1: query, key and value. */
    heads_project(t);
    flight_meet(t);

    /* Step 2: the products, and the values as planes; the logits of the same rows. */
    for (size_t row = from; row < to; row++) gather_row(f, p, row);
    if (p->equation) {
        logits(f, p, from * W, (to - from) * W);
    } else {
        flight_meet(t);
        elsa_final_logits(t, from, to);
    }
    flight_meet(t);

    /* Step 3: attention and its filters, a chunk at a time. */
    for (size_t item = flight_from(t, chunks); item < flight_to(t, chunks); item++) chunk(t, heads_joined(t), item);
    flight_meet(t);

    /* Step 4: the output projection. */
    heads_join(t);
}

/* ---- the form ------------------------------------------------------------ */

static status prepare(struct plan *plan)
{
    const struct elsa_problem *p = plan->of;
    struct elsa_fast *f = plan->state;
    struct room *room = &plan->room;
    size_t N = p->heads.N, C = p->heads.C, Q = p->heads.Q, H = p->grid.size[0], W = p->grid.size[1];
    size_t pad = elsa_widest(p), maps = p->heads.h * p->entries * (p->equation ? 2 : 1);
    bool unified = p->equation == 4;

    /* Step 1: the projections, and the heart of Eq. 4; the others fly by themselves. */
    heads_prepare(plan, (struct hearts){
        .heart = elsa_unified, .whole = true, .parts = N, .maps = &linear_packed,
        .in_flight = unified ? images_in_flight(N, p->heads.B) : 1,
    });
    if (unified) {
        elsa_unified_prepare(f, room, p);
        return room_status(room);
    }

    /* Step 2: tables of the parameters. */
    room_objects(room, OF_LOAD, &f->on_grid, "the masks", p->K, (W - 1) / LANES + 1, sizeof *f->on_grid);
    room_reals(room, OF_LOAD, &f->maps, "the maps", p->equation ? maps : 0, C, 1, 1);
    ghost_prepare(&f->ghost, room, OF_LOAD, &p->ghost);

    /* Step 3: one image.  Shifted vectors may reach behind the last of the logits. */
    room_reals(room, OF_RUN, &f->own, "the products", N, Q, 1, 1);
    room_reals(room, OF_RUN, &f->other, "the neighbours' keys", p->equation == 6 ? N : 0, Q, 1, 1);
    room_reals(room, OF_RUN, &f->logits, "the logits", maps + (pad + LANES) / N + 1, N, 1, 1);
    planes_prepare(&f->values, room, "the values as planes", C, H, W, pad);
    if (!p->equation) elsa_final_prepare(f, room, p);

    /* Step 4: chunks. */
    room_objects(room, OF_THREAD, &f->reached, "the neighbours of a row", p->entries, 1, sizeof *f->reached);
    room_objects(room, OF_THREAD, &f->w, "the attention of a chunk", p->entries, ELSA_CHUNK, sizeof *f->w);
    room_objects(room, OF_THREAD, &f->out, "the output of a chunk", C, ELSA_CHUNK, sizeof *f->out);
    return room_status(room);
}

/* Which columns of a row have a neighbour dx columns away, for every dx. */
static void load_masks(struct elsa_fast *f, const struct elsa_problem *p)
{
    size_t W = p->grid.size[1], vectors = (W - 1) / LANES + 1;
    for (size_t k = 0; k < p->K; k++)
        for (size_t x = 0; x < vectors * LANES; x++) {
            ptrdiff_t at = (ptrdiff_t)x + elsa_step(p, k);
            f->on_grid[k * vectors + x / LANES][x % LANES] = at >= 0 && at < (ptrdiff_t)W ? -1 : 0;
        }
}

static status load(struct plan *plan)
{
    const struct elsa_problem *p = plan->of;
    struct elsa_fast *f = plan->state;
    size_t maps = p->heads.h * p->entries, C = p->heads.C;

    if (p->equation == 4) {
        elsa_unified_load(f, p);
        return heads_load(plan);
    }
    load_masks(f, p);
    if (p->equation) {
        elsa_permute(f->maps, p->rk, maps, C);
        elsa_permute(f->maps + maps * C, p->rq, maps, C);
    }
    ghost_load(&f->ghost, &p->ghost);
    return heads_load(plan);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct elsa_problem *p = plan->of;
    const struct batch batch = heads_batch((const struct heads *)plan->state);
    return p->equation == 4 ? heads_run(plan, y, x) : flights_run(plan, y, x, &batch, fly);
}

/* Neighbours off the grid are not multiplied. */
static double multiply_adds(const void *of)
{
    return elsa_multiply_adds(of, elsa_pairs(of));
}

const struct form elsa_fast = {"fast", sizeof(struct elsa_fast), prepare, load, run, NULL, multiply_adds};
