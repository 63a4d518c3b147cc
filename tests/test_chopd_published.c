/* test_chopd_published.c -- what ChoP'D's paper says of its cost
 *
 * Printed parameters and FLOPs are compared in test_networks_published.c. */

#include <math.h>
#include <stdio.h>
#include "support.h"
#include "trial.h"
#include "../reference/chopd.h"

/* Sec. 1 and 2.3: the cost is comparable to a convolution with a small kernel.  C = D = R, G boxes: between one tap and
 * nine, without phi and the spreading of its 4 x 4 cells along the rows (s W R).  With phi and all, 3.3 C^2 at most.
 * Tolerance: zero against the formula; half of the last digit of the decimals. */
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
    Suite *suite = suite_create("ChoP'D, printed costs");
    tcase_add_loop_test(add_case(suite, "costs"), chopd_costs_between_one_tap_and_nine, 0, 4);
    return run_suite(suite);
}
