/* msa.c -- self-attention by the tiled attention
 *
 * 1. Weights are repacked once (packed_linear.h).  A few images at a time go through all steps (batch.h).
 * 2. Without windows, queries are divided into blocks, and keys and values are read in place.  A window is copied first
 *    (tiled_attention.h).
 * 3. Shifted windows need no mask: each side of a seam is a smaller window.  A window of 7 x 7 tokens, shifted by 3,
 *    has sides of 4 x 4, 4 x 3, 3 x 4 and 3 x 3 tokens: 625 pairs instead of 2401.
 * 4. All windows share the table of relative positions.  If a window is at most one tile of keys, load writes R of
 *    each kind of side; larger windows read the table.
 * 5. With a ghost head the channels of a head have different weights: ghosted.h.
 *
 * Contract: reference/msa.h. */

#include "../../reference/msa.h"
#include "ghosted.h"
#include "packed_linear.h"
#include "tiled_attention.h"
#include "forms.h"

struct msa_fast {
    struct heads heads;
    struct attention_rpe rpe;
    struct tiled tiled;
    struct ghosted ghosted;
    real *written;              /* [tables][kinds of sides][entries][width]: R, or NULL (see 4.) */
};
HEADS_FIRST(struct msa_fast);

/* Kinds of sides: along each axis whole, before the seam, or after it. */
static size_t kinds(const struct msa_problem *p) { return p->windows.shift ? 9 : 1; }

static size_t kind_of(const struct msa_problem *p, const struct window_region *box)
{
    size_t s = p->windows.edge, row = box->rows == s ? 0 : box->top ? 2 : 1;
    return row * 3 + (box->columns == s ? 0 : box->left ? 2 : 1);
}

/* Where R of one table is written for the kind of side of `box`. */
static real *written_at(const struct msa_fast *f, const struct msa_problem *p, size_t table,
                        const struct window_region *box)
{
    size_t most = p->windows.entries;
    return f->written + (table * kinds(p) + kind_of(p, box)) * most * attention_written_width(most);
}

/* Restricts a table to the tokens of a box. */
static void restrict_to(struct attention_rpe_table *table, const struct window_region *box)
{
    table->tokens.size[0] = box->rows;
    table->tokens.size[1] = box->columns;
    table->tokens.tokens = box->rows * box->columns;
}

static void attend_window(const struct head *head, struct attention a, struct attention_rpe_table *table)
{
    const struct msa_problem *p = head->plan->params;
    const struct msa_fast *f = head->plan->state;

    for (size_t side = 0; side < windows_regions(&p->windows, head->part); side++) {
        const struct window_region box = windows_region(&p->windows, head->part, side);
        struct attention_written written;
        restrict_to(table, &box);
        if (f->written) {
            written.width = attention_written_width(box.rows * box.columns);
            written.r = written_at(f, p, f->rpe.tables > 1 ? head->number : 0, &box);
            a.bias = attention_written_bias;
            a.bias_context = &written;
        }
        tiled_window(head, a, &p->windows, side, NULL, &f->tiled);
    }
}

/* One block of queries with all keys, or one window. */
static void attend(const struct head *head)
{
    const struct msa_problem *p = head->plan->params;
    const struct msa_fast *f = head->plan->state;
    struct attention_rpe_table table = attention_rpe_table(&f->rpe, f->rpe.tables > 1 ? head->number : 0);
    const struct attention a = {
        .queries = p->windows.entries, .keys = p->windows.entries, .channels = p->heads.c, .scale = p->scale,
        .bias = p->rpe ? attention_rpe_bias : NULL, .bias_context = &table,
    };
    if (p->windows.edge) attend_window(head, a, &table);
    else tiled_block(head, a, &f->tiled);
}

static void run_ghosted(const struct team *t)
{
    const struct msa_problem *p = t->plan->params;
    const struct msa_fast *f = t->plan->state;
    size_t blocks = ghosted_blocks(p->heads.N);
    real *map = arena_thread(&t->plan->arena, f->ghosted.map, t->thread);

    /* Step 1: query, key and value; keys and values in the layout of the blocks. */
    heads_project(t);
    team_barrier(t);
    ghosted_gather(&f->ghosted, p, t, f->heads.qkv);
    team_barrier(t);

    /* Step 2: blocks of queries. */
    for (size_t block; team_next(t, blocks, &block);)
        ghosted_block(&f->ghosted, p, heads_joined(t), f->heads.qkv, block, map);
    team_barrier(t);

    /* Step 3: the output projection. */
    heads_join(t);
}

static status prepare(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct msa_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, s = p->windows.edge, together = p->ghost.add ? 1 : chunk_images(N, p->heads.B);
    const size_t sides[] = {s, s};
    grid meeting = p->windows.grid;       /* the grid of queries and keys */

    tiled_prepare(&f->tiled, plan,
                  (struct attention){.queries = p->windows.entries, .keys = p->windows.entries, .channels = p->heads.c},
                  together * p->heads.h, s ? p->windows.entries : 0);
    heads_prepare(plan, (struct core_options){
        .core = attend, .parts = s ? p->windows.count : tiled_blocks(&f->tiled, N),
        .maps = &linear_packed, .chunk = together,
    });
    if (s) arena_fail(arena, grid_create(&meeting, 2, sides));
    attention_rpe_prepare(&f->rpe, arena, &meeting, p->rpe && !p->ghost.add ? p->rpe_columns : 0);
    arena_reals(arena, PERSISTENT, &f->written, "the relative positions of windows",
               s && p->windows.entries <= ATTENTION_TILE ? f->rpe.tables : 0, kinds(p), p->windows.entries,
               attention_written_width(p->windows.entries));
    ghosted_prepare(&f->ghosted, arena, p);
    return arena_status(arena);
}

/* R of every kind of side; the four corner windows contain all kinds. */
static void write_sides(struct msa_fast *f, const struct msa_problem *p)
{
    const struct windows *w = &p->windows;
    const size_t corner[] = {0, w->columns - 1, w->count - w->columns, w->count - 1};

    for (size_t t = 0; t < f->rpe.tables; t++)
        for (size_t n = 0; n < sizeof corner / sizeof *corner; n++)
            for (size_t side = 0; side < windows_regions(w, corner[n]); side++) {
                const struct window_region box = windows_region(w, corner[n], side);
                struct attention_rpe_table table = attention_rpe_table(&f->rpe, t);
                restrict_to(&table, &box);
                attention_write(written_at(f, p, t, &box), &table);
            }
}

static status load(struct plan *plan)
{
    const struct msa_problem *p = plan->params;
    struct msa_fast *f = plan->state;
    if (f->rpe.tables) attention_rpe_load(&f->rpe, &p->table, p->rpe);
    if (f->written) write_sides(f, p);
    ghosted_load(&f->ghosted, p);
    return heads_load(plan);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct msa_problem *p = plan->params;
    const struct batch batch = heads_batch((const struct heads *)plan->state);
    return p->ghost.add ? batch_run(plan, y, x, &batch, run_ghosted) : heads_run(plan, y, x);
}

/* Pairs across a seam are not multiplied. */
static double multiply_adds(const void *params)
{
    const struct msa_problem *p = params;
    return msa_multiply_adds(p, windows_pairs(&p->windows));
}

const struct form msa_fast = {
    .name = "fast", .state = sizeof(struct msa_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
