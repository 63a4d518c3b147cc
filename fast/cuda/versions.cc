/* versions.cc -- find a version by number or name; see versions.h */

#include "versions.h"
#include <string.h>

const struct form *version_at(const struct form_row *list, const struct declaration *d, int at)
{
    for (; list->declaration; list++)
        if (!strcmp(list->declaration->name, d->name) && at-- == 0) return list->form;
    return nullptr;
}

const struct form *version_named(const struct form_row *list, const struct declaration *d, const char *name)
{
    const struct form *form, *last = nullptr;
    for (int at = 0; (form = version_at(list, d, at)); at++) {
        if (!strcmp(form->name, name)) return form;
        if (form_rounding(form) == 0) last = form;
    }
    return strcmp(name, "cuda") ? nullptr : last;
}
