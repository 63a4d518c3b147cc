/* test_elsa.c -- ELSA's forms are one function
 *
 * Naive against fast, against numbers by hand, against PyTorch; in batches, by
 * threads, without memory, with NaN.  What the function itself promises is
 * proved in test_elsa_theorems.c. */

#include "elsa_case.h"
#include "golden.h"
#include "promises.h"

/* ---- equality -------------------------------------------------------- */

/* Grids one token wide and prime; kernels of one neighbour and wider than the
 * grid; dilations that leave the grid; rows of more than four vectors; numbers
 * of channels that fill no vector, odd numbers of channels to a head; scores so
 * large that a softmax from which the largest is not taken off would overflow;
 * groups of every width, one output at a time and four; a ghost head of one matrix; so many rows that the
 * logits of some lie where those of others lay. */
static const struct { const char *options; size_t batch, channels; const char *sizes, *without; } size[] = {
    {"--grid 1x1 --kernel 1", 1, 1, "", "ghost_mul ghost_add"},
    {"--grid 1x7 --kernel 3 --heads 3", 2, 6, "", ""},
    {"--grid 5x1 --kernel 5 --heads 2 --head-map block", 1, 6, "", "w_o b_o"},
    {"--grid 13x7 --kernel 7 --heads 2", 2, 34, "", "b_qkv"},
    {"--grid 4x5 --kernel 7 --dilation 2 --heads 3 --lambda 2 --gamma -0.5", 1, 9, "", "b_o"},
    {"--grid 6x8 --kernel 3 --dilation 50 --heads 2 --lambda 0", 2, 8, "", ""},
    {"--grid 14x14 --kernel 7 --heads 3", 1, 96, "", ""},
    {"--grid 3x150 --kernel 5 --heads 2 --scale -0.7", 1, 10, "", ""},
    {"--grid 28x71 --kernel 5 --heads 2", 1, 6, "", ""},
    {"--grid 9x33 --kernel 3 --heads 5 --head-map block --gamma 0", 1, 15, "", "ghost_mul ghost_add b_qkv"},
    {"--grid 8x6 --kernel 3 --heads 2 --equation 6 --scale 1.5", 3, 12, "", ""},
    {"--grid 5x40 --kernel 5 --heads 1 --equation 6", 1, 17, "", "ghost_mul ghost_add w_o b_o"},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final", 2, 6, "Q=16", ""},
    {"--grid 1x11 --kernel 3 --heads 2 --variant final", 2, 6, "Q=16", ""},
    {"--grid 7x70 --kernel 5 --dilation 2 --heads 3 --variant final --head-map block --scale 0.5", 1, 9,
     "Q=8", "ghost_mul ghost_add"},
    {"--grid 1x1 --kernel 3 --variant final", 1, 1, "Q=24", "w_o b_o b_qkv"},
    {"--grid 6x7 --kernel 3 --heads 2 --scale 40", 1, 12, "", ""},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final --group-width 1", 2, 6, "Q=5", ""},
    {"--grid 5x19 --kernel 3 --heads 2 --variant final --group-width 2", 1, 6, "Q=6", "b_qkv"},
    {"--grid 9x66 --kernel 5 --heads 3 --variant final --group-width 4 --lambda 0", 1, 9, "Q=12", "ghost_mul"},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final --group-width 6", 1, 6, "Q=12", ""},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final --group-width 16 --dilation 2", 1, 6, "Q=32", "w_o b_o"},
    {"--grid 4x5 --kernel 3 --heads 3 --lambda 0 --gamma -0.5", 2, 9, "", "ghost_mul"},
    {"--grid 4x5 --kernel 3 --heads 3 --lambda 0 --equation 6 --head-map block", 1, 9, "", "ghost_mul"},
    {"--grid 6x7 --kernel 3 --heads 2 --equation 4", 2, 10, "", ""},
    {"--grid 5x6 --kernel 5 --dilation 2 --heads 3 --equation 4 --norm filter --scale 0.5", 1, 9, "", "b_o"},
    {"--grid 6x9 --kernel 3 --heads 2 --equation 4 --area window", 2, 10, "", ""},
    {"--grid 14x7 --kernel 7 --heads 2 --equation 4 --area window --terms qk+b", 1, 34, "", "b_qkv"},
    {"--grid 7x5 --kernel 3 --heads 4 --equation 4 --norm identity --terms b", 1, 4, "", "w_o b_o"},
    {"--grid 4x6 --kernel 3 --heads 2 --equation 4 --norm identity --terms qr+rk", 2, 6, "", ""},
};

static struct trial drawn(int at)
{
    return trial(size[at].options, &elsa, size[at].batch, size[at].channels, size[at].sizes, size[at].without);
}

/* One of each kind, two images, for the promises. */
static const struct { const char *options, *sizes; } kind[] = {
    {"--grid 6x5 --kernel 3 --heads 3", ""},
    {"--grid 6x5 --kernel 3 --heads 3 --equation 6", ""},
    {"--grid 6x5 --kernel 3 --heads 3 --variant final", "Q=8"},
    {"--grid 6x5 --kernel 3 --heads 3 --variant final --group-width 3", "Q=6"},
    {"--grid 6x5 --kernel 3 --heads 3 --equation 4", ""},
    {"--grid 6x9 --kernel 3 --heads 3 --equation 4 --area window --norm filter", ""},
};
#define KINDS ((int)COUNT(kind))
#define HADAMARD 4              /* those before Eq. 4 */

static struct trial ordinary(int at) { return trial(kind[at].options, &elsa, 2, 9, kind[at].sizes, ""); }

/* Claim      Both forms compute one function: Eq. 4 with its terms, norms and areas, Eq. 6,
 *            Eq. 7 and the final variant, with and without a ghost head, on any grid, with
 *            any kernel, dilation and number of channels, heads, images and threads.
 * Paper      ELSA, Eq. 4-8, Algorithms 1, 2.   Chapter 3, "The fast form".
 * Measure    Largest |fast - naive| over the largest |naive|.
 * Tolerance  elsa_case.h; root mean square: roundoff.h.
 * Would it fail?  See every_tensor_of_elsa_counts. */
START_TEST(elsa_forms_are_one_function)
{
    struct trial t = drawn(_i);
    promise_one_function(&t, size[_i].options, elsa_tolerance(&t.problem));
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever tensor. */
START_TEST(every_tensor_of_elsa_counts)
{
    struct trial t = ordinary(_i);
    promise_every_tensor_counts(&t, elsa_tolerance(&t.problem));
}
END_TEST

/* Claim      The naive form is its hearts, run on the projection of each image.
 * Measure    y of the form against hearts called here; Eq. 7, no ghost head.
 * Tolerance  Zero: the same operations on the same numbers. */
START_TEST(naive_elsa_is_its_hearts)
{
    struct trial t = trial("--grid 3x4 --kernel 3 --heads 2", &elsa, 2, 4, "", "w_o b_o b_qkv ghost_mul ghost_add");
    const struct subject s = {"3x4", 4, 2, 3, 1, 7};
    real *y = trial_run(&t, "naive", 2), *qkv = zeros(24 * 12);
    for (size_t image = 0; image < 2; image++) {
        linear_map(qkv + image * 12 * 12, 12, t.x + image * 48, 4, trial_tensor(&t, "w_qkv"), NULL, 12, 4, 12);
        struct scene m = empty_scene(&s);
        real *part[3];
        for (size_t p = 0; p < 3; p++) {
            part[p] = zeros(12 * 4);
            head_gather(part[p], qkv + image * 12 * 12 + p * 4, 12, 12, 4);
        }
        m.q = part[0], m.k = part[1], m.v = part[2];
        m.of.rk = trial_tensor(&t, "rk"), m.of.rq = trial_tensor(&t, "rq"), m.of.rb = trial_tensor(&t, "rb");
        equal(run_hearts(&m), y + image * 48, 48);
    }
}
END_TEST

/* Claim      Neighbours off the grid take part in the softmax with what the token itself and
 *            the offset say, and meet no value: two tokens side by side, one channel, K = 3, by
 *            hand.
 * Paper      ELSA, Eq. 7, Algorithm 2.
 * Measure    z = (2, 3), rk = 0 but 1 at the middle and 1 to the right, rq = 1 to the right,
 *            rb = 0. Token 0: logits 2 (middle), 2 + 3 (right), 0 seven times. Token 1: 3, 3, and
 *            0 seven times; nothing stands to its right.
 * Tolerance  10 u: nine exponentials and their sum. */
START_TEST(neighbours_off_the_grid_take_part)
{
    const struct subject s = {"1x2", 1, 1, 3, 1, 7};
    struct scene m = empty_scene(&s);
    real q[] = {2, 3}, k[] = {1, 1}, v[] = {10, 20}, rk[9] = {0}, rq[9] = {0}, rb[9] = {0};
    rk[4] = rk[5] = rq[5] = 1;
    m.q = q, m.k = k, m.v = v, m.of.rk = rk, m.of.rq = rq, m.of.rb = rb;
    const real *f = run_hearts(&m);
    double first = (exp(2.0) * 10 + exp(5.0) * 20) / (exp(2.0) + exp(5.0) + 7), second = exp(3.0) * 20 + 10;
    second /= 2 * exp(3.0) + 7;
    within("token 0", fabs((double)f[0] - first) / first, 10 * UNIT_ROUNDOFF);
    within("token 1", fabs((double)f[1] - second) / second, 10 * UNIT_ROUNDOFF);
}
END_TEST

/* Claim      A group convolution is one of wider groups whose kernels are zero between what were
 *            groups: the widths agree, and that of 8 is golden_vectors_of_elsa's.
 * Paper      ELSA, appendix D; Swin-T of the authors' code has groups of 4, S and B of 8.
 * Measure    --variant final, Q = 16: y with groups of 1, 2, 4 and 8 against y with one of 16 channels,
 *            kernels laid into it.
 * Tolerance  Naive: zero, as it adds zeros. Fast: elsa_case.h, twice.
 * Would it fail?  With the kernels of one group laid where the next one's belong, beyond a hundredth. */
static const size_t width[] = {1, 2, 4, 8};
START_TEST(narrow_groups_are_wide_ones_with_zeros)
{
    static const char *const shared[] = {"w_qkv", "b_qkv", "conv_b", "mix_w", "mix_b", "ghost_mul", "ghost_add",
                                         "w_o", "b_o"};
    size_t g = width[_i];
    char options[100];
    snprintf(options, sizeof options, "--grid 5x7 --kernel 3 --heads 2 --variant final --group-width %zu", g);
    struct trial narrow = trial(options, &elsa, 1, 6, "Q=16", "");
    struct trial wide = trial("--grid 5x7 --kernel 3 --heads 2 --variant final --group-width 16", &elsa, 1, 6,
                              "Q=16", "");
    for (size_t n = 0; n < COUNT(shared); n++) {
        size_t count = wide.problem.tensor[problem_row(&wide.problem, shared[n])].count;
        memcpy(trial_tensor(&wide, shared[n]), trial_tensor(&narrow, shared[n]), count * sizeof(real));
    }
    real *kernels = trial_tensor(&wide, "conv_w"), *own = trial_tensor(&narrow, "conv_w");
    memset(kernels, 0, 16 * 16 * 9 * sizeof *kernels);
    for (size_t o = 0; o < 16; o++) memcpy(kernels + (o * 16 + o / g * g) * 9, own + o * g * 9, g * 9 * sizeof *own);
    double allowed = 2 * elsa_tolerance(&wide.problem);
    real *y = trial_run(&wide, "naive", 1);
    equal(trial_run(&narrow, "naive", 1), y, wide.outputs);
    within("fast, narrow", relative_difference(trial_run(&narrow, "fast", 1), y, wide.outputs), allowed);
    within("fast, wide", relative_difference(trial_run(&wide, "fast", 1), y, wide.outputs), allowed);
    memset(kernels, 0, 16 * 16 * 9 * sizeof *kernels);
    for (size_t o = 0; o < 16; o++)
        memcpy(kernels + (o * 16 + (o / g + 1) % (16 / g) * g) * 9, own + o * g * 9, g * 9 * sizeof *own);
    beyond("    the next group's", relative_difference(trial_run(&wide, "naive", 1), y, wide.outputs), 0.01);
}
END_TEST

/* ---- golden vectors -------------------------------------------------- */

static const char *const golden[] = {
    "elsa_eq7", "elsa_eq7_ghost", "elsa_eq7_block", "elsa_eq7_dilated", "elsa_eq7_root", "elsa_eq7_paper", "elsa_eq6",
    "elsa_final", "elsa_final_ghost", "elsa_eq4_window", "elsa_eq4_neighbours", "elsa_eq4_convolution",
    "elsa_eq4_dynamic", "elsa_eq4_filter",
};

/* Claim      Both forms compute what Algorithms 1 and 2, the authors' final module and Eq. 4
 *            compute, implemented again in PyTorch in float64 (tests/pytorch/elsa.py).
 * Paper      ELSA, Eq. 4-8, Algorithms 1, 2, appendix D.
 * Measure    Largest |form - y_expected| over the largest |y_expected|.
 * Tolerance  Three times elsa_case.h: PyTorch projects x itself, and rounding errors of q, k
 *            and v, C products each, come in where the logits' own do.
 * Would it fail?  golden.h lets one token stand in another's place. */
START_TEST(golden_vectors_of_elsa)
{
    struct golden g;
    golden_open(&g, &elsa, golden[_i]);
    golden_holds(&g, golden[_i], 3 * elsa_tolerance(&g.problem));
    golden_close(&g);
}
END_TEST

/* ---- what is refused ------------------------------------------------- */

/* Claim      Options that make no sense are refused with one line that says what was found
 *            and what was expected.             Measure   Status and message, at the latest
 *            when x is there. */
static const struct { const char *words[10]; int count; const char *text; } wrong[] = {
    {{"--grid", "4x4"}, 2, "option --kernel: missing"},
    {{"--grid", "4", "--kernel", "3"}, 4, "option --grid: found '4', a grid of 1 axes, expected two"},
    {{"--grid", "4x4", "--kernel", "4"}, 4, "option --kernel: found 4, expected an odd number"},
    {{"--grid", "4x4", "--kernel", "3x3"}, 4, "option --kernel: found '3x3'"},
    {{"--grid", "4x4", "--kernel", "3", "--heads", "4"}, 6, "option --heads: found 4, expected a divisor of C = 6"},
    {{"--grid", "4x4", "--kernel", "3", "--dilation", "0"}, 6, "option --dilation: found '0'"},
    {{"--grid", "4x4", "--kernel", "3", "--variant", "final", "--equation", "7"}, 8,
     "option --equation: found beside --variant final"},
    {{"--grid", "4x4", "--kernel", "3", "--variant", "first"}, 6,
     "option --variant: found 'first', expected one of final"},
    {{"--grid", "4x4", "--kernel", "3", "--group-width", "8"}, 6,
     "option --group-width: found, expected only with --variant final"},
    {{"--grid", "4x4", "--kernel", "3", "--variant", "final", "--group-width", "0"}, 8,
     "option --group-width: found '0'"},
    {{"--grid", "4x4", "--kernel", "3", "--norm", "softmax"}, 6,
     "option --norm: found, expected only with --equation 4"},
    {{"--grid", "4x4", "--kernel", "3", "--equation", "4", "--lambda", "1"}, 8,
     "option --lambda: found with --equation 4"},
    {{"--grid", "4x4", "--kernel", "3", "--equation", "4", "--head-map", "modulo"}, 8,
     "option --head-map: found with --equation 4, which has no ghost head"},
    {{"--grid", "4x4", "--kernel", "3", "--equation", "4", "--terms", "qk+qq"}, 8, "option --terms: found 'qk+qq'"},
    {{"--grid", "4x4", "--kernel", "3", "--equation", "4", "--terms", "b+b"}, 8, "option --terms: found 'b+b'"},
    {{"--grid", "4x4", "--kernel", "3", "--equation", "4", "--area", "window"}, 8, "expected a divisor of 4 and 4"},
    {{"--grid", "6x6", "--kernel", "3", "--equation", "4", "--area", "window", "--dilation", "2"}, 10,
     "option --dilation: found with --area window"},
};
START_TEST(elsa_refuses_wrong_options)
{
    struct problem p;
    status s = problem_create(&p, &elsa, wrong[_i].count, wrong[_i].words);
    if (!s.code) s = problem_set_size(&p, "B", 1);
    if (!s.code) s = problem_set_size(&p, "C", 6);
    if (!s.code) s = problem_shape(&p, NULL, NULL);
    refused(s, STATUS_BAD_INPUT, wrong[_i].text);
}
END_TEST

/* A file that fits a problem of 3 x 4 tokens and two channels, Eq. 7, without the tensors named: ones. */
static struct tensors file_without(struct tensor list[7], const char *without)
{
    static const struct { const char *name; size_t size[3]; } fitting[] = {
        {"x", {1, 12, 2}}, {"w_qkv", {6, 2, 0}}, {"rk", {2, 1, 9}}, {"rq", {2, 1, 9}}, {"rb", {1, 9, 0}},
        {"ghost_mul", {2, 9, 0}}, {"ghost_add", {2, 9, 0}},
    };
    struct tensors file = {0, list};
    for (size_t f = 0; f < COUNT(fitting); f++) {
        if (strstr(without, fitting[f].name)) continue;
        struct tensor *t = &list[file.count++];
        succeeds(tensor_create(t, fitting[f].name, fitting[f].size[2] ? 3 : 2, fitting[f].size));
        for (size_t i = 0; i < t->count; i++) t->data[i] = 1;
    }
    return file;
}

/* Claim      Powers without a value are refused: a fractional lambda with a base below 0, a
 *            negative one with a base of 0. 0 to the power 0 is 1.
 * Paper      ELSA, Eq. 8.
 * Measure    Binding a file with such a ghost_mul; and with lambda = 0, the filters of a
 *            ghost_mul of zeros against those of ones. */
static const struct { const char *lambda; double base; const char *text; } power[] = {
    {"0.5", -1, "tensor ghost_mul: found -1 to the power 0.5, expected bases of at least 0"},
    {"-1.5", -1, "tensor ghost_mul: found -1 to the power -1.5"},
    {"-1", 0, "tensor ghost_mul: found 0 to the power -1, expected other bases"},
    {"2", -1, NULL}, {"-2", -1, NULL}, {"0", 0, NULL}, {"0.5", 0, NULL},
};
START_TEST(powers_without_a_value_are_refused)
{
    struct tensor list[7];
    struct tensors file = file_without(list, "");
    struct problem p;
    list[5].data[17] = (real)power[_i].base;
    const char *const words[] = {"--grid", "3x4", "--kernel", "3", "--lambda", power[_i].lambda};
    succeeds(problem_create(&p, &elsa, (int)COUNT(words), words));
    if (power[_i].text) refused(problem_bind(&p, &file), STATUS_BAD_INPUT, power[_i].text);
    else succeeds(problem_bind(&p, &file));
    if (!strcmp(power[_i].lambda, "0")) {
        const struct form *fast = operator_form(&elsa, "fast");
        real *y = run_form(&p, fast, 1, list[0].data);
        list[5].data[17] = 1;
        equal(run_form(&p, fast, 1, list[0].data), y, 24);
    }
    for (size_t f = 0; f < file.count; f++) tensor_release(&list[f]);
}
END_TEST

/* Claim      A ghost head has both matrices or neither; where lambda is zero ghost_add may stand alone.
 * Paper      ELSA, Eq. 8; the public models have lambda = 0 and no multiplying matrix.
 * Measure    Status and message of binding a file; and, of shapes without a file, whether both forms run. */
static const struct { const char *lambda, *without, *text; } lone[] = {
    {"1", "ghost_mul", "tensor ghost_add: found without ghost_mul, expected both or neither, or --lambda 0"},
    {"0.5", "ghost_mul", "tensor ghost_add: found without ghost_mul"},
    {"1", "ghost_add", "tensor ghost_mul: found without ghost_add, expected both or neither"},
    {"0", "ghost_add", "tensor ghost_mul: found without ghost_add, expected both or neither"},
    {"0", "ghost_mul", NULL}, {"-0.0", "ghost_mul", NULL}, {"0", "ghost_mul ghost_add", NULL},
};
START_TEST(a_ghost_head_is_whole_or_has_no_factors)
{
    struct tensor list[7];
    struct tensors file = file_without(list, lone[_i].without);
    struct problem p;
    const char *const words[] = {"--grid", "3x4", "--kernel", "3", "--lambda", lone[_i].lambda};
    succeeds(problem_create(&p, &elsa, (int)COUNT(words), words));
    if (lone[_i].text) refused(problem_bind(&p, &file), STATUS_BAD_INPUT, lone[_i].text);
    else succeeds(problem_bind(&p, &file));
    for (size_t f = 0; f < file.count; f++) tensor_release(&list[f]);

    char options[64];
    real *block;
    snprintf(options, sizeof options, "--grid 3x4 --kernel 3 --lambda %s", lone[_i].lambda);
    p = shaped(options, &elsa, 1, 2, "", lone[_i].without);
    status s = problem_draw(&p, 1, &block);
    if (lone[_i].text && problem_row(&p, "ghost_add") >= 0 && p.tensor[problem_row(&p, "ghost_add")].present)
        refused(s, STATUS_BAD_INPUT, lone[_i].text);
    else succeeds(s);
    memory_free(block);
}
END_TEST

/* Claim      ghost_add alone is what both are with lambda = 0: filters of h + gamma ghost_add.
 * Paper      ELSA, Eq. 8.
 * Measure    y with ghost_mul left out against y with one of random numbers, --lambda 0, both forms, Eq. 7 and
 *            the final variant; and with gamma = 0 against y without a ghost head.
 * Tolerance  Zero. */
START_TEST(ghost_sums_alone_are_powers_of_zero)
{
    const char *kind_of = _i ? "--variant final --group-width 4" : "--equation 7";
    const char *Q = _i ? "Q=8" : "";
    char options[120], none[120];
    snprintf(options, sizeof options, "--grid 4x5 --kernel 3 --heads 3 --lambda 0 --gamma 1.5 %s", kind_of);
    snprintf(none, sizeof none, "--grid 4x5 --kernel 3 --heads 3 --lambda 0 --gamma 0 %s", kind_of);
    struct trial both = trial(options, &elsa, 1, 6, Q, ""), alone = trial(options, &elsa, 1, 6, Q, "ghost_mul");
    struct trial zero = trial(none, &elsa, 1, 6, Q, "ghost_mul");
    struct trial without = trial(none, &elsa, 1, 6, Q, "ghost_mul ghost_add");
    for (int f = 0; f < 2; f++) {
        const char *form = f ? "fast" : "naive";
        real *y = trial_run(&both, form, 1);
        equal(trial_run(&alone, form, 1), y, both.outputs);
        equal(trial_run(&zero, form, 1), trial_run(&without, form, 1), both.outputs);
        unequal(trial_run(&zero, form, 1), y, both.outputs);
    }
}
END_TEST

/* Claim      The width of a group divides the channels of the final variant's middle. */
START_TEST(groups_divide_the_channels)
{
    real *block;
    struct problem p = shaped("--grid 3x4 --kernel 3 --variant final --group-width 4", &elsa, 1, 2, "Q=6", "");
    refused(problem_draw(&p, 1, &block), STATUS_BAD_INPUT,
            "tensor conv_w: found 6 output channels, expected a multiple of 4");
    memory_free(block);
}
END_TEST

/* ---- repeatable, separable, without memory --------------------------- */

/* Claim      The same plan, another plan, and a plan that has seen other tokens meanwhile give
 *            the same to the bit; a run writes y alone. */
START_TEST(elsa_repeats_to_the_bit)
{
    struct trial t = ordinary(_i);
    promise_repeatable(&t);
}
END_TEST

/* Claim      Plans of one problem may be prepared, run and released by two threads at the same
 *            time. */
START_TEST(elsa_plans_do_not_meet)
{
    struct trial t = ordinary(_i);
    promise_plans_apart(&t);
}
END_TEST

/* Tokens that have token (3, 2) of 6 x 5 among their neighbours. */
static bool near(size_t token, size_t channel, void *of)
{
    (void)channel;
    (void)of;
    size_t y = token / 5, x = token % 5;
    return y >= 2 && y <= 4 && x >= 1 && x <= 3;
}

/* Claim      NaN in a token reaches those that have it in their neighbourhood, all channels of
 *            them, and no other token or image.  (Not so in the naive Eq. 4, whose map of all
 *            tokens against all multiplies NaN by the zeros of those that are far.)
 * Measure    NaN in token (3, 2): Eq. 7, Eq. 6 and the final variant. */
START_TEST(nan_reaches_its_neighbours_and_no_other)
{
    struct trial t = ordinary(_i);
    promise_images_apart(&t, (3 * 5 + 2) * 9 + 4, near, NULL);
}
END_TEST

/* Claim      All memory is taken by prepare, a run takes none, and whichever allocation fails,
 *            plan_create says so and leaves nothing behind. */
START_TEST(elsa_survives_failed_allocations)
{
    struct trial t = ordinary(_i);
    promise_memory(&t);
}
END_TEST

/* Claim      A run reads nothing from its workspace that it has not written, so that plans may share
 *            one: zeros beside planes are of its own making.
 * Measure    Both forms in a workspace of NaN, every bit set, against a workspace of their own.
 * Tolerance  Zero: every bit. */
START_TEST(workspace_may_hold_anything)
{
    struct trial t = ordinary(_i);
    for (int f = 0; f < 2; f++) {
        struct plan plan;
        real *y = zeros(t.outputs), *alone = trial_run(&t, operator_form_at(&elsa, f)->name, 2);
        succeeds(plan_prepare(&plan, &t.problem, operator_form_at(&elsa, f), 2));
        size_t bytes = room_workspace_bytes(&plan.room);
        void *workspace = memory_get(bytes, 1);
        succeeds(plan_place(&plan, workspace));
        succeeds(plan_load(&plan));
        memset(workspace, 0xff, bytes);
        succeeds(plan_run(&plan, y, t.x));
        plan_release(&plan);
        memory_free(workspace);
        ck_assert(!memcmp(y, alone, t.outputs * sizeof *y));
    }
}
END_TEST

/* Claim      Sizes whose product overflows are refused before anything is allocated by them. */
START_TEST(elsa_refuses_sizes_that_overflow)
{
    struct problem p = shaped("--grid 16384x16384 --kernel 16383", &elsa, 1, 4, "", "");
    promise_overflow(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ELSA");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, elsa_forms_are_one_function, 0, (int)COUNT(size));
    tcase_add_loop_test(equality, every_tensor_of_elsa_counts, 0, KINDS);
    tcase_add_test(equality, naive_elsa_is_its_hearts);
    tcase_add_loop_test(equality, narrow_groups_are_wide_ones_with_zeros, 0, (int)COUNT(width));
    tcase_add_loop_test(equality, ghost_sums_alone_are_powers_of_zero, 0, 2);
    tcase_add_test(equality, neighbours_off_the_grid_take_part);
    TCase *others = add_case(suite, "golden vectors");
    tcase_add_loop_test(others, golden_vectors_of_elsa, 0, (int)COUNT(golden));
    TCase *refusals = add_case(suite, "refused");
    tcase_add_loop_test(refusals, elsa_refuses_wrong_options, 0, (int)COUNT(wrong));
    tcase_add_loop_test(refusals, powers_without_a_value_are_refused, 0, (int)COUNT(power));
    tcase_add_loop_test(refusals, a_ghost_head_is_whole_or_has_no_factors, 0, (int)COUNT(lone));
    tcase_add_test(refusals, groups_divide_the_channels);
    TCase *separate = add_case(suite, "repeatable and separable");
    tcase_add_loop_test(separate, elsa_repeats_to_the_bit, 0, KINDS);
    tcase_add_loop_test(separate, elsa_plans_do_not_meet, 0, KINDS);
    tcase_add_loop_test(separate, nan_reaches_its_neighbours_and_no_other, 0, HADAMARD);
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, elsa_survives_failed_allocations, 0, KINDS);
    tcase_add_loop_test(memory, workspace_may_hold_anything, 0, KINDS);
    tcase_add_test(memory, elsa_refuses_sizes_that_overflow);
    return run_suite(suite);
}
