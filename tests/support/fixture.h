/* fixture.h -- a random problem that any form can run
 *
 *     struct fixture t = fixture("--grid 5x12 --heads 2", &lisa, 3, 8, "D=4", "w_o");
 *     within("...", fixture_difference(&t, "fast", 2), tolerance);
 *
 * draws x [3][60][8] and all parameters except w_o and its bias, and compares the fast form with the naive one.  Memory
 * is freed when the test ends.  Blanks separate the words of options, sizes and names. */

#pragma once
#include "support.h"
#include "../../reference/networks/operators.h"
#include "../../reference/runtime/lookup.h"

/* Splits a text into at most `most` words; returns their number. */
int words_of(const char *text, const char *word[], int most);

/* Tensors of ones from a text such as "x 1x4x4 w_qkv 12x4", except those named in `without`; and a problem that is
 * bound to them. */
struct tensors file_of(const char *text, const char *without);
status bound_to(struct problem *p, const char *options, const struct declaration *d, const struct tensors *file);

/* Moves each tensor to an allocation of exactly its size, so that AddressSanitizer detects overruns. */
void own_parameters(struct problem *p);

/* Random parameters for a shaped problem, each in an allocation of exactly its size. */
void draw_parameters(struct problem *p, uint64_t seed);

/* y of a form: one run of a new plan.  Fails if the run allocates, writes next to y, or the plan leaks. */
real *run_form(const struct problem *p, const struct form *form, int threads, const real *x);

/* Selects a value for 64-bit or 32-bit addresses. */
#define BY_ADDRESSES(wide, narrow) (sizeof(size_t) > 4 ? (wide) : (narrow))

/* A problem with sizes but without data, for its costs. */
struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without);

/* The same for any operator: sizes that stay open become small primes times `factor`. */
status shaped_openly(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                     size_t channels, const char *sizes, const char *without, size_t factor);

struct fixture {
    struct problem problem;
    real *x, *y;                /* y of the naive form, NULL until it ran */
    size_t inputs, outputs;
    bool sharp;                 /* large logits: few rows carry the error (roundoff.h) */
    const struct form *(*form_at)(const struct declaration *d, int at);     /* of properties.h; NULL: all forms */
    const real *exact_for;      /* the y for which `exact` and `sensitivity` hold */
    double *exact, sensitivity;
};

/* x is standard normal; parameters are normal with variance 1 / fan-in. */
struct fixture fixture(const char *options, const struct declaration *d, size_t batch, size_t channels,
                       const char *sizes, const char *without);
struct fixture fixture_of(struct problem shaped);

/* y of a form, on the fixture's x or another one. */
real *fixture_run(const struct fixture *t, const char *form, int threads);
real *fixture_run_on(const struct fixture *t, const char *form, int threads, const real *x);

/* Largest difference from the naive form's y, over its largest entry. */
double fixture_difference(struct fixture *t, const char *form, int threads);

/* Tolerance for two forms of any operator, over the largest entry: 32 sqrt(T) u, T multiply-adds per entry of y.  A sum
 * of T products errs by more than 8 sqrt(T) u with probability 2 exp(-32) (Higham and Mary, SIAM J. Sci. Comput. 41,
 * 2019); a factor of 2 for two forms, another for normalisation and softmax. */
double property_tolerance(const struct problem *p);

/* Fails unless every form of the operator, on one thread, gives y: exactly, or within a tolerance relative to the
 * largest entry of y. */
#define forms_equal(...) FAILS_IF(fault_forms_equal(__VA_ARGS__))
#define forms_within(...) FAILS_IF(fault_forms_within(__VA_ARGS__))
const char *fault_forms_equal(const struct fixture *t, const real *y);
const char *fault_forms_within(const struct fixture *t, const real *y, double tolerance);

/* The numbers of a parameter, and their count. */
real *fixture_tensor(struct fixture *t, const char *name);
size_t fixture_count(const struct fixture *t, const char *name);

/* Sets a parameter to these numbers; to the identity; to one value everywhere. */
void fixture_put(struct fixture *t, const char *name, const real *values);
void fixture_put_identity(struct fixture *t, const char *name, size_t n);
void fixture_fill(struct fixture *t, const char *name, double value);

/* Copies the named parameters from another fixture that has them in equal sizes. */
void fixture_take(struct fixture *to, const struct fixture *from, const char *names);

/* Peak bytes of a form from prepare to the end of a run, without AddressSanitizer's guards. */
double fixture_peak(const struct fixture *t, const struct form *form);

/* Multiply-adds of a form by its formula, without those of the projections (heads.h). */
double fixture_cores(const struct fixture *t, const struct form *form);

/* The counting build (counting.h) of an operator's naive or plain form; and the multiplications in that build since the
 * last call. */
const struct form *counted_form(const struct declaration *d, const char *name);
unsigned long long multiplications(void);

/* Fails each request for memory of plan_create, alone and with all later ones; each time it must return an error and
 * leak nothing. */
void form_without_memory(const struct fixture *t, const struct form *form);
