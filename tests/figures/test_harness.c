/* test_harness.c -- adversarial forms, and the benchmark harness that must reject them
 *
 * Sixteen wrong ways to be fast, each around the fast form of self-attention, run under the judge of `measure`
 * (reference/cli/harness.h) as measure runs forms: a first run, timed rounds with or without the naive form, a last look. Not
 * covered: a form that is right in most runs where the naive form does not run and few runs are looked at; a form that
 * knows the judge. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../support/support.h"
#include "../support/trial.h"
#include "../../reference/msa.h"
#include "../../reference/cli/harness.h"

enum { ROUNDS = 6, BATCH = 2, TOKENS = 35, CHANNELS = 16 };

/* A form on its plan, and what a cheat remembers. */
struct runner {
    struct contestant judged;       /* first, so that the one is the other */
    struct plan *plan;
    real *held, *last;              /* a y, the beginning of an x */
    const real *where;
    size_t inputs, outputs;
    int calls;
};

static status honest(struct runner *r, real *y, const real *x) { return plan_run(r->plan, y, x); }

/* ---- cheats ------------------------------------------------------------- */

static status constant(const struct runner *r, real *y, double value)
{
    for (size_t n = 0; n < r->outputs; n++) y[n] = (real)value;
    return status_ok();
}

static status zeros_for_y(struct runner *r, real *y, const real *x) { return (void)x, constant(r, y, 0); }
static status no_numbers(struct runner *r, real *y, const real *x) { return (void)x, constant(r, y, (double)NAN); }

static status infinity_for_y(struct runner *r, real *y, const real *x)
{
    return (void)x, constant(r, y, (double)INFINITY);
}

/* y is what lay there: perhaps another form has just been right. */
static status nothing_at_all(struct runner *r, real *y, const real *x)
{
    (void)r, (void)y, (void)x;
    return status_ok();
}

static status first_call_only(struct runner *r, real *y, const real *x)
{
    return r->calls ? status_ok() : honest(r, y, x);
}

/* Hands out what was worked out last, on this x or before. */
static status hand_out(struct runner *r, real *y, const real *x, bool works)
{
    status s = works ? honest(r, r->held, x) : status_ok();
    memcpy(y, r->held, r->outputs * sizeof *y);
    return s;
}

static status y_of_the_first_call(struct runner *r, real *y, const real *x) { return hand_out(r, y, x, !r->calls); }

/* x lies where it lay: it must be the same. */
static status same_pointer(struct runner *r, real *y, const real *x)
{
    bool moved = r->where != x;
    r->where = x;
    return hand_out(r, y, x, moved);
}

/* x begins as it began. */
static status same_beginning(struct runner *r, real *y, const real *x)
{
    bool other = !r->calls || memcmp(r->last, x, 2 * sizeof *x) != 0;
    memcpy(r->last, x, 2 * sizeof *x);
    return hand_out(r, y, x, other);
}

/* Hands out what the call before has asked for, and leaves its own work for later. */
static status late_by_a_call(struct runner *r, real *y, const real *x)
{
    if (!r->calls) return hand_out(r, y, x, true);
    memcpy(y, r->held, r->outputs * sizeof *y);
    return honest(r, r->held, x);
}

/* Honest in every seventh call, the first among them. */
static status now_and_then(struct runner *r, real *y, const real *x) { return hand_out(r, y, x, r->calls % 7 == 0); }

/* x serves as a workspace. */
static status writes_to_x(struct runner *r, real *y, const real *x)
{
    status s = honest(r, y, x);
    ((real *)x)[r->inputs - 1] /= 2;
    return s;
}

/* Left out is left as it was. */
static status spares(struct runner *r, real *y, const real *x, size_t from, size_t to)
{
    status s = honest(r, r->held, x);
    memcpy(y, r->held, from * sizeof *y);
    memcpy(y + to, r->held + to, (r->outputs - to) * sizeof *y);
    return s;
}

static status skips_the_last_token(struct runner *r, real *y, const real *x)
{
    return spares(r, y, x, r->outputs - CHANNELS, r->outputs);
}

static status a_threads_share_is_missing(struct runner *r, real *y, const real *x)
{
    return spares(r, y, x, r->outputs / 4, r->outputs / 2);
}

/* All images get the y of the first. */
static status one_image_for_all(struct runner *r, real *y, const real *x)
{
    status s = honest(r, y, x);
    memcpy(y + r->outputs / 2, y, r->outputs / 2 * sizeof *y);
    return s;
}

/* The last three tokens are those before them. */
static status a_few_tokens_are_copies(struct runner *r, real *y, const real *x)
{
    status s = honest(r, y, x);
    /* cppcheck-suppress overlappingWriteFunction ; it takes the distance, in numbers, for one in bytes */
    memcpy(y + r->outputs - 3 * CHANNELS, y + r->outputs - 6 * CHANNELS, 3 * CHANNELS * sizeof *y);
    return s;
}

/* The 11 digits of a half. */
static status half_precision(struct runner *r, real *y, const real *x)
{
    status s = honest(r, y, x);
    for (size_t n = 0; n < r->outputs; n++) {
        int exponent;
        double digits = frexp((double)y[n], &exponent);
        y[n] = (real)ldexp(nearbyint(ldexp(digits, 11)), exponent - 11);
    }
    return s;
}

#define CHEAT(name, why) {#name, name, why}
#define UNWRITTEN "leaves entries of y as they were"
static const struct {
    const char *name;
    status (*run)(struct runner *, real *, const real *);
    const char *why;                /* what is said of it */
} cheat[] = {
    CHEAT(zeros_for_y, "differs"), CHEAT(no_numbers, UNWRITTEN), CHEAT(infinity_for_y, "differs"),
    CHEAT(nothing_at_all, UNWRITTEN), CHEAT(first_call_only, UNWRITTEN), CHEAT(y_of_the_first_call, "differs"),
    CHEAT(same_pointer, "differs"), CHEAT(same_beginning, "differs"), CHEAT(late_by_a_call, "differs"),
    CHEAT(now_and_then, "differs"), CHEAT(writes_to_x, "writes to x"), CHEAT(skips_the_last_token, UNWRITTEN),
    CHEAT(a_threads_share_is_missing, UNWRITTEN), CHEAT(one_image_for_all, "differs"),
    CHEAT(a_few_tokens_are_copies, "differs"), CHEAT(half_precision, "differs"),
};

/* ---- a race --------------------------------------------------------------- */

static int cheating;                /* which, or -1: none */
static bool waits;                  /* until its first call is over */

static status run_honest(struct contestant *c, real *y, const real *x)
{
    return honest((struct runner *)c, y, x);
}

static status run_cheat(struct contestant *c, real *y, const real *x)
{
    struct runner *r = (struct runner *)c;
    status s = cheating < 0 || (waits && !r->calls) ? honest(r, y, x) : cheat[cheating].run(r, y, x);
    r->calls++;
    return s;
}

/* A form whose y is x. */
static status keep_x(struct contestant *c, real *y, const real *x)
{
    struct runner *r = (struct runner *)c;
    memcpy(r->held, x, r->inputs * sizeof *x);
    memcpy(y, x, r->inputs * sizeof *x);
    return status_ok();
}

static struct runner runner(struct plan *plan, struct trial *t, const char *form)
{
    succeeds(plan_create(plan, &t->problem, operator_form(t->problem.declaration, form), 1));
    return (struct runner){
        .judged = {.run = !strcmp(form, "naive") ? run_honest : run_cheat, .kept = zeros(t->outputs)}, .plan = plan,
        .held = zeros(t->outputs), .last = zeros(t->inputs), .inputs = t->inputs, .outputs = t->outputs,
    };
}

static struct judge judge_of(const real *x, size_t inputs, size_t outputs, size_t width, double terms)
{
    return (struct judge){
        .x = copy(x, inputs), .y = zeros(outputs), .original = zeros(outputs), .reference = zeros(outputs),
        .inputs = inputs, .outputs = outputs, .width = width, .terms = terms,
    };
}

/* The naive form and the fast one, honest or not, and their judge. */
struct race { struct trial t; struct plan plan[2]; struct runner naive, fast; struct judge judge; };

static void race_open(struct race *r)
{
    r->t = trial("--grid 5x7 --heads 2", &msa, BATCH, CHANNELS, "", "");
    r->naive = runner(&r->plan[0], &r->t, "naive");
    r->fast = runner(&r->plan[1], &r->t, "fast");
    double products = form_multiply_adds(operator_form(&msa, "naive"), &r->t.problem);
    r->judge = judge_of(r->t.x, r->t.inputs, r->t.outputs, CHANNELS, products / (double)r->t.outputs);
}

static void race_close(struct race *r)
{
    judge_close(&r->judge);
    for (int p = 0; p < 2; p++) plan_release(&r->plan[p]);
}

/* When the cheat was found: in its first run, in a round, at the last look; or never. */
static const char *found(int which, bool beside, bool warm, char said[200])
{
    struct race r;
    const struct contestant *fast = &r.fast.judged;
    const char *when = NULL;
    race_open(&r);
    cheating = which;
    succeeds(judge_first(&r.judge, &r.naive.judged));
    succeeds(judge_first(&r.judge, &r.fast.judged));
    if (fast->refused) when = "in its first run";
    for (int round = 0; round < ROUNDS && !when; round++) {
        judge_round(&r.judge);
        if (beside) succeeds(judge_timed(&r.judge, &r.naive.judged, warm));
        succeeds(judge_timed(&r.judge, &r.fast.judged, warm));
        if (fast->refused) when = "while it was timed";
    }
    if (!when) succeeds(judge_last(&r.judge, &r.fast.judged));
    if (!when && fast->refused) when = "when all was over";
    ck_assert(!r.naive.judged.refused);
    race_close(&r);
    if (which < 0) equal(r.judge.x, r.t.x, r.t.inputs);
    snprintf(said, 200, "%s", fast->said);
    return when;
}

/* From the first call on or after it, with the naive form in the rounds or not, warmed up or not; the reason is
 * given. */
START_TEST(cheats_are_refused)
{
    char said[200];
    for (int way = 0; way < 8; way++) {
        waits = way & 4;
        const char *when = found(_i, way & 1, way & 2, said);
        ck_assert_msg(when, "%s is timed, %s the naive form, %s, %s", cheat[_i].name, way & 1 ? "beside" : "without",
                      way & 2 ? "warmed up" : "cold", waits ? "once its first call is over" : "from its first call on");
        ck_assert_msg(strstr(said, cheat[_i].why), "%s: %s", cheat[_i].name, said);
        if (way == 0 || way > 5) printf("    %s: found %s: %s\n", cheat[_i].name, when, said);
    }
}
END_TEST

/* And x is in the end as it was, to the bit. */
START_TEST(honest_forms_are_timed)
{
    char said[200];
    waits = false;
    for (int way = 0; way < 4; way++) {
        const char *when = found(-1, way & 1, way & 2, said);
        ck_assert_msg(!when, "refused %s: %s", when ? when : "", said);
        ck_assert_ptr_nonnull(strstr(said, "agrees to"));
    }
}
END_TEST

/* Every token differs from the original x in a timed run, also for one token or one channel; and x comes back. */
START_TEST(every_token_is_fresh)
{
    static const size_t rows[] = {1, 2, 5, 6}, widths[] = {1, 4};
    for (size_t shape = 0; shape < COUNT(rows) * COUNT(widths); shape++) {
        size_t width = widths[shape % 2], count = rows[shape / 2] * width;
        struct runner r = {.judged = {.run = keep_x, .kept = zeros(count)}, .held = zeros(count), .inputs = count};
        real *drawn = normal(5, count);
        struct judge j = judge_of(drawn, count, count, width, 1);
        judge_round(&j);
        succeeds(judge_timed(&j, &r.judged, true));
        for (size_t n = 0; n < count; n += width) unequal(r.held + n, drawn + n, width);
        judge_close(&j);
        equal(j.x, drawn, count);
    }
}
END_TEST

/* A second form is judged after the first one's memory is released, by the first one's y of the original x. */
START_TEST(the_first_form_may_be_gone)
{
    for (int which = -1; which < 4; which += 4) {           /* none; nothing_at_all, once the first run is over */
        struct race r;
        race_open(&r);
        cheating = -1;
        succeeds(judge_first(&r.judge, &r.naive.judged));
        r.naive.judged.run = NULL;
        succeeds(judge_first(&r.judge, &r.fast.judged));
        judge_round(&r.judge);
        succeeds(judge_timed(&r.judge, &r.fast.judged, false));
        cheating = which;
        succeeds(judge_last(&r.judge, &r.fast.judged));
        ck_assert_int_eq(r.fast.judged.refused, which >= 0);
        race_close(&r);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cheats");
    TCase *cases = add_case(suite, "the judge");
    tcase_add_loop_test(cases, cheats_are_refused, 0, (int)COUNT(cheat));
    tcase_add_test(cases, honest_forms_are_timed);
    tcase_add_test(cases, every_token_is_fresh);
    tcase_add_test(cases, the_first_form_may_be_gone);
    return run_suite(suite);
}
