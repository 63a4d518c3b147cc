/* structsa.c -- StructSA in tiles: as ordinary attention over virtual tokens, or by the map
 *
 * The query does not depend on m, so it moves out of the sum (Eq. 15):
 *
 *     score_ijd = q_i . key_jd,           key_jdc   = sum_m hk_dmc k_{j+m,c}
 *     y_i       = sum_jd a_ijd value_jd,  value_jdc = sum_m hv_dmc v_{j+m,c}
 *
 * D depth-wise convolutions compute D virtual keys and values for each centre.  The rest is attention of N queries over
 * J D virtual tokens (fast/tuned/attention.c), which requests one tile of 96 keys at a time.  So neither all virtual
 * tokens nor all N x J D weights are in memory.
 *
 * 1. Blocks of queries are as large as the second cache allows, because each block computes all tiles again.
 * 2. A vector of a row is loaded once for up to eight filters (depthwise.h).
 * 3. The rows of the next tile are prefetched: they are far apart in the projection, and not in the second cache.
 * 4. Weights are repacked once (packed_linear.h), so the bits of a projected token do not depend on the threads.
 *
 * In Eq. 4 and 5 all channels share a filter.  So the sum over channels comes first for keys, and last for values, as
 * in the plain form.  If heads are so small that virtual tokens take fewer products, they are used.
 *
 *     score_ijd = sum_m uk_dm map_{i,j+m},  map_in    = q_i . k_n
 *     y_i       = sum_n merged_in v_n,      merged_in = sum_{j+m=n} sum_d uv_dm a_ijd
 *
 * 5. Lanes hold queries, as in attention.c.  A part is one group of queries, with its map and merged kernels.
 * 6. With 32 registers a loaded vector of the map serves up to nine detectors, one of weights up to nine entries.
 * 7. Off the grid is token N: zeros in the map, and in merged a row that is not read.
 *
 * Tried without gain: two centres for each load of the filters; the channels as the outermost loop of a tile.
 *
 * Contract: reference/structsa.h. */

#include "../../../reference/structsa.h"
#include <string.h>
#include "../attention.h"
#include "../attention_group.h"
#include "../exponential.h"
#include "../forms.h"
#include "../packed_linear.h"
#include "depthwise.h"

struct structsa_fast {
    struct virtual_tokens tokens;       /* by the map: only heads and windows */
    size_t block;                       /* queries in a block */
    real *workspace;                    /* per thread: attention_fast's */
    size_t tile;                        /* by the map: centres in a tile */
    size_t ahead;                       /* by the map: tokens from a centre to the end of its value window */
    real *map, *merged, *scores, *group;    /* by the map, per thread */
};

/* ---- virtual tokens ---------------------------------------------------------- */

static void make_tile(real *k, real *v, size_t first, size_t count, void *context)
{
    const struct head *head = context;
    const struct virtual_tokens *f = head->plan->state;

    depthwise_run(k, &f->keys, head->number, first, count, head->k, head->kv_stride);
    depthwise_run(v, &f->values, head->number, first, count, head->v, head->kv_stride);
    depthwise_prefetch(&f->keys, first + count, count, head->k, head->kv_stride);
    depthwise_prefetch(&f->values, first + count, count, head->v, head->kv_stride);
}

static void block_head(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_fast *f = head->plan->state;
    size_t first = head->part * f->block, left = p->heads.N - first;
    struct head source = *head;
    struct attention a = {
        .queries = p->heads.N, .keys = p->J * p->D, .channels = p->heads.c, .scale = p->scale,
        .q = head->q, .q_stride = head->q_stride, .fill = make_tile, .fill_context = &source,
    };
    attention_fast(head->y + first * head->y_stride, head->y_stride, &a, first, left < f->block ? left : f->block,
                   head_thread(head, f->workspace));
}

/* ---- the map ------------------------------------------------------------------ */

/* Scores in a tile of centres, for each query, and tokens in a tile of values: with a group's sums they fit into the
 * first cache. */
enum { SCORES = 48, VALUES = 64 };

/* Rows of WIDE sums in registers: at most 27 registers of 32, or 12 of 16. */
#if LANE_REGISTERS == 32
enum { EVEN_ROWS = 8, ODD_ROWS = 9 };
#else
enum { EVEN_ROWS = 4, ODD_ROWS = 3 };
#endif

/* out_r = sum_t a_rt b_t for `rows` rows r.  With `to`, the sum is added to row to[r] of out instead.  b_t is row t of
 * b, with `from` row from[t]. */
INLINED void tap_rows(vec *out, const int *to, const real *a, size_t row_step, size_t term_step, const vec *b,
                      const int *from, size_t terms, size_t rows, size_t vectors)
{
    vec sum[9][WIDE];

    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) sum[r][v] = to ? out[(size_t)to[r] * vectors + v] : (vec){0};
    for (size_t t = 0; t < terms; t++, a += term_step) {
        const vec *entry = b + (from ? (size_t)from[t] : t) * vectors;
        vec held[WIDE];
        for (size_t v = 0; v < vectors; v++) held[v] = vec_in_register(entry[v]);
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) sum[r][v] += a[r * row_step] * held[v];
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) out[(to ? (size_t)to[r] : r) * vectors + v] = sum[r][v];
}

/* The same for any number of rows. */
INLINED void taps(vec *out, const int *to, const real *a, size_t row_step, size_t term_step, const vec *b,
                  const int *from, size_t terms, size_t rows, size_t vectors)
{
    size_t r = 0;
#define ROWS(n) for (; r + n <= rows; r += n) \
        tap_rows(to ? out : out + r * vectors, to ? to + r : to, a + r * row_step, row_step, term_step, b, from, \
                 terms, n, vectors)
    if (rows % ODD_ROWS == 0) ROWS(ODD_ROWS);
    ROWS(EVEN_ROWS);
    ROWS(4);
    ROWS(1);
#undef ROWS
}

/* Centres j ... j + count - 1: scores and their softmax; adds the mixed aggregators to merged. */
INLINED void attend_tile(const struct group *g, vec *s, const vec *map, vec *merged, size_t reach, size_t j,
                         size_t count, const struct structsa_problem *p, const struct structsa_windows *w,
                         size_t vectors)
{
    for (size_t n = 0; n < count; n++)
        taps(s + n * p->D * vectors, NULL, w->hk, p->M, 1, map, w->keys.token + (j + n) * p->M, p->M, p->D, vectors);
    group_softmax(g, s, count * p->D, p->heads.c, merged, reach);
    for (size_t n = 0; n < count; n++)
        taps(merged, w->values.token + (j + n) * p->Mv, w->hv, 1, p->Mv, s + n * p->D * vectors, NULL, p->D, p->Mv,
             vectors);
}

/* The merged kernels of a group, and the sum of its weights.  merged is cleared up to token `reach`, just before its
 * first use, so that it is in the first cache. */
static void attend_centres(const struct group *g, vec *s, vec *map, vec *merged, const struct structsa_problem *p,
                           const struct structsa_fast *f)
{
    const struct structsa_windows *w = &f->tokens.windows;
    size_t N = p->heads.N, row = g->vectors * sizeof *map, reach = 0;
    size_t stretch = group_stretch((p->J - 1) / f->tile + 1) * f->tile;

    memset(map + N * g->vectors, 0, row);
    memset(merged + N * g->vectors, 0, row);
    for (size_t j = 0, count; j < p->J; j += count) {
        count = p->J - j < f->tile ? p->J - j : f->tile;
        size_t to = (size_t)w->values.token[(j + count - 1) * p->Mv + p->Mv / 2] + f->ahead + 1;
        if (to > N || j + count == p->J) to = N;
        memset(merged + reach * g->vectors, 0, (to - reach) * row);
        reach = to;
        if (g->vectors == WIDE) attend_tile(g, s, map, merged, reach, j, count, p, w, WIDE);
        else attend_tile(g, s, map, merged, reach, j, count, p, w, 1);
        if (j + count == p->J || (j + count) % stretch == 0) group_fold(g, p->heads.c);
    }
}

/* The groups of a block (one, unless it is the last): the map, all centres, all values. */
static void block_by_map(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_fast *f = head->plan->state;
    size_t first = head->part * f->block, N = p->heads.N, c = p->heads.c, stride = head->kv_stride;
    size_t end = first + f->block < N ? first + f->block : N, stretch = group_stretch((N - 1) / VALUES + 1) * VALUES;
    vec *map = (vec *)head_thread(head, f->map), *merged = (vec *)head_thread(head, f->merged);
    struct tile keys = {.k = head->k, .k_stride = stride, .keys = N};

    for (size_t i = first; i < end;) {
        struct group g = group_at((vec *)head_thread(head, f->group), i - first, end - first, c, 2);
        group_open(&g, head->q + i * head->q_stride, head->q_stride, c, p->scale * LOG2_E);
        group_scores(&g, map, &keys, c, false);
        attend_centres(&g, (vec *)head_thread(head, f->scores), map, merged, p, f);
        for (size_t n = 0; n < N; n += VALUES) {
            struct tile values = {.v = head->v + n * stride, .v_stride = stride, .keys = N - n};
            if (values.keys > VALUES) values.keys = VALUES;
            group_values(&g, merged + n * g.vectors, &values, c);
            if (n + values.keys == N || (n + VALUES) % stretch == 0) group_fold(&g, c);
        }
        group_close(&g, head->y + i * head->y_stride, head->y_stride, c);
        i += g.queries;
    }
}

/* ---- the form ------------------------------------------------------------------ */

/* Multiply-adds of a query and a head if detectors and aggregators act on its map. */
static double by_map_multiply_adds(const struct structsa_problem *p)
{
    return 2 * (double)p->heads.N * (double)p->heads.c + (double)p->J * (double)p->D * ((double)p->M + (double)p->Mv);
}

static bool by_map(const struct structsa_problem *p)
{
    return p->equation != 16 && by_map_multiply_adds(p) < 2 * (double)p->J * (double)p->D * (double)p->heads.c;
}

static void prepare_map(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N;

    f->block = WIDE * LANES;
    f->tile = p->D < SCORES ? SCORES / p->D : 1;
    f->ahead = (p->value_window.size[0] / 2 * p->grid.size[1] + p->value_window.size[1] / 2) * p->grid.size[2]
             + p->value_window.size[2] / 2;
    heads_prepare(plan, (struct core_options){block_by_map, .parts = (N - 1) / f->block + 1, .maps = &linear_packed});
    structsa_windows_prepare(&f->tokens.windows, arena, PERSISTENT, p);
    arena_reals(arena, PER_THREAD, &f->map, "the map of a group of queries", N + 1, f->block);
    arena_reals(arena, PER_THREAD, &f->merged, "the merged kernels of a group of queries", N + 1, f->block);
    arena_reals(arena, PER_THREAD, &f->scores, "a tile of scores", f->tile, p->D, f->block);
    arena_reals(arena, PER_THREAD, &f->group, "a group of queries", group_entries(p->heads.c), f->block);
}

static status prepare(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_fast *f = plan->state;

    if (by_map(p)) {
        prepare_map(plan);
        return arena_status(&plan->arena);
    }
    f->block = attention_block(p->heads.N, p->heads.c, p->heads.B * p->heads.h, (size_t)plan->threads);
    virtual_tokens_prepare(plan, (struct core_options){.core = block_head, .parts = (p->heads.N - 1) / f->block + 1});
    attention_prepare(&plan->arena, &f->workspace, p->heads.c, f->block);
    return arena_status(&plan->arena);
}

static void set_off_grid(struct neighbours *n, int token)
{
    for (size_t jm = 0; jm < n->centres * n->entries; jm++)
        if (n->token[jm] == OFF_GRID) n->token[jm] = token;
}

static status load(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_fast *f = plan->state;

    if (!by_map(p)) return virtual_tokens_load(plan);
    structsa_windows_load(&f->tokens.windows, p);
    set_off_grid(&f->tokens.windows.keys, (int)p->heads.N);
    set_off_grid(&f->tokens.windows.values, (int)p->heads.N);
    return heads_load(plan);
}

/* structsa_multiply_adds counts the virtual tokens once, although each block of queries computes them again. */
static double multiply_adds(const void *params)
{
    const struct structsa_problem *p = params;
    double queries = (double)p->heads.B * (double)p->heads.h * (double)p->heads.N;
    return by_map(p) ? heads_multiply_adds(&p->heads) + queries * by_map_multiply_adds(p) : structsa_multiply_adds(p);
}

const struct form structsa_fast = {
    .name = "fast", .state = sizeof(struct structsa_fast), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
