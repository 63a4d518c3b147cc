/* test_sra.c -- spatial-reduction attention: its forms are one function, and
 * what that function promises and costs */

#include <math.h>
#include <string.h>
#include "golden.h"
#include "promises.h"
#include "published.h"
#include "support.h"
#include "../fast/attention.h"
#include "../naive/sra.h"
#include "../reference/msa.h"

static struct sra_problem resolved(const struct problem *p)
{
    struct sra_problem z;
    succeeds(sra.resolve(&z, p));
    return z;
}

/* Two ways to the same y, over the largest entry of y: a probabilistic bound of the
 * largest error (roundoff.h).  A number of the reduced
 * plane sums s^2 C products; the norm keeps its relative error, as sums have a
 * deviation of 1 as drawn, and sums C squares.  A key sums C of these, a score
 * c products; its absolute error is the relative error of a weight.  M weights
 * and products with values are summed; 10 for the exponential, scales and
 * divisions.  Rounding errors of a sum of n terms grow like sqrt(n) u (Higham
 * and Mary, SIAM J. Sci. Comput. 41, 2019, lambda = 8):
 *
 *     8 (s sqrt(C) + 2 sqrt(C) + sqrt(c) + 2 sqrt(M) + 10) u */
static double tolerance(const struct problem *p)
{
    struct sra_problem z = resolved(p);
    double C = sqrt((double)z.C), convolution = z.s > 1 ? (double)(z.s + 1) * C : 0;
    return 8 * (convolution + C + sqrt((double)z.c) + 2 * sqrt((double)z.M) + 10) * UNIT_ROUNDOFF;
}

/* ---- one function ------------------------------------------------------- */

/* One token, one patch, planes one patch wide, queries beyond one block, numbers of channels that
 * fill no vector, reductions of every kind, more images than fly together. */
static const struct { const char *options; size_t batch, channels; const char *without; } size[] = {
    {"--grid 1x1 --reduction 1", 1, 1, ""},
    {"--grid 2x2", 2, 1, ""},
    {"--grid 3x3 --reduction 3 --heads 3", 2, 6, "sr_b"},
    {"--grid 2x14 --heads 2", 1, 34, "b_q w_o b_o"},
    {"--grid 12x2 --heads 5 --scale -0.3", 3, 15, "b_kv"},
    {"--grid 14x14 --heads 12", 1, 192, "b_q b_kv sr_b b_o"},
    {"--grid 9x21 --reduction 3 --heads 1", 1, 17, "b_o"},
    {"--grid 13x7 --reduction 1 --heads 2", 2, 34, ""},
    {"--grid 16x24 --reduction 8 --heads 4", 1, 16, ""},
    {"--grid 22x22 --heads 2", 1, 8, ""},
    {"--grid 16x24 --heads 2", 5, 8, "sr_b"},
    {"--grid 12x12 --reduction 1 --heads 2", 9, 8, "w_o b_o"},
};

/* What the promises are made on: with and without a reduction, two images. */
static const char *const kind[] = {"--grid 6x8 --heads 3", "--grid 5x7 --reduction 1 --heads 3"};
#define KINDS ((int)COUNT(kind))

static struct trial ordinary(int at) { return trial(kind[at], &sra, 2, 12, "", ""); }

/* Claim      Both forms compute one function, on any grid that the reduction divides, with any number
 *            of channels, heads, images and threads, with and without biases.
 * Paper      PVT, Eq. 1-4.
 * Measure    Largest |fast - naive| over the largest |naive|.
 * Tolerance  Above; root mean square: roundoff.h.
 * Would it fail?  See every_tensor_of_sra_counts. */
START_TEST(sra_forms_are_one_function)
{
    struct trial t = trial(size[_i].options, &sra, size[_i].batch, size[_i].channels, "", size[_i].without);
    promise_one_function(&t, size[_i].options, tolerance(&t.problem));
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever tensor.  (Not in b_kv,
 *            whose first half says nothing: see bias_of_the_keys_says_nothing.) */
START_TEST(every_tensor_of_sra_counts)
{
    struct trial t = trial(kind[_i], &sra, 2, 12, "", "b_kv");
    promise_every_tensor_counts(&t, tolerance(&t.problem));
}
END_TEST

static const char *const golden[] = {"sra_plane", "sra_three", "sra_patch", "sra_none", "sra_paper"};

/* Claim      Both forms compute what PyTorch's conv2d, layer_norm and softmax do, in double.
 * Measure    Golden vectors, largest difference over the largest entry.
 * Tolerance  Twice that of two forms: projections and output differ as well.
 * Would it fail?  golden.h lets one token stand in another's place. */
START_TEST(golden_vectors_of_sra)
{
    struct golden g;
    golden_open(&g, &sra, golden[_i]);
    golden_holds(&g, golden[_i], 2 * tolerance(&g.problem));
    golden_close(&g);
}
END_TEST

/* ---- what it promises --------------------------------------------------- */

static void whole(struct trial *t, const char *name, uint64_t seed, int bound)
{
    size_t count = 0;
    for (size_t r = 0; sra.tensors[r].name; r++)
        if (!strcmp(sra.tensors[r].name, name)) count = t->problem.tensor[r].count;
    memcpy(trial_tensor(t, name), integers(seed, count, bound), count * sizeof(real));
}

/* Claim      Without reduction it is self-attention: w_q above w_kv is w_qkv.
 * Paper      PVT, Sec. 3.3: with R = 1 nothing is left out.
 * Measure    y of both forms of sra against those of msa, whole numbers in x and the projections.
 * Tolerance  Zero: queries, keys and values are exact, and one function attends to them.
 * Would it fail?  With a reduction of 2 the same rows give another y. */
START_TEST(no_reduction_is_self_attention)
{
    static const char *const forms[] = {"naive", "fast"};
    struct trial t = trial("--grid 10x11 --heads 2 --reduction 1", &sra, 2, 8, "", "w_o b_o");
    struct trial u = trial("--grid 10x11 --heads 2", &msa, 2, 8, "", "w_o b_o rpe");
    real *x = integers(1, t.inputs, 2), *w_qkv = trial_tensor(&u, "w_qkv"), *b_qkv = trial_tensor(&u, "b_qkv");
    whole(&t, "w_q", 2, 2);
    whole(&t, "w_kv", 3, 2);
    whole(&t, "b_q", 4, 2);
    whole(&t, "b_kv", 5, 2);
    memcpy(w_qkv, trial_tensor(&t, "w_q"), 64 * sizeof(real));
    memcpy(w_qkv + 64, trial_tensor(&t, "w_kv"), 128 * sizeof(real));
    memcpy(b_qkv, trial_tensor(&t, "b_q"), 8 * sizeof(real));
    memcpy(b_qkv + 8, trial_tensor(&t, "b_kv"), 16 * sizeof(real));
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *y = trial_run_on(&u, forms[f], 2, x);
        within(forms[f], largest_difference(trial_run_on(&t, forms[f], 2, x), y, t.outputs), 0);
        ck_assert(largest(y, t.outputs) > 0);
    }

    struct trial reduced = trial("--grid 10x10 --heads 2", &sra, 1, 8, "", "w_o b_o");
    struct trial other = trial("--grid 10x10 --heads 2", &msa, 1, 8, "", "w_o b_o rpe");
    real *w = trial_tensor(&other, "w_qkv");
    memcpy(w, trial_tensor(&reduced, "w_q"), 64 * sizeof(real));
    memcpy(w + 64, trial_tensor(&reduced, "w_kv"), 128 * sizeof(real));
    real *y = trial_run(&other, "fast", 1);
    beyond("with a reduction", relative_difference(trial_run(&reduced, "fast", 1), y, 800), 0.1);
}
END_TEST

/* Claim      The convolution looks at patches: a kernel of one tap picks that token of each, and one
 *            that is 1 everywhere sums them; the bias comes on top.
 * Measure    The naive heart on whole numbers, against tokens picked by hand; exactly. */
START_TEST(convolution_sees_patches)
{
    enum { rows = 2, columns = 3, s = 2, C = 3, W = columns * s };
    struct problem p = shaped("--grid 4x6", &sra, 1, C, "", "");
    struct sra_problem z = resolved(&p);
    real *x = integers(1, z.N * C, 9), *w = zeros(C * C * s * s), *b = integers(2, C, 9), *reduced = zeros(z.M * C);
    z.sr_w = w;
    z.sr_b = b;
    ck_assert(z.s == s && z.M == rows * columns && z.N == rows * s * W);
    for (size_t tap = 0; tap <= s * s; tap++) {             /* tap s * s stands for all of them */
        for (size_t o = 0; o < C; o++)
            for (size_t c = 0; c < C; c++)
                for (size_t t = 0; t < s * s; t++)
                    w[(o * C + c) * s * s + t] = c == (o + 1) % C && (tap == s * s || tap == t);
        sra_naive_convolve(reduced, x, &z);
        for (size_t m = 0; m < z.M; m++)
            for (size_t o = 0; o < C; o++) {
                real sum = b[o];
                for (size_t t = 0; t < s * s; t++) {
                    size_t token = (m / columns * s + t / s) * W + m % columns * s + t % s;
                    if (tap == s * s || tap == t) sum += x[token * C + (o + 1) % C];
                }
                ck_assert(reduced[m * C + o] == sum);
            }
    }
}
END_TEST

/* Claim      Where one patch is the whole plane there is one key, and every token gets its value.
 * Measure    All rows of y are the first one, both forms; and not so with four patches.
 * Tolerance  Zero: a softmax of one score is 1. */
START_TEST(one_patch_answers_every_token)
{
    static const char *const forms[] = {"naive", "fast"};
    for (size_t f = 0; f < COUNT(forms); f++)
        for (int patches = 1; patches <= 4; patches += 3) {
            const char *options = patches == 1 ? "--grid 4x4 --reduction 4 --heads 2" : "--grid 4x4 --heads 2";
            struct trial t = trial(options, &sra, 1, 8, "", "w_o b_o");
            real *y = trial_run(&t, forms[f], 1);
            double apart = 0;
            for (size_t n = 1; n < 16; n++) worse(&apart, largest_difference(y + n * 8, y, 8));
            if (patches == 1) within("rows apart, one patch", apart, 0);
            else beyond("rows apart, four patches", apart, 0);
        }
}
END_TEST

/* Claim      The bias of the keys says nothing, that of the values is added to y: a softmax does not see
 *            what is added to all its scores, and its weights sum to 1.
 * Measure    y with b_kv of the order of 1 against y without, plus the values' bias; both forms.
 * Tolerance  Four times that of two forms, as values and scores are that much larger.
 * Would it fail?  A query's bias of that size is noticed. */
START_TEST(bias_of_the_keys_says_nothing)
{
    static const char *const forms[] = {"naive", "fast"};
    for (size_t f = 0; f < COUNT(forms); f++) {
        struct trial t = trial("--grid 6x6 --heads 2", &sra, 1, 8, "", "w_o b_o");
        real *b_kv = trial_tensor(&t, "b_kv"), *b_q = trial_tensor(&t, "b_q");
        memset(b_kv, 0, 16 * sizeof *b_kv);
        real *expected = trial_run(&t, forms[f], 1);
        memcpy(b_kv, normal(7, 16), 16 * sizeof *b_kv);
        for (size_t i = 0; i < t.outputs; i++) expected[i] += b_kv[8 + i % 8];
        double apart = relative_difference(trial_run(&t, forms[f], 1), expected, t.outputs);
        within(forms[f], apart, 4 * tolerance(&t.problem));
        b_q[0] += 1;
        double moved = relative_difference(trial_run(&t, forms[f], 1), expected, t.outputs);
        beyond("    a bias of the query", moved, 4 * tolerance(&t.problem));
    }
}
END_TEST

/* Claim      The same plan, another plan, and a plan that has seen other tokens meanwhile give the same
 *            to the bit; a run writes y alone. */
START_TEST(sra_repeats_to_the_bit)
{
    struct trial t = ordinary(_i);
    promise_repeatable(&t);
}
END_TEST

/* Claim      Plans of one problem may be prepared, run and released by two threads at the same time. */
START_TEST(sra_plans_do_not_meet)
{
    struct trial t = ordinary(_i);
    promise_plans_apart(&t);
}
END_TEST

/* Claim      NaN in a token reaches every token of its image, and no other image. */
START_TEST(nan_reaches_its_image_and_no_other_of_sra)
{
    struct trial t = ordinary(_i);
    promise_images_apart(&t, 13 * 12 + 5, NULL, NULL);
}
END_TEST

/* ---- refused -------------------------------------------------------------- */

static const struct { const char *word[8]; size_t channels; const char *text; } wrong[] = {
    {{"--grid", "6x4", "--reduction", "3"}, 4, "option --reduction: found 3, expected a divisor of 6 and 4"},
    {{"--grid", "4x6", "--reduction", "3"}, 4, "option --reduction: found 3, expected a divisor of 4 and 6"},
    {{"--grid", "5x4"}, 4, "option --reduction: found 2, expected a divisor of 5 and 4"},
    {{"--grid", "4x4", "--reduction", "0"}, 4, "--reduction: found '0'"},
    {{"--grid", "4x4", "--heads", "3"}, 4, "--heads: found 3, expected a divisor of C = 4"},
    {{"--grid", "16"}, 4, "found '16', a grid of 1 axes"},
    {{"--grid", "2x2x4"}, 4, "a grid of 3 axes"},
    {{"--grid", "16384x16384", "--reduction", "16384"}, 8,
     "option --reduction: found 16384, expected at most 2147483647 numbers"},
};

/* Claim      Options that have no meaning are refused, saying what was found and what was expected. */
START_TEST(sra_refuses_wrong_options)
{
    struct problem p;
    int words = 0;
    while (wrong[_i].word[words]) words++;
    status s = problem_create(&p, &sra, words, wrong[_i].word);
    if (!s.code) s = problem_set_size(&p, "B", 1);
    if (!s.code) s = problem_set_size(&p, "C", wrong[_i].channels);
    if (!s.code) s = problem_shape(&p, NULL, NULL);
    refused(s, STATUS_BAD_INPUT, wrong[_i].text);
}
END_TEST

/* A file for a 2x4 grid of two channels, and the complaint it earns. */
static const struct { const char *reduction, *missing, *complaint; } files[] = {
    {"2", NULL, NULL},
    {"2", "sr_b", NULL},
    {"2", "sr_w", "tensor sr_w: missing, expected [R, C, s, s] = [2, 2, 2, 2]"},
    {"2", "norm_g", "tensor norm_g: missing"},
    {"2", "norm_b", "tensor norm_b: missing"},
    {"2", "w_o", "tensor b_o: found without w_o"},
    {"1", NULL, "tensor sr_w: found one, expected none"},
    {"1", "sr_w", "tensor sr_b: found one, expected none"},
};

/* Claim      Convolution and norm must be there with a reduction, and must not without. */
START_TEST(convolution_is_there_where_something_is_reduced)
{
    static const struct { const char *name; int axes; size_t size[4]; } all[] = {
        {"x", 3, {1, 8, 2, 0}}, {"w_q", 2, {2, 2, 0, 0}}, {"sr_w", 4, {2, 2, 2, 2}}, {"sr_b", 1, {2, 0, 0, 0}},
        {"norm_g", 1, {2, 0, 0, 0}}, {"norm_b", 1, {2, 0, 0, 0}}, {"w_kv", 2, {4, 2, 0, 0}},
        {"w_o", 2, {2, 2, 0, 0}}, {"b_o", 1, {2, 0, 0, 0}},
    };
    struct tensor tensor[COUNT(all)];
    struct tensors file = {.tensor = tensor};
    struct problem p;
    for (size_t t = 0; t < COUNT(all); t++)
        if (!files[_i].missing || strcmp(files[_i].missing, all[t].name))
            succeeds(tensor_create(&tensor[file.count++], all[t].name, all[t].axes, all[t].size));
    succeeds(problem_create(&p, &sra, 4, LIST(const char *, "--grid", "2x4", "--reduction", files[_i].reduction)));
    if (files[_i].complaint) refused(problem_bind(&p, &file), STATUS_BAD_INPUT, files[_i].complaint);
    else succeeds(problem_bind(&p, &file));
    for (size_t t = 0; t < file.count; t++) tensor_release(&tensor[t]);
}
END_TEST

/* ---- what it costs ---------------------------------------------------------- */

static const struct { const char *options; size_t batch, channels; const char *without; } counted_size[] = {
    {"--grid 2x2", 1, 1, ""},
    {"--grid 4x6 --heads 2", 2, 4, "w_o b_o"},
    {"--grid 6x9 --reduction 3 --heads 3 --scale 2", 1, 6, "sr_b"},
    {"--grid 3x5 --reduction 1 --heads 2", 2, 4, ""},
};

/* Claim      The naive form multiplies as its formula says: N C^2 for the convolution whatever s,
 *            2 N M c + N M for a head.  (Projections are made by BLAS; softmax and norm are left out.)
 * Measure    A whole run of the counted naive form against the formula; and its y against the ordinary
 *            one's, so that what was counted is what is meant. */
START_TEST(naive_sra_multiplies_as_its_formula_says)
{
    struct trial t = trial(counted_size[_i].options, &sra, counted_size[_i].batch, counted_size[_i].channels, "",
                           counted_size[_i].without);
    struct sra_problem z = resolved(&t.problem);
    double linear = (double)(z.B * (z.N + 2 * z.M + (z.w_o ? z.N : 0)) * z.C * z.C);
    real *y = zeros(t.outputs);
    struct plan plan;
    multiplications();
    succeeds(plan_create(&plan, &t.problem, counted_form(&sra), 1));
    ck_assert_uint_eq(multiplications(), 0);
    succeeds(plan_run(&plan, y, t.x));
    double counted = (double)multiplications();
    plan_release(&plan);
    printf("    %-45s %8.0f multiplications\n", counted_size[_i].options, counted);
    ck_assert(counted > 0 && counted + linear == form_multiply_adds(operator_form(&sra, "naive"), &t.problem));
    size_t convolution = z.s > 1 ? z.N * z.C * z.C : 0;
    ck_assert(counted == (double)(z.B * (convolution + z.h * z.N * z.M * (2 * z.c + 1))));
    within("the counted form's y", relative_difference(y, trial_run(&t, "naive", 1), t.outputs), tolerance(&t.problem));
}
END_TEST

/* Claim      Table 10's row of SRA is this declaration with s = 2: 4.72 M parameters, with or without
 *            biases, and 419.6 M multiply-adds.
 * Paper      HiLo, Table 10, Sec. A.5: 14 x 14 tokens, 12 heads of 64 channels.
 * Measure    Parameters and fast multiply-adds of the declaration.
 * Follows    Linear maps and attention make 419.4, which is all that there is in the row of MSA, 521.4; five
 *            operations for each number of the layer norm, as fvcore counts them, and nothing for biases
 *            and softmax, make 419.6.
 * Would it fail?  With four operations it would print 419.5. */
START_TEST(table_10_row_of_sra)
{
    struct trial t = trial("--grid 14x14 --heads 12", &sra, 1, 768, "", "b_q b_kv sr_b b_o");
    struct trial biased = trial("--grid 14x14 --heads 12", &sra, 1, 768, "", "");
    struct trial plain = trial("--grid 14x14 --heads 12", &msa, 1, 768, "", "rpe b_qkv b_o");
    double flops = published("hilo", "10", "SRA", "flops"), parameters = published("hilo", "10", "SRA", "parameters");
    double msa_flops = published("hilo", "10", "MSA", "flops"),
           msa_maps = form_multiply_adds(operator_form(&msa, "fast"), &plain.problem) / 1e6;
    double maps = form_multiply_adds(operator_form(&sra, "fast"), &t.problem) / 1e6, normed = 49 * 768 / 1e6;
    printf("    linear maps %.2f M, the norm %.2f M at five operations a number\n", maps, 5 * normed);
    ck_assert(prints((double)problem_parameters(&t.problem) / 1e6, parameters, 0.01));
    ck_assert(prints((double)problem_parameters(&biased.problem) / 1e6, parameters, 0.01));
    ck_assert(prints(msa_maps, msa_flops, 0.1) && !prints(msa_maps + 196 * 768 / 1e6, msa_flops, 0.1));
    ck_assert(prints(maps, 419.4, 0.1) && !prints(maps, flops, 0.1));
    ck_assert(prints(maps + 5 * normed, flops, 0.1) && !prints(maps + 4 * normed, flops, 0.1));
}
END_TEST

/* Claim      Both forms take the memory they state: 2 N C + 3 M C reals an image, of all images the naive
 *            one, of those in flight the fast one; N M + 2 (N + M) c beside, or all weights once more and
 *            a tile.  Patches take none of their own.
 * Paper      The table of reference/sra.h.
 * Measure    Peak bytes against the formula, one image; and that nine images of 256 tokens take the
 *            fast form no more than four do, which fly together.
 * Tolerance  1 KiB: the plan, and blocks rounded up. */
START_TEST(sra_takes_the_memory_it_states)
{
    const struct form *naive = operator_form(&sra, "naive"), *fast = operator_form(&sra, "fast");
    struct trial t = trial("--grid 16x18 --heads 2", &sra, 1, 16, "", "");
    double N = 288, M = 72, C = 16, c = 8, both = 2 * N * C + 3 * M * C;
    double weights = (double)problem_parameters(&t.problem) - 2 * C;
    size_t tile;
    ck_assert(attention_fast_workspace(&tile, 8, ATTENTION_BLOCK));
    within("naive", fabs(trial_peak(&t, naive) - (both + N * M + 2 * (N + M) * c) * sizeof(real)), 1024);
    within("fast", fabs(trial_peak(&t, fast) - (both + weights + (double)tile) * sizeof(real)), 1024);

    struct trial four = trial("--grid 16x16 --heads 2", &sra, 4, 8, "", "");
    struct trial nine = trial("--grid 16x16 --heads 2", &sra, 9, 8, "", "");
    ck_assert(trial_peak(&four, fast) == trial_peak(&nine, fast));
    ck_assert(trial_peak(&nine, naive) > 1.5 * trial_peak(&four, naive));
}
END_TEST

/* Claim      All memory is taken by prepare, a run takes none, and whichever allocation fails,
 *            plan_create says so and leaves nothing behind. */
START_TEST(sra_survives_failed_allocations)
{
    struct trial t = ordinary(_i);
    promise_memory(&t);
}
END_TEST

/* Claim      Sizes whose product overflows are refused before anything is allocated by them. */
START_TEST(sra_refuses_sizes_that_overflow)
{
    struct problem p = shaped("--grid 16384x16384", &sra, 1, BY_ADDRESSES(1 << 20, 8), "", "");
    promise_overflow(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("SRA");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, sra_forms_are_one_function, 0, (int)COUNT(size));
    tcase_add_loop_test(equality, every_tensor_of_sra_counts, 0, KINDS);
    tcase_add_loop_test(equality, golden_vectors_of_sra, 0, (int)COUNT(golden));
    TCase *promised = add_case(suite, "promises");
    tcase_add_test(promised, no_reduction_is_self_attention);
    tcase_add_test(promised, convolution_sees_patches);
    tcase_add_test(promised, one_patch_answers_every_token);
    tcase_add_test(promised, bias_of_the_keys_says_nothing);
    tcase_add_loop_test(promised, sra_repeats_to_the_bit, 0, KINDS);
    tcase_add_loop_test(promised, sra_plans_do_not_meet, 0, KINDS);
    tcase_add_loop_test(promised, nan_reaches_its_image_and_no_other_of_sra, 0, KINDS);
    TCase *refusals = add_case(suite, "refused");
    tcase_add_loop_test(refusals, sra_refuses_wrong_options, 0, (int)COUNT(wrong));
    tcase_add_loop_test(refusals, convolution_is_there_where_something_is_reduced, 0, (int)COUNT(files));
    TCase *costs = add_case(suite, "costs");
    tcase_add_loop_test(costs, naive_sra_multiplies_as_its_formula_says, 0, (int)COUNT(counted_size));
    tcase_add_test(costs, table_10_row_of_sra);
    tcase_add_test(costs, sra_takes_the_memory_it_states);
    tcase_add_loop_test(costs, sra_survives_failed_allocations, 0, KINDS);
    tcase_add_test(costs, sra_refuses_sizes_that_overflow);
    return run_suite(suite);
}
