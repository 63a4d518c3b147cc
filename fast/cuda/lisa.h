/* lisa.h -- what LiSA's kernels are given, and where they read its tables
 *
 * Offsets and circles as fast/tuned/lisa/circulant.h has them, in numbers that a kernel takes by
 * value.  It has no kernels. */

#ifndef TWICETOLD_FAST_CUDA_LISA_H
#define TWICETOLD_FAST_CUDA_LISA_H

#include "../tuned/lisa/circulant.h"
#include "point.h"

/* What every kernel is given. */
struct problem_of_lisa {
    int N, h, c, C, D, pairs;
    int grid[GRID_AXES], window[GRID_AXES], entries[GRID_AXES];     /* of the tokens; of a local kernel; of a table */
    int circle[GRID_AXES], reach[GRID_AXES], points;
    bool wraps, local;
    int rows;                   /* of the key's table: c, or 1 that all channels share */
    int tables;                 /* columns of Eq. 4's table, 0 for the other equations */
};

/* ---- where tables are read ---------------------------------------------------------- */

/* The entry on an axis for the offset i - n; below 0 where there is none. */
__device__ inline int axis_entry(const problem_of_lisa &p, int axis, int offset)
{
    if (p.wraps) return offset < 0 ? offset + p.grid[axis] : offset;
    if (!p.local) return p.grid[axis] - 1 - offset;
    int entry = offset + p.window[axis] / 2;
    return entry < p.window[axis] ? entry : -1;
}

/* That of two tokens. */
__device__ inline int pair_entry(const problem_of_lisa &p, int i, int n)
{
    int entry = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        int one = axis_entry(p, a, i % p.grid[a] - n % p.grid[a]);
        if (one < 0) return -1;
        entry += place * one;
        place *= p.entries[a];
        i /= p.grid[a];
        n /= p.grid[a];
    }
    return entry;
}

/* That of a point of the circle (circulant.h), and the token that lies there. */
__device__ inline int circle_entry(const problem_of_lisa &p, int point)
{
    int entry = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        int at = point % p.circle[a];
        if (at > p.reach[a]) at -= p.circle[a];
        if (at < -p.reach[a]) return -1;
        int one = axis_entry(p, a, at);
        if (one < 0) return -1;
        entry += place * one;
        place *= p.entries[a];
        point /= p.circle[a];
    }
    return entry;
}

__device__ inline int circle_token(const problem_of_lisa &p, int point)
{
    int token = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        int at = point % p.circle[a];
        if (at >= p.grid[a]) return -1;
        token += place * at;
        place *= p.grid[a];
        point /= p.circle[a];
    }
    return token;
}

__device__ inline int circle_point(const problem_of_lisa &p, int token)
{
    int point = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        point += place * (token % p.grid[a]);
        place *= p.circle[a];
        token /= p.grid[a];
    }
    return point;
}

/* What a kernel is at a point of its circle: two columns of a row of its table as real
 * and imaginary part, over the number of points.  Eq. 4's stand alone. */
__device__ inline point kernel_point(const problem_of_lisa &p, array<const real> table, int rows, int columns, int each,
                                     int row, int pair, int point_of_circle)
{
    int entry = circle_entry(p, point_of_circle), column = pair * each;
    if (entry < 0 || row >= rows) return {0, 0};
    size_t at = ((size_t)entry * rows + row) * columns + column;
    real share = 1 / (real)p.points, re = table[at], im = 0;
    if (each == 2 && column + 1 < columns) im = table[at + 1];
    return share * point{re, im};
}

#endif
