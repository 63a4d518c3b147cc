/* tiled_attention.c -- blocks of queries and windows of tokens, by the tiled attention; see tiled_hearts.h */

#include "tiled_attention.h"
#include <string.h>

/* Keys and values that fit the second cache are read once for each ATTENTION_BLOCK queries; larger ones for more
 * queries. */
static size_t block_of(const struct attention *a, size_t heads, size_t threads)
{
    if (a->keys <= ATTENTION_BYTES / sizeof(real) / (2 * a->channels)) return ATTENTION_BLOCK;
    return attention_block(a->queries, a->channels, heads, threads);
}

void tiled_prepare(struct tiled *own, struct plan *plan, struct attention a, size_t heads, size_t entries)
{
    size_t channels = a.channels;
    struct arena *arena = &plan->arena;
    own->block = block_of(&a, heads, (size_t)plan->threads);
    attention_prepare(arena, &own->workspace, channels, own->block);
    arena_reals(arena, PER_THREAD, &own->q, "the query of a window", entries, channels, 1, 1);
    arena_reals(arena, PER_THREAD, &own->k, "the key of a window", entries, channels, 1, 1);
    arena_reals(arena, PER_THREAD, &own->v, "the value of a window", entries, channels, 1, 1);
    arena_reals(arena, PER_THREAD, &own->y, "the output of a window", entries, channels, 1, 1);
}

/* One block of rows of Y, which begins at y. */
static void attend(real *y, size_t y_stride, const struct attention *a, size_t block, const struct tiled *own,
                   real *workspace)
{
    size_t first = block * own->block, left = a->queries - first, count = left < own->block ? left : own->block;
    attention_fast(y + first * y_stride, y_stride, a, first, count, workspace);
}

void tiled_block(const struct head *one, struct attention a, const struct tiled *own)
{
    a.q = one->q;
    a.k = one->k;
    a.v = one->v;
    a.q_stride = one->q_stride;
    a.k_stride = a.v_stride = one->kv_stride;
    attend(one->y, one->y_stride, &a, one->part, own, head_thread(one, own->workspace));
}

/* One row of a side: columns tokens, of which the first `there` lie one after another
 * on the plane and the others are padding. */
struct window_row { size_t token, there; };

static struct window_row row_of(const struct windows *windows, size_t window, const struct window_region *box, size_t r)
{
    struct window_row row = {.token = windows_token(windows, window, (box->top + r) * windows->edge + box->left)};
    if (row.token == WINDOW_PADDING) return row;
    row.there = windows->tokens.size[1] - row.token % windows->tokens.size[1];
    if (row.there > box->columns) row.there = box->columns;
    return row;
}

void tiled_window(const struct head *one, struct attention a, const struct windows *windows, size_t side,
                  const real *padding, const struct tiled *own)
{
    const struct window_region box = windows_region(windows, one->part, side);
    size_t c = a.channels, bytes = c * sizeof(real), key = (size_t)(one->k - one->q), value = (size_t)(one->v - one->q);
    real *q = head_thread(one, own->q), *k = head_thread(one, own->k), *v = head_thread(one, own->v), *y = head_thread(one, own->y);

    /* Step 1: rows in. */
    for (size_t r = 0, t = 0; r < box.rows; r++) {
        const struct window_row row = row_of(windows, one->part, &box, r);
        for (size_t n = 0; n < box.columns; n++, t++) {
            const real *q_t = n < row.there ? one->q + (row.token + n) * one->q_stride : padding;
            memcpy(q + t * c, q_t, bytes);
            memcpy(k + t * c, q_t + key, bytes);
            memcpy(v + t * c, q_t + value, bytes);
        }
    }

    /* Step 2: attention. */
    a.q = q;
    a.k = k;
    a.v = v;
    a.queries = a.keys = box.rows * box.columns;
    a.q_stride = a.k_stride = a.v_stride = c;
    for (size_t block = 0; block < tiled_blocks(own, a.queries); block++)
        attend(y, c, &a, block, own, head_thread(one, own->workspace));

    /* Step 3: rows out. */
    for (size_t r = 0; r < box.rows; r++) {
        const struct window_row row = row_of(windows, one->part, &box, r);
        for (size_t n = 0; n < row.there; n++)
            memcpy(one->y + (row.token + n) * one->y_stride, y + (r * box.columns + n) * c, bytes);
    }
}
