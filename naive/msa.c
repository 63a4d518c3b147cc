/* msa.c -- self-attention as Eq. 1-3 read, one window after the other
 *
 * Without windows the grid is one window.  This file refuses to be clever: it
 * copies the window's tokens out, writes R down for every pair, and hands all
 * of it to the equation in naive/attention.c.
 *
 * Contract: reference/msa.h. */

#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/msa.h"

static void naive_head(const struct head *one)
{
    const struct problem *p = one->problem;
    size_t n = msa_reach(p), c = problem_size(p, "c");
    const real *rpe = problem_tensor(p, "rpe");
    size_t columns = problem_axis(p, "rpe", 1), column = columns > 1 ? one->head : 0;
    real *q = one->workspace, *k = q + n * c, *v = k + n * c, *y = v + n * c;
    real *a = y + n * c, *r = a + n * n;

    for (size_t w = 0; w < msa_windows(p); w++) {
        /* Step 1: the tokens of this window, and R_ij by their offsets. */
        for (size_t i = 0; i < n; i++) {
            size_t token = msa_window_token(p, w, i);
            head_gather(q + i * c, one->q + token * one->stride, one->stride, 1, c);
            head_gather(k + i * c, one->k + token * one->stride, one->stride, 1, c);
            head_gather(v + i * c, one->v + token * one->stride, one->stride, 1, c);
            for (size_t j = 0; rpe && j < n; j++)
                r[i * n + j] = rpe[grid_offset(&p->grid, token, msa_window_token(p, w, j)) * columns + column];
        }

        /* Step 2: the equation. */
        attention_naive(y, a, q, k, v, rpe ? r : NULL, (real)msa_scale(p), n, n, c);

        /* Step 3: back to their places. */
        for (size_t i = 0; i < n; i++)
            head_scatter(one->y + msa_window_token(p, w, i) * one->y_stride, one->y_stride, y + i * c, 1, c);
    }
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t n = msa_reach(p), c = problem_size(p, "c"), map, rows;

    struct heads *heads = memory_get(1, sizeof *heads);
    if (!heads) return out_of_memory("the heads");
    *heads = (struct heads){0};
    plan->state = heads;
    if (!size_multiply(&map, n, 2 * n) || !size_multiply(&rows, 4 * n, c) || map + rows < map)
        return out_of_memory("the attention map");
    return heads_prepare(heads, plan, map + rows);
}

static status run(struct plan *plan, real *y, const real *x)
{
    heads_run(plan->state, plan, y, x, naive_head, 1, NULL);
    return status_ok();
}

static void release(struct plan *plan)
{
    if (plan->state) heads_release(plan->state);
    memory_free(plan->state);
}

/* The scale is one multiplication more for each pair. */
static double multiply_adds(const struct problem *p)
{
    return msa_multiply_adds(p) + (double)problem_size(p, "B") * (double)problem_size(p, "h")
                                * (double)problem_size(p, "N") * (double)msa_reach(p);
}

const struct form msa_naive = {"naive", prepare, run, release, multiply_adds};
