/* lisa.cu -- LiSA on the device
 *
 *   cuda1   The equation: a thread for each output y_ik sums over keys and values for each latent, and so computes a_id
 *           again for each channel.
 *   cuda2   The library's Fourier transforms: on a large enough circle, sums over tokens are products of spectra.  For
 *           two latents at a time, product, inverse transform and contraction are launches that use device memory.
 *   cuda3   Grids stay in shared memory: one kernel multiplies, transforms, and contracts with the query or weighs with
 *           a.  Its launches exchange only the spectra of key and value, and a, N D numbers per head.  Eq. 4 uses tiles
 *           of keys and values, like msa's cuda3.
 *
 * All versions first normalise query and key.  Without cyclic offsets (Eq. 4-7 and local kernels) circles are padded so
 * that nothing wraps.
 *
 * Fallbacks: if a channel's circle exceeds a block's shared memory (227 KB hold 19 000 points without padding in float,
 * half in double), or heads of Eq. 4 have more than 32 channels, cuda3 is cuda2.
 *
 * Contract: reference/lisa.h. */

#include "lisa_fused.h"
#include "heads.h"

namespace {

struct lisa_device : device_heads {
    struct circulant circle;
    struct shared_grids grids;
    bool fused;                 /* true if cuda3 fits in shared memory */
    array<real> key, value;     /* the tables; in Eq. 4 `value` is e */
    array<real> ba, bb;
    array<real> a;              /* [B][h][pairs][N][2] */
    array<real> kernels;        /* cuda2: [points][pairs * rows + values][re, im] */
    array<real> z, G;           /* [points][B][C][re, im]: spectra, and their products or convolutions */
    array<real> key_kernel;     /* cuda3: [pairs][groups, or 1][points][lanes, or 1][re, im] */
    array<real> value_kernel;   /* [pairs][points][re, im] */
    array<real> spectra;        /* [B][key, value][h][groups][points][lanes][re, im] */
    array<real> turns;
};

constexpr int THREADS = 256;

/* Scales query and key of a token and a head to unit length: a thread for each vector. */
__global__ void normalise(problem_of_lisa p, array<real> qkv, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    size_t row = at / (2 * p.h) * 3 * p.C + at % (2 * p.h) * p.c;
    real squares = 0;
    for (int ch = 0; ch < p.c; ch++) {
        real x = qkv[row + ch];
        squares += x * x;
    }
    real norm = sqrt(squares), least = (real)1e-12;
    if (norm < least) norm = least;
    for (int ch = 0; ch < p.c; ch++) qkv[row + ch] /= norm;
}

/* ---- cuda1: a thread for each output ------------------------------------------------ */

/* Eq. 4: y_ik = sum_j (q_i . k_j) R_ij v_jk. */
__global__ void each_output_of_eq4(problem_of_lisa p, array<real> y, reals qkv, reals e, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, width = 3 * p.C;
    if (at >= outputs) return;
    int channel = (int)(at % p.C), head = channel / p.c, i = (int)(at / p.C % p.N);
    size_t image = at / p.C / p.N * p.N, q = (image + i) * width + head * p.c;
    real sum = 0;
    for (int j = 0; j < p.N; j++) {
        size_t row = (image + j) * width, k = row + p.C + head * p.c;
        real A = 0;
        for (int ch = 0; ch < p.c; ch++) A += qkv[q + ch] * qkv[k + ch];
        sum += A * e[(size_t)pair_entry(p, i, j) * p.tables + (p.tables > 1 ? head : 0)] * qkv[row + 2 * p.C + channel];
    }
    y[at] = sum;
}

/* Eq. 5-7 and 10: y_ik = sum_d a_id (sum_n v_nk wb_ind + bb_kd), a_id = sum_c q_ic (sum_n k_nc wa_incd + ba_cd).  A
 * warp makes D (N (3 c + 2) + 2 c + 1) + 1 requests in Eq. 10 if kernels span the grid. */
__global__ void each_output(problem_of_lisa p, array<real> y, reals qkv, reals wa,
                            reals wb, reals ba, reals bb, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, width = 3 * p.C;
    if (at >= outputs) return;
    int channel = (int)(at % p.C), head = channel / p.c, i = (int)(at / p.C % p.N);
    size_t image = at / p.C / p.N * p.N, q = (image + i) * width + head * p.c;
    real sum = 0;
    for (int d = 0; d < p.D; d++) {
        real a = 0, G = bb[channel % p.c * p.D + d];
        for (int n = 0; n < p.N; n++) {
            int entry = pair_entry(p, i, n);
            if (entry < 0) continue;
            size_t row = (image + n) * width, k = row + p.C + head * p.c;
            for (int ch = 0; ch < p.c; ch++)
                a += qkv[q + ch] * qkv[k + ch] * wa[((size_t)entry * p.rows + (p.rows > 1 ? ch : 0)) * p.D + d];
            G += qkv[row + 2 * p.C + channel] * wb[(size_t)entry * p.D + d];
        }
        for (int ch = 0; ba && ch < p.c; ch++) a += qkv[q + ch] * ba[ch * p.D + d];
        sum += a * G;
    }
    y[at] = sum;
}

/* ---- cuda2: kernels between the library's transforms -----------------------------------
 *
 * Signals have the layout [points][B C][re, im].  A kernel has a thread for each number that it writes. */

/* Stores kernels, `rows` of each pair, in the columns of z from `first` on. */
__global__ void lay_kernels(problem_of_lisa p, array<real> z, reals table, int rows, int columns, int each,
                            int kernels, int first, int width)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (size_t)p.points * kernels) return;
    int f = (int)(at / kernels), k = (int)(at % kernels);
    point w = kernel_point(p, table, rows, columns, each, k % rows, k / rows, f);
    store(z, 2 * ((size_t)f * width + first + k), both_of(w));
}

/* Stores keys or values on their circles, 0 elsewhere; in Eq. 4, values times channels j and j + 1 of the key. */
__global__ void lay_tokens(problem_of_lisa p, array<real> z, reals qkv, int third, int j, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= signals * p.points) return;
    size_t signal = at % signals, image = signal / p.C;
    int channel = (int)(signal % p.C), token = circle_token(p, (int)(at / signals));
    point laid = {0, 0};
    if (token >= 0) {
        size_t row = (image * p.N + token) * 3 * p.C, k = row + p.C + channel / p.c * p.c + j;
        real x = qkv[row + third * p.C + channel];
        laid = {x, 0};
        if (p.tables) {
            laid = {qkv[k] * x, 0};
            if (j + 1 < p.c) laid.im = qkv[k + 1] * x;
        }
    }
    store(z, 2 * at, both_of(laid));
}

/* G = z times the kernel in column `first` (+ channel or head if each has its own).  Frequency 0 adds the bias. */
__global__ void multiply(problem_of_lisa p, array<real> G, reals z, reals kernels, int first,
                         int rows, int width, reals bias, int d, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= signals * p.points) return;
    int ch = (int)(at % signals % p.c), head = (int)(at % signals % p.C) / p.c;
    size_t f = at / signals;
    int kernel = first + (rows > 1 ? ch : p.tables > 1 ? head : 0);
    point product = point_of(load<2>(z, 2 * at)) * point_of(load<2>(kernels, 2 * (f * width + kernel)));
    if (bias && f == 0) {
        product.re += bias[ch * p.D + d];
        if (d + 1 < p.D) product.im += bias[ch * p.D + d + 1];
    }
    store(G, 2 * at, both_of(product));
}

/* (a_id, a_i,d+1) = sum_c q_ic G_ic: a thread for each token and head. */
__global__ void contract(problem_of_lisa p, array<real> a, reals G, reals qkv, int pair, size_t count, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    int head = (int)(at % p.h), i = (int)(at / p.h % p.N);
    size_t image = at / p.h / p.N, q = (image * p.N + i) * 3 * p.C + head * p.c;
    size_t from = circle_point(p, i) * signals + image * p.C + head * p.c;
    point sum = {0, 0};
    for (int ch = 0; ch < p.c; ch++) {
        real q_ic = qkv[q + ch];
        sum = sum + q_ic * point_of(load<2>(G, 2 * (from + ch)));
    }
    store(a, 2 * (((image * p.h + head) * p.pairs + pair) * p.N + i), both_of(sum));
}

/* y_ik += a_id Re G_ik + a_i,d+1 Im G_ik; in Eq. 4 two channels of the query take the place of a. */
__global__ void weigh(problem_of_lisa p, array<real> y, reals G, reals a, reals qkv,
                      int pair, size_t outputs, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int channel = (int)(at % p.C), head = channel / p.c, i = (int)(at / p.C % p.N);
    size_t image = at / p.C / p.N;
    point by, G_ik = point_of(load<2>(G, 2 * (circle_point(p, i) * signals + image * p.C + channel)));
    if (p.tables) {
        size_t q = (image * p.N + i) * 3 * p.C + head * p.c + 2 * pair;
        by = {qkv[q], 0};
        if (2 * pair + 1 < p.c) by.im = qkv[q + 1];
    } else {
        by = point_of(load<2>(a, 2 * (((image * p.h + head) * p.pairs + pair) * p.N + i)));
    }
    real sum = by.re * G_ik.re + by.im * G_ik.im;
    if (pair) sum += y[at];
    y[at] = sum;
}

/* ---- launches --------------------------------------------------------------------------- */

problem_of_lisa params_of(const struct lisa_device *on, const struct lisa_problem *p)
{
    const struct circulant *circle = &on->circle;
    const struct heads_problem *heads = &p->heads;
    problem_of_lisa g = {(int)heads->N, (int)heads->h, (int)heads->c, (int)heads->C, (int)p->D,
                         (int)((p->equation == 4 ? heads->c : p->D) + 1) / 2, {}, {}, {}, {}, {}, (int)circle->points,
                         p->wraps, p->window.axes > 0, p->equation > 5 ? (int)heads->c : 1, (int)p->e_columns};
    for (int a = 0; a < GRID_AXES; a++) {
        g.grid[a] = (int)p->grid.size[a];
        g.window[a] = p->window.axes ? (int)p->window.size[a] : 0;
        g.entries[a] = p->wraps ? g.grid[a] : p->window.axes ? g.window[a] : 2 * g.grid[a] - 1;
        g.circle[a] = (int)circle->size[a];
        g.reach[a] = (int)circle->reach[a];
    }
    return g;
}

void unit_vectors(struct lisa_device *on, const struct lisa_problem *p)
{
    size_t count = p->heads.B * p->heads.N * 2 * p->heads.h;
    LAUNCH_EACH(on, normalise, count, params_of(on, p), on->qkv, count);
}

void core_1(struct lisa_device *on, const struct lisa_problem *p)
{
    size_t outputs = p->heads.B * p->heads.N * p->heads.C;
    problem_of_lisa sizes = params_of(on, p);
    unit_vectors(on, p);
    if (sizes.tables) LAUNCH_EACH(on, each_output_of_eq4, outputs, sizes, on->output, on->qkv, on->value, outputs);
    else LAUNCH_EACH(on, each_output, outputs, sizes, on->output, on->qkv, on->key, on->value, on->ba, on->bb, outputs);
}

enum { KERNELS, SIGNALS };                  /* the two Fourier plans */

/* Columns of `kernels`: those of the key, and all. */
int key_kernels(const problem_of_lisa &p) { return p.tables ? 0 : p.pairs * p.rows; }
int all_kernels(const problem_of_lisa &p) { return key_kernels(p) + (p.tables ? p.tables : p.pairs); }

void core_2(struct lisa_device *on, const struct lisa_problem *problem)
{
    problem_of_lisa p = params_of(on, problem);
    size_t B = problem->heads.B, signals = B * p.C, outputs = signals * p.N, tokens = B * p.N * p.h;
    unsigned all = device_blocks(signals * p.points, THREADS);
    int keys = key_kernels(p), width = all_kernels(p);
    array<real> y = on->output, qkv = on->qkv, z = on->z, G = on->G, w = on->kernels;
    enum { KEY = 1, VALUE };

    unit_vectors(on, problem);

    /* Step 1: a, two latents at a time. */
    if (keys) {
        LAUNCH(on, lay_tokens, all, THREADS, 0, p, z, qkv, (int)KEY, 0, signals);
        device_fourier(on, SIGNALS, z, false);
    }
    for (int pair = 0; keys && pair < p.pairs; pair++) {
        LAUNCH(on, multiply, all, THREADS, 0, p, G, z, w, pair * p.rows, p.rows, width, on->ba, 2 * pair, signals);
        device_fourier(on, SIGNALS, G, true);
        LAUNCH_EACH(on, contract, tokens, p, on->a, G, qkv, pair, tokens, signals);
    }

    /* Step 2: y, two latents at a time, or in Eq. 4 two channels of key and query. */
    for (int pair = 0; pair < p.pairs; pair++) {
        if (!pair || p.tables) {
            LAUNCH(on, lay_tokens, all, THREADS, 0, p, z, qkv, (int)VALUE, 2 * pair, signals);
            device_fourier(on, SIGNALS, z, false);
        }
        int kernel = p.tables ? 0 : keys + pair;
        LAUNCH(on, multiply, all, THREADS, 0, p, G, z, w, kernel, 1, width, on->bb, 2 * pair, signals);
        device_fourier(on, SIGNALS, G, true);
        LAUNCH_EACH(on, weigh, outputs, p, y, G, on->a, qkv, pair, outputs, signals);
    }
}

size_t fused_bytes(const struct shared_grids *g, size_t N, int shift)
{
    return (2 * (size_t)g->fft.turns + ((2 * (size_t)g->fft.points + N) << shift)) * sizeof(real);
}

void core_3(struct lisa_device *on, const struct lisa_problem *problem)
{
    const struct heads_problem *heads = &problem->heads;
    const struct shared_grids *g = &on->grids;
    problem_of_lisa p = params_of(on, problem);
    size_t bytes = fused_bytes(g, heads->N, g->shift);
    size_t spectrum = heads->h * (size_t)g->groups * (2 * (size_t)p.points << g->shift);    /* reals, of a key */
    if (!on->fused) return core_2(on, problem);
    unit_vectors(on, problem);
    device_images(heads->B, [&](size_t first, size_t images) {
        size_t from = first * heads->N * heads->C;
        array<real> y = on->output + from, qkv = on->qkv + 3 * from;
        dim3 queries(device_blocks(heads->N, 128), heads->h, images);
        if (p.tables && p.c <= 16) LAUNCH(on, tiled<16>, queries, 128, 0, p, y, qkv, on->value);
        else if (p.tables) LAUNCH(on, tiled<32>, queries, 128, 0, p, y, qkv, on->value);
        if (p.tables) return;
        array<real> spectra = on->spectra + 2 * first * spectrum;
        array<real> a = on->a + 2 * first * heads->h * p.pairs * heads->N;
        dim3 both(g->groups, heads->h, 2 * images), pairs(p.pairs, heads->h, images);
        dim3 groups(g->groups, heads->h, images);
        LAUNCH(on, token_spectra, both, THREADS, bytes, p, *g, spectra, qkv, on->turns);
        LAUNCH(on, fused_structure, pairs, THREADS, bytes, p, *g, a, qkv, spectra, on->key_kernel, on->ba, on->turns);
        LAUNCH(on, fused_output, groups, THREADS, bytes, p, *g, y, a, spectra, on->value_kernel, on->bb, on->turns);
    });
}

/* ---- the forms --------------------------------------------------------------------------- */

/* Declares tables and biases; with smooth_only, circles have only the factors of shared_fft.h. */
void prepare_tables(struct lisa_device *on, const struct lisa_problem *p, bool smooth_only)
{
    size_t entries = p->equation == 10 ? p->M : p->grid.offsets, c = p->heads.c;
    device_heads_prepare(on, &p->heads);
    arena_fail(&on->plan->arena, circulant_create(&on->circle, &p->grid, &p->window, p->wraps, smooth_only));
    device_tensor(on, &on->key, "the key's table", p->wa ? &p->wa : &p->ea, entries, p->equation == 5 ? 1 : c, p->D);
    device_tensor(on, &on->value, "the value's table", p->e ? &p->e : p->wb ? &p->wb : &p->eb, entries,
                  p->e ? p->e_columns : p->D);
    device_tensor(on, &on->ba, "ba", &p->ba, c, p->D);
    device_tensor(on, &on->bb, "bb", &p->bb, c, p->D);
}

void prepare_1(struct lisa_device *on, const struct lisa_problem *p) { prepare_tables(on, p, false); }

void prepare_2(struct lisa_device *on, const struct lisa_problem *p)
{
    prepare_tables(on, p, false);
    if (arena_status(&on->plan->arena).code) return;
    size_t B = p->heads.B, points = on->circle.points;
    problem_of_lisa g = params_of(on, p);
    device_reals(on, &on->a, "the structure vectors", p->D ? B * p->heads.h : 0, g.pairs, p->heads.N, 2);
    device_reals(on, &on->kernels, "the spectra of the kernels", points, all_kernels(g), 2);
    device_reals(on, &on->z, "spectra", points, B, p->heads.C, 2);
    device_reals(on, &on->G, "convolutions", points, B, p->heads.C, 2);
    device_fourier_reals(on, KERNELS, on->circle.tokens.axes, on->circle.size, all_kernels(g));
    device_fourier_reals(on, SIGNALS, on->circle.tokens.axes, on->circle.size, B * p->heads.C);
}

/* True if cuda3 fits in shared memory; sets its layout.  A block takes 1, 2, 4, 8 or 16 channels: as many as fit twice
 * in a multiprocessor, else one. */
bool fits_shared(struct shared_grids *g, const struct lisa_problem *p)
{
    size_t most = device_shared_bytes(1), half = device_shared_bytes(2), N = p->heads.N;
    struct circulant circle;
    if (p->equation == 4) return p->heads.c <= 32;              /* register limit */
    if (circulant_create(&circle, &p->grid, &p->window, p->wraps, true).code) return false;
    if (!shared_fft_of(&g->fft, circle.size)) return false;
    for (g->shift = 4; g->shift > 0; g->shift--)
        if (1u << g->shift < 2 * p->heads.c && fused_bytes(g, N, g->shift) <= half) break;
    g->groups = (int)((p->heads.c + (1u << g->shift) - 1) >> g->shift);
    return fused_bytes(g, N, g->shift) <= most;
}

void prepare_3(struct lisa_device *on, const struct lisa_problem *p)
{
    struct shared_grids *g = &on->grids;
    size_t B = p->heads.B, h = p->heads.h;
    on->fused = fits_shared(g, p);
    if (!on->fused) return prepare_2(on, p);
    prepare_tables(on, p, p->equation != 4);
    if (p->equation == 4) return;
    size_t lanes = (size_t)1 << g->shift, pairs = (p->D + 1) / 2, points = on->circle.points;
    bool common = p->equation == 5;
    device_reals(on, &on->a, "the structure vectors", B * h, pairs, p->heads.N, 2);
    device_reals(on, &on->key_kernel, "the spectra of the key's kernels", pairs, common ? 1 : g->groups, points,
                 common ? 2 : 2 * lanes);
    device_reals(on, &on->value_kernel, "the spectra of the value's kernels", pairs, points, 2);
    device_reals(on, &on->spectra, "the spectra of key and value", 2 * B * h, g->groups, points, 2 * lanes);
    device_reals(on, &on->turns, "turns", g->fft.turns, 2);
}

void load_2(struct lisa_device *on, const struct lisa_problem *problem)
{
    const struct circulant *circle = &on->circle;
    problem_of_lisa p = params_of(on, problem);
    int keys = key_kernels(p), width = all_kernels(p), values = width - keys;
    device_fourier_load(on, KERNELS, on->kernels, circle->tokens.axes, circle->size, width);
    device_fourier_load(on, SIGNALS, on->z, circle->tokens.axes, circle->size, problem->heads.B * problem->heads.C);
    unsigned blocks = device_blocks((size_t)p.points * keys, THREADS);
    if (keys) LAUNCH(on, lay_kernels, blocks, THREADS, 0, p, on->kernels, on->key, p.rows, p.D, 2, keys, 0, width);
    blocks = device_blocks((size_t)p.points * values, THREADS);
    int columns = p.tables ? p.tables : p.D, each = p.tables ? 1 : 2;
    LAUNCH(on, lay_kernels, blocks, THREADS, 0, p, on->kernels, on->value, 1, columns, each, values, keys, width);
    device_fourier(on, KERNELS, on->kernels, false);
}

void load_3(struct lisa_device *on, const struct lisa_problem *problem)
{
    const struct shared_grids *g = &on->grids;
    problem_of_lisa p = params_of(on, problem);
    if (!on->fused) return load_2(on, problem);
    if (p.tables) return;

    for (int a = 0, table = 0; a < GRID_AXES; table += p.circle[a++])
        LAUNCH_EACH(on, shared_fft_turns, p.circle[a], on->turns, table, p.circle[a]);
    bool common = p.rows == 1;
    int shift = common ? 0 : g->shift;
    dim3 keys(common ? 1 : g->groups, p.pairs), values(1, p.pairs);
    size_t bytes = fused_bytes(g, p.N, shift), bytes_of_one = fused_bytes(g, p.N, 0);
    LAUNCH(on, kernel_spectra, keys, THREADS, bytes, p, *g, shift, on->key_kernel, on->key, p.rows, on->turns);
    LAUNCH(on, kernel_spectra, values, THREADS, bytes_of_one, p, *g, 0, on->value_kernel, on->value, 1, on->turns);
}

double cost_1(const void *params)
{
    const struct lisa_problem *p = (const struct lisa_problem *)params;
    double outputs = (double)p->heads.B * (double)p->heads.N * (double)p->heads.C;
    double c = (double)p->heads.c, D = (double)p->D;
    double keys = p->equation == 10 ? lisa_pairs(p) / (double)p->heads.N : (double)p->heads.N;      /* of a token */
    double each = p->equation == 4 ? keys * (c + 2) : D * (keys * (2 * c + 1) + (p->ba ? c : 0) + 1);
    return heads_multiply_adds(&p->heads) + outputs * each;
}

double cost_2(const void *params) { return circulant_multiply_adds((const struct lisa_problem *)params, false); }

double cost_3(const void *params)
{
    const struct lisa_problem *p = (const struct lisa_problem *)params;
    double pairs = (double)p->heads.B * (double)p->heads.h * (double)p->heads.N * (double)p->heads.N;
    struct shared_grids g;
    if (!fits_shared(&g, p)) return cost_2(params);
    if (p->equation != 4) return circulant_multiply_adds(p, true);
    return heads_multiply_adds(&p->heads) + pairs * (2 * (double)p->heads.c + 1);
}

} // namespace

VERSION(lisa_cuda1, "cuda1", lisa_device, prepare_1, device_nothing, core_1, cost_1);
VERSION(lisa_cuda2, "cuda2", lisa_device, prepare_2, load_2, core_2, cost_2);
VERSION(lisa_cuda3, "cuda3", lisa_device, prepare_3, load_3, core_3, cost_3);
