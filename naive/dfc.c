/* dfc.c -- a fully connected layer for each image, as Eq. 3 reads; never optimised.  Contract: reference/dfc.h. */

#include "dfc.h"
#include "forms.h"

static status run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->params;
    dfc_naive_apply(y, x, p->w, p->B, p->M, p->N, p->C, p->D);
    for (size_t i = 0; i < p->B; i++) dfc_naive_finish(y + i * p->N * p->D, p->b, p->D, p->N, p->D, p->gelu);
    return status_ok();
}

const struct form dfc_naive = {.name = "naive", .run = run, .multiply_adds = fc_multiply_adds};
