/* planes.h -- a feature map as planes, one a channel, with zeros beside every row
 *
 * Tokens lie channel by channel in memory; here every channel is an image of
 * its own, so that a vector holds the same channel of neighbouring tokens of a
 * row, and a shift by a neighbour's offset is a load from another address.
 *
 *     data  [channels][rows][stride],  stride = pad + columns rounded up to LANES + pad
 *
 * Column x of a row is at pad + x.  What lies beside it is zero, so that a
 * vector shifted by up to `pad` columns reads zeros off the grid and no test is
 * needed.  Above and below there is nothing: callers leave those rows out. */

#ifndef TWICETOLD_PLANES_H
#define TWICETOLD_PLANES_H

#include "../reference/real.h"
#include "../reference/status.h"
#include "lanes.h"

struct planes {
    size_t channels, rows, columns, pad, stride;
    real *data;
};

/* Fails when memory is out; the release accepts what a failed creation left. */
status planes_create(struct planes *p, size_t channels, size_t rows, size_t columns, size_t pad);
void planes_release(struct planes *p);

/* Column 0 of a row of a channel. */
static inline real *planes_row(const struct planes *p, size_t channel, size_t row)
{
    return p->data + (channel * p->rows + row) * p->stride + p->pad;
}

/* One row of all planes from its tokens, [columns][channels], `step` reals apart. */
void planes_fill(const struct planes *p, size_t row, const real *tokens, size_t step);

/* Tokens [count][channels], `step` reals apart, from lanes [channels][vectors]:
 * number l of vector v is token v LANES + l; count <= vectors LANES. */
void planes_drain(real *tokens, size_t step, const lanes *block, size_t vectors, size_t count, size_t channels);

#endif
