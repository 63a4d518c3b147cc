/* sra.c -- spatial-reduction attention in plain C: the convolution as a linear map, attention without N x M weights
 *
 * A convolution whose stride is its width reads every token once.  If the tokens of a patch are copied to one row of
 * C s^2 numbers, in the order of the weights, it is a linear map of rows (Eq. 3 of PVT):
 *
 *     r_mo = sum_et sr_w[o,e,t] x[token t of patch m, e] = (row m of the patches) . (row o of sr_w)
 *
 * The multiplications are the same, but a library computes them as one product.  The rows take as much memory as the
 * tokens.  Then every query reads the M reduced keys once (fast/attention.c).
 *
 *     m  patches, M of them     t  tokens of a patch, s^2 of them     o, e  channels out and in
 *
 * Contract: reference/sra.h. */

#include "../reference/sra.h"
#include "../reference/runtime/heads.h"
#include "../reference/runtime/steps.h"
#include "attention.h"
#include "forms.h"

/* Tensors of all images. */
struct sra_plain {
    struct sra_maps maps;
    struct linear convolution;
    real *q;                    /* [B][N][C] */
    real *patches;              /* [B][M][C][s^2], NULL if s = 1 */
    real *reduced;              /* [B][M][C], NULL if s = 1 */
    real *kv;                   /* [B][M][2C] */
    real *joined;               /* [B][N][C]: the heads side by side, NULL without w_o */
};

/* ---- the core ---------------------------------------------------------------- */

/* Patch m of an image as a row. */
static void patch_row(real *row, const real *x, const struct sra_problem *p, size_t m)
{
    size_t T = p->s * p->s;

    for (size_t t = 0; t < T; t++) {
        const real *x_t = x + windows_token(&p->patches, m, t) * p->C;
        for (size_t e = 0; e < p->C; e++) row[e * T + t] = x_t[e];
    }
}

/* One head: y_i = sum_m softmax_m(scale q_i . k_m) v_m. */
static void one_head(const struct head *head)
{
    const struct sra_problem *p = head->plan->params;
    for (size_t i = 0; i < p->N; i++)
        attention_query(head->y + i * head->y_stride, head->q + i * head->q_stride, head->k, head->v, head->kv_stride,
                        NULL, p->scale, p->M, p->c);
}

static void run_chunk(const struct team *t)
{
    const struct sra_problem *p = t->plan->params;
    const struct sra_plain *f = t->plan->state;
    size_t N = p->N, M = p->M, C = p->C, T = p->s * p->s, rows = f->reduced ? t->images * M : 0;
    real *joined = p->w_o ? f->joined : t->y;
    const struct branch heads = {
        .core = one_head, .heads = p->h, .parts = 1, .channels = p->c, .queries = N, .keys = M,
        .y = joined, .q = f->q, .k = f->kv, .v = f->kv + C, .y_stride = C, .q_stride = C, .kv_stride = 2 * C,
    };

    /* Step 1: the convolution turns each patch into one token; layer norm. */
    for (size_t m; team_next(t, rows, &m);) patch_row(f->patches + m * C * T, t->x + m / M * N * C, p, m % M);
    team_barrier(t);
    team_linear(t, f->reduced, C, f->patches, C * T, &f->convolution, rows);
    team_barrier(t);
    for (size_t m; team_next(t, rows, &m);) layer_norm(f->reduced + m * C, p->norm_g, p->norm_b, C, SRA_EPSILON);
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

/* ---- the form around it -------------------------------------------------------- */

static status run(struct plan *plan, real *y, const real *x)
{
    const struct sra_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->N * p->C, .y_image = p->N * p->C, .chunk = p->B};
    return batch_run(plan, y, x, &batch, run_chunk);
}

static status prepare(struct plan *plan)
{
    const struct sra_problem *p = plan->params;
    struct sra_plain *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t B = p->B, N = p->N, M = p->M, C = p->C, T = p->s * p->s, reduced = p->s > 1 ? B : 0;

    sra_maps_prepare(&f->maps, arena, p);
    linear_prepare(&f->convolution, &linear_as_it_lies, arena, C * T, reduced ? C : 0);
    arena_reals(arena, PER_RUN, &f->q, "the query", B, N, C);
    arena_reals(arena, PER_RUN, &f->patches, "the patches", reduced, M, C, T);
    arena_reals(arena, PER_RUN, &f->reduced, "the reduced plane", reduced, M, C);
    arena_reals(arena, PER_RUN, &f->kv, "key and value", B, M, C, 2);
    arena_reals(arena, PER_RUN, &f->joined, "the heads side by side", p->w_o ? B : 0, N, C);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct sra_problem *p = plan->params;
    struct sra_plain *f = plan->state;

    sra_maps_load(&f->maps, p);
    if (p->s > 1) linear_load(&f->convolution, 0, p->C, p->sr_w, p->sr_b);
    return status_ok();
}

/* attention_query takes the place of 2 c multiplications for each pair. */
static double multiply_adds(const void *params)
{
    const struct sra_problem *p = params;
    double queries = (double)p->B * (double)p->h * (double)p->N, pairs = 2 * (double)p->M * (double)p->c;
    return sra_multiply_adds(params) + queries * (attention_query_multiply_adds(p->M, p->c) - pairs);
}

const struct form sra_plain = {
    .name = "plain", .state = sizeof(struct sra_plain), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};
