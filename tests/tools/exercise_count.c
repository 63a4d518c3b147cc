/* exercise_count.c -- prints the multiplications of an exercise's solution, and those of its formula
 *
 *     exercise_count OPERATOR CHANNELS SIZES OPTIONS FORM     lisa 8 D=3 "--grid 5x4 --heads 2" naive
 *
 * Runs the counting build (counting.h) of the naive or plain form on one image.  exercise.py links it with the
 * solution.  It is a suite of one test, since fixture() needs Check. */

#include "../chopd/chopd_case.h"
#include "../hilo/hilo_case.h"

static char **word;

/* The formula without projections, which BLAS computes, and without the gate of ChoP'D. */
static double stated(const struct fixture *t)
{
    const struct form *form = operator_form(t->problem.declaration, word[5]);
    if (t->problem.declaration == &dfc_cp) return form_multiply_adds(form, &t->problem);
    if (t->problem.declaration == &hilo) {
        const struct hilo_problem p = resolved(&t->problem);
        return form_multiply_adds(form, &t->problem) - hilo_projections(&p, p.M);
    }
    if (t->problem.declaration == &chopd) {
        const struct chopd_problem p = chopd_of(&t->problem);
        return form_multiply_adds(form, &t->problem) - (double)p.B * chopd_gate_multiply_adds(&p);
    }
    return fixture_cores(t, form);
}

START_TEST(multiplications_of_a_solution)
{
    const struct declaration *d = operator_find(word[1]);
    struct fixture t = fixture(word[4], d, 1, strtoul(word[2], NULL, 10), word[3], "");
    multiplications();
    run_form(&t.problem, counted_form(d, word[5]), 1, t.x);
    printf("%llu %.0f\n", multiplications(), stated(&t));
}
END_TEST

int main(int count, char **words)
{
    if (count != 6 || !operator_find(words[1])) return 2;
    word = words;
    Suite *suite = suite_create("the cost of a solution");
    tcase_add_test(add_case(suite, "counted"), multiplications_of_a_solution);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
