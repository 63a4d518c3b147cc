/* roundoff.h -- two bounds of a rounding error, and comparisons with both
 *
 * The SAFE bound belongs to a claim: it counts roundings, multiplies by the size of what is summed, and limits the
 * largest error.  (Some are probabilistic: n roundings count as 8 sqrt(n), which independent ones exceed with a
 * probability of 2 exp(-32): Higham and Mary, SIAM J. Sci. Comput. 41, 2019.)  A mistake in the last digits hides below
 * it.
 *
 * The STATISTICAL bound assumes roundings that do not conspire, and limits the root mean square of the error, relative
 * to that of the result:
 *
 *     (2 + 2 / sqrt(m)) kappa sqrt(T / 2) u,     m entries of y
 *
 *   u      A rounding is off by a share spread evenly between -u and u, with a root mean square of u / sqrt(3).
 *   T / 2  A sum of n terms of either sign rounds its partial sums, whose squares grow evenly to that of the sum:
 *          n u^2 / 6 of the squared result (n u^2 / 9 if all terms have one sign).  No sum on the way to an entry of y
 *          has more terms than the form makes multiply-adds for an entry: T, by formula.
 *   kappa  Errors of a sum pass through later sums.  To learn how much, each number of x and of the parameters is moved
 *          by a share spread evenly between -d and d, with d far above u and far below 1; y moves by kappa d.  A last
 *          sum, of terms that are moved one by one, has kappa = 1 / sqrt(3) and is off by sqrt(n / 6) u =
 *          kappa sqrt(n / 2) u; squares of stages add up on both sides.  At least 1: some numbers are no input.
 *   2 + 2 / sqrt(m)
 *          Seeds are fixed, so no test flickers, but a case is one sample.  If y is one entry, it may err by four times
 *          its root mean square once in 16000 times.  A mean over m entries strays by 1 / sqrt(2 m) of itself; the
 *          factor of 2 stays, since entries that share a weight or a key share its error.  If logits are large, most
 *          weights are 0 or 1 to the last digit, and a few rows near a tie carry all of the error: m counts as 1.
 *
 * In float the reference is the naive form in double (wider.c), and T that of the form.  In double the reference is the
 * naive form, and T that of both. */

#ifndef TWICETOLD_TESTS_ROUNDOFF_H
#define TWICETOLD_TESTS_ROUNDOFF_H

#include "fixture.h"
#include "../../reference/networks/network.h"

/* y in double of a problem of the float build; false if there is no such form. */
bool naive_in_double_run(double *y, const struct problem *narrow, const float *x);

/* Root mean square of a - b over that of b (0 where both are 0). */
double mean_error(const real *a, const double *b, size_t n);
double mean_difference(const real *a, const real *b, size_t n);

/* Fails unless the largest |a - b| is within `safe` of the largest |b|, and the root mean square of a - b within
 * `statistical` of that of b. */
void alike(const char *what, const real *a, const real *b, size_t n, double safe, double statistical);

/* y by the naive form, in double in either build; and kappa of a problem at x, where y is this. */
double *reference(const struct problem *p, const real *x);
double sensitivity(const struct problem *p, const real *x, const double *y);

/* kappa of a whole network at x, where its logits are y; and the largest T of its steps.  The roundings of a step pass
 * through later steps as moves of its weights and its input do. */
double network_sensitivity(struct network *n, const real *x, const real *y);
double network_terms(const struct network *n);

/* 2 + 2 / sqrt(m). */
double chance(size_t entries);

/* The statistical bound for a form that is compared with exact numbers (other is NULL), or with another form. */
double statistical_bound(const struct problem *p, double kappa, const struct form *form, const struct form *other);

/* Fails unless a form with this many threads is within both bounds: `safe`, relative to the largest entry of the naive
 * form's y, and the statistical one. */
void fixture_holds(struct fixture *t, const char *what, const char *form, int threads, double safe);
void form_holds(struct fixture *t, const char *what, const struct form *form, int threads, double safe);

#endif
