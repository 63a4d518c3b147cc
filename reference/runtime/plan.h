/* plan.h -- a form prepared for a problem
 *
 * A form is one implementation of an operator: a name and a few functions.
 *
 *     prepare     declares arrays in the plan's arena (arena.h); knows only sizes
 *     load        computes all that depends on the parameters alone: tables, spectra, repacked weights; is called
 *                 again after the parameters have changed
 *     run         computes y from x, any number of times; allocates nothing
 *
 * Each function finds the form's own struct at plan->state, zeroed at first, and the resolved problem at plan->params.
 *
 *     struct plan plan;
 *     status s = plan_create(&plan, &problem, form, threads);
 *     if (!s.code) s = plan_run(&plan, y, x);
 *     plan_release(&plan);
 *
 * The problem must outlive its plans.  Plans share at most the caller's scratch memory.  Libraries (BLAS, FFTW) run on
 * the thread that calls them, so a plan of one thread uses one processor. */

#pragma once
#include "operator.h"
#include "arena.h"

BEGIN_C_DECLS

struct plan;

struct form {
    const char *name;                                       /* "naive", "fast", "cuda", ... */
    size_t state;                                           /* bytes of the form's own struct */
    status (*prepare)(struct plan *);                       /* NULL: no arrays */
    status (*load)(struct plan *);                          /* NULL: nothing depends on the parameters alone */
    status (*run)(struct plan *, real *y, const real *x);
    void (*release)(struct plan *);                         /* NULL unless the form owns handles outside the arena */
    double (*multiply_adds)(const void *params);            /* of one run, by formula, from the resolved problem */
};

/* The largest number of threads, and the default: default_threads() (bytes.h), at most PLAN_THREADS. */
#define PLAN_THREADS 1024
int plan_threads(void);

struct plan {
    const struct problem *problem;
    const struct form *form;
    int threads;                /* at least 1 */
    const void *params;         /* the resolved problem: struct lisa_problem, ... */
    void *state;                /* the form's own struct */
    struct arena arena;
};

/* Prepares, allocates and loads. */
status plan_create(struct plan *plan, const struct problem *p, const struct form *form, int threads);

/* The same in steps.  plan_prepare needs no data and allocates only the resolved problem and the form's struct; then
 * arena_bytes(&plan->arena) is known.  If `scratch` is NULL, plan_allocate allocates scratch memory, too (arena.h).  A
 * step that fails releases the plan. */
status plan_prepare(struct plan *plan, const struct problem *p, const struct form *form, int threads);
status plan_allocate(struct plan *plan, void *scratch);
status plan_load(struct plan *plan);

status plan_run(struct plan *plan, real *y, const real *x);
void plan_release(struct plan *plan);

/* Multiply-adds of one run, by formula; NaN if the problem does not resolve. */
double form_multiply_adds(const struct form *form, const struct problem *p);

/* The unit roundoff of the factors of a form's products, if its name ends in -tf32 (11 bits) or -bf16 (8); else 0. */
double form_rounding(const struct form *form);

END_C_DECLS
