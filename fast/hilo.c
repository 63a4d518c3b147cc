/* hilo.c -- HiLo with windows as windows, and one key a window
 *
 * Nothing is padded.  A token of the padding is zero, so its query, key and
 * value are the bias: one row, prepared once, stands for all of them, and in a
 * window's mean it counts in the divisor alone.
 *
 * Each thread takes images of its own from pooling to projection, so that all
 * between x and y stays in its cache and nobody waits.  Images that are left
 * over, or a single one, are shared by all threads, step by step.
 *
 * What was done for speed, at 14 x 14 tokens, 768 channels, 12 heads, s = 2 and
 * alpha = 0.9, where 2.83 ms were reached on one core of a Zen 5 with AVX-512, 2.76
 * an image in batches, and the multiply-adds alone need 2.25:
 *
 * 1. Weights laid out once (packed.h), and maps of one input made one map:
 *    2.5 ms of the 2.83, where OpenBLAS takes 3.0 and, with two threads, 1.72
 *    instead of 1.28.
 * 2. Small windows in the lanes (lane_windows.h): 0.025 ms for Hi-Fi.
 * 3. Lo-Fi by the tiled attention, keys and values where the map left them:
 *    0.19 ms, in which 49 keys are one tile.
 * 4. One image after the other: 64 images cost 64 times one, and no memory that
 *    grows with their number.
 *
 * Contract: reference/hilo.h. */

#include "../reference/hilo.h"
#include <omp.h>
#include <stdint.h>
#include <string.h>
#include "../reference/attention.h"
#include "../reference/memory.h"
#include "../reference/resample.h"
#include "lane_windows.h"
#include "packed.h"
#include "share.h"

struct fast_state {
    struct hilo_sizes z;
    bool coarse_queries;        /* Lo-Fi's queries beside its keys, from the same rows */
    size_t R;                   /* queries of Lo-Fi */
    struct packed fine, coarse; /* of every token: h_qkv and l_q; of every window: l_kv, or l_q and l_kv */
    struct packed high_proj, low_proj;
    real *padding;              /* [3hd]: query, key and value of a token of the padding */
    real *rooms;                /* [images_in_flight][room_reals] */
    size_t room_reals, images_in_flight;    /* one, or as many as threads */
    real *workspace;            /* [threads][workspace_reals] */
    size_t workspace_reals, tile;           /* of which `tile` are attention's own */
};

/* All between x and y of one image, in a room of its own. */
struct image {
    const struct fast_state *f;
    real *pooled;               /* [n][C], x itself where windows are tokens */
    real *fine, *coarse;        /* [N][fine.out], [n][coarse.out] */
    real *high_z, *low_z;       /* [N][hd], [R][ld] */
    real *low;                  /* [n][ld], where it must be spread */
    real *workspace;            /* the calling thread's */
    size_t part, parts;         /* which share of each step is its own */
};

/* ---- preparation ----------------------------------------------------- */

static void release(struct plan *plan)
{
    struct fast_state *f = plan->state;
    if (!f) return;
    packed_release(&f->fine);
    packed_release(&f->coarse);
    packed_release(&f->high_proj);
    packed_release(&f->low_proj);
    memory_free(f->padding);
    memory_free(f->rooms);
    memory_free(f->workspace);
    memory_free(f);
}

/* In whole cache lines, whatever a real is. */
static size_t lines(size_t reals)
{
    return (reals + 15) / 16 * 16;
}

#define PARTS 6

/* What an image needs, in the order of struct image; false where it overflows. */
static bool room_sizes(size_t size[PARTS], size_t *sum, const struct fast_state *f)
{
    const struct hilo_sizes *z = &f->z;
    const size_t factor[PARTS][2] = {
        {z->ld && z->s > 1 ? z->windows : 0, z->C}, {z->N, f->fine.out}, {z->windows, f->coarse.out},
        {z->N, z->hd}, {f->R, z->ld}, {z->pooled_queries && z->s > 1 ? z->windows : 0, z->ld},
    };
    *sum = 0;
    for (size_t t = 0; t < PARTS; t++) {
        if (!size_multiply(&size[t], factor[t][0], factor[t][1]) || size[t] > SIZE_MAX / 16) return false;
        size[t] = lines(size[t]);
        *sum += size[t];
    }
    return true;
}

/* What a thread needs besides: a tile of attention, and windows of Hi-Fi behind
 * it or in its place. */
static bool workspace_size(struct fast_state *f)
{
    const struct hilo_sizes *z = &f->z;
    size_t windows = 0;

    if (!attention_fast_workspace(&f->tile, z->c, ATTENTION_BLOCK) || f->tile > SIZE_MAX / 4) return false;
    f->workspace_reals = f->tile = lines(f->tile);
    if (!z->hd) return true;
    if (z->s <= LANE_WINDOWS_EDGE) {
        if (!lane_windows_workspace(&windows, z->s, z->c)) return false;
        if (windows > f->tile) f->workspace_reals = lines(windows);
        return true;
    }
    if (!size_multiply(&windows, z->s * z->s, 4 * z->c) || windows > SIZE_MAX / 4) return false;
    f->workspace_reals += lines(windows);
    return true;
}

/* Room for all; false when memory is out or a size overflows. */
static bool get_room(struct fast_state *f, size_t threads, size_t with_fine)
{
    const struct hilo_sizes *z = &f->z;
    size_t size[PARTS];

    if (!packed_create(&f->fine, z->C, 3 * z->hd + with_fine) || !packed_create(&f->coarse, z->C, 3 * z->ld - with_fine)
        || !packed_create(&f->high_proj, z->hd, z->hd) || !packed_create(&f->low_proj, z->ld, z->ld)) return false;
    if (!room_sizes(size, &f->room_reals, f) || !workspace_size(f)) return false;
    f->images_in_flight = z->B < threads ? 1 : threads;
    f->rooms = memory_reals(f->images_in_flight, f->room_reals, 1, 1);
    f->workspace = memory_reals(threads, f->workspace_reals, 1, 1);
    f->padding = memory_reals(3, z->hd ? z->hd : 1, 1, 1);
    return f->rooms && f->workspace && f->padding;
}

/* Lo-Fi's queries are made where their input is: with Hi-Fi's, or with the keys. */
static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;

    /* Step 1: what is made of tokens, and what of windows. */
    struct fast_state *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct fast_state){.z = hilo_sizes(p)};
    plan->state = f;
    size_t hd = f->z.hd, ld = f->z.ld;
    f->coarse_queries = f->z.pooled_queries || f->z.s == 1;
    f->R = f->coarse_queries ? f->z.windows : f->z.N;
    if (!get_room(f, (size_t)plan->threads, f->coarse_queries ? 0 : ld))
        return out_of_memory("the weights, laid out, and an image");

    /* Step 2: the weights, laid out. */
    packed_fill(&f->fine, 0, 3 * hd, problem_tensor(p, "h_qkv"), problem_tensor(p, "h_qkv_b"));
    packed_fill(f->coarse_queries ? &f->coarse : &f->fine, f->coarse_queries ? 0 : 3 * hd, ld,
                problem_tensor(p, "l_q"), problem_tensor(p, "l_q_b"));
    packed_fill(&f->coarse, f->coarse_queries ? ld : 0, 2 * ld, problem_tensor(p, "l_kv"), problem_tensor(p, "l_kv_b"));
    packed_fill(&f->high_proj, 0, hd, problem_tensor(p, "h_proj"), problem_tensor(p, "h_proj_b"));
    packed_fill(&f->low_proj, 0, ld, problem_tensor(p, "l_proj"), problem_tensor(p, "l_proj_b"));

    /* Step 3: what a linear map makes of zeros. */
    const real *bias = problem_tensor(p, "h_qkv_b");
    for (size_t n = 0; n < 3 * hd; n++) f->padding[n] = bias ? bias[n] : 0;
    return status_ok();
}

/* ---- pooling, and spreading ------------------------------------------- */

/* The mean of one window's tokens; the padding adds nothing. */
static void pool(real *mean, const real *x, const struct hilo_sizes *z, size_t window)
{
    size_t top = window / z->columns * z->s, left = window % z->columns * z->s, C = z->C;
    size_t bottom = top + z->s < z->H ? top + z->s : z->H, right = left + z->s < z->W ? left + z->s : z->W;
    real share = 1 / (real)(z->s * z->s);

    memset(mean, 0, C * sizeof *mean);
    for (size_t row = top; row < bottom; row++)
        for (size_t column = left; column < right; column++) {
            const real *token = x + (row * z->W + column) * C;
            for (size_t ch = 0; ch < C; ch++) mean[ch] += token[ch];
        }
    for (size_t ch = 0; ch < C; ch++) mean[ch] *= share;
}

/* One row of tokens, bilinearly between the windows around it. */
static void spread(real *y, const real *low, const struct hilo_sizes *z, size_t row)
{
    struct tap down = bilinear_tap(row, z->rows, z->rows * z->s);
    for (size_t column = 0; column < z->W; column++) {
        struct tap across = bilinear_tap(column, z->columns, z->columns * z->s);
        const real *a = low + (down.low * z->columns + across.low) * z->ld;
        const real *b = low + (down.low * z->columns + across.high) * z->ld;
        const real *c = low + (down.high * z->columns + across.low) * z->ld;
        const real *d = low + (down.high * z->columns + across.high) * z->ld;
        for (size_t ch = 0; ch < z->ld; ch++) {
            real upper = a[ch] + across.weight * (b[ch] - a[ch]), lower = c[ch] + across.weight * (d[ch] - c[ch]);
            y[column * z->C + ch] = upper + down.weight * (lower - upper);
        }
    }
}

/* ---- Hi-Fi ------------------------------------------------------------ */

/* Where token t of a window has its query for the head that begins at `channel`,
 * and where its mean goes; there are no windows beyond the last. */
static void place(const real **row, real **z_row, const struct image *m, size_t window, size_t t, size_t channel)
{
    const struct hilo_sizes *z = &m->f->z;
    size_t down = window / z->columns * z->s + t / z->s, across = window % z->columns * z->s + t % z->s;

    *row = m->f->padding + channel;
    *z_row = NULL;
    if (down >= z->H || across >= z->W) return;
    *row = m->fine + (down * z->W + across) * m->f->fine.out + channel;
    *z_row = m->high_z + (down * z->W + across) * z->hd + channel;
}

/* LANES small windows of one head. */
static void attend_lanes(const struct image *m, size_t group, size_t head)
{
    const struct hilo_sizes *z = &m->f->z;
    const real *row[LANE_WINDOWS_EDGE * LANE_WINDOWS_EDGE * LANES];
    real *y[LANE_WINDOWS_EDGE * LANE_WINDOWS_EDGE * LANES];
    struct lane_windows w = {.s = z->s, .channels = z->c, .scale = z->scale, .row = row, .apart = z->hd, .y = y};

    for (size_t t = 0; t < z->s * z->s; t++)
        for (size_t l = 0; l < LANES; l++)
            place(&row[t * LANES + l], &y[t * LANES + l], m, group * LANES + l, t, head * z->c);
    lane_windows_attend(&w, m->workspace);
}

/* One larger window of one head: rows in, tiled attention, rows out. */
static void attend_window(const struct image *m, size_t window, size_t head)
{
    size_t T = m->f->z.s * m->f->z.s, c = m->f->z.c, hd = m->f->z.hd;
    real *q = m->workspace + m->f->tile, *k = q + T * c, *v = k + T * c, *z = v + T * c, *z_row;
    const real *row;
    struct attention a = {.queries = T, .keys = T, .channels = c, .scale = m->f->z.scale, .q = q, .k = k, .v = v,
                          .q_stride = c, .k_stride = c, .v_stride = c};

    for (size_t t = 0; t < T; t++) {
        place(&row, &z_row, m, window, t, head * c);
        memcpy(q + t * c, row, c * sizeof *q);
        memcpy(k + t * c, row + hd, c * sizeof *k);
        memcpy(v + t * c, row + 2 * hd, c * sizeof *v);
    }
    for (size_t first = 0; first < T; first += ATTENTION_BLOCK)
        attention_fast(z + first * c, c, &a, first, T - first < ATTENTION_BLOCK ? T - first : ATTENTION_BLOCK,
                       m->workspace);
    for (size_t t = 0; t < T; t++) {
        place(&row, &z_row, m, window, t, head * c);
        if (z_row) memcpy(z_row, z + t * c, c * sizeof *z);
    }
}

/* ---- Lo-Fi ------------------------------------------------------------ */

/* One block of queries against all windows. */
static void attend_pooled(const struct image *m, size_t block, size_t head)
{
    const struct fast_state *f = m->f;
    const struct hilo_sizes *z = &f->z;
    size_t first = block * ATTENTION_BLOCK, left = f->R - first, channel = head * z->c;
    struct attention a = {
        .queries = f->R, .keys = z->windows, .channels = z->c, .scale = z->scale,
        .q = m->fine + 3 * z->hd + channel, .k = m->coarse + channel, .q_stride = f->fine.out,
        .k_stride = f->coarse.out, .v_stride = f->coarse.out,
    };
    if (f->coarse_queries) {
        a.q = m->coarse + channel;
        a.k = a.q + z->ld;
        a.q_stride = f->coarse.out;
    }
    a.v = a.k + z->ld;
    attention_fast(m->low_z + first * z->ld + channel, z->ld, &a, first,
                   left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK, m->workspace);
}

/* ---- the form --------------------------------------------------------- */

/* All threads that share an image have done the step. */
static void meet(const struct image *m)
{
    if (m->parts > 1) {
        #pragma omp barrier
    }
}

/* The calling thread's share of one image. */
static void run_image(struct image *m, real *y, const real *x)
{
    const struct fast_state *f = m->f;
    const struct hilo_sizes *z = &f->z;
    size_t high = z->hd / z->c, low = z->ld / z->c, part = m->part, parts = m->parts;
    bool small = z->s <= LANE_WINDOWS_EDGE, pools = z->ld && z->s > 1, spreads = z->pooled_queries && pools;

    /* Step 1: the mean of every window; the projections of tokens. */
    size_t means = pools ? z->windows : 0;
    for (size_t w = share(means, part, parts); w < share(means, part + 1, parts); w++)
        pool(m->pooled + w * z->C, x, z, w);
    packed_apply(m->fine, f->fine.out, x, z->C, &f->fine, z->N, part, parts);
    meet(m);

    /* Step 2: the projections of windows. */
    packed_apply(m->coarse, f->coarse.out, pools ? m->pooled : x, z->C, &f->coarse, z->windows, part, parts);
    meet(m);

    /* Step 3: attention, head by head. */
    size_t groups = small ? (z->windows + LANES - 1) / LANES : z->windows;
    size_t blocks = (f->R + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
    for (size_t item = share(high * groups, part, parts); item < share(high * groups, part + 1, parts); item++) {
        if (small) attend_lanes(m, item / high, item % high);
        else attend_window(m, item / high, item % high);
    }
    for (size_t item = share(low * blocks, part, parts); item < share(low * blocks, part + 1, parts); item++)
        attend_pooled(m, item % blocks, item / blocks);
    meet(m);

    /* Step 4: each branch into its channels of y. */
    packed_apply(y, z->C, m->high_z, z->hd, &f->high_proj, z->N, part, parts);
    packed_apply(spreads ? m->low : y + z->hd, spreads ? z->ld : z->C, m->low_z, z->ld, &f->low_proj, f->R, part, parts);
    if (spreads) meet(m);
    size_t spread_rows = spreads ? z->H : 0;
    for (size_t row = share(spread_rows, part, parts); row < share(spread_rows, part + 1, parts); row++)
        spread(y + row * z->W * z->C + z->hd, m->low, z, row);
}

/* An image in this room, of which the calling thread does share `part` of `parts`. */
static struct image open_image(const struct fast_state *f, size_t room, size_t part, size_t parts)
{
    size_t thread = (size_t)omp_get_thread_num(), size[PARTS], sum;
    struct image m = {.f = f, .part = part, .parts = parts, .workspace = f->workspace + thread * f->workspace_reals};
    real **tensor[PARTS] = {&m.pooled, &m.fine, &m.coarse, &m.high_z, &m.low_z, &m.low};
    real *at = f->rooms + room * f->room_reals;

    (void)room_sizes(size, &sum, f);
    for (size_t t = 0; t < PARTS; at += size[t++]) *tensor[t] = at;
    return m;
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct fast_state *f = plan->state;
    size_t image = f->z.N * f->z.C, B = f->z.B;

    #pragma omp parallel num_threads(plan->threads)
    {
        size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
        bool rooms = f->images_in_flight > 1;
        size_t alone = rooms ? B / team * team : 0;
        struct image own = open_image(f, rooms ? thread : 0, 0, 1), common = open_image(f, 0, thread, team);

        for (size_t b = share(alone, thread, team); b < share(alone, thread + 1, team); b++)
            run_image(&own, y + b * image, x + b * image);
        if (alone < B) {
            #pragma omp barrier
        }
        for (size_t b = alone; b < B; b++) {
            run_image(&common, y + b * image, x + b * image);
            meet(&common);
        }
    }
    return status_ok();
}

/* Windows are s^2 queries and s^2 keys, padding and all. */
static double multiply_adds(const struct problem *p)
{
    struct hilo_sizes z = hilo_sizes(p);
    double N = (double)z.N, M = (double)z.M, n = (double)z.windows, hd = (double)z.hd, ld = (double)z.ld;
    double R = z.pooled_queries ? n : N, s = (double)z.s, hearts;

    hearts = 2 * M * s * s * hd + 2 * R * n * ld + (z.pooled_queries && z.s > 1 ? 3 * N * ld : 0);
    return hilo_projection_multiply_adds(&z, z.N) + (double)z.B * hearts;
}

const struct form hilo_fast = {"fast", prepare, run, release, multiply_adds};
