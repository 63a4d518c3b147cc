/* grid.h -- tokens on a line, a plane or a block
 *
 * Tokens lie row-major on a grid of 1, 2 or 3 axes: N, H x W, or T x H x W.  A token is its index 0 ... N-1 or its
 * coordinates, one per axis.
 *
 * Along an axis of n points, offsets j - i between two tokens run from -(n-1) to n-1.  A table with one entry for each
 * offset has P = product of (2n-1) entries, row-major.  The entry of query i and key j is at (j-i) + (n-1) on every
 * axis.  On a line it is e_{N+j-i} of LiSA's Eq. 2, which counts from 1. */

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "status.h"

BEGIN_C_DECLS

#define GRID_AXES 3

typedef struct grid {
    int axes;                   /* 1, 2 or 3 */
    size_t size[GRID_AXES];     /* points per axis; 1 beyond the last axis */
    size_t tokens;              /* N, the product of the sizes */
    size_t offsets;             /* P, the product of 2 size - 1 */
} grid;

/* The grid of these sizes.  Bad input: no axis or more than three, a size of 0, N or P above INT_MAX (BLAS and FFTW
 * count in int). */
status grid_create(grid *g, int axes, const size_t *size);

/* Reads a grid: "196", "14x14" or "8x14x14".  grid_numbers reads only the numbers, and sets those beyond the last axis
 * to 1. */
status grid_parse(grid *g, const char *text);
status grid_numbers(int *axes, size_t number[GRID_AXES], const char *text);

/* "14x14" into text of `size` bytes; returns text. */
char *grid_text(char *text, size_t size, const grid *g);

/* Index to coordinates, and back. */
void grid_coordinates(size_t at[GRID_AXES], const grid *g, size_t index);
size_t grid_index(const grid *g, const size_t at[GRID_AXES]);

/* Index of query i and key j in a table of offsets. */
size_t grid_offset(const grid *g, size_t i, size_t j);

/* The token i - n, modulo the size on every axis. */
size_t grid_circular(const grid *g, size_t i, size_t n);

/* *j = the token at i + step; false if that is off the grid. */
bool grid_neighbour(const grid *g, size_t i, const ptrdiff_t step[GRID_AXES], size_t *j);

END_C_DECLS
