/* properties.h -- properties of every form of every operator
 *
 * Each function checks all forms of an operator on a fixture (fixture.h) with at least two images, or on a problem without
 * data.  test_promises.c runs them for every operator. */

#ifndef TWICETOLD_TESTS_PROPERTIES_H
#define TWICETOLD_TESTS_PROPERTIES_H

#include "fixture.h"

/* Tolerance for two forms of any operator, over the largest entry (derived in test_promises.c). */
double property_tolerance(const struct problem *p);

/* The same for a version of a kernel.  On tensor cores it rounds four more numbers for each entry of y to fewer digits: a
 * query, a key, a weight and a value. */
double version_tolerance(const struct problem *p, const struct form *version);

/* With one thread and with two, each form is within the tolerance of the naive form, and its root mean square error
 * within the statistical bound of roundoff.h. */
void property_one_function(struct fixture *t, const char *what, double tolerance);

/* An eighth is added to or taken from all entries of a tensor; or added to the first, the last or another entry, until
 * the naive form has changed five times.  Each form stays within the tolerance of the naive form, which changes by more
 * if all entries change. */
void property_every_tensor_counts(struct fixture *t, double tolerance);

/* The same plan, another plan and a plan that ran on other tokens give the same bits, for each number of threads; x and
 * the parameters do not change. */
void property_repeatable(const struct fixture *t);

/* Plans in two threads are independent. */
void property_plans_independent(const struct fixture *t);

/* NaN in an entry of x reaches all entries of y that another number there changes: in the naive form by more than the
 * tolerance, or in the form itself by a bit.  Other images keep every bit. */
void property_nan_is_seen(const struct fixture *t);

/* A run allocates nothing and works if no memory is left.  If any request of plan_create fails, alone or with all later
 * ones, or if any one tensor has no data, it returns an error and frees everything. */
void property_memory(const struct fixture *t);

/* A plan without data states the bytes that it will take. */
void property_bytes(const struct fixture *t);

/* Plans of all forms that use one workspace alternately, filled with NaN between two runs, give what each gives
 * alone. */
void property_shared_scratch(const struct fixture *t);

/* A plan that loads parameters again, changed in place, gives what a new plan gives. */
void property_loads_again(const struct fixture *t);

/* A copy of all parameters; and the parameters set to a copy times a factor. */
real *parameters_of(const struct problem *p);
void set_parameters(const struct problem *p, const real *values, real factor);

/* If a problem without data is larger than memory, each form says so before it takes a megabyte. */
void property_overflow(const struct problem *p);

#endif
