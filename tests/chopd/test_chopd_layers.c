/* test_chopd_layers.c -- layers that are special cases of the fully connected one, static or dynamic
 *
 * ChoP'D, Sec. 2.2: W_mncd, or W_imncd as a function of x, is applied by Eq. 2 or 3 and compared with the layer's
 * operator.  The paper's appendix is not public, so the tensors are derived here.  Numbers are integers and sums exact,
 * so the tolerance is zero.  Self-attention is in transformer_block_is_a_former. */

#include "dfc_case.h"
#include "../../reference/elsa.h"
#include "../../reference/networks/layers/layers.h"

static void is_fc(const struct dfc_problem *s, const real *w, real *x, const real *y)
{
    char sizes[80];
    size_t weights = s->M * s->N * s->C * s->D;
    snprintf(sizes, sizeof sizes, "M=%zu N=%zu D=%zu", s->M, s->N, s->D);
    struct fixture t = fixture("", &fc, s->B, s->C, sizes, "");
    fixture_put(&t, "w", w);
    t.x = x;
    ck_assert(largest(y, t.outputs) > 0.5);
    forms_equal(&t, y);

    real *each = zeros(s->B * weights);
    for (size_t i = 0; i < s->B; i++) memcpy(each + i * weights, w, weights * sizeof *w);
    equal(layer(s, each, x), y, t.outputs);
}

static real *convolved(const struct window *v, const real *x, const real *kernel, size_t B, size_t C, size_t D)
{
    char options[120];
    snprintf(options, sizeof options, "--grid %zux%zu --size %zu --stride %zu --pad %zu --channels %zu", v->H, v->W,
             v->k, v->stride, v->padding, D);
    struct fixture t = fixture(options, &layer_patch, B, C, "", "b");
    fixture_put(&t, "w", kernel);
    return fixture_run_on(&t, "layer", 1, x);
}

enum kind { DENSE, DEPTHWISE, MEAN };
static const struct { enum kind kind; struct window window; } convolutions[] = {
    {DENSE, {5, 6, 3, 1, 1}}, {DENSE, {5, 6, 3, 1, 0}}, {DENSE, {7, 6, 3, 2, 1}}, {DENSE, {6, 6, 2, 2, 0}},
    {DENSE, {4, 5, 5, 1, 2}}, {DENSE, {7, 5, 3, 3, 1}}, {DENSE, {3, 3, 1, 1, 0}},
    {DEPTHWISE, {5, 6, 3, 1, 1}}, {DEPTHWISE, {7, 6, 3, 2, 1}}, {DEPTHWISE, {4, 5, 5, 1, 2}},
    {MEAN, {6, 8, 2, 2, 0}}, {MEAN, {8, 8, 4, 4, 0}}, {MEAN, {7, 6, 4, 1, 1}}, {MEAN, {4, 4, 4, 4, 0}},
};

/* A convolution is fc with W_mncd = w_dc[m - n] inside the window, else 0.  Between different channels W is 0 for a
 * depth-wise convolution and for average pooling, which has 1 / K.  A window of one token is a point-wise convolution.
 * Means are of 4 or 16 tokens, so all sums are exact. */
TESTS(convolution_is_fully_connected, COUNT(convolutions))
{
    const struct window *v = &convolutions[_i].window;
    const enum kind kind = convolutions[_i].kind;
    const size_t C = 3, D = kind == DENSE ? 2 : C, K = v->k * v->k;
    struct dfc_problem s = window_sizes(v, 2, C, D);
    real *kernel = kind == MEAN ? filled(D * C * K, 1 / (double)K) : integers(2, D * C * K, 3);
    for (size_t dck = 0; kind != DENSE && dck < D * C * K; dck++)
        if (dck / K % C != dck / K / C) kernel[dck] = 0;
    real *x = integers(1, s.B * s.M * C, 3);
    is_fc(&s, convolution_tensor(v, kernel, C, D), x, convolved(v, x, kernel, s.B, C, D));
}

/* ChoP'D, Sec. 2.2, i): fc is Eq. 3 with one W for all images.  Exact on normal numbers: the naive fc sums in the same
 * order. */
TEST(fully_connected_is_dynamic_with_constant_g)
{
    struct dfc_problem s = {.B = 3, .M = 5, .N = 4, .C = 3, .D = 2};
    struct fixture t = fixture("", &fc, 3, 3, "M=5 N=4 D=2", "");
    real *w = zeros(3 * 120);
    for (size_t at = 0; at < 360; at++) w[at] = problem_tensor(&t.problem, "w")[at % 120];
    equal(layer(&s, w, t.x), fixture_run(&t, "naive", 1), t.outputs);
}

/* Wu et al. 2019, without its softmax: each token makes its kernel (ELSA, Eq. 4, term qr), and W_imncd = delta_cd
 * K_k,in for m = n + k. */
TEST(dynamic_convolution_is_dynamic_fully_connected)
{
    enum { M = 16, C = 3, K = 9 };
    const struct window v = {4, 4, 3, 1, 1};
    struct dfc_problem s = {.B = 2, .M = M, .N = M, .C = C, .D = C};
    struct fixture t = fixture("--grid 4x4 --kernel 3 --equation 4 --terms qr --norm identity", &elsa, 2, C, "",
                           "w_o b_o b_qkv");
    real *x = integers(11, 2 * M * C, 3), *w = zeros(2 * M * M * C * C);
    const real *makes = integers(12, C * K, 2), *made = matrix_product(x, makes, 2 * M, C, K);
    memcpy(fixture_tensor(&t, "w_qkv"), identity_matrix(C), C * C * sizeof *x);
    memcpy(fixture_tensor(&t, "w_qkv") + 2 * C * C, identity_matrix(C), C * C * sizeof *x);
    fixture_put(&t, "rk", makes);
    for (size_t imn = 0; imn < 2 * M * M; imn++) {
        size_t i = imn / (M * M), m = imn / M % M, n = imn % M, k = entry(&v, m, n);
        for (size_t c = 0; k < K && c < C; c++) w[place(&s, i, m, n, c, c)] = made[(i * M + n) * K + k];
    }
    real *y = fixture_run_on(&t, "naive", 1, x);
    ck_assert(largest(y, 2 * M * C) > 2);
    equal(layer(&s, w, x), y, 2 * M * C);
}

/* ChoP'D, Sec. 2.3: U^2 is a depth-wise convolution with a global receptive field.  Its kernel of 5 x 5 has an entry
 * for each offset on 3 x 3 tokens. */
TEST(relative_positions_are_a_depthwise_convolution)
{
    enum { C = 3 };
    static const struct window v = {3, 3, 5, 1, 2};
    struct fixture t = fixture("--positions relative --grid 3x3 --activation none", &dfc_cp, 2, C, "D=3 R=3", "u1");
    struct dfc_problem s = window_sizes(&v, 2, C, C);
    make_integer(&t);
    fixture_put_identity(&t, "u4", C);
    fixture_put_identity(&t, "u5", C);
    fixture_fill(&t, "u3", 1);
    fixture_fill(&t, "b", 0);
    real *u2 = fixture_tensor(&t, "u2"), *kernel = zeros(C * 25), *w = zeros(2 * 81 * C * C);
    for (size_t c = 0; c < C; c++)
        for (size_t e = 0; e < 25; e++) kernel[c * 25 + e] = u2[e * C + c];
    for (size_t i = 0; i < 2; i++)
        memcpy(w + i * 81 * C * C, depthwise_tensor(&v, kernel, C), 81 * C * C * sizeof *w);
    forms_equal(&t, layer(&s, w, t.x));

    /* Eq. 3 with this tensor for each image. */
    struct fixture dense = fixture("--activation none", &dfc, 2, C, "M=9 N=9 D=3", "b");
    fixture_put(&dense, "w", w);
    dense.x = t.x;
    forms_equal(&dense, layer(&s, w, t.x));
}

int main(void) { return run_tests("ChoP'D, layers"); }
