/* hilo_case.h -- shared by the tests of HiLo: resolved problems, costs, the tolerance */

#pragma once
#include "../support/fixture.h"
#include "../../naive/attention.h"
#include "../../naive/hilo.h"

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

static inline struct problem bare(const char *options, const struct declaration *d, size_t channels)
{
    return shaped(options, d, 1, channels, "", "b_qkv b_q b_kv b_o rpe sr_b h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b");
}

static inline double multiply_adds_of(const struct problem *p)
{
    return form_multiply_adds(operator_form(p->declaration, "fast"), p);
}

/* Entries of a tensor, 0 if it is absent. */
static inline size_t entries(const struct problem *p, const char *name)
{
    int row = problem_row(p, name);
    return row < 0 ? 0 : p->tensor[row].count;
}

/* Probabilistic bound (roundoff.h) of the largest difference of two forms, relative to the largest entry of y.
 *
 * q, k and v are sums of C products of entries of order one, in Lo-Fi of means of s^2 tokens; each form sums in another
 * order.  A score is a sum of c products over sqrt(c), so of order one; its absolute error is the relative error of a
 * weight.  Up to M weights are summed, and the projection sums up to C products.  The exponential, the scale, the
 * division and the interpolation count 10.  The errors of q and k, of order sqrt(C) u, enter a score twice:
 *
 *     8 (4 sqrt(C) + sqrt(c) + 2 sqrt(M) + s + 10) u */
static inline double hilo_tolerance(const struct problem *p)
{
    struct hilo_problem z = resolved(p);
    return 8 * (4 * sqrt((double)z.C) + sqrt((double)z.c) + 2 * sqrt((double)z.M) + (double)z.s + 10) * UNIT_ROUNDOFF;
}
