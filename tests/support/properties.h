/* properties.h -- properties of every form of every operator
 *
 * Each function checks all forms of an operator on a fixture (fixture.h) with at least two images, or on a problem
 * without data.  test_properties.c runs them for every operator. */

#pragma once
#include "fixture.h"

/* Tolerance for a version of a CUDA kernel: on tensor cores a query, a key, a weight and a value of each product are
 * rounded to fewer digits. */
double version_tolerance(const struct problem *p, const struct form *version);

/* Each form, with one thread and with two, is within the tolerance of the naive form, and its root mean square error
 * within the statistical bound of roundoff.h. */
void property_one_function(struct fixture *t, const char *what, double tolerance);

/* Every form follows the naive form, within the tolerance, when numbers of a tensor change: all of them by 1/8 up or
 * down, then single ones until y has changed five times.  The change of all numbers moves y by more than the
 * tolerance. */
void property_every_tensor_counts(struct fixture *t, double tolerance);

/* The same plan, a new plan, and a plan that ran on other tokens give the same bits, for each number of threads; x and
 * the parameters do not change. */
void property_repeatable(const struct fixture *t);

/* NaN in an entry of x reaches every entry of y where another value of it changes the naive form by more than the
 * tolerance, or the form itself by a bit.  Other images keep every bit. */
void property_nan_is_seen(const struct fixture *t);

/* A run allocates nothing.  If any request of plan_create fails, alone or with all later ones, or if any tensor has no
 * data, plan_create returns an error and leaks nothing. */
void property_memory(const struct fixture *t);

/* A plan without data states the bytes that it will take. */
void property_bytes(const struct fixture *t);

/* Plans of all forms that alternately use one scratch memory, filled with NaN between runs, give what each gives
 * alone. */
void property_shared_scratch(const struct fixture *t);

/* A plan that loads changed parameters gives what a new plan gives. */
void property_loads_again(const struct fixture *t);

/* With memory limited to 1 MiB, each form of a huge problem without data can be prepared, unless a library rejects its
 * sizes.  If its arena exceeds 1 MiB, the plan fails, and nothing stays allocated. */
void property_overflow(const struct problem *p);

/* Copies all parameters, one tensor after another; sets the parameters to `values` times a factor. */
real *parameters_of(const struct problem *p);
void set_parameters(const struct problem *p, const real *values, real factor);
