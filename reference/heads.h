/* heads.h -- projections, heads, batch and threads, written once
 *
 * Every attention operator begins and ends alike:
 *
 *     [Q K V] = x W_qkv^T + b_qkv,  cut into h heads of c = C/h channels;
 *     one head at a time, Y = f(Q, K, V);
 *     the heads side by side again, and y = Y W_o^T + b_o where W_o is given.
 *
 * A form brings f, its heart; these functions bring the rest.  A heart sees
 * one head of one image, as slices of the projection:
 *
 *     q, k, v   [N][c], rows `stride` apart
 *     y         [N][c], rows `y_stride` apart; overlaps no input
 *
 * Heads and images are independent, so they are spread over the threads; a
 * heart that can be cut further (blocks of queries, windows) says into how
 * many parts, and is called once for each.  A heart whose heads depend on each
 * other takes the whole image, and then query and key may have Q channels in
 * place of C: w_qkv has 2Q + C rows.
 *
 * Memory: B N (2Q + C) reals for the projection, B N C more where W_o is given, and
 * the workspace of each thread.  Multiply-adds: B N (2Q + C) C, and B N C^2 more
 * with W_o. */

#ifndef TWICETOLD_HEADS_H
#define TWICETOLD_HEADS_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

struct head {
    const struct problem *problem;
    const void *prepared;       /* what the form prepared besides */
    const real *q, *k, *v;
    real *y;
    size_t stride, y_stride;
    size_t image, head;         /* which one this is */
    size_t part, parts;         /* which part of it, of how many */
    real *workspace;            /* this thread's own */
};

struct heads {
    real *qkv;                  /* [B N][2Q + C] */
    real *joined;               /* [B N][C], only where W_o is given */
    real *workspace;            /* [threads][workspace_reals] */
    size_t workspace_reals;
};

/* Allocates for a plan whose heart wants this workspace per thread. */
status heads_prepare(struct heads *heads, const struct plan *plan, size_t workspace_reals);
void heads_release(struct heads *heads);

/* The three steps above, with `heart` in the middle; a heart of one head, or of
 * all: then q, k, v and y are [N][Q], [N][Q], [N][C] and [N][C]. */
void heads_run(const struct heads *heads, const struct plan *plan, real *y, const real *x,
               void (*heart)(const struct head *), size_t parts, const void *prepared);
void heads_run_whole(const struct heads *heads, const struct plan *plan, real *y, const real *x,
                     void (*heart)(const struct head *), size_t parts, const void *prepared);

/* The first and the last step alone, for forms that cannot be cut into hearts:
 * project writes heads->qkv, join reads what heads_joined points at, which is y
 * itself where there is no w_o. */
void heads_project(const struct heads *heads, const struct plan *plan, const real *x);
real *heads_joined(const struct heads *heads, const struct plan *plan, real *y);
void heads_join(const struct heads *heads, const struct plan *plan, real *y);

/* Dense [N][c] from rows `stride` apart. */
void head_gather(real *dense, const real *rows, size_t stride, size_t tokens, size_t channels);
void head_scatter(real *rows, size_t stride, const real *dense, size_t tokens, size_t channels);

/* Multiply-adds of the projections of a whole problem. */
double heads_multiply_adds(const struct problem *p);

#ifdef __cplusplus
}
#endif

#endif
