/* msa.cu -- self-attention on the device
 *
 *   cuda1   The equation: a thread for each output y_ic visits all keys twice, first for the largest score, then for
 *           the weighted mean of the values.  Each thread recomputes all scores.
 *   cuda2   A thread for each query computes its scores once, with an online softmax.  q_i and the mean stay in
 *           registers.
 *   cuda3   The threads of a block copy keys and values to shared memory tile by tile: the block reads each once from
 *           the device for BLOCK queries.
 *   cuda4   Eight threads share four queries, and each takes four keys at a time.  For four channels a warp reads q in
 *           4 x 2 cycles of shared memory and k in 4 x 4 (requests.h): 24 cycles for 64 products per lane, against 64
 *           in cuda3.  Shared memory still limits: the products take a multiprocessor's 128 float lanes 16 cycles.
 *   cuda-tf32, cuda-bf16
 *           Tensor cores (tensor.h) with cuda4's tiles, a warp for 16 queries.  Weights stay in registers.  On 8 x 8
 *           tokens, 2 heads of 16 channels: 704 or 384 cycles of shared memory, against 5248 in cuda4
 *           (tests/cuda/counts.tsv).  Heads of more than 16 channels request each sector of y twice, half at a time.
 *
 * All versions support windows, shifted windows and the ghost head, whose weights differ by channel.
 *
 * Fallbacks: heads of more than 64 channels use cuda1.  With a ghost head, or if a block needs more than 48 KB (in
 * double, more than 28 channels), cuda4 is cuda3.  With a ghost head, cuda-tf32 and cuda-bf16 are cuda4.
 *
 * Contract: reference/msa.h. */

#include "../../reference/msa.h"
#include "../../reference/runtime/windows.h"
#include "heads.h"
#include "online.h"
#ifndef TWICETOLD_DOUBLE
#include "tensor.h"
#endif

namespace {

/* ---- windows of the grid, and offsets in it (reference/runtime/windows.h, grid.h) ---- */

struct window_map {
    int tokens, windows, entries;       /* tokens of the grid; windows; tokens of a window */
    int edge, across;                   /* of a window, 0 for the whole grid; windows per row */
    int rows, columns;                  /* the last two axes of the grid */
    int middle, pitch;                  /* of the offset table: the entry of offset 0, and offsets per row */
    int shift;                          /* of the windows, or 0 */
};

struct window_map window_map_of(const struct windows *w, const grid *table)
{
    const grid *g = &w->grid;
    struct window_map m = {(int)g->tokens, (int)w->count, (int)w->entries, (int)w->edge, (int)w->columns, 1, 1,
                        (int)(table->offsets / 2), 2 * (int)table->size[table->axes - 1] - 1, (int)w->shift};
    if (g->axes > 1) m.rows = (int)g->size[g->axes - 2];
    m.columns = (int)g->size[g->axes - 1];
    return m;
}

/* The token at an entry of a window.  Shifted windows partition the rolled plane. */
__device__ inline int window_token(const struct window_map &m, int window, int entry)
{
    if (!m.edge) return entry;
    int y = window / m.across * m.edge + entry / m.edge, x = window % m.across * m.edge + entry % m.edge;
    if (m.shift) {
        y = (y + m.shift) % m.rows;
        x = (x + m.shift) % m.columns;
    }
    return y * m.columns + x;
}

/* The window of a token, and the token's entry in it. */
__device__ inline int token_window(const struct window_map &m, int token)
{
    if (!m.edge) return 0;
    int y = (token / m.columns + m.rows - m.shift) % m.rows, x = (token % m.columns + m.columns - m.shift) % m.columns;
    return y / m.edge * m.across + x / m.edge;
}

__device__ inline int token_entry(const struct window_map &m, int token)
{
    if (!m.edge) return token;
    int y = (token / m.columns + m.rows - m.shift) % m.rows, x = (token % m.columns + m.columns - m.shift) % m.columns;
    return y % m.edge * m.edge + x % m.edge;
}

/* The side of the seam of the rolled plane: a query ignores keys on other sides. */
__device__ inline int seam_side(const struct window_map &m, int window, int entry)
{
    if (!m.shift) return 0;
    bool last_row = window / m.across == m.windows / m.across - 1, last_column = window % m.across == m.across - 1;
    bool below = last_row && entry / m.edge >= m.edge - m.shift;
    bool beside = last_column && entry % m.edge >= m.edge - m.shift;
    return 2 * below + beside;
}

/* Entry of query i and key j in the offset table, which has 2n - 1 offsets for an axis of n points. */
__device__ inline int offset_entry(const struct window_map &m, int i, int j)
{
    int plane = m.rows * m.columns;
    int t = j / plane - i / plane, y = j % plane / m.columns - i % plane / m.columns, x = j % m.columns - i % m.columns;
    return m.middle + (t * (2 * m.rows - 1) + y) * m.pitch + x;
}

struct msa_device : device_heads {
    array<real> rpe;
    struct ghost ghost;                 /* its matrices on the host, during a load */
    array<real> factor, summand;        /* [C][P], only with a ghost head */
};

struct problem_of_msa {
    struct window_map map;
    int h, c, width;            /* width: of a row of qkv */
    int tables;                 /* columns of the RPE, or 0 */
    int offsets;                /* P */
    int own_channels;           /* 1: a head's value channels are adjacent; 0: they are h apart */
    real scale;
};

constexpr int BLOCK = 64;       /* queries of a block */

/* The matrices of Eq. 8; null without a ghost head. */
struct ghost_arrays {
    reals factor, summand;
};

__device__ inline int channel_of(const problem_of_msa &p, int head, int n)
{
    return p.own_channels ? head * p.c + n : head + n * p.h;
}

__device__ inline real bias(const problem_of_msa &p, reals rpe, int i, int j, int head)
{
    return rpe[(size_t)offset_entry(p.map, i, j) * p.tables + (p.tables > 1 ? head : 0)];
}

__device__ inline real score(const problem_of_msa &p, reals qkv, reals rpe, size_t q, size_t k, int i, int j, int head)
{
    real sum = 0;
    for (int d = 0; d < p.c; d++) sum += qkv[q + d] * qkv[k + d];
    sum *= p.scale;
    if (p.tables) sum += bias(p, rpe, i, j, head);
    return sum;
}

/* ---- cuda1: a thread for each output ------------------------------------------ */

__global__ void each_output(problem_of_msa p, array<real> y, reals qkv, reals rpe, ghost_arrays ghost, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int C = p.h * p.c, channel = (int)(at % C), head = p.own_channels ? channel / p.c : channel % p.h;
    int i = (int)(at / C % p.map.tokens);
    size_t image = at / C / p.map.tokens * p.map.tokens;
    size_t q = (image + i) * p.width + head * p.c;
    int window = token_window(p.map, i), side = seam_side(p.map, window, token_entry(p.map, i));
    real top = LOWEST;
    for (int e = 0; e < p.map.entries; e++) {
        int j = window_token(p.map, window, e);
        if (seam_side(p.map, window, e) != side) continue;
        top = fmax(top, score(p, qkv, rpe, q, (image + j) * p.width + C + head * p.c, i, j, head));
    }

    /* The ghost summands bypass the softmax. */
    real sum = 0, mean = 0, plain = 0;
    for (int e = 0; e < p.map.entries; e++) {
        int j = window_token(p.map, window, e);
        if (seam_side(p.map, window, e) != side) continue;
        size_t k = (image + j) * p.width + C + head * p.c;
        real weight = exp(score(p, qkv, rpe, q, k, i, j, head) - top);
        real value = qkv[(image + j) * p.width + 2 * C + channel];
        sum += weight;
        if (ghost.factor) {
            size_t pair = (size_t)channel * p.offsets + offset_entry(p.map, i, j);
            mean += ghost.factor[pair] * weight * value;
            plain += ghost.summand[pair] * value;
        } else {
            mean += weight * value;
        }
    }
    y[at] = mean / sum + plain;
}

/* ---- cuda2: a thread for each query --------------------------------------------- */

/* Grid: (window, block of queries), head, image. */
struct query_of_thread {
    bool valid;                 /* the thread has a query; else it only fetches tiles */
    int i, window, side, head;
    size_t image;
};

__device__ inline query_of_thread thread_query(const problem_of_msa &p)
{
    int blocks = (p.map.entries + BLOCK - 1) / BLOCK, window = blockIdx.x / blocks;
    int e = blockIdx.x % blocks * BLOCK + threadIdx.x;
    bool valid = e < p.map.entries;
    return {valid, window_token(p.map, window, valid ? e : 0), window, seam_side(p.map, window, e),
            (int)blockIdx.y, (size_t)blockIdx.z * p.map.tokens};
}

/* Sums of the ghost summands, which bypass the softmax and are never rescaled. */
template <int CHANNELS, bool GHOST> struct ghost_sums {
    real mean[GHOST ? CHANNELS : 1];
};

/* Adds a weighted value; value(n) is its nth channel. */
template <int CHANNELS, bool GHOST, class V>
__device__ inline void add_value(softmax_state<CHANNELS> &g, ghost_sums<CHANNELS, GHOST> &plain,
                                 const problem_of_msa &p, real weight, const ghost_arrays &ghost,
                                 const query_of_thread &query, int j, V value)
{
    g.sum += weight;
    size_t pair = 0;
    if (GHOST) pair = offset_entry(p.map, query.i, j);
    for (int n = 0; n < CHANNELS; n++)
        if (n < p.c) {
            real v = value(n);
            if (GHOST) {
                /* Adjacent queries read adjacent offsets. */
                size_t at = (size_t)channel_of(p, query.head, n) * p.offsets + pair;
                g.mean[n] += ghost.factor[at] * weight * v;
                plain.mean[n] += ghost.summand[at] * v;
            } else {
                g.mean[n] += weight * v;
            }
        }
}

template <int CHANNELS, bool GHOST>
__device__ inline void store_output(array<real> y, const softmax_state<CHANNELS> &g,
                                    const ghost_sums<CHANNELS, GHOST> &plain, const problem_of_msa &p,
                                    const query_of_thread &query)
{
    for (int n = 0; n < CHANNELS; n++)
        if (n < p.c) {
            size_t at = (query.image + query.i) * p.h * p.c + channel_of(p, query.head, n);
            if (GHOST) y[at] = g.mean[n] / g.sum + plain.mean[n];
            else y[at] = g.mean[n] / g.sum;
        }
}

template <int CHANNELS, bool GHOST>
__global__ void each_query(problem_of_msa p, array<real> y, reals qkv, reals rpe, ghost_arrays ghost)
{
    query_of_thread query = thread_query(p);
    if (!query.valid) return;
    int C = p.h * p.c, channel = query.head * p.c;
    real q[CHANNELS];
    softmax_state<CHANNELS> g = {LOWEST, 0, {}};
    ghost_sums<CHANNELS, GHOST> plain = {};

    fetch_row(q, qkv, (query.image + query.i) * p.width + channel, p.c, p.scale);
    for (int key = 0; key < p.map.entries; key++) {
        int j = window_token(p.map, query.window, key);
        if (seam_side(p.map, query.window, key) != query.side) continue;
        size_t row = (query.image + j) * p.width, k = row + C + channel, v = row + 2 * C;
        real a = 0;
        for (int d = 0; d < CHANNELS; d++)
            if (d < p.c) a += q[d] * qkv[k + d];
        if (p.tables) a += bias(p, rpe, query.i, j, query.head);
        raise_top(g, a);
        add_value(g, plain, p, exp(a - g.top), ghost, query, j,
                     [&](int n) -> real { return qkv[v + channel_of(p, query.head, n)]; });
    }
    store_output(y, g, plain, p, query);
}

/* ---- cuda3: keys and values in tiles --------------------------------------------- */

/* A block requests the keys and values of a head and window once.  A warp reads one of their numbers per cycle. */
template <int CHANNELS, bool GHOST>
__global__ void tiled(problem_of_msa p, array<real> y, reals qkv, reals rpe, ghost_arrays ghost)
{
    constexpr int TILE = 32;
    SHARED(real, k, TILE * CHANNELS);
    SHARED(real, v, TILE * CHANNELS);
    query_of_thread query = thread_query(p);
    int C = p.h * p.c, channel = query.head * p.c;
    real q[CHANNELS];
    softmax_state<CHANNELS> g = {LOWEST, 0, {}};
    ghost_sums<CHANNELS, GHOST> plain = {};

    fetch_row(q, qkv, (query.image + query.i) * p.width + channel, p.c, p.scale);
    for (int first = 0; first < p.map.entries; first += TILE) {
        int keys = p.map.entries - first < TILE ? p.map.entries - first : TILE;
        for (int n = threadIdx.x; n < keys * p.c; n += BLOCK) {
            size_t row = (query.image + window_token(p.map, query.window, first + n / p.c)) * p.width;
            k[n] = qkv[row + C + channel + n % p.c];
            v[n] = qkv[row + 2 * C + channel_of(p, query.head, n % p.c)];
        }
        __syncthreads();

        /* All threads of a warp read the same word, which takes one cycle. */
        for (int key = 0; query.valid && key < keys; key++) {
            int j = window_token(p.map, query.window, first + key);
            if (seam_side(p.map, query.window, first + key) != query.side) continue;
            real a = 0;
            for (int d = 0; d < CHANNELS; d++)
                if (d < p.c) a += q[d] * k[key * p.c + d];
            if (p.tables) a += bias(p, rpe, query.i, j, query.head);
            raise_top(g, a);
            add_value(g, plain, p, exp(a - g.top), ghost, query, j, [&](int n) -> real { return v[key * p.c + n]; });
        }
        __syncthreads();                    /* the block has read the tile */
    }
    if (query.valid) store_output(y, g, plain, p, query);
}

/* ---- cuda4: four queries and four keys per thread ----------------------------------- */

constexpr int THREADS = 128;            /* 16 groups of eight */
constexpr int SHARE = 4;                /* queries of a group, 16 apart; keys of a thread, 8 apart */
constexpr int KEYS = 8 * SHARE;         /* of a tile */
constexpr int WEIGHTS = KEYS + 8;       /* pitch of a query's weights: the next ones start 8 banks further */
constexpr size_t SHARED_REALS = 48 * 1024 / sizeof(real);

/* Pitch of a tile's rows: an odd multiple of four reals, so that eight rows use all banks. */
inline int blocked_pitch(int c)
{
    int fours = (c + 3) / 4;
    return 4 * (fours % 2 ? fours : fours + 1);
}

inline size_t blocked_reals(int c)
{
    return (size_t)(BLOCK + 2 * KEYS) * blocked_pitch(c) + BLOCK * WEIGHTS;
}

/* Copies p.c columns of qkv from `column` on, times a scale, for `rows` entries of a window; zeros after the last. */
template <int W>
__device__ inline void fetch_rows(shared<real> to, int pitch, const problem_of_msa &p, reals qkv,
                                  size_t image, int window, int first, int rows, int column, real scale)
{
    int wide = (p.c + 3) / 4 * 4;
    for (int n = W * threadIdx.x; n < rows * wide; n += W * THREADS) {
        int e = first + n / wide, d = n % wide;
        pack<real, W> some = {};
        if (e < p.map.entries && d < p.c)
            some = load<W>(qkv, (image + window_token(p.map, window, e)) * p.width + column + d);
        for (int l = 0; l < W; l++) some[l] *= scale;
        store(to, n / wide * pitch + d, some);
    }
}

/* GROUPS groups of 32 channels: each of eight threads has four channels of a group. */
template <int GROUPS>
__global__ void blocked(problem_of_msa p, int pitch, array<real> y, reals qkv, reals rpe)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> q = memory, k = q + BLOCK * pitch, v = k + KEYS * pitch, weights = v + KEYS * pitch;
    int blocks = (p.map.entries + BLOCK - 1) / BLOCK, window = blockIdx.x / blocks;
    int block = blockIdx.x % blocks * BLOCK;        /* its first entry */
    int across = threadIdx.x % 8, down = threadIdx.x / 8, head = blockIdx.y, channel = head * p.c, C = p.h * p.c;
    int wide = (p.c + 3) / 4 * 4;
    size_t image = (size_t)blockIdx.z * p.map.tokens;
    real top[SHARE], sum[SHARE] = {}, mean[SHARE][4 * GROUPS] = {};     /* sum: of this thread's keys */

    for (int r = 0; r < SHARE; r++) top[r] = LOWEST;
    if (p.c % 4 == 0) fetch_rows<4>(q, pitch, p, qkv, image, window, block, BLOCK, channel, p.scale);
    else fetch_rows<1>(q, pitch, p, qkv, image, window, block, BLOCK, channel, p.scale);
    for (int first = 0; first < p.map.entries; first += KEYS) {
        if (p.c % 4 == 0) {
            fetch_rows<4>(k, pitch, p, qkv, image, window, first, KEYS, C + channel, 1);
            fetch_rows<4>(v, pitch, p, qkv, image, window, first, KEYS, 2 * C + channel, 1);
        } else {
            fetch_rows<1>(k, pitch, p, qkv, image, window, first, KEYS, C + channel, 1);
            fetch_rows<1>(v, pitch, p, qkv, image, window, first, KEYS, 2 * C + channel, 1);
        }
        __syncthreads();

        /* Step 1: sixteen scores; eight accesses for every four channels. */
        real score[SHARE][SHARE] = {};
        for (int d = 0; d < wide; d += 4) {
            pack<real, 4> queries[SHARE], keys[SHARE];
            for (int r = 0; r < SHARE; r++) queries[r] = load<4>(q, (down + 16 * r) * pitch + d);
            for (int n = 0; n < SHARE; n++) keys[n] = load<4>(k, (across + 8 * n) * pitch + d);
            for (int r = 0; r < SHARE; r++)
                for (int n = 0; n < SHARE; n++)
                    for (int l = 0; l < 4; l++) score[r][n] += queries[r][l] * keys[n][l];
        }

        /* Step 2: the largest score of each query, and its weights; 0 for keys outside its window or side. */
        UNROLL for (int r = 0; r < SHARE; r++) {
            int e = block + down + 16 * r, side = seam_side(p.map, window, e);
            real most = top[r];
            bool meets[SHARE];
            for (int n = 0; n < SHARE; n++) {
                int key = first + across + 8 * n;
                meets[n] = e < p.map.entries && key < p.map.entries && seam_side(p.map, window, key) == side;
                if (!meets[n]) continue;
                int i = window_token(p.map, window, e), j = window_token(p.map, window, key);
                if (p.tables) score[r][n] += bias(p, rpe, i, j, head);
                most = fmax(most, score[r][n]);
            }
            for (int by = 1; by < 8; by *= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, by));
            real shrink = exp(top[r] - most);
            top[r] = most;
            sum[r] *= shrink;
            for (int d = 0; d < 4 * GROUPS; d++) mean[r][d] *= shrink;
            for (int n = 0; n < SHARE; n++) {
                real weight = meets[n] ? exp(score[r][n] - most) : (real)0;
                sum[r] += weight;
                weights[(down + 16 * r) * WEIGHTS + across + 8 * n] = weight;
            }
        }
        __syncwarp();                       /* one warp writes and reads the weights of a query */

        /* Step 3: the weighted values, four channels of four queries. */
        for (int key = 0; key < KEYS; key += 4) {
            pack<real, 4> weight[SHARE];
            for (int r = 0; r < SHARE; r++) weight[r] = load<4>(weights, (down + 16 * r) * WEIGHTS + key);
            for (int l = 0; l < 4; l++)
                for (int g = 0; g < GROUPS; g++)
                    if (32 * g + 4 * across < wide) {
                        pack<real, 4> value = load<4>(v, (key + l) * pitch + 32 * g + 4 * across);
                        for (int r = 0; r < SHARE; r++)
                            for (int d = 0; d < 4; d++) mean[r][4 * g + d] += weight[r][l] * value[d];
                    }
        }
        __syncthreads();                    /* the tile is free again */
    }

    /* Step 4: add up the sums of eight threads; each writes its channels. */
    UNROLL for (int r = 0; r < SHARE; r++) {
        int e = block + down + 16 * r;
        for (int by = 1; by < 8; by *= 2) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], by);
        if (e >= p.map.entries) continue;
        size_t at = (image + window_token(p.map, window, e)) * C + channel;
        for (int g = 0; g < GROUPS; g++) {
            int d = 32 * g + 4 * across;
            pack<real, 4> out;
            for (int l = 0; l < 4; l++) out[l] = mean[r][4 * g + l] / sum[r];
            if (p.c % 4 == 0 && d < p.c) store(y, at + d, out);
            for (int l = 0; p.c % 4 && l < 4; l++)
                if (d + l < p.c) y[at + d + l] = out[l];
        }
    }
}

#ifndef TWICETOLD_DOUBLE
/* ---- on tensor cores ----------------------------------------------------------------- */

/* Copies keys and values of KEYS entries of a window, zeros after the last.  A word packs EACH channels of a key, or a
 * channel of EACH values. */
template <class P, int CHANNELS>
__device__ inline void fetch_words(shared<uint32_t> k, shared<uint32_t> v, const problem_of_msa &p,
                                   reals qkv, size_t image, int window, int first, int channel)
{
    constexpr int EACH = P::EACH, FOURS = CHANNELS / 4;
    int C = p.h * p.c;
    for (int n = threadIdx.x; n < KEYS / EACH * FOURS; n += THREADS) {
        int d = n % FOURS * 4;
        pack<real, 4> values[EACH] = {};
        UNROLL for (int e = 0; e < EACH; e++) {
            int entry = n / FOURS * EACH + e;
            bool valid = first + entry < p.map.entries;
            size_t row = 0;
            pack<real, 4> key = {};
            if (valid) row = (image + window_token(p.map, window, first + entry)) * p.width + channel;
            if (valid) key = four_channels(qkv, row + C, d, p.c);
            if (valid) values[e] = four_channels(qkv, row + 2 * C, d, p.c);
            store(k, entry * pitches<P, CHANNELS>::key + d / EACH, along(P(), key));
        }
        store(v, n / FOURS * pitches<P, CHANNELS>::value + d, across(P(), values));
    }
}

template <class P, int CHANNELS>
__global__ void on_tensor_cores(problem_of_msa p, array<real> y, reals qkv, reals rpe)
{
#if TENSOR_CORES
    SHARED(uint32_t, k, (KEYS * pitches<P, CHANNELS>::key));
    SHARED(uint32_t, v, (KEYS / P::EACH * pitches<P, CHANNELS>::value));
    int blocks = (p.map.entries + BLOCK - 1) / BLOCK, window = blockIdx.x / blocks;
    int first_query = blockIdx.x % blocks * BLOCK + threadIdx.x / 32 * 16;      /* of this warp */
    int upper = first_query + threadIdx.x % 32 / 4, head = blockIdx.y, channel = head * p.c, C = p.h * p.c;
    size_t image = (size_t)blockIdx.z * p.map.tokens, place[2], output[2];
    int i[2], side[2];
    bool valid[2];
    query_fragments<P, CHANNELS> query;

    for (int r = 0; r < 2; r++) {
        valid[r] = upper + 8 * r < p.map.entries;
        i[r] = window_token(p.map, window, valid[r] ? upper + 8 * r : 0);
        side[r] = seam_side(p.map, window, valid[r] ? upper + 8 * r : 0);
        place[r] = (image + i[r]) * p.width + channel;
        output[r] = (image + i[r]) * C + channel;
    }
    fetch_queries(query, qkv, place, valid, p.c, p.scale);
    for (int first = 0; first < p.map.entries; first += KEYS) {
        fetch_words<P, CHANNELS>(k, v, p, qkv, image, window, first, channel);
        __syncthreads();
        if (first_query < p.map.entries) {        /* all of a warp or none */
            float score[KEYS / 8][4];
            score_keys(score, query, k, 0);

            UNROLL for (int n = 0; n < KEYS / 8; n++)
                UNROLL for (int e = 0; e < 4; e++) {
                    int key = first + 8 * n + threadIdx.x % 4 * 2 + e % 2;
                    bool meets = key < p.map.entries && seam_side(p.map, window, key) == side[e / 2];
                    if (!meets) score[n][e] = -INFINITY;
                    else if (p.tables) score[n][e] += bias(p, rpe, i[e / 2], window_token(p.map, window, key), head);
                }
            weigh(score, query);
            gather_values(query, score, v, 0);
        }
        __syncthreads();                    /* the tile is free again */
    }
    store_means(y, output, valid, query, p.c);
#endif
}
#endif

/* ---- launches ---------------------------------------------------------------------- */

problem_of_msa params_of(const struct msa_problem *p)
{
    return {window_map_of(&p->windows, &p->table), (int)p->heads.h, (int)p->heads.c, 3 * (int)p->heads.C,
            p->rpe ? (int)p->rpe_columns : 0, (int)p->windows.grid.offsets, !p->ghost.add || p->ghost.by_block,
            p->scale};
}

void core_1(struct msa_device *on, const struct msa_problem *p)
{
    size_t outputs = p->heads.B * p->heads.N * p->heads.C;
    LAUNCH_EACH(on, each_output, outputs, params_of(p), on->output, on->qkv, on->rpe,
                ghost_arrays{on->factor, on->summand}, outputs);
}

/* Calls launch(blocks, y, qkv) for chunks of images. */
template <class F> void in_launches(struct msa_device *on, const struct msa_problem *p, F launch)
{
    size_t across = p->windows.count * device_blocks(p->windows.entries, BLOCK), image = p->heads.N * p->heads.C;
    device_images(p->heads.B, [&](size_t first, size_t images) {
        launch(dim3(across, p->heads.h, images), on->output + first * image, on->qkv + 3 * first * image);
    });
}

template <int CHANNELS, bool GHOST> void core_of(struct msa_device *on, const struct msa_problem *p, int version)
{
    problem_of_msa sizes = params_of(p);
    ghost_arrays ghost = {on->factor, on->summand};
    in_launches(on, p, [&](dim3 blocks, array<real> y, reals qkv) {
        if (version == 2) LAUNCH(on, (each_query<CHANNELS, GHOST>), blocks, BLOCK, 0, sizes, y, qkv, on->rpe, ghost);
        else LAUNCH(on, (tiled<CHANNELS, GHOST>), blocks, BLOCK, 0, sizes, y, qkv, on->rpe, ghost);
    });
}

template <int CHANNELS> void core_of_width(struct msa_device *on, const struct msa_problem *p, int version)
{
    if (p->ghost.add) core_of<CHANNELS, true>(on, p, version);
    else core_of<CHANNELS, false>(on, p, version);
}

template <int version> void core_in_registers(struct msa_device *on, const struct msa_problem *p)
{
    if (p->heads.c <= 16) core_of_width<16>(on, p, version);
    else if (p->heads.c <= 32) core_of_width<32>(on, p, version);
    else if (p->heads.c <= 64) core_of_width<64>(on, p, version);
    else core_1(on, p);
}

void core_4(struct msa_device *on, const struct msa_problem *p)
{
    problem_of_msa sizes = params_of(p);
    int c = (int)p->heads.c, pitch = blocked_pitch(c);
    size_t bytes = blocked_reals(c) * sizeof(real);
    if (p->ghost.add || c > 64 || blocked_reals(c) > SHARED_REALS) return core_in_registers<3>(on, p);
    in_launches(on, p, [&](dim3 blocks, array<real> y, reals qkv) {
        if (c <= 32) LAUNCH(on, blocked<1>, blocks, THREADS, bytes, sizes, pitch, y, qkv, on->rpe);
        else LAUNCH(on, blocked<2>, blocks, THREADS, bytes, sizes, pitch, y, qkv, on->rpe);
    });
}

#ifndef TWICETOLD_DOUBLE
template <class P> void core_of_tensor_cores(struct msa_device *on, const struct msa_problem *p)
{
    problem_of_msa sizes = params_of(p);
    if (p->ghost.add || p->heads.c > 64) return core_4(on, p);
    in_launches(on, p, [&](dim3 blocks, array<real> y, reals qkv) {
        if (sizes.c <= 16) LAUNCH(on, (on_tensor_cores<P, 16>), blocks, THREADS, 0, sizes, y, qkv, on->rpe);
        else if (sizes.c <= 32) LAUNCH(on, (on_tensor_cores<P, 32>), blocks, THREADS, 0, sizes, y, qkv, on->rpe);
        else LAUNCH(on, (on_tensor_cores<P, 64>), blocks, THREADS, 0, sizes, y, qkv, on->rpe);
    });
}
#endif

void prepare(struct msa_device *on, const struct msa_problem *p)
{
    size_t ghosts = p->ghost.add ? p->heads.C : 0;
    device_heads_prepare(on, &p->heads);
    device_tensor(on, &on->rpe, "rpe", &p->rpe, p->table.offsets, p->rpe_columns);
    device_reals(on, &on->factor, "the ghost head's factors", ghosts, p->ghost.offsets);
    device_reals(on, &on->summand, "the ghost head's summands", ghosts, p->ghost.offsets);
    ghost_prepare(&on->ghost, &on->plan->arena, LOAD_SCRATCH, &p->ghost);
}

#ifndef TWICETOLD_DOUBLE
void prepare_tensor_cores(struct msa_device *on, const struct msa_problem *p)
{
    arena_fail(&on->plan->arena, device_tensor_cores(on->plan));
    prepare(on, p);
}
#endif

double cost(const void *params)
{
    const struct msa_problem *p = (const struct msa_problem *)params;
    return msa_multiply_adds(p, windows_pairs(&p->windows));
}

void load_ghost(struct msa_device *on, const struct msa_problem *p)
{
    if (!p->ghost.add) return;
    ghost_load(&on->ghost, &p->ghost);
    device_upload(on, on->factor, on->ghost.factor, p->heads.C * p->ghost.offsets);
    device_upload(on, on->summand, on->ghost.summand, p->heads.C * p->ghost.offsets);
}

} // namespace

VERSION(msa_cuda1, "cuda1", msa_device, prepare, load_ghost, core_1, cost);
VERSION(msa_cuda2, "cuda2", msa_device, prepare, load_ghost, core_in_registers<2>, cost);
VERSION(msa_cuda3, "cuda3", msa_device, prepare, load_ghost, core_in_registers<3>, cost);
VERSION(msa_cuda4, "cuda4", msa_device, prepare, load_ghost, core_4, cost);
#ifndef TWICETOLD_DOUBLE
VERSION(msa_tf32, "cuda-tf32", msa_device, prepare_tensor_cores, load_ghost, core_of_tensor_cores<tf32>, cost);
VERSION(msa_bf16, "cuda-bf16", msa_device, prepare_tensor_cores, load_ghost, core_of_tensor_cores<bf16>, cost);
#endif
