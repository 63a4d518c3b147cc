/* local.h -- LiSA with local kernels, over the window of every token
 *
 * What the fast form does with windows so small that circles would cost more (lisa.c asks lisa_local_is_cheaper).
 * prepare, load and run are those of a form whose state is struct lisa_local.
 *
 * Contract: reference/lisa.h. */

#ifndef TWICETOLD_LISA_LOCAL_H
#define TWICETOLD_LISA_LOCAL_H

#include "../../../reference/lisa.h"
#include "../../../reference/runtime/neighbours.h"

struct lisa_local {
    struct heads heads;
    struct neighbours around;
    struct linear read, mix;    /* a from products; a kernel and the bias's share of y from a */
    real *wa, *wb;              /* their weights as rows: [D][(M+1) c], [M+c][D]; while loading */
    real *products;             /* of each thread: [TILE][(M+1) c] */
    real *a, *mixed;            /* of each thread: [TILE][D], [TILE][M+c] */
};
HEADS_FIRST(struct lisa_local);

/* Multiply-adds of a run, by formula, and whether they take less time than those on circles. */
double lisa_local_multiply_adds(const void *params);
bool lisa_local_is_cheaper(const struct lisa_problem *p);

status lisa_local_prepare(struct plan *plan);
status lisa_local_load(struct plan *plan);
status lisa_local_run(struct plan *plan, real *y, const real *x);

#endif
