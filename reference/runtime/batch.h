/* batch.h -- a batch of images, computed in chunks by a team of threads
 *
 * The threads of a plan are one team.  A chunk of images goes through all steps of a form before the next chunk begins.
 * So intermediate results stay in the cache, and a weight in the cache serves many rows.  In each step a thread works
 * through its own share of the items, then steals from the others.  A barrier separates the steps:
 *
 *     static void run_chunk(const struct team *t)
 *     {
 *         team_linear(t, f->q, C, t->x, C, &f->query, t->images * N);
 *         team_barrier(t);
 *         for (size_t i; team_next(t, items, &i);) core(i);
 *     }
 *
 * So all threads reach the barrier at almost the same time, also if one processor is slower or busy.  The result does
 * not depend on which thread computes an item.
 *
 * Alternatively (per_thread) each thread computes whole images, without barriers.  All threads share the images that
 * are left over. */

#pragma once
#include "linear.h"
#include "plan.h"
#include "share.h"

BEGIN_C_DECLS

/* State of the calling thread for the current chunk of images. */
struct team {
    const struct plan *plan;
    const real *x;              /* of the chunk's first image */
    real *y;
    size_t first, images;       /* index of that image in the batch; images in the chunk */
    size_t slot;                /* index of that image in arrays that have one entry for each image of a chunk */
    size_t part, parts;         /* index of this thread among the `parts` threads of the chunk */
    size_t thread;              /* index of this thread's PER_THREAD arrays */
    struct team_count *count;   /* this thread's position in the current loop */
};

struct batch {
    size_t images;              /* B */
    size_t x_image, y_image;    /* reals of an image in x, and in y */
    size_t chunk;               /* images in a chunk, at least 1; not used if per_thread */
    bool per_thread;            /* one image per thread; then there is one slot for each thread */
};

/* Runs all chunks of the batch.  Fails if team_begins (bytes.h) does. */
status batch_run(const struct plan *plan, real *y, const real *x, const struct batch *batch,
                 void (*run_chunk)(const struct team *));

/* Waits until all threads of the chunk are here. */
void team_barrier(const struct team *t);

/* Position of a thread: its current loop, and how many shares it has found empty.  With one thread, `seen` counts
 * items. */
struct team_count {
    size_t loop, seen;
    bool open;                  /* the thread is within a loop */
    size_t *taken;              /* the team's counters: items taken from each share (batch.c) */
};

/* team_next for several threads. */
bool team_next_shared(const struct team *t, size_t items, size_t *item);

/* The next of `items` items that no thread has taken; false if none is left.  Each loop must run until false.  At most
 * TEAM_LOOPS loops may run between two barriers. */
#define TEAM_LOOPS 4

static inline bool team_next(const struct team *t, size_t items, size_t *item)
{
    if (t->parts > 1) return team_next_shared(t, items, item);
    *item = t->count->seen++;
    if (*item < items) return true;
    t->count->seen = 0;
    return false;
}

/* The same for ranges of consecutive items, of almost equal size, at most `most` items each:
 *     for (size_t n, end; team_next_range(t, tokens, TEAM_TOKENS, &n, &end);)
 *         for (; n < end; n++) core(n);
 * TEAM_TOKENS tokens are enough for an efficient product and fit the cache. */
#define TEAM_TOKENS ((size_t)512)

static inline bool team_next_range(const struct team *t, size_t items, size_t most, size_t *from, size_t *end)
{
    size_t ranges = (items + most * t->parts - 1) / (most * t->parts) * t->parts, range;
    if (ranges > items) ranges = items;
    if (!team_next(t, ranges, &range)) return false;
    *from = share(items, range, ranges);
    *end = share(items, range + 1, ranges);
    return true;
}

/* y = x W^T + b for all tokens: one loop. */
void team_linear(const struct team *t, real *y, size_t y_stride, const real *x, size_t x_stride,
                 const struct linear *map, size_t tokens);

/* Images of a chunk with at most 1024 tokens; at least one image, at most B. */
static inline size_t chunk_images(size_t N, size_t B)
{
    size_t images = N < 1024 ? 1024 / N : 1;
    return images < B ? images : B;
}

END_C_DECLS
