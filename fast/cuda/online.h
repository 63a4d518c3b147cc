/* online.h -- online softmax of a thread
 *
 * A query and its weighted sum of values stay in a thread's registers, for heads of up to CHANNELS channels.  Registers
 * cannot be indexed at run time: loops over them have the constant length CHANNELS and a condition inside. */

#pragma once
#include "device.h"

/* Before a loop that indexes registers, if nvcc does not unroll it without being asked. */
#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

/* Running softmax of a query: largest score, sum of weights, weighted sum of values (chapter 0, the fast form). */
template <int CHANNELS> struct softmax_state {
    real top, sum, mean[CHANNELS];
};

/* If score a is the largest so far, rescales both sums to it. */
template <int CHANNELS> __device__ inline void raise_top(softmax_state<CHANNELS> &g, real a)
{
    if (a <= g.top) return;
    real shrink = exp(g.top - a);
    g.top = a;
    g.sum *= shrink;
    for (int d = 0; d < CHANNELS; d++) g.mean[d] *= shrink;
}

/* c channels from index `at` on, then zeros.  If c is a multiple of four, so is `at`, and four load in one access. */
template <int CHANNELS>
__device__ inline void fetch_row(real (&row)[CHANNELS], reals from, size_t at, int c, real scale)
{
    if (c % 4 == 0) {
        for (int d = 0; d < CHANNELS; d += 4) {
            pack<real, 4> four = {};
            if (d < c) four = load<4>(from, at + d);
            for (int e = 0; e < 4; e++) row[d + e] = scale * four[e];
        }
    } else {
        for (int d = 0; d < CHANNELS; d++) row[d] = d < c ? scale * from[at + d] : (real)0;
    }
}

template <int CHANNELS>
__device__ inline void store_mean(array<real> to, size_t at, const softmax_state<CHANNELS> &g, int c)
{
    if (c % 4 == 0) {
        for (int d = 0; d < CHANNELS; d += 4) {
            pack<real, 4> four;
            for (int e = 0; e < 4; e++) four[e] = g.mean[d + e] / g.sum;
            if (d < c) store(to, at + d, four);
        }
    } else {
        for (int d = 0; d < CHANNELS; d++)
            if (d < c) to[at + d] = g.mean[d] / g.sum;
    }
}

/* Attention of a query over a tile of keys and values in shared memory.  Rows are `pitch` apart, a multiple of four, so
 * one access loads four channels; keys are zero after the last channel.  All threads of a warp read the same words,
 * four floats in two cycles (requests.h). */
template <int CHANNELS>
__device__ inline void attend(softmax_state<CHANNELS> &g, const real (&q)[CHANNELS], shared<real> k, shared<real> v,
                              int keys, int pitch)
{
    for (int key = 0; key < keys; key++) {
        real a = 0;
        for (int d = 0; d < CHANNELS; d += 4)
            if (d < pitch) {
                pack<real, 4> four = load<4>(k, key * pitch + d);
                for (int e = 0; e < 4; e++) a += q[d + e] * four[e];
            }
        raise_top(g, a);
        real weight = exp(a - g.top);
        g.sum += weight;
        for (int d = 0; d < CHANNELS; d += 4)
            if (d < pitch) {
                pack<real, 4> four = load<4>(v, key * pitch + d);
                for (int e = 0; e < 4; e++) g.mean[d + e] += weight * four[e];
            }
    }
}
