/* elsa.cu -- ELSA on the device
 *
 *   cuda1   The equation: a thread for each output y_ic visits its neighbours three times, for the largest logit, the
 *           sum of the weights and the mean of the values.  Each time it recomputes every logit.
 *   cuda2   A thread for each token and head computes its logits and their softmax once and stores the weights.  A
 *           thread for each output applies them with the ghost head; the K^2 C N filters of channels are not stored.
 *   cuda3   A block has 8 x 8 tokens and up to 3 heads.  It computes the products z = q o k of its tile and halo once,
 *           some channels at a time, in planes of shared memory that a warp reads without bank conflicts.  The K^2
 *           logits of a thread and their softmax stay in registers.
 *   cuda4   One kernel computes all of Eq. 7 between the projections: it applies the weights from registers, with
 *           values in the same planes, and never stores them.
 *
 * A layer of dilation d is d^2 layers, each on a lattice of tokens.  Tiles are cut from a lattice: a halo is K/2 wide.
 *
 * The final variant's convolution is a separate kernel.  cuda1 and cuda2 have a thread for each output; later versions
 * use tiles with halos if groups have 4 or a multiple of 8 channels, else cuda2's kernel.
 *
 * Fallbacks: K above 7 (too many logits for registers) and Eq. 4 (its dot product differs by pair) use cuda2.  Three
 * blocks per multiprocessor, with 96 registers per thread, spilled on sm_80; two do not.
 *
 * Contract: reference/elsa.h. */

#include "../../reference/elsa.h"
#include "activation.h"
#include "heads.h"

namespace {

struct elsa_device : device_heads {
    struct ghost ghost;         /* on the host */
    array<real> rk, rq, rb;     /* as in the contract; in the final variant rk is mix_w transposed, rb is mix_b */
    array<real> factor, summand;        /* [C][K^2] */
    array<real> conv_w, conv_b, mix_w;
    array<real> fours;          /* [Q/4][g][K^2][4]: conv_w with four outputs side by side */
    array<real> convolved;      /* [B][N][Q] */
    array<real> weights;        /* [B][h][K^2][N] */
};

struct problem_of_elsa {
    int H, W, N, K, entries, dilation;
    int h, c, C, Q, g, width;   /* width: of a row of qkv */
    int equation, T;
    bool qk, qr, rk, b, windows, by_block, ghosted;
    enum elsa_norm norm;
    real scale;
};

/* ---- cuda1 and cuda2: logits -------------------------------------------------------- */

struct sources {
    reals qkv, convolved, rk, rq, rb;
};

/* Neighbour n of token i, or OFF_GRID. */
__device__ inline int neighbour(const problem_of_elsa &p, int i, int n)
{
    int y = i / p.W, x = i % p.W;
    if (p.windows) return (y / p.K * p.K + n / p.K) * p.W + x / p.K * p.K + n % p.K;
    y += (n / p.K - p.K / 2) * p.dilation;
    x += (n % p.K - p.K / 2) * p.dilation;
    return y < 0 || x < 0 || y >= p.H || x >= p.W ? OFF_GRID : y * p.W + x;
}

/* Eq. 4: the embedding of neighbour n, in 0 ... T - 1. */
__device__ inline int embedding(const problem_of_elsa &p, int i, int n)
{
    if (!p.windows) return n;
    int y = n / p.K - i / p.W % p.K, x = n % p.K - i % p.W % p.K;
    return (y + p.K - 1) * (2 * p.K - 1) + x + p.K - 1;
}

/* The logit of Eq. 4; `image` is the image's first token.  All lanes read a key; off the grid it counts as zero. */
__device__ inline real terms(const problem_of_elsa &p, const sources &from, size_t image, int i, int n, int a)
{
    int j = neighbour(p, i, n);
    bool valid = j != OFF_GRID;
    size_t q = (image + i) * p.width, k = (image + (valid ? j : i)) * p.width + p.C;
    size_t t = (size_t)a * p.T + embedding(p, i, n), step = (size_t)p.h * p.T;
    real dot = 0, sum = 0;
    for (int d = a * p.c; p.qk && d < (a + 1) * p.c; d++) dot += from.qkv[q + d] * from.qkv[k + d];
    if (valid) sum = p.scale * dot;
    for (int d = 0; p.qr && d < p.C; d++) sum += from.qkv[q + d] * from.rk[d * step + t];
    for (int d = 0; p.rk && d < p.C; d++) {
        real key = from.qkv[k + d];
        sum += (valid ? key : (real)0) * from.rq[d * step + t];
    }
    if (p.b) sum += from.rb[t];
    return sum;
}

__device__ inline real logit(const problem_of_elsa &p, const sources &from, size_t image, int i, int n, int a)
{
    if (p.equation == 4) return terms(p, from, image, i, n, a);
    size_t t = (size_t)a * p.entries + n, step = (size_t)p.h * p.entries;
    real sum = from.rb[t];
    if (!p.equation) {
        for (int o = 0; o < p.Q; o++) sum += from.convolved[(image + i) * p.Q + o] * from.rk[o * step + t];
        return sum;
    }
    int j = neighbour(p, i, n);
    bool valid = j != OFF_GRID;
    size_t own = (image + i) * p.width, other = (image + (valid ? j : i)) * p.width;
    for (int d = 0; d < p.C; d++) {
        real q = from.qkv[own + d], k = from.qkv[other + p.C + d];
        real z = p.equation == 6 ? k : from.qkv[other + d] * k;
        if (p.equation == 7) q *= from.qkv[own + p.C + d];
        sum += p.scale * q * from.rk[d * step + t];
        sum += (valid ? p.scale * z : (real)0) * from.rq[d * step + t];
    }
    return sum;
}

/* A weight is exp(l - shift) factor with a softmax, else (l - shift) factor. */
struct norm_of_filter {
    real shift, factor;
};

__device__ inline real weight(const problem_of_elsa &p, const norm_of_filter &norm, real l)
{
    return (p.norm == ELSA_SOFTMAX ? exp(l - norm.shift) : l - norm.shift) * norm.factor;
}

__device__ inline int head_of(const problem_of_elsa &p, int channel)
{
    return p.by_block ? channel / p.c : channel % p.h;
}

/* The final variant's g_io = GELU(sum_cn conv_w_ocn z_{i+n,c} + conv_b_o): a thread for each output. */
__global__ void each_convolved(problem_of_elsa p, array<real> convolved, reals qkv,
                               reals conv_w, reals conv_b, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int o = (int)(at % p.Q), i = (int)(at / p.Q % p.N);
    size_t image = at / p.Q / p.N * p.N;
    real sum = conv_b[o];
    for (int n = 0; n < p.entries; n++) {
        int j = neighbour(p, i, n);
        if (j == OFF_GRID) continue;
        size_t q = (image + j) * p.width + o / p.g * p.g;
        for (int d = 0; d < p.g; d++)
            sum += conv_w[((size_t)o * p.g + d) * p.entries + n] * (p.scale * (qkv[q + d] * qkv[q + p.Q + d]));
    }
    convolved[at] = activated<GELU>(sum);
}

/* ---- cuda1: a thread for each output ---------------------------------------------- */

/* Requests C ((2 N K^2 + P) (6 C + 1) + 3 P + N) numbers per image, for P pairs of a token and a neighbour on the grid.
 * Counts here and below are of Eq. 7 with a softmax and a ghost head. */
__global__ void each_output(problem_of_elsa p, array<real> y, sources from, reals factor, reals summand, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int channel = (int)(at % p.C), i = (int)(at / p.C % p.N), a = head_of(p, channel);
    size_t image = at / p.C / p.N * p.N;

    /* Step 1: the largest logit, or the filter's mean. */
    norm_of_filter norm = {0, 1};
    real first = 0, beyond = 0;         /* like layer_norm: the mean of equal entries is exact */
    for (int n = 0; n < p.entries && p.norm != ELSA_IDENTITY; n++) {
        real l = logit(p, from, image, i, n, a);
        if (!n) first = l;
        if (p.norm == ELSA_SOFTMAX) norm.shift = n ? fmax(norm.shift, l) : l;
        else beyond += l - first;
    }
    if (p.norm == ELSA_FILTER) norm.shift = first + beyond / p.entries;

    /* Step 2: the sum of the weights, or the deviation. */
    real sum = 0;
    for (int n = 0; n < p.entries && p.norm != ELSA_IDENTITY; n++) {
        real w = weight(p, norm, logit(p, from, image, i, n, a));
        sum += p.norm == ELSA_SOFTMAX ? w : w * w / p.entries;
    }
    if (p.norm == ELSA_SOFTMAX) norm.factor = 1 / sum;
    if (p.norm == ELSA_FILTER) norm.factor = 1 / sqrt(sum + (real)1e-10);

    /* Step 3: the values, weighted after the ghost head. */
    real mean = 0;
    for (int n = 0; n < p.entries; n++) {
        int j = neighbour(p, i, n);
        if (j == OFF_GRID) continue;
        real w = weight(p, norm, logit(p, from, image, i, n, a));
        size_t cn = (size_t)channel * p.entries + n;
        if (p.ghosted) w = factor[cn] * w + summand[cn];
        mean += w * from.qkv[(image + j) * p.width + 2 * p.Q + channel];
    }
    y[at] = mean;
}

/* ---- cuda2: a thread for each token and head ---------------------------------------- */

/* Stores filters as weights [a][n][i]: a thread for each token and head.  Requests N h K^2 (6 C + 4) numbers per
 * image. */
__global__ void each_filter(problem_of_elsa p, array<real> weights, sources from, size_t filters)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= filters) return;
    int i = (int)(at % p.N), a = (int)(at / p.N % p.h);
    size_t image = at / p.N / p.h * p.N, first = at / p.N * p.entries * p.N + i;
    norm_of_filter norm = {0, 1};
    real sum = 0;

    /* Step 1: the logits.  For a softmax, also the largest logit so far and the sum of weights relative to it. */
    for (int n = 0; n < p.entries; n++) {
        real l = logit(p, from, image, i, n, a);
        weights[first + (size_t)n * p.N] = l;
        if (p.norm != ELSA_SOFTMAX) {
            sum += l - weights[first];
            continue;
        }
        if (!n) norm.shift = l;         /* not 0: if all logits are far below 0, every weight would underflow */
        real top = fmax(norm.shift, l);
        sum = sum * exp(norm.shift - top) + exp(l - top);
        norm.shift = top;
    }
    if (p.norm == ELSA_IDENTITY) return;

    /* Step 2: the mean and the deviation of a filter, like layer_norm. */
    if (p.norm == ELSA_FILTER) {
        norm.shift = weights[first] + sum / p.entries;
        sum = 0;
        for (int n = 0; n < p.entries; n++) {
            real w = weight(p, norm, weights[first + (size_t)n * p.N]);
            sum += w * w;
        }
        sum = sqrt(sum / p.entries + (real)1e-10);
    }

    /* Step 3: the weights. */
    norm.factor = 1 / sum;
    for (int n = 0; n < p.entries; n++) {
        real l = weights[first + (size_t)n * p.N];
        weights[first + (size_t)n * p.N] = weight(p, norm, l);
    }
}

/* y_ic = sum_n filter_cni v_{i+n,c}, with the filters computed here.  Requests C (4 P + N) numbers per image. */
__global__ void each_value(problem_of_elsa p, array<real> y, reals qkv, reals weights,
                           reals factor, reals summand, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int channel = (int)(at % p.C), i = (int)(at / p.C % p.N);
    size_t image = at / p.C / p.N, first = (image * p.h + head_of(p, channel)) * p.entries * p.N + i;
    real sum = 0;
    for (int n = 0; n < p.entries; n++) {
        int j = neighbour(p, i, n);
        if (j == OFF_GRID) continue;
        real w = weights[first + (size_t)n * p.N];
        size_t cn = (size_t)channel * p.entries + n;
        if (p.ghosted) w = factor[cn] * w + summand[cn];
        sum += w * qkv[(image * p.N + j) * p.width + 2 * p.Q + channel];
    }
    y[at] = sum;
}

/* ---- tiles with halos ------------------------------------------------------------------ */

constexpr int TILE = 8, TOKENS = TILE * TILE;   /* of a block */
constexpr int HEADS = 3;                        /* of a block, at most */
constexpr int CHUNK = 32 / sizeof(real);        /* channels at a time: a sector of a row */
constexpr int TOKEN_PITCH = TOKENS + 4;         /* from one channel's tokens to the next */
constexpr int K_MOST = 7;

/* A plane holds a channel of tile and halo.  Its pitch and size avoid bank conflicts of reads and writes. */
template <int K> struct planes {
    static constexpr int edge = TILE + K - 1, pitch = K > 1 ? 24 : 8;
    static constexpr int size = (edge * pitch + 27) / 32 * 32 + 4;
    static constexpr int entries = K * K, row = (entries + 3) / 4 * 4;     /* of a filter, in packs of four */
    static_assert((edge + 3) / 4 * 4 <= pitch, "a row of a plane holds a row of the halo");
};

/* A lattice has every `dilation`th row and column of the grid. */
struct tile {
    size_t image;               /* its first token */
    int y, x;                   /* start of the lattice on the grid */
    int top, left;              /* start of the tile on the lattice */
};

__device__ __host__ inline int least(int a, int b) { return a < b ? a : b; }
__device__ __host__ inline int rounded_up(int a, int b) { return (a + b - 1) / b; }

__device__ __host__ inline int tiles_along(int size, int dilation)
{
    return rounded_up(rounded_up(size, dilation), TILE);
}

__device__ inline tile tile_at(const problem_of_elsa &p, size_t number)
{
    int down = tiles_along(p.H, p.dilation), across = tiles_along(p.W, p.dilation), columns = least(p.W, p.dilation);
    size_t lattice = number / ((size_t)down * across), lattices = (size_t)least(p.H, p.dilation) * columns;
    tile t = {lattice / lattices * p.N, (int)(lattice % lattices / columns), (int)(lattice % lattices % columns), 0, 0};
    t.top = (int)(number / across % down) * TILE;
    t.left = (int)(number % across) * TILE;
    return t;
}

/* The token at a point of the lattice, or OFF_GRID. */
__device__ inline int lattice_token(const problem_of_elsa &p, const tile &t, int row, int column)
{
    int y = t.y + row * p.dilation, x = t.x + column * p.dilation;
    return row < 0 || column < 0 || y >= p.H || x >= p.W ? OFF_GRID : y * p.W + x;
}

/* Calls fetch(channel, row, column, token) for all points of planes; adjacent threads take adjacent channels. */
template <int K, int CHANNELS, class fetching>
__device__ inline void fetch_halo(const problem_of_elsa &p, const tile &t, fetching fetch)
{
    constexpr int EDGE = planes<K>::edge, COLUMNS = (EDGE + 3) / 4 * 4;
    for (int e = threadIdx.x; e < EDGE * COLUMNS * CHANNELS; e += blockDim.x) {
        int channel = e % CHANNELS, column = e / CHANNELS % COLUMNS, row = e / CHANNELS / COLUMNS;
        int token = lattice_token(p, t, t.top + row - K / 2, t.left + column - K / 2);
        fetch(channel, row, column, column < EDGE ? token : OFF_GRID);
    }
}

/* ---- cuda3 and cuda4: neighbourhoods ------------------------------------------------------ */

/* sum_n (factor_n w_n + summand_n) v_n, or sum_n w_n v_n without GHOST; v points to the first neighbour in a plane. */
template <int K, bool GHOST>
__device__ inline real applied(const real (&w)[K * K], shared<real> v, shared<real> factor, shared<real> summand)
{
    real sum = 0;
    #pragma unroll
    for (int n = 0; n < K * K; n += 4) {
        pack<real, 4> f = {}, s = {};
        if (GHOST) {
            f = load<4>(factor, n);
            s = load<4>(summand, n);
        }
        #pragma unroll
        for (int m = n; m < n + 4 && m < K * K; m++)
            sum += (GHOST ? f[m - n] * w[m] + s[m - n] : w[m]) * v[m / K * planes<K>::pitch + m % K];
    }
    return sum;
}

/* A block takes a tile of one image and up to HEADS heads, a thread a token and a head.  FUSED stores y, else weights
 * [a][n][i] as in cuda2.  NEIGHBOURS is false in the final variant: its logits only have the token's own term, which
 * maps `convolved`. */
template <int K, bool NEIGHBOURS, bool FUSED>
__global__ void __launch_bounds__(TOKENS * HEADS, 2)
neighbourhood(problem_of_elsa p, array<real> y, reals qkv, reals convolved, reals rk, reals rq, reals rb, reals factor,
              reals summand)
{
    using planes = planes<K>;
    constexpr int ENTRIES = planes::entries, ROW = planes::row, SLOTS = HEADS * CHUNK;
    constexpr int LOGITS = CHUNK * (NEIGHBOURS ? planes::size : 0) + CHUNK * TOKEN_PITCH + 2 * SLOTS * ROW;
    constexpr int VALUES = FUSED ? SLOTS * planes::size + 2 * SLOTS * ROW : 0;
    SHARED(real, memory, LOGITS > VALUES ? LOGITS : VALUES);
    int groups = rounded_up(p.h, HEADS), each = rounded_up(p.h, groups);
    int first_head = (int)(blockIdx.x % groups) * each, heads = least(each, p.h - first_head);
    tile t = tile_at(p, blockIdx.x / groups);
    int token = threadIdx.x % TOKENS, head = threadIdx.x / TOKENS;
    bool active = head < heads;             /* the last group may have fewer heads */
    if (!active) head = 0;
    int i = lattice_token(p, t, t.top + token / TILE, t.left + token % TILE);
    int place = token / TILE * planes::pitch + token % TILE;        /* index of the first neighbour in a plane */

    real w[ENTRIES];                        /* logits, then weights */
    for (int n = 0; n < ENTRIES; n++) w[n] = rb[(size_t)(first_head + head) * ENTRIES + n];

    shared<real> own = memory, r_own = own + CHUNK * TOKEN_PITCH;
    shared<real> r_other = r_own + SLOTS * ROW, other = r_other + SLOTS * ROW;
    for (int first = 0; first < p.Q; first += CHUNK) {
        /* Step 1: a chunk of channels of the embeddings, zeros after the last. */
        for (int e = threadIdx.x; e < CHUNK * heads * ROW; e += blockDim.x) {
            int n = e % ROW, channel = first + e / ROW / heads;
            size_t at = ((size_t)channel * p.h + first_head + e / ROW % heads) * ENTRIES + n;
            bool valid = channel < p.Q && n < ENTRIES;
            r_own[e] = valid ? rk[at] : (real)0;
            if (NEIGHBOURS) r_other[e] = valid ? rq[at] : (real)0;
        }

        /* Step 2: products (Eq. 7) or keys (Eq. 6) of tile and halo.  Except in Eq. 7, also the tile's own factors. */
        if constexpr (NEIGHBOURS)
            fetch_halo<K, CHUNK>(p, t, [&](int channel, int row, int column, int j) {
                real z = 0;
                if (j != OFF_GRID && first + channel < p.Q) {
                    size_t at = (t.image + j) * p.width + first + channel;
                    z = qkv[at + p.C];
                    if (p.equation == 7) z *= qkv[at];
                }
                other[channel * planes::size + row * planes::pitch + column] = p.scale * z;
            });
        for (int e = threadIdx.x; p.equation != 7 && e < CHUNK * TOKENS; e += blockDim.x) {
            int channel = first + e % CHUNK, at = e / CHUNK;
            int j = lattice_token(p, t, t.top + at / TILE, t.left + at % TILE);
            size_t row = t.image + j;
            real z = 0;
            if (j != OFF_GRID && channel < p.Q)
                z = NEIGHBOURS ? p.scale * qkv[row * p.width + channel] : convolved[row * p.Q + channel];
            own[e % CHUNK * TOKEN_PITCH + at] = z;
        }
        __syncthreads();

        /* Step 3: both terms of the logits.  A warp has one head, so all lanes read the same four embeddings. */
        for (int channel = 0; channel < CHUNK; channel++) {
            shared<real> plane = other + (channel * planes::size + place);
            real z = p.equation == 7 ? plane[K / 2 * planes::pitch + K / 2] : own[channel * TOKEN_PITCH + token];
            int r = (channel * heads + head) * ROW;
            #pragma unroll
            for (int n = 0; n < ENTRIES; n += 4) {
                pack<real, 4> a = load<4>(r_own, r + n), b = {};
                if (NEIGHBOURS) b = load<4>(r_other, r + n);
                #pragma unroll
                for (int m = n; m < n + 4 && m < ENTRIES; m++) {
                    w[m] += z * a[m - n];
                    if (NEIGHBOURS) w[m] += plane[m / K * planes::pitch + m % K] * b[m - n];
                }
            }
        }
        __syncthreads();
    }

    /* Step 4: the softmax, over neighbours off the grid too. */
    real top = w[0], sum = 0;
    for (int n = 1; n < ENTRIES; n++) top = fmax(top, w[n]);
    for (int n = 0; n < ENTRIES; n++) {
        w[n] = exp(w[n] - top);
        sum += w[n];
    }
    sum = 1 / sum;
    for (int n = 0; n < ENTRIES; n++) w[n] *= sum;
    if constexpr (!FUSED) {
        size_t at = ((t.image / p.N * p.h + first_head + head) * ENTRIES) * p.N + i;
        for (int n = 0; active && i != OFF_GRID && n < ENTRIES; n++) y[at + (size_t)n * p.N] = w[n];
        return;
    }

    /* channel_of(m): value channel m of this chunk, over all heads of the block; -1: none. */
    shared<real> v = memory, factors = v + SLOTS * planes::size, summands = factors + SLOTS * ROW;
    for (int first = 0; FUSED && first < p.c; first += CHUNK) {
        auto channel_of = [&](int m) {
            int a = p.by_block ? m / CHUNK : m % heads, n = first + (p.by_block ? m % CHUNK : m / heads);
            return n >= p.c ? -1 : p.by_block ? (first_head + a) * p.c + n : n * p.h + first_head + a;
        };

        /* Step 5: values, and rows of the ghost head. */
        for (int part = 0; part < heads; part++)
            fetch_halo<K, CHUNK>(p, t, [&](int m, int row, int column, int j) {
                int channel = channel_of(part * CHUNK + m);
                bool valid = j != OFF_GRID && channel >= 0;
                v[(part * CHUNK + m) * planes::size + row * planes::pitch + column] =
                    valid ? qkv[(t.image + j) * p.width + 2 * p.Q + channel] : (real)0;
            });
        for (int e = threadIdx.x; p.ghosted && e < heads * CHUNK * ROW; e += blockDim.x) {
            int channel = channel_of(e / ROW), n = e % ROW;
            bool valid = channel >= 0 && n < ENTRIES;
            factors[e] = valid ? factor[(size_t)channel * ENTRIES + n] : (real)0;
            summands[e] = valid ? summand[(size_t)channel * ENTRIES + n] : (real)0;
        }
        __syncthreads();

        /* Step 6: filters, computed and applied in registers. */
        real mean[CHUNK];
        #pragma unroll
        for (int n = 0; n < CHUNK; n++) {
            int m = p.by_block ? head * CHUNK + n : n * heads + head;
            shared<real> values = v + m * planes::size + place, f = factors + m * ROW, s = summands + m * ROW;
            mean[n] = p.ghosted ? applied<K, true>(w, values, f, s) : applied<K, false>(w, values, f, s);
        }
        __syncthreads();

        /* Step 7: transpose the outputs in shared memory, so that adjacent threads store adjacent channels. */
        for (int n = 0; active && n < CHUNK; n++)
            v[(p.by_block ? head * CHUNK + n : n * heads + head) * TOKEN_PITCH + token] = mean[n];
        __syncthreads();
        for (int e = threadIdx.x; e < heads * CHUNK * TOKENS; e += blockDim.x) {
            int at = e / CHUNK % TOKENS, m = e / CHUNK / TOKENS * CHUNK + e % CHUNK, channel = channel_of(m);
            int j = lattice_token(p, t, t.top + at / TILE, t.left + at % TILE);
            if (j != OFF_GRID && channel >= 0) y[(t.image + j) * p.C + channel] = v[m * TOKEN_PITCH + at];
        }
        __syncthreads();
    }
}

/* ---- cuda3 and cuda4: the final variant's convolution ----------------------------------------- */

constexpr int EIGHT = 8;        /* outputs of a block, four per thread; inputs at a time */

/* Eight outputs share the products of a tile: two groups of 4 channels, or part of a group of a multiple of 8. */
template <int K>
__global__ void __launch_bounds__(2 * TOKENS)
convolve(problem_of_elsa p, array<real> convolved, reals qkv, reals fours, reals conv_b)
{
    constexpr int ENTRIES = planes<K>::entries, SIZE = planes<K>::size;
    SHARED(real, z, EIGHT * SIZE);
    SHARED(real, kernels, 2 * EIGHT * ENTRIES * 4);
    int blocks = rounded_up(p.Q, EIGHT), octet = (int)(blockIdx.x % blocks) * EIGHT;
    tile t = tile_at(p, blockIdx.x / blocks);
    int token = threadIdx.x % TOKENS, part = threadIdx.x / TOKENS, o = octet + 4 * part;
    int i = lattice_token(p, t, t.top + token / TILE, t.left + token % TILE);
    int place = token / TILE * planes<K>::pitch + token % TILE;
    int inputs = least(p.g, EIGHT), from = p.g < EIGHT ? 4 * part : 0;      /* from: the first of this thread's group */
    pack<real, 4> sum = {};
    for (int first = 0; first < p.g; first += EIGHT) {
        /* Step 1: products of eight channels, and their filters. */
        fetch_halo<K, EIGHT>(p, t, [&](int channel, int row, int column, int j) {
            int d = octet / p.g * p.g + first + channel;
            size_t at = (t.image + j) * p.width + d;
            z[channel * SIZE + row * planes<K>::pitch + column] =
                j != OFF_GRID && d < p.Q ? p.scale * (qkv[at] * qkv[at + p.Q]) : (real)0;
        });
        for (int e = threadIdx.x; e < 2 * inputs * ENTRIES * 4; e += blockDim.x) {
            int q = e / (inputs * ENTRIES * 4), rest = e % (inputs * ENTRIES * 4);
            if (octet + 4 * q < p.Q) kernels[e] = fours[(((size_t)octet / 4 + q) * p.g + first) * ENTRIES * 4 + rest];
        }
        __syncthreads();

        /* Step 2: each product in a register serves four filters. */
        for (int channel = 0; o < p.Q && channel < inputs; channel++)
            for (int n = 0; n < ENTRIES; n++) {
                pack<real, 4> f = load<4>(kernels, ((part * inputs + channel) * ENTRIES + n) * 4);
                real value = z[(from + channel) * SIZE + place + n / K * planes<K>::pitch + n % K];
                for (int k = 0; k < 4; k++) sum[k] += f[k] * value;
            }
        __syncthreads();
    }
    if (i == OFF_GRID || o >= p.Q) return;
    for (int k = 0; k < 4; k++) sum[k] = activated<GELU>(sum[k] + conv_b[o + k]);
    store(convolved, (t.image + i) * p.Q + o, sum);
}

/* ---- launches ---------------------------------------------------------------------------------- */

problem_of_elsa params_of(const struct elsa_problem *p)
{
    int C = (int)p->heads.C, Q = (int)p->heads.Q;
    return {(int)p->grid.size[0], (int)p->grid.size[1], (int)p->heads.N, (int)p->K, (int)p->entries, (int)p->dilation,
            (int)p->heads.h, (int)p->heads.c, C, Q, (int)p->g, 2 * Q + C, p->equation, (int)p->T,
            p->terms.qk, p->terms.qr, p->terms.rk, p->terms.b, p->windows, p->equation == 4 || p->ghost.by_block,
            p->ghost.add != nullptr, p->norm, p->scale};
}

bool in_tiles(const struct elsa_problem *p, int version)
{
    return version > 2 && p->equation != 4 && p->K <= K_MOST;
}

bool convolved_in_tiles(const struct elsa_problem *p, int version)
{
    return in_tiles(p, version) && !p->equation && (p->g == 4 || p->g % EIGHT == 0);
}

size_t tiles_of(const struct elsa_problem *p)
{
    int H = (int)p->grid.size[0], W = (int)p->grid.size[1], d = (int)p->dilation;
    return p->heads.B * least(H, d) * least(W, d) * tiles_along(H, d) * tiles_along(W, d);
}

template <int K> void launch_convolve(struct elsa_device *on, const struct elsa_problem *p)
{
    size_t blocks = tiles_of(p) * device_blocks(p->heads.Q, EIGHT);
    LAUNCH(on, convolve<K>, blocks, 2 * TOKENS, 0, params_of(p), on->convolved, on->qkv, on->fours, on->conv_b);
}

template <int K, bool NEIGHBOURS, bool FUSED>
void launch_neighbourhood(struct elsa_device *on, const struct elsa_problem *p)
{
    size_t groups = device_blocks(p->heads.h, HEADS), threads = TOKENS * device_blocks(p->heads.h, groups);
    LAUNCH(on, (neighbourhood<K, NEIGHBOURS, FUSED>), tiles_of(p) * groups, threads, 0, params_of(p),
           FUSED ? on->output : on->weights, on->qkv, on->convolved, on->rk, on->rq, on->rb, on->factor, on->summand);
}

template <int K, bool FUSED> void launch_tiles(struct elsa_device *on, const struct elsa_problem *p, bool convolves)
{
    if (convolves) launch_convolve<K>(on, p);
    if (p->equation) launch_neighbourhood<K, true, FUSED>(on, p);
    else launch_neighbourhood<K, false, FUSED>(on, p);
}

template <int version> void core(struct elsa_device *on, const struct elsa_problem *p)
{
    size_t rows = p->heads.B * p->heads.N, outputs = rows * p->heads.C, filters = rows * p->heads.h;
    sources from = {on->qkv, on->convolved, on->rk, on->rq, on->rb};
    constexpr bool fused = version > 3;
    bool convolves = convolved_in_tiles(p, version);
    if (!p->equation && !convolves)
        LAUNCH_EACH(on, each_convolved, rows * p->heads.Q, params_of(p), on->convolved, on->qkv, on->conv_w, on->conv_b,
                    rows * p->heads.Q);
    if (version == 1)
        LAUNCH_EACH(on, each_output, outputs, params_of(p), on->output, from, on->factor, on->summand, outputs);
    else if (!in_tiles(p, version)) LAUNCH_EACH(on, each_filter, filters, params_of(p), on->weights, from, filters);
    else if (p->K == 1) launch_tiles<1, fused>(on, p, convolves);
    else if (p->K == 3) launch_tiles<3, fused>(on, p, convolves);
    else if (p->K == 5) launch_tiles<5, fused>(on, p, convolves);
    else launch_tiles<7, fused>(on, p, convolves);
    if (version > 1 && !(fused && in_tiles(p, version)))
        LAUNCH_EACH(on, each_value, outputs, params_of(p), on->output, on->qkv, on->weights, on->factor, on->summand,
                    outputs);
}

template <int version> void prepare(struct elsa_device *on, const struct elsa_problem *p)
{
    size_t N = p->heads.N, C = p->heads.C, Q = p->heads.Q, h = p->heads.h, T = p->equation ? p->T : p->entries;
    bool tiles = convolved_in_tiles(p, version), weights = version > 1 && !(version > 3 && in_tiles(p, version));
    device_heads_prepare(on, &p->heads);
    ghost_prepare(&on->ghost, &on->plan->arena, PERSISTENT, &p->ghost);
    if (p->equation) device_tensor(on, &on->rk, "rk", &p->rk, C, h, T);
    else device_reals(on, &on->rk, "rk", Q, h, T);
    device_tensor(on, &on->rq, "rq", &p->rq, C, h, p->T);
    device_tensor(on, &on->rb, "rb", p->equation ? &p->rb : &p->mix_b, h, T);
    device_reals(on, &on->factor, "the ghost head's factors", p->ghost.add ? C : 0, p->entries);
    device_reals(on, &on->summand, "the ghost head's summands", p->ghost.add ? C : 0, p->entries);
    device_tensor(on, &on->conv_w, "conv_w", &p->conv_w, Q, p->g, p->entries);
    device_tensor(on, &on->conv_b, "conv_b", &p->conv_b, Q);
    device_tensor(on, &on->mix_w, "mix_w", &p->mix_w, h, p->entries, Q);
    device_reals(on, &on->fours, "conv_w in fours", tiles ? Q : 0, p->g, p->entries);
    device_reals(on, &on->convolved, "the convolved products", p->equation ? 0 : p->heads.B, N, Q);
    device_reals(on, &on->weights, "the filters of tokens and heads", weights ? p->heads.B : 0, N, h, p->entries);
}

/* rk [Q][h K^2] from mix_w [h K^2][Q]. */
__global__ void transpose(array<real> rk, reals mix_w, size_t rows, size_t columns)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < rows * columns) rk[at] = mix_w[at % rows * columns + at / rows];
}

/* [Q/4][g K^2][4] from conv_w [Q][g K^2]. */
__global__ void in_fours(array<real> fours, reals conv_w, size_t each, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) fours[at] = conv_w[(at / 4 / each * 4 + at % 4) * each + at / 4 % each];
}

template <int version> void load_filters(struct elsa_device *on, const struct elsa_problem *p)
{
    size_t C = p->heads.C, Q = p->heads.Q, maps = p->heads.h * p->entries, each = p->g * p->entries;
    ghost_load(&on->ghost, &p->ghost);
    device_upload(on, on->factor, on->ghost.factor, C * p->entries);
    device_upload(on, on->summand, on->ghost.summand, C * p->entries);
    if (p->equation) return;
    LAUNCH_EACH(on, transpose, maps * Q, on->rk, on->mix_w, maps, Q);
    if (convolved_in_tiles(p, version)) LAUNCH_EACH(on, in_fours, Q * each, on->fours, on->conv_w, each, Q * each);
}

double cost(const void *params)
{
    const struct elsa_problem *p = (const struct elsa_problem *)params;
    return elsa_multiply_adds(p, elsa_pairs(p));
}

} // namespace

VERSION(elsa_cuda1, "cuda1", elsa_device, prepare<1>, load_filters<1>, core<1>, cost);
VERSION(elsa_cuda2, "cuda2", elsa_device, prepare<2>, load_filters<2>, core<2>, cost);
VERSION(elsa_cuda3, "cuda3", elsa_device, prepare<3>, load_filters<3>, core<3>, cost);
VERSION(elsa_cuda4, "cuda4", elsa_device, prepare<4>, load_filters<4>, core<4>, cost);
