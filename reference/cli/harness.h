/* harness.h -- the benchmark harness: timed runs whose results are checked
 *
 * A time counts for nothing if y was wrong while the clock ran.  So the harness checks every form before, while and
 * after it is timed, always outside the time:
 *
 * - **Fresh inputs.**  Each run of a form gets an x that no run of it had before: one number of every token is
 *   exchanged for that of another, chosen by the number of the run.  The same exchange undoes it.
 * - **A marked y.**  In every row of y one number is NaN when a run begins.  None may be NaN when it ends.
 * - **x unchanged**, by a checksum over its bits.
 * - **The same y.**  The first run of each form is compared with that of the first form, and so is each timed run while
 *   the first form runs in the same rounds.  The y of one timed run, chosen at random, is compared at the end.
 *
 * The harness trusts the first form; tests cover a result that is wrong in both. */

#ifndef TWICETOLD_HARNESS_H
#define TWICETOLD_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../runtime/real.h"
#include "../runtime/status.h"

/* A form that is measured.  Embed it as the first member of a struct with what `run` needs. */
struct contestant {
    status (*run)(struct contestant *c, real *y, const real *x);    /* leaves its time in `last`; NULL: gone */
    char name[24];
    double rounding;            /* of one number, if coarser than a real's; else 0 */
    bool blind;                 /* x and y are elsewhere, or y has no meaning: nothing is moved, marked or compared */
    double last;                /* seconds of the last run */
    real *kept;                 /* memory for one y */
    uint64_t kept_of;           /* the x that it was made of; 0: nothing is kept */
    bool rejected;
    char said[200];             /* why, or how well it agreed */
    double *seconds, spent;     /* of each timed run, limits.most of them; their sum */
    int count;
};

struct harness {
    real *x, *y;
    real *original, *reference; /* memory for two y: of the original x, and of a later one */
    size_t inputs, outputs;
    size_t width;               /* of a row of x; y has one mark in as many numbers */
    double terms;               /* products summed in one entry of y, at most */
    uint64_t at;                /* which x is there: 0 for the original */
    uint64_t reference_of, round;
    struct contestant *first;   /* made the reference; NULL before the first run */
};

/* A first run, on the original x.  A contestant that is refused stays refused. */
status harness_first(struct harness *j, struct contestant *c);

/* One round is a timed run of each, all on its x.  If `warm`, a run on another x goes before it and does not count. */
void harness_round(struct harness *j);
status harness_timed(struct harness *j, struct contestant *c, bool warm);

/* After the last round.  If the first form is gone, one more run on the original x is compared instead. */
status harness_last(struct harness *j, struct contestant *c);

/* The y that was kept of this contestant, with x as it was for that run; NULL if none was kept. */
const real *harness_kept(struct harness *j, const struct contestant *c);

/* Restores the original x. */
void harness_close(struct harness *j);

/* Timed runs of each contestant: between `least` and `most`, and no more once the next would exceed `seconds`. */
struct limits {
    int least, most;
    double seconds;
};

/* Rounds until all have had their runs, A B C A B C.  A first run that alone takes longer than `seconds` counts as
 * timed. */
status harness_rounds(struct harness *j, struct contestant *const *c, int count, const struct limits *limit);

/* First runs, rounds and last looks.  Fails if a contestant is refused. */
status harness_race(struct harness *j, struct contestant *const *c, int count, const struct limits *limit);

/* Quartiles of the seconds of at least one run, linear between neighbours.  Sorts them. */
struct quartiles { double low, median, high; };
struct quartiles quartiles(const struct contestant *c);

#endif
