/* test_chopd_theorems.c -- theorems about Eq. 5, 6, 7 and 10 of ChoP'D
 *
 * Where all sums are exact, numbers are whole and the tolerance is zero. */

#include <stdlib.h>
#include "chopd_case.h"
#include "dfc_case.h"
#include "../support/als.h"
#include "../../reference/runtime/linear.h"
#include "../../reference/msa.h"
#include "../../reference/runtime/random.h"

/* ---- factors ------------------------------------------------------------ */

/* A dfc-cp of 2 images, 4 tokens in, 3 out, 3 channels in, 2 out. */
static struct trial small_former(size_t R)
{
    char sizes[40];
    snprintf(sizes, sizeof sizes, "M=4 N=3 D=2 R=%zu", R);
    return trial("--activation none", &dfc_cp, 2, 3, sizes, "");
}

static const size_t small[5] = {2, 4, 3, 3, 2};
static const char *const factor[5] = {"u1", "u2", "u3", "u4", "u5"};

/* ChoP'D, Eq. 5: with R >= rank(W) no error is left. One term for every entry of four of the five indices is enough:
 * the fifth factor is a fibre of W. Without the last term, which is not zero, the tensor differs. */
START_TEST(enough_terms_make_any_layer)
{
    enum { ENTRIES = 2 * 4 * 3 * 3 * 2 };
    struct trial t = small_former(ENTRIES / small[_i]);
    const struct dfc_problem s = dfc_of(&t.problem);
    real *w = integers(1, ENTRIES, 4), *made = zeros(ENTRIES);
    for (size_t at = 0; at < ENTRIES; at++) w[at] += w[at] == 0;
    make_whole(&t);
    for (int a = 0; a < 5; a++) trial_fill(&t, factor[a], 0);
    for (size_t at = 0; at < ENTRIES; at++) {
        size_t index[5], r = 0;
        for (size_t a = 5, rest = at; a-- > 0; rest /= small[a]) index[a] = rest % small[a];
        for (int a = 0; a < 5; a++) r = a == _i ? r : r * small[a] + index[a];
        for (int a = 0; a < 5; a++) trial_tensor(&t, factor[a])[index[a] * s.R + r] = a == _i ? w[at] : 1;
    }
    dfc_naive_tensor(made, &s);
    equal(made, w, ENTRIES);

    real *y = layer(&s, w, t.x);
    for (size_t at = 0; at < t.outputs; at++) y[at] += problem_tensor(&t.problem, "b")[at % 6];
    forms_equal(&t, y);

    for (size_t k = 0; k < small[_i]; k++) trial_tensor(&t, factor[_i])[k * s.R + s.R - 1] = 0;
    dfc_naive_tensor(made, &s);
    unequal(made, w, ENTRIES);
}
END_TEST

/* Derived from Eq. 5. Where the kernel's matrix is invertible, M C terms are also necessary: W as a matrix [m c][n d]
 * is a sum of R matrices of rank one, and has rank M C. Nine ones on 2 x 2 tokens have rank C. */
START_TEST(depthwise_convolution_has_m_c_terms)
{
    enum { C = 2 };
    const struct window v[] = {{4, 4, 3, 1, 1}, {2, 2, 3, 1, 1}};
    for (int alike = 0; alike < 2; alike++) {
        size_t M = v[alike].H * v[alike].W, R = M * C;
        real *w = depthwise_tensor(&v[alike], alike ? filled(C * 9, 1) : integers(71, C * 9, 3), C);
        real *made = zeros(M * M * C * C), *flat = zeros(R * R);
        real *u1 = zeros(R), *u2 = zeros(M * R), *u3 = zeros(M * R), *u4 = zeros(C * R), *u5 = zeros(C * R);
        const struct dfc_problem s = {.B = 1, .M = M, .N = M, .C = C, .D = C, .R = R,
                                      .u1 = u1, .u2 = u2, .u3 = u3, .u4 = u4, .u5 = u5};
        for (size_t r = 0; r < R; r++) {
            size_t m = r / C, c = r % C;
            u1[r] = u2[m * R + r] = u4[c * R + r] = u5[c * R + r] = 1;
            for (size_t n = 0; n < M; n++) u3[n * R + r] = w[place(&s, 0, m, n, c, c)];
        }
        dfc_naive_tensor(made, &s);
        equal(made, w, M * M * C * C);

        for (size_t at = 0; at < R * R; at++) flat[at] = w[place(&s, 0, at / R / C, at % R / C, at / R % C, at % C)];
        ck_assert_uint_eq(matrix_rank(flat, R, R, 1e-9), alike ? C : R);
    }
}
END_TEST

/* ---- ranks -------------------------------------------------------------- */

/* Sizes, and a rank below them. */
static const struct { int axes; size_t size[ALS_AXES], rank; } ranked[] = {
    {3, {4, 5, 6}, 1}, {3, {8, 7, 6}, 4}, {4, {3, 4, 5, 6}, 4}, {5, {3, 4, 3, 4, 5}, 4},
};

struct terms { double *u[ALS_AXES]; };         /* u[a] is [size[a]][rank]; freed by forget */

static double *doubles(size_t count)
{
    double *a = calloc(count, sizeof *a);
    ck_assert_ptr_nonnull(a);
    return a;
}

static struct terms new_terms(int axes, const size_t size[], size_t rank)
{
    struct terms terms = {{NULL}};
    for (int a = 0; a < axes; a++) terms.u[a] = doubles(size[a] * rank);
    return terms;
}

static void forget(struct terms *terms)
{
    for (int a = 0; a < ALS_AXES; a++) free(terms->u[a]);
}

/* The sum of the terms. */
static double *tensor_of(const struct terms *terms, int axes, const size_t size[], size_t rank)
{
    size_t count = 1;
    for (int a = 0; a < axes; a++) count *= size[a];
    double *t = doubles(count);
    for (size_t at = 0; at < count; at++)
        for (size_t r = 0; r < rank; r++) {
            double product = 1;
            for (size_t a = (size_t)axes, rest = at; a-- > 0; rest /= size[a])
                product *= terms->u[a][rest % size[a] * rank + r];
            t[at] += product;
        }
    return t;
}

static double least_error(const double *t, int axes, const size_t size[], size_t rank)
{
    struct terms terms = new_terms(axes, size, rank);
    double error = als(terms.u, t, axes, size, rank, 100);
    forget(&terms);
    return error;
}

/* ChoP'D, Sec. 2.1 and 2.3: no error is left from R = rank(W) on.  Tolerance: u = 2^-53 times the square of the
 * factors' condition, which is at most some hundreds. */
START_TEST(true_rank_is_exact)
{
    const int axes = ranked[_i].axes;
    const size_t *size = ranked[_i].size, rank = ranked[_i].rank;
    struct terms terms = new_terms(axes, size, rank);
    for (int a = 0; a < axes; a++)
        for (size_t n = 0; n < size[a] * rank; n++) terms.u[a][n] = random_normal(10, (uint64_t)a, n);
    double *t = tensor_of(&terms, axes, size, rank);
    within("at its rank", least_error(t, axes, size, rank), 1e-11);
    if (rank > 1) beyond("    a term less", least_error(t, axes, size, rank - 1), 0.01);
    forget(&terms);
    free(t);
}
END_TEST

/* ChoP'D, Sec. 2.1: CP "generalizes the concept of matrix singular value decomposition (SVD) to tensors"; Eckart and
 * Young (1936).  The columns of a Hadamard matrix are orthogonal, so the singular values of this matrix are 4, 3, 2, 1
 * times a constant.  Each sweep shrinks what is left by (s_{R+1}/s_R)^2 <= 0.57, so after 300 only rounding is left.
 * Tolerance: some thousand roundings of 2^-53. */
START_TEST(matrices_reach_their_singular_values)
{
    static const size_t size[3] = {4, 1, 4};
    static const double hadamard[4][4] = {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}};
    double t[16] = {0};
    for (size_t at = 0; at < 16; at++)
        for (size_t r = 0; r < 4; r++) t[at] += (4 - (double)r) * hadamard[at / 4][r] * hadamard[r][at % 4];
    for (size_t rank = 1; rank < 4; rank++) {
        double tail = 0;
        for (size_t r = rank; r < 4; r++) tail += (4 - (double)r) * (4 - (double)r);
        double best = sqrt(tail / 30);
        within("error against singular values", fabs(least_error(t, 3, size, rank) / best - 1), 1e-12);
    }
}
END_TEST

/* ChoP'D, Sec. 2.3: "lower R implies larger errors". */
START_TEST(error_falls_with_rank)
{
    static const size_t size[] = {4, 5, 6};
    double t[120], last = 1;
    for (size_t at = 0; at < 120; at++) t[at] = random_normal(50, 0, at);
    for (size_t rank = 1; rank <= 8; rank++) {
        double error = least_error(t, 3, size, rank);
        ck_assert_double_lt(error, last);
        last = error;
    }
    ck_assert_double_gt(last, 0.01);
}
END_TEST

/* ChoP'D, Sec. 2.2 and 2.3.  Pooling has rank min(C, D), a point-wise convolution M min(C, D): W is a sum of this many
 * terms, and its matrix [m c][n d] has that rank.  Sharing weights is not low rank. */
START_TEST(ranks_of_pooling_and_pointwise_convolution)
{
    enum { M = 4, C = 3, ROWS = M * C, ENTRIES = ROWS * ROWS };
    real *w = integers(70, C * C, 3), *u2 = zeros(M * ROWS), *u3 = zeros(M * ROWS), *u4 = zeros(C * ROWS),
         *u5 = zeros(C * ROWS), *made = zeros(ENTRIES), *expected = zeros(ENTRIES), *flat = zeros(ENTRIES);
    for (int pointwise = 0; pointwise < 2; pointwise++) {
        const size_t R = pointwise ? ROWS : C;
        const struct dfc_problem s = {.B = 1, .M = M, .N = M, .C = C, .D = C, .R = R,
                                      .u1 = filled(R, 1), .u2 = u2, .u3 = u3, .u4 = u4, .u5 = u5};
        for (size_t r = 0; r < R; r++) {
            for (size_t m = 0; m < M; m++) u2[m * R + r] = u3[m * R + r] = !pointwise || r / C == m;
            for (size_t c = 0; c < C; c++) {
                u4[c * R + r] = c == r % C;
                u5[c * R + r] = w[r % C * C + c];
            }
        }
        dfc_naive_tensor(made, &s);
        for (size_t at = 0; at < ENTRIES; at++) {
            size_t m = at / C / ROWS, c = at / ROWS % C, n = at / C % M, d = at % C;
            flat[at] = !pointwise || m == n ? w[c * C + d] : 0;
            expected[place(&s, 0, m, n, c, d)] = flat[at];
        }
        equal(made, expected, ENTRIES);
        ck_assert_uint_eq(matrix_rank(flat, ROWS, ROWS, 1e-9), R);
    }
}
END_TEST

/* ChoP'D, Eq. 3, 5, 6. Tolerance: what als leaves, times ||W|| ||x||, and (M C + 5 R + 20) u times Eq. 3 of the
 * factors' absolute values, twice. With one term less the layer differs. */
START_TEST(factors_that_als_finds_are_the_layer)
{
    enum { ENTRIES = 2 * 4 * 3 * 3 * 2 };
    const size_t R = _i ? 4 : 2;
    const struct dfc_problem s = {
        .B = 2, .M = 4, .N = 3, .C = 3, .D = 2, .R = R, .u1 = normal(20, 2 * R), .u2 = normal(21, 4 * R),
        .u3 = normal(22, 3 * R), .u4 = normal(23, 3 * R), .u5 = normal(24, 2 * R),
    };
    real *w = zeros(ENTRIES), *magnitude = zeros(ENTRIES);
    double tensor[ENTRIES], norm = 0, tokens = 0;
    dfc_naive_tensor(w, &s);
    for (size_t at = 0; at < ENTRIES; at++) {
        tensor[at] = (double)w[at];
        norm += tensor[at] * tensor[at];
    }

    for (size_t rank = R; rank + 1 >= R; rank--) {
        struct trial t = small_former(rank);
        struct terms terms = new_terms(5, small, rank);
        double left = als(terms.u, tensor, 5, small, rank, 3);
        trial_fill(&t, "b", 0);
        for (size_t a = 0; a < 5; a++)
            for (size_t at = 0; at < small[a] * rank; at++) trial_tensor(&t, factor[a])[at] = (real)terms.u[a][at];
        forget(&terms);
        real *y = layer(&s, w, t.x);
        double naive = largest_difference(trial_run(&t, "naive", 1), y, t.outputs);
        double fast = largest_difference(trial_run(&t, "fast", 1), y, t.outputs);
        if (rank < R) {
            beyond("    a term less", fmin(naive, fast), 0.01);
            break;
        }
        for (size_t a = 0; a < 5; a++)
            trial_put(&t, factor[a], absolute(trial_tensor(&t, factor[a]), small[a] * rank));
        const struct dfc_problem sizes = dfc_of(&t.problem);
        dfc_naive_tensor(magnitude, &sizes);
        for (size_t at = 0; at < t.inputs; at++) tokens += (double)(t.x[at] * t.x[at]);
        double tolerance = left * sqrt(norm * tokens) + 2 * layer_bound(&s, magnitude, t.x, 5 * (double)rank + 20);
        within("naive", naive, tolerance);
        within("fast", fast, tolerance);
    }
}
END_TEST

/* What Eq. 5 calls V is the W of Eq. 3 and 4. Eq. 7 has other V, of two indices. */
START_TEST(eq6_is_eq5_in_eq3)
{
    static const struct { size_t B, C; const char *sizes; } shape[] = {
        {2, 3, "M=5 N=4 D=2 R=6"}, {1, 1, "M=1 N=1 D=1 R=1"}, {3, 2, "M=1 N=7 D=4 R=3"},
        {2, 1, "M=7 N=1 D=5 R=2"}, {1, 4, "M=6 N=6 D=4 R=1"},
    };
    struct trial t = trial("--activation none", &dfc_cp, shape[_i].B, shape[_i].C, shape[_i].sizes, "");
    const struct dfc_problem s = dfc_of(&t.problem);
    struct steps count;
    make_whole(&t);
    trial_fill(&t, "b", 0);
    real *y = eq5_in_eq3(&s, t.x);
    if (_i == 0) ck_assert(largest(y, t.outputs) > 2);
    equal(eq6(&s, t.x, ABSOLUTE, &count), y, t.outputs);
    forms_equal(&t, y);
}
END_TEST

/* Derived from Eq. 6: tokens out with equal rows of u3 have equal outputs; two tokens in with equal rows of u2 may
 * exchange any amount, another token may not. */
START_TEST(image_is_r_numbers_to_the_tokens_out)
{
    enum { M = 6, N = 5, C = 3, D = 2, R = 4 };
    const char *form = _i ? "fast" : "naive";
    struct trial t = trial("--activation none", &dfc_cp, 1, C, "M=6 N=5 D=2 R=4", "");
    make_whole(&t);
    real *u2 = trial_tensor(&t, "u2"), *u3 = trial_tensor(&t, "u3"), *b = trial_tensor(&t, "b");
    for (int r = 0; r < R; r++) u3[3 * R + r] = u3[1 * R + r];
    for (int d = 0; d < D; d++) b[3 * D + d] = b[1 * D + d];
    for (int r = 0; r < R; r++) u2[4 * R + r] = u2[2 * R + r];
    real *y = trial_run(&t, form, 1), *moved = copy(t.x, M * C), *elsewhere = copy(t.x, M * C);
    equal(y + 3 * D, y + 1 * D, D);
    unequal(y + 2 * D, y + 1 * D, D);
    for (size_t c = 0; c < C; c++) {
        moved[2 * C + c] += (real)(c + 5), moved[4 * C + c] -= (real)(c + 5);
        elsewhere[2 * C + c] += (real)(c + 5), elsewhere[5 * C + c] -= (real)(c + 5);
    }
    equal(trial_run_on(&t, form, 1, moved), y, N * D);
    unequal(trial_run_on(&t, form, 1, elsewhere), y, N * D);
}
END_TEST

/* W_imncd = sum_r U4_cr U123_imnr U5_dr, where U123 is the map [M][M] of image i and of r's head, which are h: `width`
 * components one after the other, or, if `modulo`, every h-th. */
static real *eq7(const struct dfc_problem *s, const real *u4, const real *const *map, const real *u5, size_t h,
                 bool modulo)
{
    size_t M = s->M, C = s->C, D = s->D, R = s->R;
    real *w = zeros(s->B * M * M * C * D);
    for (size_t at = 0; at < s->B * M * M * C * D; at++)
        for (size_t r = 0, mn = at / (C * D) % (M * M); r < R; r++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): every image has h maps, h > 0 */
            const real *u123 = map[at / (M * M * C * D) * h + (modulo ? r % h : r / (R / h))];
            w[at] += u4[at / D % C * R + r] * u123[mn % M * M + mn / M] * u5[at % D * R + r];
        }
    return w;
}

/* ChoP'D, Eq. 7, footnote 3: U4 = W1 W2, U5 = V1 V2, U123 the softmax of r's head, which has minors that are not zero
 * and so is no product u1_ir u2_mr u3_nr. Tolerance as for self-attention (test_chopd_layers.c). */
START_TEST(transformer_block_is_a_former)
{
    enum { B = 2, M = 7, C = 5, D = 4, R = 6 };
    const size_t h = (size_t)_i + 1, width = R / h;
    char options[64];
    snprintf(options, sizeof options, "--grid 7 --heads %zu --scale 0.5", h);
    struct trial t = trial(options, &msa, B, R, "", "rpe b_qkv b_o");
    const struct dfc_problem s = {.B = B, .M = M, .N = M, .C = C, .D = D, .R = R};
    const real *qkv = trial_tensor(&t, "w_qkv"), *w2 = qkv + 2 * R * R, *v2 = trial_tensor(&t, "w_o");
    const real *x = normal(31, B * M * C), *v1 = normal(33, D * R);
    const real *w1 = sum_of(zeros(C * R), 0.5, normal(32, C * R), C * R);

    /* Step 1: the block itself. */
    real *inner = matrix_product(x, w1, B * M, C, R), *y = zeros(B * M * D);
    linear_map(y, D, trial_run_on(&t, "naive", 1, inner), R, v1, NULL, B * M, R, D);

    /* Step 2: its factors, and those of absolute values. */
    const real *map[3 * B], *u5 = matrix_product(v1, v2, D, R, R);
    const real *u5_most = matrix_product(absolute(v1, D * R), absolute(v2, R * R), D, R, R);
    real *u4 = zeros(C * R), *u4_most = zeros(C * R);
    linear_map(u4, R, w1, R, w2, NULL, C, R, R);
    linear_map(u4_most, R, absolute(w1, C * R), R, absolute(w2, R * R), NULL, C, R, R);
    for (size_t ia = 0; ia < B * h; ia++) {
        const real *w_q = qkv + ia % h * width * R;
        map[ia] = attention_map(inner + ia / h * M * R, w_q, w_q + R * R, M, R, width, (real)0.5);
    }

    /* Step 3: Eq. 7. */
    double tolerance = 2 * layer_bound(&s, eq7(&s, u4_most, map, u5_most, h, false), x, 2 * R + 3 * M + 200);
    real *heads_modulo = layer(&s, eq7(&s, u4, map, u5, h, true), x);
    within("Eq. 7", largest_difference(layer(&s, eq7(&s, u4, map, u5, h, false), x), y, B * M * D), tolerance);
    if (h > 1) beyond("    heads taken modulo", largest_difference(heads_modulo, y, B * M * D), 0.01);
    double minor = (double)(map[0][0] * map[0][M + 1] - map[0][1] * map[0][M]);
    beyond("    a minor of the softmax", fabs(minor), 1e-4);
}
END_TEST

/* ---- pooling ------------------------------------------------------------ */

static real *pooled(const char *form, size_t H, size_t W, const struct box *box, size_t boxes, const real *plane)
{
    struct trial t = pooling(H, W, box, boxes);
    return trial_run_on(&t, form, 1, plane);
}

/* The mean over a box around token n, one token's square after the other. */
static wide_real direct(const struct box *b, const real *plane, size_t H, size_t W, size_t n)
{
    wide_real sum = 0;
    for (size_t m = 0; m < H * W; m++)
        sum += (wide_real)plane[m] * meets((double)(m / W) - (double)(n / W), b->y0, b->y1)
             * meets((double)(m % W) - (double)(n % W), b->x0, b->x1);
    return sum / ((b->y1 - b->y0) * (b->x1 - b->x0));
}

/* ChoP'D, Sec. 2.3. Expected: squares of an eighth of a token, counted one by one. Edges are in eighths and sides
 * powers of two. Boxes 4 and 5 differ by an eighth, and so must their sums. */
START_TEST(integral_image_is_the_direct_sum)
{
    enum { H = 7, W = 9 };
    static const struct box box[] = {
        {-.5, -.5, .5, .5},         {-.5, -.5, 1.5, 3.5},        {-2.5, .5, 1.5, 2.5},      {.5, -4.5, 1.5, 3.5},
        {-1.25, -.75, 2.75, 1.25},  {-1.125, -.75, 2.875, 1.25}, {-6, -8.5, 2, -.5},        {3.25, 4, 7.25, 6},
        {20, 20, 24, 24},           {-40, -1, -32, 1},           {-32, -32, 32, 32},        {-16, -.5, 16, .5},
        {.125, -.25, .25, .25},     {.375, .25, .625, .75},      {-.5, -.5, -.375, -.375},  {2.5, -3.75, 4.5, -3.5},
    };
    real *plane = integers(41, H * W, 3), *y = pooled(_i ? "fast" : "naive", H, W, box, COUNT(box), plane);
    bool near = false;
    for (size_t n = 0; n < H * W; n++) {
        for (size_t r = 0; r < COUNT(box); r++) {
            wide_real sum = 0;
            for (size_t row = 0; row < 8 * H; row++)
                for (size_t column = 0; column < 8 * W; column++) {
                    double down = ((double)row + 0.5) / 8 - 0.5 - (double)(n / W);
                    double across = ((double)column + 0.5) / 8 - 0.5 - (double)(n % W);
                    if (down > box[r].y0 && down < box[r].y1 && across > box[r].x0 && across < box[r].x1)
                        sum += (wide_real)plane[row / 8 * W + column / 8];
                }
            wide_real mean = sum / 64 / ((box[r].y1 - box[r].y0) * (box[r].x1 - box[r].x0));
            ck_assert_msg((wide_real)y[n * COUNT(box) + r] == mean, "box %zu at token %zu: %g, expected %g", r, n,
                          (double)y[n * COUNT(box) + r], (double)mean);
        }
        near = near || y[n * COUNT(box) + 4] != y[n * COUNT(box) + 5];
        ck_assert(y[n * COUNT(box) + 8] == 0);
    }
    ck_assert(near);
}
END_TEST

/* Tolerance: u max |x| (4 (H + W) N / A + N + 64). Four corners, each a sum of at most N tokens with H + W roundings,
 * over the area A, which counts as between 1 and N; N + 64 for the naive sum and the edges. */
START_TEST(integral_image_is_the_direct_sum_on_any_numbers)
{
    static const size_t shape[][2] = {{5, 7}, {17, 9}, {1, 12}};
    enum { BOXES = 20 };
    size_t H = shape[_i][0], W = shape[_i][1], N = H * W;
    real *plane = normal(42, N), *middle = uniform(43, 2 * BOXES, -6, 6), *side = uniform(44, 2 * BOXES, -2.3, 3);
    struct box box[BOXES];
    for (size_t r = 0; r < BOXES; r++) {
        double h = exp((double)side[2 * r]) / 2, w = exp((double)side[2 * r + 1]) / 2;
        double y = (double)middle[2 * r], x = (double)middle[2 * r + 1];
        real y0 = (real)(y - h), x0 = (real)(x - w), y1 = (real)(y + h), x1 = (real)(x + w);
        box[r] = (struct box){(double)y0, (double)x0, (double)y1, (double)x1};
    }
    box[0] = (struct box){-.5, -.5, 1.25, 2.75};
    box[1] = (struct box){-1.25, -2.75, .5, 1.5};
    for (int fast = 0; fast < 2; fast++) {
        real *y = pooled(fast ? "fast" : "naive", H, W, box, BOXES, plane);
        double worst = 0;
        for (size_t n = 0; n < N; n++)
            for (size_t r = 0; r < BOXES; r++) {
                double area = (box[r].y1 - box[r].y0) * (box[r].x1 - box[r].x0);
                double allowed = 4 * (double)((H + W) * N) / fmin(fmax(area, 1), (double)N) + (double)N + 64;
                double share = fabs((double)((wide_real)y[n * BOXES + r] - direct(&box[r], plane, H, W, n))) / allowed;
                worse(&worst, share);
            }
        within(fast ? "fast, over its bound" : "naive, over its bound", worst, UNIT_ROUNDOFF * largest(plane, N));
    }
}
END_TEST

/* The integral image of H + 1 rows and W + 1 columns at (y, x), in tokens from the plane's corner. */
static real table_at(const real *table, size_t H, size_t W, double y, double x)
{
    y = fmin(fmax(y, 0), (double)H), x = fmin(fmax(x, 0), (double)W);
    size_t row = (size_t)fmin(floor(y), (double)H - 1), column = (size_t)fmin(floor(x), (double)W - 1);
    const real *at = table + row * (W + 1) + column;
    const real down = (real)(y - (double)row), across = (real)(x - (double)column);
    real upper = at[0] + across * (at[1] - at[0]), lower = at[W + 1] + across * (at[W + 2] - at[W + 1]);
    return upper + down * (lower - upper);
}

/* Tolerance: (2 W + 2 H + 160) u. Running sums of a row are at most W, so two differ within 2 W u; those of a column
 * are at most H times the box's width, by which the mean is divided. One table of both sums loses more. */
START_TEST(small_boxes_keep_their_digits_on_large_planes)
{
    size_t side = _i ? 1024 : 64, N = side * side;
    const real lo = (real)0.2, up = (real)0.201, left = (real)-0.3, right = (real)-0.299;
    const real before = (real)0.4995, behind = (real)0.5005;
    const struct box box[] = {
        {-.5, -.5, .5, .5}, {-.25, -.375, .75, .625}, {(double)lo, (double)left, (double)up, (double)right},
        {(double)before, (double)before, (double)behind, (double)behind},
    };
    real *plane = uniform(46, N, 0, 1), *table = zeros((side + 1) * (side + 1));
    real *y = pooled("fast", side, side, box, COUNT(box), plane);
    double tolerance = (double)(4 * side + 160) * UNIT_ROUNDOFF;
    for (size_t row = 0; row < side; row++) {
        real sum = 0;
        for (size_t column = 0; column < side; column++) {
            size_t at = (row + 1) * (side + 1) + column + 1;
            sum += plane[row * side + column];
            table[at] = table[at - side - 1] + sum;
        }
    }
    for (size_t r = 0; r < COUNT(box); r++) {
        double worst = 0, of_table = 0, area = (box[r].y1 - box[r].y0) * (box[r].x1 - box[r].x0);
        for (size_t n = 0; n < N; n++) {
            double mean = direct_near(&box[r], plane, side, side, n);
            double top = (double)(n / side) + 0.5, start = (double)(n % side) + 0.5;
            real sum = table_at(table, side, side, top + box[r].y1, start + box[r].x1)
                     - table_at(table, side, side, top + box[r].y0, start + box[r].x1)
                     - table_at(table, side, side, top + box[r].y1, start + box[r].x0)
                     + table_at(table, side, side, top + box[r].y0, start + box[r].x0);
            worse(&worst, fabs((double)y[n * COUNT(box) + r] - mean));
            worse(&of_table, fabs((double)sum / area - mean));
        }
        within("fast", worst, tolerance);
        beyond("    one table", of_table, tolerance);
    }
}
END_TEST

/* ChoP'D, Eq. 8; off the grid there is nothing. Tolerance: (N + 8) u. */
START_TEST(pooling_sums_to_what_of_the_box_is_on_the_grid)
{
    struct trial t = trial("--grid 5x6", &chopd, 1, 2, "R=3 D=2 G=4 S=2", "");
    real *P = zeros(30 * 30 * 12);
    const real *box = problem_tensor(&t.problem, "boxes");
    double worst = 0, least = 1, most = 0;
    chopd_naive_pooling(P, box, 5, 6, 3, 4);
    for (size_t n = 0; n < 30; n++)
        for (size_t rg = 0; rg < 12; rg++) {
            wide_real sum = 0;
            double edge[4];
            for (size_t e = 0; e < 4; e++) edge[e] = (double)box[4 * rg + e] + (double)(e % 2 ? n % 6 : n / 6);
            double down = fmin(edge[2], 4.5) - fmax(edge[0], -.5), across = fmin(edge[3], 5.5) - fmax(edge[1], -.5);
            wide_real high = edge[2] - edge[0], broad = edge[3] - edge[1];
            wide_real share = fmax(0, down) / high * (fmax(0, across) / broad);
            for (size_t m = 0; m < 30; m++) sum += (wide_real)P[(m * 30 + n) * 12 + rg];
            worse(&worst, fabs((double)(sum - share)));
            least = fmin(least, fmax(0, down));
            worse(&most, down / (edge[2] - edge[0]));
        }
    ck_assert(least < 0.1 && most > 0.9);
    within("sums of P", worst, 38 * UNIT_ROUNDOFF);
}
END_TEST

/* ChoP'D, Sec. 2.3. When an edge moves by e the mean changes by at most e 2 max |x| / h. Tolerance: 16 u max |x| for
 * each of two means, of which only weights are rounded. Means over tokens whose middle is in the box change by more. */
START_TEST(pooled_value_is_continuous_in_the_box)
{
    enum { STEPS = 200, H = 5, W = 6 };
    struct box box[STEPS];
    real *plane = integers(45, H * W, 3), x_most = (real)largest(plane, H * W);
    for (size_t r = 0; r < STEPS; r++)
        box[r] = (struct box){.y0 = -2.25, .x0 = -1.375, .y1 = -2.25 + (double)(r + 4) / 16, .x1 = 1.625};
    real *y = pooled("fast", H, W, box, STEPS, plane);
    double worst = 0, leap = 0, bound = 2 * (double)x_most / 16;
    for (size_t n = 0; n < H * W; n++)
        for (size_t r = 0; r + 1 < STEPS; r++) {
            double h = box[r].y1 - box[r].y0;
            double change = fabs((double)(y[n * STEPS + r + 1] - y[n * STEPS + r]));
            worse(&worst, (change - 32 * UNIT_ROUNDOFF * (double)x_most) / (bound / h));
            struct box low = box[r], high = box[r + 1];
            low.y0 = high.y0 = -2.5, low.y1 = floor(low.y1) + 0.5, high.y1 = floor(high.y1) + 0.5;
            double jump = (double)(direct(&high, plane, H, W, n) - direct(&low, plane, H, W, n));
            if (low.y1 > low.y0) worse(&leap, fabs(jump) / (bound / h));
        }
    ck_assert(largest(y, H * W * STEPS) > 0.5);
    within("changes, over their bound", worst, 1);
    beyond("    of boxes of whole tokens", leap, 1);
}
END_TEST

/* The mean v over a box of height h changes with its lower edge as (e - v) / h, e the mean along that edge. Central
 * differences with a step s give this over 1 - s^2 / h^2, exactly. Tolerance: 16 u max |x| / s + 8 u max |x| / h. */
START_TEST(derivative_by_an_edge_has_a_closed_form)
{
    enum { H = 6, W = 7 };
    const double step = sizeof(real) == sizeof(float) ? 1.0 / 16 : 1.0 / 1024;
    static const struct box box[] = {{-1.25, -.75, 1.75, 2.25}, {.125, -2.125, 4.25, .25}, {-.25, -.25, .25, .25}};
    real *plane = integers(46, H * W, 3);
    double most = largest(plane, H * W), worst = 0, other = 0, none = 0;

    for (size_t b = 0; b < COUNT(box); b++) {
        real *v = pooled("fast", H, W, &box[b], 1, plane);
        for (int edge = 0; edge < 4; edge++) {
            struct box moved[2] = {box[b], box[b]}, line = box[b], opposite = box[b];
            bool down = edge % 2 == 0, last = edge >= 2;
            for (int side = 0; side < 2; side++) {
                double *at[] = {&moved[side].y0, &moved[side].x0, &moved[side].y1, &moved[side].x1};
                *at[edge] += side ? step : -step;
            }
            double where = (const double[]){box[b].y0, box[b].x0, box[b].y1, box[b].x1}[edge];
            double across = (const double[]){box[b].y1, box[b].x1, box[b].y0, box[b].x0}[edge];
            *(down ? &line.y0 : &line.x0) = where - step;
            *(down ? &line.y1 : &line.x1) = where + step;
            *(down ? &opposite.y0 : &opposite.x0) = across - step;
            *(down ? &opposite.y1 : &opposite.x1) = across + step;

            double h = down ? box[b].y1 - box[b].y0 : box[b].x1 - box[b].x0;
            double allowed = UNIT_ROUNDOFF * most * (16 / step + 8 / h);
            real *y = pooled("fast", H, W, moved, 2, plane);
            for (size_t n = 0; n < H * W; n++) {
                double e = (double)direct(&line, plane, H, W, n), far = (double)direct(&opposite, plane, H, W, n);
                double sign = last ? 1 : -1;
                double difference = (double)(y[2 * n + 1] - y[2 * n]) / (2 * step) * (1 - step * step / (h * h));
                worse(&worst, fabs(difference - sign * (e - (double)v[n]) / h) / allowed);
                worse(&other, fabs(difference - sign * (far - (double)v[n]) / h) / allowed);
                worse(&none, fabs(difference - sign * e / h) / allowed);
            }
        }
    }
    within("the closed form, over its bound", worst, 1);
    beyond("    of the opposite edge", other, 1);
    beyond("    without the mean of the box", none, 1);
}
END_TEST

/* How y changes when e is added to this entry of a tensor. */
static real *changed_by(struct trial *t, const char *form, real *entry, real e)
{
    real kept = *entry, *y = trial_run(t, form, 1);
    *entry += e;
    real *after = trial_run(t, form, 1);
    *entry = kept;
    for (size_t at = 0; at < t->outputs; at++) after[at] -= y[at];
    return after;
}

/* A form is linear in each of these tensors. Where the tensor is zero but for one entry, and b is zero (or u5, if the
 * tensor is b), y is the derivative by that entry. */
static void linear_in(struct trial *t, const char *form, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const char *other = strcmp(names[k], "b") ? "b" : "u5";
        bool moved = false;
        size_t entries = trial_count(t, names[k]);
        ck_assert(entries > 0);
        for (size_t at = 0; at < entries; at++) {
            real *p = trial_tensor(t, names[k]), *kept = copy(p, entries);
            real *kept_other = copy(trial_tensor(t, other), trial_count(t, other));
            real *change = changed_by(t, form, p + at, 3);
            trial_fill(t, other, 0);
            trial_fill(t, names[k], 0);
            p[at] = 1;
            real *derivative = trial_run(t, form, 1);
            for (size_t o = 0; o < t->outputs; o++) derivative[o] *= 3;
            equal(change, derivative, t->outputs);
            moved = moved || largest(change, t->outputs) > 0.5;
            trial_put(t, other, kept_other);
            trial_put(t, names[k], kept);
        }
        ck_assert_msg(moved, "%s", names[k]);
    }
}

/* ChoP'D, Sec. 2.3, "end-to-end". While a right edge moves by e within one token, (w + e) v' = w v + e m, m the mean
 * along the strip. phi's bias, in double: slope u5 mix v g (1 - g); the rest halves with e, 1.9 to 2.1 times. */
START_TEST(derivatives_of_the_layers_are_their_differences)
{
    static const char *const former[] = {"u1", "u2", "u3", "u4", "u5", "b"};
    static const char *const layer_of[] = {"u4", "mix", "u5", "b"};
    const char *form = _i ? "fast" : "naive";
    struct trial eq6_of = trial("--activation none", &dfc_cp, 2, 3, "M=4 N=3 D=2 R=3", "");
    struct trial eq10_of = trial("--grid 3x4 --activation none", &chopd, 2, 3, "R=2 D=2 G=2 S=1", "");
    static const real boxes[] = {-.5, -.5, .5, .5, -1.25, -1, .75, 3, -.5, -3.5, .5, .5, 0, 0, 2, 2};
    make_whole(&eq6_of);
    make_whole(&eq10_of);
    open_gate(&eq10_of);
    trial_put(&eq10_of, "boxes", boxes);
    linear_in(&eq6_of, form, former, COUNT(former));
    linear_in(&eq10_of, form, layer_of, COUNT(layer_of));

    const struct box edge[] = {{-.5, -.5, .5, 0}, {-.5, -.5, .5, .5}, {-.5, -.5, .5, 1.5}};
    const real two[] = {1, 3};
    real *v = pooled(form, 1, 2, edge, COUNT(edge), two);
    ck_assert(v[0] == v[1]);                            /* from the left: the mean along the strip is v itself */
    ck_assert(2 * v[2] == 1 * v[1] + 1 * two[1] && v[2] == 2);

    if (sizeof(real) == sizeof(float)) return;
    struct trial t = trial("--grid 2x2 --gate-size 1 --activation none", &chopd, 1, 1, "R=1 D=1 G=1 S=1", "");
    static const real token[] = {-.5, -.5, .5, .5};
    trial_put(&t, "boxes", token);
    trial_fill(&t, "phi_w2", 0);
    real *bias = trial_tensor(&t, "phi_b2");
    *bias = (real)0.75;
    double g = 1 / (1 + exp(-0.75)), rest[3], other[3];
    double weight = (double)(trial_tensor(&t, "u4")[0] * trial_tensor(&t, "mix")[0] * trial_tensor(&t, "u5")[0]);
    weight *= (double)t.x[0];
    for (int k = 0; k < 3; k++) {
        double e = ldexp(1, -6 - k), slope = (double)changed_by(&t, form, bias, (real)e)[0] / e;
        rest[k] = fabs(slope - weight * g * (1 - g));
        other[k] = fabs(slope - weight * g);
    }
    for (int k = 0; k < 2; k++) {
        ck_assert(rest[k] > 1.9 * rest[k + 1] && rest[k] < 2.1 * rest[k + 1]);
        ck_assert(!(other[k] > 1.9 * other[k + 1]));
    }
}
END_TEST

/* ---- the gate, sizes and shifts ----------------------------------------- */

/* A chopd with the token itself as its only box and the channels as its components: y over x is the gate. The pooling
 * of halves, ones and twos is exact. */
static struct trial gate_reader(const char *tokens)
{
    char options[64];
    snprintf(options, sizeof options, "--grid %s --gate-size 3 --activation none", tokens);
    struct trial t = trial(options, &chopd, 2, 3, "R=3 D=3 G=1 S=5", "");
    real *box = trial_tensor(&t, "boxes");
    for (size_t e = 0; e < 12; e++) box[e] = (real)(e % 4 < 2 ? -0.5 : 0.5);
    trial_fill(&t, "mix", 1);
    trial_fill(&t, "b", 0);
    trial_put_identity(&t, "u4", 3);
    trial_put_identity(&t, "u5", 3);
    t.x = integers(51, t.inputs, 1);
    for (size_t at = 0; at < t.inputs; at++) t.x[at] = (real)(t.x[at] < 0 ? 0.5 : t.x[at] > 0 ? 2 : 1);
    return t;
}

/* ChoP'D, Eq. 9: another gate for another image, and for another token. A token that changes alone changes the gates
 * of the other tokens of its image. */
START_TEST(gate_is_dynamic_and_adaptive)
{
    enum { NR = 56 * 3 };
    struct trial t = gate_reader("8x7");
    real *y = trial_run(&t, _i ? "fast" : "naive", 1), *other = copy(t.x, t.inputs), gate[2][NR];
    double images = 0, tokens = 0, touched = 0;
    for (size_t at = 0; at < 2 * NR; at++) {
        gate[at / NR][at % NR] = y[at] / t.x[at];
        ck_assert(gate[at / NR][at % NR] > 0 && gate[at / NR][at % NR] < 1);
    }
    for (size_t at = 0; at < NR; at++) {
        worse(&images, fabs((double)(gate[0][at] - gate[1][at])));
        worse(&tokens, fabs((double)(gate[0][at] - gate[0][at % 3])));
    }
    beyond("between images", images, 0.001);
    beyond("between tokens", tokens, 0.001);
    for (size_t c = 0; c < 3; c++) other[c] += 20;
    real *after = trial_run_on(&t, _i ? "fast" : "naive", 1, other);
    for (size_t at = 3; at < NR; at++) worse(&touched, fabs((double)(after[at] - y[at])));
    beyond("of other tokens, when one changes", touched, 0.001);
    equal(after + NR, y + NR, NR);
}
END_TEST

/* ChoP'D, Eq. 9; phi is ours. Tolerance: 8 u, for the logistic and the interpolation. */
START_TEST(gate_without_its_last_map_is_constant)
{
    struct trial t = gate_reader("8x7");
    trial_fill(&t, "phi_w2", 0);
    real *y = trial_run(&t, _i ? "fast" : "naive", 1);
    double worst = 0;
    for (size_t at = 0; at < t.outputs; at++) {
        wide_real gate = 1 / (1 + exp(-(wide_real)trial_tensor(&t, "phi_b2")[at % 3]));
        worse(&worst, fabs((double)((wide_real)y[at] / (wide_real)t.x[at] - gate)));
    }
    within("gates", worst, 8 * UNIT_ROUNDOFF);
}
END_TEST

/* ChoP'D, Sec. 2.3, "arbitrary resolutions"; boxes may be larger than the grid. Factors of Eq. 6 grow with the grid.
 * Tolerance: u (4 (H + W) N + N + C + R + 200) times the layer of absolute values with gates of 1. */
START_TEST(same_parameters_serve_any_size)
{
    static const struct { const char *options; size_t H, W; } shape[] = {
        {"--grid 1x1 --activation none", 1, 1},
        {"--grid 5x7 --activation none", 5, 7},
        {"--grid 14x14 --activation none", 14, 14},
    };
    size_t former[3];
    for (size_t g = 0; g < 3; g++) {
        struct trial t = trial(shape[g].options, &chopd, 2, 4, "R=3 D=5 G=2 S=2", "");
        ck_assert_uint_eq(problem_parameters(&t.problem), 12 + 24 + 6 + 72 + 2 + 6 + 3 + 15 + 5);
        double H = (double)shape[g].H, W = (double)shape[g].W, N = H * W;
        real *naive = trial_run(&t, "naive", 1), *fast = trial_run(&t, "fast", 1);

        static const char *const made_positive[] = {"u4", "mix", "u5", "b"};
        for (size_t k = 0; k < COUNT(made_positive); k++) {
            const char *name = made_positive[k];
            trial_put(&t, name, absolute(trial_tensor(&t, name), trial_count(&t, name)));
        }
        open_gate(&t);
        double most = largest(trial_run_on(&t, "naive", 1, absolute(t.x, t.inputs)), t.outputs);
        within(shape[g].options, largest_difference(fast, naive, t.outputs),
               UNIT_ROUNDOFF * (4 * (H + W) * N + N + 4 + 3 + 200) * most);

        char sizes[40];
        snprintf(sizes, sizeof sizes, "M=%zu N=%zu D=5 R=3", (size_t)N, (size_t)N);
        struct trial absolute = trial("", &dfc_cp, 2, 4, sizes, "");
        former[g] = problem_parameters(&absolute.problem);
    }
    ck_assert(former[0] < former[1] && former[1] < former[2]);
}
END_TEST

/* ChoP'D, Eq. 8 and 10: true of Eq. 10 away from borders, and not of Eq. 6 with its U2_mr. The gate knows where on its
 * map a token lies. A patch among zeros is shifted by (2, -3); boxes reach 4 tokens. */
START_TEST(pooling_commutes_with_shifts_and_the_gate_does_not)
{
    enum { H = 16, W = 17, N = H * W, C = 2, D = 3 };
    const char *form = _i ? "fast" : "naive";
    struct trial t = trial("--grid 16x17 --activation none", &chopd, 1, C, "R=2 D=3 G=2 S=2", "");
    static const real box[] = {-1.25, -1, .75, 3, -.5, -3.5, .5, .5, 0, 0, 2, 2, -3.75, .25, .25, 1.25};
    real *x = zeros(N * C), *shifted = zeros(N * C), *patch = integers(61, N * C, 3);
    real *w2 = copy(trial_tensor(&t, "phi_w2"), 4), *b2 = copy(trial_tensor(&t, "phi_b2"), 2);
    make_whole(&t);
    trial_put(&t, "boxes", box);
    open_gate(&t);
    for (size_t n = 0; n < N; n++)
        if (n / W >= 6 && n / W < 9 && n % W >= 7 && n % W < 11)
            for (size_t c = 0; c < C; c++) x[n * C + c] = shifted[(n + 2 * W - 3) * C + c] = patch[n * C + c];

    for (int gated = 0; gated < 2; gated++) {
        real *y = trial_run_on(&t, form, 1, x), *z = trial_run_on(&t, form, 1, shifted);
        size_t differ = 0;
        ck_assert(largest(y, N * D) > 0.1);
        for (size_t n = 0; n < N; n++)
            for (size_t d = 0; d < D && n / W < H - 2 && n % W >= 3; d++)
                differ += z[(n + 2 * W - 3) * D + d] != y[n * D + d];
        ck_assert((differ > 0) == (gated == 1));
        trial_put(&t, "phi_w2", w2);
        trial_put(&t, "phi_b2", b2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, theorems");
    TCase *factors = add_case(suite, "factors");
    tcase_add_loop_test(factors, enough_terms_make_any_layer, 0, 5);
    tcase_add_test(factors, depthwise_convolution_has_m_c_terms);
    tcase_add_test(factors, ranks_of_pooling_and_pointwise_convolution);
    tcase_add_loop_test(factors, true_rank_is_exact, 0, COUNT(ranked));
    tcase_add_test(factors, matrices_reach_their_singular_values);
    tcase_add_test(factors, error_falls_with_rank);
    tcase_add_loop_test(factors, factors_that_als_finds_are_the_layer, 0, 2);
    tcase_add_loop_test(factors, eq6_is_eq5_in_eq3, 0, 5);
    tcase_add_loop_test(factors, image_is_r_numbers_to_the_tokens_out, 0, 2);
    tcase_add_loop_test(factors, transformer_block_is_a_former, 0, 3);
    TCase *pooling = add_case(suite, "pooling");
    tcase_add_loop_test(pooling, integral_image_is_the_direct_sum, 0, 2);
    tcase_add_loop_test(pooling, integral_image_is_the_direct_sum_on_any_numbers, 0, 3);
    tcase_add_loop_test(pooling, derivatives_of_the_layers_are_their_differences, 0, 2);
    tcase_add_loop_test(pooling, small_boxes_keep_their_digits_on_large_planes, 0, 2);
    tcase_add_test(pooling, pooling_sums_to_what_of_the_box_is_on_the_grid);
    tcase_add_test(pooling, pooled_value_is_continuous_in_the_box);
    tcase_add_test(pooling, derivative_by_an_edge_has_a_closed_form);
    TCase *gate = add_case(suite, "gate, sizes, shifts");
    tcase_add_loop_test(gate, gate_is_dynamic_and_adaptive, 0, 2);
    tcase_add_loop_test(gate, gate_without_its_last_map_is_constant, 0, 2);
    tcase_add_test(gate, same_parameters_serve_any_size);
    tcase_add_loop_test(gate, pooling_commutes_with_shifts_and_the_gate_does_not, 0, 2);
    return run_suite(suite);
}
