/* structsa.c -- StructSA as Eq. 2-5 and 11-16 read; never optimised
 *
 * The N x N map of all pairs is in memory, or in Eq. 16 the N x N x c Hadamard correlation.  Windows are unfolded;
 * kernels are built and then applied.
 *
 *     i  queries, N of them        n  tokens                    d  patterns
 *     j  centres of windows, J     m  entries of a window       ch channels
 *     e  columns of the map, E
 *
 * One loop nest serves all three equations: the map of Eq. 2 has one column where that of Eq. 11 has c, and the value's
 * window in Eq. 4 is one token. */

#include "structsa.h"
#include "forms.h"
#include "../reference/runtime/steps.h"

/* ---- the cores ------------------------------------------------------ */

/* Eq. 2: map_in = q_i . k_n.   Eq. 11: map_inc = q_ic k_nc. */
void structsa_naive_correlate(real *map, const real *q, const real *k, const struct structsa_problem *p)
{
    size_t N = p->heads.N, c = p->heads.c, E = p->columns;

    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) {
            const real *q_i = q + i * c, *k_n = k + n * c;
            real *map_in = map + (i * N + n) * E;
            for (size_t e = 0; e < E; e++) map_in[e] = 0;
            for (size_t ch = 0; ch < c; ch++) map_in[E == 1 ? 0 : ch] += q_i[ch] * k_n[ch];
        }
}

void structsa_naive_unfold(real *windows, const real *rows, size_t columns, const struct neighbours *n)
{
    for (size_t j = 0; j < n->centres; j++)
        neighbours_unfold(windows + j * n->entries * columns, n, j, rows, columns, columns);
}

/* Eq. 3 and 13: D filters on each window of the map of query i, and one softmax over all scores. */
void structsa_naive_attend(real *a_i, const real *windows, const real *hk, const struct structsa_problem *p)
{
    size_t J = p->J, D = p->D, taps = p->M * p->columns;

    /* Step 1: the scores: window j times filter d. */
    for (size_t j = 0; j < J; j++)
        for (size_t d = 0; d < D; d++) {
            const real *window_j = windows + j * taps, *hk_d = hk + d * taps;
            a_i[j * D + d] = 0;
            for (size_t me = 0; me < taps; me++) a_i[j * D + d] += window_j[me] * hk_d[me];
        }

    /* Step 2: the softmax over all (j, d) together. */
    softmax(a_i, J * D);
}

/* Eq. 4, 5 and 16: the dynamic kernels of query i, kappa_ij = sum_d a_ijd (filter d). */
void structsa_naive_kernels(real *kernels, const real *a_i, const real *hv, const struct structsa_problem *p)
{
    size_t J = p->J, D = p->D, taps = p->Mv * p->columns;

    for (size_t j = 0; j < J; j++) {
        const real *a_ij = a_i + j * D;
        real *kappa_ij = kernels + j * taps;
        for (size_t me = 0; me < taps; me++) {
            kappa_ij[me] = 0;
            for (size_t d = 0; d < D; d++) kappa_ij[me] += a_ij[d] * hv[d * taps + me];
        }
    }
}

/* Eq. 4, 5 and 16: y_i = sum_j kappa_ij V_j. */
void structsa_naive_aggregate(real *y_i, const real *kernels, const real *contexts, const struct structsa_problem *p)
{
    size_t c = p->heads.c, E = p->columns;

    for (size_t ch = 0; ch < c; ch++) {
        y_i[ch] = 0;
        for (size_t jm = 0; jm < p->J * p->Mv; jm++)
            y_i[ch] += kernels[jm * E + (E == 1 ? 0 : ch)] * contexts[jm * c + ch];
    }
}

/* Eq. 21: sums the kernel entries that belong to token n, over all windows that contain n. */
void structsa_naive_merge(real *merged, const real *kernels, const struct neighbours *values,
                          const struct structsa_problem *p)
{
    size_t E = p->columns;

    for (size_t ne = 0; ne < p->heads.N * E; ne++) merged[ne] = 0;
    for (size_t jm = 0; jm < p->J * p->Mv; jm++) {
        if (values->token[jm] == OFF_GRID) continue;
        real *merged_n = merged + (size_t)values->token[jm] * E;
        for (size_t e = 0; e < E; e++) merged_n[e] += kernels[jm * E + e];
    }
}

/* ---- the form around them -------------------------------------------- */

struct structsa_naive {
    struct heads heads;
    struct structsa_windows windows;
    real *map, *unfolded, *a, *contexts, *kernels;  /* see structsa.h; unfolded: the windows of one query */
};
HEADS_FIRST(struct structsa_naive);

static void one_head(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_naive *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, JD = p->J * p->D, set = head->number % p->sets;
    const real *hk = f->windows.hk + set * p->D * p->M * p->columns;
    const real *hv = f->windows.hv + set * p->D * p->Mv * p->columns;
    real *map = head_thread(head, f->map), *unfolded = head_thread(head, f->unfolded), *a = head_thread(head, f->a);
    real *contexts = head_thread(head, f->contexts), *kernels = head_thread(head, f->kernels);
    real *q = head_thread(head, f->heads.q);

    /* Step 1: the scale, on this thread's copy of the query. */
    for (size_t ic = 0; ic < N * c; ic++) q[ic] *= p->scale;

    /* Step 2: the map, and the attention of each query. */
    structsa_naive_correlate(map, q, head->k, p);
    for (size_t i = 0; i < N; i++) {
        structsa_naive_unfold(unfolded, map + i * N * p->columns, p->columns, &f->windows.keys);
        structsa_naive_attend(a + i * JD, unfolded, hk, p);
    }

    /* Step 3: the kernels of each query, applied to the values around every centre. */
    structsa_naive_unfold(contexts, head->v, c, &f->windows.values);
    for (size_t i = 0; i < N; i++) {
        structsa_naive_kernels(kernels, a + i * JD, hv, p);
        structsa_naive_aggregate(head->y + i * c, kernels, contexts, p);
    }
}

static status prepare(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_naive *f = plan->state;
    struct arena *arena = &plan->arena;

    heads_prepare(plan, (struct core_options){.core = one_head, .dense = true});
    structsa_windows_prepare(&f->windows, arena, PERSISTENT, p);
    arena_reals(arena, PER_THREAD, &f->map, "the map of all queries against all keys", p->heads.N, p->heads.N,
                p->columns);
    arena_reals(arena, PER_THREAD, &f->unfolded, "the windows of a query", p->J, p->M, p->columns);
    arena_reals(arena, PER_THREAD, &f->a, "the attention of all queries", p->heads.N, p->J, p->D);
    arena_reals(arena, PER_THREAD, &f->contexts, "the values around every centre", p->J, p->Mv, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->kernels, "the kernels of a query", p->J, p->Mv, p->columns);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    struct structsa_naive *f = plan->state;
    structsa_windows_load(&f->windows, plan->params);
    return heads_load(plan);
}

static double multiply_adds(const void *params)
{
    const struct structsa_problem *p = params;
    double N = (double)p->heads.N, J = (double)p->J, c = (double)p->heads.c, D = (double)p->D, E = (double)p->columns;
    double M = (double)p->M, Mv = (double)p->Mv, heads = (double)p->heads.B * (double)p->heads.h;
    return heads_multiply_adds(&p->heads) + heads * (N * c + N * N * c + N * J * (D * M * E + D * Mv * E + Mv * c));
}

const struct form structsa_naive = {
    .name = "naive", .state = sizeof(struct structsa_naive), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
