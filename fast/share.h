/* share.h -- equal shares of work, for threads that divide it among themselves */

#ifndef TWICETOLD_SHARE_H
#define TWICETOLD_SHARE_H

#include <stddef.h>

/* Where share `part` of `parts` of so many items begins; share `parts` begins
 * where all end.  The first shares take one more where they are not equal. */
static inline size_t share(size_t items, size_t part, size_t parts)
{
    return items / parts * part + (part < items % parts ? part : items % parts);
}

/* Images of N tokens that go together from the first step to the last, so that
 * what lies between stays in the cache, and weights, once loaded, meet many
 * rows: as many as make 1024 tokens, at least one, at most all B. */
static inline size_t images_in_flight(size_t N, size_t B)
{
    size_t images = N < 1024 ? 1024 / N : 1;
    return images < B ? images : B;
}

#endif
