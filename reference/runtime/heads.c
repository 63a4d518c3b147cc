/* heads.c -- projections, heads, batch and threads; see heads.h */

#include "heads.h"
#include <math.h>
#include <string.h>

/* ---- the problem ----------------------------------------------------------- */

struct heads_problem heads_problem(struct lookup *names)
{
    struct heads_problem of = {
        .B = lookup_size(names, "B"), .N = lookup_size(names, "N"), .C = lookup_size(names, "C"),
        .h = lookup_size(names, "h"), .c = lookup_size(names, "c"),
        .w_qkv = lookup_tensor(names, "w_qkv"), .b_qkv = lookup_tensor(names, "b_qkv"),
        .w_o = lookup_tensor(names, "w_o"), .b_o = lookup_tensor(names, "b_o"),
    };
    of.Q = (lookup_axis(names, "w_qkv", 0) - of.C) / 2;
    return of;
}

real heads_scale(struct lookup *names)
{
    if (lookup_given(names, "scale")) return (real)lookup_number(names, "scale");
    return (real)(1 / sqrt((double)lookup_size(names, "c")));
}

double heads_multiply_adds(const struct heads_problem *of)
{
    double C = (double)of->C, width = 2 * (double)of->Q + C;
    return (double)of->B * (double)of->N * C * (width + (of->w_o ? C : 0));
}

double projections_multiply_adds(const struct problem *p)
{
    struct lookup names = {.problem = p};
    const struct heads_problem of = heads_problem(&names);
    return names.error.code ? NAN : heads_multiply_adds(&of);
}

/* ---- hearts ---------------------------------------------------------------- */

void branch_attend(const struct team *t, const struct branch *b)
{
    size_t items = t->images * b->heads * b->parts;

    for (size_t item; team_next(t, items, &item);) {
        size_t image = item / b->parts / b->heads, head = item / b->parts % b->heads;
        size_t query = image * b->queries, key = image * b->keys, channel = head * b->channels;
        struct head one = {
            .plan = t->plan,
            .y = b->y + query * b->y_stride + channel, .q = b->q + query * b->q_stride + channel,
            .k = b->k + key * b->kv_stride + channel, .v = b->v + key * b->kv_stride + channel,
            .y_stride = b->y_stride, .q_stride = b->q_stride, .kv_stride = b->kv_stride,
            .image = t->first + image, .head = head, .part = item % b->parts, .parts = b->parts, .thread = t->thread,
        };
        b->core(&one);
    }
}

/* ---- from x to y with one heart -------------------------------------------- */

static size_t width_of(const struct heads *heads)
{
    return 2 * heads->of.Q + heads->of.C;
}

void heads_prepare(struct plan *plan, struct core_options core)
{
    struct heads *heads = plan->state;
    const struct heads_problem *of = plan->of;

    if (!core.chunk) core.chunk = of->B;
    if (!core.parts) core.parts = 1;
    if (!core.maps) core.maps = &linear_as_it_lies;
    size_t run_chunk = core.chunk, q = core.whole ? of->Q : of->c, v = core.whole ? of->C : of->c;
    struct arena *arena = &plan->arena;
    heads->of = *of;
    heads->core = core;
    linear_prepare(&heads->input, core.maps, arena, of->C, width_of(heads));
    if (of->w_o) linear_prepare(&heads->output, core.maps, arena, of->C, of->C);
    arena_reals(arena, PER_RUN, &heads->qkv, "query, key and value", run_chunk, of->N, width_of(heads), 1);
    arena_reals(arena, PER_RUN, &heads->joined, "the heads side by side", of->w_o ? run_chunk : 0, of->N, of->C, 1);
    if (!core.dense) return;
    arena_reals(arena, PER_THREAD, &heads->q, "the query of a head", of->N, q, 1, 1);
    arena_reals(arena, PER_THREAD, &heads->k, "the key of a head", of->N, q, 1, 1);
    arena_reals(arena, PER_THREAD, &heads->v, "the value of a head", of->N, v, 1, 1);
    arena_reals(arena, PER_THREAD, &heads->y, "the output of a head", of->N, v, 1, 1);
}

status heads_load(struct plan *plan)
{
    struct heads *heads = plan->state;
    const struct heads_problem *of = plan->of;

    heads->of = *of;
    linear_load(&heads->input, 0, width_of(heads), of->w_qkv, of->b_qkv);
    if (of->w_o) linear_load(&heads->output, 0, of->C, of->w_o, of->b_o);
    return status_ok();
}

struct batch heads_batch(const struct heads *heads)
{
    size_t image = heads->of.N * heads->of.C;
    return (struct batch){
        .images = heads->of.B, .x_image = image, .y_image = image, .chunk = heads->core.chunk,
    };
}

void heads_project(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    size_t tokens = t->images * heads->of.N;
    team_linear(t, heads->qkv, width_of(heads), t->x, heads->of.C, &heads->input, tokens);
}

real *heads_joined(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    return heads->joined ? heads->joined : t->y;
}

void heads_join(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    size_t C = heads->of.C, tokens = t->images * heads->of.N;
    if (heads->joined) team_linear(t, t->y, C, heads->joined, C, &heads->output, tokens);
}

/* A heart between copies of its own. */
static void dense_core(const struct head *given)
{
    const struct heads *heads = given->plan->state;
    bool whole = heads->core.whole;
    size_t N = heads->of.N, q = whole ? heads->of.Q : heads->of.c, v = whole ? heads->of.C : heads->of.c;
    real *q_own = head_thread(given, heads->q), *k_own = head_thread(given, heads->k), *v_own = head_thread(given, heads->v);
    struct head one = *given;

    head_gather(q_own, given->q, given->q_stride, N, q);
    head_gather(k_own, given->k, given->kv_stride, N, q);
    head_gather(v_own, given->v, given->kv_stride, N, v);
    one.q = q_own;
    one.k = k_own;
    one.v = v_own;
    one.y = head_thread(given, heads->y);
    one.q_stride = one.kv_stride = q;
    one.y_stride = v;
    heads->core.core(&one);
    head_scatter(given->y, given->y_stride, one.y, N, v);
}

static void run_chunk(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    const struct heads_problem *of = &heads->of;
    const struct branch all = {
        .core = heads->core.dense ? dense_core : heads->core.core,
        .heads = heads->core.whole ? 1 : of->h, .parts = heads->core.parts, .channels = of->c,
        .queries = of->N, .keys = of->N,
        .y = heads_joined(t), .q = heads->qkv, .k = heads->qkv + of->Q, .v = heads->qkv + 2 * of->Q,
        .y_stride = of->C, .q_stride = width_of(heads), .kv_stride = width_of(heads),
    };

    /* Step 1: query, key and value of every token, side by side. */
    heads_project(t);
    team_barrier(t);

    /* Step 2: the heart, once for each part of each head of each image. */
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
