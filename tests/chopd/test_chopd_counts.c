/* test_chopd_counts.c -- the cost of fully connected layers and Formers; test_chopd.c counts whole forms
 *
 * Counts are exact integers. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../support/battery.h"
#include "../../reference/msa.h"

static double peak(const struct fixture *t, const char *form)
{
    return fixture_peak(t, operator_form(t->problem.declaration, form));
}

static double formula(const struct fixture *t, const char *form)
{
    return form_multiply_adds(operator_form(t->problem.declaration, form), &t->problem);
}

/* Both readings of Eq. 6, with tokens in a row. */
TEST(relative_positions_are_the_other_reading_of_eq6)
{
    struct fixture t = fixture("--positions relative --grid 1x7 --activation none", &dfc_cp, 2, 3, "D=4 R=6", "");
    struct dfc_problem s = dfc_of(&t.problem);
    struct steps count;
    make_integer(&t);
    memset(fixture_tensor(&t, "b"), 0, s.N * s.D * sizeof(real));
    forms_equal(&t, eq6(&s, t.x, RELATIVE, &count));
    ck_assert(all_steps(&count) == formula(&t, "fast") && all_steps(&count) == formula(&t, "plain"));
}

/* ChoP'D, Sec. 2.3: Eq. 6 with absolute positions has M C R + M R + R + N R + N D R multiplications per image. */
TEST(eq6_multiplies_as_its_formula_says)
{
    struct fixture t = fixture("--activation none", &dfc_cp, 2, 3, "M=7 N=5 D=4 R=6", "");
    struct dfc_problem s = dfc_of(&t.problem);
    struct steps count;
    make_integer(&t);
    memset(fixture_tensor(&t, "b"), 0, s.N * s.D * sizeof(real));
    forms_equal(&t, eq6(&s, t.x, ABSOLUTE, &count));
    ck_assert(all_steps(&count) == formula(&t, "fast") && all_steps(&count) == formula(&t, "plain"));
    ck_assert(count.u4 == 2 * 7 * 3 * 6 && count.u2 == 2 * 7 * 6 && count.u1 == 2 * 6 && count.u3 == 2 * 5 * 6);
    ck_assert(count.u5 == 2 * 5 * 4 * 6);
}

/* ChoP'D, Sec. 2.3: the factors store (B + M + N + C + D) R numbers instead of B M N C D; ChoP'D stores (C + D + 5 G)
 * R, phi and a bias, for any M and N. */
TEST(factors_store_sums_for_products)
{
    struct fixture factors = fixture("", &dfc_cp, 1, 96, "M=196 N=196 D=96 R=96", "");
    size_t stored = problem_parameters(&factors.problem) - 196 * 96;
    ck_assert_uint_eq(stored, (1 + 196 + 196 + 96 + 96) * 96);
    ck_assert(stored <= 5 * 196 * 96);

    struct fixture small = fixture("--grid 14x14", &chopd, 1, 96, "R=96 D=96 G=4 S=24", "");
    struct fixture large = fixture("--grid 28x28", &chopd, 1, 96, "R=96 D=96 G=4 S=24", "");
    size_t phi = 24 * 96 * 9 + 24 + 96 * 24 + 96;
    ck_assert_uint_eq(problem_parameters(&small.problem), (96 + 96 + 5 * 4) * 96 + phi + 96);
    ck_assert_uint_eq(problem_parameters(&large.problem), problem_parameters(&small.problem));
}

static struct fixture layer_on(size_t H, size_t W)
{
    char options[40];
    snprintf(options, sizeof options, "--grid %zux%zu", H, W);
    return fixture(options, &chopd, 1, 16, "R=24 D=16 G=4 S=4", "");
}

static double for_a_token(const char *form, size_t H, size_t W)
{
    struct fixture once = layer_on(H, W), twice = layer_on(2 * H, W);
    return (formula(&twice, form) - formula(&once, form)) / (double)(H * W);
}

/* ChoP'D, Sec. 2.3, from O(M N) to O(M): in the fast form an additional token costs the same for any number of tokens,
 * at most C R + R D + R (6 G + 3).  In the naive form, with its dense tensor, its cost grows with that number. */
TEST(chopd_costs_the_same_for_every_token)
{
    double fast = for_a_token("fast", 7, 14), naive = for_a_token("naive", 7, 14);
    ck_assert(fast > 16 * 24 && fast <= 16 * 24 + 24 * 16 + 24 * (6 * 4 + 3));
    for (size_t H = 14; H <= 56; H *= 2) {
        double before = naive;
        ck_assert(for_a_token("fast", H, 14) == fast && for_a_token("fast", H, 56) == fast);
        naive = for_a_token("naive", H, 14);
        ck_assert(naive > 1.9 * before);
    }
}

/* ChoP'D, Sec. 2.3, "constant computational cost even when the receptive field is global": boxes of 29 x 29 cover all
 * 15 x 15 tokens from each token.  The naive sum has an entry for each token of a box. */
TEST(chopd_cost_does_not_depend_on_the_size_of_boxes)
{
    double products[2], bytes[2], entries[2] = {0, 0};
    for (int whole = 0; whole < 2; whole++) {
        struct fixture t = fixture("--grid 15x15", &chopd, 1, 3, "R=4 D=3 G=2 S=2", "");
        real *box = fixture_tensor(&t, "boxes"), *P = zeros(225 * 225 * 8);
        for (size_t e = 0; e < 4 * 8; e++) box[e] = (real)((e % 4 < 2 ? -1 : 1) * (whole ? 14.5 : 0.5));
        products[whole] = formula(&t, "fast");
        bytes[whole] = peak(&t, "fast");
        chopd_naive_pooling(P, box, 15, 15, 4, 2);
        for (size_t at = 0; at < 225 * 225 * 8; at++) entries[whole] += P[at] > 0;
    }
    ck_assert(products[0] == products[1] && bytes[0] == bytes[1]);
    ck_assert(entries[0] == 225 * 8 && entries[1] == 225.0 * 225 * 8);
}

/* The multiply_adds of form direct, which has no integral image, is an upper bound.  It counts N tokens per box: exact
 * for boxes that cover the grid, 2 N instead of 2 multiplications for boxes of one token. */
TESTS(direct_multiplies_at_most_as_its_formula_says, 3)
{
    enum { N = 42, R = 4, G = 3 };
    static const double half[] = {0, 0.5, 7};           /* half a side; 0: random boxes */
    struct fixture t = fixture("--grid 6x7 --gate-size 2", &chopd, 1, 3, "R=4 D=5 G=3 S=2", "");
    struct chopd_problem p = chopd_of(&t.problem);
    real *box = fixture_tensor(&t, "boxes"), *y = zeros(t.outputs);
    for (size_t e = 0; e < 4 * (size_t)(R * G) && half[_i] > 0; e++) box[e] = (real)(e % 4 < 2 ? -half[_i] : half[_i]);
    double most = formula(&t, "direct") - chopd_gate_multiply_adds(&p), counted = counted_run(&t, "direct", y);
    printf("    direct: %.0f multiplications, at most %.0f\n", counted, most);
    ck_assert(counted > 0 && counted <= most);
    ck_assert(_i != 1 || most - counted == 2 * (N - 1) * (double)(N * R * G));
    ck_assert((counted == most) == (_i == 2));
    within("y", relative_difference(y, fixture_run(&t, "naive", 1), t.outputs), property_tolerance(&t.problem));
}

/* ChoP'D, Sec. 2.3: memory grows by R = 24 numbers per token in the fast form, by C D + R G + R per pair of tokens in
 * the naive form.  Tolerance: 12 numbers more for the padded table of one thread; 1 % for N R and phi. */
TEST(chopd_memory_grows_with_its_components)
{
    struct fixture small = layer_on(48, 48), large = layer_on(96, 96), tiny = layer_on(7, 7), less = layer_on(14, 14);
    double fast = (peak(&large, "fast") - peak(&small, "fast")) / sizeof(real) / (3 * 48 * 48);
    double naive = (peak(&less, "naive") - peak(&tiny, "naive")) / sizeof(real) / (196 * 196 - 49 * 49);
    ck_assert(fast >= 24 && fast <= 24 + 12);
    ck_assert(fabs(naive / (16 * 16 + 24 * 4 + 24) - 1) <= 0.01);
}

/* ChoP'D, Sec. 1 and 2.3: the cost is comparable to a convolution with a small kernel.  With C = D = R and G boxes a
 * token costs more than one tap and less than nine, without phi and the interpolation of its 4 x 4 cells along the rows
 * (s W R).  With both, on 7 x 7 tokens of 512 channels, it costs 3.3 C^2.  Tolerance: zero for the formula; half the
 * last printed digit. */
TESTS(chopd_costs_between_one_tap_and_nine, 4)
{
    static const struct { size_t side, C, G; double ratio; } layer[] = {
        {56, 96, 1, 2.083}, {56, 96, 4, 2.271}, {14, 384, 4, 2.068}, {56, 64, 4, 2.406},
    };
    const double C = (double)layer[_i].C, N = (double)(layer[_i].side * layer[_i].side), cells = 4;
    char options[64], sizes[64];
    snprintf(options, sizeof options, "--grid %zux%zu --gate-size 4", layer[_i].side, layer[_i].side);
    snprintf(sizes, sizeof sizes, "R=%zu D=%zu G=%zu S=8", layer[_i].C, layer[_i].C, layer[_i].G);
    struct problem p = shaped(options, &chopd, 1, layer[_i].C, sizes, "");
    struct chopd_problem of_p;
    succeeds(chopd.resolve(&of_p, &p));
    double all = form_multiply_adds(operator_form(&chopd, "fast"), &p);
    double token = (all - chopd_gate_multiply_adds(&of_p) - cells * (double)layer[_i].side * C) / N;
    ck_assert(token == C * (2 * C + 6 * (double)layer[_i].G + 2));
    within("for a token, over C^2", fabs(token / (C * C) - layer[_i].ratio), 0.0005);
    ck_assert(token > C * C && token < 9 * C * C);

    struct problem least = shaped("--grid 7x7", &chopd, 1, 512, "R=512 D=512 G=4 S=64", "");
    double whole = form_multiply_adds(operator_form(&chopd, "fast"), &least) / 49 / (512 * 512);
    within("with phi, on 7 x 7 tokens", fabs(whole - 3.3), 0.005);
}

int main(void) { return run_tests("ChoP'D, counts"); }
