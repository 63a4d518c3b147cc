/* ghosted.c -- a ghost head on self-attention; see ghosted.h
 *
 * Each channel has different weights, so a matrix product cannot apply them: each of the N^2 C weights is computed, and
 * multiplied by its value.
 *
 * 1. The softmax of 16 queries of one head is stored; the weights of a channel are computed in registers.
 * 2. Lanes hold channels of one head, which share the softmax of a pair.  In the static matrices and the values, the
 *    next offset or token is the next vector, so rows of the grid may have any length.
 * 3. The static matrices depend only on the offset.  4 queries and 4 keys in rows of the grid have 7 offsets, so 32
 *    multiply-adds need 34 loads instead of 64.
 *
 *     i  queries     j  keys     a  heads     l  lanes
 *
 * Contract: reference/msa.h. */

#include "ghosted.h"
#include "activations.h"

/* ---- pairs of tokens ------------------------------------------------------- */

/* sum_q += sum_k (factor[k - q] w_qk + summand[k - q]) v_k, for neighbouring queries of a row of the grid and
 * neighbouring keys of a row.  Callers pass constants for both numbers. */
INLINED void add_pairs(vec *sum, const vec *factor, const vec *summand, const real *w, size_t w_stride,
                  const vec *v, size_t queries, size_t keys)
{
    vec f[7], s[7];

    for (size_t n = 0; n < queries + keys - 1; n++) {
        f[n] = *(factor + n - (queries - 1));
        s[n] = *(summand + n - (queries - 1));
    }
    for (size_t k = 0; k < keys; k++)
        for (size_t q = 0; q < queries; q++) {
            size_t n = k + queries - 1 - q;
            /* cppcheck-suppress uninitvar ; all of k + queries - 1 - q below queries + keys - 1 are written above */
            sum[q] += (f[n] * w[q * w_stride + k] + s[n]) * v[k];
        }
}

/* One vector of channels, number `at` of [h][vectors], for queries i, i + 1, ... of a row of the grid and all keys.
 * For accuracy each row of keys is summed from zero. */
INLINED void weigh(vec *sum, const struct ghosted *ghosted, const struct msa_problem *p, size_t at,
                   const real *w, size_t i, size_t queries)
{
    const grid *g = &p->windows.grid;
    size_t N = p->heads.N, P = g->offsets, row = g->size[g->axes - 1];
    size_t centre = at * P + (P - 1) / 2 - ghosted->place[i];
    const vec *v = ghosted->values + at * N;

    for (size_t q = 0; q < queries; q++) sum[q] = (vec){0};
    for (size_t j = 0; j < N; j += row) {
        const vec *factor = ghosted->factor + centre + ghosted->place[j];
        const vec *summand = ghosted->summand + centre + ghosted->place[j];
        vec part[4] = {{0}};
        size_t x = 0;
        for (; x + 4 <= row; x += 4) add_pairs(part, factor + x, summand + x, w + j + x, N, v + j + x, queries, 4);
        for (; x < row; x++) add_pairs(part, factor + x, summand + x, w + j + x, N, v + j + x, queries, 1);
        for (size_t q = 0; q < queries; q++) sum[q] += part[q];
    }
}

static void weigh_four(vec *sum, const struct ghosted *ghosted, const struct msa_problem *p, size_t at,
                       const real *w, size_t i)
{
    weigh(sum, ghosted, p, at, w, i, 4);
}

static void weigh_one(vec *sum, const struct ghosted *ghosted, const struct msa_problem *p, size_t at,
                      const real *w, size_t i)
{
    weigh(sum, ghosted, p, at, w, i, 1);
}

/* ---- a block of queries ------------------------------------------------------ */

/* map [count][N]: the softmax of head a. */
static void weights(real *map, const struct ghosted *ghosted, const struct msa_problem *p, const real *q,
                    size_t a, size_t first, size_t count)
{
    const grid *g = &p->windows.grid;
    size_t N = p->heads.N, c = p->heads.c, row = g->size[g->axes - 1];
    const real *rpe = p->rpe ? ghosted->rpe + (p->rpe_columns > 1 ? a * g->offsets : 0) : NULL;

    linear_map(map, N, q + first * 3 * p->heads.C + a * c, 3 * p->heads.C, ghosted->keys + a * N * c, NULL, count, c,
               N);
    for (size_t i = 0; i < count; i++) {
        real *map_i = map + i * N;
        for (size_t j = 0; rpe && j < N; j += row) {
            const real *rpe_ij = rpe + (g->offsets - 1) / 2 + ghosted->place[j] - ghosted->place[first + i];
            for (size_t x = 0; x < row; x++) map_i[j + x] += rpe_ij[x];
        }
        softmax_row(map_i, N);
    }
}

void ghosted_block(const struct ghosted *ghosted, const struct msa_problem *p, real *y, const real *qkv, size_t block,
                   real *map)
{
    const grid *g = &p->windows.grid;
    size_t N = p->heads.N, C = p->heads.C, c = p->heads.c, row = g->size[g->axes - 1];
    size_t first = block * GHOSTED_BLOCK, count = N - first < GHOSTED_BLOCK ? N - first : GHOSTED_BLOCK;

    for (size_t a = 0; a < p->heads.h; a++) {
        weights(map, ghosted, p, qkv, a, first, count);
        for (size_t n = 0, some; n < count; n += some) {
            /* Step 1: four queries at a time, if this row of the grid has as many left. */
            size_t i = first + n;
            some = n + 4 <= count && i % row + 4 <= row ? 4 : 1;
            for (size_t v = 0; v < ghosted->vectors; v++) {
                vec sum[4];
                size_t at = a * ghosted->vectors + v, left = c - v * LANES;
                if (some == 4) weigh_four(sum, ghosted, p, at, map + n * N, i);
                else weigh_one(sum, ghosted, p, at, map + n * N, i);

                /* Step 2: store them in the channels of the head. */
                for (size_t q = 0; q < some; q++)
                    for (size_t l = 0; l < LANES && l < left; l++)
                        y[(i + q) * C + ghost_channel(&p->ghost, a, v * LANES + l)] = sum[q][l];
            }
        }
    }
}

void ghosted_gather(const struct ghosted *ghosted, const struct msa_problem *p, const struct team *t, const real *qkv)
{
    size_t N = p->heads.N, C = p->heads.C, c = p->heads.c;
    real scale = p->scale * LOG2_E;

    for (size_t j; team_next(t, N, &j);) {
        const real *k_j = qkv + j * 3 * C + C, *v_j = k_j + C;
        for (size_t a = 0; a < p->heads.h; a++) {
            for (size_t n = 0; n < c; n++) ghosted->keys[(a * N + j) * c + n] = scale * k_j[a * c + n];
            for (size_t n = 0; n < ghosted->vectors * LANES; n++)
                ghosted->values[(a * ghosted->vectors + n / LANES) * N + j][n % LANES] =
                    n < c ? v_j[ghost_channel(&p->ghost, a, n)] : 0;
        }
    }
}

/* ---- tables ------------------------------------------------------------------- */

void ghosted_prepare(struct ghosted *ghosted, struct arena *arena, const struct msa_problem *p)
{
    bool ghost = p->ghost.add != NULL;
    size_t N = p->heads.N, h = ghost ? p->heads.h : 0, P = p->windows.grid.offsets;

    ghosted->vectors = (p->heads.c - 1) / LANES + 1;
    ghost_prepare(&ghosted->ghost, arena, LOAD_SCRATCH, &p->ghost);
    arena_objects(arena, PERSISTENT, &ghosted->place, "the places of tokens", ghost ? N : 0, 1, sizeof *ghosted->place);
    arena_reals(arena, PERSISTENT, &ghosted->rpe, "relative positions", ghost && p->rpe ? p->rpe_columns : 0, P);
    arena_objects(arena, PERSISTENT, &ghosted->factor, "factors in lanes", h * ghosted->vectors, P,
                  sizeof *ghosted->factor);
    arena_objects(arena, PERSISTENT, &ghosted->summand, "summands in lanes", h * ghosted->vectors, P,
                  sizeof *ghosted->summand);
    arena_reals(arena, PER_RUN, &ghosted->keys, "the keys of an image", h, N, p->heads.c);
    arena_objects(arena, PER_RUN, &ghosted->values, "values in lanes", h * ghosted->vectors, N,
                  sizeof *ghosted->values);
    arena_reals(arena, PER_THREAD, &ghosted->map, "the weights of a block", h ? GHOSTED_BLOCK : 0, N);
}

void ghosted_load(struct ghosted *ghosted, const struct msa_problem *p)
{
    const grid *g = &p->windows.grid;
    size_t P = g->offsets;

    if (!p->ghost.add) return;

    /* Step 1: the places of tokens, and the relative positions. */
    for (size_t i = 0; i < p->heads.N; i++) {
        size_t at[GRID_AXES];
        grid_coordinates(at, g, i);
        ghosted->place[i] = (at[0] * (2 * g->size[1] - 1) + at[1]) * (2 * g->size[2] - 1) + at[2];
    }
    for (size_t n = 0; ghosted->rpe && n < P; n++)
        for (size_t column = 0; column < p->rpe_columns; column++)
            ghosted->rpe[column * P + n] = LOG2_E * p->rpe[n * p->rpe_columns + column];

    /* Step 2: the static matrices, channels in lanes. */
    ghost_load(&ghosted->ghost, &p->ghost);
    for (size_t a = 0; a < p->heads.h; a++)
        for (size_t ch = 0; ch < ghosted->vectors * LANES; ch++) {
            size_t to = (a * ghosted->vectors + ch / LANES) * P, l = ch % LANES;
            size_t from = ch < p->heads.c ? ghost_channel(&p->ghost, a, ch) * P : 0;
            for (size_t n = 0; n < P; n++) {
                ghosted->factor[to + n][l] = ch < p->heads.c ? ghosted->ghost.factor[from + n] : 0;
                ghosted->summand[to + n][l] = ch < p->heads.c ? ghosted->ghost.summand[from + n] : 0;
            }
        }
}
