/* promises.h -- what every form of every operator promises, whatever it computes
 *
 * Each function looks at all forms of an operator: of a trial (trial.h) with at
 * least two images, or of a problem without data.  test_promises.c calls them for
 * every operator there is, in comments that say what is claimed; a row's own
 * suite calls one where the row has more to say, as a tolerance of its own. */

#ifndef TWICETOLD_TESTS_PROMISES_H
#define TWICETOLD_TESTS_PROMISES_H

#include "trial.h"

/* How far two forms of any operator may lie apart, over the largest entry (the
 * claim of test_promises.c derives it), and a rung, which may round to fewer digits. */
double promise_tolerance(const struct problem *p);
double promise_rung_tolerance(const struct problem *p, const struct form *rung);

/* Each form, with one thread and with two, is within the tolerance of the naive
 * form, and its root mean square error within the statistical bound of roundoff.h. */
void promise_one_function(struct trial *t, const char *what, double tolerance);

/* An eighth is added to all entries of a tensor, or taken from them; or added to
 * the first, the last or another, until the naive form has noticed five: each
 * form stays within the tolerance of the naive form, which notices all of them
 * together by more. */
void promise_every_tensor_counts(struct trial *t, double tolerance);

/* The same plan, another plan and a plan that has seen other tokens give the
 * same to the bit, for each number of threads; and x and the parameters are
 * as they were. */
void promise_repeatable(const struct trial *t);

/* Plans of two threads do not meet. */
void promise_plans_apart(const struct trial *t);

/* NaN in token `token` of an image reaches all outputs of that image, or the
 * entries y[token, channel] for which reached(token, channel, of) holds where
 * that is not NULL; other images keep every bit.  Or, without saying where: it
 * reaches all that moves when another number is there, in the naive form by more
 * than the tolerance or in the form itself by a bit. */
void promise_images_apart(const struct trial *t, size_t entry,
                          bool (*reached)(size_t token, size_t channel, void *of), void *of);
void promise_nan_is_seen(const struct trial *t);

/* A run allocates nothing, and does not mind if there is no memory; whichever
 * request of plan_create fails, alone or with all later ones, it says so and
 * leaves nothing behind.  It fails in the same way if any one tensor has no data. */
void promise_memory(const struct trial *t);

/* What a plan without data says that it will take is what it takes, to the byte. */
void promise_bytes(const struct trial *t);

/* Plans of all forms that take turns in one workspace, which is filled with NaN
 * between two runs, give what each gives alone. */
void promise_shared_workspace(const struct trial *t);

/* A plan that loads parameters again, changed in place, gives what a new plan does. */
void promise_loads_again(const struct trial *t);

/* An emulated rung (fast/cuda) is within the tolerance of the naive form, shows NaN and keeps
 * images apart as above; to the bit, it gives the same again whatever the order of its
 * threads and whatever the plan has seen, and what a new plan gives when it has loaded
 * other parameters.  Memory as above. */
void promise_rung(const struct trial *t, const struct form *rung, double tolerance);

/* No form of a problem without data that is larger than memory takes more than a
 * megabyte before it says so. */
void promise_overflow(const struct problem *p);

#endif
