/* judge.h -- whether what is timed is what was asked for
 *
 * A time counts for nothing if y was wrong while the clock ran.  So the forms of a race
 * (measure.c) run under this judge, before a form is timed, while it is, and after:
 *
 * - **Fresh inputs.**  No run gets an x that any run of the form has had before: one number of every
 *   token is exchanged for that of another.  Which ones hangs on the run and on the place;
 *   the same exchange once more gives x back, so that any x can be had again.
 * - **A marked y.**  In every row of y one number is NaN when a run begins, and none may be when
 *   it ends.
 * - **x as it was**, by a sum over its bits.
 * - **The same y.**  The first run of each form is compared with that of the first form; so is each
 *   timed run, as long as the first form runs beside it; and of each form the y of one
 *   timed run, which chance has chosen, is kept, and compared when all is over: the first form
 *   runs once more then, on the x of that run.
 *
 * None of this is timed, and before a timed run little of it happens, in memory that the run
 * itself reads or writes first: a number of each row is touched.
 *
 * It trusts the first form.  What passes may still be wrong where both are; that is what
 * the proofs are for. */

#ifndef TWICETOLD_JUDGE_H
#define TWICETOLD_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../reference/real.h"
#include "../reference/status.h"

/* Who is judged: a form, and where its own things are. */
struct contestant {
    status (*run)(struct contestant *c, real *y, const real *x);    /* leaves its time in `last`; NULL: gone */
    double rounding;            /* of one number, where that is coarser than a real's; else 0 */
    bool blind;                 /* x and y are elsewhere: nothing can be moved or marked */
    double last;                /* seconds of the last run */
    real *kept;                 /* room for one y */
    uint64_t kept_of;           /* the x that it was made of; 0 where nothing is kept */
    bool refused;
    char said[200];             /* why, or how well it agreed */
};

struct judge {
    real *x, *y;
    real *original, *reference;         /* y of the x that was drawn, and of a later one: room for both */
    size_t inputs, outputs, width;      /* of a row of x, and what y is marked by */
    double terms;               /* products behind one entry of y, at most */
    uint64_t at;                /* which x is there: 0 as it was drawn */
    uint64_t reference_of, round;
    struct contestant *first;   /* who made the reference; NULL as yet */
};

/* A first run, on the x that was drawn.  A contestant that is refused stays so. */
status judge_first(struct judge *j, struct contestant *c);

/* One round: a timed run of each, all on the x of that round.  Where `warm`, a run that
 * does not count goes before it, on another x. */
void judge_round(struct judge *j);
status judge_timed(struct judge *j, struct contestant *c, bool warm);

/* After the last round.  Where the first form is gone, a run more on the x that was drawn has to do. */
status judge_last(struct judge *j, struct contestant *c);

/* The y of this contestant that was kept, and x once more as it was for that run; NULL where none is. */
const real *judge_kept(struct judge *j, const struct contestant *c);

/* x as it was drawn. */
void judge_close(struct judge *j);

#endif
