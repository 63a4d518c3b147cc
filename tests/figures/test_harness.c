/* test_harness.c -- the benchmark harness of `measure` (reference/cli/harness.h) rejects adversarial forms
 *
 * Fifteen adversarial forms modify the fast form of self-attention.  They run as in `measure`: a first run, timed
 * rounds with or without the naive form, a last check.  Not covered: a form that is wrong only in few runs; a form that
 * knows the harness.
 *
 * Runs that other programs disturb do not count. */

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <time.h>
#include "../support/support.h"
#include "../support/fixture.h"
#include "../../reference/msa.h"
#include "../../reference/cli/harness.h"

enum { ROUNDS = 6, BATCH = 2, TOKENS = 35, CHANNELS = 16 };

/* A form on its plan, and the state of an adversarial form. */
struct runner {
    struct contestant contestant;   /* first: a pointer to it also points to the runner */
    struct plan *plan;
    real *held, *last;              /* last computed output; beginning of the last x */
    const real *where;
    size_t inputs;
    int calls;
};
static_assert(offsetof(struct runner, contestant) == 0, "first");

static status honest(struct runner *r, real *y, const real *x) { return plan_run(r->plan, y, x); }

/* ---- adversarial forms -------------------------------------------------- */

enum { ALL = BATCH * TOKENS * CHANNELS };

/* True if this call computes; otherwise y is that of an earlier call.  The four compute at the first call; at every
 * seventh; if x has another address; if x begins otherwise. */
static bool is_first(struct runner *r, const real *x) { return (void)x, !r->calls; }
static bool is_seventh(struct runner *r, const real *x) { return (void)x, r->calls % 7 == 0; }

static bool is_elsewhere(struct runner *r, const real *x)
{
    bool moved = r->where != x;
    r->where = x;
    return moved;
}

static bool begins_otherwise(struct runner *r, const real *x)
{
    bool other = !r->calls || memcmp(r->last, x, 2 * sizeof *x) != 0;
    memcpy(r->last, x, 2 * sizeof *x);
    return other;
}

/* Replacements of y[n]; `copied` repeats three tokens, `half` rounds to the 11 bits of a half. */
static double zero(const real *y, size_t n) { return (void)y, (void)n, 0; }
static double no_number(const real *y, size_t n) { return (void)y, (void)n, (double)NAN; }
static double infinity(const real *y, size_t n) { return (void)y, (void)n, (double)INFINITY; }
static double of_first_image(const real *y, size_t n) { return (double)y[n % (ALL / BATCH)]; }
static double copied(const real *y, size_t n) { return (double)y[n < ALL - 3 * CHANNELS ? n : n - 3 * CHANNELS]; }

static double half(const real *y, size_t n)
{
    int exponent;
    double digits = frexp((double)y[n], &exponent);
    return ldexp(nearbyint(ldexp(digits, 11)), exponent - 11);
}

/* `why` is part of the harness's message.  Entries `from` to `to` - 1 of y are not written. */
#define UNWRITTEN "leaves entries of y as they were"
static const struct adversary {
    const char *name, *why;
    bool (*works)(struct runner *r, const real *x);         /* NULL: each call computes */
    double (*change)(const real *y, size_t n);
    size_t from, to;
    bool late, writes_to_x;                                 /* late: y is that of the previous call */
} adversary[] = {
    {"zeros for y", "differs", .change = zero},
    {"NaN for y", UNWRITTEN, .change = no_number},
    {"infinity for y", "differs", .change = infinity},
    {"nothing at all", UNWRITTEN, .to = ALL},
    {"y of the first call", "differs", .works = is_first},
    {"y of the same pointer", "differs", .works = is_elsewhere},
    {"y of the same beginning", "differs", .works = begins_otherwise},
    {"late by a call", "differs", .late = true},
    {"now and then", "differs", .works = is_seventh},
    {"x as a workspace", "writes to x", .writes_to_x = true},
    {"without the last token", UNWRITTEN, .from = ALL - CHANNELS, .to = ALL},
    {"without a thread's share", UNWRITTEN, .from = ALL / 4, .to = ALL / 2},
    {"one image for all", "differs", .change = of_first_image},
    {"a few tokens are copies", "differs", .change = copied},
    {"half precision", "differs", .change = half},
};

static status run_as(const struct adversary *a, struct runner *r, real *y, const real *x)
{
    status s = status_ok();
    bool later = a->late && r->calls;
    if (!later && (!a->works || a->works(r, x))) s = honest(r, r->held, x);
    for (size_t n = 0; n < ALL; n++)
        if (n < a->from || n >= a->to) y[n] = a->change ? (real)a->change(r->held, n) : r->held[n];
    if (later) s = honest(r, r->held, x);
    if (a->writes_to_x) ((real *)x)[r->inputs - 1] /= 2;
    return s;
}

/* ---- a race --------------------------------------------------------------- */

static int adversarial;             /* index of the adversarial form, or -1 */
static bool waits;                  /* the form is honest in its first call */

static status run_honest(struct contestant *c, real *y, const real *x)
{
    return honest((struct runner *)c, y, x);
}

static status run_adversary(struct contestant *c, real *y, const real *x)
{
    struct runner *r = (struct runner *)c;
    status s = adversarial < 0 || (waits && !r->calls) ? honest(r, y, x) : run_as(&adversary[adversarial], r, y, x);
    r->calls++;
    return s;
}

/* The identity; also keeps x. */
static status keep_x(struct contestant *c, real *y, const real *x)
{
    struct runner *r = (struct runner *)c;
    memcpy(r->held, x, r->inputs * sizeof *x);
    memcpy(y, x, r->inputs * sizeof *x);
    return status_ok();
}

static struct runner runner(struct plan *plan, struct fixture *t, const char *form)
{
    succeeds(plan_create(plan, &t->problem, operator_form(t->problem.declaration, form), 1));
    return (struct runner){
        .contestant = {.run = !strcmp(form, "naive") ? run_honest : run_adversary, .kept = zeros(t->outputs)},
        .plan = plan, .held = zeros(t->outputs), .last = zeros(t->inputs), .inputs = t->inputs,
    };
}

static struct harness harness_of(const real *x, size_t inputs, size_t outputs, size_t width, double terms)
{
    return (struct harness){
        .x = copy(x, inputs), .y = zeros(outputs), .original = zeros(outputs), .reference = zeros(outputs),
        .inputs = inputs, .outputs = outputs, .width = width, .terms = terms,
    };
}

/* The naive form, the fast form, and their harness. */
struct race { struct fixture t; struct plan plan[2]; struct runner naive, fast; struct harness harness; };

static void race_open(struct race *r)
{
    r->t = fixture("--grid 5x7 --heads 2", &msa, BATCH, CHANNELS, "", "");
    r->naive = runner(&r->plan[0], &r->t, "naive");
    r->fast = runner(&r->plan[1], &r->t, "fast");
    double products = form_multiply_adds(operator_form(&msa, "naive"), &r->t.problem);
    r->harness = harness_of(r->t.x, r->t.inputs, r->t.outputs, CHANNELS, products / (double)r->t.outputs);
}

static void race_close(struct race *r)
{
    harness_close(&r->harness);
    for (int p = 0; p < 2; p++) plan_release(&r->plan[p]);
}

/* Returns when the harness rejects a form, or NULL; `said` is its message. */
static const char *found(int which, bool with_naive, bool warm, char said[200])
{
    struct race r;
    const struct contestant *fast = &r.fast.contestant;
    const char *when = NULL;
    race_open(&r);
    adversarial = which;
    succeeds(harness_first(&r.harness, &r.naive.contestant));
    succeeds(harness_first(&r.harness, &r.fast.contestant));
    if (fast->rejected) when = "in its first run";
    for (int round = 0; round < ROUNDS && !when; round++) {
        harness_round(&r.harness);
        if (with_naive) succeeds(harness_timed(&r.harness, &r.naive.contestant, warm));
        succeeds(harness_timed(&r.harness, &r.fast.contestant, warm));
        if (fast->rejected) when = "while it was timed";
    }
    if (!when) succeeds(harness_last(&r.harness, &r.fast.contestant));
    if (!when && fast->rejected) when = "in the last check";
    ck_assert(!r.naive.contestant.rejected);
    race_close(&r);
    if (which < 0) equal(r.harness.x, r.t.x, r.t.inputs);
    snprintf(said, 200, "%s", fast->said);
    return when;
}

/* With the right message: adversarial from the first or second call, with or without the naive form, warm or cold. */
TESTS(adversarial_forms_are_rejected, COUNT(adversary))
{
    char said[200];
    for (int way = 0; way < 8; way++) {
        waits = way & 4;
        const char *when = found(_i, way & 1, way & 2, said);
        ck_assert_msg(when, "%s is timed, %s the naive form, %s, adversarial %s its first call", adversary[_i].name,
                      way & 1 ? "with" : "without", way & 2 ? "warm" : "cold", waits ? "after" : "from");
        ck_assert_msg(strstr(said, adversary[_i].why), "%s: %s", adversary[_i].name, said);
        if (way == 0 || way > 5) printf("    %s: rejected %s: %s\n", adversary[_i].name, when, said);
    }
}

/* At the end x is unchanged, to the bit. */
TEST(honest_forms_are_timed)
{
    char said[200];
    waits = false;
    for (int way = 0; way < 4; way++) {
        const char *when = found(-1, way & 1, way & 2, said);
        ck_assert_msg(!when, "rejected %s: %s", when ? when : "", said);
        ck_assert_ptr_nonnull(strstr(said, "agrees to"));
    }
}

/* In a timed run every token differs from the original x, also for one token or one channel; the harness restores x. */
TEST(every_token_changes_in_timed_runs)
{
    static const size_t rows[] = {1, 2, 5, 6}, widths[] = {1, 4};
    for (size_t shape = 0; shape < COUNT(rows) * COUNT(widths); shape++) {
        size_t width = widths[shape % 2], count = rows[shape / 2] * width;
        struct runner r = {.contestant = {.run = keep_x, .kept = zeros(count)}, .held = zeros(count), .inputs = count};
        real *original = normal(5, count);
        struct harness h = harness_of(original, count, count, width, 1);
        harness_round(&h);
        succeeds(harness_timed(&h, &r.contestant, true));
        for (size_t n = 0; n < count; n += width) unequal(r.held + n, original + n, width);
        harness_close(&h);
        equal(h.x, original, count);
    }
}

/* The harness checks a second form against y of the first form, and does not run the first form again. */
TEST(the_first_form_may_be_released)
{
    for (int which = -1; which < 4; which += 4) {           /* none; "nothing at all" after the first run */
        struct race r;
        race_open(&r);
        adversarial = -1;
        succeeds(harness_first(&r.harness, &r.naive.contestant));
        r.naive.contestant.run = NULL;
        succeeds(harness_first(&r.harness, &r.fast.contestant));
        harness_round(&r.harness);
        succeeds(harness_timed(&r.harness, &r.fast.contestant, false));
        adversarial = which;
        succeeds(harness_last(&r.harness, &r.fast.contestant));
        ck_assert_int_eq(r.fast.contestant.rejected, which >= 0);
        race_close(&r);
    }
}

/* ---- disturbed runs -------------------------------------------------------- */

/* Disturbed: less than 0.95 of the wall time is computing, or a time is NaN. */
TEST(a_reading_is_disturbed_beyond_a_twentieth)
{
    static const struct { double wall, computing; bool disturbed; } reading[] = {
        {1, 1, false}, {1, 0.951, false}, {1, 0.949, true}, {1, 0, true}, {1, 1.2, false}, {1e-6, 0.9e-6, true},
        {(double)NAN, 1, true}, {1, (double)NAN, true}, {(double)INFINITY, 1, true},
    };
    for (size_t n = 0; n < COUNT(reading); n++)
        ck_assert_int_eq(reading_is_disturbed(reading[n].wall, reading[n].computing), reading[n].disturbed);
}

/* A thread that sleeps does not compute, so its run is disturbed.  Only the first run sleeps. */
static status run_late(struct contestant *c, real *y, const real *x)
{
    struct stopwatch started = stopwatch_start(1);
    if (!((struct runner *)c)->calls++) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    stopwatch_stop(&started, c);
    return keep_x(c, y, x);
}

TEST(a_sleeping_run_is_disturbed)
{
    struct runner r = {.held = zeros(1), .inputs = 1};
    real x = 1, y;
    succeeds(run_late(&r.contestant, &y, &x));
    ck_assert(r.contestant.disturbed);
    ck_assert(r.contestant.last >= 0.02);
    for (int run = 0; run < 1000 && r.contestant.disturbed; run++) succeeds(run_late(&r.contestant, &y, &x));
    ck_assert(!r.contestant.disturbed);
}

/* Run n, from 1, takes n seconds.  Runs up to number `inputs` are disturbed. */
static status run_disturbed(struct contestant *c, real *y, const real *x)
{
    struct runner *r = (struct runner *)c;
    c->last = ++r->calls;
    c->disturbed = (size_t)r->calls <= r->inputs;
    *y = *x;
    return status_ok();
}

/* Of five runs, 0 to 5 are disturbed.  Only the others count; if most are disturbed, quartiles are NaN. */
TESTS(disturbed_runs_do_not_count, 6)
{
    const struct limits five = {.least = 5, .most = 5, .seconds = 100};
    double seconds[5];
    struct runner r = {.contestant = {.run = run_disturbed, .kept = zeros(1), .seconds = seconds}};
    struct contestant *all = &r.contestant;
    struct harness h = harness_of(normal(5, 1), 1, 1, 1, 1);
    r.inputs = (size_t)_i;
    r.contestant.last = 1;                              /* so that no warm-up run is made */
    succeeds(harness_rounds(&h, &all, 1, &five));
    struct quartiles q = quartiles(all);
    ck_assert_int_eq(all->count, 5);
    ck_assert_int_eq(all->disturbed_runs, _i);
    ck_assert(all->spent == 15);
    if (_i > 2) ck_assert(isnan(q.low) && isnan(q.median) && isnan(q.high));
    else ck_assert(q.median == 3 + _i / 2.0 && q.low == _i + 1 + (4 - _i) / 4.0 && q.high == 5 - (4 - _i) / 4.0);
}

int main(void) { return run_tests("harness"); }
