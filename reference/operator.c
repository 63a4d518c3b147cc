/* operator.c -- finding operators and their forms, and running plans; see
 * operator.h */

#include "operator.h"
#include <string.h>

const struct declaration *operator_find(const char *name)
{
    for (int o = 0; operators[o]; o++)
        if (!strcmp(operators[o]->name, name)) return operators[o];
    return NULL;
}

const struct form *operator_form(const struct declaration *d, const char *name)
{
    for (int f = 0; f < OPERATOR_FORMS && d->forms[f]; f++)
        if (!strcmp(d->forms[f]->name, name)) return d->forms[f];
    return NULL;
}

status plan_create(struct plan *plan, const struct problem *p, const struct form *form, int threads)
{
    *plan = (struct plan){.problem = p, .form = form, .threads = threads < 1 ? 1 : threads};
    status s = form->prepare ? form->prepare(plan) : status_ok();
    if (s.code) plan_release(plan);
    return s;
}

status plan_run(struct plan *plan, real *y, const real *x)
{
    return plan->form->run(plan, y, x);
}

void plan_release(struct plan *plan)
{
    if (plan->form && plan->form->release) plan->form->release(plan);
    plan->form = NULL;
    plan->state = NULL;
}
