/* versions.h -- find the version of a kernel by number or name */

#pragma once
#include "../../reference/runtime/forms.h"

BEGIN_C_DECLS

/* All versions, those of each operator in order, but not all adjacent.  The last declaration is NULL. */
extern const struct form_row cuda_forms[];

/* Find a version of an operator in a list, by number (NULL after the last) or name (NULL if unknown).  "cuda" is the
 * last version that does not round to fewer digits than a real.  Declarations are compared by name. */
const struct form *version_at(const struct form_row *list, const struct declaration *d, int at);
const struct form *version_named(const struct form_row *list, const struct declaration *d, const char *name);

static inline const struct form *operator_version_at(const struct declaration *d, int at)
{
    return version_at(cuda_forms, d, at);
}

static inline const struct form *operator_version(const struct declaration *d, const char *name)
{
    return version_named(cuda_forms, d, name);
}

END_C_DECLS
