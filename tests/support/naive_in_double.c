/* naive_in_double.c -- the naive form in double, the reference of suites in float
 *
 * The Makefile links this file and the double library into one object that exports only naive_in_double_run
 * (roundoff.h).  A problem contains no real, so its layout is the same in both precisions. */

#include <string.h>
#include "../../naive/forms.h"
#include "../../reference/networks/layers/layers.h"
#include "../../reference/runtime/memory.h"

bool naive_in_double_run(double *y, const struct problem *narrow, const float *x);

/* `from` holds floats, whatever its declared type. */
static void widen(double *to, const void *from, size_t count)
{
    const float *narrow = from;
    for (size_t i = 0; i < count; i++) to[i] = (double)narrow[i];
}

bool naive_in_double_run(double *y, const struct problem *narrow, const float *x)
{
    struct problem p = *narrow;
    struct plan plan;
    const struct form_row *row = naive_forms;
    size_t inputs = problem_input_count(&p), count = inputs;

    /* Find the operator or layer in the double library; allocate its parameters and x. */
    while (row->declaration && strcmp(row->declaration->name, narrow->declaration->name)) row++;
    if (!row->declaration)
        for (row = layer_forms; row->declaration && strcmp(row->declaration->name, narrow->declaration->name);) row++;
    if (!row->declaration) return false;
    p.declaration = row->declaration;
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) count += p.tensor[r].data ? p.tensor[r].count : 0;
    double *block = memory_get(count, sizeof *block);
    if (!block) return false;

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
