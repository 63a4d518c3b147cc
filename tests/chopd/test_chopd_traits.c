/* test_chopd_traits.c -- dynamic, adaptive, global, mixing: the traits that ChoP'D's tables give to layers
 *
 * A trait is an index on which the tensor W_imncd depends: i of the image, n of the place, m of far tokens, c and d of
 * other channels.  Tensors are those of two images of 4 x 4 tokens and two channels.  Their numbers are normal, so none
 * is zero and no two are equal: the tolerance is zero. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../../naive/attention.h"

enum { DYNAMIC = 1, ADAPTIVE = 2, GLOBAL = 4, MIXING = 8 };
enum { B = 2, SIDE = 4, M = SIDE * SIDE, C = 2, ENTRIES = M * M * C * C };

static const struct dfc_problem sizes = {.B = B, .M = M, .N = M, .C = C, .D = C};

/* The traits of w [B][M][M][C][C]. */
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

/* One tensor for both images. */
static real *for_both(const real *w)
{
    real *both = zeros(B * ENTRIES);
    for (size_t i = 0; i < B; i++) memcpy(both + i * ENTRIES, w, ENTRIES * sizeof *w);
    return both;
}

static const struct window three = {SIDE, SIDE, 3, 1, 1}, one = {SIDE, SIDE, 1, 1, 0};

static real *mean_of_nine(void)
{
    real *ninth = zeros(C * 9);
    for (size_t k = 0; k < C * 9; k++) ninth[k] = (real)1 / 9;
    return for_both(depthwise_tensor(&three, ninth, C));
}

/* The tensors of dfc-cp and chopd.  Each box of chopd holds all tokens; phi has as many cells as there are tokens, so
 * that nothing is rounded between them. */
static real *of_dfc_cp(void)
{
    struct trial t = trial("", &dfc_cp, B, C, "M=16 N=16 D=2 R=3", "");
    const struct dfc_problem p = dfc_of(&t.problem);
    real *w = zeros(B * ENTRIES);
    dfc_naive_tensor(w, &p);
    return w;
}

static real *of_chopd(bool gate)
{
    struct trial t = trial("--grid 4x4 --gate-size 4", &chopd, B, C, "R=3 D=2 G=1 S=2", "");
    const struct chopd_problem p = chopd_of(&t.problem);
    real *P = zeros(M * M * 3), *u2 = zeros(M * M * 3), *w = zeros(B * ENTRIES);
    for (size_t e = 0; e < 4 * 3; e++) trial_tensor(&t, "boxes")[e] = e % 4 < 2 ? -4 : 4;
    if (!gate) memset(trial_tensor(&t, "phi_w2"), 0, 3 * 2 * sizeof *w);
    real *u13 = gates(&p, t.x);
    chopd_naive_pooling(P, p.boxes, SIDE, SIDE, 3, 1);
    chopd_naive_mixing(u2, P, p.mix, M, 3, 1);
    for (size_t i = 0; i < B; i++) chopd_naive_tensor(w + i * ENTRIES, u2, u13 + i * M * 3, &p);
    return w;
}

/* Abstract, Fig. 1a, Sec. 4.  Each trait but global tells two of these layers apart by itself. */
START_TEST(flags_of_layers_are_dependences_of_w)
{
    real *x = normal(1, B * M * C), *w = normal(2, ENTRIES), *by_image = for_both(w);
    for (size_t at = 0; at < B * ENTRIES; at++) by_image[at] *= x[at / ENTRIES * M * C];
    const struct { const char *name; const real *w; int traits; } layer_of[] = {
        {"fc", for_both(w), ADAPTIVE | GLOBAL | MIXING},
        {"convolution", for_both(convolution_tensor(&three, normal(3, C * C * 9), C, C)), MIXING},
        {"depth-wise", for_both(depthwise_tensor(&three, normal(4, C * 9), C)), 0},
        {"average pooling", mean_of_nine(), 0},
        {"point-wise", for_both(convolution_tensor(&one, normal(5, C * C), C, C)), MIXING},
        {"x_00 W", by_image, DYNAMIC | ADAPTIVE | GLOBAL | MIXING},
        {"dfc-cp", of_dfc_cp(), DYNAMIC | ADAPTIVE | GLOBAL | MIXING},
        {"chopd", of_chopd(true), DYNAMIC | ADAPTIVE | GLOBAL | MIXING},
        {"chopd, gates of one value", of_chopd(false), GLOBAL | MIXING},
    };
    for (size_t k = 0; k < COUNT(layer_of); k++)
        ck_assert_msg(traits_of(layer_of[k].w) == layer_of[k].traits, "%s: %d", layer_of[k].name,
                      traits_of(layer_of[k].w));
}
END_TEST

/* W_imnc of self-attention in windows of this many tokens a side, q = k = x. */
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

/* W_mnc = kernel_c[m - n], around the plane. */
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

/* Sec. 4, Tab. 2.  A circular convolution as large as the plane is global alone, since it shares its weights; the flag
 * n of GFNet is left open.  With whole numbers, y moves with x around the plane. */
START_TEST(flags_of_table_2_are_dependences_of_w)
{
    real *x = normal(11, B * M * C);
    const struct { const char *name; const real *w; int traits; } layer_of[] = {
        {"self-attention", of_attention(x, SIDE), DYNAMIC | ADAPTIVE | GLOBAL},
        {"in windows", of_attention(x, 2), DYNAMIC | ADAPTIVE},
        {"circular convolution", of_circular(normal(15, M * C)), GLOBAL},
    };
    for (size_t k = 0; k < COUNT(layer_of); k++)
        ck_assert_msg(traits_of(layer_of[k].w) == layer_of[k].traits, "%s: %d", layer_of[k].name,
                      traits_of(layer_of[k].w));

    real *w = of_circular(integers(16, M * C, 3)), *tokens = integers(17, B * M * C, 3);
    real *rolled = zeros(B * M * C), *y = layer(&sizes, w, tokens), *expected = zeros(B * M * C);
    for (size_t at = 0; at < B * M * C; at++) {
        size_t n = at / C % M, to = (n / SIDE + 1) % SIDE * SIDE + (n % SIDE + 3) % SIDE;
        rolled[(at / (M * C) * M + to) * C + at % C] = tokens[at];
        expected[(at / (M * C) * M + to) * C + at % C] = y[at];
    }
    equal(layer(&sizes, w, rolled), expected, B * M * C);
    unequal(y, expected, B * M * C);
}
END_TEST

/* ---- the puzzle ---------------------------------------------------------------- */

/* Shuffle `which` of 24: the place that each patch is taken from. */
static void shuffle_of(size_t which, size_t from[4])
{
    size_t left[4] = {0, 1, 2, 3};
    for (size_t m = 0; m < 4; m++) {
        size_t ways = 4 - m, at = which % ways;
        from[m] = left[at];
        which /= ways;
        for (size_t k = at; k + 1 < ways; k++) left[k] = left[k + 1];
    }
}

/* Sec. 4, the puzzle.  Patches carry a mark of where they belong: W_imn = 1 where the mark of m is n undoes any
 * shuffle.  The W of shuffle 0 undoes that one only.  Three taps move nothing farther than their window. */
START_TEST(dynamic_layers_undo_every_shuffle)
{
    static const double puzzle[5][4] = {{1, 2, 3, 5}, {2, 0, 1, 7}, {3, 3, -1, 4}, {0, -2, 5, 1}, {1, 1, 6, 2}};
    const struct dfc_problem s = {.B = 5, .M = 4, .N = 4, .C = 2, .D = 1};
    real *always = NULL, *image = zeros(5 * 4);
    for (size_t km = 0; km < 20; km++) image[km] = (real)puzzle[km / 4][km % 4];
    for (size_t which = 0; which < 24; which++) {
        real *x = zeros(5 * 4 * 2), *undo = zeros(5 * 4 * 4 * 2);
        size_t from[4];
        shuffle_of(which, from);
        for (size_t km = 0; km < 20; km++) {
            x[2 * km] = (real)puzzle[km / 4][from[km % 4]];
            x[2 * km + 1] = (real)from[km % 4];
            for (size_t n = 0; n < 4; n++) undo[place(&s, km / 4, km % 4, n, 0, 0)] = x[2 * km + 1] == (real)n;
        }
        if (!always) always = undo;
        equal(layer(&s, undo, x), image, 20);
        if (which) unequal(layer(&s, always, x), image, 20);
    }

    const struct window taps = {1, 16, 3, 1, 1};
    const struct dfc_problem row = window_sizes(&taps, 1, 1, 1);
    real *kernel = convolution_tensor(&taps, normal(21, 9), 1, 1), *x = normal(22, 16), *far = copy(x, 16);
    far[15] += 1;
    real *y = layer(&row, kernel, x), *moved = layer(&row, kernel, far);
    equal(moved, y, 14);
    unequal(moved + 14, y + 14, 2);
}
END_TEST

/* ---- the variants of Table 1 ------------------------------------------------ */

enum variant { DEPTHWISE, POOLING, LINEAR };

/* y_nd = sum_r u5_dr sum_k kernel_rk sum_c u4_cr x_(n+k)c + b_d over 3 x 3 tokens, zeros around the plane; or the same
 * of absolute values. */
static real *by_loops(const struct chopd_problem *p, const real *x, const real *kernel, bool absolute)
{
    real *y = zeros(p->B * p->N * p->D);
    for (size_t in = 0; in < p->B * p->N; in++)
        for (size_t kr = 0; kr < 9 * p->R; kr++) {
            size_t n = in % p->N, k = kr / p->R, r = kr % p->R;
            size_t down = n / p->W + k / 3 - 1, across = n % p->W + k % 3 - 1;      /* wraps below 0 */
            if (down >= p->H || across >= p->W) continue;
            const real *token = x + (in / p->N * p->N + down * p->W + across) * p->C;
            real z = 0;
            for (size_t c = 0; c < p->C; c++) {
                real term = p->u4[c * p->R + r] * token[c];
                z += absolute ? (real)fabs((double)term) : term;
            }
            for (size_t d = 0; d < p->D; d++) {
                real term = p->u5[d * p->R + r] * kernel[r * 9 + k] * z;
                y[in * p->D + d] += absolute ? (real)fabs((double)term) : term;
            }
        }
    for (size_t at = 0; at < p->B * p->N * p->D; at++)
        y[at] += absolute ? (real)fabs((double)p->b[at % p->D]) : p->b[at % p->D];
    return y;
}

/* Sec. 4, Tab. 1.  FC-CP is dfc-cp with u1 of ones.  chopd with open gates is Conv-CP (nine boxes of one token, or one
 * of 3 x 3) and Linear-CP (one box of one token).  Tolerance: zero, whole numbers; of the mean of nine, whose 1 / 9 and
 * products are rounded, (9 C + R + 16) u times the sum of absolute terms. */
START_TEST(variants_of_table_1_are_cases_of_two_layers)
{
    enum { IMAGES = 2, H = 5, W = 6, IN = 3, OUT = 2, R = 4, Y = IMAGES * H * W * OUT };
    real *expected[3];
    for (int variant = DEPTHWISE; variant <= LINEAR; variant++) {
        size_t boxes = variant == DEPTHWISE ? 9 : 1;
        struct trial t = trial("--grid 5x6 --activation none", &chopd, IMAGES, IN,
                               boxes == 9 ? "R=4 D=2 G=9 S=2" : "R=4 D=2 G=1 S=2", "");
        const struct chopd_problem p = chopd_of(&t.problem);
        real *kernel = zeros(R * 9), *box = trial_tensor(&t, "boxes"), *mix = trial_tensor(&t, "mix");
        make_whole(&t);
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
        if (variant == POOLING)
            for (size_t at = 0; at < t.inputs; at++) t.x[at] *= 9;
        expected[variant] = by_loops(&p, t.x, kernel, false);
        double tolerance = variant == POOLING ? (9 * IN + R + 16) * UNIT_ROUNDOFF
                         * largest(by_loops(&p, t.x, kernel, true), Y) : 0;
        within("naive", largest_difference(trial_run(&t, "naive", 1), expected[variant], Y), tolerance);
        within("fast", largest_difference(trial_run(&t, "fast", 1), expected[variant], Y), tolerance);
        ck_assert(largest(expected[variant], Y) > 2);
        for (int other = 0; other < variant; other++) unequal(expected[other], expected[variant], Y);
    }

    struct trial t = trial("--activation none", &dfc_cp, IMAGES, IN, "M=5 N=6 D=2 R=4", "");
    const struct dfc_problem p = dfc_of(&t.problem);
    size_t entries = 5 * 6 * IN * OUT;
    real *w = zeros(IMAGES * entries);
    make_whole(&t);
    memset(trial_tensor(&t, "b"), 0, 6 * OUT * sizeof *w);
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        for (size_t ir = 0; ir < IMAGES * R; ir++) trial_tensor(&t, "u1")[ir] = (real)(1 + dynamic * (int)(ir / R));
        dfc_naive_tensor(w, &p);
        if (dynamic) unequal(w + entries, w, entries);
        else equal(w + entries, w, entries);
        real *y = layer(&p, w, t.x);
        equal(trial_run(&t, "naive", 1), y, t.outputs);
        equal(trial_run(&t, "fast", 1), y, t.outputs);
    }
}
END_TEST

/* Whole numbers from 1 to 3. */
static real *positive(int seed, size_t n)
{
    real *x = integers((uint64_t)seed, n, 1);
    for (size_t at = 0; at < n; at++) x[at] += 2;
    return x;
}

enum { COMPONENTS = 3 };

/* n entries of one. */
static real *ones(size_t n)
{
    real *x = zeros(n);
    for (size_t at = 0; at < n; at++) x[at] = 1;
    return x;
}

/* U2_mnr = u2_mr for every token out. */
static real *for_tokens(const real *u2)
{
    real *all = zeros(M * M * COMPONENTS);
    for (size_t mnr = 0; mnr < M * M * COMPONENTS; mnr++)
        all[mnr] = u2[mnr / COMPONENTS / M * COMPONENTS + mnr % COMPONENTS];
    return all;
}

/* The tensor of two images that chopd_naive_tensor makes of these factors: u2 [M][M][R], u13 [B][M][R]. */
static real *in_factors(const struct chopd_problem *p, const real *u2, const real *u13)
{
    real *w = zeros(B * ENTRIES);
    for (size_t i = 0; i < B; i++) chopd_naive_tensor(w + i * ENTRIES, u2, u13 + i * M * COMPONENTS, p);
    return w;
}

/* kernel_dck = sum_r u5_dr u4_cr kernel_rk, for kernels of k x k. */
static real *mixed_kernel(const struct chopd_problem *p, const real *kernel, size_t entries)
{
    real *mixed = zeros(C * C * entries);
    for (size_t dck = 0; dck < C * C * entries; dck++)
        for (size_t r = 0; r < COMPONENTS; r++)
            mixed[dck] += p->u5[dck / entries / C * COMPONENTS + r] * p->u4[dck / entries % C * COMPONENTS + r]
                        * kernel[r * entries + dck % entries];
    return mixed;
}

/* U2_mnr = kernel_r[m - n]. */
static real *around(const struct window *v, const real *kernel)
{
    real *u2 = zeros(M * M * COMPONENTS);
    for (size_t mnr = 0; mnr < M * M * COMPONENTS; mnr++) {
        size_t k = entry(v, mnr / COMPONENTS / M, mnr / COMPONENTS % M), r = mnr % COMPONENTS;
        if (k < v->k * v->k) u2[mnr] = kernel[r * v->k * v->k + k];
    }
    return u2;
}

/* Sec. 4, Tab. 1: W_imncd = sum_r U13_inr U2_mnr U4_cr U5_dr, whose factors are restricted from row to row: U13 of the
 * image, boxes (DFC-CP); U13 = U3, U2_mr (FC-CP); U13 = 1 and U2 a kernel of 3 x 3 (Conv-CP), of ones (pooling), of one
 * token (Linear-CP).  Whole numbers, boxes of 64 tokens and of 2: zero. */
START_TEST(rows_of_table_1_are_one_tensor)
{
    enum { R = COMPONENTS };
    const real *u4 = positive(31, C * R), *u5 = positive(32, C * R), *u2 = positive(33, M * R);
    const struct chopd_problem p = {.B = B, .H = SIDE, .W = SIDE, .N = M, .C = C, .D = C, .R = R, .G = 2,
                                    .u4 = u4, .u5 = u5};
    const real *gate = positive(34, B * M * R), *place_alone = for_tokens(u2), *kernel = positive(35, R * 9);
    real *open = ones(B * M * R), *gate_of_place = zeros(B * M * R);
    for (size_t inr = 0; inr < B * M * R; inr++) gate_of_place[inr] = gate[inr % (M * R)];

    /* Step 1: DFC-CP, against sigma's argument in Eq. 10, sum by sum. */
    real *P = zeros(M * M * R * 2), *boxes = zeros(4 * R * 2), *pooled = zeros(M * M * R);
    real *x = integers(36, B * M * C, 3);
    for (size_t rge = 0; rge < R * 2 * 4; rge++) {
        static const real box[2][4] = {{-4, -4, 4, 4}, {(real)-0.5, (real)-0.5, (real)0.5, (real)1.5}};
        boxes[rge] = box[rge / 4 % 2][rge % 4];
    }
    chopd_naive_pooling(P, boxes, SIDE, SIDE, R, 2);
    chopd_naive_mixing(pooled, P, positive(37, R * 2), M, R, 2);
    real *y = zeros(B * M * C);
    for (size_t inr = 0; inr < B * M * R; inr++) {
        size_t i = inr / (M * R), n = inr / R % M, r = inr % R;
        real sum = 0;
        for (size_t mc = 0; mc < M * C; mc++)
            sum += pooled[(mc / C * M + n) * R + r] * u4[mc % C * R + r] * x[i * M * C + mc];
        for (size_t d = 0; d < C; d++) y[(i * M + n) * C + d] += u5[d * R + r] * gate[inr] * sum;
    }
    real *row[5] = {in_factors(&p, pooled, gate)};
    equal(layer(&sizes, row[0], x), y, B * M * C);

    /* Step 2: FC-CP, against Eq. 5 with u1 of ones. */
    const struct dfc_problem static_one = {.B = B, .M = M, .N = M, .C = C, .D = C, .R = R,
                                           .u1 = open, .u2 = u2, .u3 = gate, .u4 = u4, .u5 = u5};
    real *w = zeros(B * ENTRIES);
    dfc_naive_tensor(w, &static_one);
    row[1] = in_factors(&p, place_alone, gate_of_place);
    equal(row[1], w, B * ENTRIES);

    /* Step 3: what only looks at offsets, against convolutions. */
    const real *same = ones(R * 9), *middle = ones(R);
    row[2] = in_factors(&p, around(&three, kernel), open);
    equal(row[2], for_both(convolution_tensor(&three, mixed_kernel(&p, kernel, 9), C, C)), B * ENTRIES);
    row[3] = in_factors(&p, around(&three, same), open);
    equal(row[3], for_both(convolution_tensor(&three, mixed_kernel(&p, same, 9), C, C)), B * ENTRIES);
    row[4] = in_factors(&p, around(&one, middle), open);
    equal(row[4], for_both(convolution_tensor(&one, mixed_kernel(&p, middle, 1), C, C)), B * ENTRIES);

    /* Step 4: which indices each depends on, and that no two are alike. */
    static const int traits[5] = {DYNAMIC | ADAPTIVE | GLOBAL | MIXING, ADAPTIVE | GLOBAL | MIXING, MIXING, MIXING,
                                  MIXING};
    for (size_t k = 0; k < 5; k++) {
        ck_assert_msg(traits_of(row[k]) == traits[k], "row %zu: %d", k + 1, traits_of(row[k]));
        for (size_t other = 0; other < k; other++) unequal(row[k], row[other], B * ENTRIES);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, traits");
    TCase *flags = add_case(suite, "flags");
    tcase_add_test(flags, flags_of_layers_are_dependences_of_w);
    tcase_add_test(flags, flags_of_table_2_are_dependences_of_w);
    TCase *tables = add_case(suite, "the puzzle and Table 1");
    tcase_add_test(tables, dynamic_layers_undo_every_shuffle);
    tcase_add_test(tables, rows_of_table_1_are_one_tensor);
    tcase_add_test(tables, variants_of_table_1_are_cases_of_two_layers);
    return run_suite(suite);
}
