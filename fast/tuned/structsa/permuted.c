/* permuted.c -- Eq. 15 with everything written out
 *
 * The permuted contraction as the paper states it: D depth-wise convolutions
 * make virtual keys and values, J D of each, and then one matrix product makes
 * the map of all queries against all of them, one softmax a row weighs it, and
 * one product applies it.  What it saves against the equation is the factor
 * |M| in time and the Hadamard tensor in memory; what it still holds, the map
 * N x J D, is what the tiles of structsa.c do without.
 *
 * Contract: reference/structsa.h. */

#include <limits.h>
#include "../../../reference/structsa.h"
#include "../../forms.h"
#include "../activations.h"
#include "depthwise.h"

struct structsa_permuted {
    struct virtual_tokens tokens;
    real *key, *value;          /* [J D][c] of each thread */
    real *map;                  /* [N][J D] of each thread */
};

static void one_head(const struct head *one)
{
    const struct structsa_problem *p = one->plan->of;
    const struct structsa_permuted *f = one->plan->state;
    size_t N = p->N, c = p->c, keys = p->J * p->D;
    real scale = p->scale * LOG2_E;
    real *key = head_own(one, f->key), *value = head_own(one, f->value), *map = head_own(one, f->map);

    /* Step 1: the depth-wise convolutions.  The scale of the query, and the
     * log2(e) that makes exp a power of two, are laid on the keys. */
    depthwise_run(key, &f->tokens.keys, one->head, 0, keys, one->k, one->kv_stride);
    depthwise_run(value, &f->tokens.values, one->head, 0, keys, one->v, one->kv_stride);
    for (size_t tc = 0; tc < keys * c; tc++) key[tc] *= scale;

    /* Step 2: the map [N][J D], the softmax of its rows, and the values under it. */
    linear_map(map, keys, one->q, one->q_stride, key, NULL, N, c, keys);
    for (size_t i = 0; i < N; i++) softmax_row(map + i * keys, keys);
    linear_product(one->y, one->y_stride, map, keys, value, N, keys, c);
}

static status prepare(struct plan *plan)
{
    const struct structsa_problem *p = plan->of;
    struct structsa_permuted *f = plan->state;
    struct room *room = &plan->room;

    virtual_tokens_prepare(plan, (struct hearts){.heart = one_head});
    room_reals(room, OF_THREAD, &f->key, "the virtual keys", p->J, p->D, p->c, 1);
    room_reals(room, OF_THREAD, &f->value, "the virtual values", p->J, p->D, p->c, 1);
    room_reals(room, OF_THREAD, &f->map, "the map of all queries against all virtual keys", p->N, p->J, p->D, 1);
    if (p->J > INT_MAX / p->D)
        room_refuse(room, bad_input("%zu keys of %zu kernels each are too many for a library's product, expected at most "
                                    "%d in all", p->J, p->D, INT_MAX));
    return room_status(room);
}

/* The scale is one multiplication more for each entry of a virtual key. */
static double multiply_adds(const void *of)
{
    const struct structsa_problem *p = of;
    return structsa_multiply_adds(of) + (double)p->heads.B * (double)p->J * (double)p->D * (double)p->heads.C;
}

const struct form structsa_permuted = {
    "permuted", sizeof(struct structsa_permuted), prepare, virtual_tokens_load, heads_run, NULL, multiply_adds,
};
