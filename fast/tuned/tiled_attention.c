/* tiled_attention.c -- blocks of queries and windows of tokens, by the tiled attention; see tiled_attention.h */

#include "tiled_attention.h"
#include <string.h>

/* Blocks are small if keys and values fit ATTENTION_BYTES. */
static size_t block_of(const struct attention *a, size_t heads, size_t threads)
{
    if (a->keys <= ATTENTION_BYTES / sizeof(real) / (2 * a->channels)) return ATTENTION_BLOCK;
    return attention_block(a->queries, a->channels, heads, threads);
}

void tiled_prepare(struct tiled *tiled, struct plan *plan, struct attention a, size_t heads, size_t entries)
{
    size_t channels = a.channels;
    struct arena *arena = &plan->arena;
    tiled->block = block_of(&a, heads, (size_t)plan->threads);
    attention_prepare(arena, &tiled->workspace, channels, tiled->block);
    arena_reals(arena, PER_THREAD, &tiled->q, "the query of a window", entries, channels);
    arena_reals(arena, PER_THREAD, &tiled->k, "the key of a window", entries, channels);
    arena_reals(arena, PER_THREAD, &tiled->v, "the value of a window", entries, channels);
    arena_reals(arena, PER_THREAD, &tiled->y, "the output of a window", entries, channels);
}

/* Block number `block` of Y; y points at row 0. */
static void attend(real *y, size_t y_stride, const struct attention *a, size_t block, const struct tiled *tiled,
                   real *workspace)
{
    size_t first = block * tiled->block, left = a->queries - first, count = left < tiled->block ? left : tiled->block;
    attention_fast(y + first * y_stride, y_stride, a, first, count, workspace);
}

void tiled_block(const struct head *head, struct attention a, const struct tiled *tiled)
{
    a.q = head->q;
    a.k = head->k;
    a.v = head->v;
    a.q_stride = head->q_stride;
    a.k_stride = a.v_stride = head->kv_stride;
    attend(head->y, head->y_stride, &a, head->part, tiled, head_thread(head, tiled->workspace));
}

/* One row of a side: `there` tokens from `token` on; the other columns are padding. */
struct window_row { size_t token, there; };

static struct window_row row_of(const struct windows *windows, size_t window, const struct window_region *box, size_t r)
{
    struct window_row row = {.token = windows_token(windows, window, (box->top + r) * windows->edge + box->left)};
    if (row.token == WINDOW_PADDING) return row;
    row.there = windows->grid.size[1] - row.token % windows->grid.size[1];
    if (row.there > box->columns) row.there = box->columns;
    return row;
}

void tiled_window(const struct head *head, struct attention a, const struct windows *windows, size_t side,
                  const real *padding, const struct tiled *tiled)
{
    const struct window_region box = windows_region(windows, head->part, side);
    size_t c = a.channels, bytes = c * sizeof(real);
    size_t key = (size_t)(head->k - head->q), value = (size_t)(head->v - head->q);
    real *q = head_thread(head, tiled->q), *k = head_thread(head, tiled->k), *v = head_thread(head, tiled->v);
    real *y = head_thread(head, tiled->y);

    for (size_t r = 0, t = 0; r < box.rows; r++) {
        const struct window_row row = row_of(windows, head->part, &box, r);
        for (size_t n = 0; n < box.columns; n++, t++) {
            const real *q_t = n < row.there ? head->q + (row.token + n) * head->q_stride : padding;
            memcpy(q + t * c, q_t, bytes);
            memcpy(k + t * c, q_t + key, bytes);
            memcpy(v + t * c, q_t + value, bytes);
        }
    }

    a.q = q;
    a.k = k;
    a.v = v;
    a.queries = a.keys = box.rows * box.columns;
    a.q_stride = a.k_stride = a.v_stride = c;
    for (size_t block = 0; block < tiled_blocks(tiled, a.queries); block++)
        attend(y, c, &a, block, tiled, head_thread(head, tiled->workspace));

    for (size_t r = 0; r < box.rows; r++) {
        const struct window_row row = row_of(windows, head->part, &box, r);
        for (size_t n = 0; n < row.there; n++)
            memcpy(head->y + (row.token + n) * head->y_stride, y + (r * box.columns + n) * c, bytes);
    }
}
