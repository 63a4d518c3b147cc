/* sra.c -- spatial-reduction attention: the convolution as a linear map, and a tiled attention over few keys
 *
 * A convolution whose stride is its width reads every token once.  So patches are copied to rows of s^2 C numbers, and
 * the convolution is a linear map of these rows, its weights repacked once (packed_linear.h).  The rows take as much
 * memory as the tokens; with w_o the heads' output overwrites them.  Threads share a few images at a time (batch.h).
 *
 * Contract: reference/sra.h. */

#include "../../../reference/sra.h"
#include <string.h>
#include "../forms.h"
#include "../packed_linear.h"
#include "../activations.h"
#include "../tiled_attention.h"

struct sra_fast {
    struct linear query, convolution, key_value, output;
    real *row;                  /* [s][s][C]: one row of the convolution, only during load */
    real *q;                    /* [chunk][N][C] */
    real *patches;              /* [chunk][M][s][s][C]; with w_o later [chunk][N][C], the joined heads */
    real *reduced;              /* [chunk][M][C], NULL if s = 1 */
    real *kv;                   /* [chunk][M][2C] */
    struct tiled tiled;
};

/* Copies row `row` of the plane into the patches that it crosses. */
static void cut_row(real *patches, const real *x, const struct sra_problem *p, size_t row)
{
    size_t run = p->s * p->C, columns = p->patches.columns, Y = row / p->s, dy = row % p->s;
    for (size_t X = 0; X < columns; X++)
        memcpy(patches + ((Y * columns + X) * p->s + dy) * run, x + (row * columns + X) * run, run * sizeof *x);
}

static void one_head(const struct head *head)
{
    const struct sra_problem *p = head->plan->params;
    const struct sra_fast *f = head->plan->state;
    tiled_block(head, (struct attention){.queries = p->N, .keys = p->M, .channels = p->c, .scale = p->scale},
                &f->tiled);
}

static void run_chunk(const struct team *t)
{
    const struct sra_problem *p = t->plan->params;
    const struct sra_fast *f = t->plan->state;
    size_t C = p->C, tokens = t->images * p->N, patches = t->images * p->M, reduced = f->reduced ? patches : 0;
    size_t rows = f->reduced ? t->images * p->patches.rows * p->s : 0;
    real *joined = p->w_o ? f->patches : t->y;
    const struct branch heads = {
        .core = one_head, .heads = p->h, .parts = tiled_blocks(&f->tiled, p->N), .channels = p->c,
        .queries = p->N, .keys = p->M,
        .y = joined, .q = f->q, .k = f->kv, .v = f->kv + C, .y_stride = C, .q_stride = C, .kv_stride = 2 * C,
    };

    /* Step 1: queries of tokens; patches.  The rows of all images are numbered consecutively. */
    team_linear(t, f->q, C, t->x, C, &f->query, tokens);
    for (size_t row; team_next(t, rows, &row);) cut_row(f->patches, t->x, p, row);
    team_barrier(t);

    /* Step 2: the convolution turns each patch into one token; layer norm. */
    team_linear(t, f->reduced, C, f->patches, p->s * p->s * C, &f->convolution, reduced);
    team_barrier(t);
    for (size_t m; team_next(t, reduced, &m);)
        norm_row(f->reduced + m * C, p->norm_g, p->norm_b, C, SRA_EPSILON);
    team_barrier(t);

    /* Step 3: keys and values of patches. */
    team_linear(t, f->kv, 2 * C, f->reduced ? f->reduced : t->x, C, &f->key_value, patches);
    team_barrier(t);

    /* Step 4: attention, by heads and blocks of queries. */
    branch_attend(t, &heads);
    team_barrier(t);

    /* Step 5: the output projection mixes the heads. */
    if (p->w_o) team_linear(t, t->y, C, joined, C, &f->output, tokens);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct sra_problem *p = plan->params;
    size_t image = p->N * p->C;
    const struct batch batch = {
        .images = p->B, .x_image = image, .y_image = image, .chunk = chunk_images(p->N, p->B),
    };
    return batch_run(plan, y, x, &batch, run_chunk);
}

static status prepare(struct plan *plan)
{
    const struct sra_problem *p = plan->params;
    struct sra_fast *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t C = p->C, N = p->N, M = p->M, s = p->s, chunk = chunk_images(N, p->B);

    /* Step 1: the maps. */
    linear_prepare(&f->query, &linear_packed, arena, C, C);
    linear_prepare(&f->convolution, &linear_packed, arena, s * s * C, s > 1 ? C : 0);
    linear_prepare(&f->key_value, &linear_packed, arena, C, 2 * C);
    linear_prepare(&f->output, &linear_packed, arena, C, p->w_o ? C : 0);
    arena_reals(arena, LOAD_SCRATCH, &f->row, "a row of the convolution", s > 1 ? s : 0, s, C);

    /* Step 2: the images of a chunk. */
    arena_reals(arena, PER_RUN, &f->q, "the query", chunk, N, C);
    arena_reals(arena, PER_RUN, &f->patches, "the patches", s > 1 || p->w_o ? chunk : 0, N, C);
    arena_reals(arena, PER_RUN, &f->reduced, "the reduced plane", s > 1 ? chunk : 0, M, C);
    arena_reals(arena, PER_RUN, &f->kv, "key and value", chunk, M, C, 2);
    tiled_prepare(&f->tiled, plan, (struct attention){.queries = N, .keys = M, .channels = p->c}, chunk * p->h, 0);
    return arena_status(arena);
}

/* Permutes sr_w [C][C][s][s] to the order of the patches: channels innermost. */
static void load_convolution(struct sra_fast *f, const struct sra_problem *p)
{
    size_t C = p->C, T = p->s * p->s;
    for (size_t o = 0; o < C; o++) {
        for (size_t t = 0; t < T; t++)
            for (size_t e = 0; e < C; e++) f->row[t * C + e] = p->sr_w[(o * C + e) * T + t];
        linear_load(&f->convolution, o, 1, f->row, p->sr_b ? p->sr_b + o : NULL);
    }
}

static status load(struct plan *plan)
{
    const struct sra_problem *p = plan->params;
    struct sra_fast *f = plan->state;

    linear_load(&f->query, 0, p->C, p->w_q, p->b_q);
    linear_load(&f->key_value, 0, 2 * p->C, p->w_kv, p->b_kv);
    if (p->s > 1) load_convolution(f, p);
    if (p->w_o) linear_load(&f->output, 0, p->C, p->w_o, p->b_o);
    return status_ok();
}

const struct form sra_fast = {
    .name = "fast", .state = sizeof(struct sra_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = sra_multiply_adds,
};
