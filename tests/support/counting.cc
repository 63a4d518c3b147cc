/* counting.cc -- C interface of the counting build (counting.h); suites declare the functions they call */

#include "counting.h"
#include <string.h>
#include "../../reference/networks/operators.h"

unsigned long long real::multiplications;

namespace counting {
#include "../../naive/attention.h"
#include "../../naive/chopd.h"
#include "../../naive/forms.h"
#include "../../naive/hilo.h"
#include "../../naive/lisa.h"
#include "../../fast/forms.h"
#include "../../figures/ladders/steps.h"
}

#undef gelu
extern "C" {

plain_real gelu(plain_real x);
real counted_gelu(real x) { return real((double)gelu(x.number)); }

unsigned long long multiplications(void)
{
    unsigned long long counted = real::multiplications;
    real::multiplications = 0;
    return counted;
}

const struct form *counted_form(const struct declaration *d, const char *name)
{
    const struct form_row *const lists[] = {counting::naive_forms, counting::plain_forms};
    for (const struct form_row *row : lists)
        for (; row->declaration; row++)
            if (row->declaration == d && !strcmp(row->form->name, name)) return row->form;
    return nullptr;
}

const struct form *counted_step(int at) { return &counting::msa_steps[at].form; }

/* Cores that suites count alone.  No form runs Fig. 6's order of LiSA's Eq. 5. */
void counted_attention(real *y, real *a, const real *q, const real *k, const real *v,
                        size_t queries, size_t keys, size_t channels)
{
    counting::attention_naive(y, a, q, k, v, nullptr, 1, queries, keys, channels);
}

void counted_hilo_spread(real *tokens, const real *rows, const struct hilo_problem *p)
{
    counting::hilo_naive_spread(tokens, rows, p, p->ld);
}

void counted_lisa_fig6(real *y, real *KRa, real *RbV, const real *q, const real *k, const real *v,
                       const real *Ra, const real *Rb, const struct lisa_problem *p)
{
    counting::lisa_naive_fig6(y, KRa, RbV, q, k, v, Ra, Rb, p);
}

void counted_chopd_larger(real *u13, const real *map, const struct chopd_problem *p)
{
    counting::chopd_naive_larger(u13, map, p->s, p->H, p->W, p->R);
}

}
