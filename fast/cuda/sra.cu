/* sra.cu -- spatial-reduction attention on the device
 *
 *   cuda1   The equations: a thread for each output of the convolution, each token of the norm, and each output of the
 *           attention.
 *   cuda2   Patches do not overlap, so as rows of C s^2 numbers they are a permutation of x, and the convolution is a
 *           matrix product by the library.  A warp for each token of the norm; a thread for each query and head.
 *   cuda3   Keys and values in tiles of shared memory (rows.h, version 3).
 *   cuda4   Queries on one stream, keys and values with their convolution on another.  Its counts equal cuda3's.
 *
 * Version 4 of rows.h is not used: it allows only 16 keys.  Contract: reference/sra.h. */

#include "../../reference/sra.h"
#include "rows.h"

namespace {

struct sra_device : device {
    array<real> w_q, b_q, w_kv, b_kv, w_o, b_o;
    array<real> sr_w, sr_b, norm_g, norm_b;
    array<real> patches;        /* [B][M][C s^2] */
    array<real> reduced;        /* [B][M][C], unless s = 1 */
    array<real> q, kv, joined;  /* [B][N][C], [B][M][2C], [B][N][C]; joined only if w_o is given */
};

struct plane_of_sra {
    int N, W, M, C, s, columns; /* columns of patches */
};

/* Token t of patch m; both count over all images. */
__device__ inline size_t token_of(const plane_of_sra &p, size_t m, int t)
{
    int patch = (int)(m % p.M), y = patch / p.columns * p.s + t / p.s, x = patch % p.columns * p.s + t % p.s;
    return m / p.M * p.N + (size_t)y * p.W + x;
}

/* Requests s^2 C numbers of x and as many weights per output. */
__global__ void convolve_each(plane_of_sra p, array<real> reduced, reals x, reals sr_w, reals sr_b, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int o = (int)(at % p.C), T = p.s * p.s;
    real sum = sr_b ? sr_b[o] : (real)0;
    for (int t = 0; t < T; t++) {
        size_t token = token_of(p, at / p.C, t);
        for (int e = 0; e < p.C; e++) sum += sr_w[((size_t)o * p.C + e) * T + t] * x[token * p.C + e];
    }
    reduced[at] = sum;
}

/* Stores patches as rows in the order of sr_w: channels, then tokens. */
__global__ void lay_out(plane_of_sra p, array<real> patches, reals x, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    int T = p.s * p.s, e = (int)(at % p.C), t = (int)(at / p.C % T);
    size_t m = at / p.C / T;
    patches[(m * p.C + e) * T + t] = x[token_of(p, m, t) * p.C + e];
}

/* Layer norm in place, LANES threads (1 or 32) per token.  Like layer_norm, it averages differences from channel 0. */
template <int LANES>
__global__ void normalise(array<real> rows, reals gain, reals bias, size_t count, int C)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, row = at / LANES;
    int lane = (int)(at % LANES);
    bool valid = row < count;           /* the same for all lanes of a row */
    real entry = valid && lane < C ? rows[row * C + lane] : (real)0;
    real first = LANES > 1 ? __shfl_sync(0xffffffffu, entry, 0) : entry;
    real mean = valid && lane < C ? entry - first : (real)0, variance = 0;
    for (int e = lane + LANES; valid && e < C; e += LANES) mean += rows[row * C + e] - first;
    for (int by = LANES / 2; by; by /= 2) mean += __shfl_xor_sync(0xffffffffu, mean, by);
    mean = first + mean / C;
    for (int e = lane; valid && e < C; e += LANES) {
        real off = rows[row * C + e] - mean;
        variance += off * off;
    }
    for (int by = LANES / 2; by; by /= 2) variance += __shfl_xor_sync(0xffffffffu, variance, by);
    real scale = 1 / sqrt(variance / C + (real)SRA_EPSILON);
    for (int e = lane; valid && e < C; e += LANES) {
        real value = rows[row * C + e];
        rows[row * C + e] = (value - mean) * scale * gain[e] + bias[e];
    }
}

void reduce(struct sra_device *on, const struct sra_problem *p, int version)
{
    size_t rows = p->B * p->M, all = p->B * p->N * p->C;
    plane_of_sra plane = {(int)p->N, (int)p->patches.grid.size[1], (int)p->M, (int)p->C, (int)p->s,
                          (int)p->patches.columns};
    if (version == 1) {
        LAUNCH_EACH(on, convolve_each, rows * p->C, plane, on->reduced, on->x, on->sr_w, on->sr_b, rows * p->C);
        LAUNCH_EACH(on, normalise<1>, rows, on->reduced, on->norm_g, on->norm_b, rows, (int)p->C);
        return;
    }
    LAUNCH_EACH(on, lay_out, all, plane, on->patches, on->x, all);
    device_linear(on, on->reduced, on->patches, on->sr_w, on->sr_b, rows, p->C * p->s * p->s, p->C);
    LAUNCH_EACH(on, normalise<32>, rows * 32, on->reduced, on->norm_g, on->norm_b, rows, (int)p->C);
}

template <int version> void keys_and_values(struct sra_device *on, const struct sra_problem *p)
{
    if (p->s > 1) reduce(on, p, version);
    device_linear(on, on->kv, p->s > 1 ? on->reduced : on->x, on->w_kv, on->b_kv, p->B * p->M, p->C, 2 * p->C);
}

template <int version> void run(struct sra_device *on, const struct sra_problem *p)
{
    size_t tokens = p->B * p->N, C = p->C;
    int c = (int)p->c, width = (int)C;
    rows_problem heads = {p->B, (int)p->N, (int)p->M, (int)p->h, c, width, width, 2 * width, p->scale};
    if (on->forks) device_fork(on->plan, device_step<keys_and_values<version>>::take);
    else keys_and_values<version>(on, p);
    device_linear(on, on->q, on->x, on->w_q, on->b_q, tokens, C, C);
    device_join(on);
    rows_attend(on, version < 3 ? version : 3, heads, p->w_o ? on->joined : on->y, on->q, on->kv, on->kv + C);
    if (p->w_o) device_linear(on, on->y, on->joined, on->w_o, on->b_o, tokens, C, C);
}

template <int version> void prepare(struct sra_device *on, const struct sra_problem *p)
{
    size_t B = p->B, N = p->N, M = p->M, C = p->C, R = p->s > 1 ? C : 0;
    on->forks = version == 4;
    device_tensor(on, &on->w_q, "w_q", &p->w_q, C, C);
    device_tensor(on, &on->b_q, "b_q", &p->b_q, C);
    device_tensor(on, &on->w_kv, "w_kv", &p->w_kv, 2 * C, C);
    device_tensor(on, &on->b_kv, "b_kv", &p->b_kv, 2 * C);
    device_tensor(on, &on->w_o, "w_o", &p->w_o, C, C);
    device_tensor(on, &on->b_o, "b_o", &p->b_o, C);
    device_tensor(on, &on->sr_w, "sr_w", &p->sr_w, R, C, p->s, p->s);
    device_tensor(on, &on->sr_b, "sr_b", &p->sr_b, R);
    device_tensor(on, &on->norm_g, "norm_g", &p->norm_g, R);
    device_tensor(on, &on->norm_b, "norm_b", &p->norm_b, R);
    device_reals(on, &on->patches, "the patches as rows", version > 1 && p->s > 1 ? B : 0, N, C);
    device_reals(on, &on->reduced, "the reduced plane", p->s > 1 ? B : 0, M, C);
    device_reals(on, &on->q, "the query", B, N, C);
    device_reals(on, &on->kv, "key and value", B, M, 2, C);
    device_reals(on, &on->joined, "the heads side by side", p->w_o ? B : 0, N, C);
}

} // namespace

DEVICE_FORM(sra_cuda1, "cuda1", sra_device, prepare<1>, device_nothing, run<1>, sra_multiply_adds);
DEVICE_FORM(sra_cuda2, "cuda2", sra_device, prepare<2>, device_nothing, run<2>, sra_multiply_adds);
DEVICE_FORM(sra_cuda3, "cuda3", sra_device, prepare<3>, device_nothing, run<3>, sra_multiply_adds);
DEVICE_FORM(sra_cuda4, "cuda4", sra_device, prepare<4>, device_nothing, run<4>, sra_multiply_adds);
