/* structsa.cu -- structural self-attention on the device
 *
 *   cuda1   The equation: a thread for each output y_ic visits all centres and patterns twice, first for the largest
 *           score, then for the weighted mean.  Each thread recomputes all scores; kappa_ij is not stored.
 *   cuda2   Eq. 15: one launch computes the J D virtual keys and values, a thread for each channel.  Then a thread for
 *           each query visits them once, with an online softmax.
 *   cuda3   A block copies virtual keys and values to shared memory tile by tile: each is read from the device once for
 *           BLOCK queries, not once for each warp.
 *   cuda4   A block computes the virtual tokens of a tile in shared memory.  A tile is eight centres of one row and the
 *           tokens around them (the halo).  A filter entry is fetched once for eight centres, whose sums stay in
 *           registers.  Every block computes all tiles: (|M| + |M'|) / (2 BLOCK) times the attention's products.
 *   cuda-tf32, cuda-bf16
 *           Tensor cores (tensor.h) multiply queries and virtual tokens.  These are computed as in cuda4, in float, and
 *           rounded to TF32 or BF16.  One pattern at eight centres gives the eight keys of an instruction.
 *           Stores of different patterns conflict in the banks.
 *
 * On 4 x 8 tokens, 2 heads of 8 channels, 3 x 3 windows, D = 4 (one block per head, float; tests/cuda/counts.tsv):
 *
 *             requests    sectors     cycles of shared memory         bytes touched, at most
 *     cuda1    704 016   1 858 624             0                          12 800
 *     cuda2      5 992      10 144             0                          25 088 + 20 480
 *     cuda3      1 928       6 560         2 176                          25 088 + 20 480
 *     cuda4        184       1 152         3 456                          12 800
 *
 * Fallbacks: heads of more than 64 channels use cuda1.  If a halo of 32 channels and the tile of one pattern exceed 48
 * KB, cuda4 is cuda3; if the halo and the words of two patterns do, cuda-tf32 and cuda-bf16 are cuda4.
 *
 * Contract: reference/structsa.h. */

#include "../../reference/structsa.h"
#include "heads.h"
#include "online.h"
#ifndef TWICETOLD_DOUBLE
#include "tensor.h"
#endif

namespace {

struct structsa_device : device_heads {
    array<real> hk, hv;         /* uk and uv in Eq. 4 and 5 */
    array<real> key, value;     /* [B][h][J D][c], if virtual tokens are stored */
};

/* Sizes or coordinates on a grid; missing leading axes have size 1. */
struct box {
    int t, y, x;
};

struct side {
    box window;
    int entries, part;              /* entries of the window; first column in qkv */
    int pattern, entry, channel;    /* strides of the filters; channel: 0 in Eq. 4 and 5 */
};

struct problem_of_structsa {
    box tokens, centres, stride;
    int N, J, D, h, c, width;   /* width: of a row of qkv */
    int pitch;                  /* of a virtual token in shared memory: c rounded up to a multiple of 4 */
    int blocks;                 /* of queries, per head */
    real scale;
    side keys, values;
};

constexpr int BLOCK = 128;      /* queries of a block */
constexpr int TILE = 32;        /* virtual tokens of a tile of cuda3 */
constexpr int CENTRES = 8;      /* of a tile of cuda4 */
constexpr int SLAB = 32;        /* channels of a halo that does not fit whole */
constexpr int SHARED_REALS = 48 * 1024 / (int)sizeof(real);

constexpr auto cost = structsa_multiply_adds;

__device__ inline box place(int n, const box &size)
{
    return {n / size.x / size.y, n / size.x % size.y, n % size.x};
}

__device__ inline int token_at(const problem_of_structsa &p, int t, int y, int x)
{
    bool on = t >= 0 && t < p.tokens.t && y >= 0 && y < p.tokens.y && x >= 0 && x < p.tokens.x;
    return on ? (t * p.tokens.y + y) * p.tokens.x + x : OFF_GRID;
}

/* The token at entry m of the window around centre j. */
__device__ inline int token_around(const problem_of_structsa &p, const side &s, int j, int m)
{
    box at = place(j, p.centres), step = place(m, s.window);
    return token_at(p, at.t * p.stride.t + step.t - s.window.t / 2, at.y * p.stride.y + step.y - s.window.y / 2,
                    at.x * p.stride.x + step.x - s.window.x / 2);
}

/* h_dmc; channels count over all heads. */
__device__ inline real filter(const side &s, reals filters, int d, int m, int channel)
{
    return filters[(size_t)d * s.pattern + (size_t)m * s.entry + (size_t)channel * s.channel];
}

/* A channel of the virtual token of pattern d at centre j: sum_m h_dmc row_{j+m,c}. */
__device__ inline real convolved(const problem_of_structsa &p, const side &s, reals filters,
                                 reals qkv, size_t image, int j, int d, int channel)
{
    real sum = 0;
    for (int m = 0; m < s.entries; m++) {
        int token = token_around(p, s, j, m);
        if (token == OFF_GRID) continue;
        sum += filter(s, filters, d, m, channel) * qkv[(image + token) * p.width + s.part + channel];
    }
    return sum;
}

/* ---- cuda1: a thread for each output ------------------------------------------ */

/* Eq. 3 and 13: scale sum_mc q_ic k_{j+m,c} h_dmc. */
__device__ inline real score(const problem_of_structsa &p, reals hk, reals qkv, size_t image,
                             int i, int j, int d, int head)
{
    real sum = 0;
    for (int m = 0; m < p.keys.entries; m++) {
        int token = token_around(p, p.keys, j, m);
        if (token == OFF_GRID) continue;
        size_t q = (image + i) * p.width, k = (image + token) * p.width + p.keys.part;
        for (int channel = head * p.c; channel < (head + 1) * p.c; channel++)
            sum += p.scale * qkv[q + channel] * qkv[k + channel] * filter(p.keys, hk, d, m, channel);
    }
    return sum;
}

/* With equal windows a warp makes 2 S (3 c + 1) + 1 requests; S is D times the window entries on the grid, summed over
 * all centres. */
__global__ void each_output(problem_of_structsa p, array<real> y, reals qkv, reals hk, reals hv, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int C = p.h * p.c, channel = (int)(at % C), head = channel / p.c, i = (int)(at / C % p.N);
    size_t image = at / C / p.N * p.N;
    real top = LOWEST;
    for (int j = 0; j < p.J; j++)
        for (int d = 0; d < p.D; d++) top = fmax(top, score(p, hk, qkv, image, i, j, d, head));
    real sum = 0, mean = 0;
    for (int j = 0; j < p.J; j++)
        for (int d = 0; d < p.D; d++) {
            real weight = exp(score(p, hk, qkv, image, i, j, d, head) - top);
            sum += weight;
            mean += weight * convolved(p, p.values, hv, qkv, image, j, d, channel);
        }
    y[at] = mean / sum;
}

/* ---- cuda2: virtual tokens, and a thread for each query ------------------------- */

/* Adjacent threads are adjacent channels of all heads in qkv and filters, and of one head in the result. */
__global__ void make_virtual_tokens(problem_of_structsa p, array<real> key, array<real> value, reals qkv,
                                    reals hk, reals hv, size_t items)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, virtual_tokens = (size_t)p.J * p.D;
    if (at >= items) return;
    int C = p.h * p.c, channel = (int)(at % C), head = channel / p.c;
    size_t jd = at / C % virtual_tokens, b = at / C / virtual_tokens, image = b * p.N;
    size_t to = ((b * p.h + head) * virtual_tokens + jd) * p.c + channel % p.c;
    key[to] = convolved(p, p.keys, hk, qkv, image, (int)(jd / p.D), (int)(jd % p.D), channel);
    value[to] = convolved(p, p.values, hv, qkv, image, (int)(jd / p.D), (int)(jd % p.D), channel);
}

/* A block has queries of one head of one image. */
struct query_of_thread {
    bool valid;                 /* the thread has a query */
    int head;
    size_t group;               /* head, counted over all images */
    size_t image, q, y;         /* the image's first token; first element of the query and of its output */
};

__device__ inline query_of_thread thread_query(const problem_of_structsa &p)
{
    size_t group = blockIdx.x / p.blocks, image = group / p.h * p.N;
    int head = (int)(group % p.h), i = blockIdx.x % p.blocks * BLOCK + threadIdx.x, C = p.h * p.c;
    return {i < p.N, head, group, image, (image + i) * p.width + head * p.c, (image + i) * C + head * p.c};
}

/* A warp requests each channel of each virtual key and value, 2 J D c in all; each request fetches a sector for one
 * number. */
template <int CHANNELS>
__global__ void each_query(problem_of_structsa p, array<real> y, reals qkv, reals key, reals value)
{
    query_of_thread query = thread_query(p);
    if (!query.valid) return;
    size_t virtual_tokens = (size_t)p.J * p.D, first = query.group * virtual_tokens;
    real q[CHANNELS];
    softmax_state<CHANNELS> g = {LOWEST, 0, {}};

    fetch_row(q, qkv, query.q, p.c, p.scale);
    for (size_t jd = first; jd < first + virtual_tokens; jd++) {
        real a = 0;
        for (int d = 0; d < CHANNELS; d++)
            if (d < p.c) a += q[d] * key[jd * p.c + d];
        raise_top(g, a);
        real weight = exp(a - g.top);
        g.sum += weight;
        for (int d = 0; d < CHANNELS; d++)
            if (d < p.c) g.mean[d] += weight * value[jd * p.c + d];
    }
    store_mean(y, query.y, g, p.c);
}

/* ---- cuda3: virtual tokens in tiles --------------------------------------------- */

template <int W>
__device__ inline void fetch_tile(shared<real> to, reals from, size_t at, int rows, int c, int pitch)
{
    for (int n = W * threadIdx.x; n < rows * pitch; n += W * BLOCK) {
        pack<real, W> some = {};
        if (n % pitch < c) some = load<W>(from, at + (size_t)(n / pitch) * c + n % pitch);
        store(to, n, some);
    }
}

/* A block reads its head's virtual tokens once.  If 4 divides c, a lane loads 4 numbers: 2 J D c / 4 / 32 requests. */
template <int CHANNELS>
__global__ void tiled(problem_of_structsa p, array<real> y, reals qkv, reals key, reals value)
{
    SHARED(real, k, TILE * CHANNELS);
    SHARED(real, v, TILE * CHANNELS);
    query_of_thread query = thread_query(p);
    size_t virtual_tokens = (size_t)p.J * p.D;
    real q[CHANNELS] = {};
    softmax_state<CHANNELS> g = {LOWEST, 0, {}};

    if (query.valid) fetch_row(q, qkv, query.q, p.c, p.scale);
    for (size_t first = 0; first < virtual_tokens; first += TILE) {
        int keys = virtual_tokens - first < TILE ? (int)(virtual_tokens - first) : TILE;
        size_t at = (query.group * virtual_tokens + first) * p.c;
        if (p.c % 4 == 0) {
            fetch_tile<4>(k, key, at, keys, p.c, p.pitch);
            fetch_tile<4>(v, value, at, keys, p.c, p.pitch);
        } else {
            fetch_tile<1>(k, key, at, keys, p.c, p.pitch);
            fetch_tile<1>(v, value, at, keys, p.c, p.pitch);
        }
        __syncthreads();
        if (query.valid) attend(g, q, k, v, keys, p.pitch);
        __syncthreads();        /* the tile is free again */
    }
    if (query.valid) store_mean(y, query.y, g, p.c);
}

/* ---- cuda4: virtual tokens of a tile, computed in shared memory ------------------ */

/* The part of a tile that is in shared memory at a time. */
struct tile {
    int patterns, slab;         /* taken together: patterns, of D; channels, of c */
    int halo;                   /* reals of the halo */
};

/* The centres of a tile: up to CENTRES of one row. */
struct run {
    box first;
    int centres, columns;       /* columns: of the halo */
};

/* Copies channels first ... first + slab - 1 of the tokens around a run; zeros off the grid. */
template <int W>
__device__ inline void fetch_halo(shared<real> halo, const problem_of_structsa &p, const side &s, const run &r,
                                  reals rows, size_t image, int head, int first, int slab)
{
    for (int n = W * threadIdx.x; n < s.window.t * s.window.y * r.columns * slab; n += W * (int)blockDim.x) {
        int channel = first + n % slab, column = n / slab % r.columns, row = n / slab / r.columns;
        int token = token_at(p, r.first.t * p.stride.t + row / s.window.y - s.window.t / 2,
                             r.first.y * p.stride.y + row % s.window.y - s.window.y / 2,
                             r.first.x * p.stride.x + column - s.window.x / 2);
        pack<real, W> some = {};
        size_t at = (image + (token == OFF_GRID ? 0 : token)) * p.width + s.part + head * p.c + channel;
        if (token != OFF_GRID && channel < p.c) some = load<W>(rows, at);
        store(halo, n, some);
    }
}

/* Computes a slab of channels of the virtual tokens of a run: a thread for each pattern and channel. */
__device__ inline void convolve(shared<real> to, shared<real> halo, const problem_of_structsa &p, const side &s,
                                const run &r, reals filters, int head, int pattern, int patterns, int first, int slab)
{
    for (int n = threadIdx.x; n < patterns * slab; n += BLOCK) {
        int channel = first + n % slab, d = n / slab;
        real sum[CENTRES] = {};
        for (int m = 0; m < s.entries; m++) {
            real h = channel < p.c ? filter(s, filters, pattern + d, m, head * p.c + channel) : (real)0;
            int at = (m / s.window.x * r.columns + m % s.window.x) * slab + n % slab;
            for (int t = 0; t < CENTRES; t++)
                if (t < r.centres) sum[t] += h * halo[at + t * p.stride.x * slab];
        }
        for (int t = 0; t < CENTRES; t++)
            if (t < r.centres) to[(t * patterns + d) * p.pitch + channel] = sum[t];
    }
}

/* Fetches the halo slab by slab; make(r, first, slab) then convolves channels first ... first + slab - 1. */
template <class Make>
__device__ inline void make_tile(Make make, shared<real> halo, const problem_of_structsa &p, const side &s, run r,
                                 const tile &extent, reals rows, size_t image, int head)
{
    r.columns = (r.centres - 1) * p.stride.x + s.window.x;
    for (int first = 0; first < p.pitch; first += extent.slab) {
        int slab = p.pitch - first < extent.slab ? p.pitch - first : extent.slab;

        /* Step 1: adjacent threads fetch adjacent channels of a token. */
        if (p.c % 4 == 0) fetch_halo<4>(halo, p, s, r, rows, image, head, first, slab);
        else fetch_halo<1>(halo, p, s, r, rows, image, head, first, slab);
        __syncthreads();

        /* Step 2: convolve; off the grid the halo is zero. */
        make(r, first, slab);
        __syncthreads();        /* the halo is free again, and the slab is complete */
    }
}

template <int CHANNELS>
__global__ void made_in_place(problem_of_structsa p, tile extent, array<real> y, reals qkv, reals hk, reals hv)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> halo = memory, k = halo + extent.halo, v = k + CENTRES * extent.patterns * p.pitch;
    query_of_thread query = thread_query(p);
    int runs = (p.centres.x + CENTRES - 1) / CENTRES;
    real q[CHANNELS] = {};
    softmax_state<CHANNELS> g = {LOWEST, 0, {}};

    if (query.valid) fetch_row(q, qkv, query.q, p.c, p.scale);
    for (int n = 0; n < p.centres.t * p.centres.y * runs; n++) {
        int row = n / runs, x = n % runs * CENTRES;
        run r = {{row / p.centres.y, row % p.centres.y, x}, p.centres.x - x < CENTRES ? p.centres.x - x : CENTRES, 0};
        for (int pattern = 0; pattern < p.D; pattern += extent.patterns) {
            int patterns = p.D - pattern < extent.patterns ? p.D - pattern : extent.patterns;

            /* Step 1: the virtual keys and values of this tile. */
            make_tile([&](const run &centres, int channel, int slab) {
                convolve(k, halo, p, p.keys, centres, hk, query.head, pattern, patterns, channel, slab);
            }, halo, p, p.keys, r, extent, qkv, query.image, query.head);
            make_tile([&](const run &centres, int channel, int slab) {
                convolve(v, halo, p, p.values, centres, hv, query.head, pattern, patterns, channel, slab);
            }, halo, p, p.values, r, extent, qkv, query.image, query.head);

            /* Step 2: each query against all keys.  Threads that finish early fetch the next halo, which is free. */
            if (query.valid) attend(g, q, k, v, r.centres * patterns, p.pitch);
        }
    }
    if (query.valid) store_mean(y, query.y, g, p.c);
}

#ifndef TWICETOLD_DOUBLE
/* ---- on tensor cores ----------------------------------------------------------------- */

constexpr int WIDE_BLOCK = 2 * BLOCK;   /* threads of a block: eight warps, each with 16 of BLOCK queries */

/* Row d CENTRES + t of a tile is pattern d at centre t.  A pattern of zeros follows an odd number of patterns. */
[[maybe_unused]]
__host__ __device__ inline int even(int patterns) { return (patterns + 1) / 2 * 2; }

template <class P, int CHANNELS> constexpr int key_words = CENTRES * pitches<P, CHANNELS>::key;
template <class P, int CHANNELS> constexpr int value_words = CENTRES / P::EACH * pitches<P, CHANNELS>::value;

/* h_dmc of two adjacent channels of a head, zero from c on; one access if channels have filters and c is even. */
[[maybe_unused]]
__device__ inline pack<real, 2> two_filters(const problem_of_structsa &p, const side &s, reals filters,
                                            int d, int m, int head, int channel)
{
    size_t at = (size_t)d * s.pattern + (size_t)m * s.entry + (size_t)(head * p.c + channel) * s.channel;
    pack<real, 2> h = {};
    if (s.channel && p.c % 2 == 0) {
        if (channel < p.c) h = load<2>(filters, at);
    } else {
        for (int l = 0; l < 2; l++)
            if (channel + l < p.c) h[l] = filters[at + l * s.channel];
    }
    return h;
}

/* Like convolve, with two channels per thread; put(sums, pattern, channel) stores the sums of all centres. */
template <class Put>
__device__ inline void convolve_two(Put put, shared<real> halo, const problem_of_structsa &p, const side &s,
                                    const run &r, reals filters, int head, int pattern, int patterns,
                                    int first, int slab)
{
    for (int n = threadIdx.x; n < even(patterns) * slab / 2; n += WIDE_BLOCK) {
        int channel = n % (slab / 2) * 2, d = n / (slab / 2), of_all = first + channel;
        pack<real, 2> sum[CENTRES] = {};
        for (int m = 0; d < patterns && m < s.entries; m++) {
            pack<real, 2> h = two_filters(p, s, filters, pattern + d, m, head, of_all);
            int at = (m / s.window.x * r.columns + m % s.window.x) * slab + channel;
            UNROLL for (int t = 0; t < CENTRES; t++)
                if (t < r.centres) {
                    pack<real, 2> around = load<2>(halo, at + t * p.stride.x * slab);
                    for (int l = 0; l < 2; l++) sum[t][l] += h[l] * around[l];
                }
        }
        put(sum, d, of_all);
    }
}

template <class P, int CHANNELS>
__global__ void on_tensor_cores(problem_of_structsa p, tile extent, array<real> y, reals qkv, reals hk, reals hv)
{
#if TENSOR_CORES
    DYNAMIC_SHARED(uint32_t, memory);
    DYNAMIC_SHARED(real, halo);             /* after the tile */
    constexpr int EACH = P::EACH;
    shared<uint32_t> k = memory, v = k + extent.patterns * key_words<P, CHANNELS>;
    int words = extent.patterns * (key_words<P, CHANNELS> + value_words<P, CHANNELS>);
    size_t group = blockIdx.x / p.blocks, image = group / p.h * p.N, place[2], output[2];
    int head = (int)(group % p.h), first_query = blockIdx.x % p.blocks * BLOCK + threadIdx.x / 32 * 16;
    int runs = (p.centres.x + CENTRES - 1) / CENTRES, C = p.h * p.c;
    bool valid[2];
    query_fragments<P, CHANNELS> query;

    /* Step 1: zeros, for channels from c on. */
    halo += words;
    for (int n = threadIdx.x; n < words; n += WIDE_BLOCK) memory[n] = 0;
    for (int r = 0; r < 2; r++) {
        int i = first_query + threadIdx.x % 32 / 4 + 8 * r;
        valid[r] = i < p.N;
        place[r] = (image + i) * p.width + head * p.c;
        output[r] = (image + i) * C + head * p.c;
    }
    fetch_queries(query, qkv, place, valid, p.c, p.scale);
    for (int n = 0; n < p.centres.t * p.centres.y * runs; n++) {
        int row = n / runs, x = n % runs * CENTRES;
        run r = {{row / p.centres.y, row % p.centres.y, x}, p.centres.x - x < CENTRES ? p.centres.x - x : CENTRES, 0};
        for (int pattern = 0; pattern < p.D; pattern += extent.patterns) {
            int patterns = p.D - pattern < extent.patterns ? p.D - pattern : extent.patterns;

            /* Step 2: virtual keys and values.  A word packs channels of a key, or centres of a value. */
            auto put_key = [&](const pack<real, 2> (&made)[CENTRES], int d, int channel) {
                UNROLL for (int t = 0; t < CENTRES; t++)
                    store(k, (d * CENTRES + t) * pitches<P, CHANNELS>::key + channel / EACH, along(P(), made[t]));
            };
            auto put_value = [&](const pack<real, 2> (&made)[CENTRES], int d, int channel) {
                UNROLL for (int t = 0; t < CENTRES; t += EACH) {
                    pack<real, 2> rows[EACH];
                    for (int e = 0; e < EACH; e++) rows[e] = made[t + e];
                    store(v, (d * CENTRES + t) / EACH * pitches<P, CHANNELS>::value + channel, across(P(), rows));
                }
            };
            make_tile([&](const run &centres, int channel, int slab) {
                convolve_two(put_key, halo, p, p.keys, centres, hk, head, pattern, patterns, channel, slab);
            }, halo, p, p.keys, r, extent, qkv, image, head);
            make_tile([&](const run &centres, int channel, int slab) {
                convolve_two(put_value, halo, p, p.values, centres, hv, head, pattern, patterns, channel, slab);
            }, halo, p, p.values, r, extent, qkv, image, head);

            /* Step 3: 16 queries against two patterns at eight centres. */
            for (int d = 0; first_query < p.N && d < patterns; d += 2) {
                float score[2][4];
                score_keys(score, query, k, d * CENTRES);
                UNROLL for (int two = 0; two < 2; two++)
                    UNROLL for (int e = 0; e < 4; e++)
                        if (d + two >= patterns || (int)threadIdx.x % 4 * 2 + e % 2 >= r.centres)
                            score[two][e] = -INFINITY;
                weigh(score, query);
                gather_values(query, score, v, d * CENTRES);
            }
        }
    }
    store_means(y, output, valid, query, p.c);
#endif
}
#endif

/* ---- launches ---------------------------------------------------------------------- */

box box_of(int axes, const size_t size[GRID_AXES])
{
    return {axes > 2 ? (int)size[0] : 1, axes > 1 ? (int)size[axes - 2] : 1, (int)size[axes - 1]};
}

problem_of_structsa params_of(const struct structsa_problem *p)
{
    int axes = p->grid.axes, C = (int)p->heads.C, M = (int)p->M, Mv = (int)p->Mv, D = (int)p->D;
    box tokens = box_of(axes, p->grid.size), stride = box_of(axes, p->stride);
    bool channels = p->equation == 16;
    return {
        tokens, {(tokens.t - 1) / stride.t + 1, (tokens.y - 1) / stride.y + 1, (tokens.x - 1) / stride.x + 1}, stride,
        (int)p->heads.N, (int)p->J, D, (int)p->heads.h, (int)p->heads.c, 3 * C, ((int)p->heads.c + 3) / 4 * 4,
        (int)device_blocks(p->heads.N, BLOCK), p->scale,
        {box_of(axes, p->key_window.size), M, C, channels ? M * C : 1, channels ? C : D, channels},
        {box_of(axes, p->value_window.size), Mv, 2 * C, channels ? Mv * C : 1, channels ? C : D, channels},
    };
}

/* Tokens of the larger of both halos, a double: the product may overflow an integer. */
double halo_tokens(const problem_of_structsa &p)
{
    int centres = p.centres.x < CENTRES ? p.centres.x : CENTRES;
    double most = 0;
    for (const side &s : {p.keys, p.values}) {
        double tokens = (double)s.window.t * s.window.y * ((double)(centres - 1) * p.stride.x + s.window.x);
        most = tokens > most ? tokens : most;
    }
    return most;
}

/* Finds how many patterns fit with a halo of all channels, or else of a slab; `each` patterns take `numbers` reals. */
bool fits(tile *extent, const problem_of_structsa &p, int each, double numbers)
{
    double most = halo_tokens(p);
    for (int slab = p.pitch; slab; slab = slab > SLAB ? SLAB : 0) {
        if (most * slab + numbers > SHARED_REALS) continue;
        int patterns = (int)((SHARED_REALS - most * slab) / numbers) * each, all = (p.D + each - 1) / each * each;
        *extent = {patterns < all ? patterns : all, slab, (int)most * slab};
        return true;
    }
    return false;
}
bool fits(tile *extent, const problem_of_structsa &p) { return fits(extent, p, 1, 2.0 * CENTRES * p.pitch); }

void core_1(struct structsa_device *on, const struct structsa_problem *p)
{
    size_t outputs = p->heads.B * p->heads.N * p->heads.C;
    LAUNCH_EACH(on, each_output, outputs, params_of(p), on->output, on->qkv, on->hk, on->hv, outputs);
}

template <int CHANNELS> void core_of(struct structsa_device *on, const struct structsa_problem *p, int version)
{
    problem_of_structsa sizes = params_of(p);
    size_t blocks = p->heads.B * sizes.h * sizes.blocks;
    array<real> y = on->output;
    reals qkv = on->qkv;
    size_t items = p->heads.B * p->J * p->D * p->heads.C;
    tile extent;
    if (version == 4 && fits(&extent, sizes)) {
        size_t bytes = ((size_t)extent.halo + 2 * CENTRES * (size_t)extent.patterns * sizes.pitch) * sizeof(real);
        LAUNCH(on, made_in_place<CHANNELS>, blocks, BLOCK, bytes, sizes, extent, y, qkv, on->hk, on->hv);
        return;
    }
    LAUNCH_EACH(on, make_virtual_tokens, items, sizes, on->key, on->value, qkv, on->hk, on->hv, items);
    if (version == 2) LAUNCH(on, each_query<CHANNELS>, blocks, BLOCK, 0, sizes, y, qkv, on->key, on->value);
    else LAUNCH(on, tiled<CHANNELS>, blocks, BLOCK, 0, sizes, y, qkv, on->key, on->value);
}

constexpr size_t WIDEST = 64;   /* head whose channels fit in registers */

template <int version> void core_in_registers(struct structsa_device *on, const struct structsa_problem *p)
{
    if (p->heads.c <= 16) core_of<16>(on, p, version);
    else if (p->heads.c <= 32) core_of<32>(on, p, version);
    else if (p->heads.c <= WIDEST) core_of<64>(on, p, version);
    else core_1(on, p);
}

#ifndef TWICETOLD_DOUBLE
template <class P, int CHANNELS> void core_in_words(struct structsa_device *on, const struct structsa_problem *p)
{
    problem_of_structsa sizes = params_of(p);
    tile extent;
    constexpr int each = key_words<P, CHANNELS> + value_words<P, CHANNELS>;
    if (!fits(&extent, sizes, 2, 2 * each)) return core_in_registers<4>(on, p);
    size_t words = (size_t)extent.patterns * each + (size_t)extent.halo;
    LAUNCH(on, (on_tensor_cores<P, CHANNELS>), p->heads.B * sizes.h * sizes.blocks, WIDE_BLOCK, words * sizeof(real),
           sizes, extent, on->output, on->qkv, on->hk, on->hv);
}

template <class P> void core_of_tensor_cores(struct structsa_device *on, const struct structsa_problem *p)
{
    if (p->heads.c <= 16) core_in_words<P, 16>(on, p);
    else if (p->heads.c <= 32) core_in_words<P, 32>(on, p);
    else if (p->heads.c <= WIDEST) core_in_words<P, 64>(on, p);
    else core_1(on, p);
}
#endif

template <int version> void prepare(struct structsa_device *on, const struct structsa_problem *p)
{
    tile extent;
    bool written = version > 1 && p->heads.c <= WIDEST && !(version == 4 && fits(&extent, params_of(p)));
    size_t heads = written ? p->heads.B * p->heads.h : 0;
    bool channels = p->equation == 16;
    size_t columns = channels ? p->heads.C : 1;
    device_heads_prepare(on, &p->heads);
    device_tensor(on, &on->hk, "the detectors", channels ? &p->hk : &p->uk, p->D, p->M, columns);
    device_tensor(on, &on->hv, "the aggregators", channels ? &p->hv : &p->uv, p->D, p->Mv, columns);
    device_reals(on, &on->key, "the virtual keys", heads, p->J, p->D, p->heads.c);
    device_reals(on, &on->value, "the virtual values", heads, p->J, p->D, p->heads.c);
}

#ifndef TWICETOLD_DOUBLE
void prepare_tensor_cores(struct structsa_device *on, const struct structsa_problem *p)
{
    arena_fail(&on->plan->arena, device_tensor_cores(on->plan));
    prepare<4>(on, p);
}
#endif

} // namespace

VERSION(structsa_cuda1, "cuda1", structsa_device, prepare<1>, device_nothing, core_1, cost);
VERSION(structsa_cuda2, "cuda2", structsa_device, prepare<2>, device_nothing, core_in_registers<2>, cost);
VERSION(structsa_cuda3, "cuda3", structsa_device, prepare<3>, device_nothing, core_in_registers<3>, cost);
VERSION(structsa_cuda4, "cuda4", structsa_device, prepare<4>, device_nothing, core_in_registers<4>, cost);
#ifndef TWICETOLD_DOUBLE
VERSION(structsa_tf32, "cuda-tf32", structsa_device, prepare_tensor_cores, device_nothing, core_of_tensor_cores<tf32>,
     cost);
VERSION(structsa_bf16, "cuda-bf16", structsa_device, prepare_tensor_cores, device_nothing, core_of_tensor_cores<bf16>,
     cost);
#endif
