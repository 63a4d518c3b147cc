/* rows.h -- softmax attention within groups of rows, in four versions
 *
 * A query attends to the keys of its group.  SRA has a group for each image; HiLo one for each window (Hi-Fi) and one
 * for each image (Lo-Fi).
 *
 *   1   A thread for each output visits all keys twice and recomputes all scores.
 *   2   A thread for each query and head computes its scores once, with an online softmax; query and mean stay in
 *       registers.
 *   3   Blocks of 64 queries of one group copy keys and values to shared memory, 32 rows at a time.  Groups of fewer
 *       queries use 2.
 *   4   Self-attention of a group of at most 16 rows in registers: a lane holds part of a row's channels in a head,
 *       requests them once, and gets keys and values of other rows by shuffles.
 *
 * Fallbacks: heads of more than 64 channels use 1 instead of 2 and 3.  Version 4 uses 3 for heads of more than 256
 * channels in groups of 4 rows, or 64 in groups of 16; half as many in double. */

#pragma once
#include "device.h"

namespace {

constexpr int ROWS_BLOCK = 64, ROWS_TILE = 32;

struct rows_problem {
    size_t groups;
    int queries, keys, heads, c;        /* queries and keys per group; channels per head */
    int y_stride, q_stride, kv_stride;  /* of rows */
    real scale;
};

__device__ inline real rows_score(const rows_problem &p, reals q, reals k, size_t at, size_t key)
{
    real sum = 0;
    for (int d = 0; d < p.c; d++) sum += q[at + d] * k[key + d];
    return p.scale * sum;
}

/* Requests keys (4 c + 1) + 1 numbers per output: two scores and a value for each key. */
__global__ void rows_each_output(rows_problem p, array<real> y, reals q, reals k, reals v)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int channels = p.heads * p.c, channel = (int)(at % channels), first = channel / p.c * p.c;
    size_t row = at / channels, group = row / p.queries;
    if (group >= p.groups) return;
    real top = 0;
    for (int j = 0; j < p.keys; j++) {
        real a = rows_score(p, q, k, row * p.q_stride + first, (group * p.keys + j) * p.kv_stride + first);
        top = j ? fmax(top, a) : a;
    }
    real sum = 0, mean = 0;
    for (int j = 0; j < p.keys; j++) {
        size_t key = (group * p.keys + j) * p.kv_stride;
        real w = exp(rows_score(p, q, k, row * p.q_stride + first, key + first) - top);
        sum += w;
        mean += w * v[key + channel];
    }
    y[row * p.y_stride + channel] = mean / sum;
}

template <int CHANNELS> struct rows_state {
    real q[CHANNELS], mean[CHANNELS], top, sum;
};

template <int CHANNELS>
__device__ inline void rows_begin(rows_state<CHANNELS> &g, const rows_problem &p, reals q, size_t at, bool valid)
{
    g.top = LOWEST;
    g.sum = 0;
    for (int d = 0; d < CHANNELS; d++) {
        g.q[d] = valid && d < p.c ? p.scale * q[at + d] : (real)0;
        g.mean[d] = 0;
    }
}

/* Adds a key and its value, in device or shared memory. */
template <int CHANNELS, class memory>
__device__ inline void rows_add_key(rows_state<CHANNELS> &g, int c, memory k, memory v, size_t at)
{
    real a = 0;
    for (int d = 0; d < CHANNELS; d++) if (d < c) a += g.q[d] * k[at + d];

    /* Step 1: the running softmax. */
    real top = fmax(g.top, a), shrink = exp(g.top - top), w = exp(a - top);
    g.top = top;
    g.sum = g.sum * shrink + w;
    for (int d = 0; d < CHANNELS; d++) if (d < c) g.mean[d] = g.mean[d] * shrink + w * v[at + d];
}

template <int CHANNELS>
__device__ inline void rows_end(const rows_state<CHANNELS> &g, int c, array<real> y, size_t at)
{
    for (int d = 0; d < CHANNELS; d++) if (d < c) y[at + d] = g.mean[d] / g.sum;
}

/* Requests 2 c (keys + 1) numbers per query and head. */
template <int CHANNELS>
__global__ void rows_each_query(rows_problem p, array<real> y, reals q, reals k, reals v)
{
    size_t at = (size_t)blockIdx.x * ROWS_BLOCK + threadIdx.x, rows = p.groups * p.queries, row = at % rows;
    int first = (int)(at / rows) * p.c;
    if (first >= p.heads * p.c) return;
    rows_state<CHANNELS> g;
    rows_begin(g, p, q, row * p.q_stride + first, true);
    size_t key = row / p.queries * p.keys * p.kv_stride + first;
    for (int j = 0; j < p.keys; j++, key += p.kv_stride) rows_add_key(g, p.c, k, v, key);
    rows_end(g, p.c, y, row * p.y_stride + first);
}

/* Requests 2 c numbers per query and head, and the keys and values of a head once per 64 queries. */
template <int CHANNELS>
__global__ void rows_tiled(rows_problem p, array<real> y, reals q, reals k, reals v)
{
    SHARED(real, keys, ROWS_TILE * CHANNELS);
    SHARED(real, values, ROWS_TILE * CHANNELS);
    int blocks = (p.queries + ROWS_BLOCK - 1) / ROWS_BLOCK, head = (int)(blockIdx.x / blocks % p.heads);
    int i = (int)(blockIdx.x % blocks) * ROWS_BLOCK + threadIdx.x;
    size_t group = blockIdx.x / blocks / p.heads, row = group * p.queries + i;
    bool valid = i < p.queries;         /* all threads fetch; some have no query */
    rows_state<CHANNELS> g;
    rows_begin(g, p, q, row * p.q_stride + head * p.c, valid);

    for (int from = 0; from < p.keys; from += ROWS_TILE) {
        int count = p.keys - from < ROWS_TILE ? p.keys - from : ROWS_TILE;

        /* Step 1: adjacent threads fetch adjacent channels. */
        for (int e = threadIdx.x; e < count * p.c; e += ROWS_BLOCK) {
            size_t at = (group * p.keys + from + e / p.c) * p.kv_stride + head * p.c + e % p.c;
            keys[e] = k[at];
            values[e] = v[at];
        }
        __syncthreads();

        /* Step 2: all lanes read the same word, which takes one cycle. */
        for (int j = 0; j < count; j++) rows_add_key(g, p.c, keys, values, j * p.c);
        __syncthreads();
    }
    if (valid) rows_end(g, p.c, y, row * p.y_stride + head * p.c);
}

template <int CHANNELS>
void rows_in_registers(struct device *d, int version, const rows_problem &p, array<real> y, reals q, reals k, reals v)
{
    size_t tiles = p.groups * p.heads * device_blocks(p.queries, ROWS_BLOCK);
    size_t blocks = device_blocks(p.groups * p.queries * p.heads, ROWS_BLOCK);
    if (version > 2 && p.queries >= ROWS_BLOCK) LAUNCH(d, rows_tiled<CHANNELS>, tiles, ROWS_BLOCK, 0, p, y, q, k, v);
    else LAUNCH(d, rows_each_query<CHANNELS>, blocks, ROWS_BLOCK, 0, p, y, q, k, v);
}

/* ---- a group in registers ------------------------------------------------------------- */

/* Loads a lane's share of a row, PACKS times four channels interleaved with the row's other lanes; zeros from c on. */
template <int PACKS>
__device__ inline void rows_part(real (&channels)[4 * PACKS], reals from, size_t at, int c, int part, int parts,
                                 bool valid)
{
    for (int i = 0; i < PACKS; i++) {
        int d = 4 * (part + parts * i);
        pack<real, 4> four = {};
        if (c % 4) for (int e = 0; e < 4; e++) four[e] = valid && d + e < c ? from[at + d + e] : (real)0;
        else if (valid && d < c) four = load<4>(from, at + d);
        for (int e = 0; e < 4; e++) channels[4 * i + e] = four[e];
    }
}

/* Requests each number once.  A key takes two shuffles for each channel that a lane holds, and log2(parts) more. */
template <int PACKS>
__global__ void rows_exchanged(rows_problem p, int parts, array<real> y, reals q, reals k, reals v)
{
    constexpr unsigned ALL = 0xffffffffu;
    int lane = threadIdx.x % 32, lanes = p.queries * parts, number = lane / lanes, part = lane % parts;
    size_t warp = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, pair = warp * (32 / lanes) + number;
    bool valid = number < 32 / lanes && pair < p.groups * p.heads;      /* other lanes only take part in shuffles */
    size_t row = pair / p.heads * p.queries + lane % lanes / parts;
    int channel = (int)(pair % p.heads) * p.c, first = valid ? number * lanes : 0;

    /* Step 1: load each number once. */
    real query[4 * PACKS], key[4 * PACKS], value[4 * PACKS], mean[4 * PACKS] = {}, top = LOWEST, sum = 0;
    rows_part<PACKS>(query, q, row * p.q_stride + channel, p.c, part, parts, valid);
    rows_part<PACKS>(key, k, row * p.kv_stride + channel, p.c, part, parts, valid);
    rows_part<PACKS>(value, v, row * p.kv_stride + channel, p.c, part, parts, valid);

    /* Step 2: visit the rows; each comes from the lane that holds the same part of it. */
    for (int j = 0; j < p.keys; j++) {
        int other = first + j * parts + part;
        real a = 0;
        for (int d = 0; d < 4 * PACKS; d++) a += query[d] * __shfl_sync(ALL, key[d], other);
        for (int by = parts / 2; by; by /= 2) a += __shfl_xor_sync(ALL, a, by);
        a *= p.scale;
        real above = fmax(top, a), shrink = exp(top - above), w = exp(a - above);
        top = above;
        sum = sum * shrink + w;
        for (int d = 0; d < 4 * PACKS; d++) mean[d] = mean[d] * shrink + w * __shfl_sync(ALL, value[d], other);
    }

    for (int i = 0; valid && i < PACKS; i++) {
        int d = 4 * (part + parts * i);
        size_t at = row * p.y_stride + channel + d;
        pack<real, 4> four;
        for (int e = 0; e < 4; e++) four[e] = mean[4 * i + e] / sum;
        if (p.c % 4) {
            for (int e = 0; e < 4; e++) if (d + e < p.c) y[at + e] = four[e];
        } else if (d < p.c) {
            store(y, at, four);
        }
    }
}

/* Launches version 4 if it applies, else false.  A row has a lane per four channels, or as many as fit in a warp. */
bool rows_in_lanes(struct device *d, const rows_problem &p, array<real> y, reals q, reals k, reals v)
{
    constexpr int MOST = sizeof(real) == 4 ? 8 : 4;
    int parts = 1;
    if (p.queries != p.keys || p.keys > 16) return false;
    while (4 * parts < p.c && 2 * parts * p.queries <= 32) parts *= 2;
    size_t pairs = 32 / (p.queries * parts), blocks = device_blocks(p.groups * p.heads, 4 * pairs);
    int packs = (p.c + 4 * parts - 1) / (4 * parts);
    if (packs > MOST) return false;
    if (packs == 1) LAUNCH(d, rows_exchanged<1>, blocks, 128, 0, p, parts, y, q, k, v);
    else if (packs == 2) LAUNCH(d, rows_exchanged<2>, blocks, 128, 0, p, parts, y, q, k, v);
    else if (packs <= 4) LAUNCH(d, rows_exchanged<4>, blocks, 128, 0, p, parts, y, q, k, v);
    else LAUNCH(d, rows_exchanged<MOST>, blocks, 128, 0, p, parts, y, q, k, v);
    return true;
}

void rows_attend(struct device *d, int version, const rows_problem &p, array<real> y, reals q, reals k, reals v)
{
    size_t outputs = p.groups * p.queries * p.heads * p.c;
    if (version > 3 && rows_in_lanes(d, p, y, q, k, v)) return;
    if (version == 1 || p.c > 64) LAUNCH_EACH(d, rows_each_output, outputs, p, y, q, k, v);
    else if (p.c <= 16) rows_in_registers<16>(d, version, p, y, q, k, v);
    else if (p.c <= 32) rows_in_registers<32>(d, version, p, y, q, k, v);
    else rows_in_registers<64>(d, version, p, y, q, k, v);
}

} // namespace
