/* msa.c -- self-attention as a ladder: six steps from the plain form to nearly the fast one
 *
 *     i  queries     j  keys     N of both     ch  channels, c of them
 *
 *   plain       The core of the plain form: a query meets its keys tile by tile.  Each addition waits for the previous.
 *   order       The same sums with inner loops over adjacent numbers, so that the compiler vectorises them.
 *   blocks      Two loops exchanged: a tile of keys and values meets a block of queries while it is in the cache.
 *   lanes       A query in each lane.  The exponential is vector arithmetic; keys are read without a copy.
 *   registers   Several keys meet several vectors of queries, and their sums stay in registers.
 *   threads     The threads share the blocks.
 *
 * Windows, embeddings and a ghost head are rejected.  Contract: reference/msa.h. */

#include <string.h>
#include <tgmath.h>
#include "../../fast/attention.h"
#include "../../fast/tuned/exponential.h"
#include "../../reference/msa.h"
#include "steps.h"

enum { TILE = 64, BLOCK = 32 };         /* keys of a tile, queries of a block */
enum { WIDE = 3 };                      /* vectors of queries in registers */
#if LANE_REGISTERS == 32
enum { ROWS = 8 };                      /* keys or channels: ROWS x WIDE is 24 of 32 registers, or 12 of 16 */
#else
enum { ROWS = 4 };
#endif

#define LOWEST (-REAL_MAX)

struct climb {
    struct heads heads;
    real *keys;                 /* [tiles][c][TILE], channel by channel */
    real *scores;               /* of a tile */
    real *q, *o;                /* the queries at hand, and their weighted sums of values */
    real scale;                 /* times log2(e), for powers of two */
};
HEADS_FIRST(struct climb);

/* a_n += w b_n over adjacent numbers, which a compiler vectorises. */
static void add(real *restrict a, real w, const real *restrict b, size_t count)
{
    for (size_t n = 0; n < count; n++) a[n] += w * b[n];
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t whole(size_t count, size_t multiple) { return (count + multiple - 1) / multiple; }

static void transpose_keys(real *keys, const struct head *head, size_t N, size_t c)
{
    for (size_t j = 0; j < N; j++)
        for (size_t ch = 0; ch < c; ch++)
            keys[j / TILE * TILE * c + ch * TILE + j % TILE] = head->k[j * head->kv_stride + ch];
}

/* ---- 1. plain ---------------------------------------------------------------------- */

static void plain(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    for (size_t i = 0; i < p->heads.N; i++)
        attention_query(head->y + i * head->y_stride, head->q + i * head->q_stride, head->k, head->v, head->kv_stride,
                        NULL, p->scale, p->heads.N, p->heads.c);
}

/* ---- 2. order ---------------------------------------------------------------------- */

static void begin(real *q, real *y_i, const struct head *head, size_t i, real scale, size_t c)
{
    for (size_t ch = 0; ch < c; ch++) {
        q[ch] = scale * head->q[i * head->q_stride + ch];
        y_i[ch] = 0;
    }
}

/* The running softmax of a query: its largest score so far, and the sum of its weights relative to it.  y_i has the
 * weighted sum of values. */
struct running { real top, sum; };

static void meet(struct running *g, real *y_i, real *a, const real *q, const real *keys, const struct head *head,
                 size_t first, size_t count, size_t c)
{
    /* Step 1: the scores of a tile, a channel at a time. */
    for (size_t j = 0; j < count; j++) a[j] = 0;
    for (size_t ch = 0; ch < c; ch++) add(a, q[ch], keys + ch * TILE, count);

    /* Step 2: the new maximum rescales the sums. */
    real before = g->top;
    for (size_t j = 0; j < count; j++)
        if (a[j] > g->top) g->top = a[j];
    real shrink = exp(before - g->top);
    g->sum *= shrink;
    for (size_t ch = 0; ch < c; ch++) y_i[ch] *= shrink;

    /* Step 3: the channels of the output, a value at a time. */
    for (size_t j = 0; j < count; j++) {
        real weight = exp(a[j] - g->top);
        g->sum += weight;
        add(y_i, weight, head->v + (first + j) * head->kv_stride, c);
    }
}

static void order(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c;
    real *keys = head_thread(head, f->keys), *a = head_thread(head, f->scores), *q = head_thread(head, f->q);
    transpose_keys(keys, head, N, c);

    for (size_t i = 0; i < N; i++) {
        real *y_i = head->y + i * head->y_stride;
        struct running g = {LOWEST, 0};
        begin(q, y_i, head, i, p->scale, c);
        for (size_t j = 0; j < N; j += TILE) meet(&g, y_i, a, q, keys + j * c, head, j, least(TILE, N - j), c);
        for (size_t ch = 0; ch < c; ch++) y_i[ch] /= g.sum;
    }
}

/* ---- 3. blocks ------------------------------------------------------------------------ */

static void blocks(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c;
    real *keys = head_thread(head, f->keys), *a = head_thread(head, f->scores), *q = head_thread(head, f->q);
    transpose_keys(keys, head, N, c);

    for (size_t first = 0; first < N; first += BLOCK) {
        size_t queries = least(BLOCK, N - first);
        real *y = head->y + first * head->y_stride;
        struct running g[BLOCK];
        for (size_t i = 0; i < queries; i++) {
            begin(q + i * c, y + i * head->y_stride, head, first + i, p->scale, c);
            g[i] = (struct running){LOWEST, 0};
        }
        for (size_t j = 0; j < N; j += TILE)
            for (size_t i = 0; i < queries; i++)
                meet(&g[i], y + i * head->y_stride, a, q + i * c, keys + j * c, head, j, least(TILE, N - j), c);
        for (size_t i = 0; i < queries; i++)
            for (size_t ch = 0; ch < c; ch++) y[i * head->y_stride + ch] /= g[i].sum;
    }
}

/* ---- 4. lanes ------------------------------------------------------------------------- */

/* Loads queries from `first` on into q [c][vectors], zeros in lanes after the last. */
static void enter(vec *q, const struct head *head, size_t first, size_t queries, size_t vectors, real scale, size_t c)
{
    for (size_t ch = 0; ch < c; ch++)
        for (size_t v = 0; v < vectors; v++) q[ch * vectors + v] = (vec){0};
    for (size_t i = 0; i < queries; i++)
        for (size_t ch = 0; ch < c; ch++)
            q[ch * vectors + i / LANES][i % LANES] = scale * head->q[(first + i) * head->q_stride + ch];
}

static void leave(const struct head *head, size_t first, size_t queries, const vec *o, const vec *sum,
                  size_t vectors, size_t c)
{
    for (size_t ch = 0; ch < c; ch++)
        for (size_t v = 0; v < vectors; v++) {
            vec mean = o[ch * vectors + v] / sum[v];
            for (size_t i = v * LANES; i < queries && i < (v + 1) * LANES; i++)
                head->y[(first + i) * head->y_stride + ch] = mean[i % LANES];
        }
}

/* As struct running, for the query of each lane; o has the weighted sums of values. */
struct running_lanes { vec top, sum, *o; };

/* Keys and values, in place in the projection. */
struct tile { const real *k, *v; size_t stride, count; };

static struct tile tile_at(const struct head *head, size_t first, size_t N)
{
    size_t at = first * head->kv_stride;
    return (struct tile){head->k + at, head->v + at, head->kv_stride, least(TILE, N - first)};
}

/* meet, for the queries of all lanes. */
static void meet_lanes(struct running_lanes *g, vec *s, const vec *q, const struct tile *t, size_t c)
{
    /* Step 1: scores, as exponents of 2.  Each number of a key multiplies the queries of all lanes. */
    for (size_t j = 0; j < t->count; j++) {
        vec score = {0};
        for (size_t ch = 0; ch < c; ch++) score += t->k[j * t->stride + ch] * q[ch];
        s[j] = score;
    }

    /* Step 2: each lane has its own maximum, and is rescaled by itself. */
    vec before = g->top;
    for (size_t j = 0; j < t->count; j++) g->top = vec_max(s[j], g->top);
    vec shrink = exp2_vec(before - g->top);
    g->sum *= shrink;
    for (size_t ch = 0; ch < c; ch++) g->o[ch] *= shrink;

    /* Step 3: the weights, and the weighted sum of values. */
    for (size_t j = 0; j < t->count; j++) {
        vec weight = exp2_vec(s[j] - g->top);
        g->sum += weight;
        for (size_t ch = 0; ch < c; ch++) g->o[ch] += t->v[j * t->stride + ch] * weight;
    }
}

static void in_lanes(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c;
    vec *s = (vec *)head_thread(head, f->scores), *q = (vec *)head_thread(head, f->q);
    vec *o = (vec *)head_thread(head, f->o);
    for (size_t first = 0; first < N; first += LANES) {
        size_t queries = least(LANES, N - first);
        struct running_lanes g = {(vec){0} + LOWEST, {0}, o};
        enter(q, head, first, queries, 1, f->scale, c);
        memset(o, 0, c * sizeof *o);
        for (size_t j = 0; j < N; j += TILE) {
            const struct tile tile = tile_at(head, j, N);
            meet_lanes(&g, s, q, &tile, c);
        }
        leave(head, first, queries, o, &g.sum, 1, c);
    }
}

/* ---- 5. registers ---------------------------------------------------------------------- */

/* out_r += sum_t a_rt b_t for `rows` rows of WIDE vectors.  Callers pass a constant for rows, so that the sums stay in
 * registers. */
INLINED void some_rows(vec *out, const real *a, size_t row_step, size_t term_step, const vec *b, size_t terms,
                       size_t rows)
{
    vec sum[ROWS][WIDE];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < WIDE; v++) sum[r][v] = (vec){0};
    for (size_t t = 0; t < terms; t++) {
        vec held[WIDE];
        for (size_t v = 0; v < WIDE; v++) held[v] = vec_in_register(b[t * WIDE + v]);
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < WIDE; v++) sum[r][v] += a[r * row_step + t * term_step] * held[v];
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < WIDE; v++) out[r * WIDE + v] += sum[r][v];
}

static void product(vec *out, const real *a, size_t row_step, size_t term_step, const vec *b, size_t terms,
                    size_t rows)
{
    for (; rows >= ROWS; rows -= ROWS, a += ROWS * row_step, out += ROWS * WIDE)
        some_rows(out, a, row_step, term_step, b, terms, ROWS);
    for (; rows > 0; rows--, a += row_step, out += WIDE) some_rows(out, a, row_step, term_step, b, terms, 1);
}

/* One block of WIDE vectors of queries, against all keys. */
static void one_block(const struct head *head, size_t block)
{
    const struct msa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, first = block * WIDE * LANES, queries = least(WIDE * LANES, N - first);
    vec *s = (vec *)head_thread(head, f->scores), *q = (vec *)head_thread(head, f->q);
    vec *o = (vec *)head_thread(head, f->o);
    vec top[WIDE], sum[WIDE], shrink[WIDE];

    enter(q, head, first, queries, WIDE, f->scale, c);
    memset(o, 0, c * WIDE * sizeof *o);
    for (size_t w = 0; w < WIDE; w++) {
        top[w] = (vec){0} + LOWEST;
        sum[w] = (vec){0};
    }
    for (size_t j = 0; j < N; j += TILE) {
        const struct tile t = tile_at(head, j, N);

        /* Step 1: the scores, a product of keys and queries. */
        memset(s, 0, t.count * WIDE * sizeof *s);
        product(s, t.k, t.stride, 1, q, c, t.count);

        /* Step 2: maxima, weights and their sums, as before. */
        for (size_t w = 0; w < WIDE; w++) {
            vec before = top[w];
            for (size_t n = w; n < t.count * WIDE; n += WIDE) top[w] = vec_max(s[n], top[w]);
            shrink[w] = exp2_vec(before - top[w]);
            sum[w] *= shrink[w];
            for (size_t n = w; n < t.count * WIDE; n += WIDE) {
                s[n] = exp2_vec(s[n] - top[w]);
                sum[w] += s[n];
            }
        }
        for (size_t ch = 0; ch < c; ch++)
            for (size_t w = 0; w < WIDE; w++) o[ch * WIDE + w] *= shrink[w];

        /* Step 3: the values, a product with the weights. */
        product(o, t.v, 1, t.stride, s, t.count, c);
    }
    leave(head, first, queries, o, sum, WIDE, c);
}

static size_t blocks_of(const struct msa_problem *p) { return whole(p->heads.N, WIDE * LANES); }

static void in_registers(const struct head *head)
{
    for (size_t block = 0; block < blocks_of(head->plan->params); block++) one_block(head, block);
}

/* ---- 6. threads -------------------------------------------------------------------------- */

/* Each block is a part of the head; the next free thread takes it. */
static void one_part(const struct head *head) { one_block(head, head->part); }

/* ---- the forms around them --------------------------------------------------------------- */

static size_t tiles(size_t N) { return whole(N, TILE); }

static status prepare(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct climb *f = plan->state;
    size_t N = p->heads.N, c = p->heads.c, filled = tiles(N) * TILE, wide = WIDE * LANES;
    size_t step = 0;
    while (&msa_steps[step].form != plan->form) step++;

    /* Core and its parts; keys to transpose; rows and columns of scores; queries at a time. */
    const struct { void (*core)(const struct head *); size_t parts, keys, rows, columns, queries; } shape[] = {
        {plain, 1, 0, 0, 0, 0},
        {order, 1, filled, 1, TILE, 1},
        {blocks, 1, filled, 1, TILE, BLOCK},
        {in_lanes, 1, 0, TILE, LANES, LANES},
        {in_registers, 1, 0, TILE, wide, wide},
        {one_part, blocks_of(p), 0, TILE, wide, wide},
    }, *s = &shape[step];

    if (p->windows.edge || p->rpe || p->ghost.add)
        return bad_input("the ladder is of plain self-attention: no windows, no rpe, no ghost head");
    heads_prepare(plan, (struct core_options){.core = s->core, .parts = s->parts});
    arena_reals(&plan->arena, PER_THREAD, &f->keys, "the key, channel by channel", s->keys, c);
    arena_reals(&plan->arena, PER_THREAD, &f->scores, "the scores", s->rows, s->columns);
    arena_reals(&plan->arena, PER_THREAD, &f->q, "some queries", s->queries, c);
    arena_reals(&plan->arena, PER_THREAD, &f->o, "their weighted sums", s->queries, c);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct climb *f = plan->state;
    f->scale = p->scale * LOG2_E;
    return heads_load(plan);
}

/* ---- costs ----------------------------------------------------------------------------------- */

static double all_heads(const struct msa_problem *p) { return (double)p->heads.B * (double)p->heads.h; }

static double by_keys(const void *params)
{
    const struct msa_problem *p = params;
    double queries = all_heads(p) * (double)p->heads.N;
    return heads_multiply_adds(&p->heads) + queries * attention_query_multiply_adds(p->heads.N, p->heads.c);
}

/* Each tile rescales the sums; lanes without a query multiply too. */
static double tiles_met(const struct msa_problem *p, size_t together)
{
    double N = (double)p->heads.N, c = (double)p->heads.c, met = (double)(whole(p->heads.N, together) * together);
    return heads_multiply_adds(&p->heads) +
           all_heads(p) * (met * N * 2 * c + N * c + met * (double)tiles(p->heads.N) * (c + 1));
}

static double one_by_one(const void *params) { return tiles_met((const struct msa_problem *)params, 1); }
static double by_lanes(const void *params) { return tiles_met((const struct msa_problem *)params, LANES); }
static double by_registers(const void *params) { return tiles_met((const struct msa_problem *)params, WIDE * LANES); }

/* Reals for each pair of a query and a key, step by step. */
struct traffic msa_traffic(const void *params, int step)
{
    const struct msa_problem *p = params;
    double N = (double)p->heads.N, c = (double)p->heads.c, L = LANES, wide = WIDE * L;
    const struct traffic of_pair[] = {
        /* A channel reads q and k, then weight and v.  A weight is written, read and written, sums once per tile. */
        {4 * c + 3 + 2 * c / ATTENTION_QUERY_TILE, 2 * c},
        /* Each product reads and writes its sum, and reads one factor. */
        {6 * c + 4 + 2 * c / TILE, 2 * c},
        /* Keys and values are read once per block. */
        {6 * c + 4 + 2 * c / TILE, 2 * c / BLOCK},
        /* All lanes share a number of key and value.  A query is read; a sum is read and written. */
        {2 * c / L + 3 * c + 3 + 2 * c / TILE, 2 * c / L},
        /* In both products, WIDE vectors share a number, and ROWS sums share a vector. */
        {2 * c / wide + 2 * c / ROWS + 6 + 4 * c / TILE, 2 * c / wide},
        {2 * c / wide + 2 * c / ROWS + 6 + 4 * c / TILE, 2 * c / wide},
    };
    double pairs = all_heads(p) * N * N * sizeof(real);
    return (struct traffic){pairs * of_pair[step].asked, pairs * of_pair[step].moved};
}

#define STEP(name, cost) {#name, sizeof(struct climb), prepare, load, heads_run, NULL, cost}
const struct step msa_steps[] = {
    {"the plain form", STEP(plain, by_keys)},
    {"inner loops over neighbours", STEP(order, one_by_one)},
    {"a tile meets a block of queries", STEP(blocks, one_by_one)},
    {"a query for each lane", STEP(lanes, by_lanes)},
    {"sums stay in registers", STEP(registers, by_registers)},
    {"blocks for all threads", STEP(threads, by_registers)},
    {NULL, {0}}
};
