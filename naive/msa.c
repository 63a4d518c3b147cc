/* msa.c -- self-attention as Eq. 1-3 read, one window after the other
 *
 * Without windows the grid is one window.  This file refuses to be clever: it
 * copies the window's tokens out, writes R down for every pair, and hands all
 * of it to the equation in naive/attention.c.
 *
 * Contract: reference/msa.h. */

#include "../reference/msa.h"
#include "attention.h"
#include "forms.h"

struct msa_naive {
    struct heads heads;
    struct attention_copies copies; /* one window of one head */
    real *r;                        /* [n][n]: its bias */
};

static void one_head(const struct head *one)
{
    const struct msa_problem *p = one->plan->of;
    const struct msa_naive *f = one->plan->state;
    size_t n = p->windows.entries, c = p->c, column = p->rpe_columns > 1 ? one->head : 0;
    real *q = head_own(one, f->copies.q), *k = head_own(one, f->copies.k), *v = head_own(one, f->copies.v);
    real *y = head_own(one, f->copies.y), *r = head_own(one, f->r);

    for (size_t w = 0; w < p->windows.count; w++) {
        /* Step 1: the tokens of this window, and R_ij by their offsets. */
        for (size_t i = 0; i < n; i++) {
            size_t token = windows_token(&p->windows, w, i);
            head_gather(q + i * c, one->q + token * one->q_stride, 0, 1, c);
            head_gather(k + i * c, one->k + token * one->kv_stride, 0, 1, c);
            head_gather(v + i * c, one->v + token * one->kv_stride, 0, 1, c);
            if (!p->rpe) continue;
            for (size_t j = 0; j < n; j++) {
                size_t offset = grid_offset(&p->windows.tokens, token, windows_token(&p->windows, w, j));
                r[i * n + j] = p->rpe[offset * p->rpe_columns + column];
            }
        }

        /* Step 2: the equation. */
        attention_naive(y, head_own(one, f->copies.a), q, k, v, r, p->scale, n, n, c);

        /* Step 3: back to their places. */
        for (size_t i = 0; i < n; i++)
            head_scatter(one->y + windows_token(&p->windows, w, i) * one->y_stride, 0, y + i * c, 1, c);
    }
}

static status prepare(struct plan *plan)
{
    const struct msa_problem *p = plan->of;
    struct msa_naive *f = plan->state;
    struct room *room = &plan->room;
    size_t n = p->windows.entries;

    heads_prepare(plan, (struct hearts){.heart = one_head});
    attention_copies_prepare(&f->copies, room, n, n, p->c);
    room_reals(room, OF_THREAD, &f->r, "the bias of all pairs", p->rpe ? n : 0, n, 1, 1);
    return room_status(room);
}

/* The scale is one multiplication more for each pair. */
static double multiply_adds(const void *of)
{
    const struct msa_problem *p = of;
    return msa_multiply_adds(of)
         + (double)p->heads.B * (double)p->heads.h * (double)p->heads.N * (double)p->windows.entries;
}

const struct form msa_naive = {"naive", sizeof(struct msa_naive), prepare, heads_load, heads_run, NULL, multiply_adds};
