/* cases.h -- every operator with every option, for suites that test all operators
 *
 * Cases follow from the operators' declarations: every number of axes, every value of each option, pairs of choices,
 * grids of one row and with odd sides, options with another that they need, and all without optional tensors. */

#pragma once
#include "fixture.h"

struct operator_case {
    const struct declaration *declaration;
    char options[128];          /* as typed */
    char without[192];          /* optional tensors that are left out */
    size_t batch;               /* 0 means 2 */
    bool chosen;                /* the operator may reject these options */
};

/* enumerate_cases fills them from a list: plain cases, then pairs of choices.  OPERATOR=NAME in the environment selects
 * one operator. */
extern struct operator_case cases[512];
extern const struct declaration *every[64];
extern int plain_count, case_count, operator_count;
void enumerate_cases(const struct declaration *(*declared)(int));
const struct declaration *operator_or_layer_at(int at);     /* operators, then layers */

/* The problem of a case, without data; prints the case.  A chosen case may be rejected. */
status case_shape(struct problem *p, const struct operator_case *c);

/* The number of axes in most cases: 2 if possible, 0 without a grid.  required() writes the required options: two
 * heads, the grid, the kernel, 3 for all others. */
int usual_axes(const struct declaration *d);
void required(char *text, size_t size, const struct declaration *d, const char *tokens, const char *kernel);
extern const char *const kernels[];     /* windows of 3, by the number of axes */

/* The fixture of a case; false if the operator rejects its options. */
bool case_fixture(struct fixture *t, const struct operator_case *c);
