/* test_ladder.c -- the ladder of figures/ladders: every step computes self-attention and costs what its formula says
 *
 * test_properties.c does not find these steps, since they are in no list of forms. */

#include "../support/properties.h"
#include "../support/roundoff.h"
#include "../support/tsv.h"
#include "../../figures/ladders/steps.h"
#include "../../reference/msa.h"

/* A step in the counting build (counting.cc). */
const struct form *counted_step(int at);

/* Grids of one token, a line, a plane, a block; channels and queries fewer and more than a vector, a tile or a block
 * has. */
static const struct {
    const char *options;
    size_t batch, channels;
    const char *without;
} size[] = {
    {"--grid 1", 1, 1, "rpe"},
    {"--grid 7 --heads 3", 2, 6, "rpe"},
    {"--grid 1x5 --scale 0.3", 3, 3, "rpe b_qkv"},
    {"--grid 13x7 --heads 2", 2, 34, "rpe w_o"},
    {"--grid 2x3x4 --heads 2", 2, 8, "rpe b_o"},
    {"--grid 8x8", 1, 16, "rpe w_o b_qkv"},
    {"--grid 14x14 --heads 2", 1, 70, "rpe"},
};

static struct fixture drawn(int n)
{
    return fixture(size[n].options, &msa, size[n].batch, size[n].channels, "", size[n].without);
}

static const struct form *step_at(const struct declaration *d, int at)
{
    (void)d;
    return msa_steps[at].idea ? &msa_steps[at].form : NULL;
}

/* LiSA, Eq. 1-3. Values larger by a thousandth must be noticed. */
TESTS(every_step_is_the_equation, COUNT(size))
{
    struct fixture t = drawn(_i);
    t.form_at = step_at;
    property_one_function(&t, size[_i].options, property_tolerance(&t.problem));

    /* Larger value rows of w_qkv. */
    real *w = fixture_tensor(&t, "w_qkv");
    size_t values = problem_size(&t.problem, "C") * problem_size(&t.problem, "C");
    for (size_t i = 0; i < values; i++) w[2 * values + i] *= (real)1.001;
    for (int r = 0; msa_steps[r].idea; r++) {
        real *y = run_form(&t.problem, &msa_steps[r].form, 1, t.x);
        beyond("values a thousandth larger, root mean square", mean_error(y, t.exact, t.outputs),
               statistical_bound(&t.problem, t.sensitivity, &msa_steps[r].form, NULL));
    }
}

/* Two or three threads change no bit either. */
TEST(steps_have_the_properties_of_forms)
{
    const struct form *step;
    struct fixture t = fixture("--grid 5x12 --heads 3", &msa, 2, 9, "", "rpe");
    t.form_at = step_at;
    property_nan_is_seen(&t);
    property_repeatable(&t);
    property_memory(&t);
    for (int at = 0; (step = step_at(t.problem.declaration, at)); at++)
        for (int threads = 2; threads <= 3; threads++)
            equal(run_form(&t.problem, step, threads, t.x), run_form(&t.problem, step, 1, t.x), t.outputs);
}

/* Embeddings, windows, a ghost head. */
static const struct { const char *options, *without; } unknown[] = {
    {"--grid 4x4", ""}, {"--grid 4x4 --window 2", "rpe"}, {"--grid 4x4 --lambda 1", "rpe"},
};
TESTS(the_ladder_rejects_what_it_does_not_know, COUNT(unknown))
{
    struct problem p = shaped(unknown[_i].options, &msa, 1, 4, "", unknown[_i].without);
    for (int r = 0; msa_steps[r].idea; r++) {
        struct plan plan;
        rejected(plan_prepare(&plan, &p, &msa_steps[r].form, 1), STATUS_BAD_INPUT, "the ladder is of");
    }
}

/* Multiplications of a run in the counting build, whose vectors have four lanes, against the formula less the
 * projections. */
TESTS(steps_multiply_as_their_formulas_say, COUNT(size))
{
    struct fixture t = drawn(_i);
    char line[160];
    t.y = fixture_run(&t, "naive", 1);
    for (int r = 0; msa_steps[r].idea; r++) {
        const struct form *step = counted_step(r);
        struct plan plan;
        real *y = zeros(t.outputs);
        succeeds(plan_create(&plan, &t.problem, step, 1));
        multiplications();
        succeeds(plan_run(&plan, y, t.x));
        double counted = (double)multiplications(), formula = fixture_cores(&t, step);
        plan_release(&plan);
        printf("    %-10s %12.0f multiplications\n", step->name, counted);
        ck_assert_msg(counted == formula, "%s %s: counted %.0f, by formula %.0f", size[_i].options, step->name, counted,
                      formula);
        snprintf(line, sizeof line, "%s, %s", size[_i].options, step->name);
        within(line, relative_difference(y, t.y, t.outputs), property_tolerance(&t.problem));
    }
}

#if !defined TWICETOLD_DOUBLE
/* Multiply-adds and bytes in figures/ladders/ladder-msa.tsv, on the table's layer.  Checks the first steps, which have
 * no vectors. */
TEST(ladder_figures_are_those_of_the_formulas)
{
    enum { STEPS = 3 };
    struct problem p = shaped("--grid 56x56", &msa, 1, 64, "", "rpe b_qkv w_o b_o");
    char of[PROBLEM_RESOLVED];
    int r = 0;
    succeeds(msa.resolve(of, &p));
    for (struct tsv *t = tsv_open("figures/ladders/ladder-msa.tsv"); tsv_row(t);) {
        const struct form *step = &msa_steps[r].form;
        if (r == STEPS || strcmp(tsv_cell(t, "step"), step->name)) continue;
        const struct traffic bytes = msa_traffic(of, r++);
        ck_assert(tsv_number(t, "multiply_adds") == nearbyint(form_multiply_adds(step, &p)));
        ck_assert(tsv_number(t, "asked_bytes") == nearbyint(bytes.asked));
        ck_assert(tsv_number(t, "moved_bytes") == nearbyint(bytes.moved));
    }
    ck_assert_int_eq(r, STEPS);
}
#endif

int main(void) { return run_tests("ladder"); }
