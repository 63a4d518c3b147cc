/* harness.c -- the benchmark harness; see harness.h */

#define _POSIX_C_SOURCE 200809L

#include "harness.h"
#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../runtime/random.h"

#define SHORT_RUN 0.05          /* seconds; a shorter run is preceded by one that warms the caches */

/* Streams of random numbers: positions in a row of x and of y; the round whose y is kept. */
enum { SEED = 20, EXCHANGE = 1, MARK, KEEP };

/* ---- the clock --------------------------------------------------------- */

/* Seconds that the threads of this process have waited for a core, all together; 0 if the system has no such count. */
static double waited_seconds(void)
{
    double sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[sizeof task->d_name + 32], line[96], *second;
        if (*task->d_name == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f)) {
            (void)strtod(line, &second);                /* nanoseconds on a core, nanoseconds waiting for one */
            sum += 1e-9 * strtod(second, NULL);
        }
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return sum;
}

/* A clock that stands still while other programs have our cores.  One thread computes all the time, so this is its
 * processor time.  Several threads may sleep until others are done, so only waiting for a core stops their clock. */
static double computing_seconds(int threads)
{
    struct timespec t;
    if (threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)) return omp_get_wtime() - waited_seconds();
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct stopwatch stopwatch_start(int threads)
{
    double computing = computing_seconds(threads);      /* first, so that it includes the cost of both clocks */
    return (struct stopwatch){.wall = omp_get_wtime(), .computing = computing, .threads = threads};
}

void stopwatch_stop(const struct stopwatch *started, struct contestant *c)
{
    c->last = omp_get_wtime() - started->wall;
    c->disturbed = reading_is_disturbed(c->last, computing_seconds(started->threads) - started->computing);
}

bool reading_is_disturbed(double wall, double computing) { return !(0.95 * wall <= computing); }

/* ---- x ---------------------------------------------------------------- */

/* Exchanges one number of row n with one of row n from the end; a middle row, two of its own.  A second call undoes
 * it. */
static void exchange(struct harness *j, uint64_t order)
{
    size_t rows = j->inputs / j->width;
    for (size_t n = 0; n < (rows + 1) / 2 && order; n++) {
        size_t m = rows - 1 - n, c = random_bits(SEED + order, EXCHANGE, n) % j->width;
        real *a = j->x + n * j->width + c, *b = j->x + m * j->width + (m == n ? (c + 1) % j->width : c), held = *a;
        *a = a == b ? -*b : *b;
        if (a != b) *b = held;
    }
}

static void give(struct harness *j, uint64_t order)
{
    exchange(j, j->at);
    exchange(j, order);
    j->at = order;
}

/* A checksum of the bits that weights each place differently. */
static uint64_t bits_of(const real *a, size_t count)
{
    uint64_t sum = 0;
    for (size_t n = 0; n < count; n++) {
        uint64_t bits = 0;
        memcpy(&bits, a + n, sizeof *a);
        sum += bits * (2 * n + 1);
    }
    return sum;
}

/* ---- y ---------------------------------------------------------------- */

/* The position of the n-th mark: one in each `width` entries, and one in the remainder. */
static size_t mark_at(const struct harness *j, uint64_t order, size_t n)
{
    size_t from = n * j->width, left = j->outputs - from < j->width ? j->outputs - from : j->width;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): n < marks, so left > 0 */
    return from + random_bits(SEED + order, MARK, n) % left;
}

static size_t marks(const struct harness *j) { return (j->outputs + j->width - 1) / j->width; }

static void reject(struct contestant *c, const char *why)
{
    c->rejected = true;
    snprintf(c->said, sizeof c->said, "%s", why);
}

/* Compares y with the result of the first form.  An entry of y is a chain of sums over at most `terms` products.
 * Independent rounding errors of a sum of either sign are u sqrt(terms / 6) of the root mean square
 * (tests/support/roundoff.h); 8 sqrt(terms) u leaves a factor of 20 for the other form and for further steps.  A form
 * that rounds to fewer digits rounds four numbers for each entry: a query, a key, a weight and a value. */
static void same(const struct harness *j, struct contestant *c, const real *y, const real *expected, const char *when)
{
    double square = 0, difference = 0;
    for (size_t i = 0; i < j->outputs; i++) {
        double reference = (double)expected[i], d = (double)y[i] - reference;
        square += reference * reference;
        difference += d * d;
    }
    double error = square > 0 ? sqrt(difference / square) : sqrt(difference);
    double allowed = 8 * sqrt(j->terms) * (double)REAL_EPSILON / 2;
    allowed += 32 * sqrt(4) * fmax(c->rounding, j->first->rounding);
    bool holds = isfinite(square) && error <= allowed;
    c->rejected |= !holds;
    snprintf(c->said, sizeof c->said, "%s %.2g of its root mean square%s, allowed %.2g",
             holds ? "agrees to" : "differs by", error, when, allowed);
}

/* One run on the present x, with the checks that need no other run. */
static status checked_run(struct harness *j, struct contestant *c)
{
    uint64_t before = bits_of(j->x, j->inputs);
    for (size_t n = 0; n < marks(j) && !c->blind; n++) j->y[mark_at(j, j->at, n)] = (real)NAN;
    status s = c->run(c, j->y, j->x);
    if (s.code) return s;
    for (size_t n = 0; n < marks(j) && !c->blind && !c->rejected; n++)
        if (isnan(j->y[mark_at(j, j->at, n)])) reject(c, "leaves entries of y as they were, or makes NaN of them");
    if (bits_of(j->x, j->inputs) != before) reject(c, "writes to x");
    return s;
}

/* ---- one contestant ---------------------------------------------------- */

status harness_first(struct harness *j, struct contestant *c)
{
    give(j, 0);
    for (size_t n = 0; n < j->outputs; n++) j->y[n] = (real)NAN;
    status s = checked_run(j, c);
    if (s.code || c->rejected) return s;
    if (!j->first) {
        memcpy(j->original, j->y, j->outputs * sizeof *j->y);
        j->first = c;
    }
    same(j, c, j->y, j->original, "");
    return s;
}

void harness_round(struct harness *j) { j->round++; }

status harness_timed(struct harness *j, struct contestant *c, bool warm)
{
    uint64_t order = 2 * j->round;
    status s;

    /* Step 1: the untimed run, on another x. */
    if (warm && !c->blind) give(j, order + 1);
    if (warm && (s = c->run(c, j->y, j->x)).code) return s;

    /* Step 2: the timed run. */
    if (!c->blind) give(j, order);
    if ((s = checked_run(j, c)).code || c->rejected || c->blind) return s;

    /* Step 3: compare now if the first form ran on this x.  Round r replaces the kept y with probability 1 / r; the
     * choice is the same for all contestants. */
    if (c == j->first) {
        memcpy(j->reference, j->y, j->outputs * sizeof *j->y);
        j->reference_of = order;
    } else if (j->reference_of == order) {
        same(j, c, j->y, j->reference, " while it was timed");
    }
    if (!c->rejected && random_uniform(SEED, KEEP, j->round) * (double)j->round < 1) {
        memcpy(c->kept, j->y, j->outputs * sizeof *j->y);
        c->kept_of = order;
    }
    return s;
}

status harness_last(struct harness *j, struct contestant *c)
{
    status s = status_ok();
    bool alone = !j->first || !j->first->run;
    if (c->rejected || c == j->first || !(c->kept_of || c->blind)) return s;
    if (c->blind || alone) {            /* run once more, and check that */
        c->blind = false;
        c->kept_of = alone ? 0 : 2 * j->round + 3;
        give(j, c->kept_of);
        if ((s = checked_run(j, c)).code || c->rejected) return s;
        memcpy(c->kept, j->y, j->outputs * sizeof *j->y);
    }
    if (!alone && j->reference_of != c->kept_of) {
        give(j, c->kept_of);
        if ((s = j->first->run(j->first, j->y, j->x)).code) return s;
        memcpy(j->reference, j->y, j->outputs * sizeof *j->y);
        j->reference_of = c->kept_of;
    }
    same(j, c, c->kept, alone ? j->original : j->reference, " when it was timed");
    return s;
}

const real *harness_kept(struct harness *j, const struct contestant *c)
{
    if (!c->kept_of) return NULL;
    give(j, c->kept_of);
    return c->kept;
}

void harness_close(struct harness *j) { give(j, 0); }

/* ---- all of them -------------------------------------------------------- */

static void record(struct contestant *c)
{
    if (c->disturbed) c->disturbed_runs++;
    else c->seconds[c->count - c->disturbed_runs] = c->last;
    c->count++;
    c->spent += c->last;
}

static bool finished(const struct contestant *c, const struct limits *limit)
{
    return c->rejected || c->count >= limit->most ||
           (c->count >= limit->least && c->spent + c->last > limit->seconds);
}

status harness_rounds(struct harness *j, struct contestant *const *c, int count, const struct limits *limit)
{
    for (int n = 0; n < count; n++)
        if (!c[n]->rejected && c[n]->last > limit->seconds) record(c[n]);
    for (bool running = true; running;) {
        running = false;
        harness_round(j);
        for (int n = 0; n < count; n++) {
            if (finished(c[n], limit)) continue;
            status s = harness_timed(j, c[n], c[n]->last < SHORT_RUN);
            if (s.code) return s;
            if (!c[n]->rejected) record(c[n]);
            running = true;
        }
    }
    return status_ok();
}

/* Calls `look` for each contestant that is not blind; an error if one is rejected. */
static status each(struct harness *j, struct contestant *const *c, int count,
                   status (*look)(struct harness *, struct contestant *))
{
    status s = status_ok();
    for (int n = 0; n < count && !s.code; n++) {
        if (!c[n]->blind && !c[n]->rejected) s = look(j, c[n]);
        if (!s.code && c[n]->rejected) s = failure("%s %s; not timed", c[n]->name, c[n]->said);
    }
    return s;
}

status harness_race(struct harness *j, struct contestant *const *c, int count, const struct limits *limit)
{
    status s = each(j, c, count, harness_first);
    if (!s.code) s = harness_rounds(j, c, count, limit);
    return s.code ? s : each(j, c, count, harness_last);
}

/* ---- quartiles ----------------------------------------------------------- */

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const struct contestant *c, int count, double q)
{
    double at = q * (count - 1);
    int low = (int)at, high = low + 1 < count ? low + 1 : low;
    return c->seconds[low] + (at - low) * (c->seconds[high] - c->seconds[low]);
}

struct quartiles quartiles(const struct contestant *c)
{
    int count = c->count - c->disturbed_runs;
    if (c->disturbed_runs > count) return (struct quartiles){(double)NAN, (double)NAN, (double)NAN};
    qsort(c->seconds, (size_t)count, sizeof *c->seconds, order);
    return (struct quartiles){quantile(c, count, 0.25), quantile(c, count, 0.5), quantile(c, count, 0.75)};
}
