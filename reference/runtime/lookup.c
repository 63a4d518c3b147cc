/* lookup.c -- options, sizes and tensors of a problem by name; see lookup.h */

#include "lookup.h"
#include <math.h>
#include <string.h>

/* True if any row has this name, in force or not. */
static bool declaration_has_tensor(const struct declaration *d, const char *name)
{
    for (const struct tensor_row *t = d->tensors; t->name; t++)
        if (!strcmp(t->name, name)) return true;
    return false;
}

static void unknown(struct lookup *names, const char *kind, const char *name)
{
    if (!names->error.code)
        names->error = failure("%s has no %s of the name '%.40s'", names->problem->declaration->name, kind, name);
}

size_t lookup_size(struct lookup *names, const char *letter)
{
    const struct problem *p = names->problem;
    size_t size = problem_size(p, letter);
    if (!size && !declaration_has_letter(p->declaration, letter)) unknown(names, "size", letter);
    return size;
}

static int known_option(struct lookup *names, const char *option)
{
    int o = declaration_option(names->problem->declaration, option);
    if (o < 0) unknown(names, "option", option);
    return o;
}

double lookup_number(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    return o < 0 ? 0 : names->problem->option[o].number;
}

size_t lookup_whole(struct lookup *names, const char *option)
{
    return (size_t)lookup_number(names, option);
}

const char *lookup_text(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    return o < 0 || !names->problem->option[o].text ? "" : names->problem->option[o].text;
}

int lookup_choice(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    const char *choices = o < 0 ? NULL : names->problem->declaration->options[o].choices;
    return choices && names->problem->option[o].text ? word_place(choices, names->problem->option[o].text) : -1;
}

bool lookup_given(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    return o >= 0 && names->problem->option[o].given;
}

const size_t *lookup_sizes(struct lookup *names, const char *option)
{
    static const size_t none[GRID_AXES];
    int o = known_option(names, option);
    return o < 0 ? none : names->problem->option[o].size;
}

/* Index of the tensor in problem.tensor, or -1 if it is absent. */
static int present_tensor(struct lookup *names, const char *name)
{
    int r = problem_row(names->problem, name);
    if (r < 0 && !declaration_has_tensor(names->problem->declaration, name)) unknown(names, "tensor", name);
    return r >= 0 && names->problem->tensor[r].present ? r : -1;
}

const real *lookup_tensor(struct lookup *names, const char *name)
{
    static const real no_data[] = {(real)NAN};
    int r = present_tensor(names, name);
    if (r < 0) return NULL;
    return names->problem->tensor[r].data ? names->problem->tensor[r].data : no_data;
}

size_t lookup_axis(struct lookup *names, const char *name, int axis)
{
    int r = present_tensor(names, name);
    return r < 0 || axis >= names->problem->tensor[r].axes ? 0 : names->problem->tensor[r].size[axis];
}

double problem_number(const struct problem *p, const char *option)
{
    struct lookup names = {.problem = p};
    double number = lookup_number(&names, option);
    return names.error.code ? NAN : number;
}

const char *problem_text(const struct problem *p, const char *option)
{
    struct lookup names = {.problem = p};
    const char *text = lookup_text(&names, option);
    return names.error.code ? NULL : text;
}

bool problem_given(const struct problem *p, const char *option)
{
    struct lookup names = {.problem = p};
    return lookup_given(&names, option);
}

const real *problem_tensor(const struct problem *p, const char *name)
{
    int r = problem_row(p, name);
    return r < 0 ? NULL : p->tensor[r].data;
}

size_t problem_axis(const struct problem *p, const char *name, int axis)
{
    struct lookup names = {.problem = p};
    return lookup_axis(&names, name, axis);
}
