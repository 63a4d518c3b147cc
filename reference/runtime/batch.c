/* batch.c -- a batch of images, computed in chunks by a team of threads; see batch.h */

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

/* Each thread has its own share of the items; with more than SHARES threads, some share one.  Each share of a loop has
 * a counter of the items taken, in its own cache line.  There are counters for SLOTS loops; loop n + SLOTS uses those
 * of loop n again.  On entering loop n, a thread clears its share's counter for loop n + TEAM_LOOPS, which was last
 * used by loop n - TEAM_LOOPS.  No thread is in either loop: at most TEAM_LOOPS loops run between two barriers. */
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
    size_t shares = t->parts < SHARES ? t->parts : SHARES, first = t->part % shares;
    if (!c->open) {
        size_t *later = taken(t, ++c->loop + TEAM_LOOPS, first);
        #pragma omp atomic write
        *later = 0;
        c->open = true;
        c->seen = 0;
    }
    for (; c->seen < shares; c->seen++) {
        size_t part = (first + c->seen) % shares, before, *counter = taken(t, c->loop, part);
        #pragma omp atomic capture
        before = (*counter)++;
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

/* The team `t` with `images` images from `first` on. */
static struct team with_images(struct team t, const struct batch *batch, real *y, const real *x,
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
        size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
        size_t singles = batch->per_thread ? B / threads * threads : 0;
        struct team_count single_count = {0}, shared_count = {.taken = counts};
        struct team single = {.plan = plan, .slot = thread, .parts = 1, .thread = thread, .count = &single_count};
        struct team shared = {
            .plan = plan, .part = thread, .parts = threads, .thread = thread, .count = &shared_count,
        };
        for (size_t b; singles && team_next(&shared, singles, &b);) {
            struct team t = with_images(single, batch, y, x, b, 1);
            run_chunk(&t);
        }
        if (singles) team_barrier(&shared);
        for (size_t b = singles; b < B; b += at_once) {
            struct team t = with_images(shared, batch, y, x, b, B - b < at_once ? B - b : at_once);
            run_chunk(&t);
            team_barrier(&t);
        }
    }
    return status_ok();
}
