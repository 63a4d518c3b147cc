/* battery.h -- tests that every operator's suite runs over its own tables
 *
 * add_battery adds one test per row.  A table ends in a row of zeros; a table that is NULL adds no tests.  Rows of
 * battery_case run once per variant. */

#pragma once
#include "fixture.h"

/* Sizes as "D=4 R=2"; without: optional tensors that are left out. */
struct battery_case { const char *options; size_t batch, channels; const char *sizes, *without; };

/* Options that an operator must reject for one image, and a part of the message. */
struct battery_error { const char *options, *message; size_t channels; };

/* Tensors of a file (file_of in fixture.h), and a part of the error message, NULL if the file is valid. */
struct battery_file { const char *options, *tensors, *without, *message; };

/* The ratio of the bytes on a grid of twice the edge to those on edge x edge lies between `least` and `most`. */
struct battery_growth {
    const char *options;
    size_t edge, channels;
    const char *sizes, *without, *form;
    double least, most;
};

struct battery {
    const struct declaration *operator;
    bool golden;                                        /* there are golden vectors */
    const char *const *variants;                        /* options appended to each row; NULL: none */
    const char *const *variants_without;                /* added to `without` for each variant */
    void (*join)(char *all, size_t size, const char *options, const char *variant);     /* NULL: with a blank */
    const struct battery_case *sizes;                   /* all forms agree */
    const struct battery_error *errors;
    const struct battery_file *files;
    const struct battery_case *counted;                 /* naive and plain forms: multiplications equal the formula */
    double (*projections)(const struct problem *p, const struct form *form);    /* by BLAS, uncounted; NULL: heads.h */
    const struct battery_case *memory;                  /* each form takes the stated bytes */
    double (*stated)(const struct problem *p, const struct form *form);         /* bytes; negative: not stated */
    const struct battery_growth *growth;
    double slack;                                       /* largest error of `stated`: the plan, rounding */
};

/* Runs the counting build of a form; returns its multiplications. */
double counted_run(const struct fixture *t, const char *form, real *y);

/* Bytes, in whole lines of 64, of this many reals or ints, and of a plan's resolved problem and state. */
double real_bytes(double count);
double int_bytes(double count);
double plan_bytes(const struct declaration *d, const struct form *form);

/* A suite may add several operators; *b must outlive it. */
void add_battery(Suite *suite, const struct battery *b);

/* run_tests with one battery. */
int run_battery(const char *name, const struct battery *b);
