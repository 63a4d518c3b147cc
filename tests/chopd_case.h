/* chopd_case.h -- how much rounding may show between two ways to a layer of chapter 4
 *
 * Both ways start from the same x and parameters, which are standard normal,
 * scaled by their fan, and differ in the order of their sums.  Rounding errors
 * of a sum of n terms grow like sqrt(n) u (Higham and Mary, SIAM J. Sci.
 * Comput. 41, 2019, lambda = 8). */

#ifndef TWICETOLD_TESTS_CHOPD_CASE_H
#define TWICETOLD_TESTS_CHOPD_CASE_H

#include <math.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../reference/chopd.h"
#include "../reference/dfc.h"

/* fc: one sum of M C products. */
static inline double fc_tolerance(const struct problem *p)
{
    struct dfc_sizes s = dfc_sizes(p);
    return 8 * (sqrt((double)(s.M * s.C)) + 2) * UNIT_ROUNDOFF;
}

/* dfc-cp: M C products, each with a weight that is a sum of R products of five;
 * or sums of C, M and R one after the other; sigma adds a few roundings. */
static inline double cp_tolerance(const struct problem *p)
{
    struct dfc_sizes s = dfc_sizes(p);
    return 8 * (sqrt((double)(s.M * s.C)) + sqrt((double)s.C) + sqrt((double)s.M) + 2 * sqrt((double)s.R) + 10) * UNIT_ROUNDOFF;
}

/* chopd: N C products, each with a weight that is a sum of R products; or sums
 * of C, of a box, and of R.  A box by running sums: with tokens of no mean, rows
 * of W tokens make sums of order sqrt(W), columns sums of order sqrt(H w), and h
 * of each are between the edges of a box of h x w: sqrt(W / w) + sqrt(H) roundings
 * of the mean, which is of order 1 / sqrt(h w).  The gate is computed once; its
 * resizing and sigma add a few. */
static inline double chopd_tolerance(const struct problem *p)
{
    struct chopd_sizes s = chopd_sizes(p);
    double sums = sqrt((double)(s.N * s.C)) + sqrt((double)s.C) + 2 * sqrt((double)s.R);
    return 8 * (sums + sqrt((double)s.W) + sqrt((double)s.H) + 16) * UNIT_ROUNDOFF;
}

static inline double layer_tolerance(const struct problem *p)
{
    if (p->declaration == &fc) return fc_tolerance(p);
    return p->declaration == &dfc_cp ? cp_tolerance(p) : chopd_tolerance(p);
}

#endif
