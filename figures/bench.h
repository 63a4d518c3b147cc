/* bench.h -- an operator on tensors made in memory, for the programs that
 * compute what the maps draw
 *
 * A bench holds tensors as a file would.  Nothing here is measured; measure.c
 * does that. */

#ifndef TWICETOLD_BENCH_H
#define TWICETOLD_BENCH_H

#include <stdio.h>
#include <string.h>
#include "../reference/forms.h"
#include "../reference/lookup.h"

#define BENCH_TENSORS 10

struct bench {
    struct tensor tensor[BENCH_TENSORS];
    struct tensors list;        /* the same, as problem_bind takes them */
};

/* Room for a named tensor of these sizes; a size of 0 stands for an axis that
 * is not there.  NULL where memory is out. */
static inline real *bench_add(struct bench *b, const char *name, size_t s0, size_t s1, size_t s2)
{
    const size_t size[3] = {s0, s1, s2};
    int axes = s2 ? 3 : s1 ? 2 : 1;
    b->list.tensor = b->tensor;
    if (b->list.count == BENCH_TENSORS || tensor_create(&b->tensor[b->list.count], name, axes, size).code) return NULL;
    real *data = b->tensor[b->list.count++].data;
    memset(data, 0, b->tensor[b->list.count - 1].count * sizeof *data);
    return data;
}

static inline void bench_release(struct bench *b)
{
    for (size_t t = 0; t < b->list.count; t++) tensor_release(&b->tensor[t]);
    b->list.count = 0;
}

/* y = the operator of these options on these tensors, by the named form. */
static inline status bench_run(real *y, const struct bench *b, const struct declaration *d, const char *form,
                               int words, const char *const *word, int threads)
{
    struct problem p;
    struct plan plan;
    status s = problem_create(&p, d, words, word);
    if (!s.code) s = problem_bind(&p, &b->list);
    if (!s.code) s = plan_create(&plan, &p, operator_form(d, form), threads);
    if (s.code) return s;
    s = plan_run(&plan, y, problem_tensor(&p, "x"));
    plan_release(&plan);
    return s;
}

#endif
