/* test_cuda_properties.c -- properties of every version of every kernel, on the emulator, over the cases of cases.h */

#include "../support/cases.h"
#include "../support/properties.h"
#include "../../fast/cuda/counts.h"
#include "../../fast/cuda/versions.h"
#include "../../reference/runtime/random.h"

/* A version is within the tolerance of the naive form, propagates NaN and keeps images separate.  Its bits do not
 * depend on the order of threads; after a load of other parameters they equal those of a new plan. */
static void check_version(const struct fixture *t, const struct form *version, double tolerance)
{
    size_t B = problem_size(&t->problem, "B"), in = t->inputs / B, out = t->outputs / B;
    size_t entry = (size_t)(random_bits(3, 0, 0) % in);
    real *naive = fixture_run(t, "naive", 1), *moved = copy(t->x, t->inputs), *touched = copy(t->x, t->inputs);
    real *y = run_form(&t->problem, version, 1, t->x), *again = zeros(t->outputs);
    struct plan plan;

    within(version->name, relative_difference(y, naive, t->outputs), tolerance);

    /* NaN in the first image reaches all outputs that depend on that entry, and no other image. */
    moved[entry] += 1;
    touched[entry] = (real)NAN;
    real *naive_moved = fixture_run_on(t, "naive", 1, moved);
    succeeds(plan_create(&plan, &t->problem, version, 1));
    succeeds(plan_run(&plan, again, touched));
    for (size_t i = 0; i < t->outputs; i++) {
        bool moves = fabs((double)naive[i] - (double)naive_moved[i]) > tolerance * largest(naive, t->outputs);
        ck_assert_msg(!moves || isnan((double)again[i]), "%s: entry %zu hides NaN", version->name, i);
        ck_assert_msg(i < out || same_bits(y + i, again + i, 1), "%s: entry %zu", version->name, i);
    }

    emulator_watch(false, 2);
    succeeds(plan_run(&plan, again, t->x));
    emulator_watch(false, 0);
    ck_assert_msg(same_bits(again, y, t->outputs), "%s: another order of the threads, other bits", version->name);

    real *before = parameters_of(&t->problem);
    set_parameters(&t->problem, before, (real)0.75);
    succeeds(plan_load(&plan));
    succeeds(plan_run(&plan, again, t->x));
    plan_release(&plan);
    ck_assert_msg(same_bits(again, run_form(&t->problem, version, 1, t->x), t->outputs), "%s: loaded again",
                  version->name);
    unequal(again, y, t->outputs);
    set_parameters(&t->problem, before, 1);
}

/* The case on fewer tokens, since emulation is slow. */
static struct operator_case smaller(struct operator_case one)
{
    static const char *const wide[] = {"--grid 6x12", "--grid 3x4x5"}, *const narrow[] = {"--grid 6x6", "--grid 3x1x3"};
    for (size_t n = 0; n < COUNT(wide); n++) {
        char *at = strstr(one.options, wide[n]), rest[sizeof one.options];
        if (!at) continue;
        strcpy(rest, at + strlen(wide[n]));
        snprintf(at, sizeof one.options - (size_t)(at - one.options), "%s%s", narrow[n], rest);
    }
    return one;
}

TESTS(kernel_versions_have_the_properties_of_forms, plain_count)
{
    struct operator_case one = smaller(cases[_i]);
    const struct form *version;
    struct fixture t;
    if (!operator_version_at(one.declaration, 0) || !case_fixture(&t, &one)) return;
    bool first = _i == 0 || cases[_i - 1].declaration != one.declaration;
    for (int at = 0; (version = operator_version_at(one.declaration, at)); at++) {
        check_version(&t, version, version_tolerance(&t.problem, version));
        if (first) form_without_memory(&t, version);
    }
}

int main(void)
{
    enumerate_cases(operator_at);
    return run_tests("cuda properties");
}
