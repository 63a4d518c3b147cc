/* msa.c -- self-attention over the tiled kernel
 *
 * Weights are repacked once (packed_linear.h), and a few images at a time go
 * all the way from x to y (flight.h).  On one core of a Zen 5 with AVX-512, 14 x
 * 14 tokens of 768 channels with 12 heads take 5.3 ms so, and 6.2 where OpenBLAS
 * makes the projections.
 *
 * Without windows the queries are cut into blocks, and keys and values are read
 * where the projection left them; a window is copied out first (tiled_hearts.h).
 *
 * Contract: reference/msa.h. */

#include "../reference/msa.h"
#include "packed_linear.h"
#include "tiled_hearts.h"

struct msa_fast {
    struct heads heads;
    struct attention_rpe rpe;
    struct tiled tiled;
};

/* One block of queries against all keys, or one window. */
static void attend(const struct head *one)
{
    const struct msa_problem *p = one->plan->of;
    const struct msa_fast *f = one->plan->state;
    struct attention_rpe_table table = attention_rpe_table(&f->rpe, f->rpe.tables > 1 ? one->head : 0);
    const struct attention a = {
        .queries = p->windows.entries, .keys = p->windows.entries, .channels = p->c, .scale = p->scale,
        .bias = p->rpe ? attention_rpe_bias : NULL, .bias_context = &table,
    };
    if (p->windows.edge) tiled_window(one, a, &p->windows, NULL, &f->tiled);
    else tiled_block(one, a, &f->tiled);
}

static status prepare(struct plan *plan)
{
    const struct msa_problem *p = plan->of;
    struct msa_fast *f = plan->state;
    struct room *room = &plan->room;
    size_t N = p->heads.N, s = p->windows.edge;
    grid meeting = p->windows.tokens;       /* the tokens that meet each other */

    heads_prepare(plan, (struct hearts){
        .heart = attend, .maps = &linear_packed, .in_flight = images_in_flight(N, p->heads.B),
        .parts = s ? p->windows.count : tiled_blocks(N),
    });
    if (s) room_refuse(room, grid_create(&meeting, 2, (size_t[]){s, s}));
    attention_rpe_prepare(&f->rpe, room, &meeting, p->rpe ? p->rpe_columns : 0);
    tiled_prepare(&f->tiled, room, p->c, s ? p->windows.entries : 0);
    return room_status(room);
}

/* A window looks at the middle of the grid's table. */
static status load(struct plan *plan)
{
    const struct msa_problem *p = plan->of;
    struct msa_fast *f = plan->state;
    if (p->rpe) attention_rpe_load(&f->rpe, &p->windows.tokens, p->rpe);
    return heads_load(plan);
}

const struct form msa_fast = {"fast", sizeof(struct msa_fast), prepare, load, heads_run, NULL, msa_multiply_adds};
