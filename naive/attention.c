/* attention.c -- softmax attention as Eq. 1-3 of LiSA read, with the weights of all pairs in memory; never optimised
 *
 *     i  queries     j  keys     c  channels
 *
 * Interface: naive/attention.h. */

#include "attention.h"
#include "../reference/runtime/steps.h"

void attention_naive_weights(real *a, const real *q, const real *k, const real *r,
                             real scale, size_t queries, size_t keys, size_t channels)
{
    /* Step 1: A_ij + R_ij, the score of query i and key j. */
    for (size_t i = 0; i < queries; i++)
        for (size_t j = 0; j < keys; j++) {
            const real *q_i = q + i * channels, *k_j = k + j * channels;
            real sum = 0;
            for (size_t c = 0; c < channels; c++) sum += q_i[c] * k_j[c];
            a[i * keys + j] = scale * sum;
            if (r) a[i * keys + j] += r[i * keys + j];
        }

    /* Step 2: the softmax over j. */
    for (size_t i = 0; i < queries; i++) softmax(a + i * keys, keys);
}

void attention_naive(real *y, real *a, const real *q, const real *k, const real *v, const real *r,
                     real scale, size_t queries, size_t keys, size_t channels)
{
    attention_naive_weights(a, q, k, r, scale, queries, keys, channels);

    /* Step 3: Y_ic, the weighted mean of the values. */
    for (size_t i = 0; i < queries; i++)
        for (size_t c = 0; c < channels; c++) {
            const real *a_i = a + i * keys;
            real sum = 0;
            for (size_t j = 0; j < keys; j++) sum += a_i[j] * v[j * channels + c];
            y[i * channels + c] = sum;
        }
}

void attention_copies_prepare(struct attention_copies *copies, struct arena *arena,
                              size_t queries, size_t keys, size_t channels)
{
    arena_reals(arena, PER_THREAD, &copies->q, "the query of a head", queries, channels);
    arena_reals(arena, PER_THREAD, &copies->k, "the key of a head", keys, channels);
    arena_reals(arena, PER_THREAD, &copies->v, "the value of a head", keys, channels);
    arena_reals(arena, PER_THREAD, &copies->y, "the output of a head", queries, channels);
    arena_reals(arena, PER_THREAD, &copies->a, "the attention of all pairs", queries, keys);
}

void attention_naive_head(const struct head *head, const struct attention_copies *copies, const real *r,
                          real scale, size_t queries, size_t keys, size_t channels)
{
    real *q = head_thread(head, copies->q), *k = head_thread(head, copies->k), *v = head_thread(head, copies->v);
    real *y = head_thread(head, copies->y);

    head_gather(q, head->q, head->q_stride, queries, channels);
    head_gather(k, head->k, head->kv_stride, keys, channels);
    head_gather(v, head->v, head->kv_stride, keys, channels);
    attention_naive(y, head_thread(head, copies->a), q, k, v, r, scale, queries, keys, channels);
    head_scatter(head->y, head->y_stride, y, queries, channels);
}

void toeplitz(real *R, const real *e, size_t e_stride, const grid *g, size_t columns)
{
    size_t N = g->tokens;

    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            const real *e_ij = e + grid_offset(g, i, j) * e_stride;
            real *R_ij = R + (i * N + j) * columns;
            for (size_t d = 0; d < columns; d++) R_ij[d] = e_ij[d];
        }
}
