/* chunk.c -- a chunk: a few vectors of tokens of one row, and their neighbours
 *
 * All tokens of a row have the same rows of neighbours on the grid.  Columns off the grid are masked, or read zeros. */

#include "elsa.h"

ptrdiff_t elsa_step(const struct elsa_problem *p, size_t at)
{
    return ((ptrdiff_t)at - (ptrdiff_t)(p->K / 2)) * (ptrdiff_t)p->dilation;
}

/* The largest step that stays within an axis of `tokens` tokens. */
static size_t largest_step(const struct elsa_problem *p, size_t tokens)
{
    size_t most = (tokens - 1) / p->dilation;
    return (most < p->K / 2 ? most : p->K / 2) * p->dilation;
}

size_t elsa_widest(const struct elsa_problem *p) { return largest_step(p, p->grid.size[1]); }
size_t elsa_farthest(const struct elsa_problem *p) { return largest_step(p, p->grid.size[0]); }

size_t elsa_chunks(const struct elsa_problem *p)
{
    return (p->grid.size[1] - 1) / (ELSA_CHUNK * LANES) + 1;
}

size_t elsa_strip_at(const struct team *t, size_t strip)
{
    const struct elsa_fast *f = t->plan->state;
    const size_t *slot = arena_thread(&t->plan->arena, f->slot, t->thread);
    return slot[strip] * f->apart * f->plane;
}

/* The index of a token in plane 0 of its strip. */
static size_t token_at(const struct team *t, size_t row, size_t x)
{
    const struct elsa_problem *p = t->plan->params;
    const struct elsa_fast *f = t->plan->state;
    return elsa_strip_at(t, row / f->strip) + row % f->strip * p->grid.size[1] + x;
}

/* Extends the range to k. */
static void reach(struct elsa_reach *r, size_t k)
{
    if (r->first > k) r->first = k;
    r->end = k + 1;
}

struct elsa_chunk elsa_chunk_at(const struct team *t, size_t item)
{
    const struct elsa_problem *p = t->plan->params;
    const struct elsa_fast *f = t->plan->state;
    const struct arena *arena = &t->plan->arena;
    ptrdiff_t *neighbour = arena_thread(arena, f->neighbour, t->thread);
    struct elsa_chunk here = {
        .p = p, .f = f, .row = item / elsa_chunks(p), .x = item % elsa_chunks(p) * ELSA_CHUNK * LANES,
        .down = {p->K, 0}, .across = {p->K, 0}, .neighbour = neighbour, .w = arena_thread(arena, f->w, t->thread),
    };
    real *out = arena_thread(arena, f->out, t->thread);
    ptrdiff_t H = (ptrdiff_t)p->grid.size[0], W = (ptrdiff_t)p->grid.size[1];

    here.token = token_at(t, here.row, here.x);
    here.out = out + (here.row % f->strip * p->grid.size[1] + here.x) * p->heads.C;
    here.tokens = p->grid.size[1] - here.x < ELSA_CHUNK * LANES ? p->grid.size[1] - here.x : ELSA_CHUNK * LANES;
    here.vectors = (here.tokens - 1) / LANES + 1;
    for (size_t k = 0; k < p->K; k++) {
        ptrdiff_t step = elsa_step(p, k), y = (ptrdiff_t)here.row + step;
        if (step > -W && step < W) reach(&here.across, k);
        if (y < 0 || y >= H) continue;
        reach(&here.down, k);
        neighbour[k] = (ptrdiff_t)token_at(t, (size_t)y, here.x);
    }
    return here;
}
