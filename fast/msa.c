/* msa.c -- self-attention over the tiled kernel
 *
 * Weights are laid out once (packed.h), and a few images at a time go all the
 * way from x to y (share.h).  On one core of a Zen 5 with AVX-512, 14 x 14 tokens
 * of 768 channels with 12 heads take 5.3 ms so, and 6.2 where OpenBLAS makes
 * the projections.
 *
 * Without windows the queries are cut into blocks, so that the threads have
 * work when there is one head, and keys and values are read where the
 * projection left them.  A window is copied out first: its rows lie in s runs,
 * and s^2 rows of c channels are small beside the work on them.
 *
 * Contract: reference/msa.h. */

#include "../reference/msa.h"
#include <omp.h>
#include <stdint.h>
#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "packed.h"
#include "share.h"

struct msa {
    struct packed input, output;        /* w_qkv and w_o with their biases */
    struct attention_rpe *rpe;          /* one, or one a head, or NULL */
    size_t rpes;
    size_t flight;                      /* images in flight */
    real *qkv;                          /* [flight][N][3C] */
    real *joined;                       /* [flight][N][C], only where w_o is given */
    real *workspace;                    /* [threads][workspace_reals] */
    size_t workspace_reals;
};

static struct attention attend(const struct head *one, const struct msa *m, size_t n)
{
    return (struct attention){
        .queries = n, .keys = n, .channels = problem_size(one->problem, "c"),
        .scale = (real)msa_scale(one->problem),
        .q = one->q, .k = one->k, .v = one->v,
        .q_stride = one->stride, .k_stride = one->stride, .v_stride = one->stride,
        .bias = m->rpe ? attention_rpe_bias : NULL,
        .bias_context = m->rpe ? &m->rpe[m->rpes > 1 ? one->head : 0] : NULL,
    };
}

/* One block of queries against all keys. */
static void block_head(const struct head *one)
{
    struct attention a = attend(one, one->prepared, problem_size(one->problem, "N"));
    size_t first = one->part * ATTENTION_BLOCK, left = a.queries - first;
    attention_fast(one->y + first * one->y_stride, one->y_stride, &a, first,
                   left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK, one->workspace);
}

/* One window: rows in, attention, rows out. */
static void window_head(const struct head *one)
{
    const struct problem *p = one->problem;
    size_t s = msa_window(p), n = s * s, c = problem_size(p, "c");
    size_t workspace = 0;
    struct attention a = attend(one, one->prepared, n);
    (void)attention_fast_workspace(&workspace, c, ATTENTION_BLOCK);
    real *q = one->workspace + workspace, *k = q + n * c, *v = k + n * c, *y = v + n * c;

    for (size_t row = 0; row < s; row++) {
        size_t token = msa_window_token(p, one->part, row * s), at = row * s * c;
        head_gather(q + at, one->q + token * one->stride, one->stride, s, c);
        head_gather(k + at, one->k + token * one->stride, one->stride, s, c);
        head_gather(v + at, one->v + token * one->stride, one->stride, s, c);
    }
    a.q = q;
    a.k = k;
    a.v = v;
    a.q_stride = a.k_stride = a.v_stride = c;
    for (size_t first = 0; first < n; first += ATTENTION_BLOCK)
        attention_fast(y + first * c, c, &a, first, n - first < ATTENTION_BLOCK ? n - first : ATTENTION_BLOCK, one->workspace);
    for (size_t row = 0; row < s; row++)
        head_scatter(one->y + msa_window_token(p, one->part, row * s) * one->y_stride, one->y_stride, y + row * s * c, s, c);
}

/* A window looks at the middle of the grid's table. */
static status prepare_rpe(struct msa *m, const struct problem *p)
{
    const real *rpe = problem_tensor(p, "rpe");
    size_t columns = problem_axis(p, "rpe", 1), s = msa_window(p);
    grid window = p->grid;
    status result = status_ok();

    if (!rpe) return result;
    if (s && (result = grid_create(&window, 2, (size_t[]){s, s})).code) return result;
    m->rpe = memory_get(columns, sizeof *m->rpe);
    if (!m->rpe) return out_of_memory("the position embedding");
    while (!result.code && m->rpes < columns) {
        result = attention_rpe_create(&m->rpe[m->rpes], &window, &p->grid, rpe + m->rpes, columns);
        m->rpes++;
    }
    return result;
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t B = problem_size(p, "B"), N = problem_size(p, "N"), C = problem_size(p, "C"), c = problem_size(p, "c");
    size_t s = msa_window(p), workspace, rows = 0;
    const real *w_o = problem_tensor(p, "w_o");
    status result;

    /* Step 1: the weights, laid out. */
    struct msa *m = memory_get(1, sizeof *m);
    if (!m) return out_of_memory("a plan");
    *m = (struct msa){.flight = images_in_flight(N, B)};
    plan->state = m;
    if (!packed_create(&m->input, C, 3 * C) || (w_o && !packed_create(&m->output, C, C)))
        return out_of_memory("the weights, laid out");
    packed_fill(&m->input, 0, 3 * C, problem_tensor(p, "w_qkv"), problem_tensor(p, "b_qkv"));
    if (w_o) packed_fill(&m->output, 0, C, w_o, problem_tensor(p, "b_o"));
    if ((result = prepare_rpe(m, p)).code) return result;

    /* Step 2: rooms for the images in flight, and for each thread. */
    if (!attention_fast_workspace(&workspace, c, ATTENTION_BLOCK) || !size_multiply(&rows, 4 * s * s, c)
        || workspace + rows < rows || workspace + rows > SIZE_MAX - 15) return out_of_memory("a tile of attention");
    m->workspace_reals = (workspace + rows + 15) / 16 * 16;
    m->qkv = memory_reals(m->flight, N, 3, C);
    m->joined = w_o ? memory_reals(m->flight, N, C, 1) : NULL;
    m->workspace = memory_reals((size_t)plan->threads, m->workspace_reals, 1, 1);
    if (!m->qkv || (w_o && !m->joined) || !m->workspace) return out_of_memory("query, key and value");
    return status_ok();
}

/* The calling thread's share of a flight, number `part` of `parts`; all threads
 * meet after every step. */
static void run_flight(const struct msa *m, const struct problem *p, real *y, const real *x, size_t images,
                       size_t part, size_t parts)
{
    size_t N = problem_size(p, "N"), C = problem_size(p, "C"), h = problem_size(p, "h"), c = problem_size(p, "c");
    bool windows = msa_window(p) > 0;
    size_t pieces = windows ? msa_windows(p) : (N + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK, items = images * h * pieces;
    real *joined = m->joined ? m->joined : y;

    /* Step 1: query, key and value of every token, side by side. */
    packed_apply(m->qkv, 3 * C, x, C, &m->input, images * N, part, parts);
    #pragma omp barrier

    /* Step 2: the heart, once for each window or block of queries of each head. */
    for (size_t item = share(items, part, parts); item < share(items, part + 1, parts); item++) {
        size_t image = item / pieces / h, head = item / pieces % h;
        const real *q = m->qkv + image * N * 3 * C + head * c;
        struct head one = {
            .problem = p, .prepared = m,
            .q = q, .k = q + C, .v = q + 2 * C, .stride = 3 * C,
            .y = joined + image * N * C + head * c, .y_stride = C,
            .image = image, .head = head, .part = item % pieces, .parts = pieces,
            .workspace = m->workspace + (size_t)omp_get_thread_num() * m->workspace_reals,
        };
        if (windows) window_head(&one);
        else block_head(&one);
    }
    #pragma omp barrier

    /* Step 3: the output projection mixes the heads. */
    if (m->joined) {
        packed_apply(y, C, joined, C, &m->output, images * N, part, parts);
        #pragma omp barrier
    }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    const struct msa *m = plan->state;
    size_t B = problem_size(p, "B"), image = problem_size(p, "N") * problem_size(p, "C");

    #pragma omp parallel num_threads(plan->threads)
    for (size_t b = 0; b < B; b += m->flight)
        run_flight(m, p, y + b * image, x + b * image, B - b < m->flight ? B - b : m->flight,
                   (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads());
    return status_ok();
}

static void release(struct plan *plan)
{
    struct msa *m = plan->state;
    if (!m) return;
    for (size_t r = 0; r < m->rpes; r++) attention_rpe_release(&m->rpe[r]);
    memory_free(m->rpe);
    packed_release(&m->input);
    packed_release(&m->output);
    memory_free(m->qkv);
    memory_free(m->joined);
    memory_free(m->workspace);
    memory_free(m);
}

const struct form msa_fast = {"fast", prepare, run, release, msa_multiply_adds};
