/* test_harness.c -- adversarial forms, and the benchmark harness that must reject them
 *
 * Fifteen wrong ways to be fast, each around the fast form of self-attention, run under the judge of `measure`
 * (reference/cli/harness.h) as measure runs forms: a first run, timed rounds with or without the naive form, a last look. Not
 * covered: a form that is right in most runs where the naive form does not run and few runs are looked at; a form that
 * knows the judge. */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../support/support.h"
#include "../support/fixture.h"
#include "../../reference/msa.h"
#include "../../reference/cli/harness.h"

enum { ROUNDS = 6, BATCH = 2, TOKENS = 35, CHANNELS = 16 };

/* A form on its plan, and what a cheat remembers. */
struct runner {
    struct contestant judged;       /* first, so that the one is the other */
    struct plan *plan;
    real *held, *last;              /* a y, the beginning of an x */
    const real *where;
    size_t inputs;
    int calls;
};
static_assert(offsetof(struct runner, judged) == 0, "first");

static status honest(struct runner *r, real *y, const real *x) { return plan_run(r->plan, y, x); }

/* ---- cheats ------------------------------------------------------------- */

enum { ALL = BATCH * TOKENS * CHANNELS };

/* True if this call computes; otherwise y is what an earlier call computed.  The first call; every seventh call; x at
 * another address; x with another beginning. */
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

/* Entry n in place of y[n]: the last three tokens are those before them; the 11 digits of a half. */
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

/* What a cheat does, and what is said of it; it leaves entries `from` up to `to` of y as they were. */
#define UNWRITTEN "leaves entries of y as they were"
static const struct adversary {
    const char *name, *why;
    bool (*works)(struct runner *r, const real *x);         /* NULL: in each call */
    double (*change)(const real *y, size_t n);
    size_t from, to;
    bool late, writes_to_x;                                 /* late: y is what the call before has computed */
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

static status run_as(const struct adversary *c, struct runner *r, real *y, const real *x)
{
    status s = status_ok();
    bool later = c->late && r->calls;
    if (!later && (!c->works || c->works(r, x))) s = honest(r, r->held, x);
    for (size_t n = 0; n < ALL; n++)
        if (n < c->from || n >= c->to) y[n] = c->change ? (real)c->change(r->held, n) : r->held[n];
    if (later) s = honest(r, r->held, x);
    if (c->writes_to_x) ((real *)x)[r->inputs - 1] /= 2;
    return s;
}

/* ---- a race --------------------------------------------------------------- */

static int adversarial;                /* which, or -1: none */
static bool waits;                  /* until its first call is over */

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

/* A form whose y is x. */
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
        .judged = {.run = !strcmp(form, "naive") ? run_honest : run_adversary, .kept = zeros(t->outputs)}, .plan = plan,
        .held = zeros(t->outputs), .last = zeros(t->inputs), .inputs = t->inputs,
    };
}

static struct harness harness_of(const real *x, size_t inputs, size_t outputs, size_t width, double terms)
{
    return (struct harness){
        .x = copy(x, inputs), .y = zeros(outputs), .original = zeros(outputs), .reference = zeros(outputs),
        .inputs = inputs, .outputs = outputs, .width = width, .terms = terms,
    };
}

/* The naive form and the fast one, honest or not, and their judge. */
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

/* When the cheat was found: in its first run, in a round, at the last look; or never. */
static const char *found(int which, bool beside, bool warm, char said[200])
{
    struct race r;
    const struct contestant *fast = &r.fast.judged;
    const char *when = NULL;
    race_open(&r);
    adversarial = which;
    succeeds(harness_first(&r.harness, &r.naive.judged));
    succeeds(harness_first(&r.harness, &r.fast.judged));
    if (fast->rejected) when = "in its first run";
    for (int round = 0; round < ROUNDS && !when; round++) {
        harness_round(&r.harness);
        if (beside) succeeds(harness_timed(&r.harness, &r.naive.judged, warm));
        succeeds(harness_timed(&r.harness, &r.fast.judged, warm));
        if (fast->rejected) when = "while it was timed";
    }
    if (!when) succeeds(harness_last(&r.harness, &r.fast.judged));
    if (!when && fast->rejected) when = "when all was over";
    ck_assert(!r.naive.judged.rejected);
    race_close(&r);
    if (which < 0) equal(r.harness.x, r.t.x, r.t.inputs);
    snprintf(said, 200, "%s", fast->said);
    return when;
}

/* From the first call on or after it, with the naive form in the rounds or not, warmed up or not; the reason is
 * given. */
START_TEST(adversarial_forms_are_rejected)
{
    char said[200];
    for (int way = 0; way < 8; way++) {
        waits = way & 4;
        const char *when = found(_i, way & 1, way & 2, said);
        ck_assert_msg(when, "%s is timed, %s the naive form, %s, %s", adversary[_i].name, way & 1 ? "beside" : "without",
                      way & 2 ? "warmed up" : "cold", waits ? "once its first call is over" : "from its first call on");
        ck_assert_msg(strstr(said, adversary[_i].why), "%s: %s", adversary[_i].name, said);
        if (way == 0 || way > 5) printf("    %s: found %s: %s\n", adversary[_i].name, when, said);
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
        struct harness j = harness_of(drawn, count, count, width, 1);
        harness_round(&j);
        succeeds(harness_timed(&j, &r.judged, true));
        for (size_t n = 0; n < count; n += width) unequal(r.held + n, drawn + n, width);
        harness_close(&j);
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
        adversarial = -1;
        succeeds(harness_first(&r.harness, &r.naive.judged));
        r.naive.judged.run = NULL;
        succeeds(harness_first(&r.harness, &r.fast.judged));
        harness_round(&r.harness);
        succeeds(harness_timed(&r.harness, &r.fast.judged, false));
        adversarial = which;
        succeeds(harness_last(&r.harness, &r.fast.judged));
        ck_assert_int_eq(r.fast.judged.rejected, which >= 0);
        race_close(&r);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cheats");
    TCase *cases = add_case(suite, "the judge");
    tcase_add_loop_test(cases, adversarial_forms_are_rejected, 0, (int)COUNT(adversary));
    tcase_add_test(cases, honest_forms_are_timed);
    tcase_add_test(cases, every_token_is_fresh);
    tcase_add_test(cases, the_first_form_may_be_gone);
    return run_suite(suite);
}
