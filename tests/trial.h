/* trial.h -- one problem drawn at random, run by whichever form
 *
 *     struct trial t = trial("--grid 5x12 --heads 2", &lisa, 3, 8, "D=4", "w_o");
 *     within("...", trial_difference(&t, "fast", 2), tolerance);
 *
 * draws x [3][60][8] and every parameter but w_o, runs the naive form once,
 * and compares other forms with it.  All is freed when the test ends. */

#ifndef TWICETOLD_TESTS_TRIAL_H
#define TWICETOLD_TESTS_TRIAL_H

#include "../reference/forms.h"
#include "../reference/lookup.h"

/* Gives each tensor of a problem an allocation of its own, of exactly its bytes; freed when the test ends. */
void own_parameters(struct problem *p);

/* Draws every parameter of a shaped problem, each into such an allocation. */
void draw_parameters(struct problem *p, uint64_t seed);

/* y of a form: one run, which must allocate nothing and write nothing beside y, of one plan, which must
 * leave nothing behind.  Freed when the test ends. */
real *run_form(const struct problem *p, const struct form *form, int threads, const real *x);

/* What overflows where addresses have 64 bits, or 32: less can be said of tensors there. */
#define BY_ADDRESSES(wide, narrow) (sizeof(size_t) > 4 ? (wide) : (narrow))

/* A problem with all its sizes and no data, to be asked what it costs. */
struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without);

/* The same for whichever operator: sizes that options and `sizes` leave open are
 * small primes, times the factor.  Refused is what the operator refuses. */
status shaped_openly(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                     size_t channels, const char *sizes, const char *without, size_t factor);

struct trial {
    struct problem problem;
    real *x, *y;                /* y is the naive form's, NULL until it ran */
    size_t inputs, outputs;
    bool sharp;                 /* logits are large: a few rows carry all of the error (roundoff.h) */
    const real *exact_of;       /* y when roundoff.c asked what is exact, and how far y moves */
    double *exact, sensitivity;
};

/* options, sizes and without are words parted by blanks; x and the parameters
 * are standard normal, the latter over the root of their fan. */
struct trial trial(const char *options, const struct declaration *d, size_t batch, size_t channels,
                   const char *sizes, const char *without);
struct trial trial_of(struct problem shaped);

/* What a form makes of x with so many threads, freed when the test ends. */
real *trial_run(const struct trial *t, const char *form, int threads);
real *trial_run_on(const struct trial *t, const char *form, int threads, const real *x);

/* Its largest difference from the naive form, over the naive form's largest entry. */
double trial_difference(struct trial *t, const char *form, int threads);

/* Fails unless every form of the operator, on one thread, gives y: to the bit, or within a tolerance over the
 * largest entry of y. */
#define forms_equal(...) FAILS_IF(fault_forms_equal(__VA_ARGS__))
#define forms_within(...) FAILS_IF(fault_forms_within(__VA_ARGS__))
const char *fault_forms_equal(const struct trial *t, const real *y);
const char *fault_forms_within(const struct trial *t, const real *y, double tolerance);

/* One of the trial's parameters, to be written to, and how many numbers it has. */
real *trial_tensor(struct trial *t, const char *name);
size_t trial_count(const struct trial *t, const char *name);

/* Writes a parameter: these numbers; the identity; one value everywhere. */
void trial_put(struct trial *t, const char *name, const real *values);
void trial_put_identity(struct trial *t, const char *name, size_t n);
void trial_fill(struct trial *t, const char *name, double value);

/* Copies parameters from one trial to another: those of these names, parted by blanks, which must have equal sizes;
 * or, for NULL, all that both trials have in equal sizes. */
void trial_take(struct trial *to, const struct trial *from, const char *names);

/* Bytes that a form takes at most, from prepare to the end of a run, without AddressSanitizer's guards. */
double trial_peak(const struct trial *t, const struct form *form);

/* Multiply-adds of a form by its formula, less those of the projections that
 * heads.h makes. */
double trial_hearts(const struct trial *t, const struct form *form);

/* The twin of an operator's naive form that counts its multiplications
 * (counting.h), and how many those and the hearts named counted_... have made
 * since it was last asked. */
const struct form *counted_form(const struct declaration *d);
unsigned long long multiplications(void);

/* Fails every request for memory that plan_create makes in turn, alone and with
 * all that follow; each must give a status and leave nothing behind. */
void trial_without_memory(const struct trial *t, const char *form);
void form_without_memory(const struct trial *t, const struct form *form);

#endif
