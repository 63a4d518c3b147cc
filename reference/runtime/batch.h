/* batch.h -- a batch carried from x to y, some images at a time
 *
 * The threads of a plan work as one team.  Some images fly together, from the
 * first step to the last, so that what lies between stays in the cache and
 * weights, once loaded, meet many rows; then come the next.  In every step
 * the threads take one item after the other, and all meet before the next step:
 *
 *     static void fly(const struct flight *t)
 *     {
 *         team_linear(t, f->q, C, t->x, C, &f->query, t->images * N);
 *         team_barrier(t);
 *         for (size_t i; team_next(t, items, &i);) heart(i);
 *     }
 *
 * Each thread begins with a share of its own, whose rows it may have near, and
 * goes on with what others have left of theirs.  So all come to the meeting at
 * almost the same time, also where one processor is slower than another or has
 * something else to do (flight.c has figures).  Who does an item changes nothing
 * in what comes out.
 *
 * Or images fly apart: each thread takes images of its own through all steps,
 * and nobody waits; those left over at the end are shared by all, one by one. */

#ifndef TWICETOLD_BATCH_H
#define TWICETOLD_BATCH_H

#include "linear.h"
#include "plan.h"
#include "share.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the calling thread has to do with the images in flight. */
struct team {
    const struct plan *plan;
    const real *x;              /* of the first of them */
    real *y;
    size_t first, images;       /* which image of the batch that is, and how many fly */
    size_t slot;                /* where it is in arrays that have room for all in flight */
    size_t part, parts;         /* each step is cut into so many shares, of which this one is its own */
    size_t thread;              /* whose arrays of PER_THREAD are its own */
    struct team_count *count; /* the calling thread's, of what it has taken */
};

struct batch {
    size_t images;              /* B */
    size_t x_image, y_image;    /* reals of an image in x, and in y */
    size_t chunk;           /* room for so many images at once, at least 1 */
    bool apart;                 /* each thread its own; then there are as many slots as threads */
};

/* Flies the batch; returns OK, so that a form may end with it. */
status batch_run(const struct plan *plan, real *y, const real *x, const struct batch *batch,
                   void (*run_chunk)(const struct team *));

/* All threads that share these images have come so far. */
void team_barrier(const struct team *t);

/* ---- items ---------------------------------------------------------------- */

/* Where a thread is: in which loop, and how many shares it has seen to their end.  A loop of one thread alone
 * counts its items there. */
struct team_count {
    size_t loop, seen;
    bool open;
    size_t *taken;              /* how many items of every share, the team's (flight.c) */
};

/* team_next where there are several threads. */
bool team_next_shared(const struct team *t, size_t items, size_t *item);

/* The next of so many items that nobody has taken, or false where none is left.  A loop goes on until then,
 * and there are at most TEAM_LOOPS of them between two meetings. */
#define TEAM_LOOPS 4

static inline bool team_next(const struct team *t, size_t items, size_t *item)
{
    if (t->parts > 1) return team_next_shared(t, items, item);
    *item = t->count->seen++;
    if (*item < items) return true;
    t->count->seen = 0;
    return false;
}

/* The same in runs of items that follow each other, from one to `most` of them and all almost equally many:
 *     for (size_t n, end; team_next_range(t, tokens, TEAM_TOKENS, &n, &end);)
 *         for (; n < end; n++) heart(n);
 * So many tokens are enough for a product, and stay near. */
#define TEAM_TOKENS ((size_t)512)

static inline bool team_next_range(const struct team *t, size_t items, size_t most, size_t *from, size_t *end)
{
    size_t runs = (items + most * t->parts - 1) / (most * t->parts) * t->parts, run;
    if (runs > items) runs = items;
    if (!team_next(t, runs, &run)) return false;
    *from = share(items, run, runs);
    *end = share(items, run + 1, runs);
    return true;
}

/* y = x W^T + b of all tokens. */
void team_linear(const struct team *t, real *y, size_t y_stride, const real *x, size_t x_stride,
                   const struct linear *map, size_t tokens);

/* Images of N tokens that fly together well: as many as make 1024 tokens, at
 * least one, at most all B. */
static inline size_t chunk_images(size_t N, size_t B)
{
    size_t images = N < 1024 ? 1024 / N : 1;
    return images < B ? images : B;
}

#ifdef __cplusplus
}
#endif

#endif
