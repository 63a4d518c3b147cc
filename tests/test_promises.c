/* test_promises.c -- what every operator promises, whatever it computes
 *
 * Walks the list of operators, and of each the forms, the axes of its grid, other
 * values of its options, choices and flags two by two too, numbers that are refused
 * alone beside the option that they need, and leaves out what is optional: a new
 * operator is looked at with no line here.  What the paper says, and sizes that are
 * special to it, is left to the operator's own suites. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support.h"
#include "promises.h"

/* Sizes that an operator does not leave to anybody. */
static const struct { const char *operator, *sizes; } special[] = {
    {"elsa", "Q=24"},           /* the groups of its convolution have 8 channels, or 2, or 3 */
};

/* ---- the cases --------------------------------------------------------- */

#define CHANNELS 12             /* of two heads: 6 of a head, no whole number of lanes */

struct one_case {
    const struct declaration *operator;
    char options[128];          /* as one would type them */
    char without[192];          /* optional tensors that are left out */
    size_t batch;               /* 2 where this is 0 */
    bool chosen;                /* options that the operator may refuse beside each other */
};

static struct one_case cases[512];
static const struct declaration *every[64];
static int plain_count, case_count, operator_count;     /* pairs of choices come behind the plain cases */

/* The grid of so many axes, sides that 2 divides and, in a plane, 3. */
static const char *const grids[] = {"", "7", "6x12", "2x4x6"}, *const kernels[] = {"", "3", "3x3", "3x3x3"};

/* The trial of a case; false where its options are refused. */
static bool drawn(struct trial *t, const struct one_case *one)
{
    struct problem p;
    const char *sizes = "", *without = one->without;
    for (size_t n = 0; n < COUNT(special); n++)
        if (!strcmp(special[n].operator, one->operator->name)) sizes = special[n].sizes;
    status s = shaped_openly(&p, one->options, one->operator, one->batch ? one->batch : 2, CHANNELS, sizes, without, 1);
    printf("%s %s%s%s%s%s\n", one->operator->name, one->options, *without ? " without " : "", without,
           s.code ? ": " : "", s.message);
    if (one->chosen && s.code == STATUS_BAD_INPUT) return false;
    succeeds(s);
    *t = trial_of(p);
    return true;
}

static const struct option *grid_option(const struct declaration *d)
{
    const struct option *o = d->options;
    while (o->name && o->kind != OPTION_GRID) o++;
    return o->name ? o : NULL;
}

/* Axes of the grid in most cases: a plane where that may be, 0 for no grid. */
static int usual_axes(const struct declaration *d)
{
    const struct option *o = grid_option(d);
    if (!o) return 0;
    return o->low <= 2 && o->high >= 2 ? 2 : (int)o->low;
}

static bool is_heads(const struct option *o) { return o->letter && !strcmp(o->letter, "h"); }

/* What must be said: two heads, and all that is required, kernels of 3. */
static void required(char *text, size_t size, const struct declaration *d, const char *tokens, const char *kernel)
{
    size_t at = 0;
    *text = '\0';
    for (const struct option *o = d->options; o->name && at < size; o++) {
        const char *value = o->kind == OPTION_GRID ? tokens : o->kind == OPTION_KERNEL ? kernel : "3";
        if (is_heads(o)) value = "2";
        else if (o->fallback || o->kind == OPTION_FLAG) continue;
        at += (size_t)snprintf(text + at, size - at, "%s--%s %s", at ? " " : "", o->name, value);
    }
}

/* What an option may be beside what it is where nothing is said, as "4|5|6"; a kernel that need not be given
 * is none of the usual ones, and steps are alike, or not, along so many axes. */
static const char *values(const struct option *o, int axes)
{
    static const char *const windows[] = {"", "1|5", "1x5|5x3", "1x3x5"};
    static const char *const steps[] = {"", "2|9", "2|1x5", "1x2x2"};
    if (o->kind == OPTION_FLAG) return "";
    if (o->kind == OPTION_CHOICE) return o->choices;
    if (!o->fallback || is_heads(o)) return NULL;
    if (o->kind == OPTION_KERNEL) return windows[axes];
    if (o->kind == OPTION_STEPS) return steps[axes];
    if (o->kind == OPTION_INTEGER) return "2|3";
    return o->kind == OPTION_REAL ? o->low <= 2 && o->high >= 2 ? "2" : "0.5" : NULL;
}

/* Appends value `n` of an option, " --equation 4" or " --pooled-queries"; false
 * where it has not so many.  What stands anyway is one of them, and adds nothing. */
static bool choose(char *text, size_t size, const struct option *o, int n, int axes)
{
    const char *word = values(o, axes);
    for (; n > 0 && word; n--) {
        word = strchr(word, '|');
        if (word) word++;
    }
    if (!word) return false;
    size_t at = strlen(text), length = strcspn(word, "|");
    bool stands = o->fallback && strlen(o->fallback) == length && !strncmp(o->fallback, word, length);
    if (!stands) snprintf(text + at, size - at, " --%s %.*s", o->name, (int)length, word);
    return true;
}

/* Adds a case that is not there yet. */
static void add(struct one_case one)
{
    for (int c = 0; c < case_count; c++)
        if (cases[c].operator == one.operator && !strcmp(cases[c].options, one.options)
            && !strcmp(cases[c].without, one.without))
            return;
    if (case_count < (int)COUNT(cases)) cases[case_count++] = one;
}

static bool chooses(const struct option *o) { return o->kind == OPTION_CHOICE || o->kind == OPTION_FLAG; }

/* Every value of each option. */
static void add_values(struct one_case one)
{
    int axes = usual_axes(one.operator);
    for (const struct option *o = one.operator->options; o->name; o++)
        for (int n = 0;; n++) {
            struct one_case chosen = one;
            chosen.chosen = true;
            if (!choose(chosen.options, sizeof chosen.options, o, n, axes)) break;
            add(chosen);
        }
}

/* Whether options go together, as far as they and the channels tell. */
static bool go_together(const struct one_case *one)
{
    char text[sizeof one->options];
    const char *word[32];
    int words = 0;
    struct problem p;
    memcpy(text, one->options, sizeof text);
    for (char *w = strtok(text, " "); w && words < (int)COUNT(word); w = strtok(NULL, " ")) word[words++] = w;
    return !problem_create(&p, one->operator, words, word).code && !problem_set_size(&p, "B", 2).code
        && !problem_set_size(&p, "C", CHANNELS).code && !(one->operator->derive && one->operator->derive(&p).code);
}

/* A number that is refused alone, as a shift of windows is where there are none: beside
 * each value of another option that lets it be. */
static void add_followers(struct one_case one)
{
    const struct option *options = one.operator->options;
    int axes = usual_axes(one.operator);
    one.chosen = true;
    for (const struct option *o = options; o->name; o++)
        for (int n = 0; !chooses(o); n++) {
            struct one_case alone = one;
            if (!choose(alone.options, sizeof alone.options, o, n, axes)) break;
            if (go_together(&alone)) continue;
            for (const struct option *a = options; a->name; a++)
                for (int m = 0; a != o; m++) {
                    struct one_case both = alone;
                    if (!choose(both.options, sizeof both.options, a, m, axes)) break;
                    if (go_together(&both)) add(both);
                }
        }
}

/* Every two choices beside each other. */
static void add_pairs(struct one_case one)
{
    const struct option *options = one.operator->options;
    int axes = usual_axes(one.operator);
    for (const struct option *a = options; a->name; a++)
        for (const struct option *b = a + 1; b->name && chooses(a); b++)
            for (int n = 0; chooses(b); n++) {
                struct one_case first = one;
                first.chosen = true;
                if (!choose(first.options, sizeof first.options, a, n, axes)) break;
                for (int m = 0;; m++) {
                    struct one_case second = first;
                    if (!choose(second.options, sizeof second.options, b, m, axes)) break;
                    add(second);
                }
            }
}

static struct one_case usual(const struct declaration *d)
{
    struct one_case one = {.operator = d};
    required(one.options, sizeof one.options, d, grids[usual_axes(d)], kernels[usual_axes(d)]);
    return one;
}

/* Where a tensor is optional beside some choices only, those without it. */
static void add_optional(struct one_case bare)
{
    int axes = usual_axes(bare.operator);
    for (const struct tensor_row *t = bare.operator->tensors; t->name; t++)
        for (const struct option *o = bare.operator->options; t->optional && t->when && o->name; o++)
            for (int n = 0; chooses(o); n++) {
                struct one_case one = bare;
                one.chosen = true;
                size_t length = strlen(o->name);
                if (!choose(one.options, sizeof one.options, o, n, axes)) break;
                if (!strncmp(t->when, o->name, length) && t->when[length] == '=') add(one);
            }
}

static void enumerate(void)
{
    const struct declaration *d;
    for (; (d = operator_at(operator_count)); operator_count++) {
        const struct option *g = grid_option(d);
        struct one_case one = {.operator = d}, bare = usual(d);
        for (int axes = g ? (int)g->low : 0; axes <= (g ? (int)g->high : 0); axes++) {
            required(one.options, sizeof one.options, d, grids[axes], kernels[axes]);
            add(one);
        }
        add_values(usual(d));
        add_followers(usual(d));
        every[operator_count] = d;
        for (const struct tensor_row *t = d->tensors; t->name; t++) {
            size_t at = strlen(bare.without);
            if (t->optional) snprintf(bare.without + at, sizeof bare.without - at, "%s%s", at ? " " : "", t->name);
        }
        if (*bare.without) add(bare);
        if (*bare.without) add_optional(bare);
    }
    plain_count = case_count;
    for (int o = 0; o < operator_count; o++) add_pairs(usual(operator_at(o)));
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
    struct one_case one = {.operator = every[_i], .batch = 3};
    int axes = usual_axes(one.operator);
    struct trial t;
    required(one.options, sizeof one.options, one.operator, wide[axes], kernels[axes]);
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
    bool scaled = declaration_option(one.operator, "scale") >= 0;
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
 *            status and leaves nothing behind; a run requests nothing.
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
 *            channels, or of layers without a grid 8192 times the tokens.
 * Measure    Statuses, with a megabyte allowed.
 * Would it fail?  Seen with a form that took an array of N reals in prepare. */
START_TEST(sizes_that_do_not_fit_take_nothing)
{
    static const char *const large[] = {"", "400000000", "19998x19998", "4x10000x10000"};
    const struct declaration *d = operator_at(_i);
    int axes = usual_axes(d);
    char options[128];
    struct problem p;
    required(options, sizeof options, d, large[axes], kernels[axes]);
    succeeds(shaped_openly(&p, options, d, 5, 12288, "", "", axes ? 1 : 8192));
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
 * Tolerance  As above.
 * Would it fail?  Seen with a table that is uploaded by the first load alone, with scores
 *            that pass over NaN, and with a sum by atomics. */
START_TEST(rungs_promise_the_same)
{
    struct one_case one = smaller(cases[_i]);
    const struct form *rung;
    struct trial t;
    if (!operator_rung_at(one.operator, 0) || !drawn(&t, &one)) return;
    bool first = _i == 0 || cases[_i - 1].operator != one.operator;
    for (int r = 0; (rung = operator_rung_at(one.operator, r)); r++) {
        promise_rung(&t, rung, promise_tolerance(&t.problem));
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
    const struct declaration *d = cases[_i].operator;
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
    ck_assert_str_eq(operator_form_at(d, 0)->name, "naive");
    ck_assert_int_lt(case_count, (int)COUNT(cases));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promises");
    enumerate();
    TCase *function = add_case(suite, "one function");
    tcase_add_loop_test(function, forms_are_one_function, 0, case_count);
    tcase_add_loop_test(function, every_tensor_counts, 0, case_count);
    tcase_add_loop_test(function, images_fly_one_after_another, 0, operator_count);
    tcase_add_loop_test(function, large_logits_do_not_overflow, 0, plain_count);
    tcase_add_loop_test(function, nan_reaches_what_depends_on_it, 0, plain_count);
    tcase_add_loop_test(function, names_are_declared, 0, case_count);
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
    return run_suite(suite, "test_promises");
}
