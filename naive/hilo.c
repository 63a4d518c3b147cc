/* hilo.c -- HiLo as two attentions over all pairs of tokens, as Sec. 4.1 reads; never optimised
 *
 * Both branches are naive/attention.c over the whole padded plane.  Hi-Fi's windows are a mask, -inf between tokens
 * of different windows.  In Lo-Fi every token has a copy of its window's key and value: s^2 equal keys have s^2 equal
 * weights, so the mean over tokens is the mean over windows.
 *
 *     i, j  tokens of the padded plane, M of them     w  windows, n of them     ch  channels
 *
 * Contract: reference/hilo.h. */

#include "hilo.h"
#include <math.h>
#include "../reference/runtime/heads.h"
#include "../reference/runtime/resample.h"
#include "attention.h"
#include "forms.h"

/* ---- the cores ------------------------------------------------------ */

/* Index on the padded plane of token i of the plane. */
static size_t place(const struct hilo_problem *p, size_t i)
{
    return i / p->W * p->padded.grid.size[1] + i % p->W;
}

void hilo_naive_pad(real *padded, const real *x, const struct hilo_problem *p)
{
    for (size_t ich = 0; ich < p->M * p->C; ich++) padded[ich] = 0;
    for (size_t i = 0; i < p->N; i++)
        for (size_t ch = 0; ch < p->C; ch++) padded[place(p, i) * p->C + ch] = x[i * p->C + ch];
}

void hilo_naive_mask(real *r, const struct hilo_problem *p)
{
    for (size_t i = 0; i < p->M; i++)
        for (size_t j = 0; j < p->M; j++) {
            r[i * p->M + j] = 0;
            if (windows_of(&p->padded, i) != windows_of(&p->padded, j)) r[i * p->M + j] = -INFINITY;
        }
}

/* x~_w = sum_i x_i / s^2, padding tokens included. */
void hilo_naive_pool(real *pooled, const real *padded, const struct hilo_problem *p)
{
    for (size_t w = 0; w < p->n; w++)
        for (size_t ch = 0; ch < p->C; ch++) {
            real sum = 0;
            for (size_t t = 0; t < p->s * p->s; t++) sum += padded[windows_token(&p->padded, w, t) * p->C + ch];
            pooled[w * p->C + ch] = sum / (real)(p->s * p->s);
        }
}

void hilo_naive_carry(real *tokens, const real *rows, const struct hilo_problem *p, size_t channels)
{
    for (size_t i = 0; i < p->M; i++) {
        const real *row_w = rows + windows_of(&p->padded, i) * channels;
        for (size_t ch = 0; ch < channels; ch++) tokens[i * channels + ch] = row_w[ch];
    }
}

void hilo_naive_spread(real *tokens, const real *rows, const struct hilo_problem *p, size_t channels)
{
    const struct small_map map = {rows, p->windows.rows, p->windows.columns, channels};
    size_t height = p->padded.grid.size[0], width = p->padded.grid.size[1];
    for (size_t row = 0; row < height; row++)
        bilinear_row(tokens + row * width * channels, channels, width, &map, row, height, width);
}

void hilo_naive_crop(real *y, size_t stride, const real *padded, const struct hilo_problem *p, size_t channels)
{
    for (size_t i = 0; i < p->N; i++)
        for (size_t ch = 0; ch < channels; ch++) y[i * stride + ch] = padded[place(p, i) * channels + ch];
}

/* ---- the form around them -------------------------------------------- */

/* Tensors of all images. */
struct hilo_naive {
    size_t R;                   /* queries of Lo-Fi: M, or n with --pooled-queries */
    struct hilo_maps maps;
    real *padded;               /* [B][M][C] */
    real *mask;                 /* [M][M] */
    real *high_qkv, *high_z, *high;         /* [B][M][3hd], [B][M][hd], [B][M][hd] */
    real *pooled;               /* [B][n][C] */
    real *low_q;                /* [B][R][ld] */
    real *window_kv, *low_kv;   /* [B][n][2ld], [B][M][2ld] */
    real *low_z, *low, *spread; /* [B][R][ld] twice; [B][M][ld] with --pooled-queries */
    struct attention_copies copies;
};

/* Hi-Fi: z_i = sum_j softmax_j(q_i . k_j / sqrt(c) + r_ij) v_j. */
static void high_head(const struct head *head)
{
    const struct hilo_problem *p = head->plan->params;
    const struct hilo_naive *f = head->plan->state;
    attention_naive_head(head, &f->copies, f->mask, p->scale, p->M, p->M, p->c);
}

/* Lo-Fi: the same without a mask, over the copied keys and values. */
static void low_head(const struct head *head)
{
    const struct hilo_problem *p = head->plan->params;
    const struct hilo_naive *f = head->plan->state;
    attention_naive_head(head, &f->copies, NULL, p->scale, f->R, p->M, p->c);
}

static void run_chunk(const struct team *t)
{
    const struct hilo_problem *p = t->plan->params;
    const struct hilo_naive *f = t->plan->state;
    size_t N = p->N, M = p->M, n = p->n, R = f->R, C = p->C, hd = p->hd, ld = p->ld;
    const struct branch high = {
        .core = high_head, .heads = hd / p->c, .parts = 1, .channels = p->c, .queries = M, .keys = M,
        .y = f->high_z, .q = f->high_qkv, .k = arena_at(f->high_qkv, hd), .v = arena_at(f->high_qkv, 2 * hd),
        .y_stride = hd, .q_stride = 3 * hd, .kv_stride = 3 * hd,
    };
    const struct branch low = {
        .core = low_head, .heads = ld / p->c, .parts = 1, .channels = p->c, .queries = R, .keys = M,
        .y = f->low_z, .q = f->low_q, .k = f->low_kv, .v = arena_at(f->low_kv, ld),
        .y_stride = ld, .q_stride = ld, .kv_stride = 2 * ld,
    };

    /* Step 1: pad to whole windows; the mean of each window. */
    for (size_t b; team_next(t, t->images, &b);) {
        hilo_naive_pad(f->padded + b * M * C, t->x + b * N * C, p);
        hilo_naive_pool(f->pooled + b * n * C, f->padded + b * M * C, p);
    }
    team_barrier(t);

    /* Step 2: queries, keys and values. */
    team_linear(t, f->high_qkv, 3 * hd, f->padded, C, &f->maps.h_qkv, t->images * M);
    team_linear(t, f->low_q, ld, p->pooled_queries ? f->pooled : f->padded, C, &f->maps.l_q, t->images * R);
    team_linear(t, f->window_kv, 2 * ld, f->pooled, C, &f->maps.l_kv, t->images * n);
    team_barrier(t);
    for (size_t b; ld && team_next(t, t->images, &b);)
        hilo_naive_carry(f->low_kv + b * M * 2 * ld, f->window_kv + b * n * 2 * ld, p, 2 * ld);
    team_barrier(t);

    /* Step 3: attention, head by head. */
    branch_attend(t, &high);
    branch_attend(t, &low);
    team_barrier(t);

    /* Step 4: the output projections mix the heads of a branch. */
    team_linear(t, f->high, hd, f->high_z, hd, &f->maps.h_proj, t->images * M);
    team_linear(t, f->low, ld, f->low_z, ld, &f->maps.l_proj, t->images * R);
    team_barrier(t);

    /* Step 5: both branches side by side (Eq. 6), without the padding. */
    for (size_t b; team_next(t, t->images, &b);) {
        real *y = t->y + b * N * C;
        const real *low_b = arena_at(f->low, b * R * ld);
        if (f->spread) {
            hilo_naive_spread(f->spread + b * M * ld, low_b, p, ld);
            low_b = f->spread + b * M * ld;
        }
        hilo_naive_crop(y, C, arena_at(f->high, b * M * hd), p, hd);
        hilo_naive_crop(y + hd, C, low_b, p, ld);
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
    struct hilo_naive *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t B = p->B, M = p->M, n = p->n, C = p->C, hd = p->hd, ld = p->ld, R = p->pooled_queries ? n : M;

    /* Step 1: the maps. */
    f->R = R;
    hilo_maps_prepare(&f->maps, arena, p);

    /* Step 2: the tensors of both branches. */
    arena_reals(arena, PER_RUN, &f->padded, "the padded plane", B, M, C);
    arena_reals(arena, PERSISTENT, &f->mask, "the mask of the windows", hd ? M : 0, M);
    arena_reals(arena, PER_RUN, &f->high_qkv, "Hi-Fi's query, key and value", B, M, hd, 3);
    arena_reals(arena, PER_RUN, &f->high_z, "Hi-Fi's heads side by side", B, M, hd);
    arena_reals(arena, PER_RUN, &f->high, "Hi-Fi's output", B, M, hd);
    arena_reals(arena, PER_RUN, &f->pooled, "the means of the windows", B, n, C);
    arena_reals(arena, PER_RUN, &f->low_q, "Lo-Fi's query", B, R, ld);
    arena_reals(arena, PER_RUN, &f->window_kv, "the windows' key and value", B, n, ld, 2);
    arena_reals(arena, PER_RUN, &f->low_kv, "the key and value that tokens carry", B, M, ld, 2);
    arena_reals(arena, PER_RUN, &f->low_z, "Lo-Fi's heads side by side", B, R, ld);
    arena_reals(arena, PER_RUN, &f->low, "Lo-Fi's output", B, R, ld);
    arena_reals(arena, PER_RUN, &f->spread, "Lo-Fi's output, spread", p->pooled_queries ? B : 0, M, ld);
    attention_copies_prepare(&f->copies, arena, M, M, p->c);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct hilo_problem *p = plan->params;
    struct hilo_naive *f = plan->state;

    hilo_maps_load(&f->maps, p);
    if (p->hd) hilo_naive_mask(f->mask, p);
    return status_ok();
}

/* On the padded plane, including one scale for each pair and 3 for each number of an interpolation. */
static double multiply_adds(const void *params)
{
    const struct hilo_problem *p = params;
    double M = (double)p->M, c = (double)p->c, hd = (double)p->hd, ld = (double)p->ld;
    double R = p->pooled_queries ? (double)p->n : M, core;

    core = M * M * (2 * hd + hd / c) + R * M * (2 * ld + ld / c) + (p->pooled_queries ? 3 * M * ld : 0);
    return hilo_projections(p, p->M) + (double)p->B * core;
}

const struct form hilo_naive = {
    .name = "naive", .state = sizeof(struct hilo_naive), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
