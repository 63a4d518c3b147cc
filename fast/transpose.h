/* transpose.h -- a square of LANES by LANES numbers, turned
 *
 * Numbers that lie side by side in memory go to the same lane of consecutive
 * vectors, and back: it is its own inverse.
 *
 * One round zips row i with row i + L/2 into rows 2i and 2i + 1.  Write the
 * place of a number as the digits of its row and then of its lane, in binary:
 * a round moves the first digit to the end.  After log2(L) rounds row and
 * lane have changed places. */

#ifndef TWICETOLD_TRANSPOSE_H
#define TWICETOLD_TRANSPOSE_H

#include "lanes.h"

/* a and b in turns: their first halves, and their second halves. */
#if LANES == 16
#define ZIP_FIRST(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_SECOND(a, b) \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_SECOND(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif LANES == 4
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_SECOND(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ZIP_SECOND(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

static inline void lanes_transpose(lanes square[LANES])
{
    for (int digit = 1; digit < LANES; digit *= 2) {
        lanes zipped[LANES];
        for (int i = 0; i < LANES / 2; i++) {
            zipped[2 * i] = ZIP_FIRST(square[i], square[i + LANES / 2]);
            zipped[2 * i + 1] = ZIP_SECOND(square[i], square[i + LANES / 2]);
        }
        for (int i = 0; i < LANES; i++) square[i] = zipped[i];
    }
}

#endif
