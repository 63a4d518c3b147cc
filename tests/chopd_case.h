/* chopd_case.h -- how much rounding may show between two ways to a layer of chapter 4:
 * a probabilistic bound of the largest error (roundoff.h)
 *
 * Both ways start from the same x and parameters, which are standard normal,
 * scaled by their fan, and differ in the order of their sums.  Rounding errors
 * of a sum of n terms grow like sqrt(n) u (Higham and Mary, SIAM J. Sci.
 * Comput. 41, 2019, lambda = 8). */

#ifndef TWICETOLD_TESTS_CHOPD_CASE_H
#define TWICETOLD_TESTS_CHOPD_CASE_H

#include <math.h>
#include "support.h"
#include "../naive/chopd.h"
#include "../reference/dfc.h"

/* The problem of a chopd, resolved. */
static inline struct chopd_problem chopd_of(const struct problem *p)
{
    struct chopd_problem of;
    succeeds(chopd.resolve(&of, p));
    return of;
}

/* Eq. 9 of all images: u13 [B][N][R]. */
static inline real *gates(const struct chopd_problem *p, const real *x)
{
    size_t cells = p->s * p->s;
    const struct chopd_gate phi = {
        zeros(cells * p->R), zeros(cells * p->C), zeros(cells * 9 * p->C), zeros(cells * p->S),
    };
    real *u13 = zeros(p->B * p->N * p->R);
    for (size_t i = 0; i < p->B; i++) {
        chopd_gate(&phi, 0, x + i * p->N * p->C, p);
        chopd_naive_larger(u13 + i * p->N * p->R, phi.map, p->s, p->H, p->W, p->R);
    }
    return u13;
}

/* fc: one sum of M C products.
 *
 * dfc-cp: M C products, each with a weight that is a sum of R products of five;
 * or sums of C, M and R one after the other; sigma adds a few roundings.
 *
 * chopd: N C products, each with a weight that is a sum of R products; or sums
 * of C, of a box, and of R.  A box by running sums: with tokens of no mean, rows
 * of W tokens make sums of order sqrt(W), columns sums of order sqrt(H w), and h
 * of each are between the edges of a box of h x w: sqrt(W / w) + sqrt(H) roundings
 * of the mean, which is of order 1 / sqrt(h w).  The gate is computed once; its
 * resizing and sigma add a few. */
static inline double layer_tolerance(const struct problem *p)
{
    double M = sqrt((double)problem_size(p, "M")), N = sqrt((double)problem_size(p, "N"));
    double C = sqrt((double)problem_size(p, "C")), R = sqrt((double)problem_size(p, "R"));
    if (p->declaration == &fc) return 8 * (M * C + 2) * UNIT_ROUNDOFF;
    if (p->declaration == &dfc_cp) return 8 * (M * C + C + M + 2 * R + 10) * UNIT_ROUNDOFF;
    double H = sqrt((double)p->grid.size[0]), W = sqrt((double)p->grid.size[1]);
    return 8 * (N * C + C + 2 * R + W + H + 16) * UNIT_ROUNDOFF;
}

#endif
