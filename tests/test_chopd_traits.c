/* test_chopd_traits.c -- what each layer of the tables is: dynamic, adaptive, global, mixing
 *
 * A trait is a dependence of the tensor W_imncd on an index: i of the image, n of
 * the place, m of far tokens, c and d of other channels.  Tensors are those of
 * 4 x 4 tokens and two channels, of two images; numbers are normal, so none is
 * zero or twice the same, and the tolerance is zero. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../reference/steps.h"

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

/* What dfc-cp and chopd define, the latter with a box of 8 x 8 tokens, which every token has all of; phi of as many
 * cells as there are tokens, so that nothing is rounded between them. */
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

/* Claim      DFC is dynamic, adaptive, global and mixes channels.  FC is not dynamic; a convolution is local and not
 *            adaptive either; a depth-wise one and pooling do not mix channels; a point-wise one mixes no tokens.
 *            dfc-cp and chopd have all four traits, chopd without phi's last map is global and mixing.
 * Paper      ChoP'D, Abstract, Fig. 1a, Sec. 4.
 * Measure    Which of i, n, m, c and d the tensors depend on: W differs between images; W_mn is no function of m - n;
 *            it is zero for no m, n; it is not zero for some c other than d.
 * Tolerance  Zero.
 * Would it fail?  Each trait has two layers in the list that differ by it alone, but for global, which of pooling and
 *            a point-wise convolution neither has and fc has. */
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

/* W_imnc of self-attention with values of ones, in windows so many tokens wide. */
static real *of_attention(const real *x, size_t window)
{
    real *w = zeros(B * ENTRIES);
    for (size_t in = 0; in < B * M; in++) {
        real weight[M], shared[M];
        size_t i = in / M, n = in % M, met = 0;
        for (size_t m = 0; m < M; m++) {
            if (m / SIDE / window != n / SIDE / window || m % SIDE / window != n % SIDE / window) continue;
            weight[met] = 0;
            for (size_t c = 0; c < C; c++) weight[met] += x[in * C + c] * x[(i * M + m) * C + c];
            met++;
        }
        softmax(weight, met);
        memcpy(shared, weight, met * sizeof *weight);
        met = 0;
        for (size_t m = 0; m < M; m++) {
            if (m / SIDE / window != n / SIDE / window || m % SIDE / window != n % SIDE / window) continue;
            for (size_t c = 0; c < C; c++) w[place(&sizes, i, m, n, c, c)] = shared[met];
            met++;
        }
    }
    return w;
}

/* W_mnc = kernel_c[m - n], around the plane and back. */
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

/* Claim      Of Table 2, self-attention and gated layers are dynamic and adaptive, of the whole image global as
 *            well, of windows not; convolutions and pooling are neither.  A circular convolution as large as the plane
 *            is global alone: it shares its weights, and is not adaptive.
 * Paper      ChoP'D, Sec. 4, Tab. 2; its flag n of GFNet is left open.
 * Measure    As above, channels apart; a gate z1 o (V z2 + b), z1 a map of x, by its derivative by z2; y of a circular
 *            convolution of x moved by (1, 3) against its y moved.
 * Tolerance  Zero; whole numbers for what is moved.
 * Would it fail?  With windows of four tokens a side attention in windows is that of the image. */
START_TEST(flags_of_table_2_are_dependences_of_w)
{
    real *x = normal(11, B * M * C), *V = normal(12, M * M), *map = normal(13, C * C), *gated = zeros(B * ENTRIES);
    for (size_t imn = 0; imn < B * M * M; imn++) {
        size_t i = imn / (M * M), m = imn / M % M, n = imn % M;
        for (size_t c = 0; c < C; c++) {
            real z1 = 0;
            for (size_t e = 0; e < C; e++) z1 += x[(i * M + n) * C + e] * map[e * C + c];
            gated[place(&sizes, i, m, n, c, c)] = z1 * V[m * M + n];
        }
    }
    const struct { const char *name; const real *w; int traits; } layer_of[] = {
        {"self-attention", of_attention(x, SIDE), DYNAMIC | ADAPTIVE | GLOBAL},
        {"in windows", of_attention(x, 2), DYNAMIC | ADAPTIVE},
        {"gated", gated, DYNAMIC | ADAPTIVE | GLOBAL},
        {"depth-wise", for_both(depthwise_tensor(&three, normal(14, C * 9), C)), 0},
        {"average pooling", mean_of_nine(), 0},
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

/* Solves a x = b for all columns of b [n][columns], in place, with the largest pivot. */
static void solve(double *a, double *b, size_t n, size_t columns)
{
    for (size_t column = 0; column < n; column++) {
        size_t pivot = column;
        for (size_t i = column; i < n; i++)
            if (fabs(a[i * n + column]) > fabs(a[pivot * n + column])) pivot = i;
        for (size_t j = 0; j < n; j++) {
            double kept = a[column * n + j];
            a[column * n + j] = a[pivot * n + j], a[pivot * n + j] = kept;
        }
        for (size_t j = 0; j < columns; j++) {
            double kept = b[column * columns + j];
            b[column * columns + j] = b[pivot * columns + j], b[pivot * columns + j] = kept;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = i == column ? 0 : a[i * n + column] / a[column * n + column];
            for (size_t j = 0; j < n; j++) a[i * n + j] -= factor * a[column * n + j];
            for (size_t j = 0; j < columns; j++) b[i * columns + j] -= factor * b[column * columns + j];
        }
    }
    for (size_t ij = 0; ij < n * columns; ij++) b[ij] /= a[ij / columns * (n + 1)];
}

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

static const double puzzle[5][4] = {{1, 2, 3, 5}, {2, 0, 1, 7}, {3, 3, -1, 4}, {0, -2, 5, 1}, {1, 1, 6, 2}};

/* Adds what an image so shuffled gives to the normal equations of x_n = sum_m W_mn shuffled_m. */
static void add_shuffled(double *a, double *b, const double *image, const size_t *from)
{
    for (size_t mn = 0; mn < 4 * 4; mn++) {
        a[mn] += image[from[mn / 4]] * image[from[mn % 4]];
        b[mn] += image[from[mn / 4]] * image[mn % 4];
    }
}

/* What tap t of a kernel that reaches so many patches to each side meets at place n of a shuffled image; zeros
 * around. */
static double met(const double *image, const size_t *from, size_t n, size_t t, size_t reach)
{
    size_t m = n + t - reach;           /* wraps below 0 */
    return m < 4 ? image[from[m]] : 0;
}

/* What the best convolution that reaches so far leaves of the images, over what they are: the root mean squares. */
static double left_by_convolution(size_t reach, const size_t *from)
{
    size_t taps = 2 * reach + 1;
    double a[7 * 7] = {0}, kernel[7] = {0}, left = 0, all = 0;
    for (size_t kn = 0; kn < 5 * 4; kn++)
        for (size_t t = 0; t < taps; t++) {
            double at_t = met(puzzle[kn / 4], from, kn % 4, t, reach);
            for (size_t u = 0; u < taps; u++) a[t * taps + u] += at_t * met(puzzle[kn / 4], from, kn % 4, u, reach);
            kernel[t] += at_t * puzzle[kn / 4][kn % 4];
        }
    solve(a, kernel, taps, 1);
    for (size_t kn = 0; kn < 5 * 4; kn++) {
        double sum = 0, right = puzzle[kn / 4][kn % 4];
        for (size_t t = 0; t < taps; t++) sum += kernel[t] * met(puzzle[kn / 4], from, kn % 4, t, reach);
        left += (sum - right) * (sum - right);
        all += right * right;
    }
    return sqrt(left / all);
}

/* Claim      A fully connected layer undoes a shuffle that is always the same; a convolution does not, even one that
 *            reaches all patches, and one that reaches fewer moves nothing farther than its window. Where all shuffles
 *            are alike probable, the best static layer sees the mean of the patches alone: x_n is foretold as
 *            (sum_k s_k x_kn / sum_k s_k^2) s, with s_k the sum of image k's patches. A dynamic layer, for patches
 *            with a mark of where they belong, undoes any.
 * Paper      ChoP'D, Sec. 4, the puzzle; derived, without training.
 * Measure    Least squares by normal equations, five images of four patches: W and kernels of three and seven taps,
 *            shuffled by (2 0 3 1); W over all 24 shuffles. Eq. 3 with W_imn of one where the mark of m is n, all 24.
 *            y_0 of three taps on 16 tokens.
 * Tolerance  1e-12 for W; what a convolution leaves is beyond a tenth; else zero.
 * Would it fail?  The weights of one shuffle are not those of all; images that are not shuffled are left as they are
 *            by a convolution. */
START_TEST(static_layers_undo_no_random_shuffle)
{
    static const size_t always[4] = {2, 0, 3, 1}, never[4] = {0, 1, 2, 3};
    double a[4 * 4] = {0}, w[4 * 4] = {0}, all[4 * 4] = {0}, best[4 * 4] = {0}, worst = 0, apart = 0;
    double by_sum[4] = {0}, squares = 0;
    for (size_t k = 0; k < 5; k++) {
        double sum = 0;
        for (size_t n = 0; n < 4; n++) sum += puzzle[k][n];
        for (size_t n = 0; n < 4; n++) by_sum[n] += sum * puzzle[k][n];
        squares += sum * sum;
        add_shuffled(a, w, puzzle[k], always);
        for (size_t which = 0; which < 24; which++) {
            size_t from[4];
            shuffle_of(which, from);
            add_shuffled(all, best, puzzle[k], from);
        }
    }
    solve(a, w, 4, 4);
    solve(all, best, 4, 4);
    for (size_t mn = 0; mn < 4 * 4; mn++) {
        worse(&worst, fabs(w[mn] - (always[mn / 4] == mn % 4)));
        worse(&worst, fabs(best[mn] - by_sum[mn % 4] / squares));
        apart = fmax(apart, fabs(w[mn] - best[mn]));
    }
    within("both W", worst, 1e-12);
    beyond("    one shuffle's for all", apart, 0.1);
    within("left by three taps", fabs(left_by_convolution(1, always) - 0.82), 0.005);
    within("left by seven", fabs(left_by_convolution(3, always) - 0.38), 0.005);
    within("    where nothing is shuffled", left_by_convolution(1, never), 1e-12);

    for (size_t which = 0; which < 24; which++) {
        const struct dfc_problem s = {.B = 5, .M = 4, .N = 4, .C = 2, .D = 1};
        real *x = zeros(5 * 4 * 2), *undo = zeros(5 * 4 * 4 * 2), *image = zeros(5 * 4);
        size_t from[4];
        shuffle_of(which, from);
        for (size_t km = 0; km < 20; km++) {
            image[km] = (real)puzzle[km / 4][km % 4];
            x[2 * km] = (real)puzzle[km / 4][from[km % 4]], x[2 * km + 1] = (real)from[km % 4];
            for (size_t n = 0; n < 4; n++) undo[place(&s, km / 4, km % 4, n, 0, 0)] = x[2 * km + 1] == (real)n;
        }
        equal(layer(&s, undo, x), image, 20);
    }

    const struct window taps = {1, 16, 3, 1, 1};
    const struct dfc_problem row = window_sizes(&taps, 1, 1, 1);
    real *kernel = convolution_tensor(&taps, normal(21, 9), 1, 1), *x = normal(22, 16), *far = copy(x, 16);
    far[15] += 1;
    real *y = layer(&row, kernel, x), *moved = layer(&row, kernel, far);
    equal(moved, y, 1);
    unequal(moved + 14, y + 14, 2);
}
END_TEST

/* ---- the variants of Table 1 ------------------------------------------------ */

enum variant { DEPTHWISE, POOLING, LINEAR };

/* y_nd = sum_r u5_dr sum_k kernel_rk sum_c u4_cr x_(n+k)c + b_d over 3 x 3 tokens, zeros around; or of absolute
 * values. */
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

/* Claim      The variants are cases of two layers.  FC-CP is dfc-cp with u1 of ones.  With gates of one chopd is
 *            Conv-CP: depth-wise with nine boxes of one token each and the kernel as mix, or pooling with one box of
 *            3 x 3 tokens; and Linear-CP with one box of one token.
 * Paper      ChoP'D, Sec. 4, Tab. 1.
 * Measure    Both forms against loops, 5 x 6 tokens, 3 channels in, 2 out, 4 components, 2 images; dfc-cp's tensor of
 *            two images, and with it Eq. 3.
 * Tolerance  Zero: whole numbers.  For the mean of nine (9 C + R + 16) u times the sum of absolute terms: 1 / 9 is
 *            rounded, so are its products.
 * Would it fail?  With u1 of two values the images differ; the three variants differ from each other. */
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

/* The tensor of two images that one heart makes of these factors: u2 [M][M][R], u13 [B][M][R]. */
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

/* Claim      The five rows of Table 1 are one tensor, W_imncd = sum_r U13_inr U2_mnr U4_cr U5_dr, whose factors are
 *            bound more tightly from row to row: U13 of the image, boxes (DFC-CP); U13_nr = U3, U2_mr (FC-CP); U13 = 1,
 *            and U2 a kernel of 3 x 3 (Conv-CP), the same of ones (pooling), of one token (Linear-CP). The indices that
 *            the row's W has in the table are those that it depends on.
 * Paper      ChoP'D, Tab. 1, Sec. 4.
 * Measure    The heart of Eq. 10's naive form against, row by row: the five sums one after the other; Eq. 5 with u1 of
 *            ones; the tensors of convolutions with the kernel sum_r u5 u4 kernel. The traits of each.
 * Tolerance  Zero: whole numbers, boxes of 64 tokens and of 2.
 * Would it fail?  Each row has another tensor; with a gate that is one for both images the first is not dynamic. */
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
    tcase_add_test(tables, static_layers_undo_no_random_shuffle);
    tcase_add_test(tables, rows_of_table_1_are_one_tensor);
    tcase_add_test(tables, variants_of_table_1_are_cases_of_two_layers);
    return run_suite(suite);
}
