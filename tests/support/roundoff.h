/* roundoff.h -- two bounds on a rounding error, and comparisons with both
 *
 * The SAFE bound limits the largest error: it counts roundings and multiplies by the size of what is summed.  (Some
 * safe bounds are probabilistic: n roundings count as 8 sqrt(n), which independent ones exceed with probability 2
 * exp(-32): Higham and Mary, SIAM J. Sci. Comput. 41, 2019.)  It does not detect a mistake in the last digits.
 *
 * The STATISTICAL bound assumes independent roundings.  It limits the root mean square of the error, relative to that
 * of the m entries of y:
 *
 *     (2 + 2 / sqrt(m)) kappa sqrt(T / 2) u
 *
 *   u      A rounding has a relative error spread evenly between -u and u: root mean square u / sqrt(3).
 *   T / 2  A sum of n terms of either sign rounds its partial sums, whose squares grow linearly to that of the sum.
 *          Its squared error is n u^2 / 6 of the squared result (n u^2 / 9 if all terms have one sign).  T, the form's
 *          multiply-adds per entry of y, bounds the length of every sum on the way to an entry.
 *   kappa  The sensitivity.  Errors of a sum pass through later sums.  If each number of x and of the parameters is
 *          multiplied by 1 + e, e spread evenly between -d and d with u << d << 1, y changes by kappa d.  A single sum
 *          has kappa = 1 / sqrt(3) and error sqrt(n / 6) u = kappa sqrt(n / 2) u; over several stages, squares add up
 *          on both sides.  At least 1, since some numbers are no input.
 *   2 + 2 / sqrt(m)
 *          A fixed seed is one sample.  One entry exceeds 4 times its root mean square once in 16000 times.  A mean
 *          over m entries varies by 1 / sqrt(2 m) of itself; the factor 2 stays, since entries that share a weight or
 *          a key share its error.  If logits are large, a few rows near a tie carry all of the error: then m is 1.
 *
 * In float the reference is the naive form in double (naive_in_double.c), and T that of the form.  In double it is the
 * naive form, and T the sum of both. */

#pragma once
#include "fixture.h"
#include "../../reference/networks/network.h"

/* y in double of a problem of the float build; false if it cannot be computed. */
bool naive_in_double_run(double *y, const struct problem *narrow, const float *x);

/* Root mean square of a - b over that of b; 0 if a = b. */
double mean_error(const real *a, const double *b, size_t n);
double mean_difference(const real *a, const real *b, size_t n);

/* Fails unless max |a - b| <= safe max |b|, and the root mean square of a - b is at most `statistical` times that of
 * b. */
void alike(const char *what, const real *a, const real *b, size_t n, double safe, double statistical);

/* y of the naive form, in double in either build; and kappa at this x and y. */
double *reference(const struct problem *p, const real *x);
double sensitivity(const struct problem *p, const real *x, const double *y);

/* kappa of a network at this x with logits y; and the largest T of its steps.  kappa changes the weights of all steps,
 * so it includes how later steps amplify the roundings of an earlier one. */
double network_sensitivity(struct network *n, const real *x, const real *y);
double network_terms(const struct network *n);

double chance(size_t entries);

/* The statistical bound for a form compared with exact numbers (other is NULL) or with another form. */
double statistical_bound(const struct problem *p, double kappa, const struct form *form, const struct form *other);

/* Fails unless a form is within both bounds: `safe`, relative to the largest entry of the naive form's y, and the
 * statistical one. */
void form_holds(struct fixture *t, const char *what, const struct form *form, int threads, double safe);
