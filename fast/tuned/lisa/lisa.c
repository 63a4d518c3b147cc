/* lisa.c -- LiSA by Fourier transforms of LANES channels at a time
 *
 *     a[n,d] = sum_c q[n,c] (Ga[n,c,d] + ba[c,d]),   Ga[.,c,d] = k[.,c] (*) wa[.,c,d]
 *     y[n,k] = sum_d a[n,d] (Gb[n,k,d] + bb[k,d]),   Gb[.,k,d] = v[.,k] (*) wb[.,d]
 *
 * (*) is the convolution on the circles of circulant.h, so Eq. 10 and the exact Eq. 5-7 share this code.  An axis whose
 * length is no product of 2, 3, 5 and 7 uses a larger circle.  Small windows do not use circles (local.h).
 *
 * 1. A block is LANES channels of one head, transformed together; channels of a token are already adjacent.
 * 2. Latents d and d + 1 are one complex kernel, w_d + sqrt(-1) w_d+1.  So one complex inverse transform gives two real
 *    convolutions.  A block is real, so only half of its spectrum is stored.
 * 3. The product of spectra is part of the first stage of the inverse transform; the contraction with q or a is part of
 *    the last.  The only array between them, a field, fits the second cache.
 * 4. The products of query and field are summed over the lanes in registers, right after the last butterfly.  The query
 *    is stored in the order of the results (lane_fft_order).
 * 5. The spectra of the key's kernels are stored in the order of use, as one stream.
 * 6. y is scratch: it holds k, then q, then v, then the output of the heads, which is projected in place.
 * 7. With one head, W_o W_v is one matrix, computed by load (see passes_through).
 * 8. With several threads and at least as many images, each thread computes whole images (batch.h).  Otherwise
 *    each block of the key needs a barrier, with few items between barriers.
 * 9. Tables hold offsets in reals, not indices (vec_fft.h).  Each part of a transform copies its arguments to a local
 *    struct (vec_pass.h).
 *
 * Tried without gain: many images together, which share each spectrum but not the second cache; prefetching spectra one
 * plane ahead; two columns together; two lines alternately; projections by panels of tokens; one channel at a time,
 * with tokens in the lanes.
 *
 * Contract: reference/lisa.h. */

#include <string.h>
#include "kernels.h"
#include "vec_pass.h"
#include "local.h"
#include "../forms.h"
#include "../activations.h"
#include "../transpose.h"
#include "../../../reference/runtime/batch.h"

struct lisa_fast {
    struct vec_grid grid;
    struct lisa_kernels kernels;
    size_t chunk;               /* images */
    bool per_thread;            /* one image per thread, each with its own `a`, query, keys and spectra */
    size_t rows, row;           /* rows of an image; points of a row on its circle */
    size_t a_reals;             /* reals of `a` for a pair: 2 * rows * row, and the overrun of a vector */
    size_t field_reals;         /* the larger of a field and a token */
    real *a;                    /* [chunk][h][pairs][rows][row][2]; in Eq. 4 the query.  The points of a row, here and
                                 * in `query`, are in lane_fft_order; those without a token are zero or never read */
    real *query;                /* [chunk][h][blocks][rows][row][L]; in Eq. 4 NULL */
    real *keys;                 /* in Eq. 4 the key, [chunk][h][2 pairs][N], else NULL */
    real *w_through, *b_through; /* with one head W_o W_v and W_o b_v, else NULL */
    real *bb_through;           /* W_o bb, only during load */
    real *spectra;              /* key side: [half] points for each block; value side, for each thread: [half] points
                                 * for a block's spectrum, and as much for its sums [N][L] */
    real *field, *line;         /* per thread: vec_grid.h */
};

struct scratch { real *field, *line; };

static struct scratch scratch_of(const struct team *t)
{
    const struct lisa_fast *f = t->plan->state;
    const struct arena *arena = &t->plan->arena;
    return (struct scratch){
        .field = arena_thread(arena, f->field, t->thread), .line = arena_thread(arena, f->line, t->thread),
    };
}

/* The part of a tensor that belongs to the images of this team. */
static real *slot_of(const struct team *t, real *tensor)
{
    return arena_thread(&t->plan->arena, tensor, t->slot);
}

/* The offset in [images][N][C] of head number `item`, counted over all images. */
static size_t head_at(const struct heads_problem *params, size_t item)
{
    return item / params->h * params->N * params->C + item % params->h * params->c;
}

static size_t block_channels(const struct heads_problem *params, size_t block)
{
    size_t left = params->c - block * LANES;
    return left < LANES ? left : LANES;
}

/* ---- projections ------------------------------------------------------------ */

enum third { QUERY, KEY, VALUE };

/* Normalises a row of queries, and copies it from y to the blocks of f->query, in lane_fft_order. */
static void lay_queries(const struct team *t, size_t row)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t W = f->grid.tokens[2], blocks = f->kernels.blocks, block = f->rows * f->row * LANES;
    real *first = slot_of(t, f->query) + row / f->rows * params->h * blocks * block + row % f->rows * f->row * LANES;

    for (size_t j = 0; j < f->row; j++) {
        size_t x = lane_fft_order(&f->grid.fft[2])[j] / POINT;
        for (size_t head = 0; head < params->h; head++) {
            const real *q = x < W ? t->y + (row * W + x) * params->C + head * params->c : NULL;
            real *to = first + head * blocks * block + j * LANES, scale = q ? normaliser(q, params->c) : 0;
            for (size_t b = 0; b < blocks; b++, to += block) {
                size_t channels = block_channels(params, b);
                vec part = {0};
                if (q && channels < LANES) part = vec_load_partial(q + b * LANES, channels);
                if (q && channels >= LANES) part = vec_loadu(q + b * LANES);
                vec_store(to, part * scale);
            }
        }
    }
}

/* y = x W^T + b for a third of w_qkv, a few rows of tokens at a time.  Query and key are normalised while they are in
 * the cache. */
static void project(const struct team *t, enum third third)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t C = params->C, W = f->grid.tokens[2];
    const real *weight = params->w_qkv + third * C * C, *bias = params->b_qkv ? params->b_qkv + third * C : NULL;
    bool laid = third == QUERY && f->query, normalised = third != VALUE && !laid;

    if (third == VALUE && f->w_through) {
        weight = f->w_through;
        bias = f->b_through;
    }
    for (size_t row, end; team_next_range(t, t->images * f->rows, (TEAM_TOKENS - 1) / W + 1, &row, &end);) {
        size_t from = row * W, tokens = end * W - from;
        linear_map(t->y + from * C, C, t->x + from * C, C, weight, bias, tokens, C, C);
        for (; laid && row < end; row++) lay_queries(t, row);
        for (size_t head = 0; normalised && head < tokens * params->h; head++)
            normalise_row(t->y + from * C + head * params->c, params->c);
    }
}

/* y = y W_o^T + b_o in place; a field holds a copy of some tokens. */
static void project_output(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t C = params->C, tokens = t->images * params->N, panel = f->field_reals / C;
    real *copy = scratch_of(t).field;

    if (!params->w_o || f->w_through) return;
    for (size_t n, end; team_next_range(t, tokens, panel < TEAM_TOKENS ? panel : TEAM_TOKENS, &n, &end);) {
        memcpy(copy, t->y + n * C, (end - n) * C * sizeof *copy);
        linear_map(t->y + n * C, C, copy, C, params->w_o, params->b_o, end - n, C, C);
    }
}

/* ---- the key's side ----------------------------------------------------------- */

/* Adds the products of a row and the query, summed over the lanes, to a.  Real and imaginary parts are exchanged. */
struct contraction { real *a; const real *query; };

/* Two products for every point: a butterfly of 8 points gives 16 vectors, whose sums are one vector of 16 lanes.  If
 * fewer results are left, zeros are added to the entries after them. */
INLINED void take_products(void *sink, size_t first, const point *z, size_t count)
{
    const struct contraction *s = sink;
    for (size_t group = 0; group < 2 * count; group += LANES) {
        real *to = s->a + 2 * first + group;
        vec product[LANES];
#pragma GCC unroll 16
        for (size_t n = 0; n < LANES; n++) {
            size_t k = (group + n) / 2;
            product[n] = (vec){0};
            if (k < count) product[n] = vec_load(s->query + (first + k) * LANES) * (n % 2 ? z[k].re : z[k].im);
        }
        vec_storeu(to, vec_loadu(to) + vec_sums(product));
    }
}

static void leave_products(const struct lane_stage *stage, void *line, void *sink)
{
    struct contraction local = *(struct contraction *)sink;
    lane_stage_taken(stage, line_load, line, take_products, &local);
}

/* Adds a bias to all points of a row before its transform: a constant is frequency 0, so it takes one addition. */
INLINED void add_bias(real *row, const real *bias)
{
    const point z = line_load(row, 0);
    line_store(row, 0, (point){z.re + vec_load(bias + LANES), z.im + vec_load(bias)});
}

/* a[n,d], a[n,d+1] += sum_c q[n,c] (G[n,c] + b[c]) for one block of c; also transforms the rows of the field. */
static void contract(const struct vec_grid *g, real *a, real *field, const real *query, const real *bias, real *line)
{
    size_t size = g->size[2];
    struct contraction sink = {a, query};

    for (size_t t = 0; t < g->tokens[0]; t++)
        for (size_t m = 0; m < g->tokens[1]; m++) {
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            add_bias(row, bias);
            vec_pass(&g->fft[2], lane_line, row, leave_products, &sink, line);
            sink.query += size * LANES;
            sink.a += 2 * size;
        }
}

static void key_spectra(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t blocks = f->kernels.blocks, tasks = t->images * params->h * blocks;
    struct scratch s = scratch_of(t);

    for (size_t task; team_next(t, tasks, &task);)
        lane_grid_spectrum(&f->grid, slot_of(t, f->spectra) + task * f->grid.half * POINT,
                           t->y + head_at(params, task / blocks) + task % blocks * LANES,
                           params->C, block_channels(params, task % blocks), s.field, s.line);
}

/* Computes a from the queries.  A barrier after each block keeps the order of summation fixed. */
static void key_side(const struct team *t)
{
    const struct lisa_problem *p = t->plan->params;
    const struct heads_problem *params = &p->heads;
    const struct lisa_fast *f = t->plan->state;
    const struct lisa_kernels *k = &f->kernels;
    const struct vec_grid *g = &f->grid;
    size_t items = t->images * params->h, tasks = k->pairs * items;
    bool one_for_all = p->equation == 5;
    struct scratch s = scratch_of(t);

    for (size_t block = 0; block < k->blocks; block++) {
        if (block) team_barrier(t);
        for (size_t task; team_next(t, tasks, &task);) {
            size_t pair = task / items, item = task % items;
            const real *kernel = one_for_all ? k->key + pair * g->points * 2
                                             : k->key + (block * k->pairs + pair) * g->points * POINT;
            real *a = slot_of(t, f->a) + (item * k->pairs + pair) * f->a_reals;

            if (block == 0) memset(a, 0, f->a_reals * sizeof *a);
            lane_grid_multiply(g, s.field, slot_of(t, f->spectra) + (item * k->blocks + block) * g->half * POINT,
                               kernel, one_for_all, s.line);
            contract(g, a, s.field, slot_of(t, f->query) + (item * k->blocks + block) * f->rows * f->row * LANES,
                     k->key_bias + (block * k->pairs + pair) * POINT, s.line);
        }
    }
}

/* Transposes the keys in y to [images][h][2 pairs][N]; if c is odd, the last row is zero. */
static void keys_by_channel(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t items = t->images * params->h, channels = 2 * f->kernels.pairs;

    for (size_t item; team_next(t, items, &item);)
        for (size_t c = 0; c < channels; c++) {
            real *row = slot_of(t, f->keys) + (item * channels + c) * params->N;
            const real *from = t->y + head_at(params, item) + c;
            for (size_t n = 0; n < params->N; n++) row[n] = c < params->c ? from[n * params->C] : 0;
        }
}

/* Copies the queries in y to a, by pairs of channels. */
static void queries_by_pair(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t items = t->images * params->h, pairs = f->kernels.pairs, W = f->grid.tokens[2];

    for (size_t task; team_next(t, items * pairs, &task);) {
        size_t c = task % pairs * 2;
        const real *from = t->y + head_at(params, task / pairs) + c;
        real *to = slot_of(t, f->a) + task * f->a_reals;
        for (size_t row = 0; row < f->rows; row++)
            for (size_t j = 0; j < f->row; j++, to += 2) {
                size_t x = lane_fft_order(&f->grid.fft[2])[j] / POINT, token = (row * W + x) * params->C;
                to[0] = x < W ? from[token] : 0;
                to[1] = x < W && c + 1 < params->c ? from[token + 1] : 0;
            }
    }
}

/* ---- the value's side --------------------------------------------------------- */

/* The sums of tokens, `step` reals apart. */
struct sums { real *at; size_t step; };

/* after = before + a row of the field, weighted with two latents.  Each stored point advances `a`. */
struct accumulation { struct sums before, after; const real *a; size_t tokens; };

INLINED void store_weighed(void *sink, size_t place, point z)
{
    struct accumulation *s = sink;
    size_t i = place / POINT;
    const real *a = s->a;
    s->a += 2;
    if (i >= s->tokens) return;
    vec before = vec_loadu(s->before.at + i * s->before.step);
    vec_storeu(s->after.at + i * s->after.step, before + z.im * a[0] + z.re * a[1]);
}

LANE_LEAVE(leave_weighed, struct accumulation, store_weighed)

static void accumulate(const struct vec_grid *g, struct sums after, struct sums before, const real *a,
                       real *field, const real *bias, real *line)
{
    size_t W = g->tokens[2];
    struct accumulation sink = {before, after, a, W};

    for (size_t t = 0; t < g->tokens[0]; t++)
        for (size_t m = 0; m < g->tokens[1]; m++) {
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            add_bias(row, bias);
            vec_pass(&g->fft[2], lane_line, row, leave_weighed, &sink, line);
            sink.before.at += W * before.step;
            sink.after.at += W * after.step;
            sink.a += 2 * g->size[2];
        }
}

static void value_side(const struct team *t)
{
    const struct lisa_problem *p = t->plan->params;
    const struct heads_problem *params = &p->heads;
    const struct lisa_fast *f = t->plan->state;
    const struct lisa_kernels *k = &f->kernels;
    const struct vec_grid *g = &f->grid;
    size_t tasks = t->images * params->h * k->blocks;
    struct scratch s = scratch_of(t);
    real *spectrum = f->per_thread ? arena_thread(&t->plan->arena, f->spectra, t->thread)
                                   : f->spectra + 2 * t->thread * g->half * POINT;
    real *sum = spectrum + g->half * POINT;

    for (size_t task; team_next(t, tasks, &task);) {
        size_t item = task / k->blocks, block = task % k->blocks, channels = block_channels(params, block);
        real *tokens = t->y + head_at(params, item) + block * LANES;

        /* Step 1: all latents, or in Eq. 4 all channels of the query, in pairs.  The first sums start from
         * zero, or with w_through from the output bias; the last sums of a whole block overwrite the values. */
        vec b_o[1] = {{0}};
        if (f->w_through && params->b_o) *b_o = vec_load_partial(params->b_o + block * LANES, channels);
        struct sums nothing = {(real *)b_o, 0}, between = {sum, LANES}, whole = {tokens, params->C};
        if (p->equation != 4) lane_grid_spectrum(g, spectrum, tokens, params->C, channels, s.field, s.line);
        for (size_t pair = 0; pair < k->pairs; pair++) {
            const real *even = arena_at(slot_of(t, f->keys), (item * k->pairs + pair) * 2 * params->N);
            const real *rpe = k->value + (k->tables > 1 ? item % params->h : 0) * g->points * 2;
            if (p->equation == 4)
                lane_grid_filter(g, s.field, tokens, params->C, channels, even, even + params->N, rpe, s.line);
            else
                lane_grid_multiply(g, s.field, spectrum, k->value + pair * g->points * 2, true, s.line);
            bool last = pair + 1 == k->pairs && channels == LANES;
            accumulate(g, last ? whole : between, pair ? between : nothing,
                       slot_of(t, f->a) + (item * k->pairs + pair) * f->a_reals, s.field,
                       k->value_bias + (block * k->pairs + pair) * POINT, s.line);
        }

        /* Step 2: copy the sums of a partial block to y. */
        for (size_t n = 0; channels < LANES && n < params->N; n++)
            memcpy(tokens + n * params->C, sum + n * LANES, channels * sizeof *tokens);
    }
}

/* ---- the form ------------------------------------------------------------------ */

/* y is scratch until the end, so it must be dense. */
static void run_chunk(const struct team *t)
{
    const struct lisa_problem *p = t->plan->params;

    /* Step 1: the key, in y; its spectra, or in Eq. 4 its transpose. */
    project(t, KEY);
    team_barrier(t);
    if (p->equation == 4) keys_by_channel(t);
    else key_spectra(t);
    team_barrier(t);

    /* Step 2: the query; a, or in Eq. 4 the query by pairs of channels. */
    project(t, QUERY);
    team_barrier(t);
    if (p->equation == 4) queries_by_pair(t);
    else key_side(t);
    team_barrier(t);

    /* Step 3: the value, in y; the output of the heads; the output projection. */
    project(t, VALUE);
    team_barrier(t);
    value_side(t);
    team_barrier(t);
    project_output(t);
}

static status circular_run(struct plan *plan, real *y, const real *x)
{
    const struct heads_problem *params = plan->params;
    const struct lisa_fast *f = plan->state;
    const struct batch batch = {
        .images = params->B, .x_image = params->N * params->C, .y_image = params->N * params->C, .chunk = f->chunk,
        .per_thread = f->per_thread,
    };
    return batch_run(plan, y, x, &batch, run_chunk);
}

/* True if W_o can be applied to v before the convolutions.  All channels of a head share a and wb, so with one head
 * W_o sum_d a_d (wb_d (*) v) = sum_d a_d (wb_d (*) W_o v), and W_o W_v is one matrix. */
static bool passes_through(const struct heads_problem *params)
{
    return params->h == 1 && params->w_o;
}

static status circular_prepare(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    const struct lisa_kernels *k = &f->kernels;
    const struct vec_grid *g = &f->grid;
    size_t N = p->heads.N, C = p->heads.C;

    /* Step 1: the circles, and the spectra of the kernels. */
    lane_grid_prepare(&f->grid, arena, &p->grid, &p->window, p->wraps);
    lisa_kernels_prepare(&f->kernels, arena, p, &f->grid);

    bool through = passes_through(&p->heads);
    arena_reals(arena, PERSISTENT, &f->w_through, "value and output projection as one", through ? C : 0, C);
    arena_reals(arena, PERSISTENT, &f->b_through, "their bias", through && p->heads.b_qkv ? C : 0);
    arena_reals(arena, LOAD_SCRATCH, &f->bb_through, "the value's bias, projected", through && p->bb ? C : 0, p->D);

    /* Step 2: the tensors of a run.  A field must hold at least one token, for the output projection. */
    size_t threads = (size_t)plan->threads;
    f->per_thread = threads > 1 && p->heads.B >= threads;
    f->chunk = f->per_thread ? 1 : chunk_images(N, p->heads.B);
    enum lifetime image = f->per_thread ? PER_THREAD : PER_RUN;
    f->rows = g->tokens[0] * g->tokens[1];
    f->row = g->size[2];
    f->a_reals = 2 * f->rows * f->row / LANES * LANES + 2 * LANES;
    f->field_reals = g->field * POINT > C ? g->field * POINT : C;
    bool rpe = p->equation == 4;
    size_t heads = f->chunk * p->heads.h, least = f->per_thread ? 2 : 2 * threads;
    size_t blocks = rpe ? 0 : heads * k->blocks;
    if (blocks < least) blocks = least;
    arena_reals(arena, image, &f->a, "the structure vectors", heads, k->pairs, f->a_reals);
    arena_reals(arena, image, &f->query, "the query, block by block", rpe ? 0 : heads * k->blocks,
               f->rows, f->row, LANES);
    arena_reals(arena, image, &f->keys, "the key, channel by channel", rpe ? heads : 0, k->pairs, 2, N);
    arena_reals(arena, image, &f->spectra, "the spectra of the blocks", blocks, g->half, POINT);
    arena_reals(arena, PER_THREAD, &f->field, "a field", f->field_reals);
    arena_reals(arena, PER_THREAD, &f->line, "a line and its copy", 2 * g->line, POINT);
    return arena_status(arena);
}

static status circular_load(struct plan *plan)
{
    struct lisa_fast *f = plan->state;
    struct lisa_problem p = *(const struct lisa_problem *)plan->params;
    size_t C = p.heads.C;

    /* Step 1: the combined projection. */
    if (f->w_through) linear_product(f->w_through, C, p.heads.w_o, C, p.heads.w_qkv + VALUE * C * C, C, C, C);
    if (f->b_through) linear_map(f->b_through, C, p.heads.b_qkv + VALUE * C, C, p.heads.w_o, NULL, 1, C, C);
    if (f->bb_through) {
        linear_product(f->bb_through, p.D, p.heads.w_o, C, p.bb, C, C, p.D);
        p.bb = f->bb_through;
    }

    /* Step 2: the circles, and the spectra of the kernels. */
    lane_grid_load(&f->grid);
    lisa_kernels_load(&f->kernels, &p, &f->grid);
    return status_ok();
}

static double circular_multiply_adds(const void *params)
{
    const struct heads_problem *heads = params;
    double C = (double)heads->C, output = (double)heads->B * (double)heads->N * C * C;
    return circulant_multiply_adds(params, true) - (passes_through(heads) ? output : 0);
}

/* ---- circular or local, chosen in prepare ------------------------------------ */

static const struct form circular = {
    .prepare = circular_prepare, .load = circular_load, .run = circular_run, .multiply_adds = circular_multiply_adds,
};
static const struct form local = {
    .prepare = lisa_local_prepare, .load = lisa_local_load, .run = lisa_local_run,
    .multiply_adds = lisa_local_multiply_adds,
};

static const struct form *cheaper(const struct lisa_problem *p)
{
    return lisa_local_is_cheaper(p) ? &local : &circular;
}

/* The state of the chosen form must come first. */
struct state {
    union { struct lisa_fast circular; struct lisa_local local; } of_form;
    const struct form *form;
};

static status prepare(struct plan *plan)
{
    struct state *state = plan->state;
    state->form = cheaper(plan->params);
    return state->form->prepare(plan);
}

static status load(struct plan *plan)
{
    const struct state *state = plan->state;
    return state->form->load(plan);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct state *state = plan->state;
    return state->form->run(plan, y, x);
}

static double multiply_adds(const void *params) { return cheaper(params)->multiply_adds(params); }

const struct form lisa_fast = {
    .name = "fast", .state = sizeof(struct state), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
