/* neighbours.c -- windows around tokens; see neighbours.h */

#include "neighbours.h"
#include <string.h>

size_t neighbours_centres(const grid *tokens, const size_t stride[GRID_AXES])
{
    size_t centres = 1;
    for (int a = 0; a < GRID_AXES; a++) centres *= (tokens->size[a] - 1) / stride[a] + 1;
    return centres;
}

static void fill_window(int *token, const struct neighbours *n, size_t centre)
{
    for (size_t m = 0; m < n->entries; m++) {
        size_t at[GRID_AXES], j;
        ptrdiff_t step[GRID_AXES];
        grid_coordinates(at, &n->window, m);
        for (int a = 0; a < GRID_AXES; a++)
            step[a] = ((ptrdiff_t)at[a] - (ptrdiff_t)(n->window.size[a] / 2)) * (ptrdiff_t)n->dilation;
        token[m] = grid_neighbour(&n->tokens, centre, step, &j) ? (int)j : OFF_GRID;
    }
}

void neighbours_prepare(struct neighbours *n, struct arena *arena, const grid *tokens, const grid *window,
                        const size_t *stride, size_t dilation)
{
    *n = (struct neighbours){.entries = window->tokens, .dilation = dilation, .tokens = *tokens, .window = *window};
    for (int a = 0; a < GRID_AXES; a++) n->stride[a] = stride ? stride[a] : 1;
    n->centres = neighbours_centres(tokens, n->stride);
    arena_objects(arena, PERSISTENT, &n->token, "the windows", n->centres, n->entries, sizeof *n->token);
}

/* The centres are themselves a grid; go through it in row-major order. */
void neighbours_load(struct neighbours *n)
{
    grid coarse = n->tokens;
    for (int a = 0; a < GRID_AXES; a++) coarse.size[a] = (n->tokens.size[a] - 1) / n->stride[a] + 1;
    for (size_t j = 0; j < n->centres; j++) {
        size_t at[GRID_AXES];
        grid_coordinates(at, &coarse, j);
        for (int a = 0; a < GRID_AXES; a++) at[a] *= n->stride[a];
        fill_window(n->token + j * n->entries, n, grid_index(&n->tokens, at));
    }
}

void neighbours_unfold(real *window, const struct neighbours *n, size_t centre,
                       const real *rows, size_t stride, size_t columns)
{
    for (size_t m = 0; m < n->entries; m++, window += columns) {
        int token = n->token[centre * n->entries + m];
        if (token == OFF_GRID) memset(window, 0, columns * sizeof *window);
        else memcpy(window, rows + (size_t)token * stride, columns * sizeof *window);
    }
}
