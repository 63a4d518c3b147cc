/* test_chopd_golden.c -- the layers of chapter 4 against PyTorch */

#include "chopd_case.h"
#include "golden.h"

/* All answers here are chains of sums.  A sum of n terms has a rounding error of
 * about sqrt(n) u (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, lambda = 8),
 * against a largest entry of y of about 1: factors are drawn so that every sum
 * has a deviation of about 1. */
static double bound(double sums) { return 8 * (sums + 4) * UNIT_ROUNDOFF; }

struct golden_case { const struct declaration *operator; const char *name; };
static const struct golden_case golden[] = {
    {&fc, "fc_square"}, {&fc, "fc_oblong"}, {&fc, "fc_one"},
    {&dfc_cp, "dfc-cp_gelu"}, {&dfc_cp, "dfc-cp_none"}, {&dfc_cp, "dfc-cp_term"},
    {&chopd, "chopd_plane"}, {&chopd, "chopd_edges"}, {&chopd, "chopd_narrow"}, {&chopd, "chopd_outside"},
    {&chopd, "chopd_small_grid"}, {&chopd, "chopd_one_cell"}, {&chopd, "chopd_line"}, {&chopd, "chopd_wide"},
};

/* What is summed on the way to y, root by root: in fc M C products; in dfc-cp M
 * C of them in R components, each term with four factors; in chopd C for a
 * component, then a box of running sums as long as the axes, G boxes, R
 * components, and the gate's 9 C and S (its error is damped by the logistic
 * function and counts once more). */
static double tolerance(const struct problem *p)
{
    double terms = sqrt((double)(problem_size(p, "M") * problem_size(p, "C")));
    if (p->declaration == &fc) return bound(terms);
    if (p->declaration == &dfc_cp) return bound(terms + sqrt((double)problem_size(p, "R")) + 4);
    struct chopd_problem s = chopd_of(p);
    double gate = sqrt(9 * (double)s.C) + sqrt((double)s.S);
    return bound(sqrt((double)s.C) + (double)(s.H + s.W) + sqrt((double)s.G) + sqrt((double)s.R) + gate);
}

/* Claim      Both forms of fc, dfc-cp and chopd compute what Eq. 2, Eq. 5 into Eq. 3, and
 *            Eq. 10 say, told again in PyTorch in float64 (tests/pytorch/chopd.py): grids of odd
 *            sizes and smaller than the gate's map, maps of 1, 3 and 7 cells; boxes of whole
 *            tokens, with edges inside tokens, narrower than a token, partly and wholly off the
 *            grid and larger than it; both activations.
 * Paper      Chopping Formers, Eq. 2, 3, 5, 8-10.
 * Measure    Largest |form - y_expected| over the largest |y_expected|.
 * Tolerance  Above.
 * Would it fail?  golden.h lets one token stand in another's place. */
START_TEST(golden_vectors_of_chapter_4)
{
    struct golden g;
    golden_open(&g, golden[_i].operator, golden[_i].name);
    golden_holds(&g, golden[_i].name, tolerance(&g.problem));
    golden_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chapter 4, golden");
    TCase *told = add_case(suite, "golden vectors");
    tcase_add_loop_test(told, golden_vectors_of_chapter_4, 0, (int)COUNT(golden));
    return run_suite(suite);
}
