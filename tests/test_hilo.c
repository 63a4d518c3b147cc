/* test_hilo.c -- HiLo's forms are one function
 *
 * Naive against fast, against hearts called by hand, against PyTorch; in
 * batches, by threads, without memory, with NaN.  What the function itself
 * promises is proved in test_hilo_theorems.c. */

#include <stdio.h>
#include "golden.h"
#include "hilo_case.h"
#include "promises.h"
#include "../reference/linear.h"

/* ---- equality -------------------------------------------------------- */

/* Grids one token wide, prime, smaller than a window, and not tiled by it;
 * windows by lanes and by tiles, more than fill a vector and fewer; all heads
 * in one branch; heads of one channel and of odd numbers; more queries than a
 * block, more windows than a tile; biases of some maps and not of others. */
static const struct { const char *options; size_t batch, channels; const char *without; } size[] = {
    {"--grid 1x1", 1, 1, ""},
    {"--grid 1x1 --window 5 --alpha 0.5 --heads 2", 2, 2, ""},
    {"--grid 2x2 --heads 2 --alpha 0.5", 1, 6, "l_q_b"},
    {"--grid 14x14 --heads 12", 1, 96, ""},
    {"--grid 14x14 --heads 12", 3, 48, "h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b"},
    {"--grid 1x7 --heads 3", 2, 9, ""},
    {"--grid 13x1 --heads 3 --alpha 0.4", 2, 15, "h_qkv_b"},
    {"--grid 13x11 --heads 2 --alpha 0.5", 2, 34, "h_qkv_b l_q_b"},
    {"--grid 5x7 --window 3 --heads 3 --alpha 0.4", 2, 21, ""},
    {"--grid 17x31 --window 3 --heads 2 --alpha 0.5", 1, 38, "h_proj_b l_kv_b"},
    {"--grid 9x10 --window 4 --heads 4 --alpha 0.6", 2, 20, ""},
    {"--grid 6x5 --window 7 --heads 2 --alpha 0.5", 1, 10, ""},
    {"--grid 3x25 --window 11 --heads 2 --alpha 0", 2, 18, ""},
    {"--grid 12x9 --window 3 --heads 2 --alpha 0", 1, 34, "h_qkv_b"},
    {"--grid 10x10 --heads 5 --alpha 0", 2, 5, ""},
    {"--grid 10x9 --heads 3 --alpha 1", 2, 51, ""},
    {"--grid 24x20 --heads 1 --alpha 1", 1, 17, "l_kv_b"},
    {"--grid 12x10 --window 1 --heads 3 --alpha 0.4", 2, 12, ""},
    {"--grid 5x4 --window 1 --heads 2 --pooled-queries", 1, 4, "l_q_b"},
    {"--grid 14x14 --heads 3 --alpha 0.7 --pooled-queries", 2, 24, ""},
    {"--grid 7x5 --window 3 --heads 2 --alpha 0.5 --pooled-queries", 2, 10, "l_q_b"},
    {"--grid 23x29 --window 2 --heads 2 --alpha 1 --pooled-queries", 1, 18, ""},
    {"--grid 9x2 --window 4 --heads 2 --alpha 0.5 --pooled-queries", 1, 6, "l_proj_b"},
    {"--grid 6x6 --heads 2 --alpha 0 --pooled-queries", 1, 6, ""},
};

static struct trial drawn(int at)
{
    return trial(size[at].options, &hilo, size[at].batch, size[at].channels, "", size[at].without);
}

/* One of each kind, two images, padding in all but one, for the promises. */
static const char *const kind[] = {
    "--grid 6x4 --heads 3 --alpha 0.7",
    "--grid 5x7 --heads 3 --alpha 0.4",
    "--grid 5x7 --heads 3 --alpha 0.7 --window 4",
    "--grid 5x7 --heads 3 --alpha 0.7 --window 3 --pooled-queries",
    "--grid 5x7 --heads 3 --window 1",
};
#define KINDS ((int)COUNT(kind))

static struct trial ordinary(int at) { return trial(kind[at], &hilo, 2, 9, "", ""); }

/* Claim      Both forms compute one function, on any plane, with any window, split of the
 *            heads, number of channels, images and threads, with and without each bias, and
 *            with queries from the pooled map.
 * Paper      HiLo, Sec. 4.1, Eq. 6, A.4.   Chapter 5, "The fast form".
 * Measure    Largest |fast - naive| over the largest |naive|.
 * Tolerance  hilo_case.h; root mean square: roundoff.h.
 * Would it fail?  See every_tensor_of_hilo_counts. */
START_TEST(hilo_forms_are_one_function)
{
    struct trial t = drawn(_i);
    promise_one_function(&t, size[_i].options, hilo_tolerance(&t.problem));
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever tensor. But the bias of
 *            Lo-Fi's keys adds the same to all scores of a query, and changes nothing; the last
 *            entries are those of values.
 * Measure    The last entry of each tensor moved by a hundredth (float) or a millionth (double),
 *            in both forms; and the first entry of l_kv_b, by 1. */
START_TEST(every_tensor_of_hilo_counts)
{
    static const char *const forms[] = {"naive", "fast"};
    struct trial t = ordinary(_i);
    double tolerance = hilo_tolerance(&t.problem), step = sizeof(real) == sizeof(float) ? 1e-2 : 1e-6;
    real *key_bias = trial_tensor(&t, "l_kv_b");
    (void)trial_difference(&t, "naive", 1);
    for (size_t f = 0; f < COUNT(forms); f++) {
        for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
            char line[160];
            if (!t.problem.tensor[r].data) continue;
            real *last = t.problem.tensor[r].data + t.problem.tensor[r].count - 1, kept = *last;
            *last += (real)step;
            snprintf(line, sizeof line, "%s, the last of %s moved", forms[f], hilo.tensors[r].name);
            beyond(line, trial_difference(&t, forms[f], 1), tolerance);
            *last = kept;
        }
        real kept = key_bias[0];
        key_bias[0] += 1;
        within("the first of l_kv_b moved", trial_difference(&t, forms[f], 1), tolerance);
        key_bias[0] = kept;
    }
}
END_TEST

/* All heads of a branch on strided rows, by hand: dense copies, attention, and back. */
static void attended(real *z_rows, const real *q, const real *k, const real *v, const real *r,
                     size_t stride, size_t kv_stride, const struct hilo_problem *p, size_t heads)
{
    size_t M = p->M, c = p->c;
    real *q_h = zeros(M * c), *k_h = zeros(M * c), *v_h = zeros(M * c), *y_h = zeros(M * c), *a = zeros(M * M);
    for (size_t head = 0; head < heads; head++) {
        head_gather(q_h, q + head * c, stride, M, c);
        head_gather(k_h, k + head * c, kv_stride, M, c);
        head_gather(v_h, v + head * c, kv_stride, M, c);
        attention_naive(y_h, a, q_h, k_h, v_h, r, p->scale, M, M, c);
        head_scatter(z_rows + head * c, heads * c, y_h, M, c);
    }
}

/* Claim      The naive form is its hearts, run on the projections of each image: padded, masked,
 *            pooled, carried, cropped, side by side.
 * Measure    y of the form against hearts called here, padding and biases included.
 * Tolerance  Rounding of the projections alone, which BLAS may sum in another order for another
 *            number of tokens: hilo_case.h. */
START_TEST(naive_hilo_is_its_hearts)
{
    struct trial t = trial("--grid 3x5 --heads 3 --alpha 0.4", &hilo, 2, 6, "", "");
    struct hilo_problem z = resolved(&t.problem);
    real *y = trial_run(&t, "naive", 2), *whole = zeros(t.outputs), *mask = zeros(z.M * z.M);
    ck_assert(z.M == 24 && z.n == 6 && z.hd == 4 && z.ld == 2);
    hilo_naive_mask(mask, &z);
    for (size_t image = 0; image < 2; image++) {
        real *padded = zeros(z.M * 6), *qkv = zeros(z.M * 12), *near = zeros(z.M * 4), *high = zeros(z.M * 4);
        real *pooled = zeros(6 * 6), *q = zeros(z.M * 2), *kv = zeros(6 * 4), *carried = zeros(z.M * 4);
        real *far = zeros(z.M * 2), *low = zeros(z.M * 2);
        hilo_naive_pad(padded, t.x + image * 15 * 6, &z);
        linear_map(qkv, 12, padded, 6, trial_tensor(&t, "h_qkv"), trial_tensor(&t, "h_qkv_b"), z.M, 6, 12);
        attended(near, qkv, qkv + 4, qkv + 8, mask, 12, 12, &z, 2);
        linear_map(high, 4, near, 4, trial_tensor(&t, "h_proj"), trial_tensor(&t, "h_proj_b"), z.M, 4, 4);
        hilo_naive_pool(pooled, padded, &z);
        linear_map(q, 2, padded, 6, trial_tensor(&t, "l_q"), trial_tensor(&t, "l_q_b"), z.M, 6, 2);
        linear_map(kv, 4, pooled, 6, trial_tensor(&t, "l_kv"), trial_tensor(&t, "l_kv_b"), 6, 6, 4);
        hilo_naive_carry(carried, kv, &z, 4);
        attended(far, q, carried, carried + 2, NULL, 2, 4, &z, 1);
        linear_map(low, 2, far, 2, trial_tensor(&t, "l_proj"), trial_tensor(&t, "l_proj_b"), z.M, 2, 2);
        hilo_naive_crop(whole + image * 90, 6, high, &z, 4);
        hilo_naive_crop(whole + image * 90 + 4, 6, low, &z, 2);
    }
    within("hearts", relative_difference(y, whole, t.outputs), hilo_tolerance(&t.problem));
}
END_TEST

/* Claim      Rows of windows are spread as a resize with align_corners = false: they stand at the
 *            windows' centres, lie on straight lines between those, and stay the same beyond.
 * Paper      HiLo, A.4: "interpolation (e.g. bilinear)".
 * Measure    Two windows of four tokens side by side that hold 0 and 8: by hand 0 0 1 3 5 7 8 8
 *            (centres at 1.5 and 5.5); two of three tokens, 0 and 3: 0 0 1 2 3 3; and one above
 *            the other the same.
 * Tolerance  Zero for windows of four; 4 u of 3 for thirds. */
START_TEST(rows_of_windows_are_spread_bilinearly)
{
    static const real four[] = {0, 0, 1, 3, 5, 7, 8, 8}, three[] = {0, 0, 1, 2, 3, 3};
    struct hilo_problem z = sizes_of("--grid 4x8 --window 4 --pooled-queries", 1, 1);
    struct hilo_problem u = sizes_of("--grid 6x3 --window 3 --pooled-queries", 1, 1);
    real rows[] = {0, 8}, other[] = {0, 3}, tokens[32];
    hilo_naive_spread(tokens, rows, &z, 1);
    for (size_t i = 0; i < 32; i++) ck_assert(tokens[i] == four[i % 8]);
    hilo_naive_spread(tokens, other, &u, 1);
    for (size_t i = 0; i < 18; i++) within("thirds", fabs((double)(tokens[i] - three[i / 3])), 4 * 3 * UNIT_ROUNDOFF);
}
END_TEST

/* Claim      A head goes to Lo-Fi where alpha h, computed in double, makes a whole one; a window of
 *            one token makes all heads Lo-Fi's, whatever alpha.
 * Paper      HiLo, Sec. 4.1, "Head splitting"; Tab. 7 (s = 1 in the last stage).
 * Measure    ld over c, by hand; 0.29 times 100 is less than 29 in double. */
START_TEST(heads_are_shared_out_in_whole_numbers)
{
    static const struct { const char *options; size_t low, high; } z[] = {
        {"--grid 2x2 --heads 12", 10, 2},
        {"--grid 2x2 --heads 12 --alpha 1", 12, 0},
        {"--grid 2x2 --heads 12 --alpha 0", 0, 12},
        {"--grid 2x2 --heads 10", 9, 1},
        {"--grid 2x2 --heads 1 --alpha 0.99", 0, 1},
        {"--grid 2x2 --heads 100 --alpha 0.29", 28, 72},
        {"--grid 2x2 --heads 10 --alpha 0.7", 7, 3},
        {"--grid 2x2 --heads 12 --alpha 0 --window 1", 12, 0},
    };
    for (size_t n = 0; n < COUNT(z); n++) {
        struct hilo_problem is = sizes_of(z[n].options, 1, 300);
        ck_assert_msg(is.ld == z[n].low * is.c && is.hd == z[n].high * is.c, "%s: %zu and %zu channels", z[n].options,
                      is.hd, is.ld);
    }
}
END_TEST

/* ---- golden vectors -------------------------------------------------- */

static const char *const golden[] = {
    "hilo_both", "hilo_paper", "hilo_padded", "hilo_padded_bare", "hilo_high", "hilo_low", "hilo_plain",
    "hilo_pooled_queries", "hilo_pooled_padded",
};

/* Claim      Both forms compute what Hi-Fi and Lo-Fi are in PyTorch, implemented again in float64 with
 *            windows as a batch, avg_pool2d and interpolate (tests/pytorch/hilo.py).
 * Paper      HiLo, Sec. 4.1, Eq. 6, A.4.
 * Measure    Largest |form - y_expected| over the largest |y_expected|.
 * Tolerance  Twice hilo_case.h: there both forms share their projections' inputs, here not even
 *            the type.
 * Would it fail?  golden.h lets one token stand in another's place. */
START_TEST(golden_vectors_of_hilo)
{
    struct golden g;
    golden_open(&g, &hilo, golden[_i]);
    golden_holds(&g, golden[_i], 2 * hilo_tolerance(&g.problem));
    golden_close(&g);
}
END_TEST

/* ---- what is refused ------------------------------------------------- */

/* Claim      Options that make no sense are refused with one line that says what was found
 *            and what was expected.             Measure   Status and message, at the latest
 *            when x is there. */
static const struct { const char *words[10]; int count; const char *text; } wrong[] = {
    {{"--window", "2"}, 2, "option --grid: missing"},
    {{"--grid", "4"}, 2, "option --grid: found '4', a grid of 1 axes, expected two"},
    {{"--grid", "2x4x4"}, 2, "option --grid: found '2x4x4', a grid of 3 axes, expected two"},
    {{"--grid", "4x4", "--window", "0"}, 4, "option --window: found '0', expected a whole number from 1"},
    {{"--grid", "4x4", "--window", "2x2"}, 4, "option --window: found '2x2'"},
    {{"--grid", "4x4", "--alpha", "1.1"}, 4, "option --alpha: found '1.1', expected a finite number from 0 to 1"},
    {{"--grid", "4x4", "--alpha", "-0.1"}, 4, "option --alpha: found '-0.1'"},
    {{"--grid", "4x4", "--alpha", "nan"}, 4, "option --alpha: found 'nan'"},
    {{"--grid", "4x4", "--heads", "4"}, 4, "option --heads: found 4, expected a divisor of C = 6"},
    {{"--grid", "4x4", "--pooled-queries", "1"}, 4, "found '1', expected an option"},
    {{"--grid", "4x4", "--scale", "1"}, 4, "found '--scale', expected an option"},
    {{"--grid", "65537x65537", "--window", "65536"}, 4, "option --grid"},
    {{"--grid", "1x1", "--window", "65536"}, 4, "option --window: found 65536, which pads 1 images of 1 x 1 tokens"},
};
START_TEST(hilo_refuses_wrong_options)
{
    struct problem p;
    status s = problem_create(&p, &hilo, wrong[_i].count, wrong[_i].words);
    if (!s.code) s = problem_set_size(&p, "B", 1);
    if (!s.code) s = problem_set_size(&p, "C", 6);
    if (!s.code) s = problem_shape(&p, NULL, NULL);
    refused(s, STATUS_BAD_INPUT, wrong[_i].text);
}
END_TEST

/* Claim      A branch without heads has no tensors: a file with one of them is refused, and so is
 *            a file that lacks a weight of a branch that has heads.
 * Measure    The tensors of alpha = 0.5 offered to alpha = 0 and alpha = 1, and without h_proj. */
static const struct { const char *alpha, *drop, *text; } offered[] = {
    {"0.5", "", NULL}, {"0.5", "h_proj", "tensor h_proj: missing"}, {"0", "", "tensor h_qkv: found [6, 4]"},
    {"0", "h_qkv", "tensor h_qkv: missing"}, {"1", "", "tensor h_qkv: found one, expected none"},
    {"0.5", "l_kv", "tensor l_kv: missing"},
};
START_TEST(a_branch_without_heads_has_no_tensors)
{
    static const struct { const char *name; size_t size[3]; } fitting[] = {
        {"x", {1, 4, 4}},   {"h_qkv", {6, 4, 0}}, {"h_proj", {2, 2, 0}},
        {"l_q", {2, 4, 0}}, {"l_kv", {4, 4, 0}},  {"l_proj", {2, 2, 0}},
    };
    struct tensor list[COUNT(fitting)];
    struct tensors file = {0, list};
    struct problem p;
    for (size_t f = 0; f < COUNT(fitting); f++)
        if (strcmp(fitting[f].name, offered[_i].drop))
            succeeds(tensor_create(&list[file.count++], fitting[f].name, fitting[f].size[2] ? 3 : 2, fitting[f].size));
    succeeds(
        problem_create(&p, &hilo, 6, (const char *[]){"--grid", "2x2", "--heads", "2", "--alpha", offered[_i].alpha}));
    if (offered[_i].text) refused(problem_bind(&p, &file), STATUS_BAD_INPUT, offered[_i].text);
    else succeeds(problem_bind(&p, &file));
    for (size_t f = 0; f < file.count; f++) tensor_release(&list[f]);
}
END_TEST

/* ---- repeatable, separable, without memory --------------------------- */

/* Claim      The same plan, another plan, and a plan that has seen other tokens meanwhile give
 *            the same to the bit; a run writes y alone. */
START_TEST(hilo_repeats_to_the_bit)
{
    struct trial t = ordinary(_i);
    promise_repeatable(&t);
}
END_TEST

/* Claim      An image comes out the same to the bit whether one thread takes it alone or all share
 *            it, and whatever images are with it.
 * Measure    The fast form with 1 to 4 threads, 5 images, against each image alone. */
static const char *const odd[] = {
    "--grid 13x9 --heads 3 --alpha 0.7", "--grid 13x9 --heads 3 --alpha 0.7 --window 4 --pooled-queries",
};
START_TEST(images_do_not_know_who_works_on_them)
{
    struct trial t = trial(odd[_i], &hilo, 5, 30, "", "");
    size_t image = t.outputs / 5;
    real *together = trial_run(&t, "fast", 1);
    for (int threads = 2; threads <= 4; threads++) equal(trial_run(&t, "fast", threads), together, t.outputs);
    for (size_t b = 0; b < 5; b++) {
        struct trial one = trial(odd[_i], &hilo, 1, 30, "", "");
        equal(trial_run_on(&one, "fast", 2, t.x + b * image), together + b * image, image);
    }
}
END_TEST

/* Claim      Plans of one problem may be prepared, run and released by two threads at the same
 *            time. */
START_TEST(hilo_plans_do_not_meet)
{
    struct trial t = ordinary(_i);
    promise_plans_apart(&t);
}
END_TEST

/* Claim      NaN in a token reaches all Lo-Fi outputs of its image, and no other image. In the
 *            naive form it reaches Hi-Fi's too, as the mask's zero weights multiply it.
 * Measure    Lo-Fi alone (alpha = 1, and s = 1), both forms. */
static const char *const alone[] = {
    "--grid 5x7 --heads 3 --alpha 1",
    "--grid 5x7 --heads 3 --window 1",
    "--grid 5x7 --heads 3 --alpha 1 --pooled-queries",
};
START_TEST(nan_stays_in_its_image)
{
    struct trial t = trial(alone[_i], &hilo, 2, 9, "", "");
    promise_images_apart(&t, 16 * 9 + 4, NULL, NULL);
}
END_TEST

/* Claim      In the fast form, NaN in a token reaches Hi-Fi's outputs of its own window, whichever
 *            branch of the code attends, and no other window's, though they share vectors.
 * Measure    Token (3, 2) of 5 x 7; windows of 2, 3 and 4. */
static const char *const windowed[] = {
    "--grid 5x7 --heads 3 --alpha 0",
    "--grid 5x7 --heads 3 --alpha 0 --window 3",
    "--grid 5x7 --heads 3 --alpha 0 --window 4",
};
START_TEST(nan_stays_in_its_window)
{
    size_t s = (size_t)_i + 2;
    struct trial t = trial(windowed[_i], &hilo, 2, 9, "", "");
    real *x = copy(t.x, t.inputs), *before = trial_run(&t, "fast", 2);
    x[35 * 9 + (3 * 7 + 2) * 9] = (real)NAN;
    real *after = trial_run_on(&t, "fast", 2, x);
    for (size_t i = 0; i < t.outputs; i++) {
        size_t token = i / 9 % 35;
        bool inside = i / 9 / 35 == 1 && token / 7 / s == 3 / s && token % 7 / s == 2 / s;
        if (inside) ck_assert(isnan((double)after[i]));
        else ck_assert_msg(after[i] == before[i], "token %zu", token);
    }
}
END_TEST

/* Claim      All memory is taken by prepare, a run takes none, and whichever allocation fails,
 *            plan_create says so and leaves nothing behind. */
START_TEST(hilo_survives_failed_allocations)
{
    struct trial t = ordinary(_i);
    promise_memory(&t);
}
END_TEST

/* Claim      Sizes whose product overflows are refused before anything is allocated by them. */
START_TEST(hilo_refuses_sizes_that_overflow)
{
    struct problem p = shaped("--grid 16384x16384 --window 16384", &hilo, 1, 4, "", "");
    promise_overflow(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiLo");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, hilo_forms_are_one_function, 0, (int)COUNT(size));
    tcase_add_loop_test(equality, every_tensor_of_hilo_counts, 0, KINDS);
    tcase_add_test(equality, naive_hilo_is_its_hearts);
    tcase_add_test(equality, rows_of_windows_are_spread_bilinearly);
    tcase_add_test(equality, heads_are_shared_out_in_whole_numbers);
    TCase *others = add_case(suite, "golden vectors");
    tcase_add_loop_test(others, golden_vectors_of_hilo, 0, (int)COUNT(golden));
    TCase *refusals = add_case(suite, "refused");
    tcase_add_loop_test(refusals, hilo_refuses_wrong_options, 0, (int)COUNT(wrong));
    tcase_add_loop_test(refusals, a_branch_without_heads_has_no_tensors, 0, (int)COUNT(offered));
    TCase *separate = add_case(suite, "repeatable and separable");
    tcase_add_loop_test(separate, hilo_repeats_to_the_bit, 0, KINDS);
    tcase_add_loop_test(separate, images_do_not_know_who_works_on_them, 0, (int)COUNT(odd));
    tcase_add_loop_test(separate, hilo_plans_do_not_meet, 0, KINDS);
    tcase_add_loop_test(separate, nan_stays_in_its_image, 0, (int)COUNT(alone));
    tcase_add_loop_test(separate, nan_stays_in_its_window, 0, (int)COUNT(windowed));
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, hilo_survives_failed_allocations, 0, KINDS);
    tcase_add_test(memory, hilo_refuses_sizes_that_overflow);
    return run_suite(suite);
}
