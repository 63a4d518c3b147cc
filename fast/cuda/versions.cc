/* versions.cc -- find a version by number or name; see versions.h */

#include "versions.h"
#include <string.h>

const struct form *operator_version_at(const struct declaration *d, int at)
{
    for (const struct form_row *row = cuda_forms; row->declaration; row++)
        if (row->declaration == d && at-- == 0) return row->form;
    return nullptr;
}

const struct form *operator_version(const struct declaration *d, const char *name)
{
    const struct form *form, *last = nullptr;
    for (int at = 0; (form = operator_version_at(d, at)); at++) {
        if (!strcmp(form->name, name)) return form;
        if (form_rounding(form) == 0) last = form;
    }
    return strcmp(name, "cuda") ? nullptr : last;
}
