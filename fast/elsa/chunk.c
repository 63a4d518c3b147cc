/* chunk.c -- some tokens of a row, and which neighbours they have
 *
 * All tokens of a row have the same rows of neighbours on the grid.  Which
 * columns are, is left to masks and to the zeros of the planes. */

#include "elsa.h"

ptrdiff_t elsa_step(const struct elsa_problem *p, size_t at)
{
    return ((ptrdiff_t)at - (ptrdiff_t)(p->K / 2)) * (ptrdiff_t)p->dilation;
}

size_t elsa_widest(const struct elsa_problem *p)
{
    size_t widest = 0;
    for (size_t k = 1; k <= p->K / 2 && k * p->dilation < p->grid.size[1]; k++) widest = k * p->dilation;
    return widest;
}

size_t elsa_farthest(const struct elsa_problem *p)
{
    size_t farthest = 0;
    for (size_t k = 1; k <= p->K / 2 && k * p->dilation < p->grid.size[0]; k++) farthest = k * p->dilation;
    return farthest;
}

size_t elsa_chunks(const struct elsa_problem *p)
{
    return (p->grid.size[1] - 1) / (ELSA_CHUNK * LANES) + 1;
}

struct elsa_chunk elsa_chunk_at(const struct flight *t, size_t item)
{
    const struct elsa_problem *p = t->plan->of;
    const struct elsa_fast *f = t->plan->state;
    const struct room *room = &t->plan->room;
    struct elsa_reached *reached = room_own(room, f->reached, t->thread);
    struct elsa_chunk here = {
        .p = p, .f = f, .row = item / elsa_chunks(p), .x = item % elsa_chunks(p) * ELSA_CHUNK * LANES,
        .reached = reached, .w = room_own(room, f->w, t->thread),
    };
    real *out = room_own(room, f->out, t->thread);
    ptrdiff_t H = (ptrdiff_t)p->grid.size[0], W = (ptrdiff_t)p->grid.size[1];
    ptrdiff_t token = (ptrdiff_t)elsa_row_at(f, here.row, p->grid.size[1]);

    here.token = (size_t)token + here.x;
    here.out = out + (here.row % f->strip * p->grid.size[1] + here.x) * p->heads.C;

    here.tokens = p->grid.size[1] - here.x < ELSA_CHUNK * LANES ? p->grid.size[1] - here.x : ELSA_CHUNK * LANES;
    here.vectors = (here.tokens - 1) / LANES + 1;
    for (size_t n = 0; n < p->entries; n++) {
        ptrdiff_t dy = elsa_step(p, n / p->K), dx = elsa_step(p, n % p->K), y = (ptrdiff_t)here.row + dy;
        if (y < 0 || y >= H || dx <= -W || dx >= W) continue;
        ptrdiff_t there = (ptrdiff_t)elsa_row_at(f, (size_t)y, p->grid.size[1]);
        reached[here.count++] = (struct elsa_reached){n, dy, dx, there - token + dx};
    }
    return here;
}
