/* test_packed_linear.c -- linear maps with repacked weights equal linear_map */

#include <math.h>
#include <string.h>
#include "../support/roundoff.h"
#include "../support/support.h"
#include "../../fast/tuned/vec.h"
#include "../../fast/tuned/packed_linear.h"

/* One of each; outputs that fill no vector, one and many; whole panels and what is left over; more
 * tokens than a chunk. */
static const struct { size_t tokens, in, out, second; } size[] = {
    {1, 1, 1, 0}, {5, 3, 17, 2}, {7, 20, 64, 64}, {49, 9, 70, 11}, {97, 6, 31, 130}, {200, 33, 5, 1},
};

/* A map without weights yet. */
static struct linear prepared(struct room *room, size_t in, size_t out)
{
    struct linear map;
    *room = room_open(1);
    linear_prepare(&map, &linear_packed, room, in, out);
    succeeds(room_place(room, NULL));
    return map;
}

/* For all shares of the work, two maps one after the other, x in planes; nothing next to y is written. Exact. */
START_TEST(packed_maps_equal_linear_map)
{
    static const size_t shares[] = {1, 2, 3, 40};
    size_t tokens = size[_i].tokens, in = size[_i].in, first = size[_i].out, out = first + size[_i].second,
           wide = out + 3;
    real *x = integers(1, tokens * (in + 2), 3), *w = integers(2, out * in, 3), *b = integers(3, out, 3);
    real *y = zeros(tokens * wide), *moved = zeros(tokens * wide), *by_planes = zeros(tokens * wide);
    real *planes = normal(4, in * (tokens + 1));
    struct room room;
    struct linear map = prepared(&room, in, out);

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

    /* It would fail; x must not be zero where it looks. */
    x[in - 1] = 1;
    linear_map(y, wide, x, in + 2, w, b, tokens, in, out);
    w[out * in - 1] += (real)0.5;
    linear_load(&map, out - 1, 1, w + (out - 1) * in, b + out - 1);
    linear_apply(moved, wide, x, in + 2, &map, tokens, 0, 1);
    unequal(moved, y, tokens * wide);
    room_release(&room);
}
END_TEST

/* The panels are the same to the bit, zeros after the last row included, in arrays that were NaN. */
START_TEST(rows_are_loaded_in_any_pieces)
{
    static const size_t pieces[] = {1, 2, 7, 16, 19};
    size_t in = size[_i].in, out = size[_i].out + size[_i].second, reals = (out + LANES - 1) / LANES * LANES * (in + 1);
    real *w = normal(1, out * in), *b = normal(2, out), *whole = zeros(reals);
    struct room room;
    struct linear map = prepared(&room, in, out);

    for (size_t n = 0; n <= COUNT(pieces); n++) {
        size_t rows = n ? pieces[n - 1] : out;
        for (size_t i = 0; i < reals; i++) map.panels[i] = (real)NAN;
        for (size_t first = (out - 1) / rows * rows;; first -= rows) {
            linear_load(&map, first, out - first < rows ? out - first : rows, w + first * in, b + first);
            if (first == 0) break;
        }
        if (n == 0) memcpy(whole, map.panels, reals * sizeof *whole);
        equal(map.panels, whole, reals);
    }
    room_release(&room);
}
END_TEST

/* Nothing is read or written. */
START_TEST(a_map_may_have_no_outputs)
{
    struct room room;
    struct linear map = prepared(&room, 5, 0);
    linear_load(&map, 0, 0, NULL, NULL);
    linear_apply(NULL, 0, normal(1, 3 * 5), 5, &map, 3, 0, 1);
    room_release(&room);
}
END_TEST

/* Root mean square against sums in long double. Tolerance: a chance (roundoff.h) times sqrt(n / 6 + 1 / 3) u, n = in +
 * 1 terms of either sign that are rounded as they are summed and once when written. */
START_TEST(packed_sums_err_as_sums_do)
{
    size_t tokens = size[_i].tokens, in = size[_i].in, out = size[_i].out;
    real *x = normal(1, tokens * in), *w = normal(2, out * in), *b = normal(3, out), *y = zeros(tokens * out);
    double apart = 0, squares = 0;
    struct room room;
    struct linear map = prepared(&room, in, out);
    linear_load(&map, 0, out, w, b);
    linear_apply(y, out, x, in, &map, tokens, 0, 1);
    for (size_t t = 0; t < tokens; t++)
        for (size_t o = 0; o < out; o++) {
            long double sum = b[o];
            for (size_t i = 0; i < in; i++) sum += (long double)x[t * in + i] * (long double)w[o * in + i];
            apart += pow((double)((long double)y[t * out + o] - sum), 2);
            squares += pow((double)sum, 2);
        }
    within("root mean square", sqrt(apart / squares),
           chance(tokens * out) * sqrt((double)(in + 1) / 6 + 1.0 / 3) * UNIT_ROUNDOFF);
    room_release(&room);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed linear maps");
    TCase *equality = add_case(suite, "the map that they were");
    tcase_add_loop_test(equality, packed_maps_equal_linear_map, 0, (int)COUNT(size));
    tcase_add_loop_test(equality, rows_are_loaded_in_any_pieces, 0, (int)COUNT(size));
    tcase_add_test(equality, a_map_may_have_no_outputs);
    tcase_add_loop_test(equality, packed_sums_err_as_sums_do, 0, (int)COUNT(size));
    return run_suite(suite);
}
