/* forms.h -- which operators there are, and which forms they have
 *
 * reference/ says what an operator is and knows no form.  Each telling lists its
 * own (naive/forms.c, fast/forms.c), and one list of those lists stands above
 * them all, in program/forms.c: a new kind of form is one line there. */

#ifndef TWICETOLD_FORMS_H
#define TWICETOLD_FORMS_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One form of one operator; a list ends at an operator of NULL. */
struct form_row {
    const struct declaration *declaration;
    const struct form *form;
};

/* What the tellings list.  cuda_forms are kernels, numbered rungs of a ladder; those
 * of this list run emulated on the processor, slowly and checked (fast/cuda). */
extern const struct form_row naive_forms[], fast_forms[], cuda_forms[];

/* Operator number `at`, NULL behind the last; the operator of that name, or NULL.  A layer
 * (layers/layers.h) is found by its name too, and counted among its own. */
const struct declaration *operator_at(int at);
const struct declaration *operator_find(const char *name);

/* The same for a name that someone typed: refused, with the names that there are, where
 * it is NULL or not one of them.  Rungs are named among the forms by a caller who has them too. */
status operator_named(const struct declaration **d, const char *name);
status form_named(const struct form **form, const struct declaration *d, const char *name, bool rungs);

/* Form number `at` of an operator, NULL behind the last; 0 is the naive form,
 * which all others are compared with. */
const struct form *operator_form_at(const struct declaration *d, int at);

/* The form of that name, or NULL.  A layer is told once: its one form is its naive one and its fast one. */
const struct form *operator_form(const struct declaration *d, const char *name);

/* The same for its rungs, from 0; "cuda" is the last that rounds as reals do. */
const struct form *operator_rung_at(const struct declaration *d, int at);
const struct form *operator_rung(const struct declaration *d, const char *name);

/* The unit roundoff of the factors of a form's products, where these have fewer digits than a
 * real, which its name says: ...-tf32 and ...-bf16, of 11 digits and 8.  Else 0. */
double form_rounding(const struct form *form);

/* More forms than any operator has, rungs among them. */
#define OPERATOR_FORMS 32

#ifdef __cplusplus
}
#endif

#endif
