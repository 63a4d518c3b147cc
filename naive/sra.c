/* sra.c -- spatial-reduction attention as Eq. 1-4 of PVT read; never optimised
 *
 * The convolution is a sum over all channels and tokens of a patch.  The weights of all queries and reduced keys of
 * one head are in memory.
 *
 *     m  patches     t  tokens of a patch, s^2 of them     o, e  channels out and in
 *
 * Contract: reference/sra.h. */

#include "sra.h"
#include "../reference/runtime/heads.h"
#include "../reference/runtime/steps.h"
#include "attention.h"
#include "forms.h"

void sra_naive_convolve(real *reduced, const real *x, const struct sra_problem *p)
{
    size_t C = p->C, T = p->s * p->s;

    for (size_t m = 0; m < p->M; m++)
        for (size_t o = 0; o < C; o++) {
            real sum = 0;
            for (size_t e = 0; e < C; e++) {
                const real *w_oe = p->sr_w + (o * C + e) * T;
                for (size_t t = 0; t < T; t++) sum += w_oe[t] * x[windows_token(&p->patches, m, t) * C + e];
            }
            reduced[m * C + o] = p->sr_b ? sum + p->sr_b[o] : sum;
        }
}

/* Tensors of all images. */
struct sra_naive {
    struct sra_maps maps;
    real *q;                    /* [B][N][C] */
    real *reduced;              /* [B][M][C], NULL if s = 1 */
    real *kv;                   /* [B][M][2C] */
    real *joined;               /* [B][N][C]: the heads side by side, NULL without w_o */
    struct attention_copies copies;
};

static void one_head(const struct head *head)
{
    const struct sra_problem *p = head->plan->params;
    const struct sra_naive *f = head->plan->state;
    attention_naive_head(head, &f->copies, NULL, p->scale, p->N, p->M, p->c);
}

static void run_chunk(const struct team *t)
{
    const struct sra_problem *p = t->plan->params;
    const struct sra_naive *f = t->plan->state;
    size_t N = p->N, M = p->M, C = p->C, reduced = f->reduced ? t->images : 0;
    real *joined = p->w_o ? f->joined : t->y;
    const struct branch heads = {
        .core = one_head, .heads = p->h, .parts = 1, .channels = p->c, .queries = N, .keys = M,
        .y = joined, .q = f->q, .k = f->kv, .v = f->kv + C, .y_stride = C, .q_stride = C, .kv_stride = 2 * C,
    };

    /* Step 1: the convolution turns each patch into one token; layer norm. */
    for (size_t b; team_next(t, reduced, &b);) {
        sra_naive_convolve(f->reduced + b * M * C, t->x + b * N * C, p);
        for (size_t m = 0; m < M; m++) layer_norm(f->reduced + (b * M + m) * C, p->norm_g, p->norm_b, C, SRA_EPSILON);
    }
    team_barrier(t);

    /* Step 2: queries of tokens, keys and values of patches. */
    team_linear(t, f->q, C, t->x, C, &f->maps.query, t->images * N);
    team_linear(t, f->kv, 2 * C, f->reduced ? f->reduced : t->x, C, &f->maps.key_value, t->images * M);
    team_barrier(t);

    /* Step 3: attention, head by head. */
    branch_attend(t, &heads);
    team_barrier(t);

    /* Step 4: the output projection mixes the heads. */
    if (p->w_o) team_linear(t, t->y, C, joined, C, &f->maps.output, t->images * N);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct sra_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->C, .chunk = p->B};
    return batch_run(plan, y, x, &batch, run_chunk);
}

static status prepare(struct plan *plan)
{
    const struct sra_problem *p = plan->params;
    struct sra_naive *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t B = p->B, N = p->N, M = p->M, C = p->C;

    sra_maps_prepare(&f->maps, arena, p);
    arena_reals(arena, PER_RUN, &f->q, "the query", B, N, C);
    arena_reals(arena, PER_RUN, &f->reduced, "the reduced plane", p->s > 1 ? B : 0, M, C);
    arena_reals(arena, PER_RUN, &f->kv, "key and value", B, M, C, 2);
    arena_reals(arena, PER_RUN, &f->joined, "the heads side by side", p->w_o ? B : 0, N, C);
    attention_copies_prepare(&f->copies, arena, N, M, p->c);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct sra_problem *p = plan->params;
    struct sra_naive *f = plan->state;

    sra_maps_load(&f->maps, p);
    return status_ok();
}

/* The scale is one multiplication more for each pair. */
static double multiply_adds(const void *params)
{
    const struct sra_problem *p = params;
    return sra_multiply_adds(params) + (double)p->B * (double)p->h * (double)p->N * (double)p->M;
}

const struct form sra_naive = {
    .name = "naive", .state = sizeof(struct sra_naive), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
