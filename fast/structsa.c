/* structsa.c -- StructSA as ordinary attention over virtual tokens, in tiles
 *
 * The query does not depend on m, so it waits (Eq. 15):
 *
 *     score_ijd = q_i . key_jd,       key_jdc   = sum_m hk_dmc k_{j+m,c}
 *     y_i       = sum_jd a_ijd value_jd,  value_jdc = sum_m hv_dmc v_{j+m,c}
 *
 * D depth-wise convolutions make D virtual keys and values of every token, and
 * what is left is the attention of N queries over J D of them, with the tiled
 * kernel of fast/attention.c.  That kernel asks for one tile of 64 keys at a
 * time, and the convolutions make it there and then: neither the virtual
 * tokens nor the map of N x J D exist.
 *
 * Contract: reference/structsa.h. */

#include "../reference/structsa.h"
#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/memory.h"

/* Each block of queries has every tile made anew, so blocks are large. */
#define BLOCK (4 * ATTENTION_BLOCK)

struct structsa_fast {
    struct heads heads;
    struct structsa_sides sides;
};

/* One head, as the making of tiles sees it. */
struct source {
    const struct structsa_sides *sides;
    const real *k, *v, *hk, *hv;
    size_t stride, channels;
};

/* A virtual token: the window of one centre under one filter. */
static void convolve(real *virtual_token, const struct structsa_sides *s, const struct neighbours *n, size_t centre,
                     const real *filter, const real *rows, size_t stride, size_t channels)
{
    for (size_t c = 0; c < channels; c++) virtual_token[c] = 0;
    for (size_t m = 0; m < n->entries; m++, filter += s->columns) {
        int token = n->token[centre * n->entries + m];
        if (token == OFF_GRID) continue;
        const real *row = rows + (size_t)token * stride;
        if (s->columns == 1)
            for (size_t c = 0; c < channels; c++) virtual_token[c] += filter[0] * row[c];
        else
            for (size_t c = 0; c < channels; c++) virtual_token[c] += filter[c] * row[c];
    }
}

static void make_tile(real *k, real *v, size_t first, size_t count, void *context)
{
    const struct source *from = context;
    const struct structsa_sides *s = from->sides;

    for (size_t t = 0; t < count; t++) {
        size_t j = (first + t) / s->D, d = (first + t) % s->D;
        convolve(k + t * from->channels, s, &s->keys, j, from->hk + d * s->keys.entries * s->columns,
                 from->k, from->stride, from->channels);
        convolve(v + t * from->channels, s, &s->values, j, from->hv + d * s->values.entries * s->columns,
                 from->v, from->stride, from->channels);
    }
}

static void block_head(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct structsa_fast *f = one->prepared;
    size_t N = problem_size(p, "N"), c = problem_size(p, "c");
    size_t first = one->part * BLOCK, left = N - first;
    struct source from = {
        .sides = &f->sides, .k = one->k, .v = one->v, .stride = one->stride, .channels = c,
        .hk = structsa_hk(&f->sides, one->head), .hv = structsa_hv(&f->sides, one->head),
    };
    struct attention a = {
        .queries = N, .keys = f->sides.keys.centres * f->sides.D, .channels = c,
        .scale = (real)problem_number(p, "scale"),
        .q = one->q, .q_stride = one->stride,
        .fill = make_tile, .fill_context = &from,
    };
    attention_fast(one->y + first * one->y_stride, one->y_stride, &a, first, left < BLOCK ? left : BLOCK, one->workspace);
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t workspace;
    status s;

    struct structsa_fast *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct structsa_fast){0};
    plan->state = f;
    if ((s = structsa_sides_create(&f->sides, p)).code) return s;
    if (!attention_fast_workspace(&workspace, problem_size(p, "c"), BLOCK)) return out_of_memory("a tile of attention");
    return heads_prepare(&f->heads, plan, workspace);
}

static status run(struct plan *plan, real *y, const real *x)
{
    struct structsa_fast *f = plan->state;
    heads_run(&f->heads, plan, y, x, block_head, (problem_size(plan->problem, "N") + BLOCK - 1) / BLOCK, f);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct structsa_fast *f = plan->state;
    if (!f) return;
    heads_release(&f->heads);
    structsa_sides_release(&f->sides);
    memory_free(f);
}

/* The products with every virtual token, and its making once for every block. */
static double multiply_adds(const struct problem *p)
{
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c"), D = (double)problem_size(p, "D");
    double M = (double)problem_size(p, "M"), Mv = problem_number(p, "equation") == 4 ? 1 : M;
    double J = (double)neighbours_centres(&p->grid, (size_t)problem_number(p, "stride"));
    double blocks = (double)((problem_size(p, "N") + BLOCK - 1) / BLOCK);
    double heads = (double)problem_size(p, "B") * (double)problem_size(p, "h");

    return heads_multiply_adds(p) + heads * (2 * N * J * D * c + blocks * J * D * (M + Mv) * c);
}

const struct form structsa_fast = {"fast", prepare, run, release, multiply_adds};
