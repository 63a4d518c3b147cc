/* unified.c -- Eq. 4 of ELSA without the weights of all pairs
 *
 *     f_ic = sum_{j in area(i)} Norm_j(qk_aij + qr_aij + rk_aij + b_aij) v_jc
 *
 * The area of a token has K^2 entries, so only one filter of K^2 numbers is stored.  The embeddings are permuted to
 * [h][T][C], so that each term is a dot product of contiguous rows. */

#include "elsa.h"
#include "../activations.h"

void elsa_unified_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p)
{
    size_t h = p->heads.h, C = p->heads.C;
    elsa_area_prepare(&f->area, arena, p);
    arena_reals(arena, PERSISTENT, &f->rk, "the query's embeddings", p->rk ? h : 0, p->T, C);
    arena_reals(arena, PERSISTENT, &f->rq, "the key's embeddings", p->rq ? h : 0, p->T, C);
    arena_reals(arena, PER_THREAD, &f->filter, "the filter of a token", p->entries);
}

void elsa_unified_load(struct elsa_fast *f, const struct elsa_problem *p)
{
    elsa_area_load(&f->area, p);
    if (p->rk) elsa_permute(f->rk, p->rk, p->heads.h * p->T, p->heads.C);
    if (p->rq) elsa_permute(f->rq, p->rq, p->heads.h * p->T, p->heads.C);
}

/* The filter [K^2] of the token of this part and head a, before Norm. */
static void terms(real *filter, const struct head *head, size_t a)
{
    const struct elsa_problem *p = head->plan->params;
    const struct elsa_fast *f = head->plan->state;
    size_t C = p->heads.C, c = p->heads.c, first = head->part * p->entries;
    const real *q_i = head->q + head->part * head->q_stride;

    for (size_t n = 0; n < p->entries; n++) {
        int j = f->area.around.token[first + n];
        size_t at = a * p->T + (size_t)f->area.offset[first + n];
        const real *k_j = j == OFF_GRID ? NULL : head->k + (size_t)j * head->kv_stride;
        real sum = p->rb ? p->rb[at] : 0;
        if (p->terms.qk && k_j) sum += p->scale * dot(q_i + a * c, k_j + a * c, c);
        if (p->terms.qr) sum += dot(q_i, f->rk + at * C, C);
        if (p->terms.rk && k_j) sum += dot(k_j, f->rq + at * C, C);
        filter[n] = sum;
    }
}

void elsa_unified(const struct head *head)
{
    const struct elsa_problem *p = head->plan->params;
    const struct elsa_fast *f = head->plan->state;
    const int *token_i = f->area.around.token + head->part * p->entries;
    size_t c = p->heads.c;
    real *filter = head_thread(head, f->filter);

    for (size_t a = 0; a < p->heads.h; a++) {
        real *y_i = head->y + head->part * head->y_stride + a * c;
        terms(filter, head, a);
        elsa_normalise(filter, p->entries, p->norm);
        for (size_t ch = 0; ch < c; ch++) y_i[ch] = 0;
        for (size_t n = 0; n < p->entries; n++) {
            if (token_i[n] == OFF_GRID) continue;
            const real *v_j = head->v + (size_t)token_i[n] * head->kv_stride + a * c;
            #pragma omp simd
            for (size_t ch = 0; ch < c; ch++) y_i[ch] += filter[n] * v_j[ch];
        }
    }
}
