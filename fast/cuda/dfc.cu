/* dfc.cu -- the fully connected layers on the device
 *
 * fc has M N C D weights, each used in one product per image.
 *
 *   cuda1   The equation: a thread for each output.  Adjacent threads read adjacent weights.  Each image reads all.
 *   cuda2   One matrix product by the library, (input token, channel) x (output token, channel).  Load permutes the
 *           weights, one input token at a time.
 *
 * dfc-cp:
 *
 *   cuda1   The equation: a thread for each output computes all weights that it uses.
 *   cuda2   Eq. 6, a factor at a time: two matrix products, with a kernel between them.  TOKENS threads of a block share
 *           a component's sum over tokens.  The R components of an image multiply u5 (D R numbers) and not u3 (N R
 *           numbers), so the components of output tokens are never stored.
 *
 * With relative positions both versions are cuda1.
 *
 * Contract: reference/dfc.h. */

#include "../../reference/dfc.h"
#include "activation.h"

namespace {

/* ---- fc --------------------------------------------------------------------------- */

struct fc_device : device {
    array<real> w;              /* [M][N][C][D]; in cuda2 [M][C][N][D] */
    array<real> token;          /* [N][C][D]: the weights of an input token, during a load */
};

struct fc_sizes { int M, N, C, D; };

/* Requests 2 M C + 1 numbers per output of an image. */
__global__ void each_output(fc_sizes p, array<real> y, reals x, reals w, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int d = (int)(at % p.D), n = (int)(at / p.D % p.N);
    size_t image = at / p.D / p.N;
    real sum = 0;
    for (int m = 0; m < p.M; m++)
        for (int c = 0; c < p.C; c++)
            sum += x[(image * p.M + m) * p.C + c] * w[(((size_t)m * p.N + n) * p.C + c) * p.D + d];
    y[at] = sum;
}

/* Copies the weights of input token m, [N][C][D], to [M][C][N][D]. */
__global__ void interleaved(fc_sizes p, array<real> w, reals token, int m, size_t weights)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= weights) return;
    size_t d = at % p.D, n = at / p.D % p.N, c = at / p.D / p.N;
    w[m * weights + at] = token[(n * p.C + c) * p.D + d];
}

fc_sizes sizes_of(const struct fc_problem *p) { return {(int)p->M, (int)p->N, (int)p->C, (int)p->D}; }

template <int version> void fc_prepare(struct fc_device *on, const struct fc_problem *p)
{
    device_array(on, &on->w, "w", version < 2 ? &p->w : nullptr, device_count(p->M, p->N, p->C, p->D));
    device_reals(on, &on->token, "the weights of a token", version == 2, p->N, p->C, p->D);
}

template <int version> void fc_load(struct fc_device *on, const struct fc_problem *p)
{
    size_t weights = p->N * p->C * p->D;
    for (size_t m = 0; version == 2 && m < p->M; m++) {
        device_upload(on, on->token, p->w + m * weights, weights);
        LAUNCH(on, interleaved, device_blocks(weights, 256), 256, 0, sizes_of(p), on->w, on->token, (int)m, weights);
    }
}

template <int version> void fc_run(struct fc_device *on, const struct fc_problem *p)
{
    size_t outputs = p->N * p->D, inputs = p->M * p->C;
    if (version == 1) LAUNCH_EACH(on, each_output, p->B * outputs, sizes_of(p), on->y, on->x, on->w, p->B * outputs);
    else device_product(on, on->y, {on->x, false, 0}, {on->w, false, 0}, p->B, inputs, outputs, 1);
}

/* ---- dfc-cp ----------------------------------------------------------------------- */

constexpr int TOKENS = 8;       /* threads that share the sum of a component */

struct cp_device : device {
    array<real> u1, u2, u3, u4, u5, b;
    array<real> z, u5_of_image;         /* [B][M][R], [B][D][R]; cuda2 */
};

struct cp_sizes { int M, N, C, D, R, W; };      /* W: of the plane, 0 with absolute positions */

/* The row of u2 for this pair of tokens. */
__device__ int position(cp_sizes p, int m, int n)
{
    if (!p.W) return m;
    return (m / p.W - n / p.W + p.M / p.W - 1) * (2 * p.W - 1) + m % p.W - n % p.W + p.W - 1;
}

/* Eq. 3 with the weights of Eq. 5. */
__global__ void each_sum(cp_sizes p, array<real> y, reals x, reals u1, reals u2,
                         reals u3, reals u4, reals u5, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int d = (int)(at % p.D), n = (int)(at / p.D % p.N);
    size_t i = at / p.D / p.N;
    real sum = 0;
    for (int m = 0; m < p.M; m++)
        for (int c = 0; c < p.C; c++) {
            real weight = 0;
            for (int r = 0; r < p.R; r++)
                weight += (u1 ? u1[i * p.R + r] : (real)1) * u2[(size_t)position(p, m, n) * p.R + r] *
                          u3[(size_t)n * p.R + r] * u4[(size_t)c * p.R + r] * u5[(size_t)d * p.R + r];
            sum += x[(i * p.M + m) * p.C + c] * weight;
        }
    y[at] = sum;
}

/* u5_dr s_ir, with s_ir = u1_ir sum_m u2_mr z_imr: a block for 32 components of an image.  Its accesses do not depend
 * on N. */
__global__ void image_in_u5(cp_sizes p, array<real> out, reals z, reals u1, reals u2, reals u5)
{
    SHARED(real, part, TOKENS * 32);
    int blocks = (p.R + 31) / 32, row = threadIdx.y, lane = threadIdx.x, r = blockIdx.x % blocks * 32 + lane;
    size_t i = blockIdx.x / blocks;

    /* Step 1: each thread sums its tokens; adjacent threads read adjacent components. */
    real s = 0;
    for (int m = row; m < p.M && r < p.R; m += TOKENS) s += u2[(size_t)m * p.R + r] * z[(i * p.M + m) * p.R + r];
    part[row * 32 + lane] = s;
    __syncthreads();

    /* Step 2: every row of threads adds up the same sum, in the same order. */
    s = 0;
    for (int t = 0; t < TOKENS; t++) s += part[t * 32 + lane];
    if (u1 && r < p.R) s *= u1[i * p.R + r];
    for (int d = row; d < p.D && r < p.R; d += TOKENS) out[(i * p.D + d) * p.R + r] = u5[(size_t)d * p.R + r] * s;
}

cp_sizes sizes_of(const struct dfc_problem *p)
{
    return {(int)p->M, (int)p->N, (int)p->C, (int)p->D, (int)p->R, p->relative ? (int)p->grid.size[1] : 0};
}

template <int of_absolute> void cp_prepare(struct cp_device *on, const struct dfc_problem *p)
{
    const int version = p->relative ? 1 : of_absolute;
    size_t B = p->B, M = p->M, N = p->N, C = p->C, D = p->D, R = p->R;
    device_tensor(on, &on->u1, "u1", &p->u1, B, R);
    device_tensor(on, &on->u2, "u2", &p->u2, p->relative ? p->grid.offsets : M, R);
    device_tensor(on, &on->u3, "u3", &p->u3, N, R);
    device_tensor(on, &on->u4, "u4", &p->u4, C, R);
    device_tensor(on, &on->u5, "u5", &p->u5, D, R);
    device_tensor(on, &on->b, "b", &p->b, N, D);
    device_reals(on, &on->z, "the components of the tokens in", version > 1 ? B : 0, M, R);
    device_reals(on, &on->u5_of_image, "u5 of an image", version > 1 ? B : 0, D, R);
}

template <int of_absolute> void cp_run(struct cp_device *on, const struct dfc_problem *p)
{
    const int version = p->relative ? 1 : of_absolute;
    const cp_sizes sizes = sizes_of(p);
    size_t B = p->B, M = p->M, N = p->N, C = p->C, D = p->D, R = p->R, outputs = B * N * D;
    if (version == 1) {
        LAUNCH_EACH(on, each_sum, outputs, sizes, on->y, on->x, on->u1, on->u2, on->u3, on->u4, on->u5, outputs);
    } else {
        device_product(on, on->z, {on->x, false, 0}, {on->u4, false, 0}, B * M, C, R, 1);
        LAUNCH(on, image_in_u5, B * device_blocks(R, 32), dim3(32, TOKENS), 0, sizes, on->u5_of_image, on->z, on->u1,
               on->u2, on->u5);
        device_product(on, on->y, {on->u3, false, 0}, {on->u5_of_image, true, D * R}, N, R, D, B);
    }
    activate(on, p->gelu ? GELU : IDENTITY, on->y, on->b, outputs, 1, N * D);
}

template <int version> double cp_multiply_adds(const void *params)
{
    const struct dfc_problem *p = (const struct dfc_problem *)params;
    double M = (double)p->M, N = (double)p->N, C = (double)p->C, D = (double)p->D, R = (double)p->R;
    if (version == 1 || p->relative) return (double)p->B * M * N * C * D * (4 * R + 1);
    return (double)p->B * (M * C * R + M * R + R + D * R + N * D * R);
}

} // namespace

DEVICE_FORM(fc_cuda1, "cuda1", fc_device, fc_prepare<1>, fc_load<1>, fc_run<1>, fc_multiply_adds);
DEVICE_FORM(fc_cuda2, "cuda2", fc_device, fc_prepare<2>, fc_load<2>, fc_run<2>, fc_multiply_adds);
DEVICE_FORM(dfc_cp_cuda1, "cuda1", cp_device, cp_prepare<1>, device_nothing, cp_run<1>, cp_multiply_adds<1>);
DEVICE_FORM(dfc_cp_cuda2, "cuda2", cp_device, cp_prepare<2>, device_nothing, cp_run<2>, cp_multiply_adds<2>);
