/* settings.h -- an operator's problem from a command line, with random numbers
 *
 * measure, cuda and ladder accept three kinds of words: options of the program; --channels, --batch, --sizes and
 * --without of the problem; and options of the operator, which are all other words. */

#pragma once
#include "../runtime/sizes.h"

#define SETTING_WORDS 64

struct setting {
    const char *name;
    int most;                   /* the largest number of values: 0 for a flag, 1, or SETTING_WORDS */
    int count;                  /* of values; of a flag, how often it is given */
    const char *word[SETTING_WORDS];
};

/* Sorts the words of argv into `options` of the program, which end at a name of NULL, and into *o.  `other` gets the
 * operator's options; o->word points there. */
status settings_take(struct problem_sizes *o, struct setting *other, struct setting *options, const char *const *argv);

/* The value of an option.  If it is not given, NULL, or the number does not change. */
const char *setting_word(const struct setting *o);
status setting_whole(size_t *number, const struct setting *o, size_t low, size_t high);
status setting_seconds(double *seconds, const struct setting *o);

/* A whole number from the n-th value of an option. */
status setting_whole_at(size_t *number, const struct setting *o, int n, size_t low, size_t high);

/* A problem with random parameters and x, and memory for `results` arrays of the size of y. */
struct sample {
    struct problem problem;
    real *parameters, *x, *y;
    size_t inputs, outputs;     /* numbers in x and in one y */
};

/* Release it also after an error. */
status sample_create(struct sample *s, const struct declaration *d, const struct problem_sizes *o, size_t results);
void sample_release(struct sample *s);
