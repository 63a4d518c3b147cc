/* lisa_fused.h -- LiSA's third rung: product, transform and contraction in one kernel
 *
 * A block holds the circles of a few channels of one head in shared memory.  See lisa.cu,
 * and shared_fft.h for the transform. */

#ifndef TWICETOLD_FAST_CUDA_LISA_FUSED_H
#define TWICETOLD_FAST_CUDA_LISA_FUSED_H

#include "lisa.h"
#include "shared_fft.h"

/* What they are given beside the problem: lanes, a power of two, are channels of one head. */
struct shared_grids { struct shared_fft fft; int shift, groups; };

/* The spectra of kernels: blocks of (group of rows, pair). */
__global__ void kernel_spectra(problem_of_lisa p, shared_grids g, int shift, array<real> spectra,
                               array<const real> table, int rows, array<const real> turns)
{
    DYNAMIC_SHARED(real, room);
    shared<real> grid = room + 2 * g.fft.turns;
    int numbers = p.points << shift;
    size_t to = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * numbers;

    shared_fft_fetch(g.fft, room, turns);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) {
        int row = (blockIdx.x << shift) + (e & ((1 << shift) - 1));
        store(grid, 2 * e, both_of(kernel_point(p, table, rows, p.D, 2, row, blockIdx.y, e >> shift)));
    }
    __syncthreads();
    shared_fft_run<false>(g.fft, grid, room, shift);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) store(spectra, 2 * (to + e), load<2>(grid, 2 * e));
}

/* The spectra of keys and values: blocks of (group of channels, head, 2 image + which). */
__global__ void token_spectra(problem_of_lisa p, shared_grids g, array<real> spectra, array<const real> qkv,
                              array<const real> turns)
{
    DYNAMIC_SHARED(real, room);
    shared<real> grid = room + 2 * g.fft.turns;
    int lanes = 1 << g.shift, numbers = p.points << g.shift;
    size_t image = blockIdx.z / 2, from = (1 + blockIdx.z % 2) * p.C + blockIdx.y * p.c;
    size_t to = (((size_t)blockIdx.z * p.h + blockIdx.y) * g.groups + blockIdx.x) * numbers;

    shared_fft_fetch(g.fft, room, turns);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) {
        int token = circle_token(p, e >> g.shift), ch = blockIdx.x * lanes + (e & (lanes - 1));
        real x = 0;
        if (token >= 0 && ch < p.c) x = qkv[(image * p.N + token) * 3 * p.C + from + ch];
        store(grid, 2 * e, both_of({x, 0}));
    }
    __syncthreads();
    shared_fft_run<false>(g.fft, grid, room, g.shift);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) store(spectra, 2 * (to + e), load<2>(grid, 2 * e));
}

/* A group's spectra times a kernel's, transformed back: the grid holds the convolutions
 * of its lanes with two latents, the bias on them.  Barriers before and behind. */
__device__ inline void convolve(const problem_of_lisa &p, const shared_grids &g, shared<real> grid,
                                shared<const real> turns, array<const real> spectra, array<const real> kernel,
                                bool one_for_all, array<const real> bias, int group, int pair)
{
    for (int e = threadIdx.x; e < p.points << g.shift; e += blockDim.x) {
        point z = point_of(load<2>(spectra, 2 * e)) * point_of(load<2>(kernel, 2 * (one_for_all ? e >> g.shift : e)));
        int ch = (group << g.shift) + e, d = 2 * pair;
        if (bias && e >> g.shift == 0 && ch < p.c) {
            z.re += bias[ch * p.D + d];
            if (d + 1 < p.D) z.im += bias[ch * p.D + d + 1];
        }
        store(grid, 2 * e, both_of(z));
    }
    __syncthreads();
    shared_fft_run<true>(g.fft, grid, turns, g.shift);
}

/* a of two latents of a head: blocks of (pair, head, image). */
__global__ void fused_structure(problem_of_lisa p, shared_grids g, array<real> a, array<const real> qkv,
                                array<const real> spectra, array<const real> kernels, array<const real> ba,
                                array<const real> turns)
{
    DYNAMIC_SHARED(real, room);
    shared<real> grid = room + 2 * g.fft.turns;
    int lanes = 1 << g.shift, pair = blockIdx.x;
    size_t numbers = (size_t)p.points << g.shift, image = blockIdx.z;
    size_t item = image * p.h + blockIdx.y, key = (2 * image * p.h + blockIdx.y) * g.groups * numbers;
    bool one_for_all = p.rows == 1;
    size_t kernel = one_for_all ? (size_t)pair * p.points : pair * g.groups * numbers;

    shared_fft_fetch(g.fft, room, turns);
    for (int group = 0; group < g.groups; group++) {
        /* Step 1: the convolutions of a group's keys. */
        convolve(p, g, grid, room, spectra + 2 * (key + group * numbers),
                 kernels + 2 * (kernel + (one_for_all ? 0 : group * numbers)), one_for_all, ba, group, pair);

        /* Step 2: their products with the query, summed over the lanes.  All threads of a
         * warp meet here, with a token or without. */
        for (int first = 0; first < p.N << g.shift; first += blockDim.x) {
            int e = first + threadIdx.x, i = e >> g.shift, ch = group * lanes + (e & (lanes - 1));
            point sum = {0, 0};
            if (i < p.N && ch < p.c) {
                real q = qkv[(image * p.N + i) * 3 * p.C + blockIdx.y * p.c + ch];
                point G = point_of(load<2>(grid, 2 * ((circle_point(p, i) << g.shift) + (e & (lanes - 1)))));
                sum = {q * G.re, q * G.im};
            }
            for (int by = lanes / 2; by; by /= 2) {
                sum.re += __shfl_xor_sync(0xffffffffu, sum.re, by);
                sum.im += __shfl_xor_sync(0xffffffffu, sum.im, by);
            }
            if (i >= p.N || e & (lanes - 1)) continue;
            size_t to = (item * p.pairs + pair) * p.N + i;
            store(a, 2 * to, both_of(group ? point_of(load<2>(a, 2 * to)) + sum : sum));
        }
        __syncthreads();                    /* the grid has been read */
    }
}

/* y of a group of channels: blocks of (group, head, image), which take all latents, two at a time, and keep the sums
 * next to the grid: spectra, kernels and a are read once, y is written once, and nothing else. */
__global__ void fused_output(problem_of_lisa p, shared_grids g, array<real> y, array<const real> a,
                             array<const real> spectra, array<const real> kernels, array<const real> bb,
                             array<const real> turns)
{
    DYNAMIC_SHARED(real, room);
    shared<real> grid = room + 2 * g.fft.turns, sums = grid + (2 * p.points << g.shift);
    int lanes = 1 << g.shift, group = blockIdx.x;
    size_t numbers = (size_t)p.points << g.shift, image = blockIdx.z;
    size_t item = image * p.h + blockIdx.y, value = (((2 * image + 1) * p.h + blockIdx.y) * g.groups + group) * numbers;

    shared_fft_fetch(g.fft, room, turns);
    for (int pair = 0; pair < p.pairs; pair++) {
        /* Step 1: the convolutions of the values with two latents. */
        convolve(p, g, grid, room, spectra + 2 * value, kernels + 2 * (size_t)pair * p.points, true, bb, group, pair);

        /* Step 2: weighed with a.  A sum belongs to one thread from the first pair to the last. */
        for (int e = threadIdx.x; e < p.N << g.shift; e += blockDim.x) {
            int i = e >> g.shift;
            point by = point_of(load<2>(a, 2 * ((item * p.pairs + pair) * p.N + i)));
            point G = point_of(load<2>(grid, 2 * ((circle_point(p, i) << g.shift) + (e & (lanes - 1)))));
            real sum = by.re * G.re + by.im * G.im;
            if (pair) sum += sums[e];
            sums[e] = sum;
        }
        __syncthreads();                    /* the grid has been read */
    }

    /* Step 3: the sums, written once. */
    for (int e = threadIdx.x; e < p.N << g.shift; e += blockDim.x) {
        int ch = group * lanes + (e & (lanes - 1));
        if (ch < p.c) y[(image * p.N + (e >> g.shift)) * p.C + blockIdx.y * p.c + ch] = sums[e];
    }
}

/* Eq. 4, a thread for each query, with keys and values in tiles: blocks of (queries, head, image), which make 2 N c /
 * 32 requests for keys and values; a warp makes N more for the RPE and 2 c for q and y. */
template <int CHANNELS>
__global__ void tiled(problem_of_lisa p, array<real> y, array<const real> qkv, array<const real> e)
{
    constexpr int TILE = 32;
    SHARED(real, k, TILE * CHANNELS);
    SHARED(real, v, TILE * CHANNELS);
    int i = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y * p.c;
    size_t image = (size_t)blockIdx.z * p.N, width = 3 * p.C;
    bool query = i < p.N;                   /* all threads fetch, and some have no query */

    real q[CHANNELS], sum[CHANNELS] = {};
    for (int d = 0; d < CHANNELS; d++) q[d] = query && d < p.c ? (real)qkv[(image + i) * width + channel + d] : (real)0;
    for (int first = 0; first < p.N; first += TILE) {
        int keys = p.N - first < TILE ? p.N - first : TILE;

        /* Step 1: neighbouring threads fetch neighbouring channels, zeros behind the last. */
        for (int n = threadIdx.x; n < keys * CHANNELS; n += blockDim.x) {
            size_t at = (image + first + n / CHANNELS) * width + p.C + channel + n % CHANNELS;
            bool there = n % CHANNELS < p.c;
            k[n] = there ? (real)qkv[at] : (real)0;
            v[n] = there ? (real)qkv[at + p.C] : (real)0;
        }
        __syncthreads();

        /* Step 2: a key's score, weighed by the RPE, and its value: all of a warp read the same words. */
        for (int n = 0; query && n < keys; n++) {
            real A = 0;
            #pragma unroll
            for (int d = 0; d < CHANNELS; d++) A += q[d] * k[n * CHANNELS + d];
            A *= e[(size_t)pair_entry(p, i, first + n) * p.tables + (p.tables > 1 ? blockIdx.y : 0)];
            #pragma unroll
            for (int d = 0; d < CHANNELS; d++) sum[d] += A * v[n * CHANNELS + d];
        }
        __syncthreads();                    /* the tile has been read */
    }
    #pragma unroll
    for (int d = 0; d < CHANNELS; d++)
        if (query && d < p.c) y[(image + i) * p.C + channel + d] = sum[d];
}

#endif
