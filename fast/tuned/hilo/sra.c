/* sra.c -- spatial-reduction attention: one more linear map, and a tiled
 * attention over few keys
 *
 * A convolution whose stride is its width meets every token once.  So patches
 * are laid side by side as rows of s^2 C numbers, and the convolution is a
 * linear map of these.  They hold as many numbers as the tokens, and leave
 * their place to what the heads gather.
 *
 * Weights are repacked once (packed_linear.h).  49 patches of 3072 numbers and
 * 768 outputs then take 1.12 ms on one core of a Zen 5 with AVX-512, where
 * OpenBLAS, which repacks 9 MiB of weights for so few rows, takes 1.71; keys and
 * values 0.49 instead of 0.72.  A few images at a time go all the way from x to
 * y, shared by all threads (flight.h).
 *
 * Contract: reference/sra.h. */

#include "../../../reference/sra.h"
#include <string.h>
#include "../../forms.h"
#include "../packed_linear.h"
#include "../activations.h"
#include "../tiled_attention.h"

struct sra_fast {
    struct linear query, convolution, key_value, output;
    real *row;                  /* [s][s][C]: a row of the convolution, while loading */
    real *q;                    /* [in flight][N][C] */
    real *patches;              /* [in flight][M][s][s][C]; then, [in flight][N][C], the heads side by side */
    real *reduced;              /* [in flight][M][C], NULL where s = 1 */
    real *kv;                   /* [in flight][M][2C] */
    struct tiled tiled;
};

/* Row `row` of the plane, cut into the patches that it crosses. */
static void cut_row(real *patches, const real *x, const struct sra_problem *p, size_t row)
{
    size_t run = p->s * p->C, columns = p->patches.columns, Y = row / p->s, dy = row % p->s;
    for (size_t X = 0; X < columns; X++)
        memcpy(patches + ((Y * columns + X) * p->s + dy) * run, x + (row * columns + X) * run, run * sizeof *x);
}

/* One block of queries of one head against all its keys. */
static void one_head(const struct head *one)
{
    const struct sra_problem *p = one->plan->of;
    const struct sra_fast *f = one->plan->state;
    tiled_block(one, (struct attention){.queries = p->N, .keys = p->M, .channels = p->c, .scale = p->scale}, &f->tiled);
}

static void fly(const struct flight *t)
{
    const struct sra_problem *p = t->plan->of;
    const struct sra_fast *f = t->plan->state;
    size_t C = p->C, tokens = t->images * p->N, patches = t->images * p->M, reduced = f->reduced ? patches : 0;
    size_t rows = f->reduced ? t->images * p->patches.rows * p->s : 0;
    real *joined = p->w_o ? f->patches : t->y;
    const struct branch heads = {
        .heart = one_head, .heads = p->h, .parts = tiled_blocks(&f->tiled, p->N), .channels = p->c,
        .queries = p->N, .keys = p->M,
        .y = joined, .q = f->q, .k = f->kv, .v = f->kv + C, .y_stride = C, .q_stride = C, .kv_stride = 2 * C,
    };

    /* Step 1: queries of tokens; patches.  Images follow each other as rows do. */
    flight_linear(t, f->q, C, t->x, C, &f->query, tokens);
    for (size_t row; flight_next(t, rows, &row);) cut_row(f->patches, t->x, p, row);
    flight_meet(t);

    /* Step 2: every patch becomes one token, and is normalised. */
    flight_linear(t, f->reduced, C, f->patches, p->s * p->s * C, &f->convolution, reduced);
    flight_meet(t);
    for (size_t m; flight_next(t, reduced, &m);)
        norm_row(f->reduced + m * C, p->norm_g, p->norm_b, C, SRA_EPSILON);
    flight_meet(t);

    /* Step 3: keys and values of patches. */
    flight_linear(t, f->kv, 2 * C, f->reduced ? f->reduced : t->x, C, &f->key_value, patches);
    flight_meet(t);

    /* Step 4: attention, by heads and blocks of queries. */
    branch_attend(t, &heads);
    flight_meet(t);

    /* Step 5: the output projection mixes the heads. */
    if (p->w_o) flight_linear(t, t->y, C, joined, C, &f->output, tokens);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct sra_problem *p = plan->of;
    size_t image = p->N * p->C;
    const struct batch batch = {
        .images = p->B, .x_image = image, .y_image = image, .in_flight = images_in_flight(p->N, p->B),
    };
    return flights_run(plan, y, x, &batch, fly);
}

static status prepare(struct plan *plan)
{
    const struct sra_problem *p = plan->of;
    struct sra_fast *f = plan->state;
    struct room *room = &plan->room;
    size_t C = p->C, N = p->N, M = p->M, s = p->s, flying = images_in_flight(N, p->B);

    /* Step 1: the maps. */
    linear_prepare(&f->query, &linear_packed, room, C, C);
    linear_prepare(&f->convolution, &linear_packed, room, s * s * C, s > 1 ? C : 0);
    linear_prepare(&f->key_value, &linear_packed, room, C, 2 * C);
    linear_prepare(&f->output, &linear_packed, room, C, p->w_o ? C : 0);
    room_reals(room, WHILE_LOADING, &f->row, "a row of the convolution", s > 1 ? s : 0, s, C, 1);

    /* Step 2: the images in flight. */
    room_reals(room, OF_RUN, &f->q, "the query", flying, N, C, 1);
    room_reals(room, OF_RUN, &f->patches, "the patches", s > 1 || p->w_o ? flying : 0, N, C, 1);
    room_reals(room, OF_RUN, &f->reduced, "the reduced plane", s > 1 ? flying : 0, M, C, 1);
    room_reals(room, OF_RUN, &f->kv, "key and value", flying, M, C, 2);
    tiled_prepare(&f->tiled, plan, (struct attention){.queries = N, .keys = M, .channels = p->c}, flying * p->h, 0);
    return room_status(room);
}

/* sr_w [C][C][s][s] with channels innermost, as patches have them. */
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
    const struct sra_problem *p = plan->of;
    struct sra_fast *f = plan->state;

    linear_load(&f->query, 0, p->C, p->w_q, p->b_q);
    linear_load(&f->key_value, 0, 2 * p->C, p->w_kv, p->b_kv);
    if (p->s > 1) load_convolution(f, p);
    if (p->w_o) linear_load(&f->output, 0, p->C, p->w_o, p->b_o);
    return status_ok();
}

const struct form sra_fast = {"fast", sizeof(struct sra_fast), prepare, load, run, NULL, sra_multiply_adds};
