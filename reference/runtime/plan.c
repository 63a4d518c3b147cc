/* plan.c -- a form prepared for a problem; see plan.h */

#include "plan.h"
#include <math.h>
#include <omp.h>
#include <string.h>
#include "bytes.h"

/* One block holds the resolved problem, rounded up to a multiple of 64 bytes, and then the form's state. */
static size_t resolved_bytes(const struct declaration *d)
{
    return (d->resolved + 63) / 64 * 64;
}

status plan_prepare(struct plan *plan, const struct problem *p, const struct form *form, int threads)
{
    const struct declaration *d = p->declaration;
    *plan = (struct plan){.problem = p, .form = form, .threads = threads < 1 ? 1 : threads};
    plan->arena = arena_open(plan->threads);
    char *block = memory_get(resolved_bytes(d) + form->state, 1);
    if (!block) {
        plan_release(plan);
        return out_of_memory("a plan");
    }
    memset(block, 0, resolved_bytes(d) + form->state);
    plan->params = block;
    plan->state = block + resolved_bytes(d);

    status s = d->resolve(block, p);
    if (!s.code && form->prepare) s = form->prepare(plan);
    if (s.code) plan_release(plan);
    return s;
}

status plan_allocate(struct plan *plan, void *scratch)
{
    status s = arena_allocate(&plan->arena, scratch);
    if (s.code) plan_release(plan);
    return s;
}

int plan_threads(void)
{
    int threads = default_threads();
    return threads < PLAN_THREADS ? threads : PLAN_THREADS;
}

/* Libraries that a plan calls shall use the calling thread only.  Returns OpenMP's setting, which the caller
 * restores. */
static int use_one_thread(void)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

status plan_load(struct plan *plan)
{
    const struct problem *p = plan->problem;
    status s = problem_loaded(p);
    if (!s.code) s = p->declaration->resolve((void *)(size_t)plan->params, p);
    int threads = use_one_thread();
    if (!s.code && plan->form->load) {
        arena_begin(&plan->arena, LOAD_SCRATCH);
        s = plan->form->load(plan);
        arena_end(&plan->arena);
    }
    omp_set_num_threads(threads);
    if (s.code) plan_release(plan);
    return s;
}

status plan_create(struct plan *plan, const struct problem *p, const struct form *form, int threads)
{
    status s = plan_prepare(plan, p, form, threads);
    if (!s.code) s = plan_allocate(plan, NULL);
    return s.code ? s : plan_load(plan);
}

status plan_run(struct plan *plan, real *y, const real *x)
{
    int threads = use_one_thread();
    arena_begin(&plan->arena, PER_RUN);
    status s = plan->form->run(plan, y, x);
    arena_end(&plan->arena);
    omp_set_num_threads(threads);
    return s;
}

void plan_release(struct plan *plan)
{
    if (plan->form && plan->form->release && plan->state) plan->form->release(plan);
    arena_release(&plan->arena);
    memory_free((void *)(size_t)plan->params);
    plan->form = NULL;
    plan->state = NULL;
    plan->params = NULL;
}

double form_multiply_adds(const struct form *form, const struct problem *p)
{
    _Alignas(64) char params[PROBLEM_RESOLVED];
    if (p->declaration->resolved > sizeof params || p->declaration->resolve(params, p).code) return NAN;
    return form->multiply_adds(params);
}

double form_rounding(const struct form *form)
{
    const char *end = strrchr(form->name, '-');
    if (!end) return 0;
    return !strcmp(end, "-tf32") ? 0x1p-11 : !strcmp(end, "-bf16") ? 0x1p-8 : 0;
}
