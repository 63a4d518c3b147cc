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
 * ghost head.  Times are of one core of an Emerald Rapids with AVX-512 and other work
 * beside, where arithmetic alone needs 2.5 ms, and matrix products take 2.5 at the rate
 * that they reach:
 *
 * 1. Planes: in the logits a vector holds the same number of 16 neighbouring
 *    tokens.  A shift is then a load from another address, the softmax over the
 *    neighbours needs no sums across a vector, and logits come out of the
 *    matrix product as planes by themselves: [2 h K^2][tokens] = R z^T.
 * 2. Borders without tests.  Rows off the grid are left out of a list made once
 *    a row; columns off the grid are masked to zero in the logits, and are zeros
 *    beside the rows of the values.
 * 3. The ghost head folded into the application of the filters, which has channels
 *    in a vector, and not tokens (apply.c): 0.5 ms, and 0.9 by planes, whose shifted
 *    loads cross the ends of cache lines; with the transposing that planes asked for,
 *    1.1 of 4.5 ms became 0.6.
 * 4. Strips of some rows: query, key, value and products of a strip lie where those of
 *    the last one lay, and its logits are read before they have left the second
 *    cache.  A strip has its planes close together, which spares a page of
 *    memory for every plane and row.  Another 0.3 ms of 4.0.
 * 5. The softmax with the number of vectors a constant, so that tops and sums
 *    stay in registers: 0.15 ms.
 *
 * Threads have strips of their own, and meet once: before it each makes those strips
 * that its neighbours look at.
 *
 * Contract: reference/elsa.h. */

#include "elsa.h"
#include "../exponential.h"
#include "../forms.h"
#include "../packed_linear.h"

#define STRIP ((size_t)256)     /* tokens of a strip, or one row; a megabyte with all that is made of them */

/* ---- the softmax --------------------------------------------------------- */

/* w [K^2][CHUNK] = the attention of head a on a chunk.  vectors is a constant
 * where this is called. */
INLINED
void attend(const struct elsa_chunk *here, size_t a, size_t vectors)
{
    const struct elsa_problem *p = here->p;
    const struct elsa_fast *f = here->f;
    size_t K = p->K, entries = p->entries, plane = f->plane, count = p->equation ? here->count : 0;
    const real *own = f->logits + a * entries * plane + here->token;
    const real *other = own + p->heads.h * entries * plane;
    const real *bias = (p->equation ? p->rb : p->mix_b) + a * entries;
    const lanes_mask *on_grid = f->on_grid + here->x / LANES;
    size_t whole = (p->grid.size[1] - 1) / LANES + 1;   /* vectors of a row */
    lanes *w = here->w, top[ELSA_CHUNK], sum[ELSA_CHUNK];

    /* Step 1: the token's own half, in powers of two. */
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++)
            w[n * ELSA_CHUNK + v] = (lanes_load_anywhere(own + n * plane + v * LANES) + bias[n]) * LOG2_E;

    /* Step 2: the neighbour's half, zero off the grid; the final variant has none. */
    for (size_t r = 0; r < count; r++) {
        size_t n = here->reached[r].n;
        const real *from = other + n * plane + here->reached[r].token;
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

/* Every head's attention, and its channels. */
INLINED
void all_heads(const struct elsa_chunk *here, size_t vectors)
{
    for (size_t a = 0; a < here->p->heads.h; a++) {
        attend(here, a, vectors);
        elsa_apply(here, a);
    }
}

/* One chunk of a row. */
static void chunk(const struct flight *t, size_t item)
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

/* z = scale q o k of some tokens, or where there are others, for Eq. 6, both apart. */
static void products(real *own, real *other, const real *qkv, const struct elsa_problem *p, size_t tokens)
{
    size_t Q = p->heads.Q, width = 2 * Q + p->heads.C;
    real scale = p->scale;

    for (size_t i = 0; i < tokens; i++, qkv += width) {
        const real *q_i = qkv, *k_i = qkv + Q;
        if (other)
            for (size_t c = 0; c < Q; c++) {
                own[i * Q + c] = scale * q_i[c];
                other[i * Q + c] = scale * k_i[c];
            }
        else
            for (size_t c = 0; c < Q; c++) own[i * Q + c] = scale * (q_i[c] * k_i[c]);
    }
}

/* The logits of Eq. 6 and 7 as planes, both halves of the tokens of a strip. */
static void logits(real *l, const struct elsa_fast *f, const struct elsa_problem *p, const real *own, const real *other,
                   size_t tokens)
{
    size_t C = p->heads.C, maps = p->heads.h * p->entries;

    if (p->equation == 7) {
        linear_map(l, f->plane, f->maps, C, own, NULL, 2 * maps, C, tokens);
    } else {
        linear_map(l, f->plane, f->maps, C, own, NULL, maps, C, tokens);
        linear_map(l + maps * f->plane, f->plane, f->maps + maps * C, C, other, NULL, maps, C, tokens);
    }
}

/* What a strip is looked at for: its values, and of the logits both halves; of the final variant
 * the products, which the logits come from. */
static void make(const struct flight *t, size_t strip)
{
    const struct elsa_problem *p = t->plan->of;
    const struct elsa_fast *f = t->plan->state;
    const struct room *room = &t->plan->room;
    size_t H = p->grid.size[0], W = p->grid.size[1], C = p->heads.C, Q = p->heads.Q, width = 2 * Q + C;
    size_t first = strip * f->strip, rows = H - first < f->strip ? H - first : f->strip;
    real *qkv = room_own(room, f->qkv, t->thread), *own = room_own(room, f->own, t->thread);
    real *other = f->other ? room_own(room, f->other, t->thread) : NULL;

    linear_apply(qkv, width, t->x + first * W * C, C, &f->heads.input, rows * W, 0, 1);
    products(own, other, qkv, p, rows * W);
    for (size_t row = 0; row < rows; row++) {
        elsa_values_fill(f, p, first + row, qkv + row * W * width + 2 * Q, width);
        if (!p->equation) planes_fill(&f->products, first + row, own + row * W * Q, Q);
    }
    if (p->equation) logits(f->logits + strip * f->halves * f->plane, f, p, own, other, rows * W);
}

/* Rows of y from channels head by head, where no map follows that takes them so. */
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
static void finish(const struct flight *t, size_t strip)
{
    const struct elsa_problem *p = t->plan->of;
    const struct elsa_fast *f = t->plan->state;
    size_t H = p->grid.size[0], W = p->grid.size[1], C = p->heads.C, chunks = elsa_chunks(p);
    size_t first = strip * f->strip, end = first + f->strip < H ? first + f->strip : H, tokens = (end - first) * W;
    real *y = t->y + first * W * C, *out = room_own(&t->plan->room, f->out, t->thread);

    if (!p->equation) elsa_final_logits(t, strip);
    for (size_t item = first * chunks; item < end * chunks; item++) chunk(t, item);
    if (p->heads.w_o) linear_apply(y, C, out, C, &f->heads.output, tokens, 0, 1);
    else scatter(y, out, p, tokens);
}

/* Every thread has strips of its own, from the top down, and makes each just before it is looked
 * at.  What its neighbours look at it makes first, and waits for theirs.  The final variant makes
 * all of them first, as zeros beside a row are written with the rows of another plane. */
static void fly(const struct flight *t)
{
    const struct elsa_problem *p = t->plan->of;
    const struct elsa_fast *f = t->plan->state;
    size_t from = flight_from(t, f->strips), to = flight_to(t, f->strips), made = from, end = to;
    size_t near = p->equation ? (elsa_farthest(p) + f->strip - 1) / f->strip : f->strips;

    if (t->part) for (; made < end && made < from + near; made++) make(t, made);
    if (t->part + 1 < t->parts) for (; end > made && end + near > to; end--) make(t, end - 1);
    flight_meet(t);
    for (size_t strip = from; strip < to; strip++) {
        for (; made < end && made <= strip + near; made++) make(t, made);
        finish(t, strip);
    }
}

/* ---- the form ------------------------------------------------------------ */

static status prepare(struct plan *plan)
{
    const struct elsa_problem *p = plan->of;
    struct elsa_fast *f = plan->state;
    struct room *room = &plan->room;
    size_t N = p->heads.N, C = p->heads.C, Q = p->heads.Q, H = p->grid.size[0], W = p->grid.size[1];
    size_t maps = p->heads.h * p->entries, share_of_rows = (H - 1) / (size_t)plan->threads + 1;

    /* Step 1: Eq. 4 is a heart; the others fly by themselves. */
    if (p->equation == 4) {
        heads_prepare(plan, (struct hearts){
            .heart = elsa_unified, .whole = true, .parts = N, .maps = &linear_packed,
            .in_flight = images_in_flight(N, p->heads.B),
        });
        elsa_unified_prepare(f, room, p);
        return room_status(room);
    }
    linear_prepare(&f->heads.input, &linear_packed, room, C, 2 * Q + C);
    if (p->heads.w_o) linear_prepare(&f->heads.output, &linear_packed, room, C, C);

    /* Step 2: tables of the parameters. */
    room_objects(room, OF_LOAD, &f->on_grid, "the masks", p->K, (W - 1) / LANES + 1, sizeof *f->on_grid);
    room_reals(room, OF_LOAD, &f->maps, "the maps", p->equation ? 2 * maps : 0, C, 1, 1);
    room_reals(room, WHILE_LOADING, &f->w_o, "the output projection by heads", p->heads.w_o ? C : 0, C, 1, 1);
    ghost_prepare(&f->ghost, room, WHILE_LOADING, &p->ghost);

    /* Step 3: one image, in strips of almost the same number of rows for every thread.  Shifted vectors
     * may reach behind the last of the logits. */
    f->strip = STRIP / W < 1 ? 1 : STRIP / W;
    f->strip = (share_of_rows - 1) / ((share_of_rows - 1) / f->strip + 1) + 1;
    f->strips = (H - 1) / f->strip + 1;
    f->plane = f->strip * W;
    f->halves = p->equation ? 2 * maps : maps;
    room_reals(room, OF_RUN, &f->logits, "the logits", f->strips, f->halves + (elsa_widest(p) + LANES) / f->plane + 1,
               f->plane, 1);
    elsa_values_prepare(f, room, p);
    if (!p->equation) elsa_final_prepare(f, room, p);

    /* Step 4: strips and chunks. */
    room_reals(room, OF_THREAD, &f->qkv, "query, key and value of a strip", f->plane, 2 * Q + C, 1, 1);
    room_reals(room, OF_THREAD, &f->own, "the products of a strip", f->plane, Q, 1, 1);
    room_reals(room, OF_THREAD, &f->other, "the neighbours' keys", p->equation == 6 ? f->plane : 0, Q, 1, 1);
    room_reals(room, OF_THREAD, &f->out, "the output of a strip", f->plane, C, 1, 1);
    room_objects(room, OF_THREAD, &f->reached, "the neighbours of a row", p->entries, 1, sizeof *f->reached);
    room_objects(room, OF_THREAD, &f->w, "the attention of a chunk", p->entries, ELSA_CHUNK, sizeof *f->w);
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

/* The projections.  Between them the channels of a head lie side by side, whatever the head map
 * says: rows of the value and columns of w_o are permuted once, and no token ever is. */
static void load_projections(struct elsa_fast *f, const struct elsa_problem *p)
{
    const struct heads_problem *of = &p->heads;
    size_t C = of->C, Q = of->Q;

    linear_load(&f->heads.input, 0, 2 * Q, of->w_qkv, of->b_qkv);
    for (size_t ch = 0; ch < C; ch++) {
        size_t given = ghost_channel(&p->ghost, ch / of->c, ch % of->c), row = 2 * Q + given;
        linear_load(&f->heads.input, 2 * Q + ch, 1, of->w_qkv + row * C, of->b_qkv ? of->b_qkv + row : NULL);
        for (size_t o = 0; of->w_o && o < C; o++) f->w_o[o * C + ch] = of->w_o[o * C + given];
    }
    if (of->w_o) linear_load(&f->heads.output, 0, C, f->w_o, of->b_o);
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
    load_projections(f, p);
    load_masks(f, p);
    if (p->equation) {
        elsa_permute(f->maps, p->rk, maps, C);
        elsa_permute(f->maps + maps * C, p->rq, maps, C);
    }
    ghost_load(&f->ghost, &p->ghost);
    elsa_values_load(f, p);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct elsa_problem *p = plan->of;
    size_t image = p->heads.N * p->heads.C;
    const struct batch batch = {.images = p->heads.B, .x_image = image, .y_image = image, .in_flight = 1};
    return p->equation == 4 ? heads_run(plan, y, x) : flights_run(plan, y, x, &batch, fly);
}

/* Neighbours off the grid are not multiplied. */
static double multiply_adds(const void *of)
{
    return elsa_multiply_adds(of, elsa_pairs(of));
}

const struct form elsa_fast = {"fast", sizeof(struct elsa_fast), prepare, load, run, NULL, multiply_adds};
