/* box_pool.c -- an integral image, one axis after another
 *
 * The integral image is a running sum along x, then along y.  A box sum is a difference along x, then along y.  The
 * steps of one axis commute with those of the other, so both steps of x come first:
 *
 *     T_yX    running sums of row y of the plane
 *     t_yx    the part of row y between the left and the right edge of the box
 *     S_Yx    running sums of t down the columns
 *     out_yx  the part of S between the upper and the lower edge of the box
 *
 * So float is enough: entries of the integral image grow like H W, those of T only like W, and those of S like H times
 * the width of the box.  The mean is within about H + W / w roundings for a box of width w.
 *
 * 1. The position of a box relative to the grid does not depend on the token.  So vectors hold neighbouring tokens, and
 *    a shift is a load from another address.
 * 2. One plane per component, since each component has its own boxes.  A plane and its tables fit the first cache.
 * 3. Each row of T has a vector of zeros on its left and a vector of its last sum on its right, so the border needs no
 *    test.
 * 4. An edge may lie inside a token: bilinear interpolation of the integral image, written as three differences
 *    (box_pool.h).  A box inside one token is one difference, as accurate for narrow boxes as for wide ones.
 * 5. Two vectors of columns and one box at a time.  T streams by; S and the output sums stay in the first cache, and
 *    rows of S that the next row of tokens reads again stay in registers.
 * 6. A load across cache lines costs double.  With AVX-512 every unaligned load crosses one, so the vector one lane
 *    further on is combined from two.  With AVX2 two shuffles cost more than the load.
 *
 * Tried with little gain: two rows of tokens at a time, which share rows of S.  A table in double is more exact, but
 * slower.
 *
 * Interface: fast/tuned/chopd/box_pool.h. */

#include "box_pool.h"
#include <math.h>
#include "../vec.h"

/* Vectors of columns at a time. */
#define CHUNK ((size_t)2)

/* True: the vector one lane further on is combined, not loaded (6. above). */
#define COMBINE (LANE_BYTES != 32)

/* ---- boxes -------------------------------------------------------------- */

/* The token that contains an edge.  edge + 0.5 may have been rounded up to the next token. */
static double token_of(double edge)
{
    double token = floor(edge + 0.5);
    return token - 0.5 > edge ? token - 1 : token;
}

/* The span from lo to hi on an axis of `size` tokens; low and high are limited to just outside the grid. */
static struct span span_of(double lo, double hi, size_t size)
{
    double limit = (double)size + 1, low = token_of(lo), high = token_of(hi);
    struct span s = {.first = (real)(low + 0.5 - lo), .last = (real)(hi - (high - 0.5)), .weight = 1};

    if (low == high) s = (struct span){.kind = SPAN_WITHIN, .first = 1, .weight = 1};
    else if (s.first == 1 && s.last == 0) s.kind = SPAN_WHOLE;
    s.low = (ptrdiff_t)fmax(-limit, fmin(low, limit));
    s.high = (ptrdiff_t)fmax(-limit, fmin(high, limit));
    return s;
}

/* The divisor of a span.  A box within one token divides by 1, since its length may be so short that the area
 * underflows. */
static wide_real length_of(const struct span *s, real lo, real hi)
{
    return s->kind == SPAN_WITHIN ? 1 : (wide_real)hi - (wide_real)lo;
}

/* Rows of S: H + 1, and one more above and below. */
static size_t table_rows(const struct box_pool *pool)
{
    return pool->H + 3;
}

void box_pool_prepare(struct box_pool *pool, struct arena *arena, size_t H, size_t W, size_t components, size_t G)
{
    *pool = (struct box_pool){.H = H, .W = W, .G = G, .components = components};
    pool->line = (W + LANES - 1) / LANES * LANES + 4 * LANES;
    arena_objects(arena, PERSISTENT, &pool->down, "the boxes", components, G, sizeof *pool->down);
    arena_objects(arena, PERSISTENT, &pool->across, "the boxes", components, G, sizeof *pool->across);
    arena_reals(arena, PER_THREAD, &pool->T, "running sums along the rows", H, pool->line);
    arena_reals(arena, PER_THREAD, &pool->S, "running sums down the columns", table_rows(pool) + H, CHUNK, LANES);
}

void box_pool_load(struct box_pool *pool, const real *boxes, const real *mix)
{
    for (size_t b = 0; b < pool->components * pool->G; b++, boxes += 4) {
        struct span *down = &pool->down[b], *across = &pool->across[b];
        *down = span_of((double)boxes[0], (double)boxes[2], pool->H);
        *across = span_of((double)boxes[1], (double)boxes[3], pool->W);
        wide_real area = length_of(down, boxes[0], boxes[2]) * length_of(across, boxes[1], boxes[3]);
        down->weight = (real)((wide_real)mix[b] / area);
        down->first *= down->weight;
        down->last *= down->weight;
    }
}

void box_pool_clear(const struct box_pool *pool, const struct arena *arena, size_t thread)
{
    real *T = arena_thread(arena, pool->T, thread);
    vec *S = arena_thread(arena, pool->S, thread);
    const vec zero = {0};

    for (size_t y = 0; y < pool->H; y++, T += pool->line) {
        vec_store(T, zero);
        vec_store(T + LANES, zero);
    }
    for (size_t v = 0; v < 2 * CHUNK; v++) S[v] = zero;
}

static inline ptrdiff_t clamp(ptrdiff_t at, ptrdiff_t low, ptrdiff_t high)
{
    return at < low ? low : at > high ? high : at;
}

/* ---- T: running sums along the rows -------------------------------------- */

/* T_y0, the last of two vectors of zeros; the real after it is aligned. */
static inline real *row_start(real *T, const struct box_pool *pool, size_t y)
{
    return T + y * pool->line + 2 * LANES - 1;
}

/* Running sums within a vector, by doubling.  AVX2 moves numbers faster within 16 bytes than across, so each half is
 * summed first, and then the total of the lower half is added to the upper. */
static inline vec running(vec v)
{
    const vec zero = {0};
#if LANES == 16
    v += __builtin_shufflevector(zero, v, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
    v += __builtin_shufflevector(zero, v, 0, 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29);
    v += __builtin_shufflevector(zero, v, 0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27);
    v += __builtin_shufflevector(zero, v, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
#elif LANES == 8
    v += __builtin_shufflevector(zero, v, 0, 8, 9, 10, 4, 12, 13, 14);
    v += __builtin_shufflevector(zero, v, 0, 1, 8, 9, 4, 5, 12, 13);
    vec last = __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
    v += __builtin_shufflevector(zero, last, 0, 1, 2, 3, 8, 9, 10, 11);
#elif LANES == 4
    v += __builtin_shufflevector(zero, v, 0, 4, 2, 6);
    v += __builtin_shufflevector(zero, v, 0, 1, 5, 5);
#else
    v += __builtin_shufflevector(zero, v, 0, 2);
#endif
    return v;
}

static inline vec repeat_last(vec v)
{
#if LANES == 16
    return __builtin_shufflevector(v, v, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15);
#elif LANES == 8
    return __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
#elif LANES == 4
    return __builtin_shufflevector(v, v, 3, 3, 3, 3);
#else
    return __builtin_shufflevector(v, v, 1, 1);
#endif
}

/* T of all rows, with copies of the last sum on the right.  The last vector overlaps the one before it. */
static void make_rows(real *T, const struct box_pool *pool, const real *plane)
{
    size_t W = pool->W, whole = W / LANES * LANES;
    for (size_t y = 0; y < pool->H; y++, plane += W) {
        real *row = row_start(T, pool, y) + 1;
        vec before = {0};
        for (size_t x = 0; x < whole; x += LANES) {
            vec here = running(vec_loadu(plane + x));
            vec_store(row + x, here + before);
            before += repeat_last(here);
        }
        if (whole < W) {
            size_t x = W < LANES ? 0 : W - LANES;
            vec numbers = W < LANES ? vec_load_partial(plane, W) : vec_loadu(plane + x);
            vec sums = running(numbers) + row[(ptrdiff_t)x - 1];
            vec_storeu(row + x, sums);
            before = repeat_last(sums);
        }
        vec_storeu(row + W, before);
    }
}

/* The vector one lane further on: lanes 1 ... of a, then lane 0 of b. */
static inline vec moved_up(vec a, vec b)
{
#if LANES == 16
    return __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
#elif LANES == 8
    return __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8);
#elif LANES == 4
    return __builtin_shufflevector(a, b, 1, 2, 3, 4);
#else
    return __builtin_shufflevector(a, b, 1, 2);
#endif
}

/* ---- S: differences along x, running sums along y -------------------------- */

/* S of `vectors` vectors of columns, from column x on, with its last row twice.  Callers pass constants for kind and
 * vectors.  A vector that lies completely off the grid reads the zeros before the row or the sums after it. */
INLINED void columns_of(vec *S, const real *T, const struct box_pool *pool, const struct span *across,
                        size_t x, size_t vectors, int kind)
{
    real first = across->first, last = across->last;
    vec sum[CHUNK] = {{0}};
    ptrdiff_t low[CHUNK] = {0}, high[CHUNK] = {0}, ends = (ptrdiff_t)pool->W;
    for (size_t v = 0; v < vectors; v++) {
        low[v] = clamp((ptrdiff_t)(x + v * LANES) + across->low, -(ptrdiff_t)LANES, ends);
        high[v] = clamp((ptrdiff_t)(x + v * LANES) + across->high, -(ptrdiff_t)LANES, ends);
    }

    for (size_t y = 0, H = pool->H, line = pool->line; y < H; y++, T += line, S += CHUNK) {
        vec A[CHUNK + 1], C[CHUNK + 1];
        for (size_t v = 0; v < vectors; v++) {
            A[v] = vec_in_register(vec_loadu(T + low[v]));
            C[v] = vec_in_register(vec_loadu(T + high[v]));
        }
        for (size_t v = 0; v < vectors; v++) {
            bool end = !COMBINE || v + 1 == vectors;
            vec B = end ? vec_in_register(vec_loadu(T + low[v] + 1)) : moved_up(A[v], A[v + 1]);
            vec D = end ? vec_loadu(T + high[v] + 1) : moved_up(C[v], C[v + 1]);
            if (kind == SPAN_WITHIN) sum[v] += first * (B - A[v]);
            else if (kind == SPAN_WHOLE) sum[v] += C[v] - A[v];
            else sum[v] += first * (B - A[v]) + (C[v] - B) + last * (D - C[v]);
            S[CHUNK + v] = sum[v];
        }
    }
    for (size_t v = 0; v < vectors; v++) S[CHUNK + v] = sum[v];
}

INLINED void make_columns(vec *S, const real *T, const struct box_pool *pool, const struct span *across,
                          size_t x, size_t vectors)
{
    switch (across->kind) {
    case SPAN_WITHIN: columns_of(S, T, pool, across, x, vectors, SPAN_WITHIN); break;
    case SPAN_WHOLE: columns_of(S, T, pool, across, x, vectors, SPAN_WHOLE); break;
    default: columns_of(S, T, pool, across, x, vectors, SPAN_GENERAL); break;
    }
}

/* ---- out ------------------------------------------------------------------ */

/* The first row of tokens after y at which an edge enters or leaves the table; at most `end`.  Outside the table an
 * edge does not move. */
static inline ptrdiff_t next_turn(ptrdiff_t y, ptrdiff_t edge, ptrdiff_t end)
{
    ptrdiff_t turn = end;
    if (y + edge < -1) turn = -1 - edge;
    else if (y + edge < end) turn = end - edge;
    return turn < end ? turn : end;
}

/* Adds one box to `sums`, `vectors` vectors for each row of tokens.  Callers pass constants for kind and vectors.  The
 * row of S below an edge is the row above it for the next row of tokens, so half of the rows are in registers. */
INLINED void add_box_of(vec *sums, const vec *S, const struct box_pool *pool, const struct span *down,
                        size_t vectors, int kind)
{
    ptrdiff_t low = down->low, high = down->high, end = (ptrdiff_t)pool->H;
    vec first = (vec){0} + down->first, weight = (vec){0} + down->weight, last = (vec){0} + down->last;
    const vec *below = S + clamp(low, -1, end) * (ptrdiff_t)CHUNK;
    const vec *ahead = S + clamp(high, -1, end) * (ptrdiff_t)CHUNK;
    vec A[CHUNK], C[CHUNK];

    for (size_t v = 0; v < vectors; v++) {
        A[v] = below[v];
        C[v] = ahead[v];
    }
    if (kind != SPAN_WHOLE) below += CHUNK, ahead += CHUNK;
    for (ptrdiff_t y = 0, stop; y < end; y = stop) {
        ptrdiff_t low_turn = next_turn(y, low, end), high_turn = next_turn(y, high, end);
        size_t low_step = y + low >= -1 && y + low < end ? CHUNK : 0;
        size_t high_step = y + high >= -1 && y + high < end ? CHUNK : 0;
        stop = low_turn < high_turn ? low_turn : high_turn;
        for (const vec *till = sums + (size_t)(stop - y) * CHUNK; sums < till; sums += CHUNK) {
            for (size_t v = 0; v < vectors; v++) {
                if (kind == SPAN_WHOLE) {
                    sums[v] += weight * (ahead[v] - below[v]);
                    continue;
                }
                vec B = vec_in_register(below[v]);
                if (kind == SPAN_WITHIN) {
                    sums[v] += first * (B - A[v]);
                } else {
                    vec D = vec_in_register(ahead[v]);
                    /* Separate statements, so that each is one multiply-add. */
                    vec sum = sums[v] + first * (B - A[v]);
                    sum += weight * (C[v] - B);
                    sums[v] = sum + last * (D - C[v]);
                    C[v] = D;
                }
                A[v] = B;
            }
            below += low_step;
            ahead += high_step;
        }
    }
}

INLINED void add_box(vec *sums, const vec *S, const struct box_pool *pool, const struct span *down, size_t vectors)
{
    switch (down->kind) {
    case SPAN_WITHIN: add_box_of(sums, S, pool, down, vectors, SPAN_WITHIN); break;
    case SPAN_WHOLE: add_box_of(sums, S, pool, down, vectors, SPAN_WHOLE); break;
    default: add_box_of(sums, S, pool, down, vectors, SPAN_GENERAL); break;
    }
}

/* The factor of `count` tokens of row y. */
static inline vec factor_of(const struct box_pool_factor *factor, size_t y, size_t x, size_t count)
{
    const real *low = factor->rows + factor->tap[y].low * factor->stride + x;
    const real *high = factor->rows + factor->tap[y].high * factor->stride + x;
    vec from = count < LANES ? vec_load_partial(low, count) : vec_loadu(low);
    vec to = count < LANES ? vec_load_partial(high, count) : vec_loadu(high);
    return from + factor->tap[y].weight * (to - from);
}

/* The output of `vectors` vectors of columns, from column x on; `count` lanes of each are stored. */
INLINED void pool_columns(real *out, real *T, vec *S, const struct box_pool *pool, size_t component,
                          const struct box_pool_factor *factor, size_t x, size_t vectors, size_t count)
{
    const struct span *down = pool->down + component * pool->G, *across = pool->across + component * pool->G;
    vec *sums = S + table_rows(pool) * CHUNK;

    for (size_t y = 0; y < pool->H; y++)
        for (size_t v = 0; v < vectors; v++) sums[y * CHUNK + v] = (vec){0};
    for (size_t g = 0; g < pool->G; g++) {
        make_columns(S + CHUNK, row_start(T, pool, 0), pool, &across[g], x, vectors);
        add_box(sums, S + CHUNK, pool, &down[g], vectors);
    }
    out += x;
    for (size_t y = 0, H = pool->H, W = pool->W; y < H; y++, out += W, sums += CHUNK)
        for (size_t v = 0; v < vectors; v++) {
            vec sum = sums[v];
            if (factor) sum *= factor_of(factor, y, x + v * LANES, count);
            if (count < LANES) vec_store_partial(out + v * LANES, sum, count);
            else vec_storeu(out + v * LANES, sum);
        }
}

void box_pool_plane(const struct box_pool *pool, size_t component, real *out, const real *plane,
                    const struct box_pool_factor *factor, const struct arena *arena, size_t thread)
{
    real *T = arena_thread(arena, pool->T, thread);
    vec *S = arena_thread(arena, pool->S, thread);
    size_t W = pool->W, x = 0;

    make_rows(T, pool, plane);

    /* The last vectors overlap those before them. */
    for (; x + CHUNK * LANES <= W; x += CHUNK * LANES)
        pool_columns(out, T, S, pool, component, factor, x, CHUNK, LANES);
    if (x < W && W >= CHUNK * LANES && W - x > LANES) {
        pool_columns(out, T, S, pool, component, factor, W - CHUNK * LANES, CHUNK, LANES);
        return;
    }
    for (; x + LANES <= W; x += LANES)
        pool_columns(out, T, S, pool, component, factor, x, 1, LANES);
    if (x < W && W >= LANES) pool_columns(out, T, S, pool, component, factor, W - LANES, 1, LANES);
    else if (x < W) pool_columns(out, T, S, pool, component, factor, 0, 1, W);
}
