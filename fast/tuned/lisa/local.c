/* local.c -- LiSA with local kernels: small matrices, a tile of tokens at a time
 *
 * This form uses no Fourier transforms.  With n = i - step(m), the token at entry m of the window around i,
 *
 *     a_id = sum_mc (q_ic k_nc) wa_mcd + sum_c q_ic ba_cd
 *
 * is a linear map of the products q_ic k_nc, the Hadamard correlation of Eq. 6 in a window.  The bias is one more
 * entry, whose key is 1 in every channel.  All channels share the kernels of the value, so these are mixed first:
 *
 *     mixed_im = sum_d a_id wb_md,    y_ik = sum_m mixed_im v_nk + sum_d a_id bb_kd,
 *
 * This takes M (D + c) multiply-adds per token instead of the M c D of Tab. 3c.  The second sum of y is c more outputs
 * of the mixing map.
 *
 * Both maps are packed (packed_linear.h); the products of a tile fit the second cache.  Products off the grid are zero;
 * values off the grid are skipped. */

#include "local.h"
#include <string.h>
#include "../../circulant.h"
#include "../packed_linear.h"
#include "../activations.h"

#define TILE ((size_t)48)

/* The products of a token's window as one row, followed by the query. */
static void correlate(real *row, const struct head *head, size_t i)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_local *f = head->plan->state;
    const int *token = f->around.token + i * p->M;
    const real *q_i = head->q + i * head->q_stride;
    size_t c = p->heads.c;

    for (size_t m = 0; m < p->M; m++, row += c) {
        const real *k_n = token[m] == OFF_GRID ? NULL : head->k + (size_t)token[m] * head->kv_stride;
        if (k_n) for (size_t ch = 0; ch < c; ch++) row[ch] = q_i[ch] * k_n[ch];
        else memset(row, 0, c * sizeof *row);
    }
    memcpy(row, q_i, c * sizeof *row);
}

/* y_i = the bias term plus the weighted values of the window. */
static void gather(const struct head *head, size_t i, const real *mixed)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_local *f = head->plan->state;
    const int *token = f->around.token + i * p->M;
    real *y_i = head->y + i * head->y_stride;

    for (size_t ch = 0; ch < p->heads.c; ch += LANES) {
        size_t left = p->heads.c - ch;
        vec sum = left < LANES ? vec_load_partial(mixed + p->M + ch, left) : vec_loadu(mixed + p->M + ch);
        for (size_t m = 0; m < p->M; m++) {
            if (token[m] == OFF_GRID) continue;
            const real *v_n = head->v + (size_t)token[m] * head->kv_stride + ch;
            sum += mixed[m] * (left < LANES ? vec_load_partial(v_n, left) : vec_loadu(v_n));
        }
        if (left < LANES) vec_store_partial(y_i + ch, sum, left);
        else vec_storeu(y_i + ch, sum);
    }
}

static void tile(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_local *f = head->plan->state;
    size_t first = head->part * TILE, left = p->heads.N - first, count = left < TILE ? left : TILE;
    real *products = head_thread(head, f->products), *a = head_thread(head, f->a), *mixed = head_thread(head, f->mixed);

    /* Step 1: the structure vectors. */
    for (size_t i = 0; i < count; i++) correlate(products + i * f->read.in, head, first + i);
    linear_apply(a, p->D, products, f->read.in, &f->read, count, 0, 1);

    /* Step 2: the mixed kernels, and the values. */
    linear_apply(mixed, f->mix.out, a, p->D, &f->mix, count, 0, 1);
    for (size_t i = 0; i < count; i++) gather(head, first + i, mixed + i * f->mix.out);
}

static void run_chunk(const struct team *t)
{
    const struct heads *heads = t->plan->state;
    const struct heads_problem *params = &heads->params;
    size_t tokens = t->images * params->N, row = 3 * params->C;
    const struct branch all = {
        .core = tile, .heads = params->h, .parts = heads->core.parts, .channels = params->c,
        .queries = params->N, .keys = params->N,
        .y = heads_joined(t), .q = heads->qkv, .k = heads->qkv + params->C, .v = heads->qkv + 2 * params->C,
        .y_stride = params->C, .q_stride = row, .kv_stride = row,
    };

    /* Step 1: query, key and value; normalise query and key. */
    heads_project(t);
    team_barrier(t);
    for (size_t n, end; team_next_range(t, tokens, TILE, &n, &end);)
        for (; n < end; n++)
            for (size_t head = 0; head < 2 * params->h; head++)
                normalise_row(heads->qkv + n * row + head * params->c, params->c);
    team_barrier(t);

    /* Step 2: the tiles of all heads. */
    branch_attend(t, &all);
    team_barrier(t);

    /* Step 3: the output projection. */
    heads_join(t);
}

status lisa_local_run(struct plan *plan, real *y, const real *x)
{
    const struct batch batch = heads_batch((const struct heads *)plan->state);
    return batch_run(plan, y, x, &batch, run_chunk);
}

status lisa_local_prepare(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_local *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, c = p->heads.c, M = p->M, D = p->D;

    heads_prepare(plan, (struct core_options){
        .core = tile, .parts = (N - 1) / TILE + 1, .maps = &linear_packed,
        .chunk = chunk_images(N, p->heads.B),
    });
    neighbours_prepare(&f->around, arena, &p->grid, &p->window, NULL, 1);
    linear_prepare(&f->read, &linear_packed, arena, (M + 1) * c, D);
    linear_prepare(&f->mix, &linear_packed, arena, D, M + c);
    arena_reals(arena, LOAD_SCRATCH, &f->wa, "the key's kernels as rows", D, M + 1, c);
    arena_reals(arena, LOAD_SCRATCH, &f->wb, "the value's kernels as rows", M + c, D);
    arena_reals(arena, PER_THREAD, &f->products, "the products of a tile", TILE, M + 1, c);
    arena_reals(arena, PER_THREAD, &f->a, "the structure vectors of a tile", TILE, D);
    arena_reals(arena, PER_THREAD, &f->mixed, "the kernels of a tile", TILE, M + c);
    return arena_status(arena);
}

/* neighbours.h orders entries by n - i, the kernels by i - n, so the kernels are read in reverse. */
status lisa_local_load(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_local *f = plan->state;
    size_t c = p->heads.c, M = p->M, D = p->D;

    /* Step 1: the rows of the first map, one for each latent. */
    for (size_t d = 0; d < D; d++) {
        real *row = f->wa + d * (M + 1) * c;
        for (size_t m = 0; m < M; m++)
            for (size_t ch = 0; ch < c; ch++) row[m * c + ch] = p->wa[((M - 1 - m) * c + ch) * D + d];
        for (size_t ch = 0; ch < c; ch++) row[M * c + ch] = p->ba[ch * D + d];
    }

    /* Step 2: the rows of the second map, one for each entry and each channel. */
    for (size_t m = 0; m < M; m++) memcpy(f->wb + m * D, p->wb + (M - 1 - m) * D, D * sizeof *f->wb);
    memcpy(f->wb + M * D, p->bb, c * D * sizeof *f->wb);

    linear_load(&f->read, 0, D, f->wa, NULL);
    linear_load(&f->mix, 0, M + c, f->wb, NULL);
    neighbours_load(&f->around);
    return heads_load(plan);
}

double lisa_local_multiply_adds(const void *params)
{
    const struct lisa_problem *p = params;
    double N = (double)p->heads.N, c = (double)p->heads.c, M = (double)p->M, D = (double)p->D;
    double each = N * (M + 1) * c * D + N * D * (M + c) + 2 * lisa_pairs(p) * c;
    return heads_multiply_adds(&p->heads) + (double)p->heads.B * (double)p->heads.h * each;
}

/* Estimate: a multiply-add of these matrices takes two thirds of the time of one in a transform. */
bool lisa_local_is_cheaper(const struct lisa_problem *p)
{
    return p->window.axes && 2 * lisa_local_multiply_adds(p) <= 3 * circulant_multiply_adds(p, true);
}
