/* operators.c -- operators, layers and their forms, by number and by name; see operators.h */

#include "operators.h"
#include "layers/layers.h"
#include "../runtime/lookup.h"
#include "../structsa.h"
#include <stdio.h>
#include <string.h>

/* Each operator has one naive form, so the list of naive forms is the list of operators. */
const struct declaration *operator_at(int at)
{
    for (const struct form_row *row = naive_forms; row->declaration; row++)
        if (at-- == 0) return row->declaration;
    return NULL;
}

const struct declaration *operator_find(const char *name)
{
    const struct declaration *d;
    for (int o = 0; (d = operator_at(o)); o++)
        if (same_letters(d->name, name)) return d;
    return layer_find(name);
}

/* Forms for the processor, in the order of messages. */
static const struct form_row *const lists[] = {naive_forms, plain_forms, fast_forms, layer_forms};

static const struct form *form_in(const struct form_row *list, const struct declaration *d, int *at)
{
    for (const struct form_row *row = list; row->declaration; row++)
        if (row->declaration == d && (*at)-- == 0) return row->form;
    return NULL;
}

const struct form *operator_form_at(const struct declaration *d, int at)
{
    const struct form *form = NULL;
    for (size_t l = 0; l < sizeof lists / sizeof *lists && !form; l++) form = form_in(lists[l], d, &at);
    return form;
}

const struct form *operator_form(const struct declaration *d, const char *name)
{
    const struct form *form;
    if (d == &structsa && !strcmp(name, "permuted")) name = "plain";     /* its former name */
    for (int f = 0; (form = operator_form_at(d, f)); f++)
        if (!strcmp(form->name, name)) return form;
    bool either = !strcmp(name, "naive") || !strcmp(name, "fast");
    return either && layer_find(d->name) == d ? operator_form_at(d, 0) : NULL;
}

static void append(char *list, size_t size, const char *name)
{
    size_t at = strlen(list);
    snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
}

status operator_named(const struct declaration **d, const char *name)
{
    char names[160] = "";
    const struct declaration *each;
    *d = name ? operator_find(name) : NULL;
    if (*d) return status_ok();
    for (int o = 0; (each = operator_at(o)); o++) append(names, sizeof names, each->name);
    if (!name) return bad_input("found no operator, expected one of %s or a layer", names);
    struct nearest n = {.found = name};
    for (int o = 0; (each = operator_at(o)); o++) nearest_try(&n, each->name);
    for (int l = 0; (each = layer_at(l)); l++) nearest_try(&n, each->name);
    return nearest_suggest(bad_input("operator %.40s: not known, expected one of %s or a layer", name, names), &n);
}

status form_named(const struct form **form, const struct declaration *d, const char *name,
                  const struct form_row *versions)
{
    char names[120] = "";
    const struct form *each;
    *form = name ? operator_form(d, name) : NULL;
    if (*form) return status_ok();
    for (int f = 0; (each = operator_form_at(d, f)); f++) append(names, sizeof names, each->name);
    for (; versions && versions->declaration; versions++)
        if (versions->declaration == d) append(names, sizeof names, versions->form->name);
    return bad_input("form '%.40s': not known, expected one of %s", name ? name : "", names);
}
