/* test_exact.cc -- all forms of an operator are one rational function: equality without tolerance
 *
 * The cases are those of test_properties.c, with x and parameters uniform over the field; boxes are dyadic rationals,
 * since forms compare their edges.  Two different rational functions whose degrees add up to d agree at a random
 * point with probability at most d / P (Schwartz 1980, Zippel 1979); exp of two such arguments, with at most d / Q. */

#include "exact.h"
#include "../support/cases.h"
#include "../support/support.h"

static void compare(struct degrees *seen, struct problem *p, uint64_t draw)
{
    field_seed = draw;
    degrees_begin();
    real *x = exact_draw(p), *naive = exact_run(p, operator_form_at(p->declaration, 0), 1, x);
    size_t outputs = problem_output_count(p);
    const struct form *form;
    for (int f = 1; (form = operator_form_at(p->declaration, f)); f++) {
        real *y = exact_run(p, form, draw % 2 ? 1 : 2, x);
        size_t differ = 0, at = 0;
        for (size_t n = outputs; n-- > 0;)
            if (y[n] != naive[n]) differ++, at = n;
        ck_assert_msg(!differ, "%s, draw %lu: %zu of %zu entries differ, the first at %zu", form->name,
                      (unsigned long)draw, differ, outputs, at);
        degrees_record(seen, y, naive, outputs);
    }
}

/* One thread in odd draws, two in even ones. */
TESTS(forms_are_one_rational_function, case_count)
{
    const struct operator_case *c = &cases[_i];
    struct problem p;
    struct degrees seen = {0, 0, 0};
    clock_t start = clock();
    status s = case_shape(&p, c);
    if (c->chosen && s.code == STATUS_BAD_INPUT) return;
    succeeds(s);
    for (uint64_t draw = 1; draw <= (uint64_t)exact_draws(); draw++) compare(&seen, &p, draw);
    printf("    equal in %d draws; x %zu, parameters %zu, y %zu", exact_draws(), problem_input_count(&p),
           problem_parameters(&p), problem_output_count(&p));
    degrees_print(&seen, start);
}

int main(void)
{
    exact_begin();
    enumerate_cases(operator_at);
    return exact_tests("forms");
}
