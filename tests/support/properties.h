/* properties.h -- properties of every form of every operator
 *
 * Each function checks all forms of an operator on a trial (trial.h) with at least two images, or on a problem without
 * data.  test_promises.c runs them for every operator, and each operator's suite for its own tables (battery.h). */

#ifndef TWICETOLD_TESTS_PROMISES_H
#define TWICETOLD_TESTS_PROMISES_H

#include "trial.h"

/* Tolerance for two forms of any operator, over the largest entry (derived in test_promises.c); and for a kernel
 * version, which may round to fewer digits. */
double promise_tolerance(const struct problem *p);
double promise_rung_tolerance(const struct problem *p, const struct form *rung);

/* With one thread and with two, each form is within the tolerance of the naive form, and its root mean square error
 * within the statistical bound of roundoff.h. */
void promise_one_function(struct trial *t, const char *what, double tolerance);

/* An eighth is added to or taken from all entries of a tensor; or added to the first, the last or another entry, until
 * the naive form has changed five times.  Each form stays within the tolerance of the naive form, which changes by more
 * if all entries change. */
void promise_every_tensor_counts(struct trial *t, double tolerance);

/* The same plan, another plan and a plan that ran on other tokens give the same bits, for each number of threads; x and
 * the parameters do not change. */
void promise_repeatable(const struct trial *t);

/* Plans in two threads are independent. */
void promise_plans_apart(const struct trial *t);

/* NaN in this entry of an image reaches all outputs of that image, or y[token, channel] where reached(token,
 * channel, of) holds if it is not NULL; other images keep every bit.  promise_nan_is_seen does not say where: NaN
 * reaches all entries that another number changes, in the naive form by more than the tolerance or in the form
 * itself by a bit. */
void promise_images_apart(const struct trial *t, size_t entry,
                          bool (*reached)(size_t token, size_t channel, void *of), void *of);
void promise_nan_is_seen(const struct trial *t);

/* A run allocates nothing and works if no memory is left.  If any request of plan_create fails, alone or with all later
 * ones, or if any one tensor has no data, it returns an error and frees everything. */
void promise_memory(const struct trial *t);

/* A plan without data states the bytes that it will take. */
void promise_bytes(const struct trial *t);

/* Plans of all forms that use one workspace alternately, filled with NaN between two runs, give what each gives
 * alone. */
void promise_shared_workspace(const struct trial *t);

/* A plan that loads parameters again, changed in place, gives what a new plan gives. */
void promise_loads_again(const struct trial *t);

/* An emulated kernel version (fast/cuda) is within the tolerance of the naive form, shows NaN and keeps images apart as
 * above.  It gives the same bits in any order of its threads and after any other run, and what a new plan gives when it
 * has loaded other parameters. */
void promise_rung(const struct trial *t, const struct form *rung, double tolerance);

/* If a problem without data is larger than memory, each form says so before it takes a megabyte. */
void promise_overflow(const struct problem *p);

#endif
