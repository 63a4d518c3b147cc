/* permuted.c -- Eq. 15 with everything written out
 *
 * D depth-wise convolutions make virtual keys and values, J D of each; one matrix product makes the map of all queries
 * against them, one softmax a row weighs it, and one product applies it.  Against the equation it saves the factor |M|
 * in time and the Hadamard tensor in memory; structsa.c also does without the map N x J D.
 *
 * Contract: reference/structsa.h. */

#include <limits.h>
#include "../../../reference/structsa.h"
#include "../forms.h"
#include "../activations.h"
#include "depthwise.h"

struct structsa_permuted {
    struct virtual_tokens tokens;
    real *key, *value;          /* [J D][c] of each thread */
    real *map;                  /* [N][J D] of each thread */
};

static void one_head(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_permuted *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, keys = p->J * p->D;
    real scale = p->scale * LOG2_E;
    real *key = head_thread(head, f->key), *value = head_thread(head, f->value), *map = head_thread(head, f->map);

    /* Step 1: the depth-wise convolutions.  The scale of the query, and the
     * log2(e) that makes exp a power of two, are laid on the keys. */
    depthwise_run(key, &f->tokens.keys, head->number, 0, keys, head->k, head->kv_stride);
    depthwise_run(value, &f->tokens.values, head->number, 0, keys, head->v, head->kv_stride);
    for (size_t tc = 0; tc < keys * c; tc++) key[tc] *= scale;

    /* Step 2: the map [N][J D], the softmax of its rows, and the values under it. */
    linear_map(map, keys, head->q, head->q_stride, key, NULL, N, c, keys);
    for (size_t i = 0; i < N; i++) softmax_row(map + i * keys, keys);
    linear_product(head->y, head->y_stride, map, keys, value, N, keys, c);
}

static status prepare(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_permuted *f = plan->state;
    struct arena *arena = &plan->arena;

    virtual_tokens_prepare(plan, (struct core_options){.core = one_head});
    arena_reals(arena, PER_THREAD, &f->key, "the virtual keys", p->J, p->D, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->value, "the virtual values", p->J, p->D, p->heads.c);
    arena_reals(arena, PER_THREAD, &f->map, "the map of all queries against all virtual keys", p->heads.N, p->J, p->D);
    if (p->J > INT_MAX / p->D)
        arena_fail(arena, bad_input("%zu keys of %zu kernels each are too many for a library's product, expected at most "
                                    "%d in all", p->J, p->D, INT_MAX));
    return arena_status(arena);
}

/* The scale is one multiplication more for each entry of a virtual key. */
static double multiply_adds(const void *params)
{
    const struct structsa_problem *p = params;
    return structsa_multiply_adds(params) + (double)p->heads.B * (double)p->J * (double)p->D * (double)p->heads.C;
}

const struct form structsa_permuted = {
    "permuted", sizeof(struct structsa_permuted), prepare, virtual_tokens_load, heads_run, NULL, multiply_adds,
};
