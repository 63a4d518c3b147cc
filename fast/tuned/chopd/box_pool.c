/* box_pool.c -- an integral image, one axis after another
 *
 * The integral image is a running sum along x, then along y.  A box sum is a difference along x, then along y.  All
 * four steps commute.  Those of x come first; along y the differences of all boxes share one running sum:
 *
 *     T_yX    running sums of row y of the plane
 *     t_yx    the part of row y between the left and the right edge of the box
 *     U_yx    the output of row y less that of row y - 1: rows t that enter the boxes, less those that leave
 *     out_yx  running sums of U down the columns
 *
 * So float is enough: entries of the integral image grow like H W, those of T only like W, and those of `out` not at
 * all.  The mean is within about H + W / w roundings for a box of width w.
 *
 * 1. The position of a box relative to the grid does not depend on the token.  So vectors hold neighbouring tokens, and
 *    a shift is a load from another address.
 * 2. One plane per component, since each component has its own boxes.  A plane and its tables fit the second cache.
 * 3. Each row of T has two vectors of zeros on its left and a vector of its last sum on its right, so borders need no
 *    test.  U has rows above and below the plane, where boxes begin or end.
 * 4. If an edge lies inside a token, the integral image is interpolated bilinearly, by three differences along x
 *    (box_pool.h).  Along y a row enters in two parts, at two rows of U, and leaves likewise.
 * 5. Two vectors of columns and one box at a time.  T streams by; t stays in registers, and U in the first cache.
 * 6. A load across cache lines costs double.  With AVX-512 every unaligned load crosses one, so the vector one lane
 *    further on is combined from two.  With AVX2 two shuffles cost more than the load.
 *
 * Interface: fast/tuned/chopd/box_pool.h. */

#include "box_pool.h"
#include <math.h>
#include <string.h>
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

/* The span from lo to hi on an axis of `size` tokens; low and high are limited to just outside the grid.  A box within
 * one token has the mean of that token.  If no token lies between low and high, any weight is correct, but 1 would be
 * far larger than the shares of a thin box, and cost digits. */
static struct span span_of(double lo, double hi, size_t size)
{
    double limit = (double)size + 1, low = token_of(lo), high = token_of(hi);
    struct span s = {.first = (real)(low + 0.5 - lo), .last = (real)(hi - (high - 0.5)), .weight = 1};

    if (low == high) s.first = 1, s.last = 0, high++;
    s.whole = s.first == 1 && s.last == 0;
    if (high == low + 1) s.weight = s.first;
    s.low = (ptrdiff_t)fmax(-limit, fmin(low, limit));
    s.high = (ptrdiff_t)fmax(-limit, fmin(high, limit));
    return s;
}

/* The divisor of a span; 1 within one token. */
static wide_real length_of(real lo, real hi)
{
    return token_of((double)lo) == token_of((double)hi) ? (wide_real)1 : (wide_real)hi - (wide_real)lo;
}

/* Rows of U: H + 1 above the plane, H in the plane, H + 2 below it. */
static size_t table_rows(const struct box_pool *pool)
{
    return 3 * (pool->H + 1);
}

void box_pool_prepare(struct box_pool *pool, struct arena *arena, size_t H, size_t W, size_t components, size_t G)
{
    *pool = (struct box_pool){.H = H, .W = W, .G = G, .components = components};
    pool->line = (W + LANES - 1) / LANES * LANES + 4 * LANES;
    arena_objects(arena, PERSISTENT, &pool->down, "the boxes", components, G, sizeof *pool->down);
    arena_objects(arena, PERSISTENT, &pool->across, "the boxes", components, G, sizeof *pool->across);
    arena_reals(arena, PER_THREAD, &pool->T, "running sums along the rows", H, pool->line);
    arena_reals(arena, PER_THREAD, &pool->U, "changes from row to row", table_rows(pool), CHUNK, LANES);
}

void box_pool_load(struct box_pool *pool, const real *boxes, const real *mix)
{
    for (size_t b = 0; b < pool->components * pool->G; b++, boxes += 4) {
        struct span *down = &pool->down[b], *across = &pool->across[b];
        *down = span_of((double)boxes[0], (double)boxes[2], pool->H);
        *across = span_of((double)boxes[1], (double)boxes[3], pool->W);
        wide_real area = length_of(boxes[0], boxes[2]) * length_of(boxes[1], boxes[3]);
        real share = (real)((wide_real)mix[b] / area);
        down->weight *= share;
        down->first *= share;
        down->last *= share;
    }
}

void box_pool_clear(const struct box_pool *pool, const struct arena *arena, size_t thread)
{
    real *T = arena_thread(arena, pool->T, thread);
    const vec zero = {0};

    for (size_t y = 0; y < pool->H; y++, T += pool->line) {
        vec_store(T, zero);
        vec_store(T + LANES, zero);
    }
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

/* T of all rows, with copies of the last sum on the right.  A last vector that is not full overlaps the one before
 * it. */
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

/* ---- U: differences along x and y ------------------------------------------ */

/* Adds one box to U, for `vectors` vectors of columns from column x on.  Row y of t enters at row y - high of U with
 * the share `last`, and with the rest one row later; it leaves at y - low likewise.  Callers pass constants for vectors
 * and for whole.  A vector that lies completely off the grid reads the zeros before the row or the sums after it. */
INLINED void add_box_of(vec *U, const real *T, const struct box_pool *pool, const struct span *down,
                        const struct span *across, size_t x, size_t vectors, bool down_whole, bool across_whole)
{
    real first = across->first, last = across->last, weight = down->weight;
    real enter_last = weight - down->last, leave_first = weight - down->first;
    ptrdiff_t low[CHUNK] = {0}, high[CHUNK] = {0}, ends = (ptrdiff_t)pool->W;
    vec *enter = U - down->high * (ptrdiff_t)CHUNK, *leave = U - down->low * (ptrdiff_t)CHUNK, t[CHUNK] = {{0}};
    for (size_t v = 0; v < vectors; v++) {
        low[v] = clamp((ptrdiff_t)(x + v * LANES) + across->low, -(ptrdiff_t)LANES, ends);
        high[v] = clamp((ptrdiff_t)(x + v * LANES) + across->high, -(ptrdiff_t)LANES, ends);
    }

    for (size_t y = 0, H = pool->H, line = pool->line; y < H; y++, T += line, enter += CHUNK, leave += CHUNK) {
        vec A[CHUNK + 1], C[CHUNK + 1];
        for (size_t v = 0; v < vectors; v++) {
            A[v] = vec_in_register(vec_loadu(T + low[v]));
            C[v] = vec_in_register(vec_loadu(T + high[v]));
        }
        for (size_t v = 0; v < vectors; v++) {
            vec before = t[v];
            t[v] = C[v] - A[v];
            if (!across_whole) {
                bool end = !COMBINE || v + 1 == vectors;
                vec B = end ? vec_in_register(vec_loadu(T + low[v] + 1)) : moved_up(A[v], A[v + 1]);
                vec D = end ? vec_loadu(T + high[v] + 1) : moved_up(C[v], C[v + 1]);
                t[v] = first * (B - A[v]) + (C[v] - B) + last * (D - C[v]);
            }
            if (down_whole) {
                enter[CHUNK + v] += weight * t[v];
                leave[CHUNK + v] -= weight * t[v];
            } else {
                enter[v] = enter[v] + enter_last * before + down->last * t[v];
                leave[v] = leave[v] - down->first * before - leave_first * t[v];
            }
        }
    }
    for (size_t v = 0; v < vectors && !down_whole; v++) {
        enter[v] += enter_last * t[v];
        leave[v] -= down->first * t[v];
    }
}

INLINED void add_box(vec *U, const real *T, const struct box_pool *pool, const struct span *down,
                     const struct span *across, size_t x, size_t vectors)
{
    if (down->whole && across->whole) add_box_of(U, T, pool, down, across, x, vectors, true, true);
    else if (down->whole) add_box_of(U, T, pool, down, across, x, vectors, true, false);
    else if (across->whole) add_box_of(U, T, pool, down, across, x, vectors, false, true);
    else add_box_of(U, T, pool, down, across, x, vectors, false, false);
}

/* ---- out ------------------------------------------------------------------ */

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
INLINED void pool_columns(real *out, const real *T, vec *U, const struct box_pool *pool, size_t component,
                          const struct box_pool_factor *factor, size_t x, size_t vectors, size_t count)
{
    const struct span *down = pool->down + component * pool->G, *across = pool->across + component * pool->G;
    ptrdiff_t H = (ptrdiff_t)pool->H, first = 0, end = H;
    vec sum[CHUNK] = {{0}};

    for (size_t g = 0; g < pool->G; g++) {
        if (-down[g].high < first) first = -down[g].high;
        if (H + 1 - down[g].low > end) end = H + 1 - down[g].low;
    }
    memset(U + first * (ptrdiff_t)CHUNK, 0, (size_t)(end - first) * CHUNK * sizeof *U);
    for (size_t g = 0; g < pool->G; g++) add_box(U, T, pool, &down[g], &across[g], x, vectors);

    for (ptrdiff_t y = first; y < 0; y++)
        for (size_t v = 0; v < vectors; v++) sum[v] += U[y * (ptrdiff_t)CHUNK + (ptrdiff_t)v];
    out += x;
    for (size_t y = 0; y < pool->H; y++, out += pool->W, U += CHUNK)
        for (size_t v = 0; v < vectors; v++) {
            sum[v] += U[v];
            vec mean = sum[v];
            if (factor) mean *= factor_of(factor, y, x + v * LANES, count);
            if (count < LANES) vec_store_partial(out + v * LANES, mean, count);
            else vec_storeu(out + v * LANES, mean);
        }
}

void box_pool_plane(const struct box_pool *pool, size_t component, real *out, const real *plane,
                    const struct box_pool_factor *factor, const struct arena *arena, size_t thread)
{
    real *T = arena_thread(arena, pool->T, thread);
    vec *U = (vec *)arena_thread(arena, pool->U, thread) + (pool->H + 1) * CHUNK;
    size_t W = pool->W, x = 0;

    make_rows(T, pool, plane);
    T = row_start(T, pool, 0);

    /* The last vectors overlap those before them. */
    for (; x + CHUNK * LANES <= W; x += CHUNK * LANES)
        pool_columns(out, T, U, pool, component, factor, x, CHUNK, LANES);
    if (x < W && W >= CHUNK * LANES && W - x > LANES) {
        pool_columns(out, T, U, pool, component, factor, W - CHUNK * LANES, CHUNK, LANES);
        return;
    }
    for (; x + LANES <= W; x += LANES)
        pool_columns(out, T, U, pool, component, factor, x, 1, LANES);
    if (x < W && W >= LANES) pool_columns(out, T, U, pool, component, factor, W - LANES, 1, LANES);
    else if (x < W) pool_columns(out, T, U, pool, component, factor, 0, 1, W);
}
