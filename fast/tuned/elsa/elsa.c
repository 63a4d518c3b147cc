/* elsa.c -- ELSA without unfolding
 *
 *     l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an
 *
 * Each sum is a linear map of the Hadamard product z of one token, with h K^2 outputs.  Algorithm 2 unfolds z to
 * N x K^2 x C first.  Here one matrix product computes both sums (halves) for all tokens, and the second half is read
 * at the neighbour's position.  The values are not unfolded either.
 *
 * 1. Logits are planes: a vector holds one logit of neighbouring tokens.  A shift is a load from another address, and
 *    the softmax needs no sums across a vector.  The matrix product R z^T writes planes if the tokens of a strip are
 *    repacked as its weights (packed_linear.h).
 * 2. Borders need no tests: rows off the grid are skipped.  Columns off the grid are masked to zero in the logits, and
 *    read zeros on both sides of the rows of the values.
 * 3. The ghost head is applied with the filters; there a vector holds channels, not tokens (apply.c).
 * 4. Images are divided into strips of rows.  Query, key, value and products reuse the memory of the last strip.
 *    Logits are read while they are in the second cache, and overwritten when no token needs them any more.
 * 5. In the softmax the number of vectors is a constant, so maxima and sums stay in registers.
 * 6. Without dilation a value is loaded once for up to 7 neighbours of a row (apply.c).
 * 7. Each thread has its own strips.  It first computes those that other threads read; one barrier follows.
 *
 * Tried without gain: fewer operations for the maximum of two vectors; unrolling the matrix product.
 *
 * Contract: reference/elsa.h. */

#include "elsa.h"
#include <string.h>
#include "../exponential.h"
#include "../forms.h"
#include "../packed_linear.h"

/* Tokens in a strip (at least one row), chosen so that its data and the neighbours' logits fit in 1.5 MB.  An image of
 * up to 2 STRIP tokens has one strip per thread, so that the weights are read only once. */
#define STRIP ((size_t)128)

/* ---- the softmax --------------------------------------------------------- */

/* here->w = the attention of head a.  Callers pass a constant for vectors. */
INLINED
void attend(const struct elsa_chunk *here, size_t a, size_t vectors)
{
    const struct elsa_problem *p = here->p;
    const struct elsa_fast *f = here->f;
    size_t K = p->K, entries = p->entries, plane = f->plane;
    const real *own = f->logits + a * entries * plane + here->token;
    const real *other = f->logits + (p->heads.h + a) * entries * plane;
    const real *bias = (p->equation ? p->rb : p->mix_b) + a * entries;
    const vec_mask *on_grid = f->on_grid + here->x / LANES;
    size_t whole = (p->grid.size[1] - 1) / LANES + 1;   /* vectors in a row */
    vec *w = here->w, top[ELSA_CHUNK], sum[ELSA_CHUNK];

    /* Step 1: the logits, and their maximum.  The neighbour's half is zero off the grid; the final variant has none. */
    for (size_t n = 0; n < entries; n++) {
        size_t ky = n / K, kx = n % K;
        bool met = p->equation && elsa_meets(&here->down, ky) && elsa_meets(&here->across, kx);
        const real *from = met ? other + n * plane + here->neighbour[ky] + elsa_step(p, kx) : NULL;
        for (size_t v = 0; v < vectors; v++) {
            vec l = vec_loadu(own + n * plane + v * LANES) + bias[n] * LOG2_E;
            const vec_mask *mask = on_grid + kx * whole;
            if (met) l += vec_select(mask[v], vec_loadu(from + v * LANES), (vec){0});
            w[n * ELSA_CHUNK + v] = l;
            top[v] = n ? vec_max(l, top[v]) : l;
        }
    }

    /* Step 2: the softmax over the neighbours, lane by lane. */
    for (size_t v = 0; v < vectors; v++) sum[v] = (vec){0};
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) {
            vec power = exp2_vec(w[n * ELSA_CHUNK + v] - top[v]);
            w[n * ELSA_CHUNK + v] = power;
            sum[v] += power;
        }
    for (size_t v = 0; v < vectors; v++) sum[v] = 1 / sum[v];
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) w[n * ELSA_CHUNK + v] *= sum[v];
}

INLINED
void all_heads(const struct elsa_chunk *here, size_t vectors)
{
    for (size_t a = 0; a < here->p->heads.h; a++) {
        attend(here, a, vectors);
        elsa_apply(here, a);
    }
}

static void chunk(const struct team *t, size_t item)
{
    struct elsa_chunk here = elsa_chunk_at(t, item);

    switch (here.vectors) {
    case 4: all_heads(&here, 4); break;
    case 3: all_heads(&here, 3); break;
    case 2: all_heads(&here, 2); break;
    default: all_heads(&here, 1); break;
    }
}

/* ---- a strip ------------------------------------------------------------- */

/* In place: q <- z = scale q o k; for Eq. 6 q <- scale q, and k <- scale k. */
static void products(real *qkv, const struct elsa_problem *p, size_t tokens)
{
    size_t Q = p->heads.Q, width = 2 * Q + p->heads.C;
    real scale = p->scale;

    for (size_t i = 0; i < tokens; i++, qkv += width) {
        real *q_i = qkv, *k_i = qkv + Q;
        for (size_t c = 0; c < Q; c++) q_i[c] = p->equation == 6 ? scale * q_i[c] : scale * (q_i[c] * k_i[c]);
        for (size_t c = 0; p->equation == 6 && c < Q; c++) k_i[c] *= scale;
    }
}

/* Both halves of the logits of a strip (Eq. 6 and 7), as planes.  The tokens are repacked as the weights of the
 * product, so that its vectors hold tokens. */
static void logits(real *l, const struct elsa_fast *f, const struct elsa_problem *p, const real *qkv, real *panels,
                   size_t tokens)
{
    size_t C = p->heads.C, maps = p->heads.h * p->entries, halves = p->equation == 7 ? 1 : 2;
    struct linear map = {.kind = &linear_packed, .in = C, .out = tokens, .panels = panels};

    for (size_t half = 0; half < halves; half++, l += maps * f->plane) {
        linear_packed_load(&map, 0, tokens, qkv + half * C, 3 * C, NULL);
        linear_apply(l, f->plane, f->maps + half * maps * C, C, &map, 2 * maps / halves, 0, 1);
    }
}

/* Computes the data of a strip that other strips read: its values and both halves of the logits; in the final variant
 * the products instead of the logits. */
static void make(const struct team *t, size_t strip)
{
    const struct elsa_problem *p = t->plan->params;
    const struct elsa_fast *f = t->plan->state;
    const struct arena *arena = &t->plan->arena;
    size_t H = p->grid.size[0], W = p->grid.size[1], C = p->heads.C, Q = p->heads.Q, width = 2 * Q + C;
    size_t first = strip * f->strip, rows = H - first < f->strip ? H - first : f->strip;
    real *qkv = arena_thread(arena, f->qkv, t->thread), *panels = arena_thread(arena, f->panels, t->thread);

    linear_apply(qkv, width, t->x + first * W * C, C, &f->heads.input, rows * W, 0, 1);
    products(qkv, p, rows * W);
    for (size_t row = 0; row < rows; row++) {
        elsa_values_fill(f, p, first + row, qkv + row * W * width + 2 * Q, width);
        if (!p->equation) planes_fill(&f->products, first + row, qkv + row * W * width, width);
    }
    if (p->equation) logits(f->logits + elsa_strip_at(t, strip), f, p, qkv, panels, rows * W);
}

/* Without an output projection: rows of y from channels ordered head by head. */
static void scatter(real *y, const real *out, const struct elsa_problem *p, size_t tokens)
{
    size_t C = p->heads.C, c = p->heads.c, step = ghost_channel(&p->ghost, 0, 1);
    for (size_t i = 0; i < tokens; i++)
        for (size_t a = 0; a < p->heads.h; a++) {
            real *to = y + i * C + ghost_channel(&p->ghost, a, 0);
            for (size_t n = 0; n < c; n++) to[n * step] = out[i * C + a * c + n];
        }
}

/* Attention, filters and the output projection of a strip. */
static void finish(const struct team *t, size_t strip)
{
    const struct elsa_problem *p = t->plan->params;
    const struct elsa_fast *f = t->plan->state;
    size_t H = p->grid.size[0], W = p->grid.size[1], C = p->heads.C, chunks = elsa_chunks(p);
    size_t first = strip * f->strip, end = first + f->strip < H ? first + f->strip : H, tokens = (end - first) * W;
    real *y = t->y + first * W * C, *out = arena_thread(&t->plan->arena, f->out, t->thread);

    if (!p->equation) elsa_final_logits(t, strip);
    for (size_t item = first * chunks; item < end * chunks; item++) chunk(t, item);
    if (p->heads.w_o) linear_apply(y, C, out, C, &f->heads.output, tokens, 0, 1);
    else scatter(y, out, p, tokens);
}

/* Slots for the logits of a thread: `near` strips at each end keep theirs, since other threads read them; the strips in
 * the middle reuse a ring of 2 near + 1. */
static size_t slots_per_thread(size_t near) { return 4 * near + 1; }

/* The slot of each strip.  In the ring, strip s overwrites strip s - (2 near + 1), which no token needs any more. */
static void assign_slots(size_t *slot, const struct team *t, size_t strips, size_t near)
{
    size_t next = 0;
    for (size_t part = 0; part < t->parts; part++) {
        size_t from = share(strips, part, t->parts), count = share(strips, part + 1, t->parts) - from;
        bool all = count <= slots_per_thread(near);
        for (size_t at = 0; at < count; at++) {
            size_t middle = 2 * near + at % (2 * near + 1), edge = at < near ? at : near + count - 1 - at;
            slot[from + at] = next + (all ? at : at < near || count - 1 - at < near ? edge : middle);
        }
        next += all ? count : slots_per_thread(near);
    }
}

/* A thread first computes the strips that other threads read.  After the barrier it computes each other strip just
 * before it is needed, from top to bottom.  The final variant computes all its strips first (near = strips), because
 * the zeros before row 0 of a plane are written with the last row of the plane before it. */
static void run_chunk(const struct team *t)
{
    const struct elsa_fast *f = t->plan->state;
    size_t from = share(f->strips, t->part, t->parts), to = share(f->strips, t->part + 1, t->parts);
    size_t made = from, end = to, near = f->near;

    assign_slots(arena_thread(&t->plan->arena, f->slot, t->thread), t, f->strips, near);
    if (t->part) for (; made < end && made < from + near; made++) make(t, made);
    if (t->part + 1 < t->parts) for (; end > made && end + near > to; end--) make(t, end - 1);
    team_barrier(t);
    for (size_t strip = from; strip < to; strip++) {
        for (; made < end && made <= strip + near; made++) make(t, made);
        finish(t, strip);
    }
}

/* ---- the form ------------------------------------------------------------ */

static status prepare(struct plan *plan)
{
    const struct elsa_problem *p = plan->params;
    struct elsa_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, C = p->heads.C, Q = p->heads.Q, H = p->grid.size[0], W = p->grid.size[1];
    size_t maps = p->heads.h * p->entries, share_of_rows = (H - 1) / (size_t)plan->threads + 1, slots;

    /* Step 1: Eq. 4 runs as a core of heads.h; the other equations run their own batches. */
    if (p->equation == 4) {
        heads_prepare(plan, (struct core_options){
            .core = elsa_unified, .whole = true, .parts = N, .maps = &linear_packed,
            .chunk = chunk_images(N, p->heads.B),
        });
        elsa_unified_prepare(f, arena, p);
        return arena_status(arena);
    }
    linear_prepare(&f->heads.input, &linear_packed, arena, C, 2 * Q + C);
    if (p->heads.w_o) linear_prepare(&f->heads.output, &linear_packed, arena, C, C);

    /* Step 2: tables of the parameters. */
    arena_objects(arena, PERSISTENT, &f->on_grid, "the masks", p->K, (W - 1) / LANES + 1, sizeof *f->on_grid);
    arena_reals(arena, PERSISTENT, &f->maps, "the maps", p->equation ? 2 * maps : maps, Q);
    arena_reals(arena, LOAD_SCRATCH, &f->w_o, "the output projection by heads", p->heads.w_o ? C : 0, C);
    ghost_prepare(&f->ghost, arena, LOAD_SCRATCH, &p->ghost);

    /* Step 3: strips, almost equally many rows for each thread.  Slots have spare planes, because shifted vectors read
     * past the last logit of a strip, and another thread may be writing the next slot. */
    f->strip = p->heads.N <= 2 * STRIP ? share_of_rows : STRIP / W < 1 ? 1 : STRIP / W;
    f->strip = (share_of_rows - 1) / ((share_of_rows - 1) / f->strip + 1) + 1;
    f->strips = (H - 1) / f->strip + 1;
    f->plane = f->strip * W;
    f->halves = p->equation ? 2 * maps : maps;
    f->apart = f->halves + (elsa_widest(p) + LANES) / f->plane + 1;
    f->near = p->equation ? (elsa_farthest(p) + f->strip - 1) / f->strip : f->strips;
    slots = (size_t)plan->threads * slots_per_thread(f->near);
    arena_reals(arena, PER_RUN, &f->logits, "the logits", slots < f->strips ? slots : f->strips, f->apart, f->plane);
    elsa_values_prepare(f, arena, p);
    if (!p->equation) elsa_final_prepare(f, arena, p);

    /* Step 4: strips and chunks. */
    arena_objects(arena, PER_THREAD, &f->slot, "where strips lie", f->strips, 1, sizeof *f->slot);
    arena_reals(arena, PER_THREAD, &f->qkv, "query, key and value of a strip", f->plane, 2 * Q + C);
    arena_reals(arena, PER_THREAD, &f->panels, "the products of a strip, repacked",
                p->equation ? (f->plane - 1) / LANES + 1 : 0, LANES, C + 1);
    arena_reals(arena, PER_THREAD, &f->out, "the output of a strip", f->plane, C);
    arena_objects(arena, PER_THREAD, &f->neighbour, "the neighbours of a row", p->K, 1, sizeof *f->neighbour);
    arena_objects(arena, PER_THREAD, &f->w, "the attention of a chunk", p->entries, ELSA_CHUNK, sizeof *f->w);
    return arena_status(arena);
}

/* For each step, the columns of a row whose neighbour is on the grid. */
static void load_masks(struct elsa_fast *f, const struct elsa_problem *p)
{
    size_t W = p->grid.size[1], vectors = (W - 1) / LANES + 1;
    for (size_t k = 0; k < p->K; k++)
        for (size_t x = 0; x < vectors * LANES; x++) {
            ptrdiff_t at = (ptrdiff_t)x + elsa_step(p, k);
            f->on_grid[k * vectors + x / LANES][x % LANES] = at >= 0 && at < (ptrdiff_t)W ? -1 : 0;
        }
}

/* The projections.  Rows of the value and columns of w_o are permuted once, so that in between the channels of a head
 * are contiguous for every head map. */
static void load_projections(struct elsa_fast *f, const struct elsa_problem *p)
{
    const struct heads_problem *params = &p->heads;
    size_t C = params->C, Q = params->Q;

    linear_load(&f->heads.input, 0, 2 * Q, params->w_qkv, params->b_qkv);
    for (size_t ch = 0; ch < C; ch++) {
        size_t given = ghost_channel(&p->ghost, ch / params->c, ch % params->c), row = 2 * Q + given;
        linear_load(&f->heads.input, 2 * Q + ch, 1, params->w_qkv + row * C,
                    params->b_qkv ? params->b_qkv + row : NULL);
        for (size_t o = 0; params->w_o && o < C; o++) f->w_o[o * C + ch] = params->w_o[o * C + given];
    }
    if (params->w_o) linear_load(&f->heads.output, 0, C, f->w_o, params->b_o);
}

static status load(struct plan *plan)
{
    const struct elsa_problem *p = plan->params;
    struct elsa_fast *f = plan->state;
    size_t maps = p->heads.h * p->entries, C = p->heads.C;

    if (p->equation == 4) {
        elsa_unified_load(f, p);
        return heads_load(plan);
    }
    load_projections(f, p);
    load_masks(f, p);
    if (p->equation) {
        elsa_permute(f->maps, p->rk, maps, C);
        elsa_permute(f->maps + maps * C, p->rq, maps, C);
    } else memcpy(f->maps, p->mix_w, maps * p->heads.Q * sizeof *f->maps);
    for (size_t at = 0; at < (p->equation ? 2 * maps * C : maps * p->heads.Q); at++) f->maps[at] *= LOG2_E;
    ghost_load(&f->ghost, &p->ghost);
    elsa_values_load(f, p);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct elsa_problem *p = plan->params;
    size_t image = p->heads.N * p->heads.C;
    const struct batch batch = {.images = p->heads.B, .x_image = image, .y_image = image, .chunk = 1};
    return p->equation == 4 ? heads_run(plan, y, x) : batch_run(plan, y, x, &batch, run_chunk);
}

/* Products off the grid are not counted.  The code skips rows off the grid; columns off it are lanes of zeros. */
static double multiply_adds(const void *params)
{
    return elsa_multiply_adds(params, elsa_pairs(params));
}

const struct form elsa_fast = {
    .name = "fast", .state = sizeof(struct elsa_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
