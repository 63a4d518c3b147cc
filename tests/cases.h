/* cases.h -- every operator under every option, for whoever has a claim about all of them
 *
 * Of each operator the axes of its grid, other values of its options, choices and
 * flags also in pairs and on a grid of one row, numbers that are refused alone together with the option that they
 * need; and without what is optional.  A new operator is among them with no line here. */

#ifndef TWICETOLD_TESTS_CASES_H
#define TWICETOLD_TESTS_CASES_H

#include "trial.h"

struct one_case {
    const struct declaration *of;
    char options[128];          /* as one would type them */
    char without[192];          /* optional tensors that are left out */
    size_t batch;               /* 2 where this is 0 */
    bool chosen;                /* options that the operator may refuse beside each other */
};

/* Filled by enumerate_cases from a list, as operator_at is one; pairs of choices come behind the plain cases.  OPERATOR=NAME
 * in the environment: that operator's alone. */
extern struct one_case cases[512];
extern const struct declaration *every[64];
extern int plain_count, case_count, operator_count;
void enumerate_cases(const struct declaration *(*declared)(int));

/* Its problem, without data; printed.  Refused is what the operator refuses, which a
 * chosen case may be. */
status case_shape(struct problem *p, const struct one_case *one);

/* Axes of an operator's grid in most cases: a plane where that may be, 0 for no grid.
 * And what must be said: two heads, and all that is required, kernels of 3. */
int usual_axes(const struct declaration *d);
void required(char *text, size_t size, const struct declaration *d, const char *tokens, const char *kernel);
extern const char *const kernels[];     /* of 3, of so many axes */

#endif
