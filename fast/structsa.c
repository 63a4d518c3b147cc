/* structsa.c -- StructSA as ordinary attention over virtual tokens, in tiles
 *
 * The query does not depend on m, so it waits (Eq. 15):
 *
 *     score_ijd = q_i . key_jd,           key_jdc   = sum_m hk_dmc k_{j+m,c}
 *     y_i       = sum_jd a_ijd value_jd,  value_jdc = sum_m hv_dmc v_{j+m,c}
 *
 * D depth-wise convolutions make D virtual keys and values of every token, and
 * what is left is the attention of N queries over J D of them, with the tiled
 * kernel of fast/attention.c.  That kernel asks for one tile of 96 keys at a
 * time, and the convolutions make it there and then: neither the virtual
 * tokens nor the map of N x J D exist.
 *
 * What was done for speed, and what each bought at 28 x 28 tokens, 6 heads of 64
 * channels, 3 x 3 windows and D = 8, where 40 ms were reached on one core of a
 * Zen 5 with AVX-512 and arithmetic alone needs 32 (the two products with the
 * virtual tokens run at the full speed of the multiply-add units; what is left
 * is the softmax, 3.5 ms, the tiles, 1 ms, and the projections' distance from
 * their own peak):
 *
 * 1. Blocks of queries as large as the second-level cache bears: every block
 *    has all tiles made anew.  784 queries in one block in place of 96: 8 ms.
 * 2. A vector of a row meets all D filters while it is in a register
 *    (depthwise.h), in place of one filter after the other: 3 ms.
 * 3. The rows that the next tile will read are asked for before this one is
 *    used.  They lie 4.6 KB apart in the projection, and the tokens of the line
 *    above have left the second-level cache since they were read last: 0.6 ms.
 *
 * What did not help: two centres at a time under one load of the filters, the
 * channels outermost in a tile (the filters of both sides, 37 KB, stream from
 * the second level fast enough).
 *
 * Contract: reference/structsa.h. */

#include "../reference/structsa.h"
#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "depthwise.h"

/* What a block's queries and sums may take of the second-level cache. */
#define BLOCK_BYTES (512 * 1024)

struct structsa_fast {
    struct heads heads;
    struct structsa_sides sides;
    struct depthwise keys, values;
    size_t block, blocks;       /* queries in a block; blocks of a head */
};

/* ---- tiles ------------------------------------------------------------- */

/* One head, as the making of tiles sees it. */
struct source {
    const struct structsa_fast *f;
    const struct head *one;
};

static void make_tile(real *k, real *v, size_t first, size_t count, void *context)
{
    const struct source *from = context;
    const struct structsa_fast *f = from->f;
    const struct head *one = from->one;

    depthwise_run(k, &f->keys, one->head, first, count, one->k, one->stride);
    depthwise_run(v, &f->values, one->head, first, count, one->v, one->stride);
    depthwise_ahead(&f->keys, first + count, count, one->k, one->stride);
    depthwise_ahead(&f->values, first + count, count, one->v, one->stride);
}

/* ---- blocks of queries --------------------------------------------------- */

/* Few blocks, so that tiles are seldom made; but none beyond the cache, and as
 * many as it takes to give every thread the same number of them, or enough
 * that it does not matter.  A query's result does not depend on its block. */
static void divide(struct structsa_fast *f, const struct plan *plan)
{
    size_t N = problem_size(plan->problem, "N"), c = problem_size(plan->problem, "c");
    size_t heads = problem_size(plan->problem, "B") * problem_size(plan->problem, "h");
    size_t threads = (size_t)plan->threads, unit = ATTENTION_BLOCK / 2;
    size_t most = BLOCK_BYTES / sizeof(real) / (2 * c + 2) / unit * unit;

    if (most < unit) most = unit;
    f->blocks = (N - 1) / most + 1;
    while (heads * f->blocks % threads && heads * f->blocks < 8 * threads && f->blocks * unit < N) f->blocks++;
    f->block = ((N - 1) / f->blocks / unit + 1) * unit;
    f->blocks = (N - 1) / f->block + 1;
}

static void block_head(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct structsa_fast *f = one->prepared;
    size_t N = problem_size(p, "N"), first = one->part * f->block, left = N - first;
    struct source from = {.f = f, .one = one};
    struct attention a = {
        .queries = N, .keys = f->sides.keys.centres * f->sides.D, .channels = problem_size(p, "c"),
        .scale = (real)problem_number(p, "scale"),
        .q = one->q, .q_stride = one->stride,
        .fill = make_tile, .fill_context = &from,
    };
    attention_fast(one->y + first * one->y_stride, one->y_stride, &a, first, left < f->block ? left : f->block,
                   one->workspace);
}

/* ---- the form ------------------------------------------------------------ */

static status side_create(struct depthwise *w, const struct structsa_sides *s, const struct neighbours *n,
                          const real *filters, size_t channels)
{
    return depthwise_create(w, n, filters, s->heads, s->D, s->columns, channels);
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t c = problem_size(p, "c"), workspace;
    status s;

    struct structsa_fast *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct structsa_fast){0};
    plan->state = f;
    if ((s = structsa_sides_create(&f->sides, p)).code) return s;
    if ((s = side_create(&f->keys, &f->sides, &f->sides.keys, f->sides.hk, c)).code) return s;
    if ((s = side_create(&f->values, &f->sides, &f->sides.values, f->sides.hv, c)).code) return s;
    divide(f, plan);
    if (!attention_fast_workspace(&workspace, c, f->block)) return out_of_memory("a tile of attention");
    return heads_prepare(&f->heads, plan, workspace);
}

static status run(struct plan *plan, real *y, const real *x)
{
    struct structsa_fast *f = plan->state;
    heads_run(&f->heads, plan, y, x, block_head, f->blocks, f);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct structsa_fast *f = plan->state;
    if (!f) return;
    heads_release(&f->heads);
    depthwise_release(&f->keys);
    depthwise_release(&f->values);
    structsa_sides_release(&f->sides);
    memory_free(f);
}

/* The products with every virtual token, and its making once: where there are
 * several blocks it is made anew for each, which is not counted. */
static double multiply_adds(const struct problem *p)
{
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c"), D = (double)problem_size(p, "D");
    double M = (double)problem_size(p, "M"), Mv = problem_number(p, "equation") == 4 ? 1 : M;
    double J = (double)neighbours_centres(&p->grid, (size_t)problem_number(p, "stride"));
    double heads = (double)problem_size(p, "B") * (double)problem_size(p, "h");

    return heads_multiply_adds(p) + heads * (2 * N * J * D * c + J * D * (M + Mv) * c);
}

const struct form structsa_fast = {"fast", prepare, run, release, multiply_adds};
