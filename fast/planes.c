/* planes.c -- a feature map as planes; see planes.h */

#include "planes.h"
#include <string.h>
#include "../reference/memory.h"
#include "transpose.h"

status planes_create(struct planes *p, size_t channels, size_t rows, size_t columns, size_t pad)
{
    *p = (struct planes){.channels = channels, .rows = rows, .columns = columns, .pad = pad};
    p->stride = (columns + LANES - 1) / LANES * LANES + 2 * pad;
    p->data = memory_reals(channels, rows, p->stride, 1);
    if (!p->data) return out_of_memory("the planes");
    memset(p->data, 0, channels * rows * p->stride * sizeof *p->data);
    return status_ok();
}

void planes_release(struct planes *p)
{
    memory_free(p->data);
    p->data = NULL;
}

/* Squares of LANES tokens and LANES channels are turned in registers.  Behind
 * the last token of a row come zeros, into the padding. */
void planes_fill(const struct planes *p, size_t row, const real *tokens, size_t step)
{
    for (size_t x = 0; x < p->columns; x += LANES)
        for (size_t c = 0; c < p->channels; c += LANES) {
            size_t here = p->channels - c < LANES ? p->channels - c : LANES;
            lanes square[LANES];
            for (size_t l = 0; l < LANES; l++) {
                const real *from = tokens + (x + l) * step + c;
                if (x + l >= p->columns) square[l] = (lanes){0};
                else square[l] = here == LANES ? lanes_load_anywhere(from) : lanes_load_part(from, here);
            }
            lanes_transpose(square);
            for (size_t l = 0; l < here; l++) lanes_store_anywhere(planes_row(p, c + l, row) + x, square[l]);
        }
}

void planes_drain(real *tokens, size_t step, const lanes *block, size_t vectors, size_t count, size_t channels)
{
    for (size_t v = 0; v * LANES < count; v++)
        for (size_t c = 0; c < channels; c += LANES) {
            size_t here = channels - c < LANES ? channels - c : LANES, left = count - v * LANES;
            lanes square[LANES];
            for (size_t l = 0; l < LANES; l++) square[l] = l < here ? block[(c + l) * vectors + v] : (lanes){0};
            lanes_transpose(square);
            for (size_t l = 0; l < LANES && l < left; l++) {
                real *to = tokens + (v * LANES + l) * step + c;
                if (here == LANES) lanes_store_anywhere(to, square[l]);
                else lanes_store_part(to, square[l], here);
            }
        }
}
