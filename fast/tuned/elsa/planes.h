/* planes.h -- a feature map as planes, one per channel, with zeros between the rows
 *
 * A vector holds one channel of neighbouring tokens of a row, so a shift by a neighbour's offset is a load from another
 * address.
 *
 *     data  [1 + channels rows + 1][stride]
 *
 * At least `pad` zeros follow each row, and a row of zeros comes before the first.  So a vector shifted by up to `pad`
 * columns reads zeros off the grid.  Above and below a plane are other planes; callers skip those rows.  planes_fill
 * also writes the zeros. */

#pragma once
#include "../../../reference/runtime/arena.h"
#include "../vec.h"

struct planes {
    size_t channels, rows, columns, pad, stride;
    real *data;
};

void planes_prepare(struct planes *p, struct arena *arena, const char *name,
                    size_t channels, size_t rows, size_t columns, size_t pad);

/* Column 0 of a row of a channel. */
static inline real *planes_row(const struct planes *p, size_t channel, size_t row)
{
    return p->data + (1 + channel * p->rows + row) * p->stride;
}

/* Fills one row of all planes from its tokens [columns][channels], `step` reals apart.  Threads may fill different
 * rows. */
void planes_fill(const struct planes *p, size_t row, const real *tokens, size_t step);
