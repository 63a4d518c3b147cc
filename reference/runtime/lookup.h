/* lookup.h -- options, sizes and tensors of a problem by name
 *
 * Each operator has one function (resolve) that looks up all names and fills the struct of its resolved problem:
 *
 *     struct lookup names = {.problem = p};
 *     *l = (struct lisa_problem){
 *         .N = lookup_size(&names, "N"), .wa = lookup_tensor(&names, "wa"), ...
 *     };
 *     return names.error;
 *
 * A name that is not declared is a programming error: names.error keeps the first, and the value is 0, false, NULL, ""
 * or -1, or GRID_AXES zeros. */

#pragma once
#include "operator.h"

BEGIN_C_DECLS

struct lookup {
    const struct problem *problem;
    status error;
};

size_t lookup_size(struct lookup *names, const char *letter);           /* 0 if it is not bound */
double lookup_number(struct lookup *names, const char *option);         /* also of a choice whose words are numbers */
size_t lookup_whole(struct lookup *names, const char *option);
int lookup_choice(struct lookup *names, const char *option);            /* index in "a|b|c"; -1 if it has no value */
const char *lookup_text(struct lookup *names, const char *option);      /* "" if it has no value */
bool lookup_given(struct lookup *names, const char *option);

/* GRID_AXES numbers of a kernel or of steps; zeros if it has no value. */
const size_t *lookup_sizes(struct lookup *names, const char *option);

/* The data of a tensor: NULL if it is absent, the address of a NaN if it has no data yet.  The size of an axis: 0 if
 * the tensor or the axis is absent. */
const real *lookup_tensor(struct lookup *names, const char *name);
size_t lookup_axis(struct lookup *names, const char *name, int axis);

/* The same for a single name.  If it is not declared: NaN, NULL, false or 0. */
double problem_number(const struct problem *p, const char *option);
const char *problem_text(const struct problem *p, const char *option);
bool problem_given(const struct problem *p, const char *option);
const real *problem_tensor(const struct problem *p, const char *name);  /* NULL also if it has no data */
size_t problem_axis(const struct problem *p, const char *name, int axis);

/* ---- suggestions ---------------------------------------------------- */

/* The nearest of the known names to `found`, which is not known.  The distance counts letters inserted, removed,
 * replaced, or exchanged with a neighbour; case does not matter, and '_' equals '-'.  A name is near if at most a third
 * of the letters of `found` differ, or if one contains the other. */
struct nearest {
    const char *found, *before;     /* before: printed in front of the name; or NULL */
    const char *name;               /* the nearest; NULL: none */
    int edits;
};

void nearest_try(struct nearest *n, const char *known);

/* The status with "; did you mean NAME?" after its message, if there is a name and the text fits. */
status nearest_suggest(status s, const struct nearest *n);

/* Bad input: a word that is no option of these declarations. */
status unknown_option(const char *word, const struct declaration *d, const struct declaration *other);

/* True if the names differ in no more than the case of their letters. */
bool same_letters(const char *a, const char *b);

END_C_DECLS
