/* test_cuda.c -- every version of every kernel computes its operator, on the emulator
 *
 * The emulator (fast/cuda/emulator.h) ends a run at the first race, missed barrier or index out of range.  If there is
 * a device, versions run there too. */

#define _XOPEN_SOURCE 700
#include <unistd.h>
#include "../chopd/chopd_case.h"
#include "../support/properties.h"
#include "../support/roundoff.h"
#include "../../fast/cuda/counts.h"
#include "../../reference/chopd.h"
#include "../../reference/lisa.h"
#include "../../reference/cli/devices.h"
#include "../../reference/structsa.h"
#include "../../reference/elsa.h"
#include "../../reference/hilo.h"
#include "../../reference/msa.h"
#include "../../reference/sra.h"
#include "../../fast/cuda/versions.h"

static const struct {
    const struct declaration *operator;
    const char *options;
    size_t batch, channels;
    const char *sizes, *without;
} size[] = {
    {&elsa, "--grid 1x1 --kernel 1", 1, 1, "", ""},
    {&elsa, "--grid 3x3 --kernel 3 --heads 2", 2, 6, "", "b_qkv"},
    {&elsa, "--grid 7x5 --kernel 3 --heads 3 --head-map block --equation 6 --scale 0.7",
     2, 9, "", "ghost_mul ghost_add"},
    {&elsa, "--grid 5x10 --kernel 5 --heads 4 --lambda 2 --gamma 0.5", 2, 12, "", "w_o b_o"},
    {&elsa, "--grid 9x10 --kernel 7 --heads 5 --lambda 0", 1, 10, "", "ghost_mul b_o"},
    {&elsa, "--grid 14x14 --kernel 3 --dilation 3 --heads 2 --head-map block", 1, 22, "", "b_qkv w_o b_o"},
    {&elsa, "--grid 4x17 --kernel 5 --dilation 5", 1, 3, "", "ghost_mul ghost_add"},
    {&elsa, "--grid 6x3 --kernel 9 --heads 2", 1, 4, "", ""},
    {&elsa, "--grid 7x5 --kernel 3 --heads 3 --variant final --group-width 4 --lambda 0", 2, 9, "Q=12", "ghost_mul"},
    {&elsa, "--grid 9x4 --kernel 7 --heads 2 --variant final --group-width 8 --head-map block",
     1, 6, "Q=8", "ghost_mul ghost_add"},
    {&elsa, "--grid 5x5 --kernel 5 --dilation 2 --variant final --group-width 16 --scale 1.5", 1, 4, "Q=32", "b_qkv"},
    {&elsa, "--grid 4x5 --kernel 3 --heads 2 --variant final --group-width 3", 2, 4, "Q=6", ""},
    {&elsa, "--grid 4x5 --kernel 9 --variant final --group-width 8", 1, 4, "Q=8", ""},
    {&elsa, "--grid 5x4 --kernel 3 --equation 4 --heads 2 --scale 0.5", 2, 6, "", ""},
    {&elsa, "--grid 6x4 --kernel 3 --dilation 2 --equation 4 --heads 2 --terms qk+b --norm identity",
     1, 4, "", "b_qkv"},
    {&elsa, "--grid 5x5 --kernel 5 --equation 4 --terms qr+rk --norm filter", 1, 3, "", "w_o b_o"},
    {&elsa, "--grid 6x9 --kernel 3 --equation 4 --heads 3 --area window", 2, 6, "", ""},
    {&elsa, "--grid 3x3 --kernel 3 --equation 4 --terms b --norm filter --area window", 1, 2, "", ""},
    {&hilo, "--grid 1x1", 1, 1, "", ""},
    {&hilo, "--grid 5x7 --window 2 --heads 4 --alpha 0.5", 2, 12, "", ""},
    {&hilo, "--grid 5x7 --window 3 --heads 3 --alpha 0.4 --pooled-queries", 2, 6, "", "h_qkv_b l_q_b l_kv_b"},
    {&hilo, "--grid 9x10 --window 8 --heads 2 --alpha 0", 1, 34, "", "h_proj_b"},
    {&hilo, "--grid 10x9 --window 2 --heads 2 --alpha 1 --pooled-queries", 1, 8, "", "l_proj_b"},
    {&hilo, "--grid 4x5 --window 1 --heads 2", 2, 6, "", ""},
    {&hilo, "--grid 4x4 --window 2 --alpha 1", 1, 70, "", ""},
    {&hilo, "--grid 6x5 --window 3 --heads 2 --alpha 0.5 --pooled-queries", 1, 20, "", ""},
    {&hilo, "--grid 4x6 --window 4 --heads 2 --alpha 0.5", 1, 128, "", ""},
    {&hilo, "--grid 3x3 --window 2 --alpha 0", 1, 52, "", ""},
    {&hilo, "--grid 2x3 --window 2 --alpha 0", 1, 70, "", ""},
    {&msa, "--grid 1", 1, 1, "", ""},
    {&msa, "--grid 7 --heads 3", 2, 6, "", ""},
    {&msa, "--grid 1x5", 1, 3, "", "rpe b_qkv"},
    {&msa, "--grid 13x7 --heads 2", 2, 34, "", ""},
    {&msa, "--grid 2x3x4 --heads 2 --scale 0.3", 3, 8, "", "b_o"},
    {&msa, "--grid 6x4 --heads 2 --window 2", 2, 8, "", ""},
    {&msa, "--grid 14x14 --heads 3 --window 7", 1, 24, "", "b_qkv w_o"},
    {&msa, "--grid 3x3", 1, 70, "", "b_qkv w_o"},
    {&fc, "", 1, 1, "M=1 N=1 D=1", ""},
    {&fc, "", 9, 3, "M=4 N=5 D=7", ""},
    {&fc, "", 2, 5, "M=3 N=2 D=70", ""},
    {&dfc_cp, "--activation none", 1, 1, "M=1 N=1 D=1 R=1", ""},       /* GELU of -2.5 would cancel in 1 + erf */
    {&dfc_cp, "", 3, 2, "M=5 N=4 D=3 R=7", ""},
    {&dfc_cp, "--activation none", 2, 3, "M=19 N=2 D=3 R=35", ""},
    {&dfc_cp, "--positions relative --grid 3x2", 2, 3, "D=2 R=5", ""},
    {&chopd, "--grid 1x1 --gate-size 1", 1, 1, "R=1 D=1 G=1 S=1", ""},
    {&chopd, "--grid 7x5 --gate-size 3", 2, 3, "R=5 D=4 G=3 S=2", ""},
    {&chopd, "--grid 3x35 --gate-size 5 --activation none", 1, 2, "R=3 D=2 G=5 S=3", ""},
    {&chopd, "--grid 14x14", 2, 6, "R=2 D=7 G=4 S=3", ""},
    {&chopd, "--grid 2x33 --gate-size 40", 1, 2, "R=2 D=2 G=2 S=1", ""},
    {&chopd, "--grid 20x9 --gate-size 2", 1, 2, "R=1 D=1 G=40 S=1", ""},       /* exceeds a block's shared memory */
    {&lisa, "--grid 1 --equation 4", 1, 1, "", ""},
    {&lisa, "--grid 7x5 --equation 4 --heads 2", 2, 6, "e=1", "b_o"},
    {&lisa, "--grid 3x4 --equation 4 --heads 2", 1, 34, "", "w_o"},
    {&lisa, "--grid 2x3 --equation 4", 1, 67, "", "w_o"},
    {&lisa, "--grid 7 --equation 5", 2, 3, "D=3", ""},
    {&lisa, "--grid 3x5 --equation 5 --heads 2", 1, 6, "D=2", "ba"},
    {&lisa, "--grid 13 --equation 6 --heads 2", 1, 6, "D=1", "b_qkv w_o"},
    {&lisa, "--grid 2x3x4 --equation 7 --heads 2", 2, 6, "D=3", ""},
    {&lisa, "--grid 3x4 --equation 7", 1, 17, "D=2", "b_qkv"},
    {&lisa, "--grid 1", 1, 1, "D=1", ""},
    {&lisa, "--grid 11 --heads 2", 2, 6, "D=2", ""},
    {&lisa, "--grid 7x5 --heads 2", 1, 34, "D=3", "b_qkv"},
    {&lisa, "--grid 14x14", 1, 3, "D=2", "w_o"},
    {&lisa, "--grid 8x9", 1, 3, "D=2", "w_o"},
    {&lisa, "--grid 2x3x4", 2, 3, "D=3", ""},
    {&lisa, "--grid 6x5 --kernel 3x3 --heads 2", 2, 6, "D=3", ""},
    {&lisa, "--grid 2x3 --kernel 5x7", 1, 3, "D=2", ""},
    {&lisa, "--grid 9 --kernel 5", 1, 17, "D=2", "b_o"},
    {&lisa, "--grid 2x3x4 --kernel 3x1x3", 1, 2, "D=1", ""},
    {&msa, "--grid 9x11", 1, 28, "", "w_o b_o"},
    {&msa, "--grid 5x7", 1, 52, "", "b_o"},
    {&msa, "--grid 37", 2, 45, "", "rpe w_o b_o"},
    {&msa, "--grid 6x4 --heads 2 --window 2 --shift 1", 2, 6, "", ""},
    {&msa, "--grid 7x7 --heads 2 --window 7 --shift 3", 1, 10, "", "rpe"},
    {&msa, "--grid 5x10 --heads 3 --window 5 --shift 2", 1, 12, "", "w_o b_o"},
    {&msa, "--grid 3x5 --heads 2 --lambda 1 --gamma 0.5", 2, 6, "", ""},
    {&msa, "--grid 11 --heads 3 --head-map block --gamma -1", 1, 60, "", "rpe b_qkv w_o"},
    {&msa, "--grid 2x3x2 --lambda 0", 1, 40, "", "ghost_mul"},
    {&msa, "--grid 5 --lambda 2", 1, 66, "", ""},
    {&structsa, "--grid 1 --kernel 1", 1, 1, "D=1", ""},
    {&structsa, "--grid 11 --kernel 3 --heads 3 --equation 4", 2, 6, "D=2", ""},
    {&structsa, "--grid 7x3 --kernel 3x5 --heads 2 --equation 5", 1, 6, "D=3", "b_qkv w_o"},
    {&structsa, "--grid 2x9 --kernel 3x3 --equation 5 --stride 1x2 --value-kernel 1x5", 2, 5, "D=2", ""},
    {&structsa, "--grid 5x9 --kernel 3x3 --heads 2", 1, 8, "D=5", ""},
    {&structsa, "--grid 6x5 --kernel 3x3 --stride 4x1 --scale 0.4 --value-kernel 5x1", 2, 20, "D=2", "b_o"},
    {&structsa, "--grid 2x3x4 --kernel 3x3x3 --heads 2", 1, 6, "D=2", ""},
    {&structsa, "--grid 3x4x5 --kernel 3x3x1 --stride 1x2x2 --value-kernel 1x3x3", 1, 3, "D=4", "b_qkv"},
    {&structsa, "--grid 14x14 --kernel 3x3 --stride 7", 1, 6, "D=1", ""},
    {&structsa, "--grid 1x9 --kernel 1x11 --stride 1x8 --equation 4", 1, 36, "D=3", ""},
    {&structsa, "--grid 3x3 --kernel 3x3 --stride 3", 1, 70, "D=2", "b_qkv w_o"},
    {&structsa, "--grid 2x3 --kernel 1x1 --value-kernel 11x31 --stride 2x3", 1, 40, "D=5", ""},
    {&structsa, "--grid 1x3 --kernel 3x3 --value-kernel 65x33 --stride 1x2", 1, 40, "D=2", ""},
    {&sra, "--grid 1x1 --reduction 1", 1, 1, "", ""},
    {&sra, "--grid 6x4 --heads 3", 2, 6, "", "b_q b_kv sr_b"},
    {&sra, "--grid 9x9 --reduction 3 --heads 2 --scale 0.4", 1, 34, "", "w_o b_o"},
    {&sra, "--grid 3x5 --reduction 1 --heads 2", 2, 8, "", "b_o"},
    {&sra, "--grid 16x8 --reduction 2 --heads 2", 2, 40, "", ""},
    {&sra, "--grid 4x4 --reduction 4", 1, 70, "", ""},
};

TESTS(every_version_is_its_operator, COUNT(size))
{
    const char *only = getenv("OPERATOR");      /* as in cases.c */
    if (only && strcmp(only, size[_i].operator->name)) return;
    struct fixture t = fixture(size[_i].options, size[_i].operator, size[_i].batch, size[_i].channels, size[_i].sizes,
                           size[_i].without);
    const struct form *version;
    char line[160];
    t.y = fixture_run(&t, "naive", 1);
    for (int r = 0; (version = operator_version_at(size[_i].operator, r)); r++)
        for (unsigned seed = 1; seed <= 3; seed++) {
            snprintf(line, sizeof line, "%s %s, %s, seed %u", size[_i].operator->name, size[_i].options, version->name,
                     seed);
            emulator_watch(seed == 1, seed);
            within(line, relative_difference(run_form(&t.problem, version, 1, t.x), t.y, t.outputs),
                   version_tolerance(&t.problem, version));
        }
    emulator_watch(false, 0);
}

/* Sizes at which kernels depend on the shared memory of the device.  The first two planes of chopd do not fit every
 * device: one in float, one in double.  The last two fill the limit of 96 KiB exactly, again one in float, one in
 * double. */
static const struct { const struct declaration *operator; const char *options; size_t channels; const char *sizes; }
large[] = {
    {&lisa, "--grid 28x28 --kernel 3x3", 3, "D=1"},
    {&lisa, "--grid 56x56 --kernel 3x3", 1, "D=1"},
    {&chopd, "--grid 112x120 --gate-size 1", 1, "R=1 D=1 G=1 S=1"},
    {&chopd, "--grid 62x100 --gate-size 1", 1, "R=1 D=1 G=1 S=1"},
    {&chopd, "--grid 20x28 --gate-size 2", 1, "R=1 D=1 G=35 S=1"},
    {&chopd, "--grid 15x13 --gate-size 2", 1, "R=1 D=1 G=23 S=1"},
};

TESTS(cuda_equals_fast_on_every_device, COUNT(large))
{
    struct fixture t = fixture(large[_i].options, large[_i].operator, 1, large[_i].channels, large[_i].sizes, "");
    const struct form *version = operator_version(large[_i].operator, "cuda");
    const char *device;
    t.y = fixture_run(&t, "fast", 1);
    for (int at = 0; (device = emulator_device_name(at)); at++) {
        ck_assert(emulator_device(device));
        within(device, relative_difference(run_form(&t.problem, version, 1, t.x), t.y, t.outputs),
               version_tolerance(&t.problem, version));
    }
    emulator_device(NULL);
}

/* A running maximum starts below all finite scores.  Weights of queries are 2^53 and of keys -2^53, tokens small whole
 * numbers: no score is rounded, and the largest takes all the weight. */
static const struct { const char *options; const struct declaration *operator; const char *sizes, *without; } deep[] = {
    {"--grid 3x5 --heads 4", &msa, "", "b_qkv rpe"},
    {"--grid 5x7 --heads 4 --gamma 0.5", &msa, "", "b_qkv rpe"},
    {"--grid 4x6 --heads 4 --window 2 --shift 1", &msa, "", "b_qkv rpe"},
    {"--grid 9x8 --heads 1", &msa, "", "b_qkv rpe"},
    {"--grid 4x5 --heads 4 --kernel 3x3", &structsa, "D=2", "b_qkv"},
    {"--grid 6x4 --heads 4 --alpha 0.5", &hilo, "", "h_qkv_b l_q_b l_kv_b"},
    {"--grid 3x5 --heads 4 --reduction 1", &sra, "", "b_q b_kv"},
};

static void fill(struct fixture *t, const char *name, size_t first, size_t count, real value)
{
    real *w = fixture_tensor(t, name);
    for (size_t n = first; n < first + count; n++) w[n] = value;
}

TESTS(scores_far_below_every_number_keep_their_order, COUNT(deep))
{
    const size_t C = 16, half = C / 2;
    const real far = (real)0x1p53;
    const struct declaration *operator = deep[_i].operator;
    struct fixture t = fixture(deep[_i].options, operator, 2, C, deep[_i].sizes, deep[_i].without);
    const struct form *version;
    for (size_t n = 0; n < t.inputs; n++) t.x[n] = (real)(1 + n * n % 7);
    if (operator == &msa || operator == &structsa) {
        fill(&t, "w_qkv", 0, C * C, far);
        fill(&t, "w_qkv", C * C, C * C, -far);
        if (operator == &structsa) fill(&t, "hk", 0, 2 * 9 * C, 1);
    } else if (operator == &sra) {
        fill(&t, "w_q", 0, C * C, far);
        fill(&t, "w_kv", 0, C * C, -far);
    } else {
        fill(&t, "h_qkv", 0, half * C, far);
        fill(&t, "h_qkv", half * C, half * C, -far);
        fill(&t, "l_q", 0, half * C, far);
        fill(&t, "l_kv", 0, half * C, -far);
    }
    t.y = fixture_run(&t, "naive", 1);
    for (int r = 0; (version = operator_version_at(operator, r)); r++)
        within(version->name, relative_difference(run_form(&t.problem, version, 1, t.x), t.y, t.outputs),
               version_tolerance(&t.problem, version));
    within("fast", relative_difference(fixture_run(&t, "fast", 1), t.y, t.outputs), property_tolerance(&t.problem));
}

/* More images than entries of a grid's third axis (65,535); half of that in LiSA, where an image has two entries.
 * Later versions have the same blocks as the third, and take minutes here. */
static const struct { const char *options; const struct declaration *operator; const char *sizes; size_t images; }
many[] = {
    {"--grid 1x1 --heads 1", &msa, "", 65536},
    {"--grid 1x1 --heads 1", &lisa, "D=1", 32768},
};

TESTS(a_batch_may_be_longer_than_a_third_axis, COUNT(many))
{
    struct fixture t = fixture(many[_i].options, many[_i].operator, many[_i].images, 1, many[_i].sizes, "");
    const struct form *version = operator_version_at(many[_i].operator, 2);
    t.y = fixture_run(&t, "fast", 2);
    within(version->name, relative_difference(run_form(&t.problem, version, 1, t.x), t.y, t.outputs),
           version_tolerance(&t.problem, version));
}

/* The mean of equal entries is exact: ELSA's filter norm (Eq. 4) turns them into zeros, and SRA's layer norm maps them
 * like zeros.  A norm multiplies the rounding error of a mean by up to 10^5. */
static void norms_have_no_deviation(const struct fixture *t, const struct form *form, real *entry, size_t entries)
{
    real *expected = zeros(t->outputs);
    for (size_t n = 0; n < entries; n++) entry[n] = 0;
    if (t->problem.declaration == &sra) expected = run_form(&t->problem, form, 1, t->x);
    for (size_t n = 0; n < entries; n++) entry[n] = (real)1000.7;
    real *y = run_form(&t->problem, form, 1, t->x);
    for (size_t n = 0; n < t->outputs; n++)
        ck_assert_msg(y[n] == expected[n], "%s %s: y[%zu] is off by %g", t->problem.declaration->name, form->name, n,
                      (double)(y[n] - expected[n]));
}

TESTS(equal_entries_are_their_own_mean, 2)
{
    const size_t C = 37, K = 7, s = 2;
    struct fixture t = _i ? fixture("--grid 8x6 --reduction 2", &sra, 2, C, "", "")
                        : fixture("--grid 6x5 --kernel 7 --equation 4 --terms b --norm filter", &elsa, 1, C, "",
                                "b_qkv w_o b_o");
    const struct declaration *operator = t.problem.declaration;
    const struct form *form;
    real *entry = fixture_tensor(&t, _i ? "sr_b" : "rb");
    size_t entries = _i ? C : K * K;
    for (size_t n = 0; _i && n < C * C * s * s; n++) fixture_tensor(&t, "sr_w")[n] = 0;
    for (int f = 0; (form = operator_form_at(operator, f)); f++) norms_have_no_deviation(&t, form, entry, entries);
    for (int r = 0; (form = operator_version_at(operator, r)); r++) norms_have_no_deviation(&t, form, entry, entries);
}

/* Means over small boxes are accurate (ChoP'D, Sec. 2.3), against sums in double.  Boxes have edges of one token, on
 * the grid and between tokens, or of 1e-3, within a token and on the corner of four.  test_chopd_theorems.c derives the
 * bound (2 W + 2 H + 160) u; sums by doubling round less often. */
TEST(small_boxes_keep_their_digits_on_the_device)
{
    enum { SIDE = 64 };
    const real lo = (real)0.2, up = (real)0.201, left = (real)-0.3, right = (real)-0.299;
    const real before = (real)0.4995, after = (real)0.5005;
    const struct box box[] = {
        {-.5, -.5, .5, .5}, {-.25, -.375, .75, .625}, {(double)lo, (double)left, (double)up, (double)right},
        {(double)before, (double)before, (double)after, (double)after},
    };
    const struct form *version;
    char line[80];
    real *plane = uniform(46, SIDE * SIDE, 0, 1);
    struct fixture t = pooling(SIDE, SIDE, box, COUNT(box));
    for (int f = 0; (version = operator_version_at(&chopd, f)); f++) {
        real *y = run_form(&t.problem, version, 1, plane);
        for (size_t r = 0; r < COUNT(box); r++) {
            double worst = 0;
            for (size_t n = 0; n < SIDE * SIDE; n++)
                worse(&worst, fabs((double)y[n * COUNT(box) + r] - direct_near(&box[r], plane, SIDE, SIDE, n)));
            snprintf(line, sizeof line, "%s, box %zu", version->name, r);
            within(line, worst, (4 * SIDE + 160) * UNIT_ROUNDOFF);
        }
    }
}

/* Boxes as thin as the rounding error of a token's border, a third of each before it; boxes 1e30 wide, and 1e30 away.
 * Fast form and versions against the naive form, on entries of about 1. */
TEST(boxes_at_the_limits_are_boxes)
{
    const double tiny = sizeof(real) == 4 ? 0x1p-25 : 0x1p-54, far = 1e30;
    const struct box box[] = {
        {0.5 - tiny, -.5, 0.5 + 2 * tiny, .5}, {-.5, 0.5 - tiny, .5, 0.5 + 2 * tiny}, {-far, -1.5, far, 1.5},
        {-2, far, 3, 2 * far}, {-2 * far, -1, -far, 1}, {far, -far, 2 * far, far},
    };
    const struct form *version;
    struct fixture t = pooling(5, 6, box, COUNT(box));
    real *y = fixture_run(&t, "naive", 1);
    double tolerance = property_tolerance(&t.problem) * largest(t.x, t.inputs);
    within("fast", largest_difference(fixture_run(&t, "fast", 1), y, t.outputs), tolerance);
    for (int f = 0; (version = operator_version_at(&chopd, f)); f++)
        within(version->name, largest_difference(run_form(&t.problem, version, 1, t.x), y, t.outputs), tolerance);
    ck_assert(largest(y, t.outputs) > 0.5);
}

/* cuda1 states the naive form's multiply-adds, which test_chopd_counts.c counts, as it does the fast form's.  cuda2
 * applies the image's factor to D rows of u5 where the fast form has N tokens (Eq. 6). */
TEST(versions_of_dfc_cp_cost_what_their_order_does)
{
    enum { B = 2, N = 4, D = 3, R = 7 };
    struct fixture t = fixture("", &dfc_cp, B, 2, "M=5 N=4 D=3 R=7", "");
    static const char *const version[] = {"cuda1", "cuda2"}, *const form[] = {"naive", "fast"};
    for (int n = 0; n < 2; n++) {
        double of_form = form_multiply_adds(operator_form(&dfc_cp, form[n]), &t.problem);
        double of_version = form_multiply_adds(operator_version(&dfc_cp, version[n]), &t.problem);
        ck_assert_msg(of_version == of_form + (n == 1 ? B * (D - N) * R : 0), "%s: %.0f", version[n], of_version);
    }
}

/* Bound of a version's root mean square error: that of roundoff.h, and on tensor cores sqrt(2) kappa u chance() more,
 * where u is the factors' unit roundoff (see tensor_cores_err_as_they_round). */
static double rounding_bound(const struct problem *p, double kappa, const struct form *version)
{
    return statistical_bound(p, kappa, version, NULL) +
           chance(problem_output_count(p)) * sqrt(2) * kappa * form_rounding(version);
}

#ifndef TWICETOLD_DOUBLE
/* Rounding q, k and v by u changes y by at most kappa u (roundoff.h), and so does rounding the weights: sqrt(2) kappa u
 * in all.  The error also exceeds a plain version's bound; with 64 outputs or more, BF16's is 4 to 16 times TF32's.  A
 * version that falls back equals the last plain version to the bit. */
TESTS(tensor_cores_err_as_they_round, COUNT(size))
{
    if (size[_i].operator != &msa && size[_i].operator != &structsa) return;
    struct fixture t = fixture(size[_i].options, size[_i].operator, size[_i].batch, size[_i].channels, size[_i].sizes,
                           size[_i].without);
    const struct form *plain = operator_version(size[_i].operator, "cuda"), *version;
    double *exact = reference(&t.problem, t.x), kappa = sensitivity(&t.problem, t.x, exact);
    double error[2] = {0, 0};
    double floats = rounding_bound(&t.problem, kappa, plain);
    real *y = run_form(&t.problem, plain, 1, t.x);
    char line[160];
    ck_assert(form_rounding(plain) == 0);
    snprintf(line, sizeof line, "%s %s, plain", size[_i].operator->name, size[_i].options);
    within(line, mean_error(y, exact, t.outputs), floats);
    for (int r = 0; (version = operator_version_at(size[_i].operator, r)); r++) {
        if (form_rounding(version) == 0) continue;
        emulator_watch(true, 1);
        real *z = run_form(&t.problem, version, 1, t.x);
        bool products = emulator_launch(emulator_launches() - 1)->products > 0;
        emulator_watch(false, 0);
        if (!products) {
            equal(z, y, t.outputs);
            continue;
        }
        snprintf(line, sizeof line, "    %s, against a plain version's bound", version->name);
        double off = error[form_rounding(version) > 0x1p-10] = mean_error(z, exact, t.outputs);
        beyond(line, off, floats);
        snprintf(line, sizeof line, "    %s", version->name);
        within(line, off, rounding_bound(&t.problem, kappa, version));
    }
    if (t.outputs < 64 || error[0] == 0) return;
    printf("    BF16 errs %.1f times as much as TF32\n", error[1] / error[0]);
    ck_assert(error[1] > 4 * error[0] && error[1] < 16 * error[0]);
}

/* The rounded weights are summed, so the mean of values that are all 1.5 is 1.5.  Two sums of 49 weights of one sign,
 * and a division: 2 (49 + 1) u. */
TESTS(equal_values_come_back, sizeof(real) == 4 ? 2 : 0)
{
    enum { C = 32 };
    static const char *const versions[] = {"cuda-tf32", "cuda-bf16"};
    struct fixture t = fixture("--grid 7x7 --heads 2", &msa, 1, C, "", "w_o b_o");
    real *all = zeros(t.outputs);
    fill(&t, "w_qkv", 2 * C * C, C * C, 0);
    fill(&t, "b_qkv", 2 * C, C, (real)1.5);
    for (size_t n = 0; n < t.outputs; n++) all[n] = (real)1.5;
    real *y = run_form(&t.problem, operator_version(&msa, versions[_i]), 1, t.x);
    within(versions[_i], relative_difference(y, all, t.outputs), 2 * (49 + 1) * UNIT_ROUNDOFF);
}
#endif

/* A window's table gives the bits of the plane's table that has it in the middle. */
TEST(windows_have_tables_of_their_own)
{
    enum { C = 8, EDGE = 2 * 3 - 1, ACROSS = 2 * 9 - 1 };
    const char *options = "--grid 6x9 --heads 2 --window 3 --shift 1";
    struct fixture plane = fixture(options, &msa, 1, C, "", "b_qkv w_o b_o"), window = plane;
    struct tensors file = file_of("x 1x54x8 w_qkv 24x8 rpe 25x1", "");
    const real *w_qkv = fixture_tensor(&plane, "w_qkv"), *rpe = fixture_tensor(&plane, "rpe");
    memcpy(file.tensor[1].data, w_qkv, 3 * C * C * sizeof *w_qkv);
    for (size_t e = 0; e < EDGE * EDGE; e++)
        file.tensor[2].data[e] = rpe[(e / EDGE + 6 - 3) * ACROSS + e % EDGE + 9 - 3];
    succeeds(bound_to(&window.problem, options, &msa, &file));
    own_parameters(&window.problem);
    const struct form *version;
    for (int r = 0; (version = operator_version_at(&msa, r)); r++)
        equal(run_form(&window.problem, version, 1, plane.x), run_form(&plane.problem, version, 1, plane.x),
              plane.outputs);
}

/* True if there is no device; run.py counts the line that says so. */
static bool no_device(const struct cuda_plugin **plugin)
{
    status s = devices_plugin(plugin);
    if (!s.code) s = (*plugin)->choose(0, 0);
    if (s.code) printf("skipped: every version on a CUDA device: %s\n", s.message);
    else printf("on %s\n", (*plugin)->name());
    return s.code;
}

/* Runs a plan on the device and returns y.  Other tokens give `expected`, and then the first ones y again.  A run
 * without copies does not write y. */
static real *run_on_device(const struct cuda_plugin *plugin, const struct fixture *t, const struct form *version,
                           const real *other, const real *expected)
{
    struct plan plan;
    real *y = zeros(t->outputs), *again = zeros(t->outputs);
    succeeds(plan_create(&plan, &t->problem, version, 1));
    ck_assert_uint_gt(plugin->bytes(&plan), (t->inputs + t->outputs) * sizeof(real) - 1);
    succeeds(plan_run(&plan, y, t->x));
    succeeds(plan_run(&plan, again, other));
    within("    other tokens", relative_difference(again, expected, t->outputs),
           version_tolerance(&t->problem, version));
    succeeds(plan_run(&plan, again, t->x));
    plugin->stay(&plan, true);
    real *kept = copy(again, t->outputs);
    succeeds(plan_run(&plan, again, other));
    equal(again, kept, t->outputs);
    plugin->stay(&plan, false);
    plan_release(&plan);
    within("    again", relative_difference(kept, y, t->outputs), version_tolerance(&t->problem, version));
    return y;
}

/* With the device's order of threads, exp and linear maps. */
START_TEST(every_version_is_its_operator_on_the_device)
{
    const struct cuda_plugin *plugin;
    const struct form *version;
    char line[160];
    if (no_device(&plugin)) return;
    for (size_t n = 0; n < COUNT(size); n++) {
        struct fixture t = fixture(size[n].options, size[n].operator, size[n].batch, size[n].channels, size[n].sizes,
                               size[n].without);
        const real *other = normal(3, t.inputs);
        real *expected = run_form(&t.problem, operator_form(size[n].operator, "naive"), 1, other);
        t.y = fixture_run(&t, "naive", 1);
        for (int r = 0; (version = version_at(plugin->forms, size[n].operator, r)); r++) {
            snprintf(line, sizeof line, "%s %.100s, %s", size[n].operator->name, size[n].options, version->name);
            real *y = run_on_device(plugin, &t, version, other, expected);
            within(line, relative_difference(y, t.y, t.outputs), version_tolerance(&t.problem, version));
            if (form_rounding(version) == 0) continue;
            double *exact = reference(&t.problem, t.x);
            within("    root mean square", mean_error(y, exact, t.outputs),
                   rounding_bound(&t.problem, sensitivity(&t.problem, t.x, exact), version));
        }
    }
}

static void name_plugin(void)
{
    char path[2048 + 40];
    ssize_t length = readlink("/proc/self/exe", path, 2047);
    path[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 3; up++)
        if (strrchr(path, '/')) *strrchr(path, '/') = '\0';
    strcat(path, "/libtwicetold-cuda.so");
    setenv("TWICETOLD_CUDA", path, 0);
}

int main(void)
{
    name_plugin();
    Suite *suite = suite_of_tests("cuda");
    TCase *device = add_case(suite, "every version, on the device");
    tcase_set_timeout(device, 300);
    tcase_add_test(device, every_version_is_its_operator_on_the_device);
    return run_suite(suite);
}
