/* circulant.c -- a sum over tokens as a circular convolution; see circulant.h */

#include "circulant.h"
#include <limits.h>

bool smooth(size_t n)
{
    static const size_t prime[] = {2, 3, 5, 7};
    for (size_t p = 0; n && p < 4; p++)
        while (n % prime[p] == 0) n /= prime[p];
    return n == 1;
}

status circulant_create(struct circulant *circle, const grid *tokens, bool wraps)
{
    *circle = (struct circulant){.tokens = *tokens, .wraps = wraps, .points = 1,
                                 .entries = wraps ? tokens->tokens : tokens->offsets};
    for (int a = 0; a < GRID_AXES; a++) {
        size_t size = tokens->size[a];
        if (!wraps) {
            size = 2 * size - 1;
            while (!smooth(size)) size++;
        }
        if (size > INT_MAX / circle->points)
            return bad_input("grid too large for the exact form, expected at most %d padded points", INT_MAX);
        circle->size[a] = size;
        circle->points *= size;
    }
    return status_ok();
}

size_t circulant_place(const struct circulant *circle, size_t entry)
{
    const size_t *n = circle->tokens.size;
    size_t at[GRID_AXES];
    if (circle->wraps) return entry;

    /* The entry of j - i lies at (j - i) + (n - 1) on each axis; the circle is
     * indexed by i - j. */
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        size_t reach = n[a] - 1, offset = entry % (2 * n[a] - 1);
        at[a] = (reach + circle->size[a] - offset) % circle->size[a];
        entry /= 2 * n[a] - 1;
    }
    return (at[0] * circle->size[1] + at[1]) * circle->size[2] + at[2];
}
