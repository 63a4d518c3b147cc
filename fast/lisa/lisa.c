/* lisa.c -- variant 2: own FFTs, a block of channels in the SIMD lanes
 *
 *     a[n,d] = sum_c q[n,c] (Ga[n,c,d] + ba[c,d]),   Ga[.,c,d] = k[.,c] (*) wa[.,c,d]
 *     y[n,k] = sum_d a[n,d] (Gb[n,k,d] + bb[k,d]),   Gb[.,k,d] = v[.,k] (*) wb[.,d]
 *
 * (*) is the convolution on the circle of circulant.h, so that Eq. 10 and the
 * exact Eq. 5-7 are one program.  Over variant 1 (fftw.c) it changes:
 *
 *   - LANES channels of one head are a block; they are transformed side by side
 *     and nothing is rearranged, for tokens lie that way already.
 *   - Two latents d, d+1 are one complex kernel, w_d + sqrt(-1) w_d+1, so that a
 *     complex inverse transform serves two real convolutions and the half
 *     spectrum of the block is all that is kept of it.
 *   - The product rides on the way into the inverse transform, the contraction
 *     with q or a on the way out: between them lies one field, in the second
 *     cache.
 *   - y is workspace until its turn: it holds k, then q, then v, then the
 *     heads' output, which is projected in place.
 *
 * It serves every grid: where an axis is not a product of 2, 3, 5 and 7 it moves
 * to a larger circle.  There it is level with FFTW on the axis itself at worst
 * (13x13), and eight times ahead where FFTW has no codelets (31x37).
 *
 * How it fared: 56x56 tokens, 96 channels, 16 latents, one head, float, one and
 * two threads of a Zen 5: 4.3 and 2.3 ms with the projections; variant 1 35 ms.
 *
 * What mattered besides: the key's spectra, 19 MB, lie in the order in which
 * they are read and are prefetched.  Read as the butterflies jump, and not
 * prefetched, they took 1.2 ms more.  And each part of a transform copies what it was told to
 * a struct of its own (lane_pass.h): 10 % of the value's side on an Emerald Rapids, where 6.4 ms
 * are reached on one thread, 1.3 of them projections and 1.0 the spectra on their way from memory.
 *
 * What failed: taking many images together so that they share each spectrum.
 * It saves less there than it loses on keys and queries that no longer stay in
 * the second cache, 4.4 ms an image one by one against 5.1 by sixes.
 *
 * Local kernels of Eq. 10 go the same way, on circles as much larger than the grid
 * as the window reaches; small windows have a better one (local.h).
 *
 * Contract: reference/lisa.h. */

#include <string.h>
#include "kernels.h"
#include "lane_pass.h"
#include "local.h"
#include "../forms.h"
#include "../steps.h"
#include "../../reference/flight.h"

struct lisa_fast {
    struct lane_grid grid;
    struct lisa_kernels kernels;
    size_t in_flight;           /* images */
    size_t a_row;               /* reals of a row of a: N, and room for a vector behind it */
    size_t field_reals;         /* of a field, or of a token where that is more */
    real *a;                    /* [in flight][h][2 pairs][a_row]; in Eq. 4 the query, channel by channel */
    real *keys;                 /* in Eq. 4 the key likewise, else NULL */
    real *spectra;              /* [half] points of each block of the key; later, in the room of two such for
                                 * each thread, those of a block of the value and its sums [N][L] */
    real *field, *line, *row;   /* of each thread: lane_grid.h; a row that was contracted */
    real *query;                /* of each thread, [N][L], where the last block does not fill the lanes */
};

/* What the calling thread works in. */
struct scratch { real *field, *line, *row, *query; };

static struct scratch scratch_of(const struct flight *t)
{
    const struct lisa_fast *f = t->plan->state;
    const struct room *room = &t->plan->room;
    return (struct scratch){
        .field = room_own(room, f->field, t->thread), .line = room_own(room, f->line, t->thread),
        .row = room_own(room, f->row, t->thread), .query = room_own(room, f->query, t->thread),
    };
}

/* Where in [images][N][C] head number `item`, counted over all images, begins. */
static size_t head_at(const struct heads_problem *of, size_t item)
{
    return item / of->h * of->N * of->C + item % of->h * of->c;
}

/* Channels of this block of a head. */
static size_t block_channels(const struct heads_problem *of, size_t block)
{
    size_t left = of->c - block * LANES;
    return left < LANES ? left : LANES;
}

/* ---- projections ------------------------------------------------------------ */

enum third { QUERY, KEY, VALUE };

/* y = x W^T + b for a third of w_qkv; query and key are normalised. */
static void project(const struct flight *t, enum third third)
{
    const struct heads_problem *of = t->plan->of;
    size_t C = of->C, tokens = t->images * of->N, from = flight_from(t, tokens), to = flight_to(t, tokens);

    if (from == to) return;
    linear_map(t->y + from * C, C, t->x + from * C, C, of->w_qkv + third * C * C,
               of->b_qkv ? of->b_qkv + third * C : NULL, to - from, C, C);
    if (third == VALUE) return;
    for (size_t head = from * of->h; head < to * of->h; head++) normalise_row(t->y + head * of->c, of->c);
}

/* y = y W_o^T + b_o in place, as many tokens at a time as a field has room for. */
static void project_output(const struct flight *t)
{
    const struct heads_problem *of = t->plan->of;
    const struct lisa_fast *f = t->plan->state;
    size_t C = of->C, tokens = t->images * of->N, to = flight_to(t, tokens), panel = f->field_reals / C;
    real *copy = scratch_of(t).field;

    if (!of->w_o) return;
    for (size_t n = flight_from(t, tokens); n < to; n += panel) {
        size_t rows = to - n < panel ? to - n : panel;
        memcpy(copy, t->y + n * C, rows * C * sizeof *copy);
        linear_map(t->y + n * C, C, copy, C, of->w_o, of->b_o, rows, C, C);
    }
}

/* ---- the key's side ----------------------------------------------------------- */

/* Leaves a row's products with the query; parts come exchanged. */
struct contraction { real *row; const real *query; size_t stride, tokens; point bias; };

INLINED void store_products(void *sink, size_t i, point z)
{
    const struct contraction *s = sink;
    if (i >= s->tokens) return;
    lanes q = lanes_load_anywhere(s->query + i * s->stride);
    line_store(s->row, i, (point){q * (z.im + s->bias.re), q * (z.re + s->bias.im)});
}

static void leave_products(const struct lane_stage *stage, void *line, void *sink)
{
    struct contraction own = *(struct contraction *)sink;
    lane_stage_through(stage, line_load, line, store_products, &own);
}

/* The sums over the lanes of L vectors that are `stride` reals apart. */
INLINED lanes sums(const real *from, size_t stride)
{
    lanes s[LANES];
    for (size_t n = 0; n < LANES; n++) s[n] = lanes_load(from + n * stride);
    for (size_t left = LANES; left > 1; left /= 2)
        for (size_t n = 0; n < left / 2; n++) s[n] = lanes_add_neighbours(s[2 * n], s[2 * n + 1]);
    return s[0];
}

/* a[n,d], a[n,d+1] += sum_c q[n,c] (G[n,c] + b[c]), one block of c: the rows of the
 * field to their end, and the sums over the lanes. */
static void contract(const struct lane_grid *g, real *a, size_t a_row, real *field,
                     const real *query, size_t stride, const real *bias, const struct scratch *s)
{
    size_t W = g->tokens[2];
    struct contraction sink = {s->row, query, stride, W, {lanes_load(bias), lanes_load(bias + LANES)}};

    memset(s->row + W * POINT, 0, LANES * POINT * sizeof *s->row);
    for (size_t t = 0; t < g->tokens[0]; t++)
        for (size_t m = 0; m < g->tokens[1]; m++) {
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            lane_pass(&g->fft[2], lane_line, row, leave_products, &sink, s->line);
            for (size_t x = 0; x < W; x += LANES)
                for (size_t part = 0; part < 2; part++) {
                    real *to = a + part * a_row + x;
                    lanes more = sums(s->row + x * POINT + part * LANES, POINT);
                    lanes_store_anywhere(to, lanes_load_anywhere(to) + more);
                }
            sink.query += W * stride;
            a += W;
        }
}

/* The spectra of all blocks of the keys, which y holds. */
static void key_spectra(const struct flight *t)
{
    const struct heads_problem *of = t->plan->of;
    const struct lisa_fast *f = t->plan->state;
    size_t blocks = f->kernels.blocks, tasks = t->images * of->h * blocks;
    struct scratch s = scratch_of(t);

    for (size_t task = flight_from(t, tasks); task < flight_to(t, tasks); task++)
        lane_grid_spectrum(&f->grid, f->spectra + task * f->grid.half * POINT,
                           t->y + head_at(of, task / blocks) + task % blocks * LANES,
                           of->C, block_channels(of, task % blocks), s.field, s.line);
}

/* All of a, from the queries, which y holds.  A thread owns some of the (pair,
 * image, head) and takes all blocks of theirs, so that sums have one order. */
static void key_side(const struct flight *t)
{
    const struct lisa_problem *p = t->plan->of;
    const struct heads_problem *of = &p->heads;
    const struct lisa_fast *f = t->plan->state;
    const struct lisa_kernels *k = &f->kernels;
    const struct lane_grid *g = &f->grid;
    size_t items = t->images * of->h, tasks = k->pairs * items;
    bool one_for_all = p->equation == 5;
    struct scratch s = scratch_of(t);

    for (size_t block = 0; block < k->blocks; block++)
        for (size_t task = flight_from(t, tasks); task < flight_to(t, tasks); task++) {
            size_t pair = task / items, item = task % items, channels = block_channels(of, block), stride = of->C;
            const real *kernel = one_for_all ? k->key + pair * g->points * 2
                                             : k->key + (block * k->pairs + pair) * g->points * POINT;
            real *a = f->a + (item * k->pairs + pair) * 2 * f->a_row;
            const real *q = t->y + head_at(of, item) + block * LANES;

            /* Step 1: a block that does not fill the lanes is copied beside zeros. */
            if (channels < LANES) {
                for (size_t n = 0; n < of->N; n++)
                    lanes_store(s.query + n * LANES, lanes_load_part(q + n * stride, channels));
                q = s.query;
                stride = LANES;
            }

            /* Step 2: product, inverse, contraction. */
            if (block == 0) memset(a, 0, 2 * f->a_row * sizeof *a);
            lane_grid_multiply(g, s.field, f->spectra + (item * k->blocks + block) * g->half * POINT,
                               kernel, one_for_all, s.line);
            contract(g, a, f->a_row, s.field, q, stride, k->key_bias + (block * k->pairs + pair) * POINT, &s);
        }
}

/* Tokens [images][N][C] in y as rows [images][h][c][a_row], a head's last one
 * followed by zeros where c is odd. */
static void by_channel(const struct flight *t, real *rows)
{
    const struct heads_problem *of = t->plan->of;
    const struct lisa_fast *f = t->plan->state;
    size_t items = t->images * of->h, channels = 2 * f->kernels.pairs;

    for (size_t item = flight_from(t, items); item < flight_to(t, items); item++)
        for (size_t c = 0; c < channels; c++) {
            real *row = rows + (item * channels + c) * f->a_row;
            const real *from = t->y + head_at(of, item) + c;
            for (size_t n = 0; n < of->N; n++) row[n] = c < of->c ? from[n * of->C] : 0;
        }
}

/* ---- the value's side --------------------------------------------------------- */

/* Adds a row of the field, weighed with two latents, to the block's sums. */
struct accumulation { real *sum; const real *a0, *a1; size_t tokens; point bias; };

INLINED void store_weighed(void *sink, size_t i, point z)
{
    const struct accumulation *s = sink;
    if (i >= s->tokens) return;
    real *to = s->sum + i * LANES;
    lanes_store(to, lanes_load(to) + (z.im + s->bias.re) * s->a0[i] + (z.re + s->bias.im) * s->a1[i]);
}

static void leave_weighed(const struct lane_stage *stage, void *line, void *sink)
{
    struct accumulation own = *(struct accumulation *)sink;
    lane_stage_through(stage, line_load, line, store_weighed, &own);
}

static void accumulate(const struct lane_grid *g, real *sum, const real *a, size_t a_row,
                       real *field, const real *bias, real *line)
{
    size_t W = g->tokens[2];
    struct accumulation sink = {sum, a, a + a_row, W, {lanes_load(bias), lanes_load(bias + LANES)}};

    for (size_t t = 0; t < g->tokens[0]; t++)
        for (size_t m = 0; m < g->tokens[1]; m++) {
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            lane_pass(&g->fft[2], lane_line, row, leave_weighed, &sink, line);
            sink.sum += W * LANES;
            sink.a0 += W;
            sink.a1 += W;
        }
}

/* The values in y become the heads' output, block by block. */
static void value_side(const struct flight *t)
{
    const struct lisa_problem *p = t->plan->of;
    const struct heads_problem *of = &p->heads;
    const struct lisa_fast *f = t->plan->state;
    const struct lisa_kernels *k = &f->kernels;
    const struct lane_grid *g = &f->grid;
    size_t tasks = t->images * of->h * k->blocks;
    struct scratch s = scratch_of(t);
    real *spectrum = f->spectra + 2 * t->thread * g->half * POINT, *sum = spectrum + g->half * POINT;

    for (size_t task = flight_from(t, tasks); task < flight_to(t, tasks); task++) {
        size_t item = task / k->blocks, block = task % k->blocks, channels = block_channels(of, block);
        real *tokens = t->y + head_at(of, item) + block * LANES;

        /* Step 1: all latents, or in Eq. 4 all channels of the query, two at a time. */
        if (p->equation != 4) lane_grid_spectrum(g, spectrum, tokens, of->C, channels, s.field, s.line);
        memset(sum, 0, of->N * LANES * sizeof *sum);
        for (size_t pair = 0; pair < k->pairs; pair++) {
            size_t rows = (item * k->pairs + pair) * 2 * f->a_row;
            const real *rpe = k->value + (k->tables > 1 ? item % of->h : 0) * g->points * 2;
            if (p->equation == 4)
                lane_grid_filter(g, s.field, tokens, of->C, channels,
                                 f->keys + rows, f->keys + rows + f->a_row, rpe, s.line);
            else
                lane_grid_multiply(g, s.field, spectrum, k->value + pair * g->points * 2, true, s.line);
            accumulate(g, sum, f->a + rows, f->a_row, s.field,
                       k->value_bias + (block * k->pairs + pair) * POINT, s.line);
        }

        /* Step 2: the sums, where the values were. */
        for (size_t n = 0; n < of->N; n++)
            memcpy(tokens + n * of->C, sum + n * LANES, channels * sizeof *tokens);
    }
}

/* ---- the form ------------------------------------------------------------------ */

/* y is workspace until its turn, and so must be dense. */
static void fly(const struct flight *t)
{
    const struct lisa_problem *p = t->plan->of;
    const struct lisa_fast *f = t->plan->state;

    /* Step 1: the key, in y; its spectra, or in Eq. 4 itself, channel by channel. */
    project(t, KEY);
    flight_meet(t);
    if (p->equation == 4) by_channel(t, f->keys);
    else key_spectra(t);
    flight_meet(t);

    /* Step 2: the query, in y; a, or in Eq. 4 the query itself. */
    project(t, QUERY);
    flight_meet(t);
    if (p->equation == 4) by_channel(t, f->a);
    else key_side(t);
    flight_meet(t);

    /* Step 3: the value, in y, and what it becomes with a. */
    project(t, VALUE);
    flight_meet(t);
    value_side(t);
    flight_meet(t);
    project_output(t);
}

/* Small windows go another way, with another state (local.h). */
union state { struct lisa_fast circles; struct lisa_local local; };

static status run(struct plan *plan, real *y, const real *x)
{
    if (lisa_local_is_cheaper(plan->of)) return lisa_local_run(plan, y, x);
    const struct heads_problem *of = plan->of;
    const struct lisa_fast *f = plan->state;
    const struct batch batch = {
        .images = of->B, .x_image = of->N * of->C, .y_image = of->N * of->C, .in_flight = f->in_flight,
    };
    return flights_run(plan, y, x, &batch, fly);
}

static status prepare(struct plan *plan)
{
    if (lisa_local_is_cheaper(plan->of)) return lisa_local_prepare(plan);
    const struct lisa_problem *p = plan->of;
    struct lisa_fast *f = plan->state;
    struct room *room = &plan->room;
    const struct lisa_kernels *k = &f->kernels;
    const struct lane_grid *g = &f->grid;
    size_t N = p->heads.N, C = p->heads.C;

    /* Step 1: the circles, and the spectra of the kernels. */
    lane_grid_prepare(&f->grid, room, &p->g, &p->window, p->wraps);
    lisa_kernels_prepare(&f->kernels, room, p, &f->grid);

    /* Step 2: what a run works in.  A field must hold a token, for the last projection. */
    f->in_flight = images_in_flight(N, p->heads.B);
    f->a_row = (N + LANES - 1) / LANES * LANES + LANES;
    f->field_reals = g->field * POINT > C ? g->field * POINT : C;
    bool rpe = p->equation == 4;
    size_t heads = f->in_flight * p->heads.h, threads = (size_t)plan->threads, blocks = rpe ? 0 : heads * k->blocks;
    if (blocks < 2 * threads) blocks = 2 * threads;
    room_reals(room, OF_RUN, &f->a, "the structure vectors", heads, k->pairs, 2, f->a_row);
    room_reals(room, OF_RUN, &f->keys, "the key, channel by channel", rpe ? heads : 0, k->pairs, 2, f->a_row);
    room_reals(room, OF_RUN, &f->spectra, "the spectra of the blocks", blocks, g->half, POINT, 1);
    room_reals(room, OF_THREAD, &f->field, "a field", f->field_reals, 1, 1, 1);
    room_reals(room, OF_THREAD, &f->line, "a line and its copy", 2 * g->line, POINT, 1, 1);
    room_reals(room, OF_THREAD, &f->row, "a row of a field", g->size[2] + LANES, POINT, 1, 1);
    room_reals(room, OF_THREAD, &f->query, "a block of the query", p->heads.c % LANES ? N : 0, LANES, 1, 1);
    return room_status(room);
}

static status load(struct plan *plan)
{
    if (lisa_local_is_cheaper(plan->of)) return lisa_local_load(plan);
    struct lisa_fast *f = plan->state;
    lane_grid_load(&f->grid);
    lisa_kernels_load(&f->kernels, plan->of, &f->grid);
    return status_ok();
}

static double multiply_adds(const void *of)
{
    return lisa_local_is_cheaper(of) ? lisa_local_multiply_adds(of) : circulant_multiply_adds(of, true);
}

const struct form lisa_fast = {"fast", sizeof(union state), prepare, load, run, NULL, multiply_adds};
