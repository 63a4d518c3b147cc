/* windows.c -- a plane of tokens cut into windows; see windows.h */

#include "windows.h"
#include <limits.h>
#include "memory.h"

status windows_create(struct windows *w, const grid *tokens, size_t edge)
{
    size_t padded = edge;
    *w = (struct windows){.grid = *tokens, .edge = edge, .rows = 1, .columns = 1, .count = 1,
                          .entries = tokens->tokens};
    if (!edge) return status_ok();
    if (tokens->axes != 2) return bad_input("found a grid of %d axes, expected two", tokens->axes);
    w->rows = (tokens->size[0] - 1) / edge + 1;
    w->columns = (tokens->size[1] - 1) / edge + 1;
    w->count = w->rows * w->columns;
    w->entries = edge > INT_MAX / edge ? SIZE_MAX : edge * edge;
    if (!size_multiply(&padded, w->count, w->entries) || padded > INT_MAX)
        return bad_input("found %zu, which pads %zu x %zu tokens to more than %d", edge,
                         tokens->size[0], tokens->size[1], INT_MAX);
    return status_ok();
}

status windows_shift(struct windows *w, size_t shift)
{
    if (shift && shift >= w->edge)
        return bad_input("found %zu, expected less than the window's edge, %zu", shift, w->edge);
    if (shift && w->count * w->entries != w->grid.tokens)
        return bad_input("found %zu, but windows of %zu do not tile %zu x %zu tokens", shift, w->edge,
                         w->grid.size[0], w->grid.size[1]);
    w->shift = shift;
    return status_ok();
}

/* From a coordinate on the rolled plane to one on the plane, and back.  `size` is that of the axis. */
static size_t unrolled(const struct windows *w, size_t at, size_t size)
{
    return at < size - w->shift ? at + w->shift : at + w->shift - size;
}

static size_t rolled(const struct windows *w, size_t at, size_t size)
{
    return at >= w->shift ? at - w->shift : at + size - w->shift;
}

size_t windows_token(const struct windows *w, size_t window, size_t entry)
{
    size_t s = w->edge, H = w->grid.size[0], W = w->grid.size[1];
    if (!s) return entry;
    size_t row = window / w->columns * s + entry / s, column = window % w->columns * s + entry % s;
    if (row >= H || column >= W) return WINDOW_PADDING;
    return unrolled(w, row, H) * W + unrolled(w, column, W);
}

size_t windows_of(const struct windows *w, size_t token)
{
    size_t s = w->edge, H = w->grid.size[0], W = w->grid.size[1];
    return s ? rolled(w, token / W, H) / s * w->columns + rolled(w, token % W, W) / s : 0;
}

size_t windows_entry(const struct windows *w, size_t token)
{
    size_t s = w->edge, H = w->grid.size[0], W = w->grid.size[1];
    return s ? rolled(w, token / W, H) % s * s + rolled(w, token % W, W) % s : token;
}

static bool split_rows(const struct windows *w, size_t window)
{
    return w->shift && window / w->columns == w->rows - 1;
}

static bool split_columns(const struct windows *w, size_t window)
{
    return w->shift && window % w->columns == w->columns - 1;
}

size_t windows_regions(const struct windows *w, size_t window)
{
    return (split_rows(w, window) ? 2u : 1u) * (split_columns(w, window) ? 2u : 1u);
}

struct window_region windows_region(const struct windows *w, size_t window, size_t region)
{
    bool by_row = split_rows(w, window), by_column = split_columns(w, window);
    size_t s = w->edge, seam = s - w->shift;
    size_t row = by_column ? region / 2 : region, column = by_column ? region % 2 : 0;
    if (!s) return (struct window_region){.rows = 1, .columns = w->entries};
    return (struct window_region){
        .top = row ? seam : 0, .left = column ? seam : 0,
        .rows = !by_row ? s : row ? w->shift : seam, .columns = !by_column ? s : column ? w->shift : seam,
    };
}

size_t windows_region_of(const struct windows *w, size_t window, size_t entry)
{
    size_t s = w->edge, seam = s - w->shift;
    bool below = split_rows(w, window) && entry / s >= seam, right = split_columns(w, window) && entry % s >= seam;
    return (below ? split_columns(w, window) ? 2u : 1u : 0u) + (right ? 1u : 0u);
}

/* Along one axis each window has edge^2 pairs; in the last one the seam separates 2 shift (edge - shift) of them.  The
 * pairs of the plane are the product over both axes. */
double windows_pairs(const struct windows *w)
{
    double s = (double)w->edge, across = 2 * (double)w->shift * (s - (double)w->shift);
    if (!w->edge) return (double)w->entries * (double)w->entries;
    return ((double)w->rows * s * s - across) * ((double)w->columns * s * s - across);
}
