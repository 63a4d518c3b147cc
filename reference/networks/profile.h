/* profile.h -- the time of a network, by kind of step
 *
 * A run records the seconds of each step in its part (network.h).  These functions add up seconds and multiply-adds by
 * kind.  The additions to x have their own kind, "x + f", without multiply-adds. */

#pragma once
#include "network.h"

BEGIN_C_DECLS

#define NETWORK_KINDS 32

struct network_kind {
    const char *what;           /* an operator, a layer, "x + f", or "all" */
    size_t steps;
    double seconds, multiply_adds;
};

/* Lists the kinds of the last run, the slowest first, and returns their number.  *all is their sum. */
int network_kinds(struct network_kind kind[NETWORK_KINDS], struct network_kind *all, const struct network *n);

/* Amdahl's law: the speedup of the network if this kind took no time. */
double network_if_free(const struct network_kind *kind, const struct network_kind *all);

/* Runs the network runs + 1 times; the first run warms the caches.  Keeps each step's minimum, which other processes
 * disturb least. */
status network_profile(struct network *n, real *logits, const real *x, int runs);

END_C_DECLS
