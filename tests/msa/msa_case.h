/* msa_case.h -- the resolved problem of self-attention, for its two suites */

#pragma once
#include "../support/fixture.h"
#include "../../reference/msa.h"

static inline struct msa_problem msa_resolved(const struct problem *p)
{
    struct msa_problem m;
    succeeds(msa.resolve(&m, p));
    return m;
}
