/* local.h -- LiSA with local kernels, directly over the window of every token
 *
 * The fast form uses it if windows are so small that circles cost more (lisa_local_is_cheaper).  prepare, load and run
 * belong to a form with the state struct lisa_local.
 *
 * Contract: reference/lisa.h. */

#pragma once
#include "../../../reference/lisa.h"
#include "../../../reference/runtime/neighbours.h"

struct lisa_local {
    struct heads heads;
    struct neighbours around;
    struct linear read, mix;    /* products to a; a to a mixed kernel and the bias term of y */
    real *wa, *wb;              /* their weights as rows: [D][(M+1) c], [M+c][D]; only during load */
    real *products;             /* per thread: [TILE][(M+1) c] */
    real *a, *mixed;            /* per thread: [TILE][D], [TILE][M+c] */
};
HEADS_FIRST(struct lisa_local);

/* Multiply-adds of a run.  lisa_local_is_cheaper: kernels are local, and circles are estimated to take longer. */
double lisa_local_multiply_adds(const void *params);
bool lisa_local_is_cheaper(const struct lisa_problem *p);

status lisa_local_prepare(struct plan *plan);
status lisa_local_load(struct plan *plan);
status lisa_local_run(struct plan *plan, real *y, const real *x);
