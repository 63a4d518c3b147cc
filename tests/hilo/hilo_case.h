/* hilo_case.h -- shared by the tests of HiLo: resolved problems, costs */

#pragma once
#include "../support/fixture.h"
#include "../../naive/attention.h"
#include "../../naive/hilo.h"

static inline struct hilo_problem resolved(const struct problem *p)
{
    struct hilo_problem z;
    succeeds(hilo.resolve(&z, p));
    return z;
}

static inline struct hilo_problem sizes_of(const char *options, size_t batch, size_t channels)
{
    struct problem p = shaped(options, &hilo, batch, channels, "", "");
    return resolved(&p);
}

static inline struct problem bare(const char *options, const struct declaration *d, size_t channels)
{
    return shaped(options, d, 1, channels, "", "b_qkv b_q b_kv b_o rpe sr_b h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b");
}

static inline double multiply_adds_of(const struct problem *p)
{
    return form_multiply_adds(operator_form(p->declaration, "fast"), p);
}

/* Entries of a tensor, 0 if it is absent. */
static inline size_t entries(const struct problem *p, const char *name)
{
    int row = problem_row(p, name);
    return row < 0 ? 0 : p->tensor[row].count;
}
