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
#include "depthwise.h"
#include "exponential.h"

struct structsa_permuted {
    struct heads heads;
    struct structsa_sides sides;
    struct depthwise keys, values;
};

/* w_t <- exp(w_t) / sum exp(w_t), a vector at a time; log2(e) is in w already. */
static void softmax_row(real *w, size_t n)
{
    lanes top = {0}, sum = {0};
    real highest = w[0], total = 0;
    size_t whole = n - n % LANES;

    /* Step 1: the largest. */
    top += w[0];
    for (size_t t = 0; t < whole; t += LANES) top = lanes_larger(lanes_load_anywhere(w + t), top);
    for (size_t t = whole; t < n; t++) top = lanes_larger((lanes){0} + w[t], top);
    for (size_t l = 0; l < LANES; l++) highest = top[l] > highest ? top[l] : highest;

    /* Step 2: powers of two, and their sum. */
    for (size_t t = 0; t < n; t += LANES) {
        lanes power = exp2_lanes((t < whole ? lanes_load_anywhere(w + t) : lanes_load_part(w + t, n - t)) - highest);
        if (t < whole) lanes_store_anywhere(w + t, power);
        else lanes_store_part(w + t, power, n - t);
        if (t < whole) sum += power;
    }
    for (size_t t = whole; t < n; t++) total += w[t];
    for (size_t l = 0; l < LANES; l++) total += sum[l];

    /* Step 3: the weights. */
    for (size_t t = 0; t < n; t++) w[t] *= 1 / total;
}

static void one_head(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct structsa_permuted *f = one->prepared;
    size_t N = problem_size(p, "N"), c = problem_size(p, "c");
    size_t keys = f->sides.keys.centres * f->sides.D;
    real scale = (real)(problem_number(p, "scale") * 1.44269504088896340736);
    real *key = one->workspace, *value = key + keys * c, *map = value + keys * c;

    /* Step 1: the depth-wise convolutions.  The scale of the query, and the
     * log2(e) that makes exp a power of two, are laid on the keys. */
    depthwise_run(key, &f->keys, one->head, 0, keys, one->k, one->stride);
    depthwise_run(value, &f->values, one->head, 0, keys, one->v, one->stride);
    for (size_t tc = 0; tc < keys * c; tc++) key[tc] *= scale;

    /* Step 2: the map [N][J D], the softmax of its rows, and the values under it. */
    linear_map(map, keys, one->q, one->stride, key, NULL, N, c, keys);
    for (size_t i = 0; i < N; i++) softmax_row(map + i * keys, keys);
    linear_product(one->y, one->y_stride, map, keys, value, N, keys, c);
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
    if ((s = depthwise_create(&f->keys, &f->sides.keys, f->sides.hk, f->sides.heads, f->sides.D, f->sides.columns, c)).code) return s;
    if ((s = depthwise_create(&f->values, &f->sides.values, f->sides.hv, f->sides.heads, f->sides.D, f->sides.columns, c)).code) return s;
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
    depthwise_release(&f->keys);
    depthwise_release(&f->values);
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
