/* profile.h -- the time of a network, by kind of step
 *
 * A run leaves the seconds of each step in its part (network.h).  These functions add them up by kind, with the
 * multiply-adds of the same steps.  The additions to x between steps are a kind of their own, "x + f", without
 * multiply-adds. */

#ifndef TWICETOLD_PROFILE_H
#define TWICETOLD_PROFILE_H

#include "network.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NETWORK_KINDS 32

struct network_kind {
    const char *what;           /* an operator, a layer, "x + f", or "all" */
    size_t steps;
    double seconds, multiply_adds;
};

/* The kinds of the last run, the slowest first; how many.  *all is their sum. */
int network_kinds(struct network_kind kind[NETWORK_KINDS], struct network_kind *all, const struct network *n);

/* Amdahl's law: how many times faster all would be if this kind took no time. */
double network_if_free(const struct network_kind *kind, const struct network_kind *all);

/* One warm-up, then `runs` runs.  Keeps each step's minimum, which other processes disturb least. */
status network_profile(struct network *n, real *logits, const real *x, int runs);

#ifdef __cplusplus
}
#endif

#endif
