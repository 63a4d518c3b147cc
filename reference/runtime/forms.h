/* forms.h -- lists of forms
 *
 * Each folder of forms has a list of its own: naive/forms.c, fast/forms.c, fast/tuned/forms.c, fast/cuda/forms.cc and,
 * for the layers of networks, networks/layers/layers.c.  networks/operators.c looks forms up in all but
 * fast/cuda/forms.cc (fast/cuda/versions.h). */

#pragma once
#include "plan.h"

BEGIN_C_DECLS

/* One form of one operator; a list ends at a declaration of NULL. */
struct form_row {
    const struct declaration *declaration;
    const struct form *form;
};

extern const struct form_row naive_forms[], plain_forms[], fast_forms[], layer_forms[];

/* No operator has more forms than this, versions of kernels included. */
#define OPERATOR_FORMS 32

END_C_DECLS
