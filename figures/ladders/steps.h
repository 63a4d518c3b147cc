/* steps.h -- a ladder from the plain form to nearly the fast form, one idea per step
 *
 * Each step is a struct form, so plans, projections, threads and tests work for it.  It is in no list of forms; only
 * ladder.c and its test run it.  It may reject options, and use code of naive/ and fast/. */

#pragma once
#include "../../reference/runtime/plan.h"

/* Bytes of one run of all heads, by formula: the work for each pair of tokens.
 *
 * asked    read from or written to the caches by the loops.  Local variables, and values that are constant in the
 *          innermost loop, count once.
 * moved    between the L1 cache and the next level.  L1 holds a few rows and a tile, but no array of N rows. */
struct traffic { double asked, moved; };

struct step {
    const char *idea;           /* a short description */
    struct form form;
};

extern const struct step msa_steps[];   /* of self-attention, from the plain form on; ends at an idea of NULL */

struct traffic msa_traffic(const void *params, int step);
