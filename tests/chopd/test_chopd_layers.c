/* test_chopd_layers.c -- layers that are fully connected ones, static or dynamic
 *
 * ChoP'D, Sec. 2.2: W_mncd, or W_imncd as a function of x, is applied by Eq. 2 or 3 and compared with the layer
 * written by coordinates. The paper's appendix is not public, so tensors are derived here. Where all sums are exact,
 * numbers are whole and the tolerance is zero. */

#include "dfc_case.h"
#include "../../reference/elsa.h"
#include "../../reference/networks/layers/layers.h"
#include "../../reference/runtime/linear.h"
#include "../../reference/msa.h"

/* y is what both forms of fc make of x, and Eq. 3 with the same tensor for each image. */
static void is_fc(const struct dfc_problem *s, const real *w, real *x, const real *y)
{
    char sizes[80];
    size_t weights = s->M * s->N * s->C * s->D;
    snprintf(sizes, sizeof sizes, "M=%zu N=%zu D=%zu", s->M, s->N, s->D);
    struct trial t = trial("", &fc, s->B, s->C, sizes, "");
    trial_put(&t, "w", w);
    t.x = x;
    ck_assert(largest(y, t.outputs) > 0.5);
    forms_equal(&t, y);

    real *each = zeros(s->B * weights);
    for (size_t i = 0; i < s->B; i++) memcpy(each + i * weights, w, weights * sizeof *w);
    equal(layer(s, each, x), y, t.outputs);
}

/* The convolution of the layer patch, for kernel [D][C][k k]. */
static real *convolved(const struct window *v, const real *x, const real *kernel, size_t B, size_t C, size_t D)
{
    char options[120];
    snprintf(options, sizeof options, "--grid %zux%zu --size %zu --stride %zu --pad %zu --channels %zu", v->H, v->W,
             v->k, v->stride, v->padding, D);
    struct trial t = trial(options, &layer_patch, B, C, "", "b");
    trial_put(&t, "w", kernel);
    return trial_run_on(&t, "layer", 1, x);
}

/* A depth-wise kernel [C][K] as that of a convolution, [C][C][K]. */
static real *diagonal(const real *kernel, size_t C, size_t K)
{
    real *full = zeros(C * C * K);
    for (size_t c = 0; c < C; c++) memcpy(full + (c * C + c) * K, kernel + c * K, K * sizeof *full);
    return full;
}

/* The token under entry k of output n's window, or -1 off the grid. */
static int under(const struct window *v, size_t n, size_t k)
{
    int y = (int)(n / columns_out(v) * v->stride + k / v->k) - (int)v->padding;
    int x = (int)(n % columns_out(v) * v->stride + k % v->k) - (int)v->padding;
    return y >= 0 && y < (int)v->H && x >= 0 && x < (int)v->W ? y * (int)v->W + x : -1;
}

/* ---- static layers ----------------------------------------------------- */

static const struct window window[] = {
    {5, 6, 3, 1, 1}, {5, 6, 3, 1, 0}, {7, 6, 3, 2, 1}, {6, 6, 2, 2, 0},
    {4, 5, 5, 1, 2}, {7, 5, 3, 3, 1}, {3, 3, 1, 1, 0},
};

/* W_mncd = w_dc[m - n] inside the window, else 0; with strides and zero padding too. */
START_TEST(convolution_is_fully_connected)
{
    const struct window *v = &window[_i];
    struct dfc_problem s = window_sizes(v, 2, 3, 2);
    real *x = integers(1, s.B * s.M * s.C, 3), *kernel = integers(2, s.D * s.C * v->k * v->k, 3);
    is_fc(&s, convolution_tensor(v, kernel, s.C, s.D), x, convolved(v, x, kernel, s.B, s.C, s.D));
}
END_TEST

/* W_mncd = w_c[m - n] delta_cd. */
START_TEST(depthwise_convolution_is_fully_connected)
{
    const struct window *v = &window[_i];
    struct dfc_problem s = window_sizes(v, 2, 3, 3);
    size_t K = v->k * v->k;
    real *x = integers(3, s.B * s.M * 3, 3), *kernel = integers(4, 3 * K, 3);
    is_fc(&s, depthwise_tensor(v, kernel, 3), x, convolved(v, x, diagonal(kernel, 3, K), 2, 3, 3));
}
END_TEST

/* W_mncd = delta_mn w_dc. */
START_TEST(pointwise_convolution_is_fully_connected)
{
    struct dfc_problem s = {.B = 2, .M = 12, .N = 12, .C = 4, .D = 3};
    real *x = integers(5, 2 * 12 * 4, 3), *map = integers(6, 12, 3), *y = zeros(2 * 12 * 3), *w = zeros(12 * 12 * 12);
    for (size_t n = 0; n < 12; n++)
        for (size_t dc = 0; dc < 12; dc++) w[place(&s, 0, n, n, dc % 4, dc / 4)] = map[dc];
    linear_map(y, 3, x, 4, map, NULL, 24, 4, 3);
    is_fc(&s, w, x, y);
}
END_TEST

static const struct window pooling[] = {
    {6, 8, 2, 2, 0}, {5, 6, 2, 1, 0}, {8, 8, 4, 4, 0}, {7, 6, 4, 1, 1}, {4, 4, 4, 4, 0},
};

/* W_mncd = delta_cd / K in the window; global pooling delta_cd / M. Windows have 4 or 16 tokens, so all is exact. */
START_TEST(average_pooling_is_fully_connected)
{
    const struct window *v = &pooling[_i];
    struct dfc_problem s = window_sizes(v, 2, 3, 3);
    size_t K = v->k * v->k;
    real *x = integers(7, s.B * s.M * 3, 9), *kernel = filled(3 * K, 1 / (double)K);
    is_fc(&s, depthwise_tensor(v, kernel, 3), x, convolved(v, x, diagonal(kernel, 3, K), 2, 3, 3));
}
END_TEST

/* ChoP'D, Sec. 2.2, i). Normal numbers; the naive fc takes the same sums in the same order. */
START_TEST(fully_connected_is_dynamic_with_constant_g)
{
    struct dfc_problem s = {.B = 3, .M = 5, .N = 4, .C = 3, .D = 2};
    struct trial t = trial("", &fc, 3, 3, "M=5 N=4 D=2", "");
    real *w = zeros(3 * 120);
    for (size_t at = 0; at < 360; at++) w[at] = problem_tensor(&t.problem, "w")[at % 120];
    equal(layer(&s, w, t.x), trial_run(&t, "naive", 1), t.outputs);
}
END_TEST

/* ChoP'D, Sec. 2.2, ii). One token, one channel, g(x) = x: Eq. 3 gives x^2. */
START_TEST(some_dynamic_layer_is_not_linear)
{
    struct dfc_problem s = {.B = 3, .M = 1, .N = 1, .C = 1, .D = 1};
    real x[] = {1, 2, 3}, constant[] = {7, 7, 7};
    real *y = layer(&s, x, x), *linear = layer(&s, constant, x);
    ck_assert(y[0] == 1 && y[1] == 4 && y[2] == 9 && y[0] + y[1] != y[2]);
    ck_assert(linear[0] + linear[1] == linear[2]);
}
END_TEST

/* ---- dynamic layers ---------------------------------------------------- */

/* W_imncd = sum_h softmax(q_in k_im)_h (Wv Wo)_h,cd. Tolerance: (M C + C + 3 M + 200) u sum |x| |W|, twice: an entry
 * of W is a sum over C, a softmax over M, and a logit below 8 of three sums over C. The other image's W differs. */
START_TEST(self_attention_is_dynamic_fully_connected)
{
    enum { M = 12, C = 6 };
    const size_t h = (size_t)_i + 1, width = C / h;
    char options[64];
    snprintf(options, sizeof options, "--grid 3x4 --heads %zu --scale 0.5", h);
    struct trial t = trial(options, &msa, 2, C, "", "rpe b_qkv b_o");
    struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = C};
    const real *qkv = trial_tensor(&t, "w_qkv"), *w_o = trial_tensor(&t, "w_o");
    real *w = zeros(2 * M * M * C * C), *swapped = zeros(2 * M * M * C * C);

    for (size_t ia = 0; ia < 2 * h; ia++) {
        size_t i = ia / h, first = ia % h * width;
        const real *w_q = qkv + first * C;
        const real *map = attention_map(t.x + i * M * C, w_q, w_q + C * C, M, C, width, (real)0.5);
        for (size_t mn = 0; mn < M * M; mn++)
            for (size_t cd = 0; cd < C * C; cd++)
                for (size_t e = first; e < first + width; e++)
                    w[place(&s, i, mn / M, mn % M, cd / C, cd % C)] +=
                        map[mn % M * M + mn / M] * (qkv[(2 * C + e) * C + cd / C] * w_o[cd % C * C + e]);
    }
    double tolerance = 2 * layer_bound(&s, w, t.x, C + 3 * M + 200);
    real *y = layer(&s, w, t.x);
    within("naive", largest_difference(y, trial_run(&t, "naive", 1), t.outputs), tolerance);
    within("fast", largest_difference(y, trial_run(&t, "fast", 1), t.outputs), tolerance);
    memcpy(swapped, w + s.M * s.N * C * C, s.M * s.N * C * C * sizeof *w);
    memcpy(swapped + s.M * s.N * C * C, w, s.M * s.N * C * C * sizeof *w);
    beyond("    the other image's W", largest_difference(layer(&s, swapped, t.x), y, t.outputs), 0.01);
}
END_TEST

/* After Wu et al. 2019: each token makes its kernel (ELSA, Eq. 4, term qr), W_imncd = delta_cd K_k,in for m = n + k.
 * After Chen et al. 2020: one kernel for an image, W_imncd = sum_j a_j(x_i) w_jdc[m - n]. Without their softmax. */
START_TEST(dynamic_convolution_is_dynamic_fully_connected)
{
    enum { M = 16, C = 3, K = 9 };
    const struct window v = {4, 4, 3, 1, 1};
    struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = C};
    real *x = integers(11, 2 * M * C, 3), *w = zeros(2 * M * M * C * C), *y = zeros(2 * M * C);

    if (_i == 0) {
        struct trial t = trial("--grid 4x4 --kernel 3 --equation 4 --terms qr --norm identity", &elsa, 2, C, "",
                               "w_o b_o b_qkv");
        const real *makes = integers(12, C * K, 2), *made = matrix_product(x, makes, 2 * M, C, K);
        memcpy(trial_tensor(&t, "w_qkv"), identity_matrix(C), C * C * sizeof *y);
        memcpy(trial_tensor(&t, "w_qkv") + 2 * C * C, identity_matrix(C), C * C * sizeof *y);
        trial_put(&t, "rk", makes);
        y = trial_run_on(&t, "naive", 1, x);
        for (size_t imn = 0; imn < 2 * M * M; imn++) {
            size_t i = imn / (M * M), m = imn / M % M, n = imn % M, k = entry(&v, m, n);
            for (size_t c = 0; k < K && c < C; c++) w[place(&s, i, m, n, c, c)] = made[(i * M + n) * K + k];
        }
    } else {
        real *kernels = integers(13, 2 * C * C * K, 2), *share = integers(14, 2 * C, 2);
        for (size_t i = 0; i < 2; i++) {
            real *mixed = zeros(C * C * K), mean[C] = {0};
            for (size_t mc = 0; mc < M * C; mc++) mean[mc % C] += x[i * M * C + mc] / M;
            for (size_t j = 0; j < 2; j++) {
                const real *kernel = kernels + j * C * C * K, *one = convolved(&v, x + i * M * C, kernel, 1, C, C);
                real a = 0;
                for (size_t c = 0; c < C; c++) a += share[j * C + c] * mean[c];
                for (size_t at = 0; at < C * C * K; at++) mixed[at] += a * kernel[at];
                for (size_t nd = 0; nd < M * C; nd++) y[i * M * C + nd] += a * one[nd];
            }
            memcpy(w + i * M * M * C * C, convolution_tensor(&v, mixed, C, C), M * M * C * C * sizeof *w);
        }
    }
    ck_assert(largest(y, 2 * M * C) > 2);
    equal(layer(&s, w, x), y, 2 * M * C);
}
END_TEST

/* After Hu et al. 2018: W_imncd = delta_mn delta_cd logistic(W2 h(W1 mean of x_i))_c, h a leaky ReLU. Exact: one
 * product, and sums of zeros. The gates of the two images differ. */
START_TEST(squeeze_and_excitation_is_dynamic_fully_connected)
{
    enum { M = 12, C = 4, S = 2 };
    struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = C};
    real *x = uniform(15, 2 * M * C, -1, 3), *w1 = normal(16, S * C), *w2 = normal(17, C * S), gate[2 * C];
    real *w = zeros(2 * M * M * C * C), *y = zeros(2 * M * C);
    for (size_t i = 0; i < 2; i++) {
        real mean[C] = {0}, hidden[S] = {0};
        for (size_t mc = 0; mc < M * C; mc++) mean[mc % C] += x[i * M * C + mc] / M;
        for (size_t e = 0; e < S; e++) {
            for (size_t c = 0; c < C; c++) hidden[e] += w1[e * C + c] * mean[c];
            hidden[e] = hidden[e] > 0 ? hidden[e] : -hidden[e] / 8;
        }
        for (size_t c = 0; c < C; c++) {
            double logit = 0;
            for (size_t e = 0; e < S; e++) logit += (double)w2[c * S + e] * (double)hidden[e];
            gate[i * C + c] = (real)(1 / (1 + exp(-logit)));
        }
        for (size_t n = 0; n < M; n++)
            for (size_t c = 0; c < C; c++) {
                w[place(&s, i, n, n, c, c)] = gate[i * C + c];
                y[(i * M + n) * C + c] = gate[i * C + c] * x[(i * M + n) * C + c];
            }
    }
    beyond("the gates differ", largest_difference(gate, gate + C, C), 0.01);
    equal(layer(&s, w, x), y, 2 * M * C);
}
END_TEST

/* What lies at (y, x), in tokens, of channel c: bilinear, zeros off the grid. */
static real between(const real *plane, size_t H, size_t W, size_t C, size_t c, double y, double x)
{
    double top = floor(y), left = floor(x), sum = 0;
    for (int corner = 0; corner < 4; corner++) {
        double row = top + corner / 2, column = left + corner % 2;
        double share = (corner / 2 ? y - top : top + 1 - y) * (corner % 2 ? x - left : left + 1 - x);
        if (row >= 0 && row < (double)H && column >= 0 && column < (double)W)
            sum += share * (double)plane[((size_t)row * W + (size_t)column) * C + c];
    }
    return (real)sum;
}

enum { DEFORMABLE, MODULATED };

/* After Dai et al. 2017: token n makes offsets (dy, dx)_k, in quarters, W_imncd = sum_k w_dc[k] hat(m_y - n_y - k_y
 * - dy) hat(m_x - n_x - k_x - dx), hat(t) = max(0, 1 - |t|). After Zhu et al. 2019: with a factor for each sample. */
static void deformable_layer(int kind)
{
    enum { H = 5, W = 4, M = H * W, C = 2, D = 3, K = 9 };
    struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = D};
    const struct window v = {H, W, 3, 1, 1};
    real *x = integers(18, 2 * M * C, 3), *kernel = integers(19, D * C * K, 3), *makes = integers(20, 2 * K * C, 2);
    real *w = zeros(2 * M * M * C * D), *y = zeros(2 * M * D), *stiff = zeros(2 * M * M * C * D);
    real *weighs = integers(21, K * C, 2), *plain = zeros(2 * M * M * C * D);

    for (size_t in = 0; in < 2 * M; in++)
        for (size_t k = 0; k < K; k++) {
            double offset[2] = {0, 0}, factor = kind == MODULATED ? 0 : 1;
            for (size_t c = 0; c < C; c++) {
                if (kind == MODULATED) factor += 0.25 * (double)(weighs[k * C + c] * x[in * C + c]);
                for (size_t axis = 0; axis < 2; axis++)
                    offset[axis] += 0.25 * (double)(makes[(2 * k + axis) * C + c] * x[in * C + c]);
            }
            double row = (double)(in % M / W) + (double)(k / 3) - 1 + offset[0];
            double column = (double)(in % M % W) + (double)(k % 3) - 1 + offset[1];
            for (size_t c = 0; c < C; c++)
                for (size_t d = 0; d < D; d++)
                    y[in * D + d] += (real)factor * kernel[(d * C + c) * K + k]
                                   * between(x + in / M * M * C, H, W, C, c, row, column);
            for (size_t m = 0; m < M; m++) {
                double share = fmax(0, 1 - fabs((double)(m / W) - row))
                             * fmax(0, 1 - fabs((double)(m % W) - column));
                for (size_t c = 0; c < C; c++)
                    for (size_t d = 0; d < D; d++) {
                        size_t at = place(&s, in / M, m, in % M, c, d);
                        w[at] += kernel[(d * C + c) * K + k] * (real)(factor * share);
                        plain[at] += kernel[(d * C + c) * K + k] * (real)share;
                    }
            }
        }
    ck_assert(largest(y, 2 * M * D) > 2);
    equal(layer(&s, w, x), y, 2 * M * D);
    for (size_t i = 0; i < 2; i++)
        memcpy(stiff + i * M * M * C * D, convolution_tensor(&v, kernel, C, D), M * M * C * D * sizeof *w);
    unequal(layer(&s, stiff, x), y, 2 * M * D);
    if (kind == MODULATED) unequal(layer(&s, plain, x), y, 2 * M * D);
}

START_TEST(deformable_convolution_is_dynamic_fully_connected)
{
    deformable_layer(DEFORMABLE);
}
END_TEST

START_TEST(modulated_deformable_convolution_is_dynamic_fully_connected)
{
    deformable_layer(MODULATED);
}
END_TEST

/* A filter of mean 0 and deviation 1. */
static void standardise(double *filter, size_t n)
{
    double mean = 0, square = 0;
    for (size_t k = 0; k < n; k++) mean += filter[k] / (double)n;
    for (size_t k = 0; k < n; k++) square += (filter[k] - mean) * (filter[k] - mean) / (double)n;
    for (size_t k = 0; k < n; k++) filter[k] = (filter[k] - mean) / sqrt(square);
}

/* ELSA, Eq. 2; after Zhou et al. 2021: W_imncc = s_in[m - n] k_ic[m - n], s a linear map of token n, k one of the mean
 * of the image, both normalised. Tolerance: layer_bound, with a rounding for W. */
START_TEST(decoupled_dynamic_filter_is_dynamic_fully_connected)
{
    enum { M = 30, C = 3, K = 9 };
    const struct window v = {5, 6, 3, 1, 1};
    const struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = C};
    real *x = normal(41, 2 * M * C), *of_token = normal(42, K * C), *of_mean = normal(43, C * K * C);
    real *w = zeros(2 * M * M * C * C), *alone = zeros(2 * M * M * C * C), *y = zeros(2 * M * C);
    for (size_t i = 0; i < 2; i++) {
        double mean[C] = {0}, channel[C][K] = {{0}};
        for (size_t nc = 0; nc < M * C; nc++) mean[nc % C] += (double)x[i * M * C + nc] / M;
        for (size_t c = 0; c < C; c++) {
            for (size_t ke = 0; ke < K * C; ke++)
                channel[c][ke / C] += (double)of_mean[c * K * C + ke] * mean[ke % C];
            standardise(channel[c], K);
        }
        for (size_t n = 0; n < M; n++) {
            double spatial[K] = {0};
            for (size_t kc = 0; kc < K * C; kc++)
                spatial[kc / C] += (double)of_token[kc] * (double)x[(i * M + n) * C + kc % C];
            standardise(spatial, K);
            for (size_t c = 0; c < C; c++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++) {
                    int m = under(&v, n, k);
                    if (m >= 0) sum += spatial[k] * channel[c][k] * (double)x[(i * M + (size_t)m) * C + c];
                }
                y[(i * M + n) * C + c] = (real)sum;
                for (size_t m = 0; m < M; m++) {
                    size_t k = entry(&v, m, n);
                    if (k == K) continue;
                    w[place(&s, i, m, n, c, c)] = (real)(spatial[k] * channel[c][k]);
                    alone[place(&s, i, m, n, c, c)] = (real)spatial[k];
                }
            }
        }
    }
    within("DDF", largest_difference(layer(&s, w, x), y, 2 * M * C), layer_bound(&s, w, x, 2));
    beyond("    its filter of tokens alone", largest_difference(layer(&s, alone, x), y, 2 * M * C), 0.1);
}
END_TEST

/* ELSA, Eq. 2; after Yuan et al. 2021: token p makes weights A_p of 9 x 9, W_imncd = sum_p A_ip[n - p][m - p] V_cd, A
 * that of d's head. Tolerance: layer_bound with 9 + 4 roundings more, of the sum over p and of v. */
START_TEST(outlooker_is_dynamic_fully_connected)
{
    enum { M = 30, C = 4, K = 9, H = 2 };
    const struct window v = {5, 6, 3, 1, 1};
    const struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = C};
    real *x = normal(44, 2 * M * C), *value = normal(45, C * C), *makes = normal(46, H * K * K * C);
    real *w = zeros(2 * M * M * C * C), *about = zeros(2 * M * M * C * C), *y = zeros(2 * M * C);
    for (size_t ipa = 0; ipa < 2 * M * H; ipa++) {
        size_t i = ipa / H / M, p = ipa / H % M, a = ipa % H;
        real A[K][K] = {{0}}, unfolded[K][C / H] = {{0}};

        /* Step 1: what token p makes of itself, for head a; the values around it. */
        for (size_t kk = 0; kk < K * K; kk++)
            for (size_t c = 0; c < C; c++)
                A[kk / K][kk % K] += makes[(a * K * K + kk) * C + c] * x[(i * M + p) * C + c];
        for (size_t k = 0; k < K; k++) softmax(A[k], K);
        for (size_t k = 0; k < K; k++)
            for (size_t cd = 0; under(&v, p, k) >= 0 && cd < C * C / H; cd++) {
                size_t c = cd / (C / H), d = a * (C / H) + cd % (C / H);
                unfolded[k][cd % (C / H)] += value[c * C + d] * x[(i * M + (size_t)under(&v, p, k)) * C + c];
            }

        /* Step 2: products, folded. */
        for (size_t to = 0; to < K; to++)
            for (size_t ke = 0; under(&v, p, to) >= 0 && ke < K * C / H; ke++) {
                size_t k = ke / (C / H), e = ke % (C / H);
                y[(i * M + (size_t)under(&v, p, to)) * C + a * (C / H) + e] += A[to][k] * unfolded[k][e];
            }

        /* Step 3: the same as entries of W. */
        for (size_t mn = 0; mn < M * M; mn++) {
            size_t m = mn / M, n = mn % M, from = entry(&v, m, p), to = entry(&v, n, p);
            if (from == K || to == K) continue;
            for (size_t c = 0; c < C; c++)
                for (size_t d = a * (C / H); d < (a + 1) * (C / H); d++) {
                    w[place(&s, i, m, n, c, d)] += A[to][from] * value[c * C + d];
                    about[place(&s, i, m, n, c, d)] += A[from][to] * value[c * C + d];
                }
        }
    }
    within("outlooker", largest_difference(layer(&s, w, x), y, 2 * M * C), layer_bound(&s, w, x, 9 + 4));
    beyond("    changed about", largest_difference(layer(&s, about, x), y, 2 * M * C), 0.1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, layers");
    TCase *fixed = add_case(suite, "static layers");
    tcase_add_loop_test(fixed, convolution_is_fully_connected, 0, (int)COUNT(window));
    tcase_add_loop_test(fixed, depthwise_convolution_is_fully_connected, 0, (int)COUNT(window));
    tcase_add_test(fixed, pointwise_convolution_is_fully_connected);
    tcase_add_loop_test(fixed, average_pooling_is_fully_connected, 0, (int)COUNT(pooling));
    tcase_add_test(fixed, fully_connected_is_dynamic_with_constant_g);
    tcase_add_test(fixed, some_dynamic_layer_is_not_linear);
    TCase *dynamic = add_case(suite, "dynamic layers");
    tcase_add_loop_test(dynamic, self_attention_is_dynamic_fully_connected, 0, 3);
    tcase_add_loop_test(dynamic, dynamic_convolution_is_dynamic_fully_connected, 0, 2);
    tcase_add_test(dynamic, squeeze_and_excitation_is_dynamic_fully_connected);
    tcase_add_test(dynamic, deformable_convolution_is_dynamic_fully_connected);
    tcase_add_test(dynamic, modulated_deformable_convolution_is_dynamic_fully_connected);
    tcase_add_test(dynamic, decoupled_dynamic_filter_is_dynamic_fully_connected);
    tcase_add_test(dynamic, outlooker_is_dynamic_fully_connected);
    return run_suite(suite);
}
