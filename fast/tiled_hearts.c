/* tiled_hearts.c -- blocks of queries and windows of tokens, by the tiled
 * attention; see tiled_hearts.h */

#include "tiled_hearts.h"
#include <string.h>

void tiled_prepare(struct tiled *own, struct room *room, size_t channels, size_t entries)
{
    attention_prepare(room, &own->workspace, channels, ATTENTION_BLOCK);
    room_reals(room, OF_THREAD, &own->q, "the query of a window", entries, channels, 1, 1);
    room_reals(room, OF_THREAD, &own->k, "the key of a window", entries, channels, 1, 1);
    room_reals(room, OF_THREAD, &own->v, "the value of a window", entries, channels, 1, 1);
    room_reals(room, OF_THREAD, &own->y, "the output of a window", entries, channels, 1, 1);
}

/* One block of rows of Y, which begins at y. */
static void attend(real *y, size_t y_stride, const struct attention *a, size_t block, real *workspace)
{
    size_t first = block * ATTENTION_BLOCK, left = a->queries - first,
           count = left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK;
    attention_fast(y + first * y_stride, y_stride, a, first, count, workspace);
}

void tiled_block(const struct head *one, struct attention a, const struct tiled *own)
{
    a.q = one->q;
    a.k = one->k;
    a.v = one->v;
    a.q_stride = one->q_stride;
    a.k_stride = a.v_stride = one->kv_stride;
    attend(one->y, one->y_stride, &a, one->part, head_own(one, own->workspace));
}

void tiled_window(const struct head *one, struct attention a, const struct windows *windows, const real *padding,
                  const struct tiled *own)
{
    size_t c = a.channels, row = c * sizeof(real);
    real *q = head_own(one, own->q), *k = head_own(one, own->k), *v = head_own(one, own->v), *y = head_own(one, own->y);

    /* Step 1: rows in. */
    for (size_t t = 0; t < windows->entries; t++) {
        size_t token = windows_token(windows, one->part, t);
        const real *q_t = token == WINDOW_PADDING ? padding : one->q + token * one->q_stride;
        memcpy(q + t * c, q_t, row);
        memcpy(k + t * c, q_t + (one->k - one->q), row);
        memcpy(v + t * c, q_t + (one->v - one->q), row);
    }

    /* Step 2: attention. */
    a.q = q;
    a.k = k;
    a.v = v;
    a.q_stride = a.k_stride = a.v_stride = c;
    for (size_t block = 0; block < tiled_blocks(windows->entries); block++)
        attend(y, c, &a, block, head_own(one, own->workspace));

    /* Step 3: rows out. */
    for (size_t t = 0; t < windows->entries; t++) {
        size_t token = windows_token(windows, one->part, t);
        if (token != WINDOW_PADDING) memcpy(one->y + token * one->y_stride, y + t * c, row);
    }
}
