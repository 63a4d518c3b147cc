/* box_pool.h -- means over boxes; the cost does not depend on their size
 *
 * Entry (Y, X) of an integral image (Crow, "Summed-area tables for texture mapping", 1984) is the sum of all numbers
 * above row Y and left of column X.  So the sum over any box is a combination of four entries.  The plane [H][W] of one
 * component becomes the weighted sum of its means over G boxes around each token:
 *
 *     out_n = factor_n sum_g mix_g mean of the plane over (y0, x0, y1, x1)_g around n
 *
 * Cost of a plane: 3 additions and at most 6 multiply-adds for each token and box; 1 multiplication if all edges lie
 * between tokens.  Memory: two spans for each box of each component; for each thread about H (W + 11 L) reals. */

#pragma once
#include "../../../reference/runtime/resample.h"
#include "../../../reference/runtime/arena.h"

/* A box along one axis, the same for every token: the fraction `first` of token `low`, the fraction `last` of token
 * `high`, and all tokens between.  low and high are relative to the box's token.  With running sums T_k of all tokens
 * before k, the sum for token t is
 *
 *     first (T[t+low+1] - T[t+low]) + (T[t+high] - T[t+low+1]) + last (T[t+high+1] - T[t+high])
 *
 * If both edges are in one token, the span is the whole token, whose mean is the same. */
struct span {
    bool whole;                 /* edges between tokens: first = 1, last = 0 */
    ptrdiff_t low, high;
    real first, last;
    real weight;                /* of the tokens between; `first` and `last` are weights too */
};

struct box_pool {
    size_t H, W, G, components;
    size_t line;                /* reals of a padded row of running sums */
    struct span *down, *across; /* [components][G]; all weights of `down` include mix / the box's area */
    real *T, *U;                /* of each thread: running sums along the rows; changes from row to row */
};

/* load computes the spans from boxes [components][G][4] and mix [components][G]. */
void box_pool_prepare(struct box_pool *pool, struct arena *arena, size_t H, size_t W, size_t components, size_t G);
void box_pool_load(struct box_pool *pool, const real *boxes, const real *mix);

/* Writes the zeros around the running sums.  No plane overwrites them, so each thread calls this once per run, before
 * its first plane. */
void box_pool_clear(const struct box_pool *pool, const struct arena *arena, size_t thread);

/* Factors of the results.  tap[y] interpolates the factors of row y between two of `rows`, which are `stride` apart. */
struct box_pool_factor {
    const real *rows;
    size_t stride;
    const struct tap *tap;      /* [H] */
};

/* out [H][W] from plane [H][W] of one component; they may be the same.  factor may be NULL. */
void box_pool_plane(const struct box_pool *pool, size_t component, real *out, const real *plane,
                    const struct box_pool_factor *factor, const struct arena *arena, size_t thread);
