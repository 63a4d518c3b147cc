/* grid.c -- tokens on a line, a plane or a block; see grid.h */

#include "grid.h"
#include <limits.h>
#include <stdio.h>

status grid_create(grid *g, int axes, const size_t *size)
{
    *g = (grid){.axes = axes, .size = {1, 1, 1}, .tokens = 1, .offsets = 1};
    if (axes < 1 || axes > GRID_AXES)
        return bad_input("grid of %d axes, expected 1, 2 or 3", axes);
    for (int a = 0; a < axes; a++) {
        if (size[a] == 0) return bad_input("grid axis %d has size 0, expected at least 1", a);
        if (size[a] > INT_MAX / g->tokens || 2 * size[a] - 1 > INT_MAX / g->offsets)
            return bad_input("grid too large, expected at most %d tokens and %d offsets", INT_MAX, INT_MAX);
        g->size[a] = size[a];
        g->tokens *= size[a];
        g->offsets *= 2 * size[a] - 1;
    }
    return status_ok();
}

status grid_numbers(int *axes, size_t number[GRID_AXES], const char *text)
{
    const char *p = text;
    for (int a = 0; a < GRID_AXES; a++) number[a] = 1;
    for (*axes = 0; *axes < GRID_AXES && *p >= '0' && *p <= '9'; p++) {
        size_t n = 0;
        for (; *p >= '0' && *p <= '9'; p++)
            n = n > INT_MAX / 10 ? (size_t)INT_MAX + 1 : n * 10 + (size_t)(*p - '0');
        number[(*axes)++] = n;
        if (*p == '\0') return status_ok();
        if (*p != 'x') break;
    }
    return bad_input("found '%.40s', expected N, HxW or TxHxW", text);
}

status grid_parse(grid *g, const char *text)
{
    size_t size[GRID_AXES];
    int axes;
    status s = grid_numbers(&axes, size, text);
    return s.code ? s : grid_create(g, axes, size);
}

char *grid_text(char *text, size_t size, const grid *g)
{
    size_t at = 0;
    for (int a = 0; a < g->axes && at < size; a++)
        at += (size_t)snprintf(text + at, size - at, a ? "x%zu" : "%zu", g->size[a]);
    return text;
}

void grid_coordinates(size_t at[GRID_AXES], const grid *g, size_t index)
{
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        at[a] = index % g->size[a];
        index /= g->size[a];
    }
}

size_t grid_index(const grid *g, const size_t at[GRID_AXES])
{
    return (at[0] * g->size[1] + at[1]) * g->size[2] + at[2];
}

size_t grid_offset(const grid *g, size_t i, size_t j)
{
    size_t at_i[GRID_AXES], at_j[GRID_AXES], entry = 0;
    grid_coordinates(at_i, g, i);
    grid_coordinates(at_j, g, j);
    for (int a = 0; a < GRID_AXES; a++)
        entry = entry * (2 * g->size[a] - 1) + at_j[a] + (g->size[a] - 1) - at_i[a];
    return entry;
}

size_t grid_circular(const grid *g, size_t i, size_t n)
{
    size_t at_i[GRID_AXES], at_n[GRID_AXES], at[GRID_AXES];
    grid_coordinates(at_i, g, i);
    grid_coordinates(at_n, g, n);
    for (int a = 0; a < GRID_AXES; a++)
        at[a] = (at_i[a] + g->size[a] - at_n[a]) % g->size[a];
    return grid_index(g, at);
}

bool grid_neighbour(const grid *g, size_t i, const ptrdiff_t step[GRID_AXES], size_t *j)
{
    size_t at[GRID_AXES];
    grid_coordinates(at, g, i);
    for (int a = 0; a < GRID_AXES; a++) {
        ptrdiff_t moved = (ptrdiff_t)at[a] + step[a];
        if (moved < 0 || moved >= (ptrdiff_t)g->size[a]) return false;
        at[a] = (size_t)moved;
    }
    *j = grid_index(g, at);
    return true;
}
