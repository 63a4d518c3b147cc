/* fixture.h -- one random problem, run by any form
 *
 *     struct fixture t = fixture("--grid 5x12 --heads 2", &lisa, 3, 8, "D=4", "w_o");
 *     within("...", fixture_difference(&t, "fast", 2), tolerance);
 *
 * makes random x [3][60][8] and parameters except w_o, runs the naive form once, and compares another form with it.
 * Everything is freed when the test ends. */

#ifndef TWICETOLD_TESTS_FIXTURE_H
#define TWICETOLD_TESTS_FIXTURE_H

#include "../../reference/networks/operators.h"
#include "../../reference/runtime/lookup.h"

/* Splits a text at blanks into at most this many words, which live until the test ends; returns their number. */
int words_of(const char *text, const char *word[], int most);

/* The tensors of a text such as "x 1x4x4 w_qkv 12x4", except those named in `without`; all entries are 1.  They live
 * until the test ends.  And a problem with these options, bound to them. */
struct tensors file_of(const char *text, const char *without);
status bound_to(struct problem *p, const char *options, const struct declaration *d, const struct tensors *file);

/* Gives each tensor of a problem its own allocation, of exactly its bytes. */
void own_parameters(struct problem *p);

/* Random parameters of a shaped problem, each in such an allocation. */
void draw_parameters(struct problem *p, uint64_t seed);

/* y of a form: one run of one plan.  The run must allocate nothing and write only y, the plan leave nothing behind. */
real *run_form(const struct problem *p, const struct form *form, int threads, const real *x);

/* A value for addresses of 64 bits, or of 32. */
#define BY_ADDRESSES(wide, narrow) (sizeof(size_t) > 4 ? (wide) : (narrow))

/* A problem with all its sizes and no data, for its costs. */
struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without);

/* The same for any operator: sizes that are still open are small primes, times the factor. */
status shaped_openly(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                     size_t channels, const char *sizes, const char *without, size_t factor);

struct fixture {
    struct problem problem;
    real *x, *y;                /* y is the naive form's, NULL until it ran */
    size_t inputs, outputs;
    bool sharp;                 /* logits are large: a few rows carry all of the error (roundoff.h) */
    const real *exact_of;       /* the y that `exact` and `sensitivity` belong to */
    double *exact, sensitivity;
};

/* options, sizes and without are words parted by blanks.  x is standard normal; parameters are, over the root of their
 * fan. */
struct fixture fixture(const char *options, const struct declaration *d, size_t batch, size_t channels,
                   const char *sizes, const char *without);
struct fixture fixture_of(struct problem shaped);

/* y of a form with this many threads. */
real *fixture_run(const struct fixture *t, const char *form, int threads);
real *fixture_run_on(const struct fixture *t, const char *form, int threads, const real *x);

/* Largest difference from the naive form, over its largest entry. */
double fixture_difference(struct fixture *t, const char *form, int threads);

/* Fails unless every form of the operator, on one thread, gives y: to the bit, or within a tolerance over the
 * largest entry of y. */
#define forms_equal(...) FAILS_IF(fault_forms_equal(__VA_ARGS__))
#define forms_within(...) FAILS_IF(fault_forms_within(__VA_ARGS__))
const char *fault_forms_equal(const struct fixture *t, const real *y);
const char *fault_forms_within(const struct fixture *t, const real *y, double tolerance);

/* One of the fixture's parameters, to be written to, and how many numbers it has. */
real *fixture_tensor(struct fixture *t, const char *name);
size_t fixture_count(const struct fixture *t, const char *name);

/* Writes a parameter: these numbers; the identity; one value everywhere. */
void fixture_put(struct fixture *t, const char *name, const real *values);
void fixture_put_identity(struct fixture *t, const char *name, size_t n);
void fixture_fill(struct fixture *t, const char *name, double value);

/* Copies parameters of these names, parted by blanks, from one fixture to another that has them in equal sizes. */
void fixture_take(struct fixture *to, const struct fixture *from, const char *names);

/* Most bytes of a form from prepare to the end of a run, without AddressSanitizer's guards. */
double fixture_peak(const struct fixture *t, const struct form *form);

/* Multiply-adds of a form by its formula, less those of the projections (heads.h). */
double fixture_cores(const struct fixture *t, const struct form *form);

/* The copy of an operator's naive or plain form that counts multiplications (counting.h), by name; the multiplications of such copies and
 * of cores named counted_... since the last call. */
const struct form *counted_form(const struct declaration *d, const char *name);
unsigned long long multiplications(void);

/* Lets each request for memory of plan_create fail, alone and with all later ones; it must return a status and leave
 * nothing behind. */
void form_without_memory(const struct fixture *t, const struct form *form);

#endif
