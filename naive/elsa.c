/* elsa.c -- ELSA as Eq. 4-8 and Algorithm 2 read; never optimised
 *
 * Neighbourhoods are unfolded: the Hadamard products around every token (N x K^2 x C), the values around every token
 * and the filters of every channel are in memory.  For Eq. 4 the N x N weights of one head are.
 *
 *     i  tokens, N of them       n  neighbours, K^2 of them    a  heads, h of them
 *     ch channels                o  channels of the final variant's convolution
 *
 * Contract: reference/elsa.h. */

#include "elsa.h"
#include "forms.h"
#include "../reference/runtime/steps.h"

/* ---- Hadamard attention and the ghost head -------------------------------- */

void elsa_naive_unfold(real *unfolded, const real *rows, const struct neighbours *around, size_t columns)
{
    for (size_t i = 0; i < around->centres; i++)
        neighbours_unfold(unfolded + i * around->entries * columns, around, i, rows, columns, columns);
}

/* Eq. 7 by Algorithm 2: l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an. */
void elsa_naive_logits(real *l, const real *hp, const real *unfolded, const struct elsa_problem *p)
{
    size_t N = p->heads.N, C = p->heads.C, h = p->heads.h, entries = p->entries;

    for (size_t a = 0; a < h; a++)
        for (size_t n = 0; n < entries; n++)
            for (size_t i = 0; i < N; i++) {
                const real *z_i = hp + i * C, *z_in = unfolded + (i * entries + n) * C;
                real sum = p->rb[a * entries + n];
                for (size_t ch = 0; ch < C; ch++) {
                    sum += z_i[ch] * p->rk[(ch * h + a) * entries + n];
                    sum += z_in[ch] * p->rq[(ch * h + a) * entries + n];
                }
                l[(a * entries + n) * N + i] = sum;
            }
}

/* The authors' final module: a convolution in groups of g channels, GELU, a linear map to all logits. */
void elsa_naive_final_logits(real *l, real *g, const real *unfolded, const struct elsa_problem *p)
{
    size_t N = p->heads.N, Q = p->heads.Q, width = p->g, entries = p->entries;

    /* Step 1: g_io = GELU(sum_cn conv_w_ocn z_{i+n,c} + conv_b_o), c in the group of o. */
    for (size_t i = 0; i < N; i++)
        for (size_t o = 0; o < Q; o++) {
            real sum = p->conv_b[o];
            for (size_t ch = 0; ch < width; ch++)
                for (size_t n = 0; n < entries; n++) {
                    const real *z_in = unfolded + (i * entries + n) * Q + o / width * width;
                    sum += p->conv_w[(o * width + ch) * entries + n] * z_in[ch];
                }
            g[i * Q + o] = gelu(sum);
        }

    /* Step 2: l_ani = sum_o mix_w_{an,o} g_io + mix_b_an. */
    for (size_t an = 0; an < p->heads.h * entries; an++)
        for (size_t i = 0; i < N; i++) {
            real sum = p->mix_b[an];
            for (size_t o = 0; o < Q; o++) sum += p->mix_w[an * Q + o] * g[i * Q + o];
            l[an * N + i] = sum;
        }
}

/* h_ani = softmax over all neighbours n, including those off the grid. */
void elsa_naive_softmax(real *attention, real *row, const struct elsa_problem *p)
{
    size_t N = p->heads.N, entries = p->entries;

    for (size_t a = 0; a < p->heads.h; a++)
        for (size_t i = 0; i < N; i++) {
            real *weights_ai = attention + a * entries * N + i;
            for (size_t n = 0; n < entries; n++) row[n] = weights_ai[n * N];
            softmax(row, entries);
            for (size_t n = 0; n < entries; n++) weights_ai[n * N] = row[n];
        }
}

/* Eq. 8, Algorithm 1: the filters of a channel are those of its head, times one static matrix plus another. */
void elsa_naive_filters(real *filters, const real *attention, const real *factor, const real *summand,
                        const struct elsa_problem *p)
{
    size_t N = p->heads.N, entries = p->entries;

    for (size_t ch = 0; ch < p->heads.C; ch++)
        for (size_t n = 0; n < entries; n++) {
            const real *weights_an = attention + (ghost_head(&p->ghost, ch) * entries + n) * N;
            real *filter_cn = filters + (ch * entries + n) * N;
            for (size_t i = 0; i < N; i++)
                if (factor) filter_cn[i] = factor[ch * entries + n] * weights_an[i] + summand[ch * entries + n];
                else filter_cn[i] = weights_an[i];
        }
}

/* Eq. 5: f_ic = sum_n filter_cni v_{i+n,c}. */
void elsa_naive_apply(real *f, const real *filters, const real *contexts, const struct elsa_problem *p)
{
    size_t N = p->heads.N, C = p->heads.C, entries = p->entries;

    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < C; ch++) {
            real sum = 0;
            for (size_t n = 0; n < entries; n++)
                sum += filters[(ch * entries + n) * N + i] * contexts[(i * entries + n) * C + ch];
            f[i * C + ch] = sum;
        }
}

/* ---- Eq. 4 ------------------------------------------------------------------ */

/* Norm of the terms, as N x N weights.  Norm includes neighbours off the grid; their weights are dropped. */
void elsa_naive_weights(real *weights, real *filter, const real *q, const real *k, const struct elsa_area *area,
                        size_t a, const struct elsa_problem *p)
{
    size_t N = p->heads.N, entries = p->entries;

    for (size_t ij = 0; ij < N * N; ij++) weights[ij] = 0;
    for (size_t i = 0; i < N; i++) {
        elsa_terms(filter, q, k, area, a, i, p);
        elsa_normalise(filter, entries, p->norm);
        for (size_t n = 0; n < entries; n++) {
            int j = area->around.token[i * entries + n];
            if (j != OFF_GRID) weights[i * N + (size_t)j] = filter[n];
        }
    }
}

/* Eq. 4: f_ic = sum_j weights_ij v_jc for the channels of head a. */
void elsa_naive_weigh(real *f, const real *weights, const real *v, size_t a, const struct elsa_problem *p)
{
    size_t N = p->heads.N, C = p->heads.C, c = p->heads.c;

    for (size_t i = 0; i < N; i++)
        for (size_t ch = a * c; ch < (a + 1) * c; ch++) {
            real sum = 0;
            for (size_t j = 0; j < N; j++) sum += weights[i * N + j] * v[j * C + ch];
            f[i * C + ch] = sum;
        }
}

/* ---- the form around them -------------------------------------------------- */

struct elsa_naive {
    struct heads heads;
    struct elsa_area area;
    struct ghost ghost;

    /* Of each thread. */
    real *hp, *kp;              /* [N][Q] */
    real *unfolded;             /* [N][K^2][Q]   kp around every token */
    real *attention;            /* [h][K^2][N]   logits, then weights */
    real *row;                  /* [K^2]         the filter of one token and head */
    real *filters;              /* [C][K^2][N] */
    real *contexts;             /* [N][K^2][C]   values around every token */
    real *weights;              /* [N][N]        weights of all pairs in Eq. 4 */
};
HEADS_FIRST(struct elsa_naive);

/* One image by Algorithm 2, or by the final variant, which writes g where kp was. */
static void one_image(const struct head *head)
{
    const struct elsa_problem *p = head->plan->params;
    const struct elsa_naive *f = head->plan->state;
    real *hp = head_thread(head, f->hp), *kp = head_thread(head, f->kp), *unfolded = head_thread(head, f->unfolded);
    real *attention = head_thread(head, f->attention), *filters = head_thread(head, f->filters);
    real *contexts = head_thread(head, f->contexts);

    elsa_product(hp, kp, head->q, head->k, p);
    elsa_naive_unfold(unfolded, kp, &f->area.around, p->heads.Q);
    if (p->equation) elsa_naive_logits(attention, hp, unfolded, p);
    else elsa_naive_final_logits(attention, kp, unfolded, p);
    elsa_naive_softmax(attention, head_thread(head, f->row), p);
    elsa_naive_filters(filters, attention, f->ghost.factor, f->ghost.summand, p);
    elsa_naive_unfold(contexts, head->v, &f->area.around, p->heads.C);
    elsa_naive_apply(head->y, filters, contexts, p);
}

/* One image by Eq. 4, one head after the other. */
static void one_unified_image(const struct head *head)
{
    const struct elsa_problem *p = head->plan->params;
    const struct elsa_naive *f = head->plan->state;
    real *weights = head_thread(head, f->weights), *row = head_thread(head, f->row);

    for (size_t a = 0; a < p->heads.h; a++) {
        elsa_naive_weights(weights, row, head->q, head->k, &f->area, a, p);
        elsa_naive_weigh(head->y, weights, head->v, a, p);
    }
}

static status prepare(struct plan *plan)
{
    const struct elsa_problem *p = plan->params;
    struct elsa_naive *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, C = p->heads.C, Q = p->heads.Q, h = p->heads.h, entries = p->entries;

    heads_prepare(plan, (struct core_options){
        .core = p->equation == 4 ? one_unified_image : one_image, .whole = true, .dense = true,
    });
    elsa_area_prepare(&f->area, arena, p);
    ghost_prepare(&f->ghost, arena, PERSISTENT, &p->ghost);
    arena_reals(arena, PER_THREAD, &f->row, "the filter of a token", entries);
    if (p->equation == 4) {
        arena_reals(arena, PER_THREAD, &f->weights, "all tokens against all", N, N);
        return arena_status(arena);
    }
    arena_reals(arena, PER_THREAD, &f->hp, "the products", N, Q);
    arena_reals(arena, PER_THREAD, &f->kp, "the neighbours' products", N, Q);
    arena_reals(arena, PER_THREAD, &f->unfolded, "the products around every token", N, entries, Q);
    arena_reals(arena, PER_THREAD, &f->attention, "the attention", h, entries, N);
    arena_reals(arena, PER_THREAD, &f->filters, "the filters of all channels", C, entries, N);
    arena_reals(arena, PER_THREAD, &f->contexts, "the values around every token", N, entries, C);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct elsa_problem *p = plan->params;
    struct elsa_naive *f = plan->state;
    elsa_area_load(&f->area, p);
    ghost_load(&f->ghost, &p->ghost);
    return heads_load(plan);
}

/* Includes neighbours off the grid, and in Eq. 4 all N x N pairs. */
static double multiply_adds(const void *params)
{
    const struct elsa_problem *p = params;
    return elsa_multiply_adds(p, (double)p->heads.N * (double)(p->equation == 4 ? p->heads.N : p->entries));
}

const struct form elsa_naive = {
    .name = "naive", .state = sizeof(struct elsa_naive), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
