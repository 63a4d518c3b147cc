/* cases.h -- every operator under every option, for suites with a claim about all of them
 *
 * For each operator: its numbers of axes, each other value of its options, pairs of choices; grids of one row and with
 * odd sides; options that are rejected alone, together with the option that they need; and without optional tensors.
 * A new operator is among them without a line here. */

#ifndef TWICETOLD_TESTS_CASES_H
#define TWICETOLD_TESTS_CASES_H

#include "fixture.h"

struct one_case {
    const struct declaration *declaration;
    char options[128];          /* as one would type them */
    char without[192];          /* optional tensors that are left out */
    size_t batch;               /* 2 where this is 0 */
    bool chosen;                /* options that the operator may reject */
};

/* Filled by enumerate_cases from a list such as operator_at; pairs of choices follow the plain cases.  With
 * OPERATOR=NAME in the environment, of that operator alone. */
extern struct one_case cases[512];
extern const struct declaration *every[64];
extern int plain_count, case_count, operator_count;
void enumerate_cases(const struct declaration *(*declared)(int));

/* The problem of a case, without data; printed.  Of a chosen case it may be an error. */
status case_shape(struct problem *p, const struct one_case *one);

/* The number of axes in most cases: 2 where that may be, 0 without a grid.  required() writes what must be given: two
 * heads, the grid, the kernel, 3 for all else. */
int usual_axes(const struct declaration *d);
void required(char *text, size_t size, const struct declaration *d, const char *tokens, const char *kernel);
extern const char *const kernels[];     /* of 3, by the number of axes */

/* A random problem of a case, run by its naive form; false if the operator rejects its options. */
bool case_fixture(struct fixture *t, const struct one_case *one);

#endif
