/* harness.h -- the benchmark harness: timed runs whose results are checked
 *
 * A time is worthless if y is wrong in the timed run.  So the harness checks every form before, during and after the
 * timed runs; the checks are not timed:
 *
 * - **Fresh inputs.**  Each run of a form gets a new x: one number of every token is exchanged with that of another
 *   token, chosen by the number of the run.
 * - **A marked y.**  One in every `width` numbers of y is NaN before a run; none may be after it.
 * - **x unchanged**, by a checksum of its bits.
 * - **The same y.**  The first run of each form is compared with that of the first form.  So is each timed run while
 *   the first form runs in the same rounds.  The y of one timed run, chosen at random, is compared at the end.
 *
 * The harness trusts the first form; tests cover results that are wrong in both.
 *
 * Times are wall times.  A run is disturbed if its threads could not compute for more than 1/20 of its time, because
 * other programs had the cores.  Disturbed runs are counted, but their times are discarded. */

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../runtime/real.h"
#include "../runtime/status.h"

/* A form that is measured.  Embed it as the first member of a struct with what `run` needs. */
struct contestant {
    status (*run)(struct contestant *c, real *y, const real *x);    /* sets `last`, `disturbed`; NULL: plan released */
    char name[24];
    double rounding;            /* unit roundoff of its factors, if larger than that of real; else 0 */
    bool blind;                 /* x and y are elsewhere, or y has no meaning: do not exchange, mark or compare */
    double last;                /* seconds of the last run */
    bool disturbed;             /* the last run */
    real *kept;                 /* memory for one y */
    uint64_t kept_of;           /* number of the x of `kept`; 0: nothing is kept */
    bool rejected;
    char said[200];             /* why it is rejected, or how well it agrees */
    double *seconds, spent;     /* of each undisturbed run, [limits.most]; the sum of all timed runs */
    int count, disturbed_runs;  /* timed runs; those that were disturbed */
};

/* Times one run on this many threads. */
struct stopwatch {
    double wall, computing;
    int threads;
};
struct stopwatch stopwatch_start(int threads);
void stopwatch_stop(const struct stopwatch *started, struct contestant *c);     /* sets `last` and `disturbed` */

/* True if more than 1/20 of the wall time was not computing time, or if a time is NaN. */
bool reading_is_disturbed(double wall, double computing);

struct harness {
    real *x, *y;
    real *original, *reference; /* memory for two y: of the original x, and of a later one */
    size_t inputs, outputs;
    size_t width;               /* of a row of x; y has one mark in this many numbers */
    double terms;               /* the most products in an entry of y */
    uint64_t at;                /* number of the present x; 0 is the original */
    uint64_t reference_of, round;   /* numbers of the x of `reference`, and of the round */
    struct contestant *first;   /* computed the reference; NULL before the first run */
};

/* The first run, on the original x.  A rejected contestant remains rejected. */
status harness_first(struct harness *j, struct contestant *c);

/* A round is one timed run of each contestant, all on the same x.  If `warm`, a run on another x precedes it,
 * untimed. */
void harness_round(struct harness *j);
status harness_timed(struct harness *j, struct contestant *c, bool warm);

/* Call this after the last round.  If the first form is released, it compares one more run on the original x. */
status harness_last(struct harness *j, struct contestant *c);

/* The kept y of this contestant, after restoring the x of that run; NULL if none was kept. */
const real *harness_kept(struct harness *j, const struct contestant *c);

/* Restores the original x. */
void harness_close(struct harness *j);

/* Timed runs of each contestant: from `least` to `most`, and after `least` none that would exceed `seconds`. */
struct limits {
    int least, most;
    double seconds;
};

/* Rounds until all contestants have had their runs, A B C A B C.  A first run longer than `seconds` counts as timed. */
status harness_rounds(struct harness *j, struct contestant *const *c, int count, const struct limits *limit);

/* First runs, rounds and last checks.  Fails if a contestant is rejected. */
status harness_race(struct harness *j, struct contestant *const *c, int count, const struct limits *limit);

/* Quartiles of the undisturbed runs, linear between neighbours; NaN if more than half of the runs were disturbed.
 * Sorts the seconds. */
struct quartiles { double low, median, high; };
struct quartiles quartiles(const struct contestant *c);
