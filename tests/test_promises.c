/* test_promises.c -- what every operator promises, whatever it computes
 *
 * Walks the cases of cases.h, and of each operator the forms: a new operator is looked
 * at with no line here, and so is a layer (reference/layers), whose one form is held to
 * itself in double.  What the paper says, and sizes that are special to it, is left
 * to the operator's own suites. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cases.h"
#include "promises.h"
#include "support.h"
#include "../reference/layers/layers.h"

/* The trial of a case; false where its options are refused. */
static bool drawn(struct trial *t, const struct one_case *one)
{
    struct problem p;
    status s = case_shape(&p, one);
    if (one->chosen && s.code == STATUS_BAD_INPUT) return false;
    succeeds(s);
    *t = trial_of(p);
    return true;
}

/* ---- the promises ------------------------------------------------------ */

/* Claim      All forms of an operator are one function.
 * Measure    Largest difference from the naive form over its largest entry, with
 *            one thread and with two; root mean square of the error over that of y.
 * Tolerance  The latter: roundoff.h.  The former, probabilistic: 32 sqrt(T) u.  An entry
 *            of y is a chain of sums over at most T products, T the multiply-adds of a run,
 *            by formula, over the entries of y.  Rounding errors that are independent grow
 *            with the root of their number (Higham and Mary, SIAM J. Sci. Comput. 41, 2019: a sum of T products is
 *            off by more than lambda sqrt(T) u with probability 2 exp(-lambda^2/2), so
 *            lambda = 8 leaves nothing to chance); there are two forms, and 2 more for
 *            normalisation and softmax.
 * Would it fail?  Seen with the last key of the tiled attention left out. */
START_TEST(forms_are_one_function)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_one_function(&t, cases[_i].options, promise_tolerance(&t.problem));
}
END_TEST

/* Claim      Every tensor counts in every form, and counts alike: where its entries are
 *            moved by an eighth, all of them or one, the forms stay one function, which
 *            moves by more than they may lie apart.  (Not each entry need move it: a
 *            key's bias adds the same to all scores of a query, and softmax does not
 *            see that.)
 * Tolerance  As above.
 * Would it fail?  Seen with the embeddings left out of one form, and with the last row of
 *            repacked weights. */
START_TEST(every_tensor_counts)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_every_tensor_counts(&t, promise_tolerance(&t.problem));
}
END_TEST

/* Claim      So they are where not all images of the batch fly together: of 384 tokens,
 *            two and then one.
 * Tolerance  As above.
 * Would it fail?  Seen with the tokens of every flight read from the first image. */
START_TEST(images_fly_one_after_another)
{
    static const char *const wide[] = {"", "384", "16x24", "4x8x12"};
    struct one_case one = {.of = every[_i], .batch = 3};
    int axes = usual_axes(one.of);
    struct trial t;
    required(one.options, sizeof one.options, one.of, wide[axes], kernels[axes]);
    drawn(&t, &one);
    promise_one_function(&t, one.options, promise_tolerance(&t.problem));
}
END_TEST

/* Claim      So they are where logits are large: in the hundreds in single precision and in the
 *            thousands in double, where e to that power is no number any more and only a
 *            softmax that takes off the largest logit first has a result.
 * Measure    As above, at --scale 40 (in double 400), or with x times 8 (24) where there is no
 *            such option; queries times keys are then larger by the square of that.
 * Tolerance  (1 + 2 L) times as above.  A logit L is off by as much as an output of its size,
 *            L times the tolerance above; its weight is then off by this part of itself, and
 *            the sum of weights too.  L = 1000 (10000): a product of two standard normal
 *            vectors of 6 channels stays below 25.
 * Would it fail?  Seen with the largest left out of ELSA's softmax, of HiLo's small windows and
 *            of the row softmax that StructSA's permuted form takes. */
START_TEST(large_logits_do_not_overflow)
{
    const bool single = sizeof(real) == 4;
    struct one_case one = cases[_i];
    struct trial t;
    bool scaled = declaration_option(one.of, "scale") >= 0;
    size_t at = strlen(one.options);
    if (strstr(one.options, "--scale")) return;     /* a case that differs by the scale alone */
    if (scaled) snprintf(one.options + at, sizeof one.options - at, " --scale %d", single ? 40 : 400);
    one.chosen = true;
    if (!drawn(&t, &one)) return;
    for (size_t n = 0; n < t.inputs && !scaled; n++) t.x[n] *= single ? 8 : 24;
    t.sharp = true;
    promise_one_function(&t, one.options, (1 + 2 * (single ? 1e3 : 1e4)) * promise_tolerance(&t.problem));
}
END_TEST

/* Claim      NaN in x reaches every entry of y that moves when 1 is added there, and
 *            leaves every bit of other images as it was.  (It may reach more: where a
 *            naive form gives a token far away the weight 0, 0 NaN is NaN.)
 * Measure    Entries that move in the naive form by more than forms may lie apart, or in
 *            the form itself by a bit; tokens of the first image and of the last.
 * Would it fail?  Seen with linear maps that pass over NaN, and with sums that begin at
 *            what an image before has left. */
START_TEST(nan_reaches_what_depends_on_it)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_nan_is_seen(&t);
}
END_TEST

/* Claim      The same plan, another plan and a plan that has seen other tokens give the
 *            same to the bit, with 1, 2 and 3 threads; x and the parameters are only read.
 * Would it fail?  Seen with a workspace that the threads of a plan share. */
START_TEST(results_repeat)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_repeatable(&t);
}
END_TEST

/* Claim      Plans in two threads do not meet.
 * Would it fail?  Seen with a workspace in a static array. */
START_TEST(plans_do_not_meet)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_plans_apart(&t);
}
END_TEST

/* Claim      A request for memory that fails, alone or with all later ones, gives a
 *            status and leaves nothing behind; a run requests nothing.  A plan does not load while
 *            any one of its tensors has no data.
 * Would it fail?  Seen with a room that does not ask whether it got its workspace. */
START_TEST(memory_that_fails_is_a_status)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_memory(&t);
}
END_TEST

/* Claim      What a plan takes is known before a byte of it is taken and before there
 *            are data: what plan_prepare leaves in the room is the peak of plan_create
 *            and plan_run, to the byte, beside what plan_prepare took itself.
 * Would it fail?  Seen with 100 bytes that a form took by itself in load. */
START_TEST(bytes_are_known_beforehand)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_bytes(&t);
}
END_TEST

/* Claim      Plans of all forms of a problem that take turns in one workspace give what
 *            each gives alone, whatever is in it before a run.
 * Measure    To the bit, with the workspace filled with NaN between two runs.
 * Would it fail?  Seen with repacked weights asked for as arrays of a run, and with a room
 *            that takes a workspace of its own beside. */
START_TEST(plans_share_a_workspace)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_shared_workspace(&t);
}
END_TEST

/* Claim      Parameters may change in place: a plan that loads them again gives what a
 *            new plan gives.
 * Measure    To the bit, with all parameters times 3/4.
 * Would it fail?  Seen with weights that are repacked only the first time. */
START_TEST(parameters_are_loaded_again)
{
    struct trial t;
    if (drawn(&t, &cases[_i])) promise_loads_again(&t);
}
END_TEST

/* Claim      Sizes that no memory holds are known to be too large, and nothing is taken
 *            of them: a batch of five images of 19998 x 19998 tokens with 12288
 *            channels, or of layers without a grid 8192 times the tokens; where addresses
 *            have 32 bits, 2 channels and 256 times.
 * Measure    Statuses, with a megabyte allowed.
 * Would it fail?  Seen with a form that took an array of N reals in prepare. */
START_TEST(sizes_that_do_not_fit_take_nothing)
{
    static const char *const large[] = {"", "400000000", "19998x19998", "4x10000x10000"};
    const struct declaration *d = every[_i];
    int axes = usual_axes(d);
    char options[128];
    struct problem p;
    required(options, sizeof options, d, large[axes], kernels[axes]);
    succeeds(shaped_openly(&p, options, d, 5, BY_ADDRESSES(12288, 2), "", "",
                           axes ? 1 : BY_ADDRESSES(8192, 256)));
    promise_overflow(&p);
}
END_TEST

/* A case on fewer tokens: emulated threads are slow. */
static struct one_case smaller(struct one_case one)
{
    static const char *const wide[] = {"--grid 6x12", "--grid 2x4x6"}, *const narrow[] = {"--grid 6x6", "--grid 2x2x2"};
    for (size_t n = 0; n < COUNT(wide); n++) {
        char *at = strstr(one.options, wide[n]), rest[sizeof one.options];
        if (!at) continue;
        strcpy(rest, at + strlen(wide[n]));
        snprintf(at, sizeof one.options - (size_t)(at - one.options), "%s%s", narrow[n], rest);
    }
    return one;
}

/* Claim      The rungs of an operator, emulated, promise what its other forms do: they are
 *            one function with it, show NaN, keep images apart, repeat to the bit in
 *            another order of their threads too, load parameters again; and a request for
 *            memory that fails is a status.
 * Measure    As above, on fewer tokens.
 * Tolerance  As above.  A rung on tensor cores rounds four numbers once more behind each entry
 *            of y, a query, a key, a weight and a value, and to fewer digits: for these u is
 *            theirs and T is 4 (test_cuda.c has their sharper bound).
 * Would it fail?  Seen with a table that is uploaded by the first load alone, with scores
 *            that pass over NaN, and with a sum by atomics. */
START_TEST(rungs_promise_the_same)
{
    struct one_case one = smaller(cases[_i]);
    const struct form *rung;
    struct trial t;
    if (!operator_rung_at(one.of, 0) || !drawn(&t, &one)) return;
    bool first = _i == 0 || cases[_i - 1].of != one.of;
    for (int r = 0; (rung = operator_rung_at(one.of, r)); r++) {
        promise_rung(&t, rung, promise_rung_tolerance(&t.problem, rung));
        if (first) form_without_memory(&t, rung);
    }
}
END_TEST

/* Whether every word of "a=b|c & d~e" names an option, and one of its choices. */
static void check_condition(const struct declaration *d, const char *when)
{
    while (when) {
        char option[24], list[48];
        size_t length = strcspn(when, " "), n = strcspn(when, "=~");
        snprintf(option, sizeof option, "%.*s", (int)n, when);
        snprintf(list, sizeof list, "%.*s", (int)(length - n - 1), when + n + 1);
        int o = declaration_option(d, option);
        ck_assert_msg(o >= 0, "%s: a tensor depends on --%s, which is no option", d->name, option);
        for (char *word = strtok(list, "|"); word && d->options[o].choices; word = strtok(NULL, "|"))
            ck_assert_msg(word_place(d->options[o].choices, word) >= 0, "%s: --%s is never %s", d->name, option, word);
        when = when[length] ? when + length + 3 : NULL;
    }
}

/* Claim      Every name that an operator looks up is one that it declares, and every
 *            name within its tables too: with all its options it resolves, with data and
 *            without, and each form says what a run costs.
 * Would it fail?  Seen with "w_kqv" looked up and with a tensor that depends on "equatoin". */
START_TEST(names_are_declared)
{
    struct trial t;
    const struct declaration *d = cases[_i].of;
    const struct form *form;
    if (!drawn(&t, &cases[_i])) return;
    void *of = memory_get(d->resolved, 1);
    for (const struct tensor_row *row = d->tensors; row->name; row++) {
        check_condition(d, row->when);
        const struct tensor_row *other = d->tensors;
        while (row->with && other->name && strcmp(other->name, row->with)) other++;
        for (const char *asked = row->asked; asked; asked = strchr(asked, '|') ? strchr(asked, '|') + 1 : NULL) {
            char option[24];
            snprintf(option, sizeof option, "%.*s", (int)strcspn(asked, "|"), asked);
            ck_assert_msg(declaration_option(d, option) >= 0, "%s: %s is asked for by --%s, which is no option",
                          d->name, row->name, option);
        }
        ck_assert_msg(other->name, "%s: %s goes with %s, which is no tensor", d->name, row->name, row->with);
    }
    succeeds(d->resolve(of, &t.problem));
    for (size_t r = 0; r < PROBLEM_TENSORS; r++) t.problem.tensor[r].data = NULL;
    succeeds(d->resolve(of, &t.problem));
    memory_free(of);
    for (int f = 0; (form = operator_form_at(d, f)); f++) {
        ck_assert(form_multiply_adds(form, &t.problem) > 0);
        ck_assert_ptr_eq(operator_form(d, form->name), form);
    }
    ck_assert_str_eq(operator_form_at(d, 0)->name, layer_find(d->name) ? "layer" : "naive");
    ck_assert_ptr_eq(operator_form(d, "naive"), operator_form_at(d, 0));
    ck_assert_int_lt(case_count, (int)COUNT(cases));
}
END_TEST

/* Operators, and behind them the layers. */
static const struct declaration *operator_or_layer_at(int at)
{
    int operators = 0;
    while (operator_at(operators)) operators++;
    return at < operators ? operator_at(at) : layer_at(at - operators);
}

int main(void)
{
    Suite *suite = suite_create("promises");
    enumerate_cases(operator_or_layer_at);
    TCase *function = add_case(suite, "one function");
    tcase_add_loop_test(function, forms_are_one_function, 0, case_count);
    tcase_add_loop_test(function, images_fly_one_after_another, 0, operator_count);
    tcase_add_loop_test(function, large_logits_do_not_overflow, 0, plain_count);
    TCase *tensors = add_case(suite, "tensors");
    tcase_add_loop_test(tensors, every_tensor_counts, 0, case_count);
    tcase_add_loop_test(tensors, nan_reaches_what_depends_on_it, 0, plain_count);
    tcase_add_loop_test(tensors, names_are_declared, 0, case_count);
    TCase *rungs = add_case(suite, "rungs");
    tcase_add_loop_test(rungs, rungs_promise_the_same, 0, plain_count);
    TCase *plans = add_case(suite, "plans");
    tcase_add_loop_test(plans, results_repeat, 0, plain_count);
    tcase_add_loop_test(plans, plans_do_not_meet, 0, plain_count);
    tcase_add_loop_test(plans, parameters_are_loaded_again, 0, plain_count);
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, memory_that_fails_is_a_status, 0, plain_count);
    tcase_add_loop_test(memory, bytes_are_known_beforehand, 0, plain_count);
    tcase_add_loop_test(memory, plans_share_a_workspace, 0, plain_count);
    tcase_add_loop_test(memory, sizes_that_do_not_fit_take_nothing, 0, operator_count);
    return run_suite(suite);
}
