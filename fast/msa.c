/* msa.c -- self-attention over the tiled kernel
 *
 * Without windows the queries are cut into blocks, so that the threads have
 * work when there is one head, and keys and values are read where the
 * projection left them.  A window is copied out first: its rows lie in s runs,
 * and s^2 rows of c channels are small beside the work on them.
 *
 * Contract: reference/msa.h. */

#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/msa.h"

struct msa {
    struct heads heads;
    struct attention_rpe *rpe;          /* one, or one a head, or NULL */
    size_t rpes;
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
    size_t c = problem_size(p, "c"), s = msa_window(p), workspace, rows = 0;
    status result;

    struct msa *m = memory_get(1, sizeof *m);
    if (!m) return out_of_memory("the heads");
    *m = (struct msa){0};
    plan->state = m;
    if (!attention_fast_workspace(&workspace, c, ATTENTION_BLOCK) || !size_multiply(&rows, 4 * s * s, c) || workspace + rows < rows)
        return out_of_memory("a tile of attention");
    if ((result = prepare_rpe(m, p)).code) return result;
    return heads_prepare(&m->heads, plan, workspace + rows);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    struct msa *m = plan->state;
    if (msa_window(p)) heads_run(&m->heads, plan, y, x, window_head, msa_windows(p), m);
    else heads_run(&m->heads, plan, y, x, block_head, (p->grid.tokens + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK, m);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct msa *m = plan->state;
    if (!m) return;
    for (size_t r = 0; r < m->rpes; r++) attention_rpe_release(&m->rpe[r]);
    memory_free(m->rpe);
    heads_release(&m->heads);
    memory_free(m);
}

const struct form msa_fast = {"fast", prepare, run, release, msa_multiply_adds};
