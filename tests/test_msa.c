/* test_msa.c -- self-attention as an operator: projections, heads, windows,
 * position embeddings, batch and threads around the hearts that
 * test_attention.c proves equal */

#include <math.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../reference/msa.h"

static const struct { const char *options; size_t batch, channels; const char *without; } size[] = {
    {"--grid 1", 1, 1, ""},
    {"--grid 7 --heads 3", 2, 6, ""},
    {"--grid 1x5 --heads 1", 1, 3, "rpe b_qkv"},
    {"--grid 13x7 --heads 2", 2, 34, ""},
    {"--grid 14x14 --heads 12", 1, 192, "w_o"},
    {"--grid 2x3x4 --heads 2 --scale 0.3", 3, 8, "b_o"},
    {"--grid 6x4 --heads 2 --window 2", 2, 8, ""},
    {"--grid 14x14 --heads 3 --window 7", 2, 96, "b_qkv w_o"},
    {"--grid 11x11 --window 11", 1, 5, "rpe"},
    {"--grid 22x11 --window 11 --heads 2", 1, 4, ""},
    {"--grid 4x4 --window 1", 1, 4, ""},
    {"--grid 20x20 --heads 2", 5, 8, "b_o"},
    {"--grid 21x21 --window 7 --heads 2", 5, 8, "w_o"},
};

/* Tokens that one query meets. */
static double reach(const struct problem *p)
{
    struct msa_problem m;
    succeeds(msa.resolve(&m, p));
    return (double)m.windows.entries;
}

/* Claim      The tiled form computes what the equation says, with heads, batch,
 *            windows, embeddings and biases, for one thread and two.
 * Paper      LiSA, Eq. 1-3.
 * Measure    Largest |fast - naive| over the largest |naive|.
 * Tolerance  8 (sqrt c + 2 sqrt n + 10) u, n keys of a query.  Both forms start from
 *            the same projections.  A score sums c products, its exponential turns an
 *            absolute error into a relative one of the weight, and n weights and n
 *            products are summed; rounding errors of a sum of n terms grow like
 *            sqrt(n) u (Higham and Mary, SIAM J. Sci. Comput. 41, 2019: beyond
 *            lambda sqrt(n) u with probability 2 exp(-lambda^2/2), so lambda = 8 leaves
 *            nothing to chance); 10 for the exponential, the scale and the division.
 *            The output projection passes the error on as it passes the values.
 * Would it fail?  Values off by a thousandth are noticed. */
START_TEST(tiled_attention_is_the_equation_with_everything_around_it)
{
    struct trial t = trial(size[_i].options, &msa, size[_i].batch, size[_i].channels, "", size[_i].without);
    double c = (double)problem_size(&t.problem, "c"), n = reach(&t.problem);
    double tolerance = 8 * (sqrt(c) + 2 * sqrt(n) + 10) * UNIT_ROUNDOFF;
    within(size[_i].options, trial_difference(&t, "fast", 1), tolerance);
    within(size[_i].options, trial_difference(&t, "fast", 2), tolerance);

    /* It would fail: the value rows of w_qkv a little larger. */
    real *w = trial_tensor(&t, "w_qkv");
    size_t values = problem_size(&t.problem, "C") * problem_size(&t.problem, "C");
    for (size_t i = 0; i < values; i++) w[2 * values + i] *= (real)1.001;
    beyond("values a thousandth larger", trial_difference(&t, "fast", 1), tolerance);
}
END_TEST

/* Claim      A window attends to itself alone: changing a token changes the
 *            outputs of its own window and no other's, in both forms.
 * Measure    Exactly: outputs of other windows are the same to the bit. */
START_TEST(windows_do_not_see_each_other)
{
    static const char *const forms[] = {"naive", "fast"};
    struct trial t = trial("--grid 6x6 --window 3 --heads 2", &msa, 1, 8, "", "");
    real *moved = copy(t.x, t.inputs);
    size_t token = 2 * 6 + 4;
    for (size_t c = 0; c < 8; c++) moved[token * 8 + c] += 1;
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *before = trial_run(&t, forms[f], 1), *after = trial_run_on(&t, forms[f], 1, moved);
        for (size_t n = 0; n < 36; n++) {
            bool same_window = n / 6 < 3 && n % 6 >= 3;
            bool same = !memcmp(before + n * 8, after + n * 8, 8 * sizeof(real));
            ck_assert_msg(same != same_window, "%s: token %zu", forms[f], n);
        }
    }
}
END_TEST

/* Claim      An embedding with one column is the same as that column repeated
 *            for every head. */
START_TEST(one_embedding_serves_all_heads)
{
    struct trial t = trial("--grid 4x5 --heads 2", &msa, 1, 8, "", "");
    size_t P = problem_size(&t.problem, "P");
    real *one = trial_tensor(&t, "rpe"), *both = zeros(2 * P), *x = zeros(t.inputs);
    struct tensor tensor[8] = {{.name = "x", .axes = 3, .size = {1, 20, 8}, .count = 160, .data = x}};
    struct tensors file = {1, tensor};
    for (size_t p = 0; p < P; p++) both[2 * p] = both[2 * p + 1] = one[p];
    for (int r = 1; msa.tensors[r].name; r++) {
        struct tensor *to = &tensor[file.count++];
        bool embedding = !strcmp(msa.tensors[r].name, "rpe");
        *to = (struct tensor){.axes = t.problem.tensor[r].axes, .count = t.problem.tensor[r].count,
                              .data = t.problem.tensor[r].data};
        to->name = strcpy(keep(strlen(msa.tensors[r].name) + 1, 1), msa.tensors[r].name);
        memcpy(to->size, t.problem.tensor[r].size, sizeof to->size);
        if (embedding) {
            to->size[1] = 2;
            to->count = 2 * P;
            to->data = both;
        }
    }
    struct trial u = t;
    succeeds(problem_create(&u.problem, &msa, 4, (const char *[]){"--grid", "4x5", "--heads", "2"}));
    succeeds(problem_bind(&u.problem, &file));
    static const char *const forms[] = {"naive", "fast"};
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(!memcmp(trial_run(&t, forms[f], 1), trial_run(&u, forms[f], 1), t.outputs * sizeof(real)));
    both[P] += 1;
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(memcmp(trial_run(&t, forms[f], 1), trial_run(&u, forms[f], 1), t.outputs * sizeof(real)));
}
END_TEST

/* Claim      The result does not depend on the threads, nor on the other images
 *            of the batch. */
START_TEST(threads_and_batch_change_nothing)
{
    struct trial t = trial("--grid 13x9 --heads 2", &msa, 3, 16, "", "");
    real *one = trial_run(&t, "fast", 1), *two = trial_run(&t, "fast", 2);
    ck_assert(!memcmp(one, two, t.outputs * sizeof(real)));
    real *moved = copy(t.x, t.inputs);
    for (size_t i = 0; i < t.inputs / 3; i++) moved[i] = -moved[i];
    real *other = trial_run_on(&t, "fast", 2, moved);
    within("later images, when the first one changes",
           relative_difference(other + t.outputs / 3, one + t.outputs / 3, t.outputs / 3 * 2), 0);
}
END_TEST

/* Claim      The fast form's memory does not hold N x N: doubling the grid's edge
 *            multiplies its peak by about 4, the naive form's by about 16. */
START_TEST(tiles_need_no_square)
{
    static const char *const forms[] = {"naive", "fast"}, *const grids[] = {"--grid 16x16", "--grid 32x32"};
    double peak[2][2];
    for (size_t g = 0; g < 2; g++) {
        struct trial t = trial(grids[g], &msa, 1, 8, "", "rpe");
        for (size_t f = 0; f < 2; f++) peak[f][g] = trial_peak(&t, operator_form(&msa, forms[f]));
    }
    ck_assert_double_gt(peak[0][1] / peak[0][0], 12);
    ck_assert_double_lt(peak[1][1] / peak[1][0], 4.1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("msa");
    TCase *equal = add_case(suite, "two forms, one result");
    tcase_add_loop_test(equal, tiled_attention_is_the_equation_with_everything_around_it, 0, (int)COUNT(size));
    TCase *theorems = add_case(suite, "around the heart");
    tcase_add_test(theorems, windows_do_not_see_each_other);
    tcase_add_test(theorems, one_embedding_serves_all_heads);
    tcase_add_test(theorems, threads_and_batch_change_nothing);
    tcase_add_test(theorems, tiles_need_no_square);
    return run_suite(suite, "test_msa");
}
