/* msa.c -- self-attention as Eq. 1-3 read, window by window; without windows the grid is one window; never optimised
 *
 * Copies the tokens of a window, writes R of every pair, with -inf as the mask, and calls naive/attention.c.  With a
 * ghost head (ELSA, App. C) the weights of all heads and pairs are in memory, and the filter of one channel.
 *
 *     i, j  tokens     a  heads     ch  channels
 *
 * Contract: reference/msa.h. */

#include <math.h>
#include "../reference/msa.h"
#include "attention.h"
#include "forms.h"

struct msa_naive {
    struct heads heads;
    struct attention_copies copies; /* one window of one head; with a ghost head only query and key */
    real *r;                        /* [n][n]: R of a window */
    struct ghost ghost;
    real *maps;                     /* [h][N][N]: the weights of all heads, with a ghost head */
    real *filter;                   /* [N][N]: the weights of one channel */
};
HEADS_FIRST(struct msa_naive);

/* R of all pairs of a window: the embedding of the offset, or -inf for a pair on different sides of a seam. */
static void write_bias(real *r, const struct msa_problem *p, size_t window, size_t column)
{
    const struct windows *w = &p->windows;
    size_t n = w->entries;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t offset = msa_offset(p, windows_token(w, window, i), windows_token(w, window, j));
            bool apart = windows_region_of(w, window, i) != windows_region_of(w, window, j);
            r[i * n + j] = p->rpe ? p->rpe[offset * p->rpe_columns + column] : 0;
            if (apart) r[i * n + j] = -INFINITY;
        }
}

static void one_head(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct msa_naive *f = head->plan->state;
    size_t n = p->windows.entries, c = p->heads.c;
    real *q = head_thread(head, f->copies.q), *k = head_thread(head, f->copies.k), *v = head_thread(head, f->copies.v);
    real *y = head_thread(head, f->copies.y), *r = head_thread(head, f->r);

    for (size_t w = 0; w < p->windows.count; w++) {
        /* Step 1: the tokens of this window, and R. */
        for (size_t i = 0; i < n; i++) {
            size_t token = windows_token(&p->windows, w, i);
            head_gather(q + i * c, head->q + token * head->q_stride, 0, 1, c);
            head_gather(k + i * c, head->k + token * head->kv_stride, 0, 1, c);
            head_gather(v + i * c, head->v + token * head->kv_stride, 0, 1, c);
        }
        if (r) write_bias(r, p, w, p->rpe_columns > 1 ? head->number : 0);

        /* Step 2: attention. */
        attention_naive(y, head_thread(head, f->copies.a), q, k, v, r, p->scale, n, n, c);

        /* Step 3: the output, back to the tokens. */
        for (size_t i = 0; i < n; i++)
            head_scatter(head->y + windows_token(&p->windows, w, i) * head->y_stride, 0, y + i * c, 1, c);
    }
}

/* All heads of an image, with a ghost head. */
static void ghosted_image(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct msa_naive *f = head->plan->state;
    const grid *g = &p->windows.grid;
    size_t N = p->heads.N, C = p->heads.C, c = p->heads.c, P = g->offsets;
    real *q = head_thread(head, f->copies.q), *k = head_thread(head, f->copies.k), *r = head_thread(head, f->r);
    real *maps = head_thread(head, f->maps), *filter = head_thread(head, f->filter);

    /* Step 1: A_aij, the weights of every head. */
    for (size_t a = 0; a < p->heads.h; a++) {
        head_gather(q, head->q + a * c, head->q_stride, N, c);
        head_gather(k, head->k + a * c, head->kv_stride, N, c);
        if (r) write_bias(r, p, 0, p->rpe_columns > 1 ? a : 0);
        attention_naive_weights(maps + a * N * N, q, k, r, p->scale, N, N, c);
    }

    for (size_t ch = 0; ch < C; ch++) {
        /* Step 2: Eq. 8, filter_ij = factor_ch[j - i] A_c'ij + summand_ch[j - i]. */
        const real *A = maps + ghost_head(&p->ghost, ch) * N * N;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                size_t n = ch * P + grid_offset(g, i, j);
                filter[i * N + j] = f->ghost.factor[n] * A[i * N + j] + f->ghost.summand[n];
            }

        /* Step 3: y_i,ch = sum_j filter_ij v_j,ch. */
        for (size_t i = 0; i < N; i++) {
            real sum = 0;
            for (size_t j = 0; j < N; j++) sum += filter[i * N + j] * head->v[j * head->kv_stride + ch];
            head->y[i * head->y_stride + ch] = sum;
        }
    }
}

static status prepare(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct msa_naive *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t n = p->windows.entries, ghosts = p->ghost.add ? p->heads.h : 0;

    heads_prepare(plan, (struct core_options){.core = ghosts ? ghosted_image : one_head, .whole = ghosts > 0});
    if (ghosts) {
        arena_reals(arena, PER_THREAD, &f->copies.q, "the query of a head", n, p->heads.c);
        arena_reals(arena, PER_THREAD, &f->copies.k, "the key of a head", n, p->heads.c);
    } else {
        attention_copies_prepare(&f->copies, arena, n, n, p->heads.c);
    }
    arena_reals(arena, PER_THREAD, &f->r, "the bias of all pairs", p->rpe || p->windows.shift ? n : 0, n);
    ghost_prepare(&f->ghost, arena, PERSISTENT, &p->ghost);
    arena_reals(arena, PER_THREAD, &f->maps, "the weights of all heads", ghosts, n, n);
    arena_reals(arena, PER_THREAD, &f->filter, "the weights of a channel", ghosts ? n : 0, n);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct msa_naive *f = plan->state;
    ghost_load(&f->ghost, &p->ghost);
    return heads_load(plan);
}

/* All pairs of a window, masked or not; the scale is one multiplication more for each. */
static double multiply_adds(const void *params)
{
    const struct msa_problem *p = params;
    double pairs = (double)p->heads.N * (double)p->windows.entries;
    return msa_multiply_adds(p, pairs) + (double)p->heads.B * (double)p->heads.h * pairs;
}

const struct form msa_naive = {
    .name = "naive", .state = sizeof(struct msa_naive), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
