/* battery.h -- tests that every operator's suite runs over its own tables
 *
 * A suite lists its cases; add_battery adds one test per row.  Each table ends in a row of zeros, and a table that is
 * NULL adds no tests.  With `variants`, each row of a table of battery_case runs once per variant. */

#ifndef TWICETOLD_TESTS_SUPPORT_BATTERY_H
#define TWICETOLD_TESTS_SUPPORT_BATTERY_H

#include "support.h"
#include "fixture.h"

/* options, sizes ("D=4 R=2") and without (optional tensors that are left out) are words separated by blanks. */
struct battery_case { const char *options; size_t batch, channels; const char *sizes, *without; };

/* Options at which an operator with one image must fail, and a part of the message. */
struct battery_error { const char *options, *message; size_t channels; };

/* Tensors of a file (fixture.h) without some of them, and a part of the message; NULL if they fit. */
struct battery_file { const char *options, *tensors, *without, *message; };

/* Bytes on an edge x edge grid, and on four times the tokens: the ratio lies between these. */
struct battery_growth {
    const char *options;
    size_t edge, channels;
    const char *sizes, *without, *form;
    double least, most;
};

struct battery {
    const struct declaration *operator;
    double (*tolerance)(const struct problem *p);       /* of two forms: largest difference over the largest entry */
    double (*fixture_tolerance)(struct fixture *t);         /* in its place, if it depends on x or y */
    double golden_tolerance;                            /* of golden vectors, in units of that */
    double (*golden_fixture)(struct fixture *t);            /* in its place; t->y is PyTorch's */
    const char *const *variants;                        /* options that are appended to a row; NULL: none */
    const char *const *variants_without;                /* what each of them adds to `without` */
    void (*join)(char *all, size_t arena, const char *options, const char *variant);    /* NULL: separated by a blank */
    const struct battery_case *sizes;                   /* the forms agree */
    const char *const *golden;                          /* tests/golden/NAME.safetensors */
    const struct battery_error *errors;
    const struct battery_file *files;
    const struct battery_case *counted;                 /* naive and plain form multiply as their formulas say */
    /* Multiply-adds by BLAS, which are not counted; NULL: those of heads.h. */
    double (*projections)(const struct problem *p, const struct form *form);
    const struct battery_case *memory;                  /* each form takes the bytes that the header states */
    double (*stated)(const struct problem *p, const struct form *form);     /* in bytes; negative: not stated */
    const struct battery_growth *growth;
    double slack;                                       /* allowed difference in bytes: the plan, rounded blocks */
};

/* Multiplications of one run of the operator's counted form, which writes y. */
double counted_run(const struct fixture *t, const char *form, real *y);

/* Bytes in a plan, where each array takes whole lines of 64: of reals, of ints; and of the plan itself, which are the
 * resolved problem and the form's state. */
double real_bytes(double count);
double int_bytes(double count);
double plan_bytes(const struct declaration *d, const struct form *form);

/* May be called for several operators of one suite; *b must outlive the suite. */
void add_battery(Suite *suite, const struct battery *b);

#endif
