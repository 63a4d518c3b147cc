/* structsa.c -- StructSA as ordinary attention over virtual tokens, in tiles
 *
 * The query does not depend on m, so it moves out of the sum (Eq. 15):
 *
 *     score_ijd = q_i . key_jd,           key_jdc   = sum_m hk_dmc k_{j+m,c}
 *     y_i       = sum_jd a_ijd value_jd,  value_jdc = sum_m hv_dmc v_{j+m,c}
 *
 * D depth-wise convolutions compute D virtual keys and values for each centre.  The rest is attention of N queries over
 * J D virtual tokens (fast/tuned/attention.c), which requests one tile of 96 keys at a time.  So neither all virtual
 * tokens nor all N x J D weights are in memory.
 *
 * 1. Blocks of queries are as large as the second cache allows, because each block computes all tiles again.
 * 2. A vector of a row is loaded once for up to eight filters (depthwise.h).
 * 3. The rows of the next tile are prefetched: they are far apart in the projection, and not in the second cache.
 * 4. Weights are repacked once (packed_linear.h), so the bits of a projected token do not depend on the threads.
 *
 * Tried without gain: two centres for each load of the filters; the channels as the outermost loop of a tile.
 *
 * Contract: reference/structsa.h. */

#include "../../../reference/structsa.h"
#include "../attention.h"
#include "../forms.h"
#include "depthwise.h"

struct structsa_fast {
    struct virtual_tokens tokens;
    size_t block;               /* queries in a block */
    real *workspace;            /* per thread: attention_fast's */
};

static void make_tile(real *k, real *v, size_t first, size_t count, void *context)
{
    const struct head *head = context;
    const struct virtual_tokens *f = head->plan->state;

    depthwise_run(k, &f->keys, head->number, first, count, head->k, head->kv_stride);
    depthwise_run(v, &f->values, head->number, first, count, head->v, head->kv_stride);
    depthwise_prefetch(&f->keys, first + count, count, head->k, head->kv_stride);
    depthwise_prefetch(&f->values, first + count, count, head->v, head->kv_stride);
}

static void block_head(const struct head *head)
{
    const struct structsa_problem *p = head->plan->params;
    const struct structsa_fast *f = head->plan->state;
    size_t first = head->part * f->block, left = p->heads.N - first;
    struct head source = *head;
    struct attention a = {
        .queries = p->heads.N, .keys = p->J * p->D, .channels = p->heads.c, .scale = p->scale,
        .q = head->q, .q_stride = head->q_stride, .fill = make_tile, .fill_context = &source,
    };
    attention_fast(head->y + first * head->y_stride, head->y_stride, &a, first, left < f->block ? left : f->block,
                   head_thread(head, f->workspace));
}

static status prepare(struct plan *plan)
{
    const struct structsa_problem *p = plan->params;
    struct structsa_fast *f = plan->state;

    f->block = attention_block(p->heads.N, p->heads.c, p->heads.B * p->heads.h, (size_t)plan->threads);
    virtual_tokens_prepare(plan, (struct core_options){.core = block_head, .parts = (p->heads.N - 1) / f->block + 1});
    attention_prepare(&plan->arena, &f->workspace, p->heads.c, f->block);
    return arena_status(&plan->arena);
}

/* structsa_multiply_adds counts the virtual tokens once, although each block of queries computes them again. */
const struct form structsa_fast = {
    "fast", sizeof(struct structsa_fast), prepare, virtual_tokens_load, heads_run, NULL, structsa_multiply_adds,
};
