/* tensor.h -- attention of a warp on tensor cores
 *
 * Sixteen queries of a warp against keys and values in shared memory, for cuda-tf32 and cuda-bf16.  The factors q, k, v
 * and the weights are rounded to TF32 (11 digits) or BF16 (8); sums, softmax and the rest are plain float.
 *
 * A lane holds its part of every matrix (device.h).  The layout lets lanes exchange maxima only:
 *
 *   - The inner index of a product may have any order that both factors share.  The lane of column `four` takes
 *     channels 4 four ... 4 four + 3 of a query and of a key, in one access each, for the four that the instruction
 *   needs.
 *   - Scores come as keys 2 four and 2 four + 1 of every eight, the order that weights need: they stay in registers.
 *   - Lane `row` takes WIDE neighbouring channels of a value for as many products, so its sums are neighbouring
 *   channels.
 *
 * The pitch of rows in shared memory avoids bank conflicts.
 *
 *     row, four   lane / 4 and lane % 4           P          tf32 or bf16
 *     CHANNELS    of a head: 16, 32 or 64         EACH       factors in a word: P::EACH */

#ifndef TWICETOLD_FAST_CUDA_TENSOR_H
#define TWICETOLD_FAST_CUDA_TENSOR_H

#include "online.h"

static_assert(sizeof(real) == sizeof(float), "these products are of floats");

/* Factors in words, EACH in one.  What a lane has of 16 columns of two rows is a `left`. */
struct tf32 {
    static constexpr int EACH = 1;
    struct left { uint32_t word[2][4]; };       /* of two instructions */
};
struct bf16 {
    static constexpr int EACH = 2;
    struct left { uint32_t word[4]; };
};

/* Neighbours of a row in words. */
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

/* Neighbours of a column in words, of as many rows as share one. */
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

/* sums += a b, of 16 columns. */
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

/* The sum of what a lane has of a row, upper or lower, as it was rounded. */
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

/* Words from one row in shared memory to the next: of a key; of EACH values, channel by channel. */
template <class P, int CHANNELS> struct pitches {
    static constexpr int words = CHANNELS / P::EACH, apart = 16 / P::EACH;
    static constexpr int key = words % (2 * apart) == apart ? words : words + apart;
    static constexpr int value = CHANNELS + 4 * P::EACH;
};

/* What a lane holds of 16 queries, of rows `row` and `row` + 8 of them. */
template <class P, int CHANNELS> struct sixteen {
    static constexpr int WIDE = CHANNELS < 32 ? CHANNELS / 8 : 4;
    typename P::left q[CHANNELS / 16];
    real top[2], sum[2];                    /* sum: of the weights of this lane's keys */
    float mean[CHANNELS / 8 / WIDE][WIDE][4];
};

/* Four channels from an index on, zeros beyond c; at once where c is a multiple of four. */
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

/* The queries that begin at two indices, times a scale; zeros where there is none. */
template <class P, int CHANNELS>
__device__ inline void fetch_queries(sixteen<P, CHANNELS> &own, reals from, const size_t (&at)[2],
                                     const bool (&there)[2], int c, real scale)
{
    int four = threadIdx.x % 4;
    for (int part = 0; part < CHANNELS / 16; part++) {
        pack<real, 4> rows[2] = {};
        for (int r = 0; r < 2; r++) {
            if (there[r]) rows[r] = four_channels(from, at[r], 16 * part + 4 * four, c);
            for (int l = 0; l < 4; l++) rows[r][l] *= scale;
        }
        own.q[part] = two_rows(P(), rows[0], rows[1]);
    }
    for (int r = 0; r < 2; r++) {
        own.top[r] = LOWEST;
        own.sum[r] = 0;
    }
    for (auto &group : own.mean)
        for (auto &tile : group)
            for (float &entry : tile) entry = 0;
}

/* score[n]: two of the upper and two of the lower query, with keys 8 n + 2 four and the next, from row `first`. */
template <class P, int CHANNELS, int EIGHTS>
__device__ inline void score_keys(float (&score)[EIGHTS][4], const sixteen<P, CHANNELS> &own, shared<const uint32_t> k,
                                  int first)
{
    constexpr int pitch = pitches<P, CHANNELS>::key, words = 4 / P::EACH;
    int row = threadIdx.x % 32 / 4, four = threadIdx.x % 4;
    UNROLL for (int n = 0; n < EIGHTS; n++) {
        for (float &entry : score[n]) entry = 0;
        UNROLL for (int part = 0; part < CHANNELS / 16; part++)
            add_product(score[n], own.q[part],
                       load<words>(k, (first + 8 * n + row) * pitch + (4 * part + four) * words));
    }
}

/* An online softmax: scores become weights, earlier sums shrink.  A score of minus infinity marks a key not met. */
template <class P, int CHANNELS, int EIGHTS>
__device__ inline void weigh(float (&score)[EIGHTS][4], sixteen<P, CHANNELS> &own)
{
    UNROLL for (int r = 0; r < 2; r++) {
        real most = own.top[r];
        for (int n = 0; n < EIGHTS; n++)
            for (int e = 0; e < 2; e++) most = fmax(most, score[n][2 * r + e]);
        for (int by = 1; by < 4; by *= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, by));
        real shrink = exp(own.top[r] - most);
        own.top[r] = most;
        own.sum[r] *= shrink;
        for (auto &group : own.mean)
            for (auto &tile : group)
                for (int e = 0; e < 2; e++) tile[2 * r + e] *= shrink;
        for (int n = 0; n < EIGHTS; n++)
            for (int e = 0; e < 2; e++) score[n][2 * r + e] = exp(score[n][2 * r + e] - most);
    }
}

/* Adds the values under these weights; the weights are summed as they were rounded. */
template <class P, int CHANNELS, int EIGHTS>
__device__ inline void gather_values(sixteen<P, CHANNELS> &own, const float (&weight)[EIGHTS][4],
                                     shared<const uint32_t> v, int first)
{
    constexpr int pitch = pitches<P, CHANNELS>::value, EACH = P::EACH, WIDE = sixteen<P, CHANNELS>::WIDE;
    int row = threadIdx.x % 32 / 4, four = threadIdx.x % 4;
    UNROLL for (int n = 0; n < EIGHTS; n += 2) {
        typename P::left weights = two_rows(
            P(), {{weight[n][0], weight[n][1], weight[n + 1][0], weight[n + 1][1]}},
            {{weight[n][2], weight[n][3], weight[n + 1][2], weight[n + 1][3]}});
        for (int r = 0; r < 2; r++) own.sum[r] += row_sum(weights, r);
        UNROLL for (int group = 0; group < CHANNELS / 8 / WIDE; group++) {
            pack<uint32_t, 4 / EACH> value[WIDE];
            UNROLL for (int w = 0; w < 4 / EACH; w++) {
                int key = first + 8 * (n + w * EACH / 2) + 2 * four + w * EACH % 2;
                pack<uint32_t, WIDE> side_by_side = load<WIDE>(v, key / EACH * pitch + (8 * group + row) * WIDE);
                for (int m = 0; m < WIDE; m++) value[m][w] = side_by_side[m];
            }
            UNROLL for (int m = 0; m < WIDE; m++) add_product(own.mean[group][m], weights, value[m]);
        }
    }
}

/* The means of the queries whose outputs begin at two indices. */
template <class P, int CHANNELS>
__device__ inline void store_means(array<real> y, const size_t (&at)[2], const bool (&there)[2],
                                   sixteen<P, CHANNELS> &own, int c)
{
    constexpr int WIDE = sixteen<P, CHANNELS>::WIDE;
    int four = threadIdx.x % 4;
    UNROLL for (int r = 0; r < 2; r++) {
        for (int by = 1; by < 4; by *= 2) own.sum[r] += __shfl_xor_sync(0xffffffffu, own.sum[r], by);
        UNROLL for (int group = 0; group < CHANNELS / 8 / WIDE; group++)
            UNROLL for (int n = 0; n < 2 * WIDE; n += 4) {      /* of 2 WIDE channels side by side */
                int d = (8 * group + 2 * four) * WIDE + n;
                pack<real, 4> out;
                for (int l = 0; l < 4; l++)
                    out[l] = own.mean[group][(n + l) % WIDE][2 * r + (n + l) / WIDE] / own.sum[r];
                if (there[r] && c % 4 == 0 && d < c) store(y, at[r] + d, out);
                for (int l = 0; there[r] && c % 4 && l < 4; l++)
                    if (d + l < c) y[at[r] + d + l] = out[l];
            }
    }
}

#endif
