/* lisa_fused.h -- parameters of LiSA's kernels, and cuda3: product, transform and contraction in one kernel
 *
 * A block holds the circles of a few channels of one head in shared memory.  See lisa.cu for the idea, shared_fft.h for
 * the transform, fast/circulant.h for offsets and circles. */

#pragma once
#include "../circulant.h"
#include "shared_fft.h"

struct problem_of_lisa {
    int N, h, c, C, D, pairs;
    int grid[GRID_AXES], window[GRID_AXES], entries[GRID_AXES];     /* sizes of token grid, local kernel and table */
    int circle[GRID_AXES], reach[GRID_AXES], points;
    bool wraps, local;
    int rows;                   /* of the key's table: c, or 1 if all channels share one */
    int tables;                 /* columns of Eq. 4's table; 0 for other equations */
};

/* The table entry on an axis for offset i - n, negative if there is none. */
__device__ inline int axis_entry(const problem_of_lisa &p, int axis, int offset)
{
    if (p.wraps) return offset < 0 ? offset + p.grid[axis] : offset;
    if (!p.local) return p.grid[axis] - 1 - offset;
    int entry = offset + p.window[axis] / 2;
    return entry < p.window[axis] ? entry : -1;
}

/* The table entry of tokens i and n, or -1. */
__device__ inline int pair_entry(const problem_of_lisa &p, int i, int n)
{
    int entry = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        int each = axis_entry(p, a, i % p.grid[a] - n % p.grid[a]);
        if (each < 0) return -1;
        entry += place * each;
        place *= p.entries[a];
        i /= p.grid[a];
        n /= p.grid[a];
    }
    return entry;
}

/* The table entry of a point of the circle (circulant.h), or -1. */
__device__ inline int circle_entry(const problem_of_lisa &p, int point)
{
    int entry = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        int at = point % p.circle[a];
        if (at > p.reach[a]) at -= p.circle[a];
        if (at < -p.reach[a]) return -1;
        int each = axis_entry(p, a, at);
        if (each < 0) return -1;
        entry += place * each;
        place *= p.entries[a];
        point /= p.circle[a];
    }
    return entry;
}

/* The token at a point of the circle, or -1; and its inverse. */
__device__ inline int circle_token(const problem_of_lisa &p, int point)
{
    int token = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        int at = point % p.circle[a];
        if (at >= p.grid[a]) return -1;
        token += place * at;
        place *= p.grid[a];
        point /= p.circle[a];
    }
    return token;
}

__device__ inline int circle_point(const problem_of_lisa &p, int token)
{
    int point = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        point += place * (token % p.grid[a]);
        place *= p.circle[a];
        token /= p.grid[a];
    }
    return point;
}

/* A kernel at a point of its circle, divided by the number of points.  `each` columns of the table make a number: two
 * are [re, im], one (in Eq. 4) is [re, 0]. */
__device__ inline point kernel_point(const problem_of_lisa &p, reals table, int rows, int columns, int each,
                                     int row, int pair, int point_of_circle)
{
    int entry = circle_entry(p, point_of_circle), column = pair * each;
    if (entry < 0 || row >= rows) return {0, 0};
    size_t at = ((size_t)entry * rows + row) * columns + column;
    real share = 1 / (real)p.points, re = table[at], im = 0;
    if (each == 2 && column + 1 < columns) im = table[at + 1];
    return share * point{re, im};
}

/* Layout in shared memory: groups of 1 << shift channels (lanes) of one head. */
struct shared_grids { struct shared_fft fft; int shift, groups; };

/* Spectra of kernels.  Grid: (group of rows, pair). */
__global__ void kernel_spectra(problem_of_lisa p, shared_grids g, int shift, array<real> spectra,
                               reals table, int rows, reals turns)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> grid = memory + 2 * g.fft.turns;
    int numbers = p.points << shift;
    size_t to = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * numbers;
    shared_fft_fetch(g.fft, memory, turns);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) {
        int row = (blockIdx.x << shift) + (e & ((1 << shift) - 1));
        store(grid, 2 * e, both_of(kernel_point(p, table, rows, p.D, 2, row, blockIdx.y, e >> shift)));
    }
    __syncthreads();
    shared_fft_run<false>(g.fft, grid, memory, shift);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) store(spectra, 2 * (to + e), load<2>(grid, 2 * e));
}

/* Spectra of keys and values.  Grid: (group of channels, head, 2 image + (0 key, 1 value)). */
__global__ void token_spectra(problem_of_lisa p, shared_grids g, array<real> spectra, reals qkv, reals turns)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> grid = memory + 2 * g.fft.turns;
    int lanes = 1 << g.shift, numbers = p.points << g.shift;
    size_t image = blockIdx.z / 2, from = (1 + blockIdx.z % 2) * p.C + blockIdx.y * p.c;
    size_t to = (((size_t)blockIdx.z * p.h + blockIdx.y) * g.groups + blockIdx.x) * numbers;
    shared_fft_fetch(g.fft, memory, turns);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) {
        int token = circle_token(p, e >> g.shift), ch = blockIdx.x * lanes + (e & (lanes - 1));
        real x = 0;
        if (token >= 0 && ch < p.c) x = qkv[(image * p.N + token) * 3 * p.C + from + ch];
        store(grid, 2 * e, both_of({x, 0}));
    }
    __syncthreads();
    shared_fft_run<false>(g.fft, grid, memory, g.shift);
    for (int e = threadIdx.x; e < numbers; e += blockDim.x) store(spectra, 2 * (to + e), load<2>(grid, 2 * e));
}

/* Convolves a group with the kernels of two latents, in shared memory, and adds the bias.  The grid must be free
 * before, and is complete after. */
__device__ inline void convolve(const problem_of_lisa &p, const shared_grids &g, shared<real> grid,
                                shared<const real> turns, reals spectra, reals kernel,
                                bool common, reals bias, int group, int pair)
{
    for (int e = threadIdx.x; e < p.points << g.shift; e += blockDim.x) {
        point z = point_of(load<2>(spectra, 2 * e)) * point_of(load<2>(kernel, 2 * (common ? e >> g.shift : e)));
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

/* a of two latents of a head.  Grid: (pair, head, image). */
__global__ void fused_structure(problem_of_lisa p, shared_grids g, array<real> a, reals qkv, reals spectra,
                                reals kernels, reals ba, reals turns)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> grid = memory + 2 * g.fft.turns;
    int lanes = 1 << g.shift, pair = blockIdx.x;
    size_t numbers = (size_t)p.points << g.shift, image = blockIdx.z;
    size_t item = image * p.h + blockIdx.y, key = (2 * image * p.h + blockIdx.y) * g.groups * numbers;
    bool common = p.rows == 1;
    size_t kernel = common ? (size_t)pair * p.points : pair * g.groups * numbers;
    shared_fft_fetch(g.fft, memory, turns);
    for (int group = 0; group < g.groups; group++) {
        convolve(p, g, grid, memory, spectra + 2 * (key + group * numbers),
                 kernels + 2 * (kernel + (common ? 0 : group * numbers)), common, ba, group, pair);

        /* Products with the query, summed over the lanes.  All threads of a warp take part in the shuffles. */
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
        __syncthreads();                    /* the grid is free again */
    }
}

/* y of a group of channels.  Grid: (group, head, image).  The sums over latents are in shared memory after the grid. */
__global__ void fused_output(problem_of_lisa p, shared_grids g, array<real> y, reals a, reals spectra, reals kernels,
                             reals bb, reals turns)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> grid = memory + 2 * g.fft.turns, sums = grid + (2 * p.points << g.shift);
    int lanes = 1 << g.shift, group = blockIdx.x;
    size_t numbers = (size_t)p.points << g.shift, image = blockIdx.z;
    size_t item = image * p.h + blockIdx.y, value = (((2 * image + 1) * p.h + blockIdx.y) * g.groups + group) * numbers;

    shared_fft_fetch(g.fft, memory, turns);
    for (int pair = 0; pair < p.pairs; pair++) {
        convolve(p, g, grid, memory, spectra + 2 * value, kernels + 2 * (size_t)pair * p.points, true, bb, group, pair);

        /* Weigh with a.  Each sum belongs to one thread for all pairs. */
        for (int e = threadIdx.x; e < p.N << g.shift; e += blockDim.x) {
            int i = e >> g.shift;
            point by = point_of(load<2>(a, 2 * ((item * p.pairs + pair) * p.N + i)));
            point G = point_of(load<2>(grid, 2 * ((circle_point(p, i) << g.shift) + (e & (lanes - 1)))));
            real sum = by.re * G.re + by.im * G.im;
            if (pair) sum += sums[e];
            sums[e] = sum;
        }
        __syncthreads();                    /* the grid is free again */
    }
    for (int e = threadIdx.x; e < p.N << g.shift; e += blockDim.x) {
        int ch = group * lanes + (e & (lanes - 1));
        if (ch < p.c) y[(image * p.N + (e >> g.shift)) * p.C + blockIdx.y * p.c + ch] = sums[e];
    }
}

/* Eq. 4: a thread for each query, keys and values in tiles.  Grid: (block of queries, head, image). */
template <int CHANNELS>
__global__ void tiled(problem_of_lisa p, array<real> y, reals qkv, reals e)
{
    constexpr int TILE = 32;
    SHARED(real, k, TILE * CHANNELS);
    SHARED(real, v, TILE * CHANNELS);
    int i = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y * p.c;
    size_t image = (size_t)blockIdx.z * p.N, width = 3 * p.C;
    bool query = i < p.N;                   /* all threads fetch; some have no query */

    real q[CHANNELS], sum[CHANNELS] = {};
    for (int d = 0; d < CHANNELS; d++) q[d] = query && d < p.c ? (real)qkv[(image + i) * width + channel + d] : (real)0;
    for (int first = 0; first < p.N; first += TILE) {
        int keys = p.N - first < TILE ? p.N - first : TILE;

        /* Step 1: adjacent threads fetch adjacent channels, zeros after the last. */
        for (int n = threadIdx.x; n < keys * CHANNELS; n += blockDim.x) {
            size_t at = (image + first + n / CHANNELS) * width + p.C + channel + n % CHANNELS;
            bool valid = n % CHANNELS < p.c;
            k[n] = valid ? (real)qkv[at] : (real)0;
            v[n] = valid ? (real)qkv[at + p.C] : (real)0;
        }
        __syncthreads();

        /* Step 2: a key's score times the RPE, and its value.  All threads of a warp read the same words. */
        for (int n = 0; query && n < keys; n++) {
            real A = 0;
            #pragma unroll
            for (int d = 0; d < CHANNELS; d++) A += q[d] * k[n * CHANNELS + d];
            A *= e[(size_t)pair_entry(p, i, first + n) * p.tables + (p.tables > 1 ? blockIdx.y : 0)];
            #pragma unroll
            for (int d = 0; d < CHANNELS; d++) sum[d] += A * v[n * CHANNELS + d];
        }
        __syncthreads();                    /* the tile is free again */
    }
    #pragma unroll
    for (int d = 0; d < CHANNELS; d++)
        if (query && d < p.c) y[(image + i) * p.C + channel + d] = sum[d];
}
