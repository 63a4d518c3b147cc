/* flight.c -- a batch carried from x to y, some images at a time; see flight.h */

#include "flight.h"
#include <omp.h>

void flight_meet(const struct flight *t)
{
    if (t->parts > 1) {
        #pragma omp barrier
    }
}

/* The same images, so many from `first` on. */
static struct flight take(struct flight t, const struct batch *batch, real *y, const real *x,
                          size_t first, size_t images)
{
    t.first = first;
    t.images = images;
    t.x = x + first * batch->x_image;
    t.y = y + first * batch->y_image;
    return t;
}

status flights_run(const struct plan *plan, real *y, const real *x, const struct batch *batch,
                   void (*fly)(const struct flight *))
{
    size_t B = batch->images, at_once = batch->apart ? 1 : batch->in_flight;

    #pragma omp parallel num_threads(plan->threads)
    {
        size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
        size_t alone = batch->apart ? B / team * team : 0;
        struct flight own = {.plan = plan, .slot = thread, .parts = 1, .thread = thread};
        struct flight common = {.plan = plan, .part = thread, .parts = team, .thread = thread};

        /* Step 1: a thread's own images. */
        for (size_t b = share(alone, thread, team); b < share(alone, thread + 1, team); b++) {
            struct flight t = take(own, batch, y, x, b, 1);
            fly(&t);
        }
        if (alone) flight_meet(&common);

        /* Step 2: images of all threads together. */
        for (size_t b = alone; b < B; b += at_once) {
            struct flight t = take(common, batch, y, x, b, B - b < at_once ? B - b : at_once);
            fly(&t);
            flight_meet(&t);
        }
    }
    return status_ok();
}
