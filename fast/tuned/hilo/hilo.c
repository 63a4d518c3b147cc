/* hilo.c -- HiLo without a mask, and with one key for each window
 *
 * There is no padded plane.  A padding token is zero, so its query, key and value are the bias: one row represents all
 * padding tokens.  In the mean of a window it counts only in the divisor.
 *
 * 1. Each thread takes one image at a time through all steps, so that everything between x and y stays in its cache.
 *    If there are fewer images than threads, or for images left over, the threads share each image (batch.h).
 * 2. Weights are repacked once (packed_linear.h), and maps with the same input are one map.
 * 3. Hi-Fi with small windows: one window per lane (window_attention.h).
 * 4. Lo-Fi by the tiled attention, which reads keys and values in place.
 *
 * Contract: reference/hilo.h. */

#include "../../../reference/hilo.h"
#include <string.h>
#include "../../../reference/runtime/resample.h"
#include "../forms.h"
#include "../packed_linear.h"
#include "../tiled_attention.h"
#include "window_attention.h"

/* Tensors of one image, or one for each thread if each thread has its own image. */
struct hilo_fast {
    bool per_thread;
    bool coarse_queries;        /* Lo-Fi's queries are projected from the windows, like its keys */
    size_t R;                   /* queries of Lo-Fi */
    struct linear fine, coarse; /* of tokens: h_qkv, l_q; of windows: l_kv.  With coarse_queries l_q is in coarse */
    struct linear h_proj, l_proj;
    real *padding;              /* [3hd]: query, key and value of a padding token */
    real *pooled;               /* [n][C]; NULL without Lo-Fi, or if windows are single tokens */
    real *of_tokens, *of_windows;   /* [N][fine.out], [n][coarse.out] */
    real *high_z, *low_z;       /* [N][hd], [R][ld] */
    real *low;                  /* [n][ld]; NULL without interpolation */
    real *small;                /* per thread: scratch for small windows, or NULL */
    struct tiled tiled;
};

/* ---- the cores ------------------------------------------------------- */

/* The mean of one window; padding tokens are zero. */
static void pool(real *mean, const real *x, const struct hilo_problem *p, size_t window)
{
    size_t T = p->windows.entries, C = p->C;

    memset(mean, 0, C * sizeof *mean);
    for (size_t t = 0; t < T; t++) {
        size_t token = windows_token(&p->windows, window, t);
        if (token == WINDOW_PADDING) continue;
        for (size_t ch = 0; ch < C; ch++) mean[ch] += x[token * C + ch];
    }
    for (size_t ch = 0; ch < C; ch++) mean[ch] *= 1 / (real)T;
}

/* Hi-Fi, one head: LANES small windows, or one larger window. */
static void high_head(const struct head *head)
{
    const struct hilo_problem *p = head->plan->params;
    const struct hilo_fast *f = head->plan->state;
    const real *padding = f->padding + head->number * p->c;
    size_t T = p->windows.entries;

    if (f->small) window_attention(head, &p->windows, padding, p->scale, p->c, f->small);
    else tiled_window(head, (struct attention){.queries = T, .keys = T, .channels = p->c, .scale = p->scale},
                      &p->windows, 0, padding, &f->tiled);
}

/* Lo-Fi: one block of queries, and the keys of all windows. */
static void low_head(const struct head *head)
{
    const struct hilo_problem *p = head->plan->params;
    const struct hilo_fast *f = head->plan->state;
    tiled_block(head, (struct attention){.queries = f->R, .keys = p->n, .channels = p->c, .scale = p->scale},
                &f->tiled);
}

/* ---- the form around them --------------------------------------------- */

/* The part of a tensor that belongs to this thread's image. */
static real *slot_of(const struct team *t, real *tensor)
{
    return arena_thread(&t->plan->arena, tensor, t->slot);
}

static void run_chunk(const struct team *t)
{
    const struct hilo_problem *p = t->plan->params;
    const struct hilo_fast *f = t->plan->state;
    size_t N = p->N, n = p->n, R = f->R, C = p->C, hd = p->hd, ld = p->ld;
    size_t means = f->pooled ? n : 0, spread = f->low ? p->H : 0;
    real *pooled = slot_of(t, f->pooled), *of_tokens = slot_of(t, f->of_tokens);
    real *of_windows = slot_of(t, f->of_windows), *high_z = slot_of(t, f->high_z), *low_z = slot_of(t, f->low_z);
    real *low_y = f->low ? slot_of(t, f->low) : t->y + hd;
    const real *low_q = f->coarse_queries ? of_windows : arena_at(of_tokens, 3 * hd);
    real *low_k = arena_at(of_windows, f->coarse_queries ? ld : 0);
    const struct branch high = {
        .core = high_head, .heads = hd / p->c, .parts = f->small ? window_attention_parts(&p->windows) : n,
        .channels = p->c, .queries = N, .keys = N,
        .y = high_z, .q = of_tokens, .k = arena_at(of_tokens, hd), .v = arena_at(of_tokens, 2 * hd),
        .y_stride = hd, .q_stride = f->fine.out, .kv_stride = f->fine.out,
    };
    const struct branch low = {
        .core = low_head, .heads = ld / p->c, .parts = tiled_blocks(&f->tiled, R),
        .channels = p->c, .queries = R, .keys = n,
        .y = low_z, .q = low_q, .k = low_k, .v = arena_at(low_k, ld),
        .y_stride = ld, .q_stride = f->coarse_queries ? f->coarse.out : f->fine.out, .kv_stride = f->coarse.out,
    };
    const struct small_map map = {low_y, p->windows.rows, p->windows.columns, ld};

    /* Step 1: the mean of every window; the projections of tokens. */
    for (size_t w; team_next(t, means, &w);) pool(pooled + w * C, t->x, p, w);
    team_linear(t, of_tokens, f->fine.out, t->x, C, &f->fine, N);
    team_barrier(t);

    /* Step 2: the projections of windows. */
    team_linear(t, of_windows, f->coarse.out, means ? pooled : t->x, C, &f->coarse, n);
    team_barrier(t);

    /* Step 3: attention, head by head. */
    branch_attend(t, &high);
    branch_attend(t, &low);
    team_barrier(t);

    /* Step 4: the output projection of each branch, into its channels of y; the interpolation. */
    team_linear(t, t->y, C, high_z, hd, &f->h_proj, N);
    team_linear(t, low_y, spread ? ld : C, low_z, ld, &f->l_proj, R);
    if (spread) team_barrier(t);
    for (size_t row; team_next(t, spread, &row);)
        bilinear_row(t->y + row * p->W * C + hd, C, p->W, &map, row, p->windows.rows * p->s, p->windows.columns * p->s);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct hilo_problem *p = plan->params;
    const struct hilo_fast *f = plan->state;
    const struct batch batch = {
        .images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->C, .chunk = 1, .per_thread = f->per_thread,
    };
    return batch_run(plan, y, x, &batch, run_chunk);
}

static status prepare(struct plan *plan)
{
    const struct hilo_problem *p = plan->params;
    struct hilo_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->N, n = p->n, C = p->C, hd = p->hd, ld = p->ld;
    bool pools = ld && p->s > 1, small = hd && p->s <= WINDOW_ATTENTION_EDGE;

    /* Step 1: the maps of tokens, and those of windows. */
    f->coarse_queries = p->pooled_queries || p->s == 1;
    f->R = f->coarse_queries ? n : N;
    linear_prepare(&f->fine, &linear_packed, arena, C, 3 * hd + (f->coarse_queries ? 0 : ld));
    linear_prepare(&f->coarse, &linear_packed, arena, C, 2 * ld + (f->coarse_queries ? ld : 0));
    linear_prepare(&f->h_proj, &linear_packed, arena, hd, hd);
    linear_prepare(&f->l_proj, &linear_packed, arena, ld, ld);
    arena_reals(arena, PERSISTENT, &f->padding, "a token of the padding", 3, hd);

    /* Step 2: the tensors of one image, or of one for each thread. */
    f->per_thread = p->B >= (size_t)plan->threads;
    enum lifetime image = f->per_thread ? PER_THREAD : PER_RUN;
    arena_reals(arena, image, &f->pooled, "the means of the windows", pools ? n : 0, C);
    arena_reals(arena, image, &f->of_tokens, "the projections of the tokens", N, f->fine.out);
    arena_reals(arena, image, &f->of_windows, "the projections of the windows", n, f->coarse.out);
    arena_reals(arena, image, &f->high_z, "Hi-Fi's heads side by side", N, hd);
    arena_reals(arena, image, &f->low_z, "Lo-Fi's heads side by side", f->R, ld);
    arena_reals(arena, image, &f->low, "Lo-Fi's output", pools && p->pooled_queries ? n : 0, ld);

    /* Step 3: the cores. */
    if (small) window_attention_prepare(arena, &f->small, p->s, p->c);
    tiled_prepare(&f->tiled, plan, (struct attention){.queries = f->R, .keys = n, .channels = p->c}, ld / p->c,
                  hd && !small ? p->windows.entries : 0);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct hilo_problem *p = plan->params;
    struct hilo_fast *f = plan->state;
    size_t hd = p->hd, ld = p->ld;

    /* Step 1: the weights, repacked. */
    linear_load(&f->fine, 0, 3 * hd, p->h_qkv, p->h_qkv_b);
    linear_load(f->coarse_queries ? &f->coarse : &f->fine, f->coarse_queries ? 0 : 3 * hd, ld, p->l_q, p->l_q_b);
    linear_load(&f->coarse, f->coarse_queries ? ld : 0, 2 * ld, p->l_kv, p->l_kv_b);
    linear_load(&f->h_proj, 0, hd, p->h_proj, p->h_proj_b);
    linear_load(&f->l_proj, 0, ld, p->l_proj, p->l_proj_b);

    /* Step 2: the projection of a padding token. */
    for (size_t n = 0; n < 3 * hd; n++) f->padding[n] = p->h_qkv_b ? p->h_qkv_b[n] : 0;
    return status_ok();
}

/* A window has s^2 queries and s^2 keys, padding included. */
static double multiply_adds(const void *params)
{
    const struct hilo_problem *p = params;
    double N = (double)p->N, M = (double)p->M, n = (double)p->n, hd = (double)p->hd, ld = (double)p->ld;
    double R = p->pooled_queries ? n : N, T = (double)p->windows.entries, core;

    core = 2 * M * T * hd + 2 * R * n * ld + (p->pooled_queries && p->s > 1 ? 3 * N * ld : 0);
    return hilo_projections(p, p->N) + (double)p->B * core;
}

const struct form hilo_fast = {
    .name = "fast", .state = sizeof(struct hilo_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
