/* batch.c -- a batch carried from x to y, some images at a time; see flight.h
 *
 * What it buys that threads go on with what others have left: on two cores of a Zen 3, one of them shared with a process
 * that does nothing else but run, layers with two threads took, in two trials of 8 and of 5 rounds by turns with
 * shares that are fixed, 0.97 and 0.69 of the time (LiSA), 0.77 and 0.90 (StructSA), 0.31 and 0.83 (ChoP'D), 0.93 and
 * 0.87 (HiLo), 0.81 and 1.13 (self-attention, whose blocks are few): much is chance there.  With both cores to themselves
 * it makes hardly a difference.  To see it, let the loop over shares end after the first.  ELSA's strips
 * (fast/tuned/elsa/elsa.c) stay where they are. */

#include "batch.h"
#include <omp.h>
#include <string.h>
#include "bytes.h"

void team_barrier(const struct team *t)
{
    if (t->parts > 1) {
        #pragma omp barrier
    }
}

/* ---- items ------------------------------------------------------------------ */

/* A thread has a share of its own, or, where they are very many, together with some others.  Every share of every
 * loop has a count of what is taken of it, in a cache line of its own.  There are counts for SLOTS loops, and then
 * they are used again: who comes to a loop clears its share's for the one half a round later.  No thread is
 * there yet, nor still in the one that had it before, since there was a meeting in between. */
#define SHARES ((size_t)32)
#define SLOTS ((size_t)2 * TEAM_LOOPS)
#define LINE (64 / sizeof(size_t))

static size_t *taken(const struct team *t, size_t loop, size_t part)
{
    return t->count->taken + (loop % SLOTS * SHARES + part) * LINE;
}

bool team_next_shared(const struct team *t, size_t items, size_t *item)
{
    struct team_count *c = t->count;
    size_t shares = t->parts < SHARES ? t->parts : SHARES, own = t->part % shares;

    if (!c->open) {
        size_t *later = taken(t, ++c->loop + TEAM_LOOPS, own);
        #pragma omp atomic write
        *later = 0;
        c->open = true;
        c->seen = 0;
    }
    for (; c->seen < shares; c->seen++) {
        size_t part = (own + c->seen) % shares, before, *of_share = taken(t, c->loop, part);
        #pragma omp atomic capture
        before = (*of_share)++;
        *item = share(items, part, shares) + before;
        if (*item < share(items, part + 1, shares)) return true;
    }
    c->open = false;
    return false;
}

void team_linear(const struct team *t, real *y, size_t y_stride, const real *x, size_t x_stride,
                   const struct linear *map, size_t tokens)
{
    size_t pieces = t->parts > 1 ? t->parts * map->kind->pieces : 1;
    for (size_t piece; team_next(t, pieces, &piece);)
        linear_apply(y, y_stride, x, x_stride, map, tokens, piece, pieces);
}

/* ---- images ----------------------------------------------------------------- */

/* The same images, so many from `first` on. */
static struct team take(struct team t, const struct batch *batch, real *y, const real *x,
                          size_t first, size_t images)
{
    t.first = first;
    t.images = images;
    t.x = x + first * batch->x_image;
    t.y = y + first * batch->y_image;
    return t;
}

status batch_run(const struct plan *plan, real *y, const real *x, const struct batch *batch,
                   void (*run_chunk)(const struct team *))
{
    size_t B = batch->images, at_once = batch->per_thread ? 1 : batch->chunk;

    size_t counts[SLOTS * SHARES * LINE];
    status s = team_begins(plan->threads);
    if (s.code) return s;

    memset(counts, 0, sizeof counts);
    #pragma omp parallel num_threads(plan->threads)
    {
        size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
        size_t alone = batch->per_thread ? B / team * team : 0;
        struct team_count of_own = {0}, of_common = {.taken = counts};
        struct team own = {.plan = plan, .slot = thread, .parts = 1, .thread = thread, .count = &of_own};
        struct team common = {.plan = plan, .part = thread, .parts = team, .thread = thread, .count = &of_common};

        /* Step 1: images that a thread takes alone. */
        for (size_t b; alone && team_next(&common, alone, &b);) {
            struct team t = take(own, batch, y, x, b, 1);
            run_chunk(&t);
        }
        if (alone) team_barrier(&common);

        /* Step 2: images of all threads together. */
        for (size_t b = alone; b < B; b += at_once) {
            struct team t = take(common, batch, y, x, b, B - b < at_once ? B - b : at_once);
            run_chunk(&t);
            team_barrier(&t);
        }
    }
    return status_ok();
}
