/* test_chopd_published.c -- what ChoP'D's text tells of its own tables, and what shapes tell of its costs
 *
 * Printed numbers are read from reference/published/chopd.tsv; a printed number
 * stands for half a unit of its last digit to either side. */

#include "published.h"
#include "trial.h"
#include "../reference/chopd.h"

/* A difference of printed decimals, which are whole tenths, keeps this much. */
#define DECIMALS 1e-9

static const char *const size[] = {"15 M", "28 M"};

/* Table 1: a variant of so many parameters. */
static double of(const char *variant, int which, const char *quantity)
{
    char row[64];
    snprintf(row, sizeof row, "%s, %s", variant, size[which]);
    return published("chopd", "1", row, quantity);
}

/* Claim      The "performance progression ... is consistent across tasks and architecture sizes".
 * Paper      ChoP'D, Sec. 4, Tab. 1.           Left open.  DFC-CP, depth-wise convolution, pooling and Linear-CP stand
 *            in this order in ten quantities and both sizes.  FC-CP has four quantities.  In top-1 it is between both
 *            convolutions in either size, at 15 M equal to pooling; but in top-5 and on ImageNet-V2 it is below both
 *            at 15 M, and at 28 M above pooling, in top-5 above both.
 * Measure    FC-CP less pooling and less the depth-wise convolution: top-1, top-5, ImageNet-V2, ReaL.
 * Tolerance  1e-9, for decimals in binary. */
START_TEST(fc_cp_has_no_constant_place_among_the_variants)
{
    static const char *const quantity[] = {
        "top1", "top5", "v2", "real", "box", "box50", "box75", "mask", "mask50", "mask75",
    };
    static const double over_pooling[2][4] = {{0, -0.8, -0.5, 0.2}, {0.1, 0.2, 0.3, 0.2}};
    static const double over_depthwise[2][4] = {{-0.4, -1.2, -1.1, -0.2}, {-0.2, 0.1, -0.1, 0}};
    for (int s = 0; s < 2; s++)
        for (size_t q = 0; q < COUNT(quantity); q++) {
            double dfc = of("DFC-CP", s, quantity[q]), depthwise = of("Conv-CP, depth-wise", s, quantity[q]);
            double pooling = of("Conv-CP, pooling", s, quantity[q]), linear = of("Linear-CP", s, quantity[q]);
            ck_assert_msg(dfc > depthwise && depthwise > pooling && pooling > linear, "%s, %s", size[s], quantity[q]);
            if (q >= COUNT(over_pooling[s])) continue;
            double fixed = of("FC-CP", s, quantity[q]);
            within(quantity[q], fabs(fixed - pooling - over_pooling[s][q]), DECIMALS);
            within(quantity[q], fabs(fixed - depthwise - over_depthwise[s][q]), DECIMALS);
        }
}
END_TEST

/* Claim      ChoP'D costs more than a point-wise convolution and less than one of 3 x 3: with as many components as
 *            channels some twice the former and a quarter of the latter.
 * Paper      ChoP'D, Sec. 1 and 2.3: comparable to a convolution with a small kernel.
 * Measure    Multiply-adds of fast chopd less phi's, for a token, over C^2; C = D = R, G boxes, 56 x 56 and 14 x 14
 *            tokens, phi of 4 x 4 cells, whose spreading along the rows (s W R) is taken off as well.  With phi
 *            and all, of the default 7 x 7 cells and C/8 channels, on 7 x 7 tokens, where it costs most: 3.3 C^2.
 * Tolerance  Zero against C (2 C + 6 G + 2) / C^2; 0.0005 against the decimals here; 0.005 against 3.3.
 * Would it fail?  Boxes of 15 x 15 tokens summed one by one take 225 G products for a component: with four of them
 *            11 and 16 C^2 at 96 and 64 channels. */
START_TEST(chopd_costs_between_one_tap_and_nine)
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, published numbers");
    TCase *tables = add_case(suite, "tables");
    tcase_add_test(tables, fc_cp_has_no_constant_place_among_the_variants);
    tcase_add_loop_test(tables, chopd_costs_between_one_tap_and_nine, 0, 4);
    return run_suite(suite);
}
