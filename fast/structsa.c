/* structsa.c -- StructSA in plain C: filters act on keys and values, or on the map
 *
 * The naive form applies D detectors to the map of every query, and mixes D aggregators for every query.
 *
 * In Eq. 16 a filter has a column for each channel.  The query depends neither on m nor on d, and the weights depend
 * neither on m nor on c.  So the filters are applied to keys (Eq. 15) and values, once for all queries:
 *
 *     key_jdc = sum_m hk_dmc k_{j+m,c},     value_jdc = sum_m hv_dmc v_{j+m,c},
 *     y_i = sum_jd softmax_jd(q_i . key_jd) value_jd.
 *
 * This is attention over J D virtual tokens.  It costs J D (2 N + |M| + M') c products, without the factor |M| of the
 * naive form.
 *
 * In Eq. 4 and 5 a filter has one column for all channels.  For each pair, a virtual key costs c products, and a
 * detector on the map |M|, mostly fewer.  So the sum over channels comes first for keys, and last, after merging, for
 * values:
 *
 *     score_ijd = sum_m map_{i,j+m} uk_dm,      map_in = q_i . k_n                                  (Eq. 2)
 *     y_i = sum_n merged_in v_n,                merged_in = sum_{j+m=n} sum_d a_ijd uv_dm           (Eq. 21)
 *
 * This costs N (2 N c + J D (|M| + M')) products.  The naive form also detects on the map.  Merging replaces its
 * N J M' c products with values by N^2 c.  No array grows like N^2.
 *
 *     i  queries, N of them     j  centres of windows, J     n  tokens
 *     m  entries of a window    d  patterns, D               ch channels
 *
 * Contract: reference/structsa.h. */

#include "attention.h"
#include "forms.h"
#include "../reference/structsa.h"
#include "../reference/runtime/steps.h"

/* ---- the core: Eq. 16 ---------------------------------------------------------- */

/* D depth-wise convolutions: token_jdc = sum_m filter_dmc row_{j+m,c}.  window [entries][c] is scratch. */
static void convolve(real *tokens, real *window, const real *filters, const struct neighbours *around,
                     const real *rows, size_t stride, const struct structsa_problem *p)
{
    size_t c = p->heads.c, entries = around->entries;

    for (size_t j = 0; j < p->J; j++) {
        neighbours_unfold(window, around, j, rows, stride, c);
        for (size_t d = 0; d < p->D; d++) {
            real *token_jd = tokens + (j * p->D + d) * c;
            for (size_t ch = 0; ch < c; ch++) token_jd[ch] = 0;
            for (size_t m = 0; m < entries; m++) {
                const real *filter_dm = filters + (d * entries + m) * c;
                for (size_t ch = 0; ch < c; ch++) token_jd[ch] += filter_dm[ch] * window[m * c + ch];
            }
        }
    }
}

/* ---- the core: Eq. 4 and 5 ----------------------------------------------------- */

/* score_jd = sum_m map_{j+m} uk_dm.  window [|M|] is scratch. */
static void detect(real *score, real *window, const real *map, const real *uk, const struct neighbours *keys,
                   const struct structsa_problem *p)
{
    for (size_t j = 0; j < p->J; j++) {
        neighbours_unfold(window, keys, j, map, 1, 1);
        for (size_t d = 0; d < p->D; d++) {
            real sum = 0;
            for (size_t m = 0; m < p->M; m++) sum += window[m] * uk[d * p->M + m];
            score[j * p->D + d] = sum;
        }
    }
}

/* merged_n = sum_{j+m=n} sum_d a_jd uv_dm.  Entries off the grid are dropped: their values are zero. */
static void merge(real *merged, const real *a, const real *uv, const struct neighbours *values,
                  const struct structsa_problem *p)
{
    for (size_t n = 0; n < p->heads.N; n++) merged[n] = 0;
    for (size_t j = 0; j < p->J; j++)
        for (size_t m = 0; m < p->Mv; m++) {
            int n = values->token[j * p->Mv + m];
            real kernel_jm = 0;
            for (size_t d = 0; d < p->D; d++) kernel_jm += a[j * p->D + d] * uv[d * p->Mv + m];
            if (n != OFF_GRID) merged[n] += kernel_jm;
        }
}

/* ---- the form around it -------------------------------------------------------- */

struct structsa_plain {
    struct heads heads;
    struct structsa_windows windows;    /* the detectors include the scale of the query */
    real *window;                       /* one window: [|M|] or [M'] tokens, or entries of the map */
    real *key, *value;                  /* Eq. 16: [J D][c], the virtual tokens of a head */
    real *map, *a, *merged;             /* Eq. 4 and 5, of one query: [N], [J][D], [N] */
};
HEADS_FIRST(struct structsa_plain);

static void attend_to_virtual_tokens(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_plain *f = head->plan->state;
    size_t c = p->heads.c, set = head->number % p->sets;
    real *key = head_thread(head, f->key), *value = head_thread(head, f->value), *window = head_thread(head, f->window);

    /* Step 1: the virtual keys and values, once for all queries. */
    convolve(key, window, f->windows.hk + set * p->D * p->M * c, &f->windows.keys, head->k, head->kv_stride, p);
    convolve(value, window, f->windows.hv + set * p->D * p->Mv * c, &f->windows.values, head->v, head->kv_stride, p);

    /* Step 2: attention. */
    for (size_t i = 0; i < p->heads.N; i++)
        attention_query(head->y + i * head->y_stride, head->q + i * head->q_stride, key, value, c, NULL, 1,
                        p->J * p->D, c);
}

static void attend_by_the_map(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_plain *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c;
    real *map = head_thread(head, f->map), *a = head_thread(head, f->a), *merged = head_thread(head, f->merged);

    for (size_t i = 0; i < N; i++) {
        const real *q_i = head->q + i * head->q_stride;
        real *y_i = head->y + i * head->y_stride;

        /* Step 1: the sum over channels, then the detectors and the softmax. */
        for (size_t n = 0; n < N; n++) {
            real dot = 0;
            for (size_t ch = 0; ch < c; ch++) dot += q_i[ch] * head->k[n * head->kv_stride + ch];
            map[n] = dot;
        }
        detect(a, head_thread(head, f->window), map, f->windows.hk, &f->windows.keys, p);
        softmax(a, p->J * p->D);

        /* Step 2: the merged aggregators, then the values. */
        merge(merged, a, f->windows.hv, &f->windows.values, p);
        for (size_t ch = 0; ch < c; ch++) y_i[ch] = 0;
        for (size_t n = 0; n < N; n++)
            for (size_t ch = 0; ch < c; ch++) y_i[ch] += merged[n] * head->v[n * head->kv_stride + ch];
    }
}

static status prepare(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_plain *f = plan->state;
    struct arena *arena = &plan->arena;
    bool virtual_tokens = p->equation == 16;
    size_t J = virtual_tokens ? p->J : 0, N = virtual_tokens ? 0 : p->heads.N;

    heads_prepare(plan, (struct core_options){.core = virtual_tokens ? attend_to_virtual_tokens : attend_by_the_map});
    structsa_windows_prepare(&f->windows, arena, PERSISTENT, p);
    arena_reals(arena, PER_THREAD, &f->window, "a window", p->M > p->Mv ? p->M : p->Mv, p->columns);
    arena_reals(arena, PER_THREAD, &f->key, "the virtual keys", J, p->D, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->value, "the virtual values", J, p->D, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->map, "the map of a query", N);
    arena_reals(arena, PER_THREAD, &f->a, "the attention of a query", virtual_tokens ? 0 : p->J, p->D);
    arena_reals(arena, PER_THREAD, &f->merged, "the merged kernels of a query", N);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_plain *f = plan->state;
    structsa_windows_load(&f->windows, p);
    for (size_t tap = 0; tap < p->sets * p->D * p->M * p->columns; tap++) f->windows.hk[tap] *= p->scale;
    return heads_load(plan);
}

static double multiply_adds(const void *params)
{
    const struct structsa_problem *p = params;
    double N = (double)p->heads.N, c = (double)p->heads.c, JD = (double)p->J * (double)p->D;
    double taps = (double)p->M + (double)p->Mv, head = N * (2 * N * c + JD * taps);
    if (p->equation == 16) head = JD * c * taps + N * attention_query_multiply_adds(p->J * p->D, p->heads.c);
    return heads_multiply_adds(&p->heads) + (double)p->heads.B * (double)p->heads.h * head;
}

const struct form structsa_plain = {
    .name = "plain", .state = sizeof(struct structsa_plain), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
