/* exact.h -- random problems over the field, and runs of forms */

#pragma once
#include <time.h>
#include "library_stubs.h"
#include "../../reference/networks/operators.h"

/* Random draws per test: DRAWS in the environment, default 4 (`make exact`: 20). */
int exact_draws(void);

/* run_tests with a longer timeout. */
int exact_tests(const char *name);

/* Call first: fills tables that threads share. */
void exact_begin(void);

/* A random multiple of 1/16 from -2 to 2, for numbers that a form compares. */
real exact_dyadic(uint64_t stream, uint64_t n);

/* Random parameters of a shaped problem; returns a random x. */
real *exact_draw(struct problem *p);

/* n random elements; a stream and field_seed determine them. */
real *exact_numbers(uint64_t stream, size_t n);

real *exact_run(const struct problem *p, const struct form *form, int threads, const real *x);

/* The largest degrees in a test, each the sum of two results': of y, arguments of erf, sqrt and pow, and exponents. */
struct degrees { uint64_t y, argument, exponent; };
void degrees_begin(void);
void degrees_record(struct degrees *seen, const real *a, const real *b, size_t n);

/* Prints the degrees, the time since `start`, and a bound on the probability that different functions of these degrees
 * agree in all draws. */
void degrees_print(const struct degrees *seen, clock_t start);
