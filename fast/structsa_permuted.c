/* structsa_permuted.c -- Eq. 15 with everything written out
 *
 * The permuted contraction as the paper states it: D depth-wise convolutions
 * make virtual keys and values, J D of each, and then one matrix product makes
 * the map of all queries against all of them, one softmax a row weighs it, and
 * one product applies it.  What it saves against the equation is the factor
 * |M| in time and the Hadamard tensor in memory; what it still holds, the map
 * N x J D, is what the tiles of fast/structsa.c do without.
 *
 * Contract: reference/structsa.h. */

#include "../reference/structsa.h"
#include "../reference/heads.h"
#include "../reference/linear.h"
#include "../reference/memory.h"
#include "../reference/steps.h"

struct structsa_permuted {
    struct heads heads;
    struct structsa_sides sides;
};

/* One virtual token d of centre j, its channels `step` apart. */
static void convolve(real *to, size_t step, const struct structsa_sides *s, const struct neighbours *n, size_t j,
                     const real *filter, const real *rows, size_t stride, size_t channels)
{
    for (size_t c = 0; c < channels; c++) to[c * step] = 0;
    for (size_t m = 0; m < n->entries; m++, filter += s->columns) {
        int token = n->token[j * n->entries + m];
        if (token == OFF_GRID) continue;
        for (size_t c = 0; c < channels; c++)
            to[c * step] += filter[s->columns == 1 ? 0 : c] * rows[(size_t)token * stride + c];
    }
}

static void one_head(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct structsa_sides *s = &((const struct structsa_permuted *)one->prepared)->sides;
    size_t N = problem_size(p, "N"), c = problem_size(p, "c"), D = s->D, keys = s->keys.centres * D;
    const real *hk = structsa_hk(s, one->head), *hv = structsa_hv(s, one->head);
    real scale = (real)problem_number(p, "scale");
    real *key = one->workspace, *value = key + keys * c, *map = value + keys * c;

    /* Step 1: the depth-wise convolutions; values turned, [c][J D], as the last
     * product wants them.  The scale of the query is laid on the keys. */
    for (size_t t = 0; t < keys; t++) {
        size_t j = t / D, d = t % D;
        convolve(key + t * c, 1, s, &s->keys, j, hk + d * s->keys.entries * s->columns, one->k, one->stride, c);
        convolve(value + t, keys, s, &s->values, j, hv + d * s->values.entries * s->columns, one->v, one->stride, c);
        for (size_t ch = 0; ch < c; ch++) key[t * c + ch] *= scale;
    }

    /* Step 2: the map [N][J D], its softmax, and the values under it. */
    linear_map(map, keys, one->q, one->stride, key, NULL, N, c, keys);
    for (size_t i = 0; i < N; i++) softmax(map + i * keys, keys);
    linear_map(one->y, one->y_stride, map, keys, value, NULL, N, keys, c);
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t N = problem_size(p, "N"), c = problem_size(p, "c"), keys, map, both;
    status s;

    struct structsa_permuted *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct structsa_permuted){0};
    plan->state = f;
    if ((s = structsa_sides_create(&f->sides, p)).code) return s;
    if (!size_multiply(&keys, f->sides.keys.centres, f->sides.D) || !size_multiply(&both, keys, 2 * c)
        || !size_multiply(&map, N, keys) || map + both < map)
        return out_of_memory("the map of all queries against all virtual keys");
    return heads_prepare(&f->heads, plan, map + both);
}

static status run(struct plan *plan, real *y, const real *x)
{
    struct structsa_permuted *f = plan->state;
    heads_run(&f->heads, plan, y, x, one_head, 1, f);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct structsa_permuted *f = plan->state;
    if (!f) return;
    heads_release(&f->heads);
    structsa_sides_release(&f->sides);
    memory_free(f);
}

static double multiply_adds(const struct problem *p)
{
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c"), D = (double)problem_size(p, "D");
    double M = (double)problem_size(p, "M"), Mv = problem_number(p, "equation") == 4 ? 1 : M;
    double J = (double)neighbours_centres(&p->grid, (size_t)problem_number(p, "stride"));
    double heads = (double)problem_size(p, "B") * (double)problem_size(p, "h");

    return heads_multiply_adds(p) + heads * (2 * N * J * D * c + J * D * (M + Mv + 1) * c);
}

const struct form structsa_permuted = {"permuted", prepare, run, release, multiply_adds};
