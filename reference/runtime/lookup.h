/* lookup.h -- names of a declaration, looked up
 *
 * A declaration speaks in names; a form computes with numbers and pointers.
 * Between them each operator has one function that looks all its names up,
 * once, and fills the struct of its resolved problem:
 *
 *     struct lookup names = {.problem = p};
 *     *l = (struct lisa_problem){
 *         .N = lookup_size(&names, "N"), .wa = lookup_tensor(&names, "wa"), ...
 *     };
 *     return names.refusal;
 *
 * A name that the declaration has not is a mistake of ours.  The first such is
 * kept as a failure, which every test of the operator meets; it reads as 0 or
 * NULL. */

#ifndef TWICETOLD_LOOKUP_H
#define TWICETOLD_LOOKUP_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lookup {
    const struct problem *problem;
    status error;
};

size_t lookup_size(struct lookup *names, const char *letter);           /* 0 where it is not bound */
double lookup_number(struct lookup *names, const char *option);         /* of a choice of numbers too */
size_t lookup_whole(struct lookup *names, const char *option);
int lookup_choice(struct lookup *names, const char *option);            /* which of "a|b|c", from 0; -1 for none */
const char *lookup_text(struct lookup *names, const char *option);      /* "" where there is none */
bool lookup_given(struct lookup *names, const char *option);

/* The GRID_AXES sizes of a kernel, or steps. */
const size_t *lookup_sizes(struct lookup *names, const char *option);

/* A tensor's data, NULL where it is absent; one that is there but has no data
 * yet reads as the address of a NaN.  The size of one of its axes, 0 where it
 * is absent. */
const real *lookup_tensor(struct lookup *names, const char *name);
size_t lookup_axis(struct lookup *names, const char *name, int axis);

/* The same for programs and tests that want one thing; NaN or NULL where there
 * is no such name. */
double problem_number(const struct problem *p, const char *option);
const char *problem_text(const struct problem *p, const char *option);
bool problem_given(const struct problem *p, const char *option);
const real *problem_tensor(const struct problem *p, const char *name);  /* NULL without data too */
size_t problem_axis(const struct problem *p, const char *name, int axis);

#ifdef __cplusplus
}
#endif

#endif
