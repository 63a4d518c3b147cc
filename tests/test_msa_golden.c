/* test_msa_golden.c -- self-attention beside PyTorch's: whole grids, windows, shifted
 * windows, and the ghost head */

#include <math.h>
#include "golden.h"
#include "roundoff.h"
#include "support.h"
#include "../reference/msa.h"

static const char *const golden[] = {
    "msa_plain_line", "msa_plain_block", "msa_windows", "msa_shifted", "msa_shifted_wide", "msa_shifted_whole",
    "msa_shifted_swin", "msa_shifted_rows", "msa_ghost", "msa_ghost_line", "msa_ghost_added",
    "msa_public", "msa_public_shift",
};

/* Claim      The forms compute what PyTorch does: whole grids, windows, windows of a plane
 *            that is rolled, masked across the seams and rolled back, and a ghost head.  In the cases
 *            msa_public the bias comes from a table of Swin's public layout, by query minus key, and the
 *            forms read it as rename.py converts it.
 * Paper      Vaswani et al. 2017; Liu et al. 2021; ELSA, App. C; each written once more in
 *            float64 (tests/pytorch/msa.py).
 * Measure    The largest |form - y_expected| over the largest y_expected; root mean square
 *            of the error over that of y.
 * Tolerance  The latter: roundoff.h.  The former: that of test_msa.c, 8 (sqrt c +
 *            2 sqrt n + 10) u for n keys of a query, and sqrt C
 *            roundings each for both projections, which PyTorch makes by itself; they
 *            reach y by way of the scores, which are less than 12 here, as well.
 * Would it fail?  golden_holds lets one token stand in another's place. */
START_TEST(golden_vectors_of_self_attention)
{
    struct golden g;
    golden_open(&g, &msa, golden[_i]);
    struct msa_problem m;
    succeeds(msa.resolve(&m, &g.problem));
    double c = (double)m.c, C = (double)m.heads.C, keys = (double)m.windows.entries;
    golden_holds(&g, golden[_i], 8 * (sqrt(c) + 2 * sqrt(keys) + 10 + 12 * sqrt(C)) * UNIT_ROUNDOFF);
    golden_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("msa, golden vectors");
    TCase *told = add_case(suite, "golden vectors");
    tcase_add_loop_test(told, golden_vectors_of_self_attention, 0, (int)COUNT(golden));
    return run_suite(suite);
}
