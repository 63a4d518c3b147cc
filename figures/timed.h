/* timed.h -- a whole network that can be timed: random weights, random pixels, everything in its place */

#ifndef TWICETOLD_TIMED_H
#define TWICETOLD_TIMED_H

#include <stdio.h>
#include "../reference/networks/profile.h"
#include "../reference/random.h"

struct timed {
    struct network network;
    struct tensor x, logits;
};

static inline void timed_close(struct timed *t)
{
    tensor_release(&t->x);
    tensor_release(&t->logits);
    network_release(&t->network);
}

/* After an error there is nothing to close. */
static inline status timed_open(struct timed *t, const struct network_table *table, const struct network_request *r)
{
    enum { SEED = 7 };
    size_t size[3];
    *t = (struct timed){.x = {0}};
    status s = network_create(&t->network, table, r);
    if (s.code) return s;
    network_input_shape(&t->network, size);
    s = network_draw(&t->network, SEED);
    if (!s.code) s = network_place(&t->network);
    if (!s.code) s = tensor_create(&t->x, "x", 3, size);
    if (!s.code) s = tensor_create(&t->logits, "logits", 2, (size_t[]){t->network.batch, t->network.classes});
    if (s.code) timed_close(t);
    else random_fill_normal(t->x.data, t->x.count, SEED, 0, 1);
    return s;
}

/* The kinds of its steps, each step by the fastest of so many runs; how many, or 0 and *s. */
static inline int timed_kinds(struct network_kind kind[NETWORK_KINDS], struct network_kind *all, struct timed *t,
                              int runs, status *s)
{
    *s = network_profile(&t->network, t->logits.data, t->x.data, runs);
    return s->code ? 0 : network_kinds(kind, all, &t->network);
}

#endif
