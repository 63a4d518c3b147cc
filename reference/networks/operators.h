/* operators.h -- operators, layers and their forms, by number and by name
 *
 * The lists are in runtime/forms.h.  CUDA versions have a list of their own (fast/cuda/versions.h). */

#pragma once
#include "../runtime/forms.h"

BEGIN_C_DECLS

/* Operator number `at`, NULL after the last.  The operator or layer of that name, or NULL. */
const struct declaration *operator_at(int at);
const struct declaration *operator_find(const char *name);

/* Form number `at` of an operator, NULL after the last.  Number 0 is the naive form; a layer has only number 0. */
const struct form *operator_form_at(const struct declaration *d, int at);

/* The form of that name, or NULL.  Layers have one form, found as naive and as fast. */
const struct form *operator_form(const struct declaration *d, const char *name);

/* The same for a name from the user, which may be NULL.  An unknown name is an error, whose message lists the known
 * ones and those of `versions` (may be NULL). */
status operator_named(const struct declaration **d, const char *name);
status form_named(const struct form **form, const struct declaration *d, const char *name,
                  const struct form_row *versions);

END_C_DECLS
