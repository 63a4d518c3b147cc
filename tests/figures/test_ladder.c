/* test_ladder.c -- both ladders of figures/ladders: every step computes its operator and costs what its formula says
 *
 * test_properties.c does not find these steps, since they are in no list of forms. */

#include "../support/properties.h"
#include "../support/roundoff.h"
#include "../support/tsv.h"
#include "../../figures/ladders/steps.h"
#include "../../reference/lisa.h"
#include "../../reference/msa.h"

/* A step in the counting build (counting.cc). */
const struct form *counted_step(const struct declaration *d, int at);

static const struct ladder *const ladders[] = {&msa_ladder, &lisa_ladder};

/* Grids of one token, a line, a plane, a block; prime axes, and axes for butterflies; channels and queries fewer and
 * more than a vector, a tile or a block has. */
static const struct {
    const struct declaration *declaration;
    const char *options;
    size_t batch, channels;
    const char *sizes, *without;
} size[] = {
    {&msa, "--grid 1", 1, 1, "", "rpe"},
    {&msa, "--grid 7 --heads 3", 2, 6, "", "rpe"},
    {&msa, "--grid 1x5 --scale 0.3", 3, 3, "", "rpe b_qkv"},
    {&msa, "--grid 13x7 --heads 2", 2, 34, "", "rpe w_o"},
    {&msa, "--grid 2x3x4 --heads 2", 2, 8, "", "rpe b_o"},
    {&msa, "--grid 8x8", 1, 16, "", "rpe w_o b_qkv"},
    {&msa, "--grid 14x14 --heads 2", 1, 70, "", "rpe"},
    {&lisa, "--grid 1", 1, 1, "D=1", ""},
    {&lisa, "--grid 7 --heads 3", 2, 6, "D=2", ""},
    {&lisa, "--grid 1x5", 3, 3, "D=3", "b_qkv"},
    {&lisa, "--grid 13x7 --heads 2", 2, 34, "D=4", "w_o"},
    {&lisa, "--grid 2x3x4 --heads 2", 2, 8, "D=5", "b_o"},
    {&lisa, "--grid 8x16 --heads 2", 1, 32, "D=3", "w_o b_qkv"},
    {&lisa, "--grid 6x20", 1, 20, "D=2", ""},
    {&lisa, "--grid 14x22 --heads 2", 1, 6, "D=2", ""},
};

static struct fixture drawn(int n)
{
    return fixture(size[n].options, size[n].declaration, size[n].batch, size[n].channels, size[n].sizes,
                   size[n].without);
}

static const struct form *step_at(const struct declaration *d, int at)
{
    const struct step *step = &ladders[d == &lisa]->step[at];
    return step->idea ? &step->form : NULL;
}

static const struct ladder *ladder_of(const struct declaration *d)
{
    return ladders[d == &lisa];
}

/* LiSA, Eq. 1-3 and 10. Values larger by a thousandth must be noticed. */
TESTS(every_step_is_the_equation, COUNT(size))
{
    struct fixture t = drawn(_i);
    const struct ladder *ladder = ladder_of(size[_i].declaration);
    t.form_at = step_at;
    property_one_function(&t, size[_i].options, property_tolerance(&t.problem));

    /* Larger value rows of w_qkv. */
    real *w = fixture_tensor(&t, "w_qkv");
    size_t values = problem_size(&t.problem, "C") * problem_size(&t.problem, "C");
    for (size_t i = 0; i < values; i++) w[2 * values + i] *= (real)1.001;
    for (int r = 0; ladder->step[r].idea; r++) {
        real *y = run_form(&t.problem, &ladder->step[r].form, 1, t.x);
        beyond("values a thousandth larger, root mean square", mean_error(y, t.exact, t.outputs),
               statistical_bound(&t.problem, t.sensitivity, &ladder->step[r].form, NULL));
    }
}

/* Two or three threads change no bit either. */
TESTS(steps_have_the_properties_of_forms, COUNT(ladders))
{
    const struct form *step;
    struct fixture t = fixture("--grid 5x12 --heads 3", ladders[_i]->declaration, 2, 9, "D=3", "rpe");
    t.form_at = step_at;
    property_nan_is_seen(&t);
    property_repeatable(&t);
    property_memory(&t);
    for (int at = 0; (step = step_at(t.problem.declaration, at)); at++)
        for (int threads = 2; threads <= 3; threads++)
            equal(run_form(&t.problem, step, threads, t.x), run_form(&t.problem, step, 1, t.x), t.outputs);
}

/* Self-attention with embeddings, windows or a ghost head; LiSA with another equation than 10, or local kernels. */
static const struct { const struct declaration *declaration; const char *options, *without; } unknown[] = {
    {&msa, "--grid 4x4", ""},
    {&msa, "--grid 4x4 --window 2", "rpe"},
    {&msa, "--grid 4x4 --lambda 1", "rpe"},
    {&lisa, "--grid 4x4 --equation 4", ""},
    {&lisa, "--grid 4x4 --equation 7", ""},
    {&lisa, "--grid 4x4 --kernel 3x3", ""},
};
TESTS(ladders_reject_what_they_do_not_know, COUNT(unknown))
{
    struct problem p = shaped(unknown[_i].options, unknown[_i].declaration, 1, 4, "D=2", unknown[_i].without);
    const struct ladder *ladder = ladder_of(unknown[_i].declaration);
    for (int r = 0; ladder->step[r].idea; r++) {
        struct plan plan;
        rejected(plan_prepare(&plan, &p, &ladder->step[r].form, 1), STATUS_BAD_INPUT, "the ladder is of");
    }
}

/* Multiplications of a run in the counting build, whose vectors have four lanes, against the formula less the
 * projections. */
TESTS(steps_multiply_as_their_formulas_say, COUNT(size))
{
    struct fixture t = drawn(_i);
    const struct ladder *ladder = ladder_of(size[_i].declaration);
    char line[160];
    t.y = fixture_run(&t, "naive", 1);
    for (int r = 0; ladder->step[r].idea; r++) {
        const struct form *step = counted_step(size[_i].declaration, r);
        struct plan plan;
        real *y = zeros(t.outputs);
        succeeds(plan_create(&plan, &t.problem, step, 1));
        multiplications();
        succeeds(plan_run(&plan, y, t.x));
        double counted = (double)multiplications(), formula = fixture_cores(&t, step);
        plan_release(&plan);
        printf("    %-4s %-10s %12.0f multiplications\n", size[_i].declaration->name, step->name, counted);
        ck_assert_msg(counted == formula, "%s %s: counted %.0f, by formula %.0f", size[_i].options, step->name, counted,
                      formula);
        snprintf(line, sizeof line, "%s %s, %s", size[_i].declaration->name, size[_i].options, step->name);
        within(line, relative_difference(y, t.y, t.outputs), property_tolerance(&t.problem));
    }
}

#if !defined TWICETOLD_DOUBLE
/* Multiply-adds and bytes in figures/ladders/ladder-*.tsv, on the table's layer.  Checks the first steps, which have no
 * vectors. */
TESTS(ladder_figures_are_those_of_the_formulas, COUNT(ladders))
{
    static const struct { const char *path, *options, *sizes, *without; size_t channels; int steps; } drawn_on[] = {
        {"figures/ladders/ladder-msa.tsv", "--grid 56x56", "", "rpe b_qkv w_o b_o", 64, 3},
        {"figures/ladders/ladder-lisa.tsv", "--grid 28x28 --heads 6", "D=16", "b_qkv w_o b_o", 96, 1},
    };
    const struct ladder *ladder = ladders[_i];
    struct problem p = shaped(drawn_on[_i].options, ladder->declaration, 1, drawn_on[_i].channels, drawn_on[_i].sizes,
                              drawn_on[_i].without);
    char of[PROBLEM_RESOLVED];
    int r = 0;
    succeeds(ladder->declaration->resolve(of, &p));
    for (struct tsv *t = tsv_open(drawn_on[_i].path); tsv_row(t);) {
        const struct form *step = &ladder->step[r].form;
        if (r == drawn_on[_i].steps || strcmp(tsv_cell(t, "step"), step->name)) continue;
        const struct traffic bytes = ladder->traffic(of, r++);
        ck_assert(tsv_number(t, "multiply_adds") == nearbyint(form_multiply_adds(step, &p)));
        ck_assert(tsv_number(t, "asked_bytes") == nearbyint(bytes.asked));
        ck_assert(tsv_number(t, "moved_bytes") == nearbyint(bytes.moved));
    }
    ck_assert_int_eq(r, drawn_on[_i].steps);
}
#endif

int main(void) { return run_tests("ladder"); }
