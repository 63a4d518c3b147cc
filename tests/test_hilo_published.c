/* test_hilo_published.c -- what HiLo's paper says of the cost of its branches
 *
 * Its printed parameters and FLOPs are compared in test_networks_published.c. */

#include <stdio.h>
#include "hilo_case.h"
#include "../reference/msa.h"

/* Sec. 4.1, "doubling heads results in more computational cost", of the layer of Table 10. */
START_TEST(doubled_heads_cost_more_than_self_attention)
{
    const char *const plane = "--grid 14x14 --heads 12";
    struct problem high = bare("--grid 14x14 --heads 12 --alpha 0", &hilo, 768);
    struct problem low = bare("--grid 14x14 --heads 12 --alpha 1", &hilo, 768);
    struct problem both = bare("--grid 14x14 --heads 12 --alpha 0.9", &hilo, 768), all = bare(plane, &msa, 768);
    double hifi = multiply_adds_of(&high), lofi = multiply_adds_of(&low), attention = multiply_adds_of(&all);
    ck_assert(hifi + lofi > attention && hifi < attention && lofi < attention);
    ck_assert(multiply_adds_of(&both) < attention);
}
END_TEST

/* Sec. 4.1, "each attention has a lower complexity than a standard MSA"; half of the heads in each branch.
 * Both branches, less Lo-Fi's count by Eq. 10 to 12, is Hi-Fi's. */
START_TEST(either_branch_costs_less_than_self_attention)
{
    static const size_t channels[] = {24, 384, 768}, window[] = {2, 3, 4, 7}, windows[] = {2, 4, 8};
    for (size_t c = 0; c < COUNT(channels); c++)
        for (size_t w = 0; w < COUNT(window); w++)
            for (size_t n = 0; n < COUNT(windows); n++) {
                size_t edge = window[w] * windows[n];
                double N = (double)(edge * edge), D = (double)channels[c], s = (double)window[w];
                double low = (0.75 + 1 / (s * s)) * N * D * D + N * N * D / (s * s);
                char plane[40], options[100];
                snprintf(plane, sizeof plane, "--grid %zux%zu --heads 2", edge, edge);
                snprintf(options, sizeof options, "%s --alpha 0.5 --window %zu", plane, window[w]);
                struct problem p = bare(options, &hilo, channels[c]), plain = bare(plane, &msa, channels[c]);
                double both = multiply_adds_of(&p), all = multiply_adds_of(&plain);
                ck_assert(all == 4 * N * D * D + 2 * N * N * D);
                ck_assert(both < all && low > 0 && low < all && both - low > 0 && both - low < all);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiLo, printed costs");
    TCase *branches = add_case(suite, "branches");
    tcase_add_test(branches, doubled_heads_cost_more_than_self_attention);
    tcase_add_test(branches, either_branch_costs_less_than_self_attention);
    return run_suite(suite);
}
