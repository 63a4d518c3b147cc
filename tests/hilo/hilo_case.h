/* hilo_case.h -- shared by the tests of HiLo: sizes, costs, a bound of rounding errors */

#ifndef TWICETOLD_TESTS_HILO_CASE_H
#define TWICETOLD_TESTS_HILO_CASE_H

#include <math.h>
#include <string.h>
#include "../support/support.h"
#include "../support/fixture.h"
#include "../../naive/attention.h"
#include "../../naive/hilo.h"

/* A problem, resolved; and the one of these options, this many images and channels. */
static inline struct hilo_problem resolved(const struct problem *p)
{
    struct hilo_problem z;
    succeeds(hilo.resolve(&z, p));
    return z;
}

static inline struct hilo_problem sizes_of(const char *options, size_t batch, size_t channels)
{
    struct problem p = shaped(options, &hilo, batch, channels, "", "");
    return resolved(&p);
}

/* One image's problem, without biases and without data; the fast form's multiply-adds. */
static inline struct problem bare(const char *options, const struct declaration *d, size_t channels)
{
    return shaped(options, d, 1, channels, "", "b_qkv b_q b_kv b_o rpe sr_b h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b");
}

static inline double multiply_adds_of(const struct problem *p)
{
    return form_multiply_adds(operator_form(p->declaration, "fast"), p);
}

/* Numbers of a tensor; 0 where there is none. */
static inline size_t entries(const struct problem *p, const char *name)
{
    int row = problem_row(p, name);
    return row < 0 ? 0 : p->tensor[row].count;
}

/* Two ways to the same y, from the same x, over the largest entry of y: a probabilistic bound of the largest error
 * (roundoff.h).
 *
 * q, k and v are sums of C products of entries of order one, in Lo-Fi of means of s^2 tokens, in another order in each
 * form.  A score is a sum of c such products over sqrt(c), so of order one too, and its absolute error is the relative
 * error of a weight; n of them are summed, in the naive Lo-Fi M, and mixed by up to C products of the projection.  10
 * for the exponential, the scale, the division and the interpolation.  Errors of q and k, of order sqrt(C) u, enter a
 * score twice:
 *
 *     8 (4 sqrt(C) + sqrt(c) + 2 sqrt(M) + s + 10) u */
static inline double hilo_tolerance(const struct problem *p)
{
    struct hilo_problem z = resolved(p);
    return 8 * (4 * sqrt((double)z.C) + sqrt((double)z.c) + 2 * sqrt((double)z.M) + (double)z.s + 10) * UNIT_ROUNDOFF;
}

#endif
