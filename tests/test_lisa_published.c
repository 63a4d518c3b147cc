/* test_lisa_published.c -- what LiSA's paper says of stages, windows and pooled keys
 *
 * Its printed parameters and FLOPs are compared in test_networks_published.c. */

#include <stdio.h>
#include "lisa_case.h"
#include "../reference/hilo.h"
#include "../reference/msa.h"
#include "../reference/networks/network.h"

/* App. A.1 says of early stages that "the token size is larger": it is smaller, and tokens are more. */
START_TEST(early_stages_have_more_tokens)
{
    static const char *const name[] = {"lisanet-h-t", "lisanet-h-s", "lisanet-h-b"};
    for (size_t m = 0; m < COUNT(name); m++) {
        struct network_request request = {.grid = "224x224"};
        const struct network_table *table;
        struct network n;
        succeeds(network_named(&table, name[m]));
        succeeds(network_create(&n, table, &request));
        for (int s = 0; s < 4; s++) {
            size_t shape[3];
            network_stage_shape(&n, s, shape);
            ck_assert_uint_eq(shape[1], (size_t)3136 >> 2 * s);
            ck_assert_uint_eq(shape[2], n.stage[0].width << s);
            ck_assert_uint_eq(n.stage[s].width, 16 * n.stage[s].heads);
        }
        network_release(&n);
    }
}
END_TEST

/* Multiply-adds without the projections of self-attention, or of attention to keys and values pooled by 2 x 2. */
static double attention_products(const char *options)
{
    struct problem p = shaped(options, &msa, 1, 96, "", "rpe b_qkv w_o b_o");
    return form_multiply_adds(operator_form(&msa, "naive"), &p) - projections_multiply_adds(&p);
}

static double pooled_products(const char *options)
{
    struct problem p = shaped(options, &hilo, 1, 96, "", "l_q_b l_kv_b l_proj_b");
    double N = (double)problem_size(&p, "N");
    return form_multiply_adds(operator_form(&hilo, "fast"), &p) - 2.5 * N * 96 * 96;
}

/* Sec. 5.2 and Fig. 4: attention in four windows, or to pooled keys, multiplies a quarter and stays quadratic.
 * Windows of 4 x 4 on either grid are linear. */
START_TEST(windows_and_pooling_take_a_quarter_of_the_products)
{
    double eight = attention_products("--grid 8x8"), sixteen = attention_products("--grid 16x16");
    double windows = attention_products("--grid 8x8 --window 4");
    ck_assert(eight > 0 && sixteen == 16 * eight);
    ck_assert(windows == eight / 4 && attention_products("--grid 16x16 --window 8") == sixteen / 4);
    ck_assert(attention_products("--grid 16x16 --window 4") == 4 * windows);
    ck_assert(pooled_products("--grid 8x8 --alpha 1 --window 2") == 2.0 * 64 * 64 / 4 * 96);
    ck_assert(pooled_products("--grid 16x16 --alpha 1 --window 2") == 2.0 * 256 * 256 / 4 * 96);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("LiSA, printed costs");
    TCase *costs = add_case(suite, "costs");
    tcase_add_test(costs, early_stages_have_more_tokens);
    tcase_add_test(costs, windows_and_pooling_take_a_quarter_of_the_products);
    return run_suite(suite);
}
