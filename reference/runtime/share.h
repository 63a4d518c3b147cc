/* share.h -- equal shares of work */

#pragma once
#include <stddef.h>

/* Index of the first item of share `part`; share(items, parts, parts) is `items`.  Shares differ by at most one item,
 * and the first are the larger ones. */
static inline size_t share(size_t items, size_t part, size_t parts)
{
    return items / parts * part + (part < items % parts ? part : items % parts);
}
