/* exact.h -- what the exact proofs share: problems drawn from the field, and runs of them */

#ifndef TWICETOLD_TESTS_EXACT_H
#define TWICETOLD_TESTS_EXACT_H

#include "seams.h"
#include "../../reference/forms.h"

/* Draws of each claim: 20, or DRAWS in the environment. */
int exact_draws(void);

/* Before anything else: tables that threads share are made. */
void exact_begin(void);

/* A multiple of 1/16 from -2 to 2: what has to have a place on the line. */
real exact_on_the_line(uint64_t stream, uint64_t n);

/* x, and every parameter of a shaped problem, drawn anew by field_seed. */
real *exact_draw(struct problem *p);

/* n numbers of a stream of their own. */
real *exact_numbers(uint64_t stream, size_t n);

/* y of a form. */
real *exact_run(const struct problem *p, const struct form *form, int threads, const real *x);

/* How high degrees were in the draws of a claim, and log2 of the probability that functions
 * of such degrees differ and yet agree in all draws: in each, that y does, or that two
 * arguments of erf or sqrt do, or two exponents. */
struct heights { uint64_t y, argument, exponent; };
void heights_begin(void);
void heights_see(struct heights *seen, const real *a, const real *b, size_t n);
double heights_doubt(const struct heights *seen);

#endif
