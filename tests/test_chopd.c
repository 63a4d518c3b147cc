/* test_chopd.c -- the layers of chapter 4: their forms are one function
 *
 * Naive against fast, numbers by hand; in batches, by threads, without memory,
 * with NaN.  What the layers mean is proved in test_chopd_layers.c and
 * test_chopd_theorems.c. */

#include <math.h>
#include <string.h>
#include "chopd_case.h"
#include "promises.h"
#include "roundoff.h"
#include "../fast/chopd/box_pool.h"
#include "../fast/gelu.h"

/* ---- equality -------------------------------------------------------- */

/* Grids one token wide, smaller than the gate's map, with rows of one vector and
 * a bit, of two and a bit, of many; one box and many; no activation; images that
 * threads take one by one, and one left for all of them. */
static const struct {
    const struct declaration *d;
    const char *options;
    size_t batch, channels;
    const char *sizes;
} size[] = {
    {&fc, "", 1, 1, "M=1 N=1 D=1"},
    {&fc, "", 3, 5, "M=4 N=7 D=2"},
    {&fc, "", 2, 3, "M=9 N=1 D=17"},
    {&dfc_cp, "", 1, 1, "M=1 N=1 D=1 R=1"},
    {&dfc_cp, "", 3, 5, "M=4 N=7 D=2 R=11"},
    {&dfc_cp, "--activation none", 2, 7, "M=5 N=3 D=18 R=2"},
    {&dfc_cp, "", 1, 16, "M=6 N=6 D=16 R=40"},
    {&dfc_cp, "", 33, 8, "M=8 N=9 D=8 R=64"},
    {&chopd, "--grid 1x1", 1, 1, "D=1 R=1 G=1 S=1"},
    {&chopd, "--grid 1x7 --gate-size 3", 2, 5, "D=3 R=4 G=2 S=2"},
    {&chopd, "--grid 9x1", 1, 2, "D=5 R=3 G=3 S=4"},
    {&chopd, "--grid 13x7 --gate-size 1", 2, 4, "D=6 R=5 G=1 S=3"},
    {&chopd, "--grid 3x17 --activation none", 1, 3, "D=2 R=2 G=4 S=1"},
    {&chopd, "--grid 4x32 --gate-size 4", 1, 3, "D=2 R=3 G=2 S=2"},
    {&chopd, "--grid 5x47", 1, 2, "D=3 R=6 G=3 S=2"},
    {&chopd, "--grid 2x70 --gate-size 9", 1, 2, "D=2 R=4 G=2 S=2"},
    {&chopd, "--grid 40x3 --gate-size 2", 3, 2, "D=18 R=3 G=5 S=2"},
    {&chopd, "--grid 14x14", 1, 8, "D=8 R=8 G=4 S=4"},
    {&chopd, "--grid 2x130", 1, 1, "D=1 R=9 G=9 S=1"},
    {&chopd, "--grid 1x3", 1, 1, "D=1 R=40 G=9 S=1"},
    {&chopd, "--grid 6x5 --gate-size 3", 33, 4, "D=4 R=16 G=2 S=4"},
};

static struct trial drawn(int at)
{
    return trial(size[at].options, size[at].d, size[at].batch, size[at].channels, size[at].sizes, "");
}

/* One of each kind, small enough that each number weighs; two images, for the promises. */
static const struct { const struct declaration *d; const char *options, *sizes; } kind[] = {
    {&fc, "", "M=3 N=4 D=2"},
    {&dfc_cp, "", "M=3 N=2 D=2 R=2"},
    {&chopd, "--grid 2x3 --gate-size 2 --activation none", "D=3 R=2 G=1 S=2"},
};
#define KINDS ((int)COUNT(kind))

/* The gate's hidden numbers are made positive, lest what goes into it hardly shows. */
static struct trial ordinary(int at)
{
    struct trial t = trial(kind[at].options, kind[at].d, 2, 2, kind[at].sizes, "");
    if (kind[at].d == &chopd) trial_tensor(&t, "phi_b1")[0] = 1;
    return t;
}

/* Claim      Both forms of fc, dfc-cp and chopd compute one function, on any grid, with any
 *            number of channels, components, boxes, images and threads; boxes lie anywhere and
 *            may be narrower than a token or wider than the grid.
 * Paper      ChoP'D Former, Eq. 2-6, 8-10.   Chapter 4, "The fast forms".
 * Measure    Largest |fast - naive| over the largest |naive|.
 * Tolerance  chopd_case.h; root mean square: roundoff.h.
 * Would it fail?  See every_tensor_of_the_layers_counts. */
START_TEST(forms_of_the_layers_are_one_function)
{
    struct trial t = drawn(_i);
    promise_one_function(&t, size[_i].d->name, layer_tolerance(&t.problem));
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever tensor. */
START_TEST(every_tensor_of_the_layers_counts)
{
    struct trial t = ordinary(_i);
    promise_every_tensor_counts(&t, layer_tolerance(&t.problem));
}
END_TEST

/* Claim      A box may be as small as numbers are: the mean over it is the token that it lies in.
 * Measure    Every form, 5 x 7 tokens: sides of 1e-20 and of 1e-40 beside 1, of the smallest number, and in double
 *            of 1e-200; the naive form divides by one side and then by the other.
 * Tolerance  chopd_case.h.
 * Would it fail?  Seen with the fast form's shares divided by the area, which is zero in all of these. */
START_TEST(boxes_may_be_as_small_as_numbers_are)
{
    static const double side[][2] = {{1e-20, 1e-20}, {1e-40, 1}, {1, 1e-40}, {1e-45, 1e-45}, {1e-200, 1e-200}};
    struct trial t = trial("--grid 5x7", &chopd, 1, 3, "D=2 R=5 G=1 S=2", "");
    real *box = trial_tensor(&t, "boxes");
    for (size_t r = 0; r < COUNT(side); r++)
        for (int axis = 0; axis < 2; axis++) {
            real least = sizeof(real) == 4 ? (real)1e-45 : (real)5e-324, length = (real)side[r][axis];
            box[4 * r + (size_t)axis] = 0;
            box[4 * r + 2 + (size_t)axis] = length > least ? length : least;
        }
    promise_one_function(&t, "small boxes", layer_tolerance(&t.problem));
}
END_TEST

/* ---- by hand ---------------------------------------------------------- */

/* Claim      Pooling, mix, gate and bias, by hand: two tokens side by side, one channel. The
 *            box reaches half a token to the left of the token's middle and one and a half to
 *            its right; the gate is 1/2, as phi_w2 and phi_b2 are zero.
 * Paper      ChoP'D Former, Eq. 8-10.
 * Measure    x = (3, 5), boxes 1 high and 2 wide: token 0 has (3 + 5) / 2, token 1 has (5 + 0)
 *            / 2; times 4 for the mix, 1/2 for the gate, 2 for u5, plus 1.
 * Tolerance  Zero: halves and whole numbers. */
START_TEST(two_tokens_are_pooled_by_hand)
{
    struct trial t = trial("--grid 1x2 --gate-size 1 --activation none", &chopd, 1, 1, "D=1 R=1 G=1 S=1", "");
    static const struct { const char *name; real value; } is[] = {
        {"u4", 1}, {"mix", 4}, {"phi_w1", 1}, {"phi_b1", 0}, {"phi_w2", 0}, {"phi_b2", 0}, {"u5", 2}, {"b", 1},
    };
    for (size_t i = 0; i < COUNT(is); i++) trial_tensor(&t, is[i].name)[0] = is[i].value;
    memcpy(trial_tensor(&t, "boxes"), (real[]){(real)-0.5, (real)-0.5, (real)0.5, (real)1.5}, 4 * sizeof(real));
    for (int f = 0; operator_form_at(&chopd, f); f++) {
        const real *y = trial_run_on(&t, operator_form_at(&chopd, f)->name, 1, (real[]){3, 5});
        ck_assert(y[0] == 4 * 4 + 1);
        ck_assert(y[1] == (real)2.5 * 4 + 1);
    }
}
END_TEST

/* Claim      GELU in the lanes of a vector is x Phi(x).
 * Measure    2 000 001 numbers between -20 and 20, each against erfc of the C library in
 *            double: largest error over |x|; and the numbers at the ends.
 * Tolerance  float: Phi's error is at most 1.7e-8 by design, and Horner's rule, whose result
 *            is of order 1 where Phi is, adds less than u of it; 1 - Phi and the product round
 *            once each: 3 u. double: the C library's erf within an ulp of 1, halved, and three
 *            roundings: 4 u. */
START_TEST(gelu_in_lanes_is_gelu)
{
    double worst = 0;
    real zero[2 * LANES] = {0};
    for (int start = -1000000; start <= 1000000; start += 2 * (int)LANES) {
        real y[2 * LANES], x[2 * LANES];
        for (int l = 0; l < 2 * (int)LANES; l++) x[l] = y[l] = (real)((double)(start + l) * 2e-5);
        bias_and_gelu(y, zero, 2 * LANES - 1, true);
        for (size_t l = 0; l < 2 * LANES - 1; l++) {
            double exact = (double)x[l] * erfc(-(double)x[l] * sqrt(0.5)) / 2, error = fabs((double)y[l] - exact);
            worse(&worst, error == 0 ? 0 : error / fabs((double)x[l]));
        }
        ck_assert(y[2 * LANES - 1] == x[2 * LANES - 1]);
    }
    within("GELU", worst, (sizeof(real) == sizeof(float) ? 3 : 4) * UNIT_ROUNDOFF);

    real ends[] = {0, (real)NAN, (real)INFINITY, sizeof(real) == sizeof(float) ? (real)-3e38 : (real)-1e300};
    bias_and_gelu(ends, zero, 4, true);
    ck_assert(ends[0] == 0);
    ck_assert(isnan(ends[1]));
    ck_assert(isinf(ends[2]) && ends[2] > 0);
    ck_assert(ends[3] == 0);
}
END_TEST

/* ---- what is refused ------------------------------------------------- */

/* Claim      Options that make no sense are refused with one line that says what was found
 *            and what was expected.             Measure   Status and message. */
static const struct { const struct declaration *d; const char *words[6]; int count; const char *text; } wrong[] = {
    {&chopd, {NULL}, 0, "option --grid: missing"},
    {&chopd, {"--grid", "8"}, 2, "option --grid: found '8', a grid of 1 axes, expected two"},
    {&chopd, {"--grid", "4x4", "--gate-size", "0"}, 4, "option --gate-size: found '0'"},
    {&chopd, {"--grid", "4x4", "--activation", "relu"}, 4,
     "option --activation: found 'relu', expected one of gelu|none"},
    {&dfc_cp, {"--activation", "GELU"}, 2, "option --activation: found 'GELU'"},
    {&dfc_cp, {"--grid", "4x4"}, 2, "found '--grid', expected an option of this operator"},
    {&fc, {"--activation", "none"}, 2, "found '--activation', expected an option of this operator"},
};
START_TEST(layers_refuse_wrong_options)
{
    struct problem p;
    refused(problem_create(&p, wrong[_i].d, wrong[_i].count, wrong[_i].words), STATUS_BAD_INPUT, wrong[_i].text);
}
END_TEST

/* Claim      A box needs an inside and edges that are numbers.
 * Paper      Eq. 8.                             Measure   Binding a file with such a box. */
static const struct { double box[4]; const char *text; } bad_box[] = {
    {{1, -1, 1, 1}, "tensor boxes: found (1, -1, 1, 1) at [1, 0], expected finite y0 < y1 and x0 < x1"},
    {{-1, 2, 1, 1}, "tensor boxes: found (-1, 2, 1, 1) at [1, 0]"},
    {{-1, -1, NAN, 1}, "tensor boxes"},
    {{-1, -INFINITY, 1, 1}, "tensor boxes"},
    {{-INFINITY, -1, 1, 1}, "tensor boxes"},
    {{-1, -1, INFINITY, 1}, "tensor boxes"},
    {{-1, -1, 1, INFINITY}, "tensor boxes"},
    {{-1, -1, 1, 1}, NULL},
};
START_TEST(boxes_without_an_inside_are_refused)
{
    static const struct { const char *name; int axes; size_t size[4]; } fitting[] = {
        {"x", 3, {1, 4, 2}}, {"u4", 2, {2, 3}}, {"boxes", 3, {3, 1, 4}}, {"mix", 2, {3, 1}},
        {"phi_w1", 4, {2, 2, 3, 3}}, {"phi_b1", 1, {2}}, {"phi_w2", 2, {3, 2}}, {"phi_b2", 1, {3}},
        {"u5", 2, {2, 3}}, {"b", 1, {2}},
    };
    struct tensor list[COUNT(fitting)];
    struct tensors file = {COUNT(fitting), list};
    struct problem p;
    for (size_t f = 0; f < COUNT(fitting); f++) {
        succeeds(tensor_create(&list[f], fitting[f].name, fitting[f].axes, fitting[f].size));
        for (size_t i = 0; i < list[f].count; i++) list[f].data[i] = 1;
    }
    for (size_t i = 0; i < 12; i++)
        list[2].data[i] = (real)(i < 4 || i >= 8 ? (i % 4 < 2 ? -1 : 1) : bad_box[_i].box[i % 4]);
    succeeds(problem_create(&p, &chopd, 2, (const char *[]){"--grid", "2x2"}));
    if (bad_box[_i].text) refused(problem_bind(&p, &file), STATUS_BAD_INPUT, bad_box[_i].text);
    else succeeds(problem_bind(&p, &file));
    for (size_t f = 0; f < COUNT(fitting); f++) tensor_release(&list[f]);
}
END_TEST

/* ---- repeatable, separable, without memory --------------------------- */

/* Claim      The same plan, another plan, and a plan that has seen other tokens meanwhile give
 *            the same to the bit; a run writes y alone. */
START_TEST(layers_repeat_to_the_bit)
{
    struct trial t = ordinary(_i);
    promise_repeatable(&t);
}
END_TEST

/* Claim      Plans of one problem may be prepared, run and released by two threads at the same
 *            time. */
START_TEST(plans_of_the_layers_do_not_meet)
{
    struct trial t = ordinary(_i);
    promise_plans_apart(&t);
}
END_TEST

/* Claim      NaN in a token reaches all of its image, through every token's weight and through
 *            the gate, and no other image. */
START_TEST(nan_reaches_its_own_layer_alone)
{
    struct trial t = ordinary(_i);
    promise_images_apart(&t, 3, NULL, NULL);
}
END_TEST

/* Claim      All memory is taken by prepare, a run takes none, and whichever allocation fails,
 *            plan_create says so and leaves nothing behind. */
START_TEST(layers_survive_failed_allocations)
{
    struct trial t = ordinary(_i);
    promise_memory(&t);
}
END_TEST

/* Claim      Sizes whose product overflows are refused before anything is allocated by them. */
START_TEST(layers_refuse_sizes_that_overflow)
{
    struct problem factors = shaped("", &dfc_cp, 1, 40000, "M=40000 N=40000 D=40000 R=40000", "");
    struct problem pooled = shaped("--grid 20000x20000 --gate-size 1024", &chopd, 1, BY_ADDRESSES(40000, 8),
                                   BY_ADDRESSES("R=40000 G=40000 S=40000 D=40000", "R=20000 G=40000 S=40000 D=8"), "");
    promise_overflow(&factors);
    promise_overflow(&pooled);
}
END_TEST

/* Boxes of odd numbers of tokens, around the token. */
static const struct { size_t edge, h, w; } pooled[] = {{56, 1, 1}, {56, 3, 1}, {64, 1, 5}, {96, 3, 3}};

/* Claim      The means over boxes err as running sums along one axis do, and not as an integral
 *            image does, whose entries grow with the whole plane.
 * Paper      Chopping Formers, Sec. 2.3.   Chapter 4, "The fast form".
 * Measure    Root mean square of the error over the plane, in units of the mean; tokens in [1, 2),
 *            boxes on the grid.
 * Tolerance  A chance (roundoff.h) times sqrt(2 W^2 / (9 w^2) + H^2 / (9 h)) u.  A running sum of X
 *            tokens is rounded by X u / sqrt(3) of a token.  What lies between two edges of a
 *            row has the roundings of both ends, of what came before them the same: squares of
 *            2 X^2 / 3 over w^2 tokens; of a column h of them, Y^2 / 3 each, over h^2; and the mean
 *            of X^2 is W^2 / 3.
 * Would it fail?  Seen with T summed down the rows too, a plain integral image in float. */
START_TEST(pooling_errs_as_running_sums_do)
{
    size_t H = pooled[_i].edge, W = H, h = pooled[_i].h, w = pooled[_i].w, entries = 0;
    const real box[4] = {-(real)h / 2, -(real)w / 2, (real)h / 2, (real)w / 2}, one = 1;
    real *plane = uniform(1, H * W, 1, 2), *out = zeros(H * W);
    double squares = 0, mean = 0;
    struct room room = room_open(1);
    struct box_pool pool;
    box_pool_prepare(&pool, &room, H, W, 1, 1);
    succeeds(room_place(&room, NULL));
    box_pool_load(&pool, box, &one);
    box_pool_clear(&pool, &room, 0);
    box_pool_plane(&pool, 0, out, plane, NULL, &room, 0);
    for (size_t y = h / 2; y + h / 2 < H; y++)
        for (size_t x = w / 2; x + w / 2 < W; x++, entries++) {
            long double sum = 0;
            for (size_t dy = 0; dy < h; dy++)
                for (size_t dx = 0; dx < w; dx++) sum += (long double)plane[(y + dy - h / 2) * W + x + dx - w / 2];
            sum /= (long double)(h * w);
            squares += pow((double)((long double)out[y * W + x] - sum), 2);
            mean += (double)sum;
        }
    double along = (double)(W * W) / (double)(w * w), down = (double)(H * H) / (double)h;
    within("root mean square", sqrt(squares * (double)entries) / mean,
           chance(entries) * sqrt(2 * along / 9 + down / 9) * UNIT_ROUNDOFF);
    room_release(&room);
}
END_TEST

/* Claim      Drawn boxes lie around their token: their middles are normal with deviation 3 about it, half
 *            their sides 1/4 more than the size of such a number, so that none is shorter than half a token.
 * Tolerance  Five standard errors of a mean and of a variance from n normal draws z, and of a mean of |z|, which is
 *            sqrt(2 / pi), with the variance 1 - 2 / pi.
 * Would it fail?  Seen with 3 + x for 3 x, in a middle and in a side. */
START_TEST(drawn_boxes_lie_around_their_token)
{
    struct trial t = trial("--grid 3x3", &chopd, 1, 4, "D=4 R=512 G=2 S=2", "");
    const real *box = problem_tensor(&t.problem, "boxes");
    double n = 512 * 2, sum[2] = {0}, squares[2] = {0}, half[2] = {0};
    for (size_t b = 0; b < 1024; b++, box += 4)
        for (int a = 0; a < 2; a++) {
            double middle = ((double)box[a] + (double)box[a + 2]) / 2;
            ck_assert((double)box[a + 2] - (double)box[a] > 0.4999);
            half[a] += ((double)box[a + 2] - (double)box[a]) / 2;
            sum[a] += middle;
            squares[a] += middle * middle;
        }
    for (int a = 0; a < 2; a++) {
        within("mean of the middles", fabs(sum[a] / n), 5 * 3 / sqrt(n));
        within("variance of the middles, from 9", fabs(squares[a] / n - 9), 9 * 5 * sqrt(2 / n));
        within("mean of half a side", fabs(half[a] / n - 0.25 - 3 * 0.79788456), 5 * 3 * sqrt(0.36338023 / n));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, forms_of_the_layers_are_one_function, 0, (int)COUNT(size));
    tcase_add_loop_test(equality, pooling_errs_as_running_sums_do, 0, (int)COUNT(pooled));
    tcase_add_loop_test(equality, every_tensor_of_the_layers_counts, 0, KINDS);
    tcase_add_test(equality, boxes_may_be_as_small_as_numbers_are);
    tcase_add_test(equality, two_tokens_are_pooled_by_hand);
    tcase_add_test(equality, gelu_in_lanes_is_gelu);
    TCase *refusals = add_case(suite, "refused");
    tcase_add_loop_test(refusals, layers_refuse_wrong_options, 0, (int)COUNT(wrong));
    tcase_add_loop_test(refusals, boxes_without_an_inside_are_refused, 0, (int)COUNT(bad_box));
    tcase_add_test(refusals, drawn_boxes_lie_around_their_token);
    TCase *separate = add_case(suite, "repeatable and separable");
    tcase_add_loop_test(separate, layers_repeat_to_the_bit, 0, KINDS);
    tcase_add_loop_test(separate, plans_of_the_layers_do_not_meet, 0, KINDS);
    tcase_add_loop_test(separate, nan_reaches_its_own_layer_alone, 0, KINDS);
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, layers_survive_failed_allocations, 0, KINDS);
    tcase_add_test(memory, layers_refuse_sizes_that_overflow);
    return run_suite(suite);
}
