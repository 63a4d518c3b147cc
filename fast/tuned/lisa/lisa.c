/* lisa.c -- LiSA by own FFTs, a block of channels in the lanes
 *
 *     a[n,d] = sum_c q[n,c] (Ga[n,c,d] + ba[c,d]),   Ga[.,c,d] = k[.,c] (*) wa[.,c,d]
 *     y[n,k] = sum_d a[n,d] (Gb[n,k,d] + bb[k,d]),   Gb[.,k,d] = v[.,k] (*) wb[.,d]
 *
 * (*) is the convolution on the circle of circulant.h, so that Eq. 10 and the exact Eq. 5-7 are one program.  An axis
 * that is no product of 2, 3, 5 and 7 moves to a larger circle.  Local kernels of Eq. 10 use circles as much larger
 * than the grid as the window reaches; small windows have a better way (local.h).  Beyond fftw.c:
 *
 * 1. LANES channels of one head are a block, transformed together.  Nothing is rearranged: tokens already lie that way.
 * 2. Two latents d, d+1 are one complex kernel, w_d + sqrt(-1) w_d+1.  A complex inverse transform serves two real
 *    convolutions, and of a block only half its spectrum is kept.
 * 3. The product is part of the way into the inverse transform, the contraction with q or a of the way out.  Between
 *    them lies one field, in the second cache.
 * 4. The sums over the lanes of query times field are taken from the registers of the last butterfly; the query lies in
 *    the order in which they meet it.
 * 5. The key's spectra lie in the order in which they are read, one stream.
 * 6. y is workspace: it holds k, then q, then v, then the output of the heads, which is projected in place.
 * 7. With one head W_o W_v is one matrix, made when the plan is loaded: a weighs tokens, all channels of a head alike.
 * 8. Places in tables are multiplied once (vec_fft.h); each part of a transform copies its arguments to a struct of
 *    its own (vec_pass.h).
 *
 * Tried without gain: many images together, which share each spectrum but not the second cache; spectra fetched a plane
 * ahead; columns side by side; two lines alternately; projections by panels of tokens.
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
    size_t chunk;           /* images */
    size_t rows, row;           /* of an image; points of a row on its circle */
    size_t a_reals;             /* of a pair's a: 2 rows row, and room for a vector behind it */
    size_t field_reals;         /* of a field, or of a token where that is more */
    real *a;                    /* [chunk][h][pairs][rows][row][2]; in Eq. 4 the query.  Points of a row here and
                                 * in `query` lie in lane_fft_order, behind the tokens zeros or never read */
    real *query;                /* [chunk][h][blocks][rows][row][L]; in Eq. 4 NULL */
    real *keys;                 /* in Eq. 4 the key, [chunk][h][2 pairs][N], else NULL */
    real *w_through, *b_through; /* one head: W_o W_v and W_o b_v, else NULL */
    real *bb_through;           /* W_o bb, while loading */
    real *spectra;              /* [half] points of each block of the key; later, in the room of two such for
                                 * each thread, those of a block of the value and its sums [N][L] */
    real *field, *line;         /* of each thread: vec_grid.h */
};

/* What the calling thread works in. */
struct scratch { real *field, *line; };

static struct scratch scratch_of(const struct team *t)
{
    const struct lisa_fast *f = t->plan->state;
    const struct arena *arena = &t->plan->arena;
    return (struct scratch){
        .field = arena_thread(arena, f->field, t->thread), .line = arena_thread(arena, f->line, t->thread),
    };
}

/* Where in [images][N][C] head number `item`, counted over all images, begins. */
static size_t head_at(const struct heads_problem *params, size_t item)
{
    return item / params->h * params->N * params->C + item % params->h * params->c;
}

/* Channels of this block of a head. */
static size_t block_channels(const struct heads_problem *params, size_t block)
{
    size_t left = params->c - block * LANES;
    return left < LANES ? left : LANES;
}

/* ---- projections ------------------------------------------------------------ */

enum third { QUERY, KEY, VALUE };

/* A row of queries, in y, normalised into blocks, in the order in which `contract` meets them. */
static void lay_queries(const struct team *t, size_t row)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t W = f->grid.tokens[2], blocks = f->kernels.blocks, block = f->rows * f->row * LANES;
    real *first = f->query + row / f->rows * params->h * blocks * block + row % f->rows * f->row * LANES;

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

/* y = x W^T + b for a third of w_qkv, some rows of tokens at a time; query and key are normalised while they are
 * near. */
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

/* y = y W_o^T + b_o in place, as many tokens at a time as a field has room for. */
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

/* Sums a row's products with the query over the lanes; parts come exchanged. */
struct contraction { real *a; const real *query; };

/* The two products of every point, side by side: a butterfly of 8 points leaves 16 vectors, whose sums
 * are one vector of 16 where there are 16 lanes.  Behind them zeros are added, to what comes next. */
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

/* Adds a bias to all points of a row that is still to be transformed: what is the same everywhere is
 * frequency 0, and one addition. */
INLINED void add_bias(real *row, const real *bias)
{
    const point z = line_load(row, 0);
    line_store(row, 0, (point){z.re + vec_load(bias + LANES), z.im + vec_load(bias)});
}

/* a[n,d], a[n,d+1] += sum_c q[n,c] (G[n,c] + b[c]), one block of c: the rows of the
 * field to their end, and the sums over the lanes. */
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

/* The spectra of all blocks of the keys, which y holds. */
static void key_spectra(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t blocks = f->kernels.blocks, tasks = t->images * params->h * blocks;
    struct scratch s = scratch_of(t);

    for (size_t task; team_next(t, tasks, &task);)
        lane_grid_spectrum(&f->grid, f->spectra + task * f->grid.half * POINT,
                           t->y + head_at(params, task / blocks) + task % blocks * LANES,
                           params->C, block_channels(params, task % blocks), s.field, s.line);
}

/* All of a, from the queries in their blocks.  All meet after each block, so that sums have one order. */
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
            real *a = f->a + (item * k->pairs + pair) * f->a_reals;

            if (block == 0) memset(a, 0, f->a_reals * sizeof *a);
            lane_grid_multiply(g, s.field, f->spectra + (item * k->blocks + block) * g->half * POINT,
                               kernel, one_for_all, s.line);
            contract(g, a, s.field, f->query + (item * k->blocks + block) * f->rows * f->row * LANES,
                     k->key_bias + (block * k->pairs + pair) * POINT, s.line);
        }
    }
}

/* Keys [images][N][C] in y as rows [images][h][c][N], a head's last one followed by zeros where c is odd. */
static void keys_by_channel(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t items = t->images * params->h, channels = 2 * f->kernels.pairs;

    for (size_t item; team_next(t, items, &item);)
        for (size_t c = 0; c < channels; c++) {
            real *row = f->keys + (item * channels + c) * params->N;
            const real *from = t->y + head_at(params, item) + c;
            for (size_t n = 0; n < params->N; n++) row[n] = c < params->c ? from[n * params->C] : 0;
        }
}

/* Queries in y as a, by pairs of channels likewise. */
static void queries_by_pair(const struct team *t)
{
    const struct heads_problem *params = t->plan->params;
    const struct lisa_fast *f = t->plan->state;
    size_t items = t->images * params->h, pairs = f->kernels.pairs, W = f->grid.tokens[2];

    for (size_t task; team_next(t, items * pairs, &task);) {
        size_t c = task % pairs * 2;
        const real *from = t->y + head_at(params, task / pairs) + c;
        real *to = f->a + task * f->a_reals;
        for (size_t row = 0; row < f->rows; row++)
            for (size_t j = 0; j < f->row; j++, to += 2) {
                size_t x = lane_fft_order(&f->grid.fft[2])[j] / POINT, token = (row * W + x) * params->C;
                to[0] = x < W ? from[token] : 0;
                to[1] = x < W && c + 1 < params->c ? from[token + 1] : 0;
            }
    }
}

/* ---- the value's side --------------------------------------------------------- */

/* Where sums of tokens lie, `step` reals from one to the next. */
struct sums { real *at; size_t step; };

/* Adds a row of the field, weighed with two latents, to what was summed before; each point taken moves
 * on the weights' place. */
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

/* The values in y become the heads' output, block by block. */
static void value_side(const struct team *t)
{
    const struct lisa_problem *p = t->plan->params;
    const struct heads_problem *params = &p->heads;
    const struct lisa_fast *f = t->plan->state;
    const struct lisa_kernels *k = &f->kernels;
    const struct vec_grid *g = &f->grid;
    size_t tasks = t->images * params->h * k->blocks;
    struct scratch s = scratch_of(t);
    real *spectrum = f->spectra + 2 * t->thread * g->half * POINT, *sum = spectrum + g->half * POINT;

    for (size_t task; team_next(t, tasks, &task);) {
        size_t item = task / k->blocks, block = task % k->blocks, channels = block_channels(params, block);
        real *tokens = t->y + head_at(params, item) + block * LANES;

        /* Step 1: all latents, or in Eq. 4 all channels of the query, two at a time.  The first
         * sums begin with what is added to all tokens; the last ones lie where the values were. */
        vec b_o[1] = {{0}};
        if (f->w_through && params->b_o) *b_o = vec_load_partial(params->b_o + block * LANES, channels);
        struct sums nothing = {(real *)b_o, 0}, between = {sum, LANES}, whole = {tokens, params->C};
        if (p->equation != 4) lane_grid_spectrum(g, spectrum, tokens, params->C, channels, s.field, s.line);
        for (size_t pair = 0; pair < k->pairs; pair++) {
            const real *even = arena_at(f->keys, (item * k->pairs + pair) * 2 * params->N);
            const real *rpe = k->value + (k->tables > 1 ? item % params->h : 0) * g->points * 2;
            if (p->equation == 4)
                lane_grid_filter(g, s.field, tokens, params->C, channels, even, even + params->N, rpe, s.line);
            else
                lane_grid_multiply(g, s.field, spectrum, k->value + pair * g->points * 2, true, s.line);
            bool last = pair + 1 == k->pairs && channels == LANES;
            accumulate(g, last ? whole : between, pair ? between : nothing,
                       f->a + (item * k->pairs + pair) * f->a_reals, s.field,
                       k->value_bias + (block * k->pairs + pair) * POINT, s.line);
        }

        /* Step 2: of a block that does not fill the lanes they still must go there. */
        for (size_t n = 0; channels < LANES && n < params->N; n++)
            memcpy(tokens + n * params->C, sum + n * LANES, channels * sizeof *tokens);
    }
}

/* ---- the form ------------------------------------------------------------------ */

/* y is workspace until its turn, and so must be dense. */
static void run_chunk(const struct team *t)
{
    const struct lisa_problem *p = t->plan->params;

    /* Step 1: the key, in y; its spectra, or in Eq. 4 itself, channel by channel. */
    project(t, KEY);
    team_barrier(t);
    if (p->equation == 4) keys_by_channel(t);
    else key_spectra(t);
    team_barrier(t);

    /* Step 2: the query, by blocks; a, or in Eq. 4 the query itself. */
    project(t, QUERY);
    team_barrier(t);
    if (p->equation == 4) queries_by_pair(t);
    else key_side(t);
    team_barrier(t);

    /* Step 3: the value, in y, and what it becomes with a. */
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
    };
    return batch_run(plan, y, x, &batch, run_chunk);
}

/* Whether W_o goes before the sums: what a weighs are tokens, all channels of one head alike, so
 * that W_o sum_d a_d (wb_d (*) v) = sum_d a_d (wb_d (*) W_o v), and W_o W_v is one matrix. */
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
    arena_reals(arena, LOAD_SCRATCH, &f->bb_through, "the value's bias, projected", through && p->bb ? C : 0,
               p->D);

    /* Step 2: what a run works in.  A field must hold a token, for the last projection. */
    f->chunk = chunk_images(N, p->heads.B);
    f->rows = g->tokens[0] * g->tokens[1];
    f->row = g->size[2];
    f->a_reals = 2 * f->rows * f->row / LANES * LANES + 2 * LANES;
    f->field_reals = g->field * POINT > C ? g->field * POINT : C;
    bool rpe = p->equation == 4;
    size_t heads = f->chunk * p->heads.h, threads = (size_t)plan->threads, blocks = rpe ? 0 : heads * k->blocks;
    if (blocks < 2 * threads) blocks = 2 * threads;
    arena_reals(arena, PER_RUN, &f->a, "the structure vectors", heads, k->pairs, f->a_reals);
    arena_reals(arena, PER_RUN, &f->query, "the query, block by block", rpe ? 0 : heads * k->blocks,
               f->rows, f->row, LANES);
    arena_reals(arena, PER_RUN, &f->keys, "the key, channel by channel", rpe ? heads : 0, k->pairs, 2, N);
    arena_reals(arena, PER_RUN, &f->spectra, "the spectra of the blocks", blocks, g->half, POINT);
    arena_reals(arena, PER_THREAD, &f->field, "a field", f->field_reals);
    arena_reals(arena, PER_THREAD, &f->line, "a line and its copy", 2 * g->line, POINT);
    return arena_status(arena);
}

static status circular_load(struct plan *plan)
{
    struct lisa_fast *f = plan->state;
    struct lisa_problem p = *(const struct lisa_problem *)plan->params;
    size_t C = p.heads.C;

    /* Step 1: value and output as one. */
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

/* ---- the cheaper of two ways, chosen in prepare ----------------------------- */

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

/* The state of either comes first. */
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
