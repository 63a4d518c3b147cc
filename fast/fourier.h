/* fourier.h -- a discrete Fourier transform of any size, on a grid of one to three axes
 *
 *     Z_k = sum_j z_j exp(-2 pi i j k / n)        along every axis of n points
 *
 * Cost: 4 (p - 1) multiplications for each point, axis and prime factor p of its size: 4 P log2 P if the sizes are
 * powers of 2, and 4 P (n - 1) along an axis of prime size n.  There is no factor 1/P: forward and back gives P z. */

#pragma once
#include "../reference/runtime/arena.h"
#include "../reference/runtime/grid.h"
#include "../reference/runtime/real.h"

struct number { real re, im; };                /* complex */
struct fft;

struct fourier {
    size_t size[GRID_AXES], points;             /* points of each axis, and P, their product */
    struct number *root[2];                    /* of each axis, exp(-2 pi i j / size); back: exp(2 pi i j / size) */
    struct number *line;                       /* per thread: [3][longest size] */
    const struct fft *plans;                    /* of a library that replaces the transform, or NULL */
    void (*library)(const struct fft *plans, real *points, bool back);
};

void fourier_prepare(struct fourier *f, struct arena *arena, const size_t size[GRID_AXES]);
void fourier_load(struct fourier *f);

/* z [points] in place; line is the calling thread's. */
void fourier_transform(struct number *z, const struct fourier *f, bool back, struct number *line);

/* Multiplications of one transform. */
double fourier_multiplications(const size_t size[GRID_AXES]);
