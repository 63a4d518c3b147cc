/* online.h -- an online softmax, and rows of channels in registers
 *
 * A query and its weighted mean of values stay in a thread's registers, for heads of up to CHANNELS channels.
 * Registers have no index, so loops over them have this constant length and a condition inside. */

#ifndef TWICETOLD_FAST_CUDA_ONLINE_H
#define TWICETOLD_FAST_CUDA_ONLINE_H

#include "device.h"

/* Before a loop that indexes registers, where the compiler would not see it through. */
#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

/* Of a query: the largest score, the sum of the weights, and of the values under them (chapter 0, the fast form). */
template <int CHANNELS> struct gathered {
    real top, sum, mean[CHANNELS];
};

/* A larger score shrinks what was gathered. */
template <int CHANNELS> __device__ inline void gather(gathered<CHANNELS> &g, real a)
{
    if (a <= g.top) return;
    real shrink = exp(g.top - a);
    g.top = a;
    g.sum *= shrink;
    for (int d = 0; d < CHANNELS; d++) g.mean[d] *= shrink;
}

/* c channels from an index on, then zeros; four at once if c, and so the index, is a multiple of four. */
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

/* The mean of what was gathered. */
template <int CHANNELS> __device__ inline void store_mean(array<real> to, size_t at, const gathered<CHANNELS> &g, int c)
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

/* A query against keys and values in shared memory, in rows of `pitch`: a multiple of
 * four, so that one access brings four channels.  All threads of a warp read the same
 * words, four floats in two cycles (requests.h).  Keys are zero beyond their channels. */
template <int CHANNELS>
__device__ inline void attend(gathered<CHANNELS> &g, const real (&q)[CHANNELS], shared<real> k, shared<real> v,
                              int keys, int pitch)
{
    for (int key = 0; key < keys; key++) {
        real a = 0;
        for (int d = 0; d < CHANNELS; d += 4)
            if (d < pitch) {
                pack<real, 4> four = load<4>(k, key * pitch + d);
                for (int e = 0; e < 4; e++) a += q[d + e] * four[e];
            }
        gather(g, a);
        real weight = exp(a - g.top);
        g.sum += weight;
        for (int d = 0; d < CHANNELS; d += 4)
            if (d < pitch) {
                pack<real, 4> four = load<4>(v, key * pitch + d);
                for (int e = 0; e < 4; e++) g.mean[d + e] += weight * four[e];
            }
    }
}

#endif
