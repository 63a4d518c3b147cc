/* test_chopd_counts.c -- what fully connected layers and Formers cost: counted,
 * not estimated
 *
 * Multiplications are counted by compiling naive/ with a real that counts them
 * (counting.h) or by telling Eq. 6 with a counter (dfc_case.h), bytes by the
 * allocator (memory.h).  Counts are whole numbers; the tolerance is zero where
 * none is given.  Of the paper's Fig. 3 only what Sec. 2.2 and 2.3 state is public. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../reference/steps.h"
#include "../fast/lanes.h"
#include "../naive/chopd.h"

void counted_dfc_apply(real *y, const real *x, const real *w, const struct dfc_problem *p);

/* Bytes, and multiply-adds by formula, of a form. */
static double peak(const struct trial *t, const char *form)
{
    return trial_peak(t, operator_form(t->problem.declaration, form));
}

static double formula(const struct trial *t, const char *form)
{
    return form_multiply_adds(operator_form(t->problem.declaration, form), &t->problem);
}

/* ---- layers ------------------------------------------------------------- */

static const struct {
    const char *options;
    const struct declaration *of;
    size_t B, C;
    const char *sizes;
} size[] = {
    {"", &fc, 1, 1, "M=1 N=1 D=1"},
    {"", &fc, 2, 3, "M=5 N=4 D=2"},
    {"", &dfc_cp, 1, 1, "M=1 N=1 D=1 R=1"},
    {"", &dfc_cp, 2, 3, "M=5 N=4 D=2 R=6"},
    {"--activation none", &dfc_cp, 3, 4, "M=2 N=7 D=5 R=2"},
    {"--grid 1x1 --gate-size 1", &chopd, 1, 1, "R=1 D=1 G=1 S=1"},
    {"--grid 3x4", &chopd, 2, 3, "R=5 D=2 G=3 S=2"},
    {"--grid 5x2 --gate-size 3 --activation none", &chopd, 1, 2, "R=2 D=4 G=1 S=6"},
};

/* Claim      The naive forms' multiply-adds are those of their formulas: B M N C D for the layer, 4 R + 1 times
 *            that with Eq. 5, N^2 (C D (3 R + 1) + 2 R G) + 3 N R for ChoP'D, without phi.
 * Paper      ChoP'D, Sec. 2.2 and 2.3; reference/dfc.h and chopd.h.
 * Measure    A whole run of the counted forms against the formulas; and its y against the ordinary one's, so that
 *            what was counted is what is meant.
 * Tolerance  For y 1e-5 (float), 1e-13 (double) of the largest: the same sums, that the compiler may round once
 *            where the counted ones round twice. */
START_TEST(naive_former_multiplies_as_its_formula_says)
{
    struct trial t = trial(size[_i].options, size[_i].of, size[_i].B, size[_i].C, size[_i].sizes, "");
    real *y = zeros(t.outputs);
    struct plan plan;
    multiplications();
    succeeds(plan_create(&plan, &t.problem, counted_form(size[_i].of), 1));
    ck_assert_uint_eq(multiplications(), 0);
    succeeds(plan_run(&plan, y, t.x));
    double counted = (double)multiplications(), stated = formula(&t, "naive");
    plan_release(&plan);
    if (size[_i].of == &chopd) {
        struct chopd_problem p = chopd_of(&t.problem);
        stated -= (double)p.B * chopd_gate_multiply_adds(&p);
    }
    printf("    %-8s %-44s %10.0f multiplications\n", size[_i].of->name, size[_i].sizes, counted);
    ck_assert(counted > 0 && counted == stated);
    within("the counted form's y", relative_difference(y, trial_run(&t, "naive", 1), t.outputs),
           sizeof(real) == sizeof(float) ? 1e-5 : 1e-13);
}
END_TEST

/* Entries that are not zero, which are the multiply-adds of a layer that skips the others; and how many of
 * these differ, which are the numbers to store. */
static void expect(const char *what, const real *w, size_t n, double products, double numbers)
{
    double count = 0, different = 0;
    for (size_t at = 0; at < n; at++) {
        bool seen = w[at] == 0;
        count += w[at] != 0;
        for (size_t before = 0; before < at && !seen; before++) seen = w[before] == w[at];
        different += !seen;
    }
    printf("    %-14s %8.0f products, %6.0f numbers\n", what, count, different);
    ck_assert_msg(count == products && different == numbers, "%s: expected %g products and %g numbers", what,
                  products, numbers);
}

/* Claim      A fully connected layer costs and stores M N C D; shared weights and local windows of K tokens make
 *            that N K C D and K C D (convolution), N K C and K C (depth-wise), N C D and C D (point-wise), N K C
 *            and one number (pooling).
 * Paper      ChoP'D, Sec. 2.2, "complexity can be reduced by using priors".
 * Measure    Entries of W_mncd that are not zero, and different ones among them; 6 x 5 tokens, 3 x 3 windows inside
 *            the grid, 3 channels in, 2 out; every weight is another number.
 * Would it fail?  With zero padding a window at the border has fewer entries, and N K is more than what meets. */
START_TEST(layers_cost_what_is_not_zero_in_w)
{
    enum { C = 3, D = 2, M = 30, K = 9 };
    const struct window inside = {6, 5, 3, 1, 0}, padded = {6, 5, 3, 1, 1}, apart = {6, 5, 1, 1, 0};
    size_t N = rows_out(&inside) * columns_out(&inside);
    real *kernel = zeros(M * M * C * D), *ones = zeros(K * C);
    for (size_t at = 0; at < M * M * C * D; at++) kernel[at] = (real)(at + 1);
    for (size_t at = 0; at < K * C; at++) ones[at] = 1;
    double n = (double)N;
    expect("FC", kernel, M * N * C * D, M * n * C * D, M * n * C * D);
    expect("convolution", convolution_tensor(&inside, kernel, C, D), M * N * C * D, n * K * C * D, K * C * D);
    expect("depth-wise", depthwise_tensor(&inside, kernel, C), M * N * C * C, n * K * C, K * C);
    expect("point-wise", convolution_tensor(&apart, kernel, C, D), M * M * C * D, M * C * D, C * D);
    expect("pooling", depthwise_tensor(&inside, ones, C), M * N * C * C, n * K * C, 1);
    expect("padded", convolution_tensor(&padded, kernel, C, D), M * M * C * D, (3 * 6 - 2) * (3 * 5 - 2) * C * D,
           K * C * D);
}
END_TEST

/* Claim      A dynamic layer costs as the static one, M N C D for each image, plus g; and stores a tensor for each.
 * Paper      ChoP'D, Sec. 2.2, "equal to the complexity of the FC layer plus the complexity of the function g".
 * Measure    Counted products of Eq. 3 for 1 and 3 images; those of a whole naive dfc-cp, whose g is Eq. 5, less
 *            4 R for each entry of W. */
START_TEST(dynamic_layer_costs_as_the_static_one_and_g)
{
    for (size_t B = 1; B <= 3; B += 2) {
        struct dfc_problem s = {.B = B, .M = 5, .N = 4, .C = 3, .D = 2};
        struct trial t = trial("", &dfc_cp, B, 3, "M=5 N=4 D=2 R=6", "");
        double entries = (double)B * 5 * 4 * 3 * 2;
        real *y = zeros(B * 8);
        multiplications();
        counted_dfc_apply(y, t.x, normal(1, B * 120), &s);
        ck_assert((double)multiplications() == entries);
        ck_assert(formula(&t, "naive") - entries == 4 * 6 * entries);
    }
}
END_TEST

/* ---- factors ------------------------------------------------------------ */

/* Claim      Eq. 6 with absolute positions takes M C R + M R + R + N R + N D R products for an image.
 * Paper      ChoP'D, Sec. 2.3; what its own total may mean is in test_chopd_readings.c.
 * Measure    Eq. 6 told step by step with a counter, against the fast form's formula; and its y against the
 *            fast form's, whole numbers. */
START_TEST(eq6_multiplies_as_its_formula_says)
{
    struct trial t = trial("--activation none", &dfc_cp, 2, 3, "M=7 N=5 D=4 R=6", "");
    struct dfc_problem s = dfc_of(&t.problem);
    struct steps count;
    make_whole(&t);
    memset(trial_tensor(&t, "b"), 0, s.N * s.D * sizeof(real));
    equal(eq6(&s, t.x, ABSOLUTE, &count), trial_run(&t, "fast", 1), t.outputs);
    ck_assert(all_steps(&count) == formula(&t, "fast"));
    ck_assert(count.u4 == 2 * 7 * 3 * 6 && count.u2 == 2 * 7 * 6 && count.u1 == 2 * 6 && count.u3 == 2 * 5 * 6);
    ck_assert(count.u5 == 2 * 5 * 4 * 6);
}
END_TEST

/* Claim      The factors store (B + M + N + C + D) R numbers for B M N C D: O(L R), L the largest of the sizes; and
 *            ChoP'D (C + D + 5 G) R, phi and a bias, whatever M and N.
 * Paper      ChoP'D, Sec. 2.3.
 * Measure    Parameters by the declarations, 14 x 14 tokens, 96 channels, R = 96; and on 28 x 28 tokens.
 * Would it fail?  With R = M N C D / (M + N + C + D), which decomposing exactly may need, nothing is saved. */
START_TEST(factors_store_sums_for_products)
{
    struct trial dense = trial("", &fc, 1, 6, "M=49 N=49 D=6", "");
    struct trial factors = trial("", &dfc_cp, 1, 96, "M=196 N=196 D=96 R=96", "");
    ck_assert_uint_eq(problem_parameters(&dense.problem), 49 * 49 * 6 * 6);
    size_t stored = problem_parameters(&factors.problem) - 196 * 96;
    ck_assert_uint_eq(stored, (1 + 196 + 196 + 96 + 96) * 96);
    ck_assert(stored <= 5 * 196 * 96);
    printf("    196 tokens, 96 channels, R = 96: %.0f times less than W\n", 196.0 * 196 * 96 * 96 / (double)stored);

    struct trial small = trial("--grid 14x14", &chopd, 1, 96, "R=96 D=96 G=4 S=24", "");
    struct trial large = trial("--grid 28x28", &chopd, 1, 96, "R=96 D=96 G=4 S=24", "");
    size_t phi = 24 * 96 * 9 + 24 + 96 * 24 + 96;
    ck_assert_uint_eq(problem_parameters(&small.problem), (96 + 96 + 5 * 4) * 96 + phi + 96);
    ck_assert_uint_eq(problem_parameters(&large.problem), problem_parameters(&small.problem));

    size_t enough = 49 * 49 * 6 * 6 / (49 + 49 + 6 + 6);
    ck_assert((enough + 1) * (49 + 49 + 6 + 6) > 49 * 49 * 6 * 6 && enough < 49 * 6 * 6);
}
END_TEST

/* Claim      The dense forms take a tensor of all sizes, the factors (M + N + 1) R numbers.
 * Paper      ChoP'D, Sec. 2.3, "reduces drastically the memory"; the tables of reference/dfc.h and chopd.h.
 * Measure    Peak bytes against the formulas.  fc fast repacks W: to each output belong M C weights and a bias,
 *            which is zero, and outputs are filled up to vectors (packed_linear.h); they come by way of a row of M C.
 * Tolerance  1 KiB: plans, and blocks rounded up. */
START_TEST(former_takes_the_memory_it_states)
{
    struct trial dense = trial("", &fc, 2, 6, "M=20 N=15 D=7", "");
    struct trial factors = trial("", &dfc_cp, 3, 6, "M=20 N=15 D=7 R=64", "");
    struct trial pooled = trial("--grid 6x7 --gate-size 5", &chopd, 1, 5, "R=8 D=6 G=3 S=4", "");
    double bytes = sizeof(real), N = 42, outputs = (15 * 7 + LANES - 1) / LANES * LANES;
    within("fc naive", peak(&dense, "naive"), 1024);
    within("fc fast", fabs(peak(&dense, "fast") - (outputs * (20 * 6 + 1) + 20 * 6) * bytes), 1024);
    within("dfc-cp naive", fabs(peak(&factors, "naive") - 3 * 20 * 15 * 6 * 7 * bytes), 1024);
    within("dfc-cp fast", fabs(peak(&factors, "fast") - (20 + 15 + 1) * 64 * bytes), 1024);
    double reals = N * N * (5 * 6 + 8 * 3 + 8) + N * 8 + 25 * (10 * 5 + 4 + 8);
    within("chopd naive", fabs(peak(&pooled, "naive") - reals * bytes), 1024);
}
END_TEST

/* ---- ChoP'D --------------------------------------------------------------- */

static struct trial layer_on(size_t H, size_t W)
{
    char options[40];
    snprintf(options, sizeof options, "--grid %zux%zu", H, W);
    return trial(options, &chopd, 1, 16, "R=24 D=16 G=4 S=4", "");
}

/* What a token more costs a form, when as many rows are added as there are. */
static double for_a_token(const char *form, size_t H, size_t W)
{
    struct trial once = layer_on(H, W), twice = layer_on(2 * H, W);
    return (formula(&twice, form) - formula(&once, form)) / (double)(H * W);
}

/* Products of Eq. 7, and of the map that makes its U123. */
struct block_products { double u4, u123, u5, channels, scores; };

/* Eq. 7 for one image of M tokens: two heads of two channels, 3 channels in, 2 out, 4 components; the weights
 * are the same arrays whatever M. */
static struct block_products block_of(size_t M)
{
    enum { C = 3, D = 2, R = 4, H = 2, c_head = 2 };
    struct block_products k = {0};
    real *x = normal(61, M * C), *u4 = normal(62, C * R), *u5 = normal(63, D * R), *u123 = zeros(M * M * H);
    real *w_q = normal(64, C * H * c_head), *w_k = normal(65, C * H * c_head), *y = zeros(M * D);
    real *q = zeros(M * H * c_head), *key = zeros(M * H * c_head), *z = zeros(M * R), *mixed = zeros(M * R);
    for (size_t at = 0; at < M * H * c_head; at++)
        for (size_t c = 0; c < C; c++, k.channels += 2) {
            q[at] += x[at / (H * c_head) * C + c] * w_q[c * H * c_head + at % (H * c_head)];
            key[at] += x[at / (H * c_head) * C + c] * w_k[c * H * c_head + at % (H * c_head)];
        }
    for (size_t n = 0; n < M; n++)
        for (size_t h = 0; h < H; h++) {
            real *weight = u123 + (h * M + n) * M;
            for (size_t m = 0; m < M; m++)
                for (size_t e = h * c_head; e < (h + 1) * c_head; e++, k.scores++)
                    weight[m] += q[n * H * c_head + e] * key[m * H * c_head + e];
            softmax(weight, M);
        }
    for (size_t mr = 0; mr < M * R; mr++)
        for (size_t c = 0; c < C; c++, k.u4++) z[mr] += x[mr / R * C + c] * u4[c * R + mr % R];
    for (size_t nr = 0; nr < M * R; nr++)
        for (size_t m = 0; m < M; m++, k.u123++)
            mixed[nr] += u123[(nr % R / (R / H) * M + nr / R) * M + m] * z[m * R + nr % R];
    for (size_t nd = 0; nd < M * D; nd++)
        for (size_t r = 0; r < R; r++, k.u5++) y[nd] += mixed[nd / D * R + r] * u5[nd % D * R + r];
    ck_assert(largest(y, M * D) > 0.1);
    return k;
}

/* Claim      A transformer block takes M C R + M N R + N D R products and those of its map, and serves any number of
 *            tokens with the same weights.
 * Paper      ChoP'D, Sec. 2.3, Eq. 7; Fig. 2: a transformer's mixer is quadratic in the tokens.
 * Measure    Products of Eq. 7 told by loops, M = N = 6 and 12, C = 3, D = 2, R = 4, two heads of two channels: the
 *            three steps; 2 M C c H of the map for queries and keys and M N c H for scores.
 * Tolerance  Zero.
 * Would it fail?  From 6 to 12 tokens the mixing and the scores grow by four, the others by two. */
START_TEST(transformer_block_costs_three_steps_and_its_map)
{
    const double C = 3, D = 2, R = 4, heads = 2, c = 2;
    struct block_products few = block_of(6), many = block_of(12);
    for (int twice = 0; twice < 2; twice++) {
        const struct block_products *k = twice ? &many : &few;
        double M = twice ? 12 : 6;
        ck_assert(k->u4 == M * C * R && k->u123 == M * M * R && k->u5 == M * D * R);
        ck_assert(k->channels == 2 * M * C * c * heads && k->scores == M * M * c * heads);
    }
    ck_assert(many.u123 == 4 * few.u123 && many.scores == 4 * few.scores);
    ck_assert(many.u4 == 2 * few.u4 && many.u5 == 2 * few.u5 && many.channels == 2 * few.channels);
}
END_TEST

/* Claim      ChoP'D's complexity is O(M) for M tokens: each costs the same, however many there are.  As the
 *            dense tensor of its factors it is O(M N).
 * Paper      ChoP'D, Sec. 2.3, reduced from O(M N) to O(M).
 * Measure    What a token more costs, by the formulas of both forms, from 7 x 14 to 112 x 56 tokens; the fast
 *            form's is at most C R + R D + R (6 G + 3), that of chopd.h. */
START_TEST(chopd_costs_the_same_for_every_token)
{
    double fast = for_a_token("fast", 7, 14), naive = for_a_token("naive", 7, 14);
    printf("    %.0f multiply-adds for a token\n", fast);
    ck_assert(fast > 16 * 24 && fast <= 16 * 24 + 24 * 16 + 24 * (6 * 4 + 3));
    for (size_t H = 14; H <= 56; H *= 2) {
        double before = naive;
        ck_assert(for_a_token("fast", H, 14) == fast && for_a_token("fast", H, 56) == fast);
        naive = for_a_token("naive", H, 14);
        ck_assert(naive > 1.9 * before);
    }
}
END_TEST

/* Claim      Neither arithmetic nor memory depends on the size of the boxes, which the direct sum does: it meets as
 *            many tokens as the box has.
 * Paper      ChoP'D, Sec. 2.3, "constant computational cost even when the receptive field is global".
 * Measure    Multiply-adds by formula and peak bytes of the fast form, 15 x 15 tokens, with all boxes of one token
 *            and with all boxes of 29 x 29, which is the whole grid for every token; entries of the naive P that
 *            are not zero. */
START_TEST(chopd_does_not_see_the_size_of_its_boxes)
{
    double products[2], bytes[2], entries[2] = {0, 0};
    for (int whole = 0; whole < 2; whole++) {
        struct trial t = trial("--grid 15x15", &chopd, 1, 3, "R=4 D=3 G=2 S=2", "");
        real *box = trial_tensor(&t, "boxes"), *P = zeros(225 * 225 * 8);
        for (size_t e = 0; e < 4 * 8; e++) box[e] = (real)((e % 4 < 2 ? -1 : 1) * (whole ? 14.5 : 0.5));
        products[whole] = formula(&t, "fast");
        bytes[whole] = peak(&t, "fast");
        chopd_naive_pooling(P, box, 15, 15, 4, 2);
        for (size_t at = 0; at < 225 * 225 * 8; at++) entries[whole] += P[at] > 0;
    }
    ck_assert(products[0] == products[1] && bytes[0] == bytes[1]);
    ck_assert(entries[0] == 225 * 8 && entries[1] == 225.0 * 225 * 8);
}
END_TEST

/* Claim      The fast form's memory grows by R numbers for a token, and a table's few; the naive form's with N^2.
 * Paper      ChoP'D, Sec. 2.3; reference/chopd.h.
 * Measure    Peak bytes of the fast form on 96 x 96 tokens less those on 48 x 48, over the tokens more, R = 24;
 *            of the naive one on 14 x 14 less 7 x 7, over the pairs of tokens more.
 * Tolerance  12 numbers a token for the table of one thread, whose rows have pads; for the naive form a part of
 *            a hundred, N R and phi. */
START_TEST(chopd_takes_memory_for_its_components)
{
    struct trial small = layer_on(48, 48), large = layer_on(96, 96), tiny = layer_on(7, 7), less = layer_on(14, 14);
    double fast = (peak(&large, "fast") - peak(&small, "fast")) / sizeof(real) / (3 * 48 * 48);
    double naive = (peak(&less, "naive") - peak(&tiny, "naive")) / sizeof(real) / (196 * 196 - 49 * 49);
    printf("    fast %.1f numbers for a token, naive %.1f for a pair\n", fast, naive);
    ck_assert(fast >= 24 && fast <= 24 + 12);
    ck_assert(fabs(naive / (16 * 16 + 24 * 4 + 24) - 1) <= 0.01);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, counts");
    TCase *layers = add_case(suite, "layers");
    tcase_add_loop_test(layers, naive_former_multiplies_as_its_formula_says, 0, (int)COUNT(size));
    tcase_add_test(layers, layers_cost_what_is_not_zero_in_w);
    tcase_add_test(layers, dynamic_layer_costs_as_the_static_one_and_g);
    TCase *factors = add_case(suite, "factors");
    tcase_add_test(factors, eq6_multiplies_as_its_formula_says);
    tcase_add_test(factors, factors_store_sums_for_products);
    tcase_add_test(factors, former_takes_the_memory_it_states);
    TCase *pooling = add_case(suite, "pooling");
    tcase_add_test(pooling, transformer_block_costs_three_steps_and_its_map);
    tcase_add_test(pooling, chopd_costs_the_same_for_every_token);
    tcase_add_test(pooling, chopd_does_not_see_the_size_of_its_boxes);
    tcase_add_test(pooling, chopd_takes_memory_for_its_components);
    return run_suite(suite);
}
