/* versions.h -- the versions of CUDA kernels, by number and by name
 *
 * In the library of emulated kernels, which runs them on the processor, slowly and checked (emulator.h). */

#ifndef TWICETOLD_FAST_CUDA_VERSIONS_H
#define TWICETOLD_FAST_CUDA_VERSIONS_H

#include "../../reference/runtime/forms.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All versions, in the order of their operators, each operator's from the first to the last. */
extern const struct form_row cuda_forms[];

/* Version number `at` of an operator, NULL after the last. */
const struct form *operator_version_at(const struct declaration *d, int at);

/* The version of that name, or NULL.  "cuda" is the last one that rounds as reals do. */
const struct form *operator_version(const struct declaration *d, const char *name);

#ifdef __cplusplus
}
#endif

#endif
