/* steps.h -- two ladders from the plain form to nearly the fast form, one idea per step
 *
 * Each step is a struct form, so plans, projections, threads and tests work for it.  It is in no list of forms; only
 * ladder.c and its test run it.  It may reject options, and use code of naive/ and fast/. */

#pragma once
#include "../../reference/runtime/plan.h"

/* Bytes of one run of all heads, by formula: the work for each pair of tokens, or each point of a spectrum.
 *
 * asked    read from or written to the caches by the loops.  Local variables, and values that are constant in the
 *          innermost loop, count once.
 * moved    between the L1 cache and the next level.  L1 holds a few rows, a tile and the signal of one channel, but no
 *          array of N rows and no signals of all lanes.  A number read by itself moves 64 bytes. */
struct traffic { double asked, moved; };

struct step {
    const char *idea;           /* a short description */
    struct form form;
};

struct ladder {
    const struct declaration *declaration;
    const struct step *step;    /* from the plain form on; ends at an idea of NULL */
    struct traffic (*traffic)(const void *params, int step);
};

extern const struct ladder msa_ladder, lisa_ladder;

/* The number of the step that has this form. */
static inline int step_number(const struct ladder *ladder, const struct form *form)
{
    int r = 0;
    while (&ladder->step[r].form != form) r++;
    return r;
}
