/* tensor.h -- attention of a warp on tensor cores
 *
 * Sixteen queries of a warp against keys and values in shared memory, for cuda-tf32 and cuda-bf16.  q, k, v and the
 * weights are rounded to TF32 (11 binary digits) or BF16 (8); sums and softmax are plain float.
 *
 * A lane holds its part of every matrix (device.h), row = lane / 4 and four = lane % 4.  Lanes exchange only maxima and
 * sums:
 *
 *   - A product allows any order of the inner index, the same in both factors.  So a lane loads channels 4 four ...
 *     4 four + 3 of a query or key in one access.
 *   - A lane gets the scores of keys 2 four and 2 four + 1 of every eight, in the order that weights need.
 *   - A lane loads WIDE adjacent channels of a value for WIDE products, so its sums are adjacent channels.
 *
 * The pitch of rows in shared memory avoids bank conflicts.  P is tf32 or bf16, CHANNELS 16, 32 or 64. */

#pragma once
#include "online.h"

static_assert(sizeof(real) == sizeof(float), "these products are of floats");

/* EACH factors in a word; `left` is a lane's part of 16 x 16 entries of the left factor. */
struct tf32 {
    static constexpr int EACH = 1;
    struct left { uint32_t word[2][4]; };       /* of two instructions */
};
struct bf16 {
    static constexpr int EACH = 2;
    struct left { uint32_t word[4]; };
};

/* Packs adjacent entries of a row into words. */
template <int N> __device__ inline pack<uint32_t, N> along(tf32, const pack<real, N> &from)
{
    pack<uint32_t, N> to;
    for (int n = 0; n < N; n++) to[n] = tf32_of(from[n]);
    return to;
}
template <int N> __device__ inline pack<uint32_t, N / 2> along(bf16, const pack<real, N> &from)
{
    pack<uint32_t, N / 2> to;
    for (int n = 0; n < N / 2; n++) to[n] = bf16_pair(from[2 * n], from[2 * n + 1]);
    return to;
}

/* Packs entries of EACH rows, column by column. */
template <int N> __device__ inline pack<uint32_t, N> across(tf32 as, const pack<real, N> (&rows)[1])
{
    return along(as, rows[0]);
}
template <int N> __device__ inline pack<uint32_t, N> across(bf16, const pack<real, N> (&rows)[2])
{
    pack<uint32_t, N> to;
    for (int n = 0; n < N; n++) to[n] = bf16_pair(rows[0][n], rows[1][n]);
    return to;
}

__device__ inline tf32::left two_rows(tf32, const pack<real, 4> &upper, const pack<real, 4> &lower)
{
    tf32::left a;
    for (int half = 0; half < 2; half++)
        for (int e = 0; e < 2; e++) {
            a.word[half][2 * e] = tf32_of(upper[2 * half + e]);
            a.word[half][2 * e + 1] = tf32_of(lower[2 * half + e]);
        }
    return a;
}
__device__ inline bf16::left two_rows(bf16, const pack<real, 4> &upper, const pack<real, 4> &lower)
{
    return {{bf16_pair(upper[0], upper[1]), bf16_pair(lower[0], lower[1]),
             bf16_pair(upper[2], upper[3]), bf16_pair(lower[2], lower[3])}};
}

/* sums += a b over 16 columns of a. */
__device__ inline void add_product(float (&sums)[4], const tf32::left &a, const pack<uint32_t, 4> &b)
{
    for (int half = 0; half < 2; half++) {
        const uint32_t two[2] = {b[2 * half], b[2 * half + 1]};
        multiply_tf32(sums, a.word[half], two);
    }
}
__device__ inline void add_product(float (&sums)[4], const bf16::left &a, const pack<uint32_t, 2> &b)
{
    const uint32_t two[2] = {b[0], b[1]};
    multiply_bf16(sums, a.word, two);
}

/* The sum of a lane's rounded entries in its upper or lower row. */
__device__ inline real row_sum(const tf32::left &a, int lower)
{
    real sum = 0;
    for (int half = 0; half < 2; half++)
        for (int e = 0; e < 2; e++) sum += __uint_as_float(a.word[half][2 * e + lower]);
    return sum;
}
__device__ inline real row_sum(const bf16::left &a, int lower)
{
    real sum = 0;
    for (int half = 0; half < 2; half++) {
        uint32_t two = a.word[2 * half + lower];
        sum += __uint_as_float(two << 16) + __uint_as_float(two & 0xffff0000u);
    }
    return sum;
}

/* Words from one row in shared memory to the next: of keys, and of groups of EACH values. */
template <class P, int CHANNELS> struct pitches {
    static constexpr int words = CHANNELS / P::EACH, apart = 16 / P::EACH;
    static constexpr int key = words % (2 * apart) == apart ? words : words + apart;
    static constexpr int value = CHANNELS + 4 * P::EACH;
};

/* A lane's part of 16 queries: rows `row` and `row` + 8. */
template <class P, int CHANNELS> struct query_fragments {
    static constexpr int WIDE = CHANNELS < 32 ? CHANNELS / 8 : 4;
    typename P::left q[CHANNELS / 16];
    real top[2], sum[2];                    /* sum: of the weights of this lane's keys */
    float mean[CHANNELS / 8 / WIDE][WIDE][4];
};

/* Channels d ... d + 3, zeros from c on; one access if c is a multiple of four. */
__device__ inline pack<real, 4> four_channels(reals from, size_t at, int d, int c)
{
    pack<real, 4> some = {};
    if (c % 4 == 0) {
        if (d < c) some = load<4>(from, at + d);
    } else {
        for (int l = 0; l < 4; l++)
            if (d + l < c) some[l] = from[at + d + l];
    }
    return some;
}

/* Loads the queries at two indices, times a scale; zeros if not valid. */
template <class P, int CHANNELS>
__device__ inline void fetch_queries(query_fragments<P, CHANNELS> &query, reals from, const size_t (&at)[2],
                                     const bool (&valid)[2], int c, real scale)
{
    int four = threadIdx.x % 4;
    for (int part = 0; part < CHANNELS / 16; part++) {
        pack<real, 4> rows[2] = {};
        for (int r = 0; r < 2; r++) {
            if (valid[r]) rows[r] = four_channels(from, at[r], 16 * part + 4 * four, c);
            for (int l = 0; l < 4; l++) rows[r][l] *= scale;
        }
        query.q[part] = two_rows(P(), rows[0], rows[1]);
    }
    for (int r = 0; r < 2; r++) {
        query.top[r] = LOWEST;
        query.sum[r] = 0;
    }
    for (auto &group : query.mean)
        for (auto &tile : group)
            for (float &entry : tile) entry = 0;
}

/* score[n]: two scores of the upper query, then of the lower, with keys first + 8 n + 2 four and the next. */
template <class P, int CHANNELS, int EIGHTS>
__device__ inline void score_keys(float (&score)[EIGHTS][4], const query_fragments<P, CHANNELS> &query,
                                  shared<const uint32_t> k, int first)
{
    constexpr int pitch = pitches<P, CHANNELS>::key, words = 4 / P::EACH;
    int row = threadIdx.x % 32 / 4, four = threadIdx.x % 4;
    UNROLL for (int n = 0; n < EIGHTS; n++) {
        for (float &entry : score[n]) entry = 0;
        UNROLL for (int part = 0; part < CHANNELS / 16; part++)
            add_product(score[n], query.q[part],
                       load<words>(k, (first + 8 * n + row) * pitch + (4 * part + four) * words));
    }
}

/* Online softmax: turns scores into weights and rescales the sums.  Score -INFINITY excludes a key. */
template <class P, int CHANNELS, int EIGHTS>
__device__ inline void weigh(float (&score)[EIGHTS][4], query_fragments<P, CHANNELS> &query)
{
    UNROLL for (int r = 0; r < 2; r++) {
        real most = query.top[r];
        for (int n = 0; n < EIGHTS; n++)
            for (int e = 0; e < 2; e++) most = fmax(most, score[n][2 * r + e]);
        for (int by = 1; by < 4; by *= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, by));
        real shrink = exp(query.top[r] - most);
        query.top[r] = most;
        query.sum[r] *= shrink;
        for (auto &group : query.mean)
            for (auto &tile : group)
                for (int e = 0; e < 2; e++) tile[2 * r + e] *= shrink;
        for (int n = 0; n < EIGHTS; n++)
            for (int e = 0; e < 2; e++) score[n][2 * r + e] = exp(score[n][2 * r + e] - most);
    }
}

/* Adds weighted values.  The sum of the weights takes the rounded weights, so equal values average to themselves. */
template <class P, int CHANNELS, int EIGHTS>
__device__ inline void gather_values(query_fragments<P, CHANNELS> &query, const float (&weight)[EIGHTS][4],
                                     shared<const uint32_t> v, int first)
{
    constexpr int pitch = pitches<P, CHANNELS>::value, EACH = P::EACH, WIDE = query_fragments<P, CHANNELS>::WIDE;
    int row = threadIdx.x % 32 / 4, four = threadIdx.x % 4;
    UNROLL for (int n = 0; n < EIGHTS; n += 2) {
        typename P::left weights = two_rows(
            P(), {{weight[n][0], weight[n][1], weight[n + 1][0], weight[n + 1][1]}},
            {{weight[n][2], weight[n][3], weight[n + 1][2], weight[n + 1][3]}});
        for (int r = 0; r < 2; r++) query.sum[r] += row_sum(weights, r);
        UNROLL for (int group = 0; group < CHANNELS / 8 / WIDE; group++) {
            pack<uint32_t, 4 / EACH> value[WIDE];
            UNROLL for (int w = 0; w < 4 / EACH; w++) {
                /* Step 1: the key of word w, in the order of the weights. */
                int key = first + 8 * (n + w * EACH / 2) + 2 * four + w * EACH % 2;

                pack<uint32_t, WIDE> side_by_side = load<WIDE>(v, key / EACH * pitch + (8 * group + row) * WIDE);
                for (int m = 0; m < WIDE; m++) value[m][w] = side_by_side[m];
            }
            UNROLL for (int m = 0; m < WIDE; m++) add_product(query.mean[group][m], weights, value[m]);
        }
    }
}

/* Stores the means of both queries at two indices. */
template <class P, int CHANNELS>
__device__ inline void store_means(array<real> y, const size_t (&at)[2], const bool (&valid)[2],
                                   query_fragments<P, CHANNELS> &query, int c)
{
    constexpr int WIDE = query_fragments<P, CHANNELS>::WIDE;
    int four = threadIdx.x % 4;
    UNROLL for (int r = 0; r < 2; r++) {
        for (int by = 1; by < 4; by *= 2) query.sum[r] += __shfl_xor_sync(0xffffffffu, query.sum[r], by);
        UNROLL for (int group = 0; group < CHANNELS / 8 / WIDE; group++)
            UNROLL for (int n = 0; n < 2 * WIDE; n += 4) {      /* 2 WIDE adjacent channels */
                int d = (8 * group + 2 * four) * WIDE + n;
                pack<real, 4> out;
                for (int l = 0; l < 4; l++)
                    out[l] = query.mean[group][(n + l) % WIDE][2 * r + (n + l) / WIDE] / query.sum[r];
                if (valid[r] && c % 4 == 0 && d < c) store(y, at[r] + d, out);
                for (int l = 0; valid[r] && c % 4 && l < 4; l++)
                    if (d + l < c) y[at[r] + d + l] = out[l];
            }
    }
}
