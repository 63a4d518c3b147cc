/* flight.h -- a batch carried from x to y, some images at a time
 *
 * The threads of a plan work as one team.  Some images fly together, from the
 * first step to the last, so that what lies between stays in the cache and
 * weights, once loaded, meet many rows; then come the next.  In every step
 * each thread does its share of the items, and all meet before the next step:
 *
 *     static void fly(const struct flight *t)
 *     {
 *         linear_apply(f->q, C, t->x, C, &f->query, t->images * N, t->part, t->parts);
 *         flight_meet(t);
 *         for (size_t i = flight_from(t, items); i < flight_to(t, items); i++) heart(i);
 *     }
 *
 * Or images fly apart: each thread takes images of its own through all steps,
 * and nobody waits; those left over at the end are shared by all, one by one. */

#ifndef TWICETOLD_FLIGHT_H
#define TWICETOLD_FLIGHT_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the calling thread has to do with the images in flight. */
struct flight {
    const struct plan *plan;
    const real *x;              /* of the first of them */
    real *y;
    size_t first, images;       /* which image of the batch that is, and how many fly */
    size_t slot;                /* where it is in arrays that have room for all in flight */
    size_t part, parts;         /* each step is cut into so many shares, of which this one is its own */
    size_t thread;              /* whose arrays of OF_THREAD are its own */
};

struct batch {
    size_t images;              /* B */
    size_t x_image, y_image;    /* reals of an image in x, and in y */
    size_t in_flight;           /* room for so many images at once, at least 1 */
    bool apart;                 /* each thread its own; then there are as many slots as threads */
};

/* Flies the batch; returns OK, so that a form may end with it. */
status flights_run(const struct plan *plan, real *y, const real *x, const struct batch *batch,
                   void (*fly)(const struct flight *));

/* All threads that share these images have come so far. */
void flight_meet(const struct flight *t);

/* Where share `part` of `parts` of so many items begins; share `parts` begins
 * where all end.  The first shares take one more where they are not equal. */
static inline size_t share(size_t items, size_t part, size_t parts)
{
    return items / parts * part + (part < items % parts ? part : items % parts);
}

/* The calling thread's share of so many items: from ... to - 1. */
static inline size_t flight_from(const struct flight *t, size_t items) { return share(items, t->part, t->parts); }
static inline size_t flight_to(const struct flight *t, size_t items) { return share(items, t->part + 1, t->parts); }

/* Images of N tokens that fly together well: as many as make 1024 tokens, at
 * least one, at most all B. */
static inline size_t images_in_flight(size_t N, size_t B)
{
    size_t images = N < 1024 ? 1024 / N : 1;
    return images < B ? images : B;
}

#ifdef __cplusplus
}
#endif

#endif
