/* steps.h -- two ladders: from the equation to what is nearly the fast form, one idea a rung
 *
 * A rung is to be read, proved and measured, in this order, and each beside the one
 * before.  It is a struct form, so that plans, projections, threads and proofs serve it
 * as they serve any other; but no list of forms has it, and no program runs it but
 * figures/ladders/ladder.c.  So it may do what a form may not: it refuses options, and borrows
 * from naive/ and fast/ alike.  What it shows is the way.  The fast forms know other
 * tricks besides, and every option (fast/tuned/attention.c, fast/tuned/lisa/lisa.c). */

#ifndef TWICETOLD_RUNGS_H
#define TWICETOLD_RUNGS_H

#include "../../reference/runtime/plan.h"

/* Bytes of one run of all hearts, by formula.
 *
 * asked    what the loops ask of the caches; what a local variable holds, or what stays the
 *          same while the innermost loop turns, is asked for once
 * moved    what comes to the first cache from beyond it, or leaves it.  It holds a few rows,
 *          a tile, the signal of one channel; no array of N rows, and no signals of all
 *          lanes.  A number that is taken alone comes with its line of 64 bytes.
 *
 * Both count what is done for each pair of tokens, or for each point of a spectrum, and leave
 * out what is done once for each token. */
struct traffic { double asked, moved; };

struct rung {
    const char *idea;           /* in few words */
    struct form form;
};

struct ladder {
    const struct declaration *of;
    const struct rung *rung;    /* the first is the naive form's hearts; ends at an idea of NULL */
    struct traffic (*traffic)(const void *of, int rung);
};

extern const struct ladder msa_ladder, lisa_ladder;

#endif
