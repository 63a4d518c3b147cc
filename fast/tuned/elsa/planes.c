/* planes.c -- a feature map as planes; see planes.h */

#include "planes.h"
#include <string.h>
#include "../transpose.h"

/* Columns in whole vectors. */
static size_t whole(size_t columns)
{
    return (columns + LANES - 1) / LANES * LANES;
}

void planes_prepare(struct planes *p, struct arena *arena, const char *name,
                    size_t channels, size_t rows, size_t columns, size_t pad)
{
    size_t stride = columns + pad > whole(columns) ? columns + pad : whole(columns);
    *p = (struct planes){.channels = channels, .rows = rows, .columns = columns, .pad = pad, .stride = stride};
    arena_reals(arena, PER_RUN, &p->data, name, channels * rows + 2, stride);
}

/* Transposes squares of LANES tokens and channels in registers; writes the zeros after the row, and those before row
 * 0. */
void planes_fill(const struct planes *p, size_t row, const real *tokens, size_t step)
{
    size_t end = whole(p->columns);

    for (size_t x = 0; x < end; x += LANES)
        for (size_t c = 0; c < p->channels; c += LANES) {
            size_t here = p->channels - c < LANES ? p->channels - c : LANES;
            vec square[LANES];
            for (size_t l = 0; l < LANES; l++) {
                const real *from = tokens + (x + l) * step + c;
                if (x + l >= p->columns) square[l] = (vec){0};
                else square[l] = here == LANES ? vec_loadu(from) : vec_load_partial(from, here);
            }
            vec_transpose(square);
            for (size_t l = 0; l < here; l++) vec_storeu(planes_row(p, c + l, row) + x, square[l]);
        }
    for (size_t c = 0; c < p->channels; c++)
        for (size_t x = end; x < p->stride; x++) planes_row(p, c, row)[x] = 0;
    if (row == 0) memset(p->data, 0, p->stride * sizeof *p->data);
}
