/* msa_case.h -- the resolved problem and the tolerance of self-attention, for its two suites */

#pragma once
#include "../support/fixture.h"
#include "../../reference/msa.h"

static inline struct msa_problem msa_resolved(const struct problem *p)
{
    struct msa_problem m;
    succeeds(msa.resolve(&m, p));
    return m;
}

/* The forms start from the same projections.  A score sums c products; its absolute error is the relative error of a
 * weight.  n weights and n products are summed.  The exponential, the scale and the division count 10.
 * Probabilistic bound (roundoff.h): 8 (sqrt c + 2 sqrt n + 10) u. */
static inline double msa_tolerance(const struct problem *p)
{
    const struct msa_problem m = msa_resolved(p);
    return 8 * (sqrt((double)m.heads.c) + 2 * sqrt((double)m.windows.entries) + 10) * UNIT_ROUNDOFF;
}
