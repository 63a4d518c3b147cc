/* test_hilo_scores.c -- scores whose exponentials are no numbers, in HiLo and in what it is measured against */

#include "hilo_case.h"
#include "../../reference/msa.h"
#include "../../reference/sra.h"

/* Windows by lanes and by tiles, Lo-Fi, pooled queries; and the others. */
static const struct { const char *options; const struct declaration *d; const char *without; } size[] = {
    {"--grid 6x8 --heads 3 --alpha 0", &hilo, ""},
    {"--grid 6x8 --heads 3 --alpha 0 --window 7", &hilo, ""},
    {"--grid 6x8 --heads 3 --alpha 1", &hilo, ""},
    {"--grid 6x8 --heads 3 --alpha 1 --pooled-queries", &hilo, ""},
    {"--grid 6x8 --heads 3", &msa, "rpe"},
    {"--grid 6x8 --heads 3 --window 2", &msa, "rpe"},
    {"--grid 6x8 --heads 3 --scale 1600", &sra, ""},
};

/* Both forms subtract the largest score: exponentials of 710 overflow in double, of 89 in float. x is 64 times as
 * large, so scores 4096 times, as is SRA's scale, whose norm removes the size of x. Tolerance: 4096 times HiLo's. */
START_TEST(large_scores_are_no_trouble)
{
    struct trial t = trial(size[_i].options, size[_i].d, 2, 12, "", size[_i].without);
    real *x = copy(t.x, t.inputs);
    for (size_t i = 0; i < t.inputs; i++) x[i] *= 64;
    struct hilo_problem z = sizes_of("--grid 6x8 --heads 3 --window 7", 2, 12);
    double terms = 4 * sqrt((double)z.C) + sqrt((double)z.c) + 2 * sqrt((double)z.M) + (double)z.s + 10;
    const real *y = trial_run_on(&t, "naive", 1, x);
    for (int threads = 1; threads <= 2; threads++)
        within(size[_i].options, relative_difference(trial_run_on(&t, "fast", threads, x), y, t.outputs),
               4096 * 8 * terms * UNIT_ROUNDOFF);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiLo, large scores");
    TCase *scores = add_case(suite, "scores");
    tcase_add_loop_test(scores, large_scores_are_no_trouble, 0, (int)COUNT(size));
    return run_suite(suite);
}
