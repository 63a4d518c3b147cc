/* windows.c -- a plane of tokens cut into windows; see windows.h */

#include "windows.h"
#include <limits.h>
#include "memory.h"

status windows_create(struct windows *w, const grid *tokens, size_t edge)
{
    size_t padded = edge;
    *w = (struct windows){.tokens = *tokens, .edge = edge, .rows = 1, .columns = 1, .count = 1,
                          .entries = tokens->tokens};
    if (!edge) return status_ok();
    if (tokens->axes != 2) return bad_input("found a grid of %d axes, expected two", tokens->axes);
    w->rows = (tokens->size[0] - 1) / edge + 1;
    w->columns = (tokens->size[1] - 1) / edge + 1;
    w->count = w->rows * w->columns;
    w->entries = edge > INT_MAX ? SIZE_MAX : edge * edge;
    if (!size_multiply(&padded, w->count, w->entries) || padded > INT_MAX)
        return bad_input("found %zu, which pads %zu x %zu tokens to more than %d", edge,
                         tokens->size[0], tokens->size[1], INT_MAX);
    return status_ok();
}

size_t windows_token(const struct windows *w, size_t window, size_t entry)
{
    size_t s = w->edge, W = w->tokens.size[1];
    if (!s) return entry;
    size_t row = window / w->columns * s + entry / s, column = window % w->columns * s + entry % s;
    return row < w->tokens.size[0] && column < W ? row * W + column : WINDOW_PADDING;
}

size_t windows_of(const struct windows *w, size_t token)
{
    size_t s = w->edge, W = w->tokens.size[1];
    return s ? token / W / s * w->columns + token % W / s : 0;
}

size_t windows_entry(const struct windows *w, size_t token)
{
    size_t s = w->edge, W = w->tokens.size[1];
    return s ? token / W % s * s + token % W % s : token;
}
