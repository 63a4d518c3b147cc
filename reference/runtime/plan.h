/* plan.h -- a problem and one of its forms, ready to run
 *
 * A form is one way to compute an operator: a name and a few functions.
 *
 *     prepare     asks the plan's room for arrays (room.h); knows sizes alone
 *     load        fills what is kept of the parameters: tables, spectra, repacked
 *                 weights; may be called again when parameters have changed
 *     run         y from x, as often as one likes; allocates nothing
 *
 * A form writes only those it needs.  Each finds its own struct at plan->state,
 * zeroed when the plan was made, and the resolved problem at plan->of.
 *
 *     struct plan plan;
 *     status s = plan_create(&plan, &problem, form, threads);
 *     if (!s.code) s = plan_run(&plan, y, x);
 *     plan_release(&plan);
 *
 * The problem must outlive its plans.  Plans share nothing: each thread may
 * work with its own.  Within a plan all work is shared among its threads, and
 * libraries are called by each of them for itself: a plan of one thread uses
 * one. */

#ifndef TWICETOLD_PLAN_H
#define TWICETOLD_PLAN_H

#include "operator.h"
#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plan;

struct form {
    const char *name;                                       /* "naive", "fast", "cuda", ... */
    size_t state;                                           /* bytes of the form's own struct */
    status (*prepare)(struct plan *);                       /* NULL: asks for nothing */
    status (*load)(struct plan *);                          /* NULL: keeps nothing */
    status (*run)(struct plan *, real *y, const real *x);
    void (*release)(struct plan *);                         /* NULL but where a library keeps what no room holds */
    double (*multiply_adds)(const void *params);                /* of one run, by formula, from the resolved problem */
};

/* Threads of a plan, at most; and if nobody says how many: default_threads() (bytes.h), and no more than that. */
#define PLAN_THREADS 1024
int plan_threads(void);

struct plan {
    const struct problem *problem;
    const struct form *form;
    int threads;                /* at least 1 */
    const void *params;             /* the problem, resolved: struct lisa_problem, ... */
    void *state;                /* the form's own struct */
    struct arena arena;
};

/* prepare, place and load in one. */
status plan_create(struct plan *plan, const struct problem *p, const struct form *form, int threads);

/* Step by step.  plan_prepare takes a few hundred bytes, needs no data, and
 * leaves arena_bytes(&plan->room) known.  The workspace is the plan's own where
 * it is NULL (room.h).  A step that fails has released the plan. */
status plan_prepare(struct plan *plan, const struct problem *p, const struct form *form, int threads);
status plan_allocate(struct plan *plan, void *scratch);
status plan_load(struct plan *plan);

status plan_run(struct plan *plan, real *y, const real *x);
void plan_release(struct plan *plan);

/* What a run of a form costs, by formula; NaN where the problem does not resolve. */
double form_multiply_adds(const struct form *form, const struct problem *p);

/* The unit roundoff of the factors of a form's products, if its name ends in -tf32 (11 digits) or -bf16 (8); else 0. */
double form_rounding(const struct form *form);

#ifdef __cplusplus
}
#endif

#endif
