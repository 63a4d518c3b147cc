/* depthwise.c -- D depth-wise convolutions at one place; see depthwise.h */

#include "depthwise.h"
#include "../reference/memory.h"
#include "lanes.h"

#define TOGETHER 8              /* filters whose sums are in registers at a time */

status depthwise_create(struct depthwise *w, const struct neighbours *around, const real *filters,
                        size_t heads, size_t D, size_t columns, size_t channels)
{
    size_t blocks = columns == 1 ? 1 : (channels - 1) / LANES + 1;

    *w = (struct depthwise){.around = around, .channels = channels, .filters = D, .heads = heads};
    w->packed = memory_reals(heads * blocks, around->entries, D, LANES);
    if (!w->packed) return out_of_memory("the filters");
    w->block_step = columns == 1 ? 0 : around->entries * D * LANES;
    w->head_step = blocks * around->entries * D * LANES;
    real *to = w->packed;
    for (size_t head = 0; head < heads; head++, filters += D * around->entries * columns)
        for (size_t block = 0; block < blocks; block++)
            for (size_t m = 0; m < around->entries; m++)
                for (size_t d = 0; d < D; d++)
                    for (size_t l = 0; l < LANES; l++) {
                        size_t c = columns == 1 ? 0 : block * LANES + l;
                        *to++ = c < columns ? filters[(d * around->entries + m) * columns + c] : 0;
                    }
    return status_ok();
}

void depthwise_release(struct depthwise *w)
{
    memory_free(w->packed);
    w->packed = NULL;
}

/* `count` filters, a constant where this is called, on one vector of channels;
 * the last vector of a row may be cut short. */
static inline __attribute__((always_inline))
void few(real *out, const struct depthwise *w, const int *token, const real *filter, const real *rows, size_t stride,
         size_t left, size_t count)
{
    lanes sum[TOGETHER];

    for (size_t d = 0; d < count; d++) sum[d] = (lanes){0};
    for (size_t m = 0; m < w->around->entries; m++, filter += w->filters * LANES) {
        if (token[m] == OFF_GRID) continue;
        const real *from = rows + (size_t)token[m] * stride;
        lanes row = left >= LANES ? lanes_load_anywhere(from) : lanes_load_part(from, left);
        for (size_t d = 0; d < count; d++) sum[d] += row * lanes_load(filter + d * LANES);
    }
    for (size_t d = 0; d < count; d++)
        if (left >= LANES) lanes_store_anywhere(out + d * w->channels, sum[d]);
        else lanes_store_part(out + d * w->channels, sum[d], left);
}

/* Filters d ... d + count - 1 of one centre, on one vector of channels. */
static void centre(real *out, const struct depthwise *w, size_t j, size_t d, size_t count, const real *filters,
                   const real *rows, size_t stride, size_t left)
{
    const int *token = w->around->token + j * w->around->entries;

    filters += d * LANES;
    for (; count >= TOGETHER; count -= TOGETHER, out += TOGETHER * w->channels, filters += TOGETHER * LANES)
        few(out, w, token, filters, rows, stride, left, TOGETHER);
    if (count >= 4) {
        few(out, w, token, filters, rows, stride, left, 4);
        count -= 4, out += 4 * w->channels, filters += 4 * LANES;
    }
    for (; count > 0; count--, out += w->channels, filters += LANES)
        few(out, w, token, filters, rows, stride, left, 1);
}

void depthwise_run(real *out, const struct depthwise *w, size_t head, size_t first, size_t count,
                   const real *rows, size_t stride)
{
    const real *filters = w->packed + (w->heads > 1 ? head : 0) * w->head_step;
    size_t D = w->filters;

    for (size_t c = 0; c < w->channels; c += LANES, filters += w->block_step)
        for (size_t t = 0, some; t < count; t += some) {
            size_t j = (first + t) / D, d = (first + t) % D;
            some = D - d < count - t ? D - d : count - t;
            centre(out + t * w->channels + c, w, j, d, some, filters, rows + c, stride, w->channels - c);
        }
}

void depthwise_ahead(const struct depthwise *w, size_t first, size_t count, const real *rows, size_t stride)
{
    size_t M = w->around->entries, last = (first + count) / w->filters;

    if (last > w->around->centres) last = w->around->centres;
    for (size_t jm = first / w->filters * M; jm < last * M; jm++)
        for (size_t c = 0; w->around->token[jm] != OFF_GRID && c < w->channels; c += 64 / sizeof *rows)
            __builtin_prefetch(rows + (size_t)w->around->token[jm] * stride + c);
}
