/* test_chopd_theorems.c -- theorems about Eq. 5, 6, 7 and 10 of ChoP'D
 *
 * Tests on integers are exact: their tolerance is zero. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../../reference/runtime/linear.h"
#include "../../reference/msa.h"

static const char *const form_name[] = {"naive", "plain", "fast", "direct"};

/* ---- factors ------------------------------------------------------------ */

/* A dfc-cp of 2 images, 4 tokens in, 3 out, 3 channels in, 2 out. */
static struct fixture small_former(size_t R)
{
    char sizes[40];
    snprintf(sizes, sizeof sizes, "M=4 N=3 D=2 R=%zu", R);
    return fixture("--activation none", &dfc_cp, 2, 3, sizes, "");
}

static const size_t small[5] = {2, 4, 3, 3, 2};
static const char *const factor[5] = {"u1", "u2", "u3", "u4", "u5"};

/* ChoP'D, Eq. 5: for R >= rank(W) the factors give W exactly.  One term for each combination of four of the five
 * indices suffices: the fifth factor is a fibre of W. */
TESTS(enough_terms_make_any_layer, 5)
{
    enum { ENTRIES = 2 * 4 * 3 * 3 * 2 };
    struct fixture t = small_former(ENTRIES / small[_i]);
    const struct dfc_problem s = dfc_of(&t.problem);
    real *w = integers(1, ENTRIES, 4), *made = zeros(ENTRIES);
    for (size_t at = 0; at < ENTRIES; at++) w[at] += w[at] == 0;
    make_integer(&t);
    for (int a = 0; a < 5; a++) fixture_fill(&t, factor[a], 0);
    for (size_t at = 0; at < ENTRIES; at++) {
        size_t index[5], r = 0;
        for (size_t a = 5, rest = at; a-- > 0; rest /= small[a]) index[a] = rest % small[a];
        for (int a = 0; a < 5; a++) r = a == _i ? r : r * small[a] + index[a];
        for (int a = 0; a < 5; a++) fixture_tensor(&t, factor[a])[index[a] * s.R + r] = a == _i ? w[at] : 1;
    }
    dfc_naive_tensor(made, &s);
    equal(made, w, ENTRIES);

    real *y = layer(&s, w, t.x);
    for (size_t at = 0; at < t.outputs; at++) y[at] += problem_tensor(&t.problem, "b")[at % 6];
    forms_equal(&t, y);

    for (size_t k = 0; k < small[_i]; k++) fixture_tensor(&t, factor[_i])[k * s.R + s.R - 1] = 0;
    dfc_naive_tensor(made, &s);
    unequal(made, w, ENTRIES);
}

static void has_rank(const struct dfc_problem *s, const real *w, size_t rank)
{
    size_t rows = s->M * s->C, columns = s->N * s->D;
    real *made = zeros(rows * columns), *flat = zeros(rows * columns);
    dfc_naive_tensor(made, s);
    equal(made, w, rows * columns);
    for (size_t at = 0; at < rows * columns; at++)
        flat[at] = w[place(s, 0, at / columns / s->C, at % columns / s->D, at / columns % s->C, at % s->D)];
    ck_assert_uint_eq(matrix_rank(flat, rows, columns, 1e-9), rank);
}

/* Derived from Eq. 5: M C terms suffice for a depth-wise convolution.  They are necessary if the kernel's matrix is
 * invertible: W as a matrix is a sum of R matrices of rank one, and has rank M C.  Nine ones on 2 x 2 tokens have rank
 * C. */
TEST(depthwise_convolution_has_m_c_terms)
{
    enum { C = 2 };
    const struct window v[] = {{4, 4, 3, 1, 1}, {2, 2, 3, 1, 1}};
    for (int ones = 0; ones < 2; ones++) {
        size_t M = v[ones].H * v[ones].W, R = M * C;
        real *w = depthwise_tensor(&v[ones], ones ? filled(C * 9, 1) : integers(71, C * 9, 3), C);
        real *u1 = zeros(R), *u2 = zeros(M * R), *u3 = zeros(M * R), *u4 = zeros(C * R), *u5 = zeros(C * R);
        const struct dfc_problem s = {.B = 1, .M = M, .N = M, .C = C, .D = C, .R = R,
                                      .u1 = u1, .u2 = u2, .u3 = u3, .u4 = u4, .u5 = u5};
        for (size_t r = 0; r < R; r++) {
            size_t m = r / C, c = r % C;
            u1[r] = u2[m * R + r] = u4[c * R + r] = u5[c * R + r] = 1;
            for (size_t n = 0; n < M; n++) u3[n * R + r] = w[place(&s, 0, m, n, c, c)];
        }
        has_rank(&s, w, ones ? C : R);
    }
}

/* ChoP'D, Sec. 2.2 and 2.3: pooling has rank min(C, D), a point-wise convolution M min(C, D).  Shared weights do not
 * imply low rank. */
TEST(ranks_of_pooling_and_pointwise_convolution)
{
    enum { M = 4, C = 3 };
    real *map = integers(70, C * C, 3), *w = zeros(M * M * C * C);
    for (int pointwise = 0; pointwise < 2; pointwise++) {
        const size_t R = pointwise ? M * C : C;
        real *u2 = zeros(M * R), *u3 = zeros(M * R), *u4 = zeros(C * R), *u5 = zeros(C * R);
        const struct dfc_problem s = {.B = 1, .M = M, .N = M, .C = C, .D = C, .R = R,
                                      .u1 = filled(R, 1), .u2 = u2, .u3 = u3, .u4 = u4, .u5 = u5};
        for (size_t mr = 0; mr < M * R; mr++) u2[mr] = u3[mr] = !pointwise || mr % R / C == mr / R;
        for (size_t cr = 0; cr < C * R; cr++) {
            u4[cr] = cr / R == cr % R % C;
            u5[cr] = map[cr % R % C * C + cr / R];
        }
        for (size_t at = 0; at < M * M * C * C; at++)
            w[at] = !pointwise || at / (C * C * M) == at / (C * C) % M ? map[at % (C * C)] : 0;
        has_rank(&s, w, R);
    }
}

/* ChoP'D, Eq. 6 is Eq. 5 in Eq. 3. */
TESTS(eq6_is_eq5_in_eq3, 5)
{
    static const struct { size_t B, C; const char *sizes; } shape[] = {
        {2, 3, "M=5 N=4 D=2 R=6"}, {1, 1, "M=1 N=1 D=1 R=1"}, {3, 2, "M=1 N=7 D=4 R=3"},
        {2, 1, "M=7 N=1 D=5 R=2"}, {1, 4, "M=6 N=6 D=4 R=1"},
    };
    struct fixture t = fixture("--activation none", &dfc_cp, shape[_i].B, shape[_i].C, shape[_i].sizes, "");
    const struct dfc_problem s = dfc_of(&t.problem);
    struct steps count;
    make_integer(&t);
    fixture_fill(&t, "b", 0);
    real *y = eq5_in_eq3(&s, t.x);
    if (_i == 0) ck_assert(largest(y, t.outputs) > 2);
    equal(eq6(&s, t.x, ABSOLUTE, &count), y, t.outputs);
    forms_equal(&t, y);
}

/* Derived from Eq. 6: the output depends on the image through R numbers.  Tokens out with equal rows of u3 and b are
 * equal.  Adding an amount to a token in and subtracting it from another changes nothing if their rows of u2 are
 * equal. */
TESTS(output_depends_on_the_image_through_r_numbers, 3)
{
    enum { M = 6, N = 5, C = 3, D = 2, R = 4 };
    const char *form = form_name[_i];
    struct fixture t = fixture("--activation none", &dfc_cp, 1, C, "M=6 N=5 D=2 R=4", "");
    make_integer(&t);
    real *u2 = fixture_tensor(&t, "u2"), *u3 = fixture_tensor(&t, "u3"), *b = fixture_tensor(&t, "b");
    for (int r = 0; r < R; r++) u3[3 * R + r] = u3[1 * R + r];
    for (int d = 0; d < D; d++) b[3 * D + d] = b[1 * D + d];
    for (int r = 0; r < R; r++) u2[4 * R + r] = u2[2 * R + r];
    real *y = fixture_run(&t, form, 1), *moved = copy(t.x, M * C), *elsewhere = copy(t.x, M * C);
    equal(y + 3 * D, y + 1 * D, D);
    unequal(y + 2 * D, y + 1 * D, D);
    for (size_t c = 0; c < C; c++) {
        moved[2 * C + c] += (real)(c + 5), moved[4 * C + c] -= (real)(c + 5);
        elsewhere[2 * C + c] += (real)(c + 5), elsewhere[5 * C + c] -= (real)(c + 5);
    }
    equal(fixture_run_on(&t, form, 1, moved), y, N * D);
    unequal(fixture_run_on(&t, form, 1, elsewhere), y, N * D);
}

/* W_imncd = sum_r U4_cr U123_imnr U5_dr, where U123 is the map [M][M] of image i and of r's head.  Each of the h heads
 * has R / h consecutive components or, if `modulo`, every h-th. */
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

/* ChoP'D, Eq. 7, footnote 3: a transformer block has U4 = W1 W2, U5 = V1 V2, and U123 the softmax of r's head over m.
 * U123 has minors that are not zero, so it is not a product u1_ir u2_mr u3_nr.  Tolerance: twice (M C + 2 R + 3 M +
 * 200) u sum |x| |W|: an entry of W has two sums over R, a softmax over M, and a logit below 8 of three sums over R. */
TESTS(transformer_block_is_a_former, 3)
{
    enum { B = 2, M = 7, C = 5, D = 4, R = 6 };
    const size_t h = (size_t)_i + 1, width = R / h;
    char options[64];
    snprintf(options, sizeof options, "--grid 7 --heads %zu --scale 0.5", h);
    struct fixture t = fixture(options, &msa, B, R, "", "rpe b_qkv b_o");
    const struct dfc_problem s = {.B = B, .M = M, .N = M, .C = C, .D = D, .R = R};
    const real *qkv = fixture_tensor(&t, "w_qkv"), *w2 = qkv + 2 * R * R, *v2 = fixture_tensor(&t, "w_o");
    const real *x = normal(31, B * M * C), *v1 = normal(33, D * R);
    const real *w1 = sum_of(zeros(C * R), 0.5, normal(32, C * R), C * R);

    real *inner = matrix_product(x, w1, B * M, C, R), *y = zeros(B * M * D);
    linear_map(y, D, fixture_run_on(&t, "naive", 1, inner), R, v1, NULL, B * M, R, D);

    const real *map[3 * B], *over_queries[3 * B], *u5 = matrix_product(v1, v2, D, R, R);
    const real *u5_most = matrix_product(absolute(v1, D * R), absolute(v2, R * R), D, R, R);
    real *u4 = zeros(C * R), *u4_most = zeros(C * R);
    linear_map(u4, R, w1, R, w2, NULL, C, R, R);
    linear_map(u4_most, R, absolute(w1, C * R), R, absolute(w2, R * R), NULL, C, R, R);
    for (size_t ia = 0; ia < B * h; ia++) {
        const real *w_q = qkv + ia % h * width * R;
        map[ia] = attention_map(inner + ia / h * M * R, w_q, w_q + R * R, M, R, width, (real)0.5);
        over_queries[ia] = transposed(map[ia], M, M);
    }

    double tolerance = 2 * layer_bound(&s, eq7(&s, u4_most, map, u5_most, h, false), x, 2 * R + 3 * M + 200);
    real *heads_modulo = layer(&s, eq7(&s, u4, map, u5, h, true), x);
    real *softmax_over_n = layer(&s, eq7(&s, u4, over_queries, u5, h, false), x);
    within("Eq. 7", largest_difference(layer(&s, eq7(&s, u4, map, u5, h, false), x), y, B * M * D), tolerance);
    if (h > 1) beyond("    heads taken modulo", largest_difference(heads_modulo, y, B * M * D), 0.01);
    beyond("    a softmax over n", largest_difference(softmax_over_n, y, B * M * D), 0.01);
    double minor = (double)(map[0][0] * map[0][M + 1] - map[0][1] * map[0][M]);
    beyond("    a minor of the softmax", fabs(minor), 1e-4);
}

/* ---- pooling ------------------------------------------------------------ */

static real *pooled(const char *form, size_t H, size_t W, const struct box *box, size_t boxes, const real *plane)
{
    struct fixture t = pooling(H, W, box, boxes);
    return fixture_run_on(&t, form, 1, plane);
}

static wide_real direct(const struct box *b, const real *plane, size_t H, size_t W, size_t n)
{
    wide_real sum = 0;
    for (size_t m = 0; m < H * W; m++)
        sum += (wide_real)plane[m] * overlap((double)(m / W) - (double)(n / W), b->y0, b->y1)
             * overlap((double)(m % W) - (double)(n % W), b->x0, b->x1);
    return sum / ((b->y1 - b->y0) * (b->x1 - b->x0));
}

/* ChoP'D, Sec. 2.3: every form gives the mean over a box, summed over squares of 1/8 token.  Edges are multiples of 1/8
 * and sides powers of two, so it is exact. */
TESTS(integral_image_is_the_direct_sum, 4)
{
    enum { H = 7, W = 9 };
    static const struct box box[] = {
        {-.5, -.5, .5, .5},         {-.5, -.5, 1.5, 3.5},        {-2.5, .5, 1.5, 2.5},      {.5, -4.5, 1.5, 3.5},
        {-1.25, -.75, 2.75, 1.25},  {-1.125, -.75, 2.875, 1.25}, {-6, -8.5, 2, -.5},        {3.25, 4, 7.25, 6},
        {20, 20, 24, 24},           {-40, -1, -32, 1},           {-32, -32, 32, 32},        {-16, -.5, 16, .5},
        {.125, -.25, .25, .25},     {.375, .25, .625, .75},      {-.5, -.5, -.375, -.375},  {2.5, -3.75, 4.5, -3.5},
    };
    real *plane = integers(41, H * W, 3), *y = pooled(form_name[_i], H, W, box, COUNT(box), plane);
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

/* The same for random boxes and numbers.  Tolerance: u max |x| (4 (H + W) N / A + N + 64): four corners, each a sum of
 * at most N tokens with H + W roundings, over the area A, clamped to 1 ... N; N + 64 for the naive sum and the
 * edges. */
TESTS(integral_image_is_the_direct_sum_on_any_numbers, 3)
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
    for (size_t f = 0; f < COUNT(form_name); f++) {
        real *y = pooled(form_name[f], H, W, box, BOXES, plane);
        double worst = 0;
        for (size_t n = 0; n < N; n++)
            for (size_t r = 0; r < BOXES; r++) {
                double area = (box[r].y1 - box[r].y0) * (box[r].x1 - box[r].x0);
                double allowed = 4 * (double)((H + W) * N) / fmin(fmax(area, 1), (double)N) + (double)N + 64;
                double share = fabs((double)((wide_real)y[n * BOXES + r] - direct(&box[r], plane, H, W, n))) / allowed;
                worse(&worst, share);
            }
        within(form_name[f], worst, UNIT_ROUNDOFF * largest(plane, N));
    }
}

/* Small boxes are accurate on large planes.  Tolerance: (2 W + 2 H + 160) u.  Running sums of a row are at most W, so
 * the difference of two errs by 2 W u.  Those of a column are at most H times the width of the box, by which the mean
 * is divided.  An integral image loses more; the plain form, which has one in double, is tested only in float. */
TESTS(small_boxes_keep_their_digits_on_large_planes, 2)
{
    size_t side = _i ? 1024 : 64, N = side * side;
    const real lo = (real)0.2, up = (real)0.201, left = (real)-0.3, right = (real)-0.299;
    const real before = (real)0.4995, behind = (real)0.5005;
    const struct box box[] = {
        {-.5, -.5, .5, .5}, {-.25, -.375, .75, .625}, {(double)lo, (double)left, (double)up, (double)right},
        {(double)before, (double)before, (double)behind, (double)behind},
    };
    real *plane = uniform(46, N, 0, 1);
    for (size_t f = 1; f < COUNT(form_name); f++) {
        if (!strcmp(form_name[f], "plain") && sizeof(real) == sizeof(double)) continue;
        real *y = pooled(form_name[f], side, side, box, COUNT(box), plane);
        double worst = 0;
        for (size_t r = 0; r < COUNT(box); r++)
            for (size_t n = 0; n < N; n++)
                worse(&worst, fabs((double)y[n * COUNT(box) + r] - direct_near(&box[r], plane, side, side, n)));
        within(form_name[f], worst, (double)(4 * side + 160) * UNIT_ROUNDOFF);
    }
}

/* ChoP'D, Eq. 8: P sums to the share of the box that lies on the grid.  Tolerance: (N + 8) u. */
TEST(pooling_weights_sum_to_the_share_on_the_grid)
{
    struct fixture t = fixture("--grid 5x6", &chopd, 1, 2, "R=3 D=2 G=4 S=2", "");
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

static real *changed_by(struct fixture *t, const char *form, real *entry, real e)
{
    real kept = *entry, *y = fixture_run(t, form, 1);
    *entry += e;
    real *after = fixture_run(t, form, 1);
    *entry = kept;
    for (size_t at = 0; at < t->outputs; at++) after[at] -= y[at];
    return after;
}

/* Checks that a form is linear in each of these tensors.  If the tensor is zero except for one entry of 1, and b is
 * zero (u5 for the tensor b), y is the derivative by that entry. */
static void linear_in(struct fixture *t, const char *form, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const char *other = strcmp(names[k], "b") ? "b" : "u5";
        bool moved = false;
        size_t entries = fixture_count(t, names[k]);
        ck_assert(entries > 0);
        for (size_t at = 0; at < entries; at++) {
            real *p = fixture_tensor(t, names[k]), *kept = copy(p, entries);
            real *kept_other = copy(fixture_tensor(t, other), fixture_count(t, other));
            real *change = changed_by(t, form, p + at, 3);
            fixture_fill(t, other, 0);
            fixture_fill(t, names[k], 0);
            p[at] = 1;
            real *derivative = fixture_run(t, form, 1);
            for (size_t o = 0; o < t->outputs; o++) derivative[o] *= 3;
            equal(change, derivative, t->outputs);
            moved = moved || largest(change, t->outputs) > 0.5;
            fixture_put(t, other, kept_other);
            fixture_put(t, names[k], kept);
        }
        ck_assert_msg(moved, "%s", names[k]);
    }
}

/* ChoP'D, Sec. 2.3, "end-to-end": without sigma, Eq. 6 and 10 are linear in each factor. */
TESTS(layers_are_linear_in_each_factor, 3)
{
    static const char *const former[] = {"u1", "u2", "u3", "u4", "u5", "b"};
    static const char *const layer_of[] = {"u4", "mix", "u5", "b"};
    const char *form = form_name[_i];
    struct fixture eq6_of = fixture("--activation none", &dfc_cp, 2, 3, "M=4 N=3 D=2 R=3", "");
    struct fixture eq10_of = fixture("--grid 3x4 --activation none", &chopd, 2, 3, "R=2 D=2 G=2 S=1", "");
    static const real boxes[] = {-.5, -.5, .5, .5, -1.25, -1, .75, 3, -.5, -3.5, .5, .5, 0, 0, 2, 2};
    make_integer(&eq6_of);
    make_integer(&eq10_of);
    open_gate(&eq10_of);
    fixture_put(&eq10_of, "boxes", boxes);
    linear_in(&eq6_of, form, former, COUNT(former));
    linear_in(&eq10_of, form, layer_of, COUNT(layer_of));
}

/* ---- the gate, sizes and shifts ----------------------------------------- */

/* A chopd whose only box is the token and whose components are the channels: y / x is the gate.  Pooling of 1/2, 1 and
 * 2 is exact. */
static struct fixture gate_reader(const char *tokens)
{
    char options[64];
    snprintf(options, sizeof options, "--grid %s --gate-size 3 --activation none", tokens);
    struct fixture t = fixture(options, &chopd, 2, 3, "R=3 D=3 G=1 S=5", "");
    real *box = fixture_tensor(&t, "boxes");
    for (size_t e = 0; e < 12; e++) box[e] = (real)(e % 4 < 2 ? -0.5 : 0.5);
    fixture_fill(&t, "mix", 1);
    fixture_fill(&t, "b", 0);
    fixture_put_identity(&t, "u4", 3);
    fixture_put_identity(&t, "u5", 3);
    t.x = integers(51, t.inputs, 1);
    for (size_t at = 0; at < t.inputs; at++) t.x[at] = (real)(t.x[at] < 0 ? 0.5 : t.x[at] > 0 ? 2 : 1);
    return t;
}

/* ChoP'D, Eq. 9: changing one token changes the gates of the other tokens of its image, and no bit of another image. */
TESTS(gate_is_dynamic_and_adaptive, 4)
{
    enum { NR = 56 * 3 };
    struct fixture t = gate_reader("8x7");
    real *y = fixture_run(&t, form_name[_i], 1), *other = copy(t.x, t.inputs), gate[2][NR];
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
    real *after = fixture_run_on(&t, form_name[_i], 1, other);
    for (size_t at = 3; at < NR; at++) worse(&touched, fabs((double)(after[at] - y[at])));
    beyond("of other tokens, when one changes", touched, 0.001);
    equal(after + NR, y + NR, NR);
}

/* ChoP'D, Eq. 9, with our phi: without phi_w2 the gate is the logistic of phi_b2.  Tolerance: 8 u, for the logistic and
 * the interpolation. */
TESTS(gate_without_its_last_map_is_constant, 4)
{
    struct fixture t = gate_reader("8x7");
    fixture_fill(&t, "phi_w2", 0);
    real *y = fixture_run(&t, form_name[_i], 1);
    double worst = 0;
    for (size_t at = 0; at < t.outputs; at++) {
        wide_real gate = 1 / (1 + exp(-(wide_real)fixture_tensor(&t, "phi_b2")[at % 3]));
        worse(&worst, fabs((double)((wide_real)y[at] / (wide_real)t.x[at] - gate)));
    }
    within("gates", worst, 8 * UNIT_ROUNDOFF);
}

/* ChoP'D, Sec. 2.3, "arbitrary resolutions": chopd's parameters fit any grid, also one smaller than its boxes; the
 * factors of Eq. 6 grow with the grid. */
TEST(same_parameters_serve_any_size)
{
    static const char *const grids[] = {"--grid 1x1", "--grid 5x7", "--grid 14x14"};
    static const char *const tokens[] = {"M=1 N=1 D=5 R=3", "M=35 N=35 D=5 R=3", "M=196 N=196 D=5 R=3"};
    size_t former = 0;
    for (size_t g = 0; g < COUNT(grids); g++) {
        struct fixture t = fixture(grids[g], &chopd, 2, 4, "R=3 D=5 G=2 S=2", "");
        struct problem absolute = shaped("", &dfc_cp, 2, 4, tokens[g], "");
        ck_assert_uint_eq(problem_parameters(&t.problem), 12 + 24 + 6 + 72 + 2 + 6 + 3 + 15 + 5);
        within(grids[g], fixture_difference(&t, "fast", 1), property_tolerance(&t.problem));
        ck_assert_uint_gt(problem_parameters(&absolute), former);
        former = problem_parameters(&absolute);
    }
}

/* ChoP'D, Eq. 8 and 10: away from borders, pooling commutes with shifts, unlike Eq. 6 with its U2_mr.  The gate does
 * not, as it depends on the position.  A patch among zeros is shifted by (2, -3); boxes reach 4 tokens. */
TESTS(pooling_commutes_with_shifts_and_the_gate_does_not, 4)
{
    enum { H = 16, W = 17, N = H * W, C = 2, D = 3 };
    const char *form = form_name[_i];
    struct fixture t = fixture("--grid 16x17 --activation none", &chopd, 1, C, "R=2 D=3 G=2 S=2", "");
    static const real box[] = {-1.25, -1, .75, 3, -.5, -3.5, .5, .5, 0, 0, 2, 2, -3.75, .25, .25, 1.25};
    real *x = zeros(N * C), *shifted = zeros(N * C), *patch = integers(61, N * C, 3);
    real *w2 = copy(fixture_tensor(&t, "phi_w2"), 4), *b2 = copy(fixture_tensor(&t, "phi_b2"), 2);
    make_integer(&t);
    fixture_put(&t, "boxes", box);
    open_gate(&t);
    for (size_t n = 0; n < N; n++)
        if (n / W >= 6 && n / W < 9 && n % W >= 7 && n % W < 11)
            for (size_t c = 0; c < C; c++) x[n * C + c] = shifted[(n + 2 * W - 3) * C + c] = patch[n * C + c];

    for (int gated = 0; gated < 2; gated++) {
        real *y = fixture_run_on(&t, form, 1, x), *z = fixture_run_on(&t, form, 1, shifted);
        size_t differ = 0;
        ck_assert(largest(y, N * D) > 0.1);
        for (size_t n = 0; n < N; n++)
            for (size_t d = 0; d < D && n / W < H - 2 && n % W >= 3; d++)
                differ += z[(n + 2 * W - 3) * D + d] != y[n * D + d];
        ck_assert((differ > 0) == (gated == 1));
        fixture_put(&t, "phi_w2", w2);
        fixture_put(&t, "phi_b2", b2);
    }
}

int main(void) { return run_tests("ChoP'D, theorems"); }
