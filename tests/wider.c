/* wider.c -- the naive form in double, for suites in float to measure against
 *
 * The Makefile links this file and the double library into one object of which
 * wider_run alone can be seen from outside (roundoff.h declares it), so that both
 * precisions stand in one program and no name clashes.  A problem holds sizes,
 * options and pointers and no real, so it is laid out alike in both. */

#include <string.h>
#include "../naive/forms.h"
#include "../reference/layers/layers.h"
#include "../reference/memory.h"

bool wider_run(double *y, const struct problem *narrow, const float *x);

/* The numbers of an array that is said to hold reals, one precision wider. */
static void widen(double *to, const void *from, size_t count)
{
    const float *narrow = from;
    for (size_t i = 0; i < count; i++) to[i] = (double)narrow[i];
}

bool wider_run(double *y, const struct problem *narrow, const float *x)
{
    struct problem p = *narrow;
    struct plan plan;
    const struct form_row *row = naive_forms;
    size_t inputs = problem_input_count(&p), count = inputs;

    /* Step 1: the operator or layer of that name in this library, and room for its parameters and x. */
    while (row->declaration && strcmp(row->declaration->name, narrow->declaration->name)) row++;
    if (!row->declaration)
        for (row = layer_forms; row->declaration && strcmp(row->declaration->name, narrow->declaration->name);) row++;
    if (!row->declaration) return false;
    p.declaration = row->declaration;
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) count += p.tensor[r].data ? p.tensor[r].count : 0;
    double *block = memory_get(count, sizeof *block);
    if (!block) return false;

    /* Step 2: the same numbers, and one run. */
    double *next = block + inputs;
    widen(block, x, inputs);
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
        if (!p.tensor[r].data) continue;
        widen(next, p.tensor[r].data, p.tensor[r].count);
        p.tensor[r].data = next;
        next += p.tensor[r].count;
    }
    status s = plan_create(&plan, &p, row->form, 1);
    if (!s.code) s = plan_run(&plan, y, block);
    plan_release(&plan);
    memory_free(block);
    return !s.code;
}
