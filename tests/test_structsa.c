/* test_structsa.c -- StructSA's forms are one function
 *
 * Naive against permuted and tiled, against whole numbers, against PyTorch; in
 * batches, by threads, without memory, with NaN.  What the function itself
 * promises is proved in test_structsa_theorems.c. */

#include "golden.h"
#include "promises.h"
#include "structsa_case.h"
#include "../fast/structsa/depthwise.h"
#include "../reference/linear.h"

/* ---- equality -------------------------------------------------------- */

/* Lines, planes and blocks, one wide and prime; windows of one token, wider
 * than the grid, longer one way than the other, and not the same for keys and
 * values; strides that divide nothing, that leave one centre, that differ between
 * axes and that are longer than one; numbers of channels that fill no vector, and of
 * virtual tokens that fill no tile, less than one and many. */
static const struct { const char *options; size_t batch, channels; const char *sizes, *without; } size[] = {
    {"--grid 1 --kernel 1", 1, 1, "D=1", ""},
    {"--grid 1 --kernel 5", 2, 3, "D=3", "w_o"},
    {"--grid 7 --kernel 3 --heads 3", 1, 6, "D=2", ""},
    {"--grid 70 --kernel 9 --stride 3", 1, 17, "D=5", "b_qkv w_o"},
    {"--grid 1x5 --kernel 3x3 --heads 2", 3, 6, "D=1", ""},
    {"--grid 13x7 --kernel 1x5 --heads 2", 2, 34, "D=3", "b_o"},
    {"--grid 8x8 --kernel 3x3 --heads 2", 2, 32, "D=8", ""},
    {"--grid 5x12 --kernel 5x1 --stride 2 --heads 4", 1, 12, "D=9", ""},
    {"--grid 6x6 --kernel 7x7 --scale -0.7", 1, 20, "D=4", "b_qkv"},
    {"--grid 9x4 --kernel 3x3 --stride 12 --heads 2", 2, 8, "D=70", ""},
    {"--grid 11x10 --kernel 1x1 --heads 2", 1, 8, "D=2", ""},
    {"--grid 14x14 --kernel 3x3 --heads 12", 1, 192, "D=4", ""},
    {"--grid 2x3x4 --kernel 3x3x3 --heads 2", 3, 10, "D=3", ""},
    {"--grid 3x5x4 --kernel 1x3x5 --stride 2 --scale 0", 1, 7, "D=2", "w_o"},
    {"--grid 4x4x4 --kernel 5x3x3 --heads 4 --scale 1.5", 1, 64, "D=8", "b_qkv"},
    {"--grid 6x9 --kernel 3x5 --stride 4x2 --heads 2", 2, 18, "D=3", ""},
    {"--grid 7x4 --kernel 3x3 --stride 1x9", 1, 5, "D=4", "w_o"},
    {"--grid 3x7x6 --kernel 3x3x3 --stride 1x2x2 --heads 2", 2, 12, "D=4", ""},
    {"--grid 4x3x5 --kernel 1x3x3 --stride 5x1x3", 1, 9, "D=2", "b_o"},
    {"--grid 11 --kernel 7 --stride 2 --value-kernel 1", 2, 3, "D=3", ""},
    {"--grid 9x6 --kernel 1x1 --heads 2 --value-kernel 5x3", 1, 34, "D=5", "b_qkv"},
    {"--grid 5x8 --kernel 5x3 --stride 1x3 --heads 3 --value-kernel 1x9", 2, 12, "D=9", ""},
    {"--grid 3x4x5 --kernel 3x1x1 --stride 1x2x2 --value-kernel 1x3x3", 2, 10, "D=2", "w_o"},
};
static const char *const which[] = {"4", "5", "16"};
#define EQUATIONS ((int)COUNT(which))

static struct trial drawn(int at)
{
    char options[128];
    options_of_equation(options, sizeof options, size[at / EQUATIONS].options, which[at % EQUATIONS]);
    return trial(options, &structsa, size[at / EQUATIONS].batch, size[at / EQUATIONS].channels,
                 size[at / EQUATIONS].sizes, size[at / EQUATIONS].without);
}

static struct trial ordinary(int at)
{
    char options[128];
    snprintf(options, sizeof options, "--grid 6x5 --kernel 3x5 --heads 3 --equation %s", which[at]);
    return trial(options, &structsa, 2, 15, "D=3", "");
}

/* Claim      Every form computes the function that the naive form computes: Eq. 4,
 *            5 and 16, on any grid, with any windows, strides, scale and number of
 *            channels, heads, patterns, images and threads.
 * Paper      StructSA, Eq. 2-5, 13, 15, 16; Sec. 4.3.1, Tab. 6b.   Chapter 2, "The fast form".
 * Measure    Largest |form - naive| over the largest |naive|.
 * Tolerance  structsa_case.h; root mean square: roundoff.h.
 * Would it fail?  See every_tensor_of_structsa_counts. */
START_TEST(structsa_forms_are_one_function)
{
    struct trial t = drawn(_i);
    promise_one_function(&t, size[_i / EQUATIONS].options, problem_tolerance(&t.problem));
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever tensor. */
START_TEST(every_tensor_of_structsa_counts)
{
    struct trial t = ordinary(_i);
    promise_every_tensor_counts(&t, problem_tolerance(&t.problem));
}
END_TEST

/* Claim      The naive form is its hearts: head a of image b is the hearts run on
 *            its slices of the projection and, in Eq. 16, of the filters.
 * Measure    y of the form against hearts called here.
 * Tolerance  Zero: the same operations on the same numbers. */
START_TEST(naive_structsa_is_its_hearts)
{
    struct trial t = trial(_i == 2 ? "--grid 3x4 --kernel 3x3 --heads 2" : _i == 1
                           ? "--grid 3x4 --kernel 3x3 --heads 2 --equation 5"
                           : "--grid 3x4 --kernel 3x3 --heads 2 --equation 4", &structsa, 2, 6, "D=3", "w_o b_o b_qkv");
    const struct subject s = {"3x4", "3x3", "1", 3, 3, _i == 2 ? 3 : 1, _i == 0 ? "1x1" : ""};
    size_t N = 12, c = 3, C = 6, D = 3;
    real *y = trial_run(&t, "naive", 2), *qkv = zeros(2 * N * 3 * C);
    for (size_t image = 0; image < 2; image++)
        linear_map(qkv + image * N * 3 * C, 3 * C, t.x + image * N * C, C, trial_tensor(&t, "w_qkv"), NULL,
                   N, C, 3 * C);

    for (size_t image = 0; image < 2; image++)
        for (size_t head = 0; head < 2; head++) {
            struct case_head h = empty_head(&s);
            real *slice[3], *hk = zeros(D * taps(&h)), *hv = zeros(D * value_taps(&h));
            for (size_t part = 0; part < 3; part++) {
                slice[part] = zeros(N * c);
                for (size_t n = 0; n < N; n++)
                    memcpy(slice[part] + n * c, qkv + (image * N + n) * 3 * C + part * C + head * c, c * sizeof(real));
            }
            h.q = slice[0];
            h.k = slice[1];
            h.v = slice[2];
            for (size_t d = 0; d < D; d++)
                for (size_t m = 0; m < h.of.M; m++)
                    for (size_t ch = 0; ch < h.of.columns; ch++) {
                        size_t at = (d * 9 + m) * h.of.columns + ch, from = (d * 9 + m) * C + head * c + ch;
                        hk[at] = _i == 2 ? trial_tensor(&t, "hk")[from] : trial_tensor(&t, "uk")[m * D + d];
                        if (_i > 0) hv[at] = _i == 2 ? trial_tensor(&t, "hv")[from] : trial_tensor(&t, "uv")[m * D + d];
                        else hv[d] = trial_tensor(&t, "uv")[d];
                    }
            h.hk = hk;
            h.hv = hv;
            const real *heart = tell(&h);
            for (size_t n = 0; n < N; n++) equal(y + (image * N + n) * C + head * c, heart + n * c, c);
        }
}
END_TEST

/* Claim      The map of N tokens by N is written whole, and nothing behind it.
 * Paper      StructSA, Eq. 2 and 11.
 * Measure    A map full of sevens, for one channel and for a column of each: those within become sums of whole
 *            numbers, the number behind stays a seven.
 * Tolerance  Zero: small whole numbers.
 * Would it fail?  Seen with one column too many cleared. */
START_TEST(naive_maps_end_where_they_do)
{
    enum { N = 3, C = 5 };
    const struct structsa_problem p = {.N = N, .c = C, .columns = _i ? C : 1};
    real *map = zeros(N * N * C + 1), q[N * C], k[N * C];
    for (size_t i = 0; i <= N * N * C; i++) map[i] = 7;
    for (size_t i = 0; i < N * C; i++) q[i] = (real)(i % 4), k[i] = (real)(i % 7) - 3;
    structsa_naive_correlate(map, q, k, &p);
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) {
            real sum = 0;
            for (size_t ch = 0; ch < C; ch++) {
                real product = q[i * C + ch] * k[n * C + ch];
                if (_i) ck_assert(map[(i * N + n) * C + ch] == product);
                sum += product;
            }
            if (!_i) ck_assert(map[i * N + n] == sum);
        }
    ck_assert(map[N * N * p.columns] == 7);
}
END_TEST

/* ---- golden vectors -------------------------------------------------- */

static const char *const golden[] = {
    "structsa_eq4_line", "structsa_eq4_plane", "structsa_eq5_line", "structsa_eq5_plane", "structsa_eq16_line",
    "structsa_eq16_plane", "structsa_eq16_stride", "structsa_eq16_block", "structsa_eq16_paper", "structsa_eq4_video",
    "structsa_eq5_windows", "structsa_eq16_windows", "structsa_eq16_video",
};

/* Claim      The forms compute what the equations say, told again in PyTorch in
 *            float64 (tests/pytorch/structsa.py): on lines, planes and blocks, with
 *            strides of all axes and of each, windows of two sizes, scales, heads, biases.
 * Paper      StructSA, Eq. 2-5, 11-13, 16.
 * Measure    Largest |form - y_expected| over the largest |y_expected|.
 * Tolerance  Three times structsa_case.h: PyTorch projects x itself, and rounding
 *            errors of q, of k and of v, C products each, come in where the scores'
 *            own do; detectors are twice as strong there as drawn ones.
 * Would it fail?  golden.h lets one token stand in another's place. */
START_TEST(golden_vectors_of_structsa)
{
    struct golden g;
    golden_open(&g, &structsa, golden[_i]);
    golden_holds(&g, golden[_i], 3 * problem_tolerance(&g.problem));
    golden_close(&g);
}
END_TEST

/* ---- whole numbers --------------------------------------------------- */

/* Claim      Off the grid keys are zero, and their scores take part: three tokens
 *            on a line, one channel, a window of three, one pattern, by hand.
 * Paper      StructSA, Eq. 3, "context features whose context window is centered at j".
 * Measure    q = (1, 1, 1), k = (1, 2, 3), detector (0, 0, 1): the score of j is the key
 *            to its right, 2, 3 and, off the grid, 0.  Aggregator (1, 0, 0): the value
 *            to the left of j, 0, 10 and 20.  So y = (e^3 10 + e^0 20) / (e^2 + e^3 + e^0).
 * Tolerance  8 u: three exponentials, two products, four sums, one division. */
START_TEST(windows_hang_over_the_border)
{
    const struct subject s = {"3", "3", "1", 1, 1, 1, ""};
    struct case_head h = empty_head(&s);
    real q[] = {1, 1, 1}, k[] = {1, 2, 3}, v[] = {10, 20, 30}, hk[] = {0, 0, 1}, hv[] = {1, 0, 0};
    h.q = q, h.k = k, h.v = v, h.hk = hk, h.hv = hv;
    const real *y = tell(&h);
    double expected = (exp(3.0) * 10 + 20) / (exp(2.0) + exp(3.0) + 1);
    for (size_t i = 0; i < 3; i++) within("y", fabs((double)y[i] - expected) / expected, 8 * UNIT_ROUNDOFF);
}
END_TEST

/* ---- what is refused ------------------------------------------------- */

/* Claim      What does not fit is refused with one line that says what was found
 *            and what was expected.                Measure   Status and message. */
static const struct { const char *words[8]; int count; const char *text; } wrong[] = {
    {{"--grid", "4x4"}, 2, "option --kernel: missing"},
    {{"--grid", "4x4", "--kernel", "2x3"}, 4, "option --kernel: found '2x3', expected odd sizes"},
    {{"--grid", "4x4", "--kernel", "3"}, 4, "option --kernel: found 1 axes, expected 2 as the grid has"},
    {{"--grid", "4x4", "--kernel", "3x3x3"}, 4, "option --kernel: found 3 axes, expected 2 as the grid has"},
    {{"--grid", "4x4", "--kernel", "3x3", "--stride", "0"}, 6,
     "option --stride: found '0', expected whole numbers from 1 to 65536"},
    {{"--grid", "4x4", "--kernel", "3x3", "--stride", "2x0"}, 6, "option --stride: found '2x0'"},
    {{"--grid", "4x4", "--kernel", "3x3", "--stride", "65537x1"}, 6, "option --stride: found '65537x1'"},
    {{"--grid", "4x4", "--kernel", "3x3", "--stride", "2x"}, 6, "option --stride: found '2x'"},
    {{"--stride", "2x2x2", "--grid", "4x4", "--kernel", "3x3"}, 6,
     "option --stride: found 3 axes, expected 2 as the grid has, or one number for all"},
    {{"--grid", "2x4x4", "--kernel", "3x3x3", "--stride", "2x2"}, 6, "option --stride: found 2 axes, expected 3"},
    {{"--grid", "16", "--kernel", "3", "--stride", "2x2"}, 6,
     "option --stride: found 2 axes, expected 1 as the grid has"},
    {{"--grid", "4x4", "--kernel", "3x3", "--value-kernel", "3x4"}, 6,
     "option --value-kernel: found '3x4', expected odd sizes"},
    {{"--grid", "4x4", "--kernel", "3x3", "--value-kernel", "3"}, 6,
     "option --value-kernel: found 1 axes, expected 2 as the grid has"},
    {{"--grid", "4x4", "--kernel", "3x3", "--equation", "13"}, 6,
     "option --equation: found '13', expected one of 4|5|16"},
    {{"--grid", "4x4", "--kernel", "3x3", "--scale", "nan"}, 6, "option --scale: found 'nan'"},
    {{"--grid", "4x4", "--kernel", "0x3"}, 4, "option --kernel"},
};
START_TEST(structsa_refuses_wrong_options)
{
    struct problem p;
    refused(problem_create(&p, &structsa, wrong[_i].count, wrong[_i].words), STATUS_BAD_INPUT, wrong[_i].text);
}
END_TEST

/* Claim      Each equation has its own tensors, of its own shapes: one that is missing, of
 *            another shape, or another equation's is refused.
 * Measure    Status and message. */
static const struct { const char *equation, *values, *drop, *name; size_t shape[3]; const char *text; } misfit[] = {
    {"4", "", "", "uv", {9, 2, 0}, "tensor uv: found [9, 2]"},
    {"5", "", "", "uv", {2, 0, 0}, "tensor uv: found [2]"},
    {"5", "", "", "uk", {2, 9, 0}, "tensor uk: found [2, 9]"},
    {"16", "", "hv", "hv", {0}, "tensor hv: missing"},
    {"16", "", "", "hk", {2, 9, 4}, "tensor hk: found [2, 9, 4]"},
    {"16", "", "", "hv", {3, 9, 6}, "tensor hv: found [3, 9, 6]"},
    {"16", "", "", "uk", {9, 2, 0}, "tensor uk"},
    {"5", "1x5", "", "uv", {9, 2, 0}, "tensor uv: found [9, 2]"},
    {"16", "1x5", "", "hv", {2, 9, 6}, "tensor hv: found [2, 9, 6]"},
    {"16", "1x5", "", "hk", {2, 5, 6}, "tensor hk: found [2, 5, 6]"},
    {"4", "1x5", "", "x", {1, 16, 6}, "option --value-kernel: found with --equation 4, expected only with 5 or 16"},
};
START_TEST(structsa_refuses_tensors_that_do_not_fit)
{
    /* A file of fitting tensors, then one of them dropped, changed or added. */
    static const struct { const char *name, *of; size_t size[3]; } fitting[] = {
        {"x", "", {1, 16, 6}}, {"w_qkv", "", {18, 6, 0}}, {"uk", "4 5", {9, 2, 0}}, {"uv", "4", {2, 0, 0}},
        {"uv", "5", {9, 2, 0}}, {"hk", "16", {2, 9, 6}}, {"hv", "16", {2, 9, 6}},
    };
    struct tensor list[9];
    size_t count = 0;
    bool there = false;
    for (size_t f = 0; f <= COUNT(fitting); f++) {
        const char *name = f < COUNT(fitting) ? fitting[f].name : misfit[_i].name;
        const size_t *shape = f < COUNT(fitting) ? fitting[f].size : misfit[_i].shape;
        bool changed = !strcmp(name, misfit[_i].name);
        if (f < COUNT(fitting) && *fitting[f].of && !strstr(fitting[f].of, misfit[_i].equation)) continue;
        if (!strcmp(name, misfit[_i].drop) || (f == COUNT(fitting) && there)) continue;
        if (changed) shape = misfit[_i].shape, there = true;
        int axes = shape[2] ? 3 : shape[1] ? 2 : 1;
        succeeds(tensor_create(&list[count++], name, axes, shape));
    }
    struct tensors file = {count, list};
    struct problem p;
    const char *words[] = {"--grid", "4x4", "--kernel", "3x3", "--equation", misfit[_i].equation,
                           "--value-kernel", misfit[_i].values};
    succeeds(problem_create(&p, &structsa, *misfit[_i].values ? 8 : 6, words));
    refused(problem_bind(&p, &file), STATUS_BAD_INPUT, misfit[_i].text);
    for (size_t t = 0; t < count; t++) tensor_release(&list[t]);
}
END_TEST

/* Claim      Heads that do not divide the channels are refused.
 * Measure    Status and message. */
START_TEST(structsa_refuses_heads_that_do_not_divide)
{
    struct problem p;
    succeeds(problem_create(&p, &structsa, 6, (const char *[]){"--grid", "4x4", "--kernel", "3x3", "--heads", "4"}));
    succeeds(problem_set_size(&p, "B", 1));
    succeeds(problem_set_size(&p, "C", 6));
    succeeds(problem_set_size(&p, "D", 2));
    refused(problem_shape(&p, NULL, NULL), STATUS_BAD_INPUT, "option --heads: found 4, expected a divisor of C = 6");
}
END_TEST

/* ---- repeatable, separable, without memory --------------------------- */

/* Claim      The same plan, another plan, and a plan that has seen other tokens
 *            meanwhile give the same to the bit; a run writes y alone. */
START_TEST(structsa_repeats_to_the_bit)
{
    struct trial t = ordinary(_i);
    promise_repeatable(&t);
}
END_TEST

/* Claim      A query's result does not depend on how queries are shared out: one
 *            thread, two or five give the same to the bit in the tiled form.
 * Measure    Bits of y on 784 tokens of one head, so that there are more blocks with
 *            more threads, and on 60 of three. */
START_TEST(tiled_structsa_does_not_see_threads)
{
    static const char *const options[] = {"--grid 5x12 --kernel 3x3 --heads 3", "--grid 28x28 --kernel 3x3 --heads 1"};
    struct trial t = trial(options[_i], &structsa, 1, _i ? 16 : 12, "D=3", "");
    real *one = trial_run(&t, "fast", 1);
    equal(trial_run(&t, "fast", 2), one, t.outputs);
    equal(trial_run(&t, "fast", 5), one, t.outputs);
}
END_TEST

/* Claim      Plans of one problem may be prepared, run and released by two threads
 *            at the same time. */
START_TEST(structsa_plans_do_not_meet)
{
    struct trial t = ordinary(_i);
    promise_plans_apart(&t);
}
END_TEST

/* Claim      NaN in a token fills its image, since its key is in every softmax, and
 *            no other image. */
START_TEST(nan_fills_its_image_in_structsa)
{
    struct trial t = ordinary(_i);
    promise_images_apart(&t, 33, NULL, NULL);
}
END_TEST

/* Claim      All memory is taken by plan_create, a run takes none, and whichever
 *            allocation fails, plan_create says so and leaves nothing behind. */
START_TEST(structsa_survives_failed_allocations)
{
    struct trial t = ordinary(_i);
    promise_memory(&t);
}
END_TEST

/* Claim      Sizes whose product overflows are refused, and not taken for the small
 *            number that they wrap to.
 * Measure    2^30 tokens, 2^20 centres and 2^14 patterns: the attention has 2^64 entries,
 *            which is 0; where addresses have 32 bits, 2^14, 2^13 and 2^5 make 2^32.  The
 *            naive form holds it and names it; the permuted form is refused a product of more columns
 *            than its library counts, or the map; the tiled form the projections, which are
 *            beyond the memory that the test allows. */
START_TEST(structsa_refuses_sizes_that_overflow)
{
    struct problem p = shaped(BY_ADDRESSES("--grid 1073741824 --kernel 1 --stride 1024 --equation 4",
                                           "--grid 16384 --kernel 1 --stride 2 --equation 4"),
                              &structsa, 1, 1, BY_ADDRESSES("D=16384", "D=32"), "");
    struct plan plan;
    promise_overflow(&p);
    refused(plan_create(&plan, &p, operator_form(&structsa, "naive"), 1), STATUS_FAILURE,
            "the attention of all queries");
    refused(plan_create(&plan, &p, operator_form(&structsa, "permuted"), 1),
            BY_ADDRESSES(STATUS_BAD_INPUT, STATUS_FAILURE),
            BY_ADDRESSES("1048576 keys of 16384 kernels", "the map of all queries against all virtual keys"));
    memory_set_limit(memory_in_use() + BY_ADDRESSES(1 << 27, 1 << 16));
    status s = plan_create(&plan, &p, operator_form(&structsa, "fast"), 1);
    memory_set_limit(0);
    refused(s, STATUS_FAILURE, BY_ADDRESSES("query, key and value", "not enough memory"));
}
END_TEST

/* Claim      Virtual tokens are the same however many are made at once and wherever one begins.
 * Measure    The fast form's keys and values, 5 filters and 11, any first and any count, against one at a time.
 * Tolerance  Zero: each is summed by itself.
 * Would it fail?  Seen with pieces that end D + d filters on, not D - d. */
START_TEST(virtual_tokens_are_made_in_any_pieces)
{
    struct trial t = trial("--grid 3x4 --kernel 3x3", &structsa, 1, 5, _i ? "D=11" : "D=5", "");
    struct plan plan;
    succeeds(plan_create(&plan, &t.problem, operator_form(&structsa, "fast"), 1));
    const struct virtual_tokens *f = plan.state;
    for (int side = 0; side < 2; side++) {
        const struct depthwise *w = side ? &f->values : &f->keys;
        size_t all = w->around->centres * w->filters, c = w->channels;
        real *one = zeros(all * c), *some = zeros(all * c);
        for (size_t n = 0; n < all; n++) depthwise_run(one + n * c, w, 0, n, 1, t.x, c);
        for (size_t first = 0; first < all; first++)
            for (size_t count = 1; first + count <= all; count++) {
                depthwise_run(some, w, 0, first, count, t.x, c);
                equal(some, one + first * c, count * c);
            }
    }
    plan_release(&plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("StructSA");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, structsa_forms_are_one_function, 0, EQUATIONS * (int)COUNT(size));
    tcase_add_loop_test(equality, every_tensor_of_structsa_counts, 0, EQUATIONS);
    tcase_add_loop_test(equality, naive_structsa_is_its_hearts, 0, EQUATIONS);
    tcase_add_loop_test(equality, naive_maps_end_where_they_do, 0, 2);
    tcase_add_test(equality, windows_hang_over_the_border);
    tcase_add_loop_test(equality, virtual_tokens_are_made_in_any_pieces, 0, 2);
    TCase *others = add_case(suite, "golden vectors");
    tcase_add_loop_test(others, golden_vectors_of_structsa, 0, (int)COUNT(golden));
    TCase *refusals = add_case(suite, "refused");
    tcase_add_loop_test(refusals, structsa_refuses_wrong_options, 0, (int)COUNT(wrong));
    tcase_add_loop_test(refusals, structsa_refuses_tensors_that_do_not_fit, 0, (int)COUNT(misfit));
    tcase_add_test(refusals, structsa_refuses_heads_that_do_not_divide);
    TCase *separate = add_case(suite, "repeatable and separable");
    tcase_add_loop_test(separate, structsa_repeats_to_the_bit, 0, EQUATIONS);
    tcase_add_loop_test(separate, tiled_structsa_does_not_see_threads, 0, 2);
    tcase_add_loop_test(separate, structsa_plans_do_not_meet, 0, EQUATIONS);
    tcase_add_loop_test(separate, nan_fills_its_image_in_structsa, 0, EQUATIONS);
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, structsa_survives_failed_allocations, 0, EQUATIONS);
    tcase_add_test(memory, structsa_refuses_sizes_that_overflow);
    return run_suite(suite);
}
