/* msa.c -- self-attention in plain C: one query at a time, without the weights of all pairs
 *
 * The naive form stores the weights and biases of all pairs of a window.  Here a query reads its keys once, with a
 * running softmax (fast/attention.c), and its biases are one row of n numbers.
 *
 * exp(-inf) is zero, so masked pairs can be skipped.  A seam cuts a window into regions (windows.h), and each region is
 * treated as a window, without a mask.  Without a shift a window is one region; without windows the grid is one window.
 *
 * With a ghost head the channels of a head have different weights.  The softmax of one query is stored:
 *
 *     y_i,ch = sum_j (factor_ch[j - i] A_aij + summand_ch[j - i]) v_j,ch        a = ghost_head(ch)
 *
 * A query and head cost 2 n c + n multiplications, and c + 1 for each tile of keys; with a ghost head 3 n c + n.
 *
 *     i, j  tokens of a region, n of them     a  heads     ch  channels
 *
 * Contract: reference/msa.h. */

#include "../reference/msa.h"
#include "../reference/runtime/steps.h"
#include "attention.h"
#include "forms.h"

struct msa_plain {
    struct heads heads;
    real *k, *v;                /* [n][c]: keys and values of a region, or NULL with a ghost head */
    real *row;                  /* [n]: the biases of a query, or NULL; with a ghost head its weights */
    size_t *token;              /* [n]: the tokens of a region, or NULL with a ghost head */
    size_t *offset;             /* [n]: with a ghost head, the offsets from one query to all keys */
    struct ghost ghost;
};
HEADS_FIRST(struct msa_plain);

/* ---- the core ---------------------------------------------------------------- */

/* The tokens of one region of a window, their keys and values; returns their number. */
static size_t gather_region(size_t *token, real *k, real *v, const struct head *head, size_t region)
{
    const struct msa_problem *p = head->plan->params;
    size_t n = 0, c = p->heads.c;

    for (size_t entry = 0; entry < p->windows.entries; entry++) {
        if (windows_region_of(&p->windows, head->part, entry) != region) continue;
        size_t j = token[n] = windows_token(&p->windows, head->part, entry);
        for (size_t ch = 0; ch < c; ch++) k[n * c + ch] = head->k[j * head->kv_stride + ch];
        for (size_t ch = 0; ch < c; ch++) v[n * c + ch] = head->v[j * head->kv_stride + ch];
        n++;
    }
    return n;
}

/* R_ij of head a; offset is the index of j - i. */
static real bias(const struct msa_problem *p, size_t a, size_t offset)
{
    return p->rpe[offset * p->rpe_columns + (p->rpe_columns > 1 ? a : 0)];
}

/* One head of one window: y_i = sum_j softmax_j(scale q_i . k_j + R_ij) v_j, i and j in the same region. */
static void attend_window(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct msa_plain *f = head->plan->state;
    real *k = head_thread(head, f->k), *v = head_thread(head, f->v), *r = head_thread(head, f->row);
    size_t *token = arena_thread(&head->plan->arena, f->token, head->thread), c = p->heads.c;

    for (size_t region = 0; region < windows_regions(&p->windows, head->part); region++) {
        size_t n = gather_region(token, k, v, head, region);
        for (size_t t = 0; t < n; t++) {
            size_t i = token[t];
            for (size_t j = 0; r && j < n; j++)
                r[j] = bias(p, head->number, msa_offset(p, i, token[j]));
            attention_query(head->y + i * head->y_stride, head->q + i * head->q_stride, k, v, c, r, p->scale, n, c);
        }
    }
}

/* One head of an image, with a ghost head: all channels that use its weights. */
static void attend_ghosted(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct msa_plain *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, P = p->windows.grid.offsets, a = head->part;
    size_t *offset = arena_thread(&head->plan->arena, f->offset, head->thread);
    const real *q = head->q + a * c, *k = head->k + a * c;
    real *A = head_thread(head, f->row);

    for (size_t i = 0; i < N; i++) {
        /* Step 1: A_aij, the weights of this query. */
        for (size_t j = 0; j < N; j++) {
            offset[j] = grid_offset(&p->windows.grid, i, j);
            real dot = 0;
            for (size_t ch = 0; ch < c; ch++) dot += q[i * head->q_stride + ch] * k[j * head->kv_stride + ch];
            A[j] = p->scale * dot;
            if (p->rpe) A[j] += bias(p, a, offset[j]);
        }
        softmax(A, N);

        /* Step 2: Eq. 8 of ELSA, and the values. */
        for (size_t n = 0; n < c; n++) {
            size_t ch = ghost_channel(&p->ghost, a, n);
            const real *factor = f->ghost.factor + ch * P, *summand = f->ghost.summand + ch * P, *v = head->v + ch;
            real sum = 0;
            for (size_t j = 0; j < N; j++)
                sum += (factor[offset[j]] * A[j] + summand[offset[j]]) * v[j * head->kv_stride];
            head->y[i * head->y_stride + ch] = sum;
        }
    }
}

/* ---- the form around it -------------------------------------------------------- */

static status prepare(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct msa_plain *f = plan->state;
    struct arena *arena = &plan->arena;
    bool ghost = p->ghost.add != NULL;
    size_t n = p->windows.entries, gathered = ghost ? 0 : n;

    heads_prepare(plan, (struct core_options){
        .core = ghost ? attend_ghosted : attend_window, .whole = ghost, .parts = ghost ? p->heads.h : p->windows.count,
    });
    arena_reals(arena, PER_THREAD, &f->k, "the keys of a window", gathered, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->v, "the values of a window", gathered, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->row, "the biases or weights of a query", ghost || p->rpe ? n : 0);
    arena_objects(arena, PER_THREAD, &f->token, "the tokens of a window", gathered, 1, sizeof *f->token);
    arena_objects(arena, PER_THREAD, &f->offset, "the offsets of a query", ghost ? n : 0, 1, sizeof *f->offset);
    ghost_prepare(&f->ghost, arena, PERSISTENT, &p->ghost);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct msa_plain *f = plan->state;
    ghost_load(&f->ghost, &p->ghost);
    return heads_load(plan);
}

static double multiply_adds(const void *params)
{
    const struct msa_problem *p = params;
    double heads = (double)p->heads.B * (double)p->heads.h, N = (double)p->heads.N, queries = 0;

    if (p->ghost.add) return msa_multiply_adds(p, N * N) + heads * N * N;
    for (size_t w = 0; w < p->windows.count; w++)
        for (size_t region = 0; region < windows_regions(&p->windows, w); region++) {
            const struct window_region box = windows_region(&p->windows, w, region);
            size_t n = box.rows * box.columns;
            queries += (double)n * attention_query_multiply_adds(n, p->heads.c);
        }
    return heads_multiply_adds(&p->heads) + heads * queries;
}

const struct form msa_plain = {
    .name = "plain", .state = sizeof(struct msa_plain), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
