/* library.c -- the functions of the library; see twicetold.h
 *
 * Declarations, problems and plans check the input and do the work. */

#include "interface.h"
#include <string.h>
#include "../runtime/bytes.h"
#include "../networks/layers/layers.h"
#include "../networks/operators.h"
#include "describe.h"

struct API(plan) {
    struct problem problem;
    struct plan plan;           /* its form is NULL before prepare, and after a step that failed */
    const struct form *form;
    int threads;
    size_t bytes;
    bool allocated, loaded;
    char *words;                /* the options; the problem points to them */
};

twicetold_status public_status(status s, const char *operator)
{
    twicetold_status out = {.code = s.code};
    if (operator) s = status_at(s, operator);
    memcpy(out.message, s.message, sizeof s.message);
    return out;
}

const char *API(operator)(int at)
{
    const struct declaration *d = at < 0 ? NULL : operator_at(at);
    return d ? d->name : NULL;
}

const char *API(layer)(int at)
{
    const struct declaration *d = at < 0 ? NULL : layer_at(at);
    return d ? d->name : NULL;
}

const char *API(form)(const char *name, int at)
{
    const struct declaration *d = name ? operator_find(name) : NULL;
    const struct form *form = d && at >= 0 ? operator_form_at(d, at) : NULL;
    return form ? form->name : NULL;
}

const char *API(version)(void)
{
    return TWICETOLD_VERSION;
}

size_t API(describe)(char *text, size_t size, const char *name)
{
    const struct declaration *d = name ? operator_find(name) : NULL;
    return d ? describe_operator(text, text ? size : 0, d) : 0;
}

/* Creates the problem from the options.  It points to their words, so they are copied. */
static status set_options(struct API(plan) *plan, const struct declaration *d, const char *const *option)
{
    size_t count = 0, bytes = 0, at = 0;
    for (; option && option[count]; count++) size_add(&bytes, strlen(option[count]) + 1, 1);
    if (count > 2 * PROBLEM_OPTIONS)
        return bad_input("found %zu words of options, expected at most %d", count, 2 * PROBLEM_OPTIONS);
    plan->words = memory_get(bytes ? bytes : 1, 1);
    if (!plan->words) return out_of_memory("the options");

    const char *word[2 * PROBLEM_OPTIONS];
    for (size_t w = 0; w < count; w++) {
        size_t length = strlen(option[w]) + 1;
        word[w] = memcpy(plan->words + at, option[w], length);
        at += length;
    }
    return problem_create(&plan->problem, d, (int)count, word);
}

/* Borrows name and data. */
static status convert(struct tensor *t, const API(tensor) *given)
{
    if (given->axes < 0 || given->axes > TENSOR_AXES)
        return bad_input("tensor %.40s: found %d axes, expected at most %d", given->name, given->axes, TENSOR_AXES);
    *t = (struct tensor){.name = (char *)(size_t)given->name, .axes = given->axes, .count = 1,
                         .data = (real *)(size_t)given->data};
    for (int a = 0; a < given->axes; a++) {
        t->size[a] = given->size[a];
        if (!t->size[a] || !size_multiply(&t->count, t->count, t->size[a]))
            return bad_input("tensor %.40s: found %zu on axis %d, expected a size whose product can be counted",
                             given->name, t->size[a], a);
    }
    return status_ok();
}

status list_all(struct tensors *all, const API(tensor) *given, size_t count)
{
    status s = status_ok();
    if (count && !given) return bad_input("tensors: found NULL, expected %zu of them", count);
    *all = (struct tensors){.tensor = memory_get(count, sizeof *all->tensor)};
    if (!all->tensor) return out_of_memory("a list of tensors");
    for (size_t t = 0; t < count && !s.code; t++) {
        if (!given[t].name) s = bad_input("tensor %zu: found no name, expected one", t);
        else if (tensors_find(all, given[t].name))
            s = bad_input("tensor %.40s: given twice, expected once", given[t].name);
        else s = convert(&all->tensor[t], &given[t]);
        all->count += !s.code;
    }
    return s;
}

status request_limits(int *threads, size_t *allowed, const twicetold_request *request)
{
    status s = bytes_allowed(allowed, request->max_memory);
    if (!s.code && (request->threads < 0 || request->threads > PLAN_THREADS))
        s = bad_input("threads: found %d, expected at most %d, or 0", request->threads, PLAN_THREADS);
    *threads = request->threads ? request->threads : plan_threads();
    return s;
}

static status no_plan(void) { return bad_input("found no plan, expected one"); }

static status prepare(struct API(plan) *plan)
{
    status s = plan_prepare(&plan->plan, &plan->problem, plan->form, plan->threads);
    plan->allocated = plan->loaded = false;
    if (!s.code) plan->bytes = arena_bytes(&plan->plan.arena);
    return s;
}

twicetold_status API(plan_create)(API(plan) **plan, const twicetold_request *request, const API(tensor) *tensors,
                                  size_t count)
{
    const struct declaration *d;
    const struct form *form;
    struct tensors shapes = {0};
    size_t allowed = 0;
    int threads;
    if (!plan) return public_status(bad_input("found NULL, expected the address of a plan"), NULL);
    *plan = NULL;
    if (!request) return public_status(bad_input("found no request, expected one"), NULL);
    status s = operator_named(&d, request->name);
    if (s.code) return public_status(s, NULL);
    s = form_named(&form, d, request->form ? request->form : "fast", NULL);
    if (!s.code) s = request_limits(&threads, &allowed, request);
    if (s.code) return public_status(s, d->name);
    struct API(plan) *new_plan = memory_get(1, sizeof *new_plan);
    if (!new_plan) return public_status(out_of_memory("a plan"), d->name);
    memset(new_plan, 0, sizeof *new_plan);
    new_plan->form = form;
    new_plan->threads = threads;
    s = set_options(new_plan, d, request->options);
    if (!s.code) s = list_all(&shapes, tensors, count);
    for (size_t t = 0; t < shapes.count; t++) shapes.tensor[t].data = NULL;
    if (!s.code) s = problem_bind(&new_plan->problem, &shapes);
    if (!s.code) s = prepare(new_plan);
    if (!s.code) s = bytes_fit(new_plan->bytes, allowed);
    memory_free(shapes.tensor);
    if (s.code) API(plan_release)(new_plan);
    else *plan = new_plan;
    return public_status(s, d->name);
}

/* Bad input if tensors are missing, extra, without data, or of other shapes than when the plan was created. */
static status same_shapes(const struct problem *now, const struct problem *then)
{
    for (int r = 0; now->declaration->tensors[r].name; r++) {
        const char *name = now->declaration->tensors[r].name;
        char found[120], expected[120];
        int axes = now->tensor[r].axes;
        if (now->tensor[r].present != then->tensor[r].present)
            return bad_input("tensor %s: %s, expected as when the plan was created", name,
                             now->tensor[r].present ? "found one" : "missing");
        if (axes != then->tensor[r].axes
            || memcmp(now->tensor[r].size, then->tensor[r].size, (size_t)axes * sizeof(size_t)))
            return bad_input("tensor %s: found %s, expected %s as when the plan was created", name,
                             shape_text(found, sizeof found, axes, now->tensor[r].size),
                             shape_text(expected, sizeof expected, then->tensor[r].axes, then->tensor[r].size));
        if (r && now->tensor[r].present && !now->tensor[r].data)
            return bad_input("tensor %s: found no data, expected some", name);
    }
    return status_ok();
}

twicetold_status API(plan_load)(API(plan) *plan, const API(tensor) *tensors, size_t count)
{
    if (!plan) return public_status(no_plan(), NULL);
    const char *name = plan->problem.declaration->name;
    struct problem bound = plan->problem;
    struct tensors given = {0};

    /* Bind the tensors to a copy, so that an error changes nothing. */
    memset(bound.tensor, 0, sizeof bound.tensor);
    status s = list_all(&given, tensors, count);
    if (!s.code) s = problem_bind(&bound, &given);
    memory_free(given.tensor);
    if (!s.code) s = same_shapes(&bound, &plan->problem);
    if (s.code) return public_status(s, name);

    /* A step that fails releases the inner plan. */
    plan->problem = bound;
    plan->loaded = false;
    if (!plan->plan.form) s = prepare(plan);
    if (!s.code && !plan->allocated) s = plan_allocate(&plan->plan, NULL);
    plan->allocated = !s.code;
    if (!s.code) s = plan_load(&plan->plan);
    plan->loaded = !s.code;
    return public_status(s, name);
}

twicetold_status API(plan_run)(API(plan) *plan, real *y, const real *x)
{
    if (!plan) return public_status(no_plan(), NULL);
    const char *name = plan->problem.declaration->name;
    if (!y || !x) return public_status(bad_input("tensor %s: found no data, expected some", y ? "x" : "y"), name);
    if (!plan->loaded) return public_status(bad_input("the plan is not loaded, expected its parameters first"), name);
    return public_status(plan_run(&plan->plan, y, x), name);
}

void API(plan_release)(API(plan) *plan)
{
    if (!plan) return;
    plan_release(&plan->plan);
    memory_free(plan->words);
    memory_free(plan);
}

int API(plan_shape)(const API(plan) *plan, size_t size[TWICETOLD_AXES])
{
    int axes = 0;
    return !plan || !size || problem_output_shape(&plan->problem, &axes, size).code ? 0 : axes;
}

size_t API(plan_bytes)(const API(plan) *plan) { return plan ? plan->bytes : 0; }
int API(plan_threads)(const API(plan) *plan) { return plan ? plan->threads : 0; }
size_t API(plan_parameters)(const API(plan) *plan) { return plan ? problem_parameters(&plan->problem) : 0; }

double API(plan_multiply_adds)(const API(plan) *plan)
{
    return plan ? form_multiply_adds(plan->form, &plan->problem) : 0;
}
