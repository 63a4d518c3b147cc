/* harness.h -- the benchmark harness: timed runs whose results are checked
 *
 * A time counts for nothing if y was wrong while the clock ran.  So the harness watches every form before it is timed,
 * while it is timed, and afterwards:
 *
 * - **Fresh inputs.**  Each run of a form gets an x that no run of it had before: one number of every token is
 *   exchanged for that of another.  The number of the run chooses which.  The same exchange undoes it.
 * - **A marked y.**  In every row of y one number is NaN when a run begins.  None may be NaN when it ends.
 * - **x unchanged**, by a checksum over its bits.
 * - **The same y.**  The first run of each form is compared with that of the first form.  So is each timed run while
 *   the first form runs in the same rounds.  The y of one timed run of each form, chosen at random, is kept and
 *   compared at the end: the first form runs once more on the x of that run.
 *
 * None of this is timed.  Before a timed run it touches one number of each row, in memory that the run itself uses
 * first.
 *
 * The harness trusts the first form.  A result that passes may still be wrong where both forms are wrong; the proofs
 * cover that. */

#ifndef TWICETOLD_JUDGE_H
#define TWICETOLD_JUDGE_H

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
    bool refused;
    char said[200];             /* why, or how well it agreed */
    double *seconds, spent;     /* of each timed run, limits.most of them; their sum */
    int count;
};

struct judge {
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
status judge_first(struct judge *j, struct contestant *c);

/* One round is a timed run of each, all on the x of that round.  If `warm`, a run on another x goes before it and does
 * not count. */
void judge_round(struct judge *j);
status judge_timed(struct judge *j, struct contestant *c, bool warm);

/* After the last round.  If the first form is gone, one more run on the original x is compared instead. */
status judge_last(struct judge *j, struct contestant *c);

/* The y that was kept of this contestant, with x as it was for that run; NULL if none was kept. */
const real *judge_kept(struct judge *j, const struct contestant *c);

/* Restores the original x. */
void judge_close(struct judge *j);

/* Timed runs of each contestant: between `least` and `most`, and no more once the next would exceed `seconds`. */
struct limits {
    int least, most;
    double seconds;
};

/* Rounds until all contestants have had their runs: A B C A B C, so that a slow moment of the machine affects all of
 * them.  A first run that alone takes longer than `seconds` counts as timed. */
status judge_rounds(struct judge *j, struct contestant *const *c, int count, const struct limits *limit);

/* First runs, rounds and last looks.  Fails if a contestant is refused. */
status judge_race(struct judge *j, struct contestant *const *c, int count, const struct limits *limit);

/* Quartiles of the seconds of at least one run, linear between neighbours.  Sorts them. */
struct quartiles { double low, median, high; };
struct quartiles quartiles(const struct contestant *c);

#endif
