/* hilo.c -- HiLo in plain C: each query reads only the keys it needs
 *
 * The naive form computes all pairs of tokens: a mask hides the tokens of other windows (Hi-Fi), and every token has a
 * copy of its window's key and value (Lo-Fi).  Two identities shorten the lists of keys:
 *
 *     Hi-Fi    exp(-inf) is zero, so a query needs only the s^2 keys of its own window
 *     Lo-Fi    s^2 copies of a key have s^2 equal weights, and the softmax divides by their sum, so a query needs
 *              only one key for each of the n windows
 *
 * A padding token is zero, so its key and value are the biases of the projection: one row represents all padding
 * tokens, and there is no padded plane.  A query costs 2 c + 1 multiplications for each key, and a few for each tile of
 * keys (fast/attention.c).
 *
 *     i, j  tokens, N of them     w  windows, n of them     t  entries of a window     ch  channels
 *
 * Contract: reference/hilo.h. */

#include "../reference/hilo.h"
#include "../reference/runtime/heads.h"
#include "../reference/runtime/resample.h"
#include "attention.h"
#include "forms.h"

struct hilo_plain {
    size_t R;                   /* queries of Lo-Fi: N, or n with --pooled-queries */
    struct hilo_maps maps;
    real *padding;              /* [3hd]: a padding token's query (not used), key and value */
    real *high_qkv, *high_z;    /* [B][N][3hd], [B][N][hd] */
    real *window_k, *window_v;  /* per thread, [s^2][c]: one head of a window */
    real *pooled;               /* [B][n][C] */
    real *low_q, *low_kv;       /* [B][R][ld], [B][n][2ld] */
    real *low_z, *low;          /* [B][R][ld]; [B][n][ld] with --pooled-queries, or NULL */
};

/* ---- the core ---------------------------------------------------------------- */

/* x~_w = sum_i x_i / s^2 over window w.  Padding tokens are zero, but count in s^2. */
static void pool(real *pooled, const real *x, const struct hilo_problem *p)
{
    size_t T = p->windows.entries, C = p->C;

    for (size_t w = 0; w < p->n; w++) {
        real *pooled_w = pooled + w * C;
        for (size_t ch = 0; ch < C; ch++) pooled_w[ch] = 0;
        for (size_t t = 0; t < T; t++) {
            size_t i = windows_token(&p->windows, w, t);
            if (i == WINDOW_PADDING) continue;
            for (size_t ch = 0; ch < C; ch++) pooled_w[ch] += x[i * C + ch];
        }
        for (size_t ch = 0; ch < C; ch++) pooled_w[ch] /= (real)T;
    }
}

/* Hi-Fi, one head of one window: z_i = sum_j softmax_j(q_i . k_j / sqrt(c)) v_j, i and j in the window. */
static void high_window(const struct head *head)
{
    const struct hilo_problem *p = head->plan->params;
    const struct hilo_plain *f = head->plan->state;
    const real *padding = f->padding + head->number * p->c;
    real *k = head_thread(head, f->window_k), *v = head_thread(head, f->window_v);
    size_t T = p->windows.entries, c = p->c;

    /* Step 1: the keys and values of the window, padding included. */
    for (size_t t = 0; t < T; t++) {
        size_t j = windows_token(&p->windows, head->part, t);
        const real *k_j = j == WINDOW_PADDING ? padding + p->hd : head->k + j * head->kv_stride;
        const real *v_j = j == WINDOW_PADDING ? padding + 2 * p->hd : head->v + j * head->kv_stride;
        for (size_t ch = 0; ch < c; ch++) k[t * c + ch] = k_j[ch];
        for (size_t ch = 0; ch < c; ch++) v[t * c + ch] = v_j[ch];
    }

    /* Step 2: attention of its queries; padding tokens have none. */
    for (size_t t = 0; t < T; t++) {
        size_t i = windows_token(&p->windows, head->part, t);
        if (i == WINDOW_PADDING) continue;
        attention_query(head->y + i * head->y_stride, head->q + i * head->q_stride, k, v, c, NULL, p->scale, T, c);
    }
}

/* Lo-Fi, one head of one image: z_i = sum_w softmax_w(q_i . k_w / sqrt(c)) v_w over all windows w. */
static void low_head(const struct head *head)
{
    const struct hilo_problem *p = head->plan->params;
    const struct hilo_plain *f = head->plan->state;
    for (size_t i = 0; i < f->R; i++)
        attention_query(head->y + i * head->y_stride, head->q + i * head->q_stride, head->k, head->v, head->kv_stride,
                        NULL, p->scale, p->n, p->c);
}

/* ---- the form around it -------------------------------------------------------- */

static void run_chunk(const struct team *t)
{
    const struct hilo_problem *p = t->plan->params;
    const struct hilo_plain *f = t->plan->state;
    size_t N = p->N, n = p->n, R = f->R, C = p->C, hd = p->hd, ld = p->ld;
    const struct branch high = {
        .core = high_window, .heads = hd / p->c, .parts = n, .channels = p->c, .queries = N, .keys = N,
        .y = f->high_z, .q = f->high_qkv, .k = arena_at(f->high_qkv, hd), .v = arena_at(f->high_qkv, 2 * hd),
        .y_stride = hd, .q_stride = 3 * hd, .kv_stride = 3 * hd,
    };
    const struct branch low = {
        .core = low_head, .heads = ld / p->c, .parts = 1, .channels = p->c, .queries = R, .keys = n,
        .y = f->low_z, .q = f->low_q, .k = f->low_kv, .v = arena_at(f->low_kv, ld),
        .y_stride = ld, .q_stride = ld, .kv_stride = 2 * ld,
    };

    /* Step 1: the mean of each window. */
    for (size_t b; team_next(t, ld ? t->images : 0, &b);) pool(f->pooled + b * n * C, t->x + b * N * C, p);
    team_barrier(t);

    /* Step 2: queries, keys and values. */
    team_linear(t, f->high_qkv, 3 * hd, t->x, C, &f->maps.h_qkv, t->images * N);
    team_linear(t, f->low_q, ld, p->pooled_queries ? f->pooled : t->x, C, &f->maps.l_q, t->images * R);
    team_linear(t, f->low_kv, 2 * ld, f->pooled, C, &f->maps.l_kv, t->images * n);
    team_barrier(t);

    /* Step 3: attention, head by head. */
    branch_attend(t, &high);
    branch_attend(t, &low);
    team_barrier(t);

    /* Step 4: the output projections write the two branches next to each other (Eq. 6). */
    team_linear(t, t->y, C, f->high_z, hd, &f->maps.h_proj, t->images * N);
    team_linear(t, f->low ? f->low : t->y + hd, f->low ? ld : C, f->low_z, ld, &f->maps.l_proj, t->images * R);
    if (!f->low) return;

    /* Step 5: with --pooled-queries, interpolate between the windows. */
    team_barrier(t);
    for (size_t row; team_next(t, t->images * p->H, &row);) {
        size_t image = row / p->H;
        const struct small_map map = {f->low + image * n * ld, p->windows.rows, p->windows.columns, ld};
        bilinear_row(t->y + row * p->W * C + hd, C, p->W, &map, row % p->H, map.rows * p->s, map.columns * p->s);
    }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct hilo_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->C, .chunk = p->B};
    return batch_run(plan, y, x, &batch, run_chunk);
}

static status prepare(struct plan *plan)
{
    const struct hilo_problem *p = plan->params;
    struct hilo_plain *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t B = p->B, N = p->N, n = p->n, C = p->C, hd = p->hd, ld = p->ld, R = p->pooled_queries ? n : N;

    f->R = R;
    hilo_maps_prepare(&f->maps, arena, p);
    arena_reals(arena, PERSISTENT, &f->padding, "the query, key and value of a padding token", 3, hd);
    arena_reals(arena, PER_RUN, &f->high_qkv, "Hi-Fi's query, key and value", B, N, hd, 3);
    arena_reals(arena, PER_RUN, &f->high_z, "Hi-Fi's heads side by side", B, N, hd);
    arena_reals(arena, PER_THREAD, &f->window_k, "the keys of a window", hd ? p->windows.entries : 0, p->c);
    arena_reals(arena, PER_THREAD, &f->window_v, "the values of a window", hd ? p->windows.entries : 0, p->c);
    arena_reals(arena, PER_RUN, &f->pooled, "the means of the windows", ld ? B : 0, n, C);
    arena_reals(arena, PER_RUN, &f->low_q, "Lo-Fi's query", B, R, ld);
    arena_reals(arena, PER_RUN, &f->low_kv, "the windows' key and value", B, n, ld, 2);
    arena_reals(arena, PER_RUN, &f->low_z, "Lo-Fi's heads side by side", B, R, ld);
    arena_reals(arena, PER_RUN, &f->low, "Lo-Fi's output", p->pooled_queries ? B : 0, n, ld);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct hilo_problem *p = plan->params;
    struct hilo_plain *f = plan->state;

    hilo_maps_load(&f->maps, p);
    for (size_t ch = 0; ch < 3 * p->hd; ch++) f->padding[ch] = p->h_qkv_b ? p->h_qkv_b[ch] : 0;
    return status_ok();
}

/* Both branches, and 3 for each number of an interpolation. */
static double multiply_adds(const void *params)
{
    const struct hilo_problem *p = params;
    double N = (double)p->N, R = p->pooled_queries ? (double)p->n : N, c = (double)p->c;
    double hd = (double)p->hd, ld = (double)p->ld;
    double high = N * hd / c * attention_query_multiply_adds(p->windows.entries, p->c);
    double low = R * ld / c * attention_query_multiply_adds(p->n, p->c);
    return hilo_projections(p, p->N) + (double)p->B * (high + low + (p->pooled_queries ? 3 * N * ld : 0));
}

const struct form hilo_plain = {
    .name = "plain", .state = sizeof(struct hilo_plain), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
