/* heads.c -- projections, heads, batch and threads; see heads.h */

#include "heads.h"
#include <math.h>
#include <string.h>

struct heads_problem heads_problem(struct lookup *names)
{
    struct heads_problem params = {
        .B = lookup_size(names, "B"), .N = lookup_size(names, "N"), .C = lookup_size(names, "C"),
        .h = lookup_size(names, "h"), .c = lookup_size(names, "c"),
        .w_qkv = lookup_tensor(names, "w_qkv"), .b_qkv = lookup_tensor(names, "b_qkv"),
        .w_o = lookup_tensor(names, "w_o"), .b_o = lookup_tensor(names, "b_o"),
    };
    params.Q = (lookup_axis(names, "w_qkv", 0) - params.C) / 2;
    return params;
}

real heads_scale(struct lookup *names)
{
    if (lookup_given(names, "scale")) return (real)lookup_number(names, "scale");
    return (real)(1 / sqrt((double)lookup_size(names, "c")));
}

double heads_multiply_adds(const struct heads_problem *params)
{
    double C = (double)params->C, width = 2 * (double)params->Q + C;
    return (double)params->B * (double)params->N * C * (width + (params->w_o ? C : 0));
}

double projections_multiply_adds(const struct problem *p)
{
    struct lookup names = {.problem = p};
    const struct heads_problem params = heads_problem(&names);
    return names.error.code ? NAN : heads_multiply_adds(&params);
}

void branch_attend(const struct team *t, const struct branch *b)
{
    size_t items = t->images * b->heads * b->parts;
    for (size_t item; team_next(t, items, &item);) {
        size_t image = item / b->parts / b->heads, number = item / b->parts % b->heads;
        size_t query = image * b->queries, key = image * b->keys, channel = number * b->channels;
        struct head head = {
            .plan = t->plan,
            .y = b->y + query * b->y_stride + channel, .q = b->q + query * b->q_stride + channel,
            .k = b->k + key * b->kv_stride + channel, .v = b->v + key * b->kv_stride + channel,
            .y_stride = b->y_stride, .q_stride = b->q_stride, .kv_stride = b->kv_stride,
            .image = t->first + image, .number = number, .part = item % b->parts, .parts = b->parts,
            .thread = t->thread,
        };
        b->core(&head);
    }
}

static size_t width_of(const struct heads *heads)
{
    return 2 * heads->params.Q + heads->params.C;
}

void heads_prepare(struct plan *plan, struct core_options core)
{
    struct heads *heads = plan->state;
    const struct heads_problem *params = plan->params;
    if (!core.chunk) core.chunk = params->B;
    if (!core.parts) core.parts = 1;
    if (!core.maps) core.maps = &linear_as_it_lies;
    size_t chunk = core.chunk, q = core.whole ? params->Q : params->c, v = core.whole ? params->C : params->c;
    struct arena *arena = &plan->arena;
    heads->params = *params;
    heads->core = core;
    linear_prepare(&heads->input, core.maps, arena, params->C, width_of(heads));
    if (params->w_o) linear_prepare(&heads->output, core.maps, arena, params->C, params->C);
    arena_reals(arena, PER_RUN, &heads->qkv, "query, key and value", chunk, params->N, width_of(heads));
    arena_reals(arena, PER_RUN, &heads->joined, "the joined heads", params->w_o ? chunk : 0, params->N, params->C);
    if (!core.dense) return;
    arena_reals(arena, PER_THREAD, &heads->q, "the query of a head", params->N, q);
    arena_reals(arena, PER_THREAD, &heads->k, "the key of a head", params->N, q);
    arena_reals(arena, PER_THREAD, &heads->v, "the value of a head", params->N, v);
    arena_reals(arena, PER_THREAD, &heads->y, "the output of a head", params->N, v);
}

status heads_load(struct plan *plan)
{
    struct heads *heads = plan->state;
    const struct heads_problem *params = plan->params;
    heads->params = *params;
    linear_load(&heads->input, 0, width_of(heads), params->w_qkv, params->b_qkv);
    if (params->w_o) linear_load(&heads->output, 0, params->C, params->w_o, params->b_o);
    return status_ok();
}

struct batch heads_batch(const struct heads *heads)
{
    size_t image = heads->params.N * heads->params.C;
    return (struct batch){
        .images = heads->params.B, .x_image = image, .y_image = image, .chunk = heads->core.chunk,
    };
}

void heads_project(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    size_t tokens = t->images * heads->params.N;
    team_linear(t, heads->qkv, width_of(heads), t->x, heads->params.C, &heads->input, tokens);
}

real *heads_joined(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    return heads->joined ? heads->joined : t->y;
}

void heads_join(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    size_t C = heads->params.C, tokens = t->images * heads->params.N;
    if (heads->joined) team_linear(t, t->y, C, heads->joined, C, &heads->output, tokens);
}

static void dense_core(const struct head *given)
{
    const struct heads *heads = given->plan->state;
    const struct heads_problem *params = &heads->params;
    bool whole = heads->core.whole;
    size_t N = params->N, q = whole ? params->Q : params->c, v = whole ? params->C : params->c;
    real *q_dense = head_thread(given, heads->q), *k_dense = head_thread(given, heads->k);
    real *v_dense = head_thread(given, heads->v);
    struct head head = *given;
    head_gather(q_dense, given->q, given->q_stride, N, q);
    head_gather(k_dense, given->k, given->kv_stride, N, q);
    head_gather(v_dense, given->v, given->kv_stride, N, v);
    head.q = q_dense;
    head.k = k_dense;
    head.v = v_dense;
    head.y = head_thread(given, heads->y);
    head.q_stride = head.kv_stride = q;
    head.y_stride = v;
    heads->core.core(&head);
    head_scatter(given->y, given->y_stride, head.y, N, v);
}

static void run_chunk(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    const struct heads_problem *params = &heads->params;
    const struct branch all = {
        .core = heads->core.dense ? dense_core : heads->core.core,
        .heads = heads->core.whole ? 1 : params->h, .parts = heads->core.parts, .channels = params->c,
        .queries = params->N, .keys = params->N,
        .y = heads_joined(t), .q = heads->qkv, .k = heads->qkv + params->Q, .v = heads->qkv + 2 * params->Q,
        .y_stride = params->C, .q_stride = width_of(heads), .kv_stride = width_of(heads),
    };

    /* Step 1: query, key and value of every token, in one row. */
    heads_project(t);
    team_barrier(t);

    /* Step 2: the core, once for each part of each head of each image. */
    branch_attend(t, &all);
    team_barrier(t);

    /* Step 3: the output projection mixes the heads. */
    heads_join(t);
}

status heads_run(struct plan *plan, real *y, const real *x)
{
    const struct batch batch = heads_batch((const struct heads *)plan->state);
    return batch_run(plan, y, x, &batch, run_chunk);
}

void head_gather(real *dense, const real *rows, size_t stride, size_t tokens, size_t channels)
{
    for (size_t n = 0; n < tokens; n++)
        memcpy(dense + n * channels, rows + n * stride, channels * sizeof *dense);
}

void head_scatter(real *rows, size_t stride, const real *dense, size_t tokens, size_t channels)
{
    for (size_t n = 0; n < tokens; n++)
        memcpy(rows + n * stride, dense + n * channels, channels * sizeof *dense);
}
