/* test_packed_linear.c -- linear maps with repacked weights equal linear_map */

#include "../support/support.h"
#include "../../fast/tuned/vec.h"
#include "../../fast/tuned/packed_linear.h"

/* Size 1; outputs in less than one vector, in one and in several; whole and partial panels; more tokens than a
 * chunk. */
static const struct { size_t tokens, in, out, second; } size[] = {
    {1, 1, 1, 0}, {5, 3, 17, 2}, {7, 20, 64, 64}, {49, 9, 70, 11}, {97, 6, 31, 130}, {200, 33, 5, 1},
};

/* A map without weights. */
static struct linear prepared(struct arena *arena, size_t in, size_t out)
{
    struct linear map;
    *arena = arena_open(1);
    linear_prepare(&map, &linear_packed, arena, in, out);
    succeeds(arena_allocate(arena, NULL));
    return map;
}

/* Exactly, for all shares of the work, two maps side by side, and x in planes; nothing next to y is written. */
TESTS(packed_maps_equal_linear_map, COUNT(size))
{
    static const size_t shares[] = {1, 2, 3, 40};
    size_t tokens = size[_i].tokens, in = size[_i].in, first = size[_i].out, out = first + size[_i].second,
           wide = out + 3;
    real *x = integers(1, tokens * (in + 2), 3), *w = integers(2, out * in, 3), *b = integers(3, out, 3);
    real *y = zeros(tokens * wide), *by_planes = zeros(tokens * wide);
    real *planes = normal(4, in * (tokens + 1));
    struct arena arena;
    struct linear map = prepared(&arena, in, out);

    linear_load(&map, first, out - first, w + first * in, NULL);
    linear_load(&map, 0, first, w, b);
    for (size_t o = first; o < out; o++) b[o] = 0;
    linear_map(y, wide, x, in + 2, w, b, tokens, in, out);
    for (size_t s = 0; s < COUNT(shares); s++) {
        real *mine = zeros(tokens * wide);
        for (size_t part = 0; part < shares[s]; part++)
            linear_apply(mine, wide, x, in + 2, &map, tokens, part, shares[s]);
        equal(mine, y, tokens * wide);
    }
    for (size_t t = 0; t < tokens; t++)
        for (size_t n = 0; n < in; n++) planes[n * (tokens + 1) + t] = x[t * (in + 2) + n];
    linear_packed_planes(by_planes, wide, planes, tokens + 1, &map, tokens);
    equal(by_planes, y, tokens * wide);
    arena_release(&arena);
}

int main(void) { return run_tests("packed linear maps"); }
