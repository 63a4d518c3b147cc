/* elsa_unified.c -- the paradigm of Eq. 4 without the map of all tokens
 *
 *     f_ic = sum_{j in area(i)} Norm_j(qk_aij + qr_aij + rk_aij + b_aij) v_jc
 *
 * A token has K^2 others in its area, so its filter has K^2 entries and not N:
 * the terms are taken for those alone, normalised, and applied at once.  The
 * embeddings are turned to [h][T][C], so that each term is a dot product of
 * two rows that lie in memory.  Nothing is kept but one filter.
 *
 * The dot product of query and key has to be taken pair by pair; that is what
 * Eq. 7 does without (fast/elsa.c). */

#include "../reference/memory.h"
#include "elsa_fast.h"

static real dot(const real *a, const real *b, size_t n)
{
    real sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < n; c++) sum += a[c] * b[c];
    return sum;
}

/* rows [h][T][C] from table [C][h][T]. */
static status turn(real **rows, const real *table, size_t C, size_t maps)
{
    if (!table) return status_ok();
    *rows = memory_reals(maps, C, 1, 1);
    if (!*rows) return out_of_memory("the embeddings");
    for (size_t at = 0; at < maps; at++)
        for (size_t c = 0; c < C; c++) (*rows)[at * C + c] = table[c * maps + at];
    return status_ok();
}

status elsa_unified_prepare(struct elsa_fast *f, struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t maps = f->sizes.h * problem_size(p, "T");
    status s;

    if ((s = elsa_area_create(&f->area, p)).code) return s;
    if ((s = turn(&f->factor, problem_tensor(p, "rk"), f->sizes.C, maps)).code) return s;
    if ((s = turn(&f->summand, problem_tensor(p, "rq"), f->sizes.C, maps)).code) return s;
    return heads_prepare(&f->heads, plan, f->sizes.entries);
}

/* The filter of token i and head a, before Norm. */
static void terms(real *filter, const struct elsa_fast *f, const struct problem *p, const real *qkv, size_t width,
                  size_t i, size_t a)
{
    size_t C = f->sizes.C, c = C / f->sizes.h, T = problem_size(p, "T");
    const real *rb = problem_tensor(p, "rb"), *q = qkv + i * width;
    bool meet = elsa_term(p, "qk");

    for (size_t n = 0; n < f->sizes.entries; n++) {
        int j = f->area.token[i * f->sizes.entries + n];
        size_t at = a * T + (size_t)f->area.offset[i * f->sizes.entries + n];
        const real *k = j == OFF_GRID ? NULL : qkv + (size_t)j * width + C;
        real sum = 0;
        if (meet && k) sum = f->sizes.scale * dot(q + a * c, k + a * c, c);
        if (f->factor) sum += dot(q, f->factor + at * C, C);
        if (f->summand && k) sum += dot(k, f->summand + at * C, C);
        filter[n] = rb ? sum + rb[at] : sum;
    }
}

status elsa_unified_run(const struct elsa_fast *f, struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    size_t N = f->sizes.N, C = f->sizes.C, h = f->sizes.h, c = C / h, width = 3 * C, entries = f->sizes.entries;
    size_t tokens = problem_size(p, "B") * N;
    enum elsa_norm norm = elsa_norm(p);

    heads_project(&f->heads, plan, x);
    real *joined = heads_joined(&f->heads, plan, y);
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t token = 0; token < tokens; token++) {
        real *filter = (real *)elsa_workspace(f);
        const real *qkv = f->heads.qkv + token / N * N * width;
        for (size_t a = 0; a < h; a++) {
            real *out = joined + token * C + a * c;
            terms(filter, f, p, qkv, width, token % N, a);
            elsa_normalise(filter, entries, norm);
            for (size_t ch = 0; ch < c; ch++) out[ch] = 0;
            for (size_t n = 0; n < entries; n++) {
                int j = f->area.token[token % N * entries + n];
                if (j == OFF_GRID) continue;
                const real *v = qkv + (size_t)j * width + 2 * C + a * c;
                #pragma omp simd
                for (size_t ch = 0; ch < c; ch++) out[ch] += filter[n] * v[ch];
            }
        }
    }
    heads_join(&f->heads, plan, y);
    return status_ok();
}
