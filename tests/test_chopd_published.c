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

static double top1(const char *row)
{
    return published("chopd", "2", row, "top1");
}

static const char *const networks[] = {
    "CoAtNet-0", "Poolformer-S36", "ConvNext-T", "RSB-ResNet-50", "Swin-T", "GFNet-H-S", "gMLP-S", "Deit-S",
    "ChoP'D Former-S",
};
enum { OWN = 8 };               /* the paper's own row, the last */

/* Claim      The gains of the text are those of its tables: of DFC-CP over the better convolution, 2 and 1.1 points on
 *            ImageNet, 1.4 and 0.9 in boxes, 1.3 and 0.5 in masks; of ChoP'D Former-S over the best of Table 2, minus
 *            0.1, and over the better of DeiT-S and gMLP-S, 2.2.  Linear-CP has some 74 %, 30 and 29.
 * Paper      ChoP'D, Sec. 4, Tab. 1 and 2.
 * Tolerance  Zero, 1e-9 for decimals; half a unit for the last three, which the text rounds.
 * Would it fail?  Over the other convolution DFC-CP gains more than it is told to, in all six. */
START_TEST(gains_of_chopds_text_are_those_of_its_tables)
{
    static const char *const quantity[] = {"top1", "box", "mask"};
    char row[64];
    for (int s = 0; s < 2; s++)
        for (size_t q = 0; q < COUNT(quantity); q++) {
            double depthwise = of("Conv-CP, depth-wise", s, quantity[q]);
            double pooling = of("Conv-CP, pooling", s, quantity[q]);
            snprintf(row, sizeof row, "DFC-CP - Conv-CP, %s", size[s]);
            double told = published("chopd", "gains", row, quantity[q]), dfc = of("DFC-CP", s, quantity[q]);
            within(row, fabs(dfc - fmax(depthwise, pooling) - told), DECIMALS);
            beyond("    over the other", fabs(dfc - fmin(depthwise, pooling) - told), DECIMALS);
        }
    for (size_t q = 0; q < COUNT(quantity); q++)
        ck_assert(prints(of("Linear-CP", 0, quantity[q]),
                         published("chopd", "gains", "Linear-CP, 15 M", quantity[q]), 1));

    double best = 0, own = top1(networks[OWN]);
    for (size_t k = 0; k < OWN; k++) best = fmax(best, top1(networks[k]));
    within("over the best", fabs(own - best - published("chopd", "gains", "ChoP'D Former-S - best", "top1")), DECIMALS);
    within("over other Formers", fabs(own - fmax(top1("Deit-S"), top1("gMLP-S"))
                                      - published("chopd", "gains", "ChoP'D Former-S - Former", "top1")), DECIMALS);
}
END_TEST

/* Claim      The variants stand in the same order in all tasks and both sizes: DFC-CP, depth-wise, pooling, Linear-CP.
 *            FC-CP is between the first and the last, and nowhere more than 0.1 above the depth-wise convolution.
 *            ChoP'D Former-S is second in Table 2, all of whose networks take 4 to 5 G, and is DFC-CP of 28 M.
 * Paper      ChoP'D, Sec. 4, Tab. 1 and 2.
 * Measure    Inequalities between published numbers: ten quantities, of which FC-CP has four.
 * Tolerance  None: printed numbers are compared; 1e-9 for a difference. */
START_TEST(orders_of_chopds_text_are_those_of_its_tables)
{
    static const char *const quantity[] = {
        "top1", "top5", "v2", "real", "box", "box50", "box75", "mask", "mask50", "mask75",
    };
    enum { CLASSIFICATION = 4 };
    for (int s = 0; s < 2; s++)
        for (size_t q = 0; q < COUNT(quantity); q++) {
            double dfc = of("DFC-CP", s, quantity[q]), depthwise = of("Conv-CP, depth-wise", s, quantity[q]);
            double pooling = of("Conv-CP, pooling", s, quantity[q]), linear = of("Linear-CP", s, quantity[q]);
            ck_assert_msg(dfc > depthwise && depthwise > pooling && pooling > linear, "%s, %s", size[s], quantity[q]);
            if (q >= CLASSIFICATION) continue;
            double fixed = of("FC-CP", s, quantity[q]);
            ck_assert_msg(dfc > fixed && fixed > linear, "FC-CP, %s, %s", size[s], quantity[q]);
            ck_assert(fixed - depthwise <= 0.1 + DECIMALS);
        }

    size_t ahead = 0;
    for (size_t k = 0; k < COUNT(networks); k++) {
        double flops = published("chopd", "2", networks[k], "flops");
        ahead += top1(networks[k]) > top1(networks[OWN]);
        ck_assert_msg(flops >= 4.1 && flops <= 5.0, "%s", networks[k]);
    }
    ck_assert_uint_eq(ahead, 1);
    static const char *const same[] = {"parameters", "flops", "top1"};
    for (size_t q = 0; q < COUNT(same); q++)
        ck_assert(of("DFC-CP", 1, same[q]) == published("chopd", "2", networks[OWN], same[q]));
}
END_TEST

/* Claim      ChoP'D costs more than a point-wise convolution and less than one of 3 x 3: with as many components as
 *            channels some twice the former and a quarter of the latter.
 * Paper      ChoP'D, Sec. 1 and 2.3: comparable to a convolution with a small kernel.
 * Measure    Multiply-adds of fast chopd less phi's, for a token, over C^2; C = D = R, G boxes, 56 x 56 and 14 x 14
 *            tokens, phi of 4 x 4 cells, whose spreading along the rows (s W R) is taken off as well.
 * Tolerance  Zero against C (2 C + 6 G + 2) / C^2; 0.0005 against the decimals here.
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
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, published numbers");
    TCase *tables = add_case(suite, "tables");
    tcase_add_test(tables, gains_of_chopds_text_are_those_of_its_tables);
    tcase_add_test(tables, orders_of_chopds_text_are_those_of_its_tables);
    tcase_add_loop_test(tables, chopd_costs_between_one_tap_and_nine, 0, 4);
    return run_suite(suite);
}
