/* exact.h -- problems with random numbers from the field, and runs of forms */

#ifndef TWICETOLD_TESTS_EXACT_H
#define TWICETOLD_TESTS_EXACT_H

#include <time.h>
#include "library_stubs.h"
#include "../../reference/networks/operators.h"

/* Draws of each test: DRAWS in the environment, default 4 (`make exact`: 20). */
int exact_draws(void);

/* Call this first: it fills tables that threads share. */
void exact_begin(void);

/* A multiple of 1/16 from -2 to 2, for numbers that are compared. */
real exact_on_the_line(uint64_t stream, uint64_t n);

/* x and all parameters of a shaped problem, random by field_seed. */
real *exact_draw(struct problem *p);

/* n random numbers of a stream. */
real *exact_numbers(uint64_t stream, size_t n);

/* y of a form. */
real *exact_run(const struct problem *p, const struct form *form, int threads, const real *x);

/* The largest degrees in the draws of a test: of y, of arguments of erf and sqrt, and of exponents. */
struct heights { uint64_t y, argument, exponent; };
void heights_begin(void);
void heights_see(struct heights *seen, const real *a, const real *b, size_t n);

/* Print them, log2 of the probability that different functions of these degrees agree in all draws, and the time. */
void heights_print(const struct heights *seen, clock_t start);

#endif
