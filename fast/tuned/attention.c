/* attention.c -- softmax attention in tiles, without the matrix of weights
 *
 *     i  queries     j  keys     c  channels
 *
 * Each query keeps a running weighted sum of the values (Milakov and Gimelshein, "Online normalizer calculation for
 * softmax", 2018; Dao et al., "FlashAttention", 2022):
 *
 *     top_i = a score near the largest so far        sum_i = sum_j w_ij
 *     w_ij  = exp(A_ij + R_ij - top_i)               o_ic  = sum_j w_ij v_jc
 *
 * A larger score scales sum_i and o_i by exp(top_i - new top_i); at the end y = o / sum.
 *
 * 1. Queries in the lanes: lane l of a vector belongs to query l of LANES queries.  The softmax needs no sums across a
 *    vector.  Keys and values are read in place, and the last tile needs no padding.
 * 2. 8 rows by 3 vectors of sums in registers, 24 multiply-adds for 11 loads (4 by 3 with 16 registers).  Both
 *    products, keys with queries and values with weights, are this one loop.
 * 3. 2^x in registers (exponential.h).  The scale of the queries includes the factor log2(e) that turns 2^x into exp.
 * 4. Keys and values are not copied, even at a stride of 12 KiB, at which rows share cache sets.
 * 5. top_i is raised only when a weight exceeds 2^8, so o is rarely rescaled.  Weights up to 2^8 are as exact as
 *    weights up to 1.
 * 6. 96 keys in a tile: with smaller tiles, o is read and written more often.
 *
 * 7. Accuracy: the products of a tile are summed from zero, then added to o.  After a stretch of at least 8 and about
 *    sqrt(tiles) tiles, o is added to a second sum, and starts from zero again.
 * 8. Division by `sum`, not multiplication by 1 / sum: the mean of equal scores stays exact.
 *
 * Tried without gain: taking the largest score from the registers of the product; prefetching the next tile; unrolling
 * the products further; in 2^x, adding to the exponent's bits instead of multiplying, and a polynomial of degree 5.
 *
 * Contract: fast/tuned/attention.h. */

#include "attention.h"
#include <stdint.h>
#include <string.h>
#include "attention_group.h"
#include "exponential.h"
#include "transpose.h"

/* Rows of 3 vectors of sums in registers: 24 registers of 32, or 12 of 16. */
#if LANE_REGISTERS == 32
#define ROWS 8
#else
#define ROWS 4
#endif

/* Vectors in the 64 bytes by which a bias may overrun its last row. */
#define OVERRUN (64 / LANE_BYTES)

/* top_i before the first score: no finite score is lower. */
#define LOWEST (-REAL_MAX)

/* ---- the products ---------------------------------------------------- */

/* out_r = sum_t a_rt b_t for `rows` rows r, or with `add` out_r += that sum; out_r and b_t have `vectors` vectors.
 * Callers pass constants for rows and vectors, so that `sum` is in registers. */
INLINED void product_rows(vec *out, const real *a, size_t row_step, size_t term_step, const vec *b,
                          size_t terms, size_t rows, size_t vectors, bool add)
{
    vec sum[ROWS][WIDE];

    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) sum[r][v] = (vec){0};
    for (size_t t = 0; t < terms; t++, a += term_step, b += vectors) {
        vec held[WIDE];
        for (size_t v = 0; v < vectors; v++) held[v] = vec_in_register(b[v]);
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) sum[r][v] += a[r * row_step] * held[v];
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) {
            if (add) sum[r][v] += out[r * vectors + v];
            out[r * vectors + v] = sum[r][v];
        }
}

/* The same for any number of rows. */
INLINED void product(vec *out, const real *a, size_t row_step, size_t term_step, const vec *b,
                     size_t terms, size_t rows, size_t vectors, bool add)
{
    for (; rows >= ROWS; rows -= ROWS, a += ROWS * row_step, out += ROWS * vectors)
        product_rows(out, a, row_step, term_step, b, terms, ROWS, vectors, add);
    switch (rows) {
#define CASE(n) case n: if (n < ROWS) product_rows(out, a, row_step, term_step, b, terms, n, vectors, add); break;
    CASE(7) CASE(6) CASE(5) CASE(4) CASE(3) CASE(2) CASE(1)
#undef CASE
    }
}

/* ---- one group of queries, one tile of keys --------------------------- */

void group_scores(const struct group *g, vec *s, const struct tile *tile, size_t channels, bool add)
{
    if (g->vectors == WIDE) product(s, tile->k, tile->k_stride, 1, g->q, channels, tile->keys, WIDE, add);
    else product(s, tile->k, tile->k_stride, 1, g->q, channels, tile->keys, 1, add);
}

INLINED void weigh(const struct group *g, vec *s, size_t keys, size_t channels, vec *more, size_t rows,
                   size_t vectors)
{
    const real slack = 8;
    size_t entries = keys * vectors;

    /* Step 1: the largest of each query; two chains of maxima, for even and odd keys, hide the latency. */
    vec even[WIDE], odd[WIDE];
    vec_mask outgrown = {0};
    for (size_t v = 0; v < vectors; v++) even[v] = odd[v] = g->top[v];
    for (size_t n = 0; n + vectors < entries; n += 2 * vectors)
        for (size_t v = 0; v < vectors; v++) {
            even[v] = vec_max(s[n + v], even[v]);
            odd[v] = vec_max(s[n + vectors + v], odd[v]);
        }
    for (size_t v = 0; v < vectors; v++) {
        even[v] = vec_max(s[entries - vectors + v], vec_max(odd[v], even[v]));
        outgrown |= even[v] > g->top[v] + slack;
    }

    /* Step 2: raise the top of queries whose score exceeds it by more than `slack`; the others scale by 2^0. */
    if (vec_any(outgrown))
        for (size_t v = 0; v < vectors; v++) {
            vec top = vec_select(even[v] > g->top[v] + slack, even[v], g->top[v]);
            vec shrink = exp2_vec(g->top[v] - top);
            for (size_t n = 0; n < g->sums * (channels + 1); n++) g->o[n * vectors + v] *= shrink;
            for (size_t n = 0; n < rows; n++) more[n * vectors + v] *= shrink;
            g->top[v] = top;
        }

    /* Step 3: the weights, and their sum. */
    for (size_t v = 0; v < vectors; v++) {
        vec top = g->top[v], sum = {0};
        for (size_t n = v; n < entries; n += vectors) {
            s[n] = exp2_vec(s[n] - top);
            sum += s[n];
        }
        g->sum[v] += sum;
    }
}

void group_softmax(const struct group *g, vec *s, size_t keys, size_t channels, vec *more, size_t rows)
{
    if (g->vectors == WIDE) weigh(g, s, keys, channels, more, rows, WIDE);
    else weigh(g, s, keys, channels, more, rows, 1);
}

void group_values(const struct group *g, const vec *s, const struct tile *tile, size_t channels)
{
    if (g->vectors == WIDE) product(g->o, tile->v, 1, tile->v_stride, s, tile->keys, channels, WIDE, true);
    else product(g->o, tile->v, 1, tile->v_stride, s, tile->keys, channels, 1, true);
}

/* ---- groups ---------------------------------------------------------- */

size_t group_entries(size_t channels)
{
    return 3 * channels + 3;
}

struct group group_at(vec *groups, size_t first, size_t count, size_t channels, size_t sums)
{
    struct group g = {.sums = sums, .first = first, .queries = count - first};

    g.vectors = g.queries > (WIDE - 1) * LANES ? WIDE : 1;
    if (g.queries > g.vectors * LANES) g.queries = g.vectors * LANES;
    g.q = groups + first / LANES * group_entries(channels);
    g.o = g.q + channels * g.vectors;
    g.sum = g.o + channels * g.vectors;
    g.top = g.o + sums * (channels + 1) * g.vectors;
    return g;
}

void group_open(const struct group *g, const real *q, size_t stride, size_t channels, real scale)
{
    size_t whole = channels - channels % LANES, vectors = g->vectors;

    for (size_t v = 0; v < vectors; v++) {
        for (size_t c = 0; c < whole; c += LANES) {
            vec square[LANES];
            for (size_t l = 0; l < LANES; l++) {
                size_t i = v * LANES + l;
                square[l] = (vec){0};
                if (i < g->queries) square[l] = vec_loadu(q + i * stride + c) * scale;
            }
            vec_transpose(square);
            for (size_t l = 0; l < LANES; l++) g->q[(c + l) * vectors + v] = square[l];
        }
        for (size_t c = whole; c < channels; c++)
            for (size_t l = 0; l < LANES; l++) {
                size_t i = v * LANES + l;
                g->q[c * vectors + v][l] = i < g->queries ? q[i * stride + c] * scale : 0;
            }
    }
    memset(g->o, 0, (g->sums * (channels + 1) + 1) * vectors * sizeof *g->o);
    for (size_t v = 0; v < vectors; v++) g->top[v] += LOWEST;
}

void group_fold(const struct group *g, size_t channels)
{
    size_t entries = (channels + 1) * g->vectors;

    for (size_t n = 0; n < entries; n++) g->o[entries + n] += g->o[n];
    memset(g->o, 0, entries * sizeof *g->o);
}

void group_close(const struct group *g, real *y, size_t stride, size_t channels)
{
    size_t whole = channels - channels % LANES, vectors = g->vectors;
    const vec *o = g->o + (g->sums - 1) * (channels + 1) * vectors, *sum = o + channels * vectors;

    for (size_t v = 0; v < vectors; v++) {
        size_t first = v * LANES, left = g->queries > first ? g->queries - first : 0;
        if (left > LANES) left = LANES;
        for (size_t c = 0; c < whole; c += LANES) {
            vec square[LANES];
            for (size_t l = 0; l < LANES; l++) square[l] = o[(c + l) * vectors + v] / sum[v];
            vec_transpose(square);
            for (size_t l = 0; l < left; l++) vec_storeu(y + (first + l) * stride + c, square[l]);
        }
        for (size_t c = whole; c < channels; c++) {
            vec mean = o[c * vectors + v] / sum[v];
            for (size_t l = 0; l < left; l++) y[(first + l) * stride + c] = mean[l];
        }
    }
}

/* ---- a block of queries ---------------------------------------------- */

/* The tile from key `first` on: in place, or computed into `made`. */
static struct tile tile_at(const struct attention *a, size_t first, real *made)
{
    struct tile t = {.keys = a->keys - first};

    if (t.keys > ATTENTION_TILE) t.keys = ATTENTION_TILE;
    if (a->fill) {
        real *k = made, *v = made + ATTENTION_TILE * a->channels;
        a->fill(k, v, first, t.keys, a->fill_context);
        t.k = k, t.k_stride = a->channels;
        t.v = v, t.v_stride = a->channels;
    } else {
        t.k = a->k + first * a->k_stride, t.k_stride = a->k_stride;
        t.v = a->v + first * a->v_stride, t.v_stride = a->v_stride;
    }
    return t;
}

size_t group_stretch(size_t tiles)
{
    size_t stretch = 8;
    while (stretch * stretch < tiles) stretch++;
    return stretch;
}

bool attention_fast_workspace(size_t *reals, size_t channels, size_t block)
{
    /* Scores and the overrun of a bias; one tile of computed keys and values; the groups. */
    size_t scores = (ATTENTION_TILE * WIDE + OVERRUN) * LANES, made, groups, most = SIZE_MAX / 4;
    if (channels > most || !size_multiply(&made, channels, 2 * ATTENTION_TILE)) return false;
    if (block > most || !size_multiply(&groups, (block / LANES + 1) * LANES, group_entries(channels))) return false;
    *reals = scores + made + groups;
    return made <= most && groups <= most;
}

void attention_prepare(struct arena *arena, real **workspace, size_t channels, size_t block)
{
    size_t reals;
    if (attention_fast_workspace(&reals, channels, block))
        arena_reals(arena, PER_THREAD, workspace, "a tile of attention", reals);
    else arena_fail(arena, out_of_memory("a tile of attention"));
}

size_t attention_block(size_t queries, size_t channels, size_t heads, size_t threads)
{
    size_t unit = WIDE * LANES, most = ATTENTION_BYTES / sizeof(real) / (2 * channels + 2) / unit * unit;

    if (most < unit) most = unit;
    size_t blocks = (queries - 1) / most + 1;
    while (heads * blocks % threads && heads * blocks < 8 * threads && blocks * unit < queries) blocks++;
    return ((queries - 1) / blocks / unit + 1) * unit;
}

void attention_fast(real *y, size_t y_stride, const struct attention *a, size_t first, size_t count, real *workspace)
{
    size_t channels = a->channels, tiles = (a->keys + ATTENTION_TILE - 1) / ATTENTION_TILE;
    size_t stretch = group_stretch(tiles) * ATTENTION_TILE, sums = a->keys > stretch ? 2 : 1;

    /* Step 1: divide the workspace. */
    vec *s = (vec *)workspace;
    real *made = (real *)(s + ATTENTION_TILE * WIDE + OVERRUN);
    vec *groups = (vec *)(made + 2 * ATTENTION_TILE * channels);

    /* Step 2: queries into lanes; log2(e) in their scale turns exp into 2^x. */
    for (size_t i = 0; i < count;) {
        struct group g = group_at(groups, i, count, channels, sums);
        group_open(&g, a->q + (first + i) * a->q_stride, a->q_stride, channels, a->scale * LOG2_E);
        i += g.queries;
    }

    /* Step 3: every group, for one tile of keys after another.  A bias may leave lanes without a query unwritten, so
     * they are cleared first. */
    for (size_t j = 0; j < a->keys; j += ATTENTION_TILE) {
        struct tile tile = tile_at(a, j, made);
        for (size_t i = 0; i < count;) {
            struct group g = group_at(groups, i, count, channels, sums);
            if (a->bias) {
                if (g.queries < g.vectors * LANES) memset(s, 0, tile.keys * g.vectors * sizeof *s);
                a->bias((real *)s, g.vectors * LANES, first + i, g.queries, j, tile.keys, a->bias_context);
                for (size_t n = 0; n < tile.keys * g.vectors; n++) s[n] *= LOG2_E;
            }
            group_scores(&g, s, &tile, channels, a->bias != NULL);
            group_softmax(&g, s, tile.keys, channels, NULL, 0);
            group_values(&g, s, &tile, channels);
            if (sums > 1 && (j + tile.keys == a->keys || (j + ATTENTION_TILE) % stretch == 0)) group_fold(&g, channels);
            i += g.queries;
        }
    }

    /* Step 4: the output. */
    for (size_t i = 0; i < count;) {
        struct group g = group_at(groups, i, count, channels, sums);
        group_close(&g, y + i * y_stride, y_stride, channels);
        i += g.queries;
    }
}

/* ---- relative positions ---------------------------------------------- */

/* The reversed table is indexed by i - j, so that the entries of neighbouring queries of a row are contiguous and in
 * order.  Rows of the grid are copied in whole vectors.  The next row overwrites the excess; up to LANES entries beyond
 * the end are read. */

void attention_rpe_prepare(struct attention_rpe *rpe, struct arena *arena, const grid *g, size_t tables)
{
    rpe->g = *g;
    rpe->tables = tables;
    arena_reals(arena, PERSISTENT, &rpe->reversed, "reversed tables of relative positions", tables, g->offsets + LANES);
}

void attention_rpe_load(struct attention_rpe *rpe, const grid *whole, const real *e)
{
    const grid *g = &rpe->g;
    size_t box[GRID_AXES], margin[GRID_AXES], span[GRID_AXES];

    for (int axis = 0; axis < GRID_AXES; axis++) {
        box[axis] = 2 * g->size[axis] - 1;
        span[axis] = 2 * whole->size[axis] - 1;
        margin[axis] = whole->size[axis] - g->size[axis];
    }
    for (size_t table = 0; table < rpe->tables; table++) {
        real *reversed = rpe->reversed + table * (g->offsets + LANES), *to = reversed + g->offsets;
        for (size_t t = 0; t < box[0]; t++)
            for (size_t y = 0; y < box[1]; y++)
                for (size_t x = 0; x < box[2]; x++) {
                    size_t entry = ((t + margin[0]) * span[1] + y + margin[1]) * span[2] + x + margin[2];
                    *--to = e[entry * rpe->tables + table];
                }
        memset(reversed + g->offsets, 0, LANES * sizeof *reversed);
    }
}

struct attention_rpe_table attention_rpe_table(const struct attention_rpe *rpe, size_t table)
{
    if (!rpe->tables) return (struct attention_rpe_table){rpe->g, &rpe->g, NULL};
    return (struct attention_rpe_table){rpe->g, &rpe->g, rpe->reversed + table * (rpe->g.offsets + LANES)};
}

/* Indices of tokens first ... first + count - 1 with the strides of the table.  The entry of query i and key j is
 * centre + place_i - place_j. */
static void places(size_t *place, const struct attention_rpe_table *table, size_t first, size_t count)
{
    const grid *g = table->g, *tokens = &table->tokens;
    size_t at[GRID_AXES];

    grid_coordinates(at, tokens, first);
    for (size_t n = 0; n < count; n++) {
        place[n] = (at[0] * (2 * g->size[1] - 1) + at[1]) * (2 * g->size[2] - 1) + at[2];
        for (int axis = GRID_AXES - 1; ++at[axis] == tokens->size[axis] && axis > 0; axis--) at[axis] = 0;
    }
}

void attention_rpe_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *context)
{
    const struct attention_rpe_table *table = context;
    size_t place_i[WIDE * LANES], place_j[ATTENTION_TILE], run[WIDE * LANES + 1], runs = 0;
    size_t centre = (table->g->offsets - 1) / 2;

    /* Step 1: runs of queries in one row of the grid. */
    places(place_i, table, i, queries);
    places(place_j, table, j, keys);
    for (size_t n = 0; n < queries; n++)
        if (n == 0 || place_i[n] != place_i[n - 1] + 1) run[runs++] = n;
    run[runs] = queries;

    /* Step 2: copy each run for each key. */
    for (size_t t = 0; t < keys; t++)
        for (size_t n = 0; n < runs; n++) {
            const real *from = table->reversed + (centre + place_i[run[n]] - place_j[t]);
            real *to = r + t * stride + run[n];
            for (size_t l = 0; l < run[n + 1] - run[n]; l += LANES)
                vec_storeu(to + l, vec_loadu(from + l));
        }
}

/* The tokens in whole vectors, plus one vector for the overrun. */
size_t attention_written_width(size_t tokens)
{
    return ((tokens + LANES - 1) / LANES + 1) * LANES;
}

void attention_write(real *r, const struct attention_rpe_table *table)
{
    struct attention_rpe_table params = *table;
    size_t n = table->tokens.tokens, width = attention_written_width(n);

    memset(r, 0, n * width * sizeof *r);
    for (size_t i = 0; i < n; i += LANES)
        attention_rpe_bias(r + i, width, i, n - i < LANES ? n - i : LANES, 0, n, &params);
}

void attention_written_bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *context)
{
    const struct attention_written *written = context;

    for (size_t t = 0; t < keys; t++) {
        const real *from = written->r + (j + t) * written->width + i;
        for (size_t l = 0; l < queries; l += LANES)
            vec_storeu(r + t * stride + l, vec_loadu(from + l));
    }
}
