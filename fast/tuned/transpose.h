/* transpose.h -- transpose LANES vectors, or sum each over its lanes
 *
 * Step 1 transposes squares of 4 by 4 within groups of four lanes; step 2 exchanges whole groups.  On x86-64, moves
 * within 16 bytes (four floats) are one cheap instruction; moves across need more (AVX2) or slower ones (AVX-512).
 *
 * For sums over lanes, the same shuffles are used, and the two results of each pair are added. */

#pragma once
#include "vec.h"

/* ONES: within each group, lanes of a and b alternately, from the lower or upper half of the group.  TWOS: the same
 * with pairs of lanes.  GROUPS: the even or odd groups of a, then those of b. */
#if LANES == 16
#define ONES_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define ONES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define TWOS_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define TWOS_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define GROUPS_EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define GROUPS_ODD(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#elif LANES == 8
#define ONES_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define ONES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define TWOS_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define TWOS_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define GROUPS_EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define GROUPS_ODD(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#elif LANES == 4
#define ONES_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ONES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define TWOS_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define TWOS_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#else
#define ONES_LOW(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ONES_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* square[i][j] <-> square[j][i] */
static inline void vec_transpose(vec square[LANES])
{
#if LANES == 2
    const vec first = ONES_LOW(square[0], square[1]);
    square[1] = ONES_HIGH(square[0], square[1]);
    square[0] = first;
#else
    /* Step 1: squares of 4 by 4. */
    for (vec *row = square; row < square + LANES; row += 4) {
        const vec a = ONES_LOW(row[0], row[1]), b = ONES_HIGH(row[0], row[1]);
        const vec c = ONES_LOW(row[2], row[3]), d = ONES_HIGH(row[2], row[3]);
        row[0] = TWOS_LOW(a, c);
        row[1] = TWOS_HIGH(a, c);
        row[2] = TWOS_LOW(b, d);
        row[3] = TWOS_HIGH(b, d);
    }

    /* Step 2: the 2 by 2 or 4 by 4 groups. */
#if LANES == 8
    for (vec *row = square; row < square + 4; row++) {
        const vec a = row[0], b = row[4];
        row[0] = GROUPS_EVEN(a, b);
        row[4] = GROUPS_ODD(a, b);
    }
#elif LANES == 16
    for (vec *row = square; row < square + 4; row++) {
        const vec a = GROUPS_EVEN(row[0], row[4]), b = GROUPS_ODD(row[0], row[4]);
        const vec c = GROUPS_EVEN(row[8], row[12]), d = GROUPS_ODD(row[8], row[12]);
        row[0] = GROUPS_EVEN(a, c);
        row[4] = GROUPS_EVEN(b, d);
        row[8] = GROUPS_ODD(a, c);
        row[12] = GROUPS_ODD(b, d);
    }
#endif
#endif
}

/* Lane n of the result is the sum over the lanes of s[n]; overwrites s. */
INLINED vec vec_sums(vec s[LANES])
{
#pragma GCC unroll 8
    for (size_t n = 0; n < LANES / 2; n++) s[n] = ONES_LOW(s[2 * n], s[2 * n + 1]) + ONES_HIGH(s[2 * n], s[2 * n + 1]);
#if LANES > 2
#pragma GCC unroll 4
    for (size_t n = 0; n < LANES / 4; n++) s[n] = TWOS_LOW(s[2 * n], s[2 * n + 1]) + TWOS_HIGH(s[2 * n], s[2 * n + 1]);
#endif
#if LANES > 4
#pragma GCC unroll 2
    for (size_t left = LANES / 4; left > 1; left /= 2)
#pragma GCC unroll 2
        for (size_t n = 0; n < left / 2; n++)
            s[n] = GROUPS_EVEN(s[2 * n], s[2 * n + 1]) + GROUPS_ODD(s[2 * n], s[2 * n + 1]);
#endif
    return s[0];
}
