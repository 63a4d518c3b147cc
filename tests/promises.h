/* promises.h -- what every form of every operator promises, whatever it computes
 *
 * Each function but the last takes a trial (trial.h) with at least two images and looks at
 * all forms of its operator.  Suites call them from tests of their own, whose
 * comments say what is claimed. */

#ifndef TWICETOLD_TESTS_PROMISES_H
#define TWICETOLD_TESTS_PROMISES_H

#include "trial.h"

/* Each form, with one thread and with two, is within the tolerance of the
 * naive form; and beyond it where the first entry of any one tensor is moved by
 * a hundredth (float) or a millionth (double). */
void promise_one_function(struct trial *t, const char *what, double tolerance);
void promise_every_tensor_counts(struct trial *t, double tolerance);

/* The same plan, another plan and a plan that has seen other tokens give the
 * same to the bit, for each number of threads; and x and the parameters are
 * as they were. */
void promise_repeatable(const struct trial *t);

/* Plans of two threads do not meet. */
void promise_plans_apart(const struct trial *t);

/* NaN in token `token` of an image reaches all outputs of that image, or the
 * entries y[token, channel] for which reached(token, channel, of) holds where
 * that is not NULL; other images keep every bit. */
void promise_images_apart(const struct trial *t, size_t entry,
                          bool (*reached)(size_t token, size_t channel, void *of), void *of);

/* A run allocates nothing, and does not mind if there is no memory; whichever
 * allocation of plan_create fails, it says so and leaves nothing behind. */
void promise_memory(const struct trial *t);

/* No form of a problem without data, whose sizes have a product that overflows,
 * allocates more than a megabyte before it says that memory is out. */
void promise_overflow(struct problem *p);

#endif
