/* hilo.cu -- HiLo on the device
 *
 * The padded plane is stored window by window, so that Hi-Fi is attention within groups of s^2 adjacent rows (rows.h)
 * and Lo-Fi averages the same rows.  The last kernel joins both branches in the order of tokens and drops the padding.
 *
 *   cuda1   The equation: a thread for each output of either branch.
 *   cuda2   A thread for each query and head.
 *   cuda3   Keys and values in tiles of shared memory, in windows (Hi-Fi) or images (Lo-Fi) of at least 64 queries.
 *   cuda4   Hi-Fi's windows in registers: lanes exchange keys and values, and each number is requested once.  In
 *           windows of 2 x 2 that is a tenth of the requests and an eighth of the sectors (tests/cuda/counts.tsv).
 *           Windows of more than 16 tokens and wide heads (rows.h) use cuda3.
 *   cuda5   The branches on two streams.  Its counts equal cuda4's.
 *
 * The library computes all projections.  Contract: reference/hilo.h. */

#include "../../reference/hilo.h"
#include "rows.h"

namespace {

struct hilo_device : device {
    array<real> h_qkv, h_qkv_b, h_proj, h_proj_b, l_q, l_q_b, l_kv, l_kv_b, l_proj, l_proj_b;
    array<real> rows;           /* [B][M][C]: consecutive windows, padding included */
    array<real> pooled;         /* [B][n][C] */
    array<real> high_qkv, high_z, high;         /* [B][M][3hd], [B][M][hd] twice */
    array<real> low_q, low_kv, low_z, low;      /* [B][R][ld], [B][n][2ld], [B][R][ld] twice */
};

struct plane_of_hilo {
    int H, W, C, s, down, across, hd;   /* down, across: windows */
};

/* The row of a token of the padded plane, within its image. */
__device__ inline int row_of(const plane_of_hilo &p, int y, int x)
{
    return ((y / p.s * p.across + x / p.s) * p.s + y % p.s) * p.s + x % p.s;
}

/* Stores x window by window, and zeros as padding: a thread for each number. */
__global__ void in_windows(plane_of_hilo p, array<real> rows, reals x, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, row = at / p.C;
    if (at >= count) return;
    int T = p.s * p.s, n = p.down * p.across, t = (int)(row % T), w = (int)(row / T % n);
    int i = w / p.across * p.s + t / p.s, j = w % p.across * p.s + t % p.s;
    bool valid = i < p.H && j < p.W;
    rows[at] = valid ? x[((row / T / n * p.H + i) * p.W + j) * p.C + at % p.C] : (real)0;
}

/* The mean of T = s^2 adjacent rows. */
__global__ void pool(array<real> pooled, reals rows, int T, int C, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    real sum = 0;
    for (int t = 0; t < T; t++) sum += rows[(at / C * T + t) * C + at % C];
    pooled[at] = sum / T;
}

/* Point i of a plane in units of windows, (i + 1/2)/s - 1/2, clamped to the outermost windows. */
struct tap_of_hilo {
    int low, high;
    real weight;
};

__device__ inline tap_of_hilo tap_at(int i, int s, int windows)
{
    int twice = 2 * i + 1 - s;          /* 2 s times the position */
    if (twice < 0) twice = 0;
    int low = twice / (2 * s);
    return {low, low + 1 < windows ? low + 1 : low, (real)(twice - low * 2 * s) / (2 * s)};
}

/* Eq. 6: joins the branches.  Lo-Fi has a row for each token, or if `spread` one for each window, interpolated. */
__global__ void side_by_side(plane_of_hilo p, array<real> y, reals high, reals low, bool spread, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    int channel = (int)(at % p.C), i = (int)(at / p.C / p.W % p.H), j = (int)(at / p.C % p.W), ld = p.C - p.hd;
    size_t n = (size_t)p.down * p.across, image = at / p.C / p.W / p.H, row = image * n * p.s * p.s + row_of(p, i, j);
    if (channel < p.hd) {
        y[at] = high[row * p.hd + channel];
        return;
    }
    channel -= p.hd;
    if (!spread) {
        y[at] = low[row * ld + channel];
        return;
    }
    tap_of_hilo a = tap_at(i, p.s, p.down), b = tap_at(j, p.s, p.across);
    size_t upper = image * n + (size_t)a.low * p.across, lower = image * n + (size_t)a.high * p.across;
    real upper_left = low[(upper + b.low) * ld + channel], lower_left = low[(lower + b.low) * ld + channel];
    real above = upper_left + b.weight * (low[(upper + b.high) * ld + channel] - upper_left);
    real below = lower_left + b.weight * (low[(lower + b.high) * ld + channel] - lower_left);
    y[at] = above + a.weight * (below - above);
}

template <int version> void near(struct hilo_device *on, const struct hilo_problem *p)
{
    size_t hd = p->hd, rows = p->B * p->M;
    int T = (int)(p->s * p->s), width = (int)hd;
    rows_problem windows = {p->B * p->n, T, T, (int)(hd / p->c), (int)p->c, width, 3 * width, 3 * width, p->scale};
    device_linear(on, on->high_qkv, on->rows, on->h_qkv, on->h_qkv_b, rows, p->C, 3 * hd);
    rows_attend(on, version, windows, on->high_z, on->high_qkv, on->high_qkv + hd, on->high_qkv + 2 * hd);
    device_linear(on, on->high, on->high_z, on->h_proj, on->h_proj_b, rows, hd, hd);
}

template <int version> void far(struct hilo_device *on, const struct hilo_problem *p)
{
    size_t ld = p->ld, means = p->B * p->n * p->C, R = p->pooled_queries ? p->n : p->M;
    int T = (int)(p->s * p->s), width = (int)ld;
    rows_problem image = {p->B, (int)R, (int)p->n, (int)(ld / p->c), (int)p->c, width, width, 2 * width, p->scale};
    LAUNCH_EACH(on, pool, means, on->pooled, on->rows, T, (int)p->C, means);
    device_linear(on, on->low_q, p->pooled_queries ? on->pooled : on->rows, on->l_q, on->l_q_b, p->B * R, p->C, ld);
    device_linear(on, on->low_kv, on->pooled, on->l_kv, on->l_kv_b, p->B * p->n, p->C, 2 * ld);
    rows_attend(on, version, image, on->low_z, on->low_q, on->low_kv, on->low_kv + ld);
    device_linear(on, on->low, on->low_z, on->l_proj, on->l_proj_b, p->B * R, ld, ld);
}

template <int version> void run(struct hilo_device *on, const struct hilo_problem *p)
{
    size_t count = p->B * p->N * p->C, padded = p->B * p->M * p->C;
    plane_of_hilo plane = {(int)p->H, (int)p->W, (int)p->C, (int)p->s, (int)p->windows.rows, (int)p->windows.columns,
                           (int)p->hd};
    LAUNCH_EACH(on, in_windows, padded, plane, on->rows, on->x, padded);
    if (on->forks) device_fork(on->plan, device_step<far<version>>::take);
    if (p->hd) near<version>(on, p);
    if (p->ld && !on->forks) far<version>(on, p);
    device_join(on);
    LAUNCH_EACH(on, side_by_side, count, plane, on->y, on->high, on->low, p->pooled_queries, count);
}

template <int version> void prepare(struct hilo_device *on, const struct hilo_problem *p)
{
    size_t B = p->B, C = p->C, M = p->M, n = p->n, hd = p->hd, ld = p->ld, R = p->pooled_queries ? n : M;
    on->forks = version == 5 && hd && ld;
    device_tensor(on, &on->h_qkv, "h_qkv", &p->h_qkv, 3, hd, C);
    device_tensor(on, &on->h_qkv_b, "h_qkv_b", &p->h_qkv_b, 3, hd);
    device_tensor(on, &on->h_proj, "h_proj", &p->h_proj, hd, hd);
    device_tensor(on, &on->h_proj_b, "h_proj_b", &p->h_proj_b, hd);
    device_tensor(on, &on->l_q, "l_q", &p->l_q, ld, C);
    device_tensor(on, &on->l_q_b, "l_q_b", &p->l_q_b, ld);
    device_tensor(on, &on->l_kv, "l_kv", &p->l_kv, 2, ld, C);
    device_tensor(on, &on->l_kv_b, "l_kv_b", &p->l_kv_b, 2, ld);
    device_tensor(on, &on->l_proj, "l_proj", &p->l_proj, ld, ld);
    device_tensor(on, &on->l_proj_b, "l_proj_b", &p->l_proj_b, ld);
    device_reals(on, &on->rows, "the windows one after the other", B, M, C);
    device_reals(on, &on->pooled, "the means of the windows", ld ? B : 0, n, C);
    device_reals(on, &on->high_qkv, "Hi-Fi's query, key and value", B, M, hd, 3);
    device_reals(on, &on->high_z, "Hi-Fi's heads side by side", B, M, hd);
    device_reals(on, &on->high, "Hi-Fi's output", B, M, hd);
    device_reals(on, &on->low_q, "Lo-Fi's query", B, R, ld);
    device_reals(on, &on->low_kv, "Lo-Fi's key and value", B, n, ld, 2);
    device_reals(on, &on->low_z, "Lo-Fi's heads side by side", B, R, ld);
    device_reals(on, &on->low, "Lo-Fi's output", B, R, ld);
}

/* Padding counts as tokens. */
double cost(const void *params)
{
    const struct hilo_problem *p = (const struct hilo_problem *)params;
    double M = (double)p->M, R = p->pooled_queries ? (double)p->n : M, hd = (double)p->hd, ld = (double)p->ld;
    double each = 2 * M * (double)(p->s * p->s) * hd + 2 * R * (double)p->n * ld;
    if (p->pooled_queries) each += 3 * (double)p->N * ld;
    return hilo_projections(p, p->M) + (double)p->B * each;
}

} // namespace

DEVICE_FORM(hilo_cuda1, "cuda1", hilo_device, prepare<1>, device_nothing, run<1>, cost);
DEVICE_FORM(hilo_cuda2, "cuda2", hilo_device, prepare<2>, device_nothing, run<2>, cost);
DEVICE_FORM(hilo_cuda3, "cuda3", hilo_device, prepare<3>, device_nothing, run<3>, cost);
DEVICE_FORM(hilo_cuda4, "cuda4", hilo_device, prepare<4>, device_nothing, run<4>, cost);
DEVICE_FORM(hilo_cuda5, "cuda5", hilo_device, prepare<5>, device_nothing, run<5>, cost);
