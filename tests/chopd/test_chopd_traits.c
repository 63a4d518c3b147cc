/* test_chopd_traits.c -- dynamic, adaptive, global, mixing: the traits that ChoP'D's tables give to layers
 *
 * A trait is a dependence of W_imncd: on the image i (dynamic), the position n (adaptive), far tokens m (global), other
 * channels c and d (mixing).  Tensors have two images of 4 x 4 tokens and two channels.  Random numbers are normal, so
 * none is zero and no two are equal: the tolerance is zero. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../../naive/attention.h"

enum { DYNAMIC = 1, ADAPTIVE = 2, GLOBAL = 4, MIXING = 8 };
enum { B = 2, SIDE = 4, M = SIDE * SIDE, C = 2, ENTRIES = M * M * C * C };

static const struct dfc_problem sizes = {.B = B, .M = M, .N = M, .C = C, .D = C};

static int traits_of(const real *w)
{
    int traits = memcmp(w, w + ENTRIES, ENTRIES * sizeof *w) ? DYNAMIC | GLOBAL : GLOBAL;
    const real *by_offset[2 * SIDE - 1][2 * SIDE - 1] = {{NULL}};
    for (size_t mn = 0; mn < M * M; mn++) {
        size_t m = mn / M, n = mn % M;
        const real *w_mn = w + place(&sizes, 0, m, n, 0, 0);
        const real **first = &by_offset[m / SIDE + SIDE - 1 - n / SIDE][m % SIDE + SIDE - 1 - n % SIDE];
        bool reached = false;
        if (!*first) *first = w_mn;
        for (size_t cd = 0; cd < C * C; cd++) {
            if (w_mn[cd] != (*first)[cd]) traits |= ADAPTIVE;
            if (w_mn[cd] != 0 && cd / C != cd % C) traits |= MIXING;
            reached = reached || w_mn[cd] != 0;
        }
        if (!reached) traits &= ~GLOBAL;
    }
    return traits;
}

static real *for_both(const real *w)
{
    real *both = zeros(B * ENTRIES);
    for (size_t i = 0; i < B; i++) memcpy(both + i * ENTRIES, w, ENTRIES * sizeof *w);
    return both;
}

static const struct window three = {SIDE, SIDE, 3, 1, 1}, one = {SIDE, SIDE, 1, 1, 0};

/* The tensors of dfc-cp and chopd.  Each box of chopd covers all tokens.  phi has one cell per token, so the
 * interpolation does not round. */
static real *of_dfc_cp(void)
{
    struct fixture t = fixture("", &dfc_cp, B, C, "M=16 N=16 D=2 R=3", "");
    const struct dfc_problem p = dfc_of(&t.problem);
    real *w = zeros(B * ENTRIES);
    dfc_naive_tensor(w, &p);
    return w;
}

static real *of_chopd(bool gate)
{
    struct fixture t = fixture("--grid 4x4 --gate-size 4", &chopd, B, C, "R=3 D=2 G=1 S=2", "");
    const struct chopd_problem p = chopd_of(&t.problem);
    real *P = zeros(M * M * 3), *u2 = zeros(M * M * 3), *w = zeros(B * ENTRIES);
    for (size_t e = 0; e < 4 * 3; e++) fixture_tensor(&t, "boxes")[e] = e % 4 < 2 ? -4 : 4;
    if (!gate) memset(fixture_tensor(&t, "phi_w2"), 0, 3 * 2 * sizeof *w);
    real *u13 = gates(&p, t.x);
    chopd_naive_pooling(P, p.boxes, SIDE, SIDE, 3, 1);
    chopd_naive_mixing(u2, P, p.mix, M, 3, 1);
    for (size_t i = 0; i < B; i++) chopd_naive_tensor(w + i * ENTRIES, u2, u13 + i * M * 3, &p);
    return w;
}

/* W_imnc of self-attention in windows of this many tokens per side, with q = k = x. */
static real *of_attention(const real *x, size_t window)
{
    real *w = zeros(B * ENTRIES);
    for (size_t i = 0; i < B; i++)
        for (size_t first = 0; first < M; first++) {
            size_t token[M], tokens = 0;
            real q[M * C], weight[M * M];
            if (first / SIDE % window || first % SIDE % window) continue;
            for (size_t m = 0; m < window * window; m++) token[tokens++] = first + m / window * SIDE + m % window;
            for (size_t mc = 0; mc < tokens * C; mc++) q[mc] = x[(i * M + token[mc / C]) * C + mc % C];
            attention_naive_weights(weight, q, q, NULL, 1, tokens, tokens, C);
            for (size_t nm = 0; nm < tokens * tokens; nm++)
                for (size_t c = 0; c < C; c++)
                    w[place(&sizes, i, token[nm % tokens], token[nm / tokens], c, c)] = weight[nm];
        }
    return w;
}

/* W_mnc = kernel_c[m - n], modulo the plane. */
static real *of_circular(const real *kernel)
{
    real *w = zeros(ENTRIES);
    for (size_t mn = 0; mn < M * M; mn++)
        for (size_t c = 0; c < C; c++) {
            size_t m = mn / M, n = mn % M;
            size_t down = (m / SIDE + SIDE - n / SIDE) % SIDE, across = (m % SIDE + SIDE - n % SIDE) % SIDE;
            w[place(&sizes, 0, m, n, c, c)] = kernel[(down * SIDE + across) * C + c];
        }
    return for_both(w);
}

/* ChoP'D, abstract, Fig. 1a, Sec. 4, Tab. 2: the traits of these layers are dependences of W.  Each trait alone
 * separates two of them.  A circular convolution as large as the plane is only global, since it shares its weights; the
 * flag n of GFNet is left open. */
TEST(flags_of_layers_are_dependences_of_w)
{
    real *x = normal(1, B * M * C), *w = normal(2, ENTRIES), *by_image = for_both(w);
    for (size_t at = 0; at < B * ENTRIES; at++) by_image[at] *= x[at / ENTRIES * M * C];
    const struct { const char *name; const real *w; int traits; } layer_of[] = {
        {"fc", for_both(w), ADAPTIVE | GLOBAL | MIXING},
        {"convolution", for_both(convolution_tensor(&three, normal(3, C * C * 9), C, C)), MIXING},
        {"depth-wise", for_both(depthwise_tensor(&three, normal(4, C * 9), C)), 0},
        {"average pooling", for_both(depthwise_tensor(&three, filled(C * 9, 1.0 / 9), C)), 0},
        {"point-wise", for_both(convolution_tensor(&one, normal(5, C * C), C, C)), MIXING},
        {"x_00 W", by_image, DYNAMIC | ADAPTIVE | GLOBAL | MIXING},
        {"dfc-cp", of_dfc_cp(), DYNAMIC | ADAPTIVE | GLOBAL | MIXING},
        {"chopd", of_chopd(true), DYNAMIC | ADAPTIVE | GLOBAL | MIXING},
        {"chopd, gates of one value", of_chopd(false), GLOBAL | MIXING},
        {"self-attention", of_attention(x, SIDE), DYNAMIC | ADAPTIVE | GLOBAL},
        {"in windows", of_attention(x, 2), DYNAMIC | ADAPTIVE},
        {"circular convolution", of_circular(normal(15, M * C)), GLOBAL},
    };
    for (size_t k = 0; k < COUNT(layer_of); k++)
        ck_assert_msg(traits_of(layer_of[k].w) == layer_of[k].traits, "%s: %d", layer_of[k].name,
                      traits_of(layer_of[k].w));
}

enum variant { DEPTHWISE, POOLING, LINEAR };

/* y_nd = sum_r u5_dr sum_k kernel_rk sum_c u4_cr x_(n+k)c + b_d over 3 x 3 tokens, zero-padded. */
static real *by_loops(const struct chopd_problem *p, const real *x, const real *kernel)
{
    const struct window v = {p->H, p->W, 3, 1, 1};
    const struct dfc_problem s = window_sizes(&v, p->B, p->C, p->D);
    size_t entries = s.M * s.N * p->C * p->D;
    real *mixed = zeros(p->D * p->C * 9), *w = zeros(p->B * entries);
    for (size_t dck = 0; dck < p->D * p->C * 9; dck++)
        for (size_t r = 0; r < p->R; r++)
            mixed[dck] += p->u5[dck / 9 / p->C * p->R + r] * p->u4[dck / 9 % p->C * p->R + r] * kernel[r * 9 + dck % 9];
    for (size_t i = 0; i < p->B; i++)
        memcpy(w + i * entries, convolution_tensor(&v, mixed, p->C, p->D), entries * sizeof *w);
    real *y = layer(&s, w, x);
    for (size_t n = 0; n < p->B * p->N; n++)
        for (size_t d = 0; d < p->D; d++) y[n * p->D + d] += p->b[d];
    return y;
}

/* ChoP'D, Sec. 4, Tab. 1: chopd with gates of 1 is Conv-CP (nine boxes of one token, or one of 3 x 3) and Linear-CP
 * (one box of one token).  FC-CP is dfc-cp without u1.  Tolerance: zero on integers; for the mean of nine, which rounds
 * 1 / 9 and products, (9 C + R + 16) u. */
TEST(variants_of_table_1_are_cases_of_two_layers)
{
    enum { IN = 3, R = 4 };
    real *expected[3];
    for (int variant = DEPTHWISE; variant <= LINEAR; variant++) {
        size_t boxes = variant == DEPTHWISE ? 9 : 1;
        struct fixture t = fixture("--grid 5x6 --activation none", &chopd, 2, IN,
                               boxes == 9 ? "R=4 D=2 G=9 S=2" : "R=4 D=2 G=1 S=2", "");
        const struct chopd_problem p = chopd_of(&t.problem);
        real *kernel = zeros(R * 9), *box = fixture_tensor(&t, "boxes"), *mix = fixture_tensor(&t, "mix");
        make_integer(&t);
        open_gate(&t);
        for (size_t rg = 0; rg < R * boxes; rg++) {
            double half = variant == POOLING ? 1.5 : 0.5, k = (double)(rg % boxes);
            double y = boxes == 9 ? floor(k / 3) - 1 : 0, x = boxes == 9 ? fmod(k, 3) - 1 : 0;
            const double edge[4] = {y - half, x - half, y + half, x + half};
            for (size_t e = 0; e < 4; e++) box[4 * rg + e] = (real)edge[e];
        }
        for (size_t at = 0; at < R * 9; at++)
            kernel[at] = variant == DEPTHWISE ? mix[at] : variant == POOLING ? mix[at / 9] / 9
                       : at % 9 == 4 ? mix[at / 9] : 0;
        expected[variant] = by_loops(&p, t.x, kernel);
        ck_assert(largest(expected[variant], t.outputs) > 2);
        if (variant == POOLING) forms_within(&t, expected[variant], (9 * IN + R + 16) * UNIT_ROUNDOFF);
        else forms_equal(&t, expected[variant]);
        for (int other = 0; other < variant; other++) unequal(expected[other], expected[variant], t.outputs);
    }
}

int main(void) { return run_tests("ChoP'D, traits"); }
