/* hilo.c -- HiLo as two attentions of all tokens with all tokens; see reference/hilo.h
 *
 * Both branches are the equation in naive/attention.c over the whole padded
 * plane.  Hi-Fi's windows are a mask, -inf between tokens that share none.  In
 * Lo-Fi every token carries the key and value of its window: s^2 equal keys are
 * s^2 equal weights, and the mean under them is the mean over windows.  Nothing
 * is saved anywhere; to be read beside Sec. 4.1.
 *
 *     i, j  tokens of the padded plane, M of them     w  windows     ch  channels
 *
 * The hearts come first, for one image; the form around them follows. */

#include "../reference/hilo.h"
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/linear.h"
#include "../reference/memory.h"
#include "../reference/resample.h"

/* ---- the hearts ------------------------------------------------------ */

/* The window of a token of the padded plane. */
static size_t window_of(const struct hilo_sizes *z, size_t i)
{
    size_t width = z->columns * z->s;
    return i / width / z->s * z->columns + i % width / z->s;
}

void hilo_naive_pad(real *padded, const real *x, const struct hilo_sizes *z)
{
    size_t width = z->columns * z->s;
    for (size_t i = 0; i < z->M; i++)
        for (size_t ch = 0; ch < z->C; ch++) {
            padded[i * z->C + ch] = 0;
            if (i / width < z->H && i % width < z->W)
                padded[i * z->C + ch] = x[(i / width * z->W + i % width) * z->C + ch];
        }
}

void hilo_naive_mask(real *r, const struct hilo_sizes *z)
{
    for (size_t i = 0; i < z->M; i++)
        for (size_t j = 0; j < z->M; j++) {
            r[i * z->M + j] = 0;
            if (window_of(z, i) != window_of(z, j)) r[i * z->M + j] = -INFINITY;
        }
}

/* x~_w = sum_i x_i / s^2, the padding's zeros among them. */
void hilo_naive_pool(real *pooled, const real *padded, const struct hilo_sizes *z)
{
    for (size_t wch = 0; wch < z->windows * z->C; wch++) pooled[wch] = 0;
    for (size_t i = 0; i < z->M; i++)
        for (size_t ch = 0; ch < z->C; ch++) pooled[window_of(z, i) * z->C + ch] += padded[i * z->C + ch];
    for (size_t wch = 0; wch < z->windows * z->C; wch++) pooled[wch] /= (real)(double)(z->s * z->s);
}

void hilo_naive_carry(real *tokens, const real *rows, const struct hilo_sizes *z, size_t channels)
{
    for (size_t i = 0; i < z->M; i++)
        for (size_t ch = 0; ch < channels; ch++) tokens[i * channels + ch] = rows[window_of(z, i) * channels + ch];
}

void hilo_naive_spread(real *tokens, const real *rows, const struct hilo_sizes *z, size_t channels)
{
    size_t width = z->columns * z->s;
    for (size_t i = 0; i < z->M; i++) {
        struct tap down = bilinear_tap(i / width, z->rows, z->rows * z->s);
        struct tap across = bilinear_tap(i % width, z->columns, width);
        for (size_t ch = 0; ch < channels; ch++) {
            real a = rows[(down.low * z->columns + across.low) * channels + ch];
            real b = rows[(down.low * z->columns + across.high) * channels + ch];
            real c = rows[(down.high * z->columns + across.low) * channels + ch];
            real d = rows[(down.high * z->columns + across.high) * channels + ch];
            real upper = a + across.weight * (b - a), lower = c + across.weight * (d - c);
            tokens[i * channels + ch] = upper + down.weight * (lower - upper);
        }
    }
}

void hilo_naive_crop(real *y, size_t stride, const real *padded, const struct hilo_sizes *z, size_t channels)
{
    for (size_t i = 0; i < z->N; i++)
        for (size_t ch = 0; ch < channels; ch++)
            y[i * stride + ch] = padded[(i / z->W * z->columns * z->s + i % z->W) * channels + ch];
}

/* z_i = sum_j softmax_j(q_i . k_j / sqrt(c) + r_ij) v_j, rows copied out and back. */
void hilo_naive_head(const struct hilo_head *one)
{
    size_t queries = one->queries, keys = one->keys, c = one->c;
    real *q = one->room, *k = q + queries * c, *v = k + keys * c, *y = v + keys * c, *a = y + queries * c;

    head_gather(q, one->q, one->q_stride, queries, c);
    head_gather(k, one->k, one->kv_stride, keys, c);
    head_gather(v, one->v, one->kv_stride, keys, c);
    attention_naive(y, a, q, k, v, one->r, one->scale, queries, keys, c);
    head_scatter(one->y, one->y_stride, y, queries, c);
}

/* ---- the form around them -------------------------------------------- */

/* Tensors of all images.  R queries of Lo-Fi an image: M, or one a window. */
struct naive_state {
    size_t R;
    real *padded;               /* [B][M][C] */
    real *mask;                 /* [M][M] */
    real *high_qkv, *high_z, *high;         /* [B][M][3hd], [B][M][hd], [B][M][hd] */
    real *pooled;               /* [B][n][C] */
    real *low_q;                /* [B][R][ld] */
    real *window_kv, *low_kv;   /* [B][n][2ld], [B][M][2ld] */
    real *low_z, *low, *spread; /* [B][R][ld], [B][R][ld], [B][M][ld] where R is not M */
    real *room;                 /* [threads][room_reals] */
    size_t room_reals;
};

static void release(struct plan *plan)
{
    struct naive_state *m = (struct naive_state *)plan->state;
    if (!m) return;
    real *block[] = {m->padded, m->mask, m->high_qkv, m->high_z, m->high, m->pooled, m->low_q, m->window_kv, m->low_kv,
                     m->low_z, m->low, m->spread, m->room};
    for (size_t t = 0; t < sizeof block / sizeof *block; t++) memory_free(block[t]);
    memory_free(m);
    plan->state = NULL;
}

static bool get(real **block, size_t a, size_t b, size_t c)
{
    *block = a && b && c ? memory_reals(a, b, c, 1) : NULL;
    return *block || !a || !b || !c;
}

static status prepare(struct plan *plan)
{
    struct hilo_sizes z = hilo_sizes(plan->problem);
    size_t map, rows;
    bool got;

    /* Step 1: the tensors of both branches. */
    struct naive_state *m = (struct naive_state *)memory_get(1, sizeof *m);
    if (!m) return out_of_memory("a plan");
    *m = (struct naive_state){0};
    plan->state = m;
    m->R = z.pooled_queries ? z.windows : z.M;
    got = get(&m->padded, z.B, z.M, z.C);
    got = got && get(&m->mask, z.hd ? z.M : 0, z.M, 1) && get(&m->high_qkv, z.B, z.M, 3 * z.hd);
    got = got && get(&m->high_z, z.B, z.M, z.hd) && get(&m->high, z.B, z.M, z.hd);
    got = got && get(&m->pooled, z.B, z.ld ? z.windows : 0, z.C) && get(&m->low_q, z.B, m->R, z.ld);
    got = got && get(&m->window_kv, z.B, z.windows, 2 * z.ld) && get(&m->low_kv, z.B, z.M, 2 * z.ld);
    got = got && get(&m->low_z, z.B, m->R, z.ld) && get(&m->low, z.B, m->R, z.ld);
    got = got && get(&m->spread, z.B, z.pooled_queries ? z.M : 0, z.ld);

    /* Step 2: one head in flight for each thread. */
    got = got && size_multiply(&map, z.M, z.M) && size_multiply(&rows, z.M, 4 * z.c) && map <= SIZE_MAX - rows;
    m->room_reals = got ? map + rows : 0;
    got = got && get(&m->room, (size_t)plan->threads, m->room_reals, 1);
    if (!got) return out_of_memory("the tensors of both branches");

    /* Step 3: who shares a window. */
    if (z.hd) hilo_naive_mask(m->mask, &z);
    return status_ok();
}

/* high = [heads: masked attention] h_proj, of all images. */
static void run_high(const struct plan *plan, const struct naive_state *m, const struct hilo_sizes *z)
{
    const struct problem *p = plan->problem;
    size_t heads = z->hd / z->c;

    linear_map(m->high_qkv, 3 * z->hd, m->padded, z->C, problem_tensor(p, "h_qkv"), problem_tensor(p, "h_qkv_b"),
               z->B * z->M, z->C, 3 * z->hd);

    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t item = 0; item < z->B * heads; item++) {
        size_t first = item / heads * z->M, channel = item % heads * z->c;
        struct hilo_head one;
        one.queries = one.keys = z->M;
        one.c = z->c;
        one.scale = z->scale;
        one.q_stride = one.kv_stride = 3 * z->hd;
        one.q = m->high_qkv + first * 3 * z->hd + channel;
        one.k = one.q + z->hd;
        one.v = one.k + z->hd;
        one.r = m->mask;
        one.y_stride = z->hd;
        one.y = m->high_z + first * z->hd + channel;
        one.room = m->room + (size_t)omp_get_thread_num() * m->room_reals;
        hilo_naive_head(&one);
    }

    linear_map(m->high, z->hd, m->high_z, z->hd, problem_tensor(p, "h_proj"), problem_tensor(p, "h_proj_b"),
               z->B * z->M, z->hd, z->hd);
}

/* low = [heads: attention to what every token carries] l_proj, of all images. */
static void run_low(const struct plan *plan, const struct naive_state *m, const struct hilo_sizes *z)
{
    const struct problem *p = plan->problem;
    size_t heads = z->ld / z->c;

    for (size_t b = 0; b < z->B; b++)
        hilo_naive_pool(m->pooled + b * z->windows * z->C, m->padded + b * z->M * z->C, z);
    linear_map(m->low_q, z->ld, z->pooled_queries ? m->pooled : m->padded, z->C, problem_tensor(p, "l_q"),
               problem_tensor(p, "l_q_b"), z->B * m->R, z->C, z->ld);
    linear_map(m->window_kv, 2 * z->ld, m->pooled, z->C, problem_tensor(p, "l_kv"), problem_tensor(p, "l_kv_b"),
               z->B * z->windows, z->C, 2 * z->ld);
    for (size_t b = 0; b < z->B; b++)
        hilo_naive_carry(m->low_kv + b * z->M * 2 * z->ld, m->window_kv + b * z->windows * 2 * z->ld, z, 2 * z->ld);

    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t item = 0; item < z->B * heads; item++) {
        size_t image = item / heads, channel = item % heads * z->c;
        struct hilo_head one;
        one.queries = m->R;
        one.keys = z->M;
        one.c = z->c;
        one.scale = z->scale;
        one.q_stride = one.y_stride = z->ld;
        one.kv_stride = 2 * z->ld;
        one.q = m->low_q + image * m->R * z->ld + channel;
        one.k = m->low_kv + image * z->M * 2 * z->ld + channel;
        one.v = one.k + z->ld;
        one.r = NULL;
        one.y = m->low_z + image * m->R * z->ld + channel;
        one.room = m->room + (size_t)omp_get_thread_num() * m->room_reals;
        hilo_naive_head(&one);
    }

    linear_map(m->low, z->ld, m->low_z, z->ld, problem_tensor(p, "l_proj"), problem_tensor(p, "l_proj_b"),
               z->B * m->R, z->ld, z->ld);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct naive_state *m = (const struct naive_state *)plan->state;
    struct hilo_sizes z = hilo_sizes(plan->problem);

    /* Step 1: a plane that windows tile. */
    for (size_t b = 0; b < z.B; b++) hilo_naive_pad(m->padded + b * z.M * z.C, x + b * z.N * z.C, &z);

    /* Step 2: the branches. */
    if (z.hd) run_high(plan, m, &z);
    if (z.ld) run_low(plan, m, &z);

    /* Step 3: side by side (Eq. 6), without the padding. */
    for (size_t b = 0; b < z.B; b++) {
        const real *low = m->low + b * m->R * z.ld;
        if (z.pooled_queries && z.ld) {
            hilo_naive_spread(m->spread + b * z.M * z.ld, low, &z, z.ld);
            low = m->spread + b * z.M * z.ld;
        }
        if (z.hd) hilo_naive_crop(y + b * z.N * z.C, z.C, m->high + b * z.M * z.hd, &z, z.hd);
        if (z.ld) hilo_naive_crop(y + b * z.N * z.C + z.hd, z.C, low, &z, z.ld);
    }
    return status_ok();
}

/* All that the hearts multiply, the scale and the three of an interpolation
 * among it, and the projections of the padded plane. */
static double multiply_adds(const struct problem *p)
{
    struct hilo_sizes z = hilo_sizes(p);
    double M = (double)z.M, c = (double)z.c, hd = (double)z.hd, ld = (double)z.ld;
    double R = z.pooled_queries ? (double)z.windows : M, hearts;

    hearts = M * M * (2 * hd + hd / c) + R * M * (2 * ld + ld / c) + (z.pooled_queries ? 3 * M * ld : 0);
    return hilo_projection_multiply_adds(&z, z.M) + (double)z.B * hearts;
}

const struct form hilo_naive = {"naive", prepare, run, release, multiply_adds};
