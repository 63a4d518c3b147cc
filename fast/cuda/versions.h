/* versions.h -- find the version of an emulated kernel by number or name */

#ifndef TWICETOLD_FAST_CUDA_VERSIONS_H
#define TWICETOLD_FAST_CUDA_VERSIONS_H

#include "../../reference/runtime/forms.h"

BEGIN_C_DECLS

/* All versions, sorted by operator and then from first to last; the declaration after the last is NULL. */
extern const struct form_row cuda_forms[];

/* Version number `at` of an operator, NULL after the last. */
const struct form *operator_version_at(const struct declaration *d, int at);

/* The version of that name, or NULL.  "cuda" is the last version that does not round to fewer digits than a real. */
const struct form *operator_version(const struct declaration *d, const char *name);

END_C_DECLS

#endif
