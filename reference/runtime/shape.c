/* shape.c -- shapes in letters; see shape.h */

#include "shape.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

size_t shape_next_axis(const char **at, const char **axis)
{
    while (**at == ' ') ++*at;
    *axis = *at;
    while (**at && **at != ' ' && **at != '|') ++*at;
    return (size_t)(*at - *axis);
}

/* The size of a number or a letter; false if it is a letter without a size. */
static bool factor_size(size_t *size, const struct problem *p, const char *text, size_t length)
{
    *size = 0;
    for (int l = 0; l < p->letters; l++)
        if (strlen(p->letter[l].name) == length && !strncmp(p->letter[l].name, text, length)) {
            *size = p->letter[l].size;
            return true;
        }
    for (size_t i = 0; i < length; i++) *size = *size * 10 + (size_t)(text[i] - '0');
    return isdigit((unsigned char)text[0]);
}

enum axis_kind shape_axis(size_t *size, char letter[4], const struct problem *p, const char *axis, size_t length)
{
    size_t sum = 0, at = 0, factor;
    while (at < length) {
        size_t product = 1;
        for (;;) {
            size_t end = at;
            while (end < length && axis[end] != '*' && axis[end] != '+') end++;
            if (!factor_size(&factor, p, axis + at, end - at)) {
                snprintf(letter, 4, "%.*s", (int)(end - at), axis + at);
                return end - at == length && length <= 3 ? AXIS_FREE : AXIS_UNKNOWN;
            }
            if (!size_multiply(&product, product, factor) || product > INT_MAX)
                return AXIS_TOO_LARGE;
            at = end + 1;
            if (end >= length || axis[end] == '+') break;
        }
        sum += product;
        if (sum > INT_MAX) return AXIS_TOO_LARGE;
    }
    *size = sum;
    return AXIS_KNOWN;
}

double shape_product(const struct problem *p, const char *shape)
{
    double product = 1;
    const char *axis;
    for (size_t length; (length = shape_next_axis(&shape, &axis)) > 0;) {
        char letter[4];
        size_t size = 1;
        if (shape_axis(&size, letter, p, axis, length) == AXIS_KNOWN) product *= (double)size;
    }
    return product;
}

status shape_sizes(int *axes, size_t size[TENSOR_AXES], const struct problem *p, const char *shape)
{
    const char *axis;
    *axes = 0;
    for (size_t length; *axes < TENSOR_AXES && (length = shape_next_axis(&shape, &axis)) > 0; ++*axes) {
        char letter[4];
        switch (shape_axis(&size[*axes], letter, p, axis, length)) {
        case AXIS_KNOWN: break;
        case AXIS_TOO_LARGE: return bad_input("%.*s is too large, expected at most %d", (int)length, axis, INT_MAX);
        default: return bad_input("size %s is not known, expected it to be given", letter);
        }
    }
    return status_ok();
}

const char *shape_next_alternative(const char *shape)
{
    const char *bar = strchr(shape, '|');
    return bar ? bar + 1 : NULL;
}

void shape_letters(char *text, size_t size, const char *shape)
{
    size_t at = 0;
    for (const char *s = shape; s && at < size; s = shape_next_alternative(s)) {
        const char *rest = s, *axis;
        bool first = true;
        at += (size_t)snprintf(text + at, size - at, s == shape ? "[" : " or [");
        for (size_t length; at < size && (length = shape_next_axis(&rest, &axis)) > 0; first = false) {
            if (!first) at += (size_t)snprintf(text + at, size - at, ", ");
            for (size_t i = 0; i < length && at < size; i++)
                if (axis[i] != '*')
                    at += (size_t)snprintf(text + at, size - at, "%c", axis[i]);
                else if (!isdigit((unsigned char)axis[i - 1]) || isdigit((unsigned char)axis[i + 1]))
                    at += (size_t)snprintf(text + at, size - at, "·");
        }
        if (at < size) at += (size_t)snprintf(text + at, size - at, "]");
    }
}

void shape_describe(char *text, size_t size, const struct problem *p, const char *shape)
{
    shape_letters(text, size, shape);
    size_t at = strlen(text);
    for (const char *s = shape; s && at < size; s = shape_next_alternative(s)) {
        const char *rest = s, *axis;
        bool first = true;
        at += (size_t)snprintf(text + at, size - at, s == shape ? " = [" : " or [");
        for (size_t length; at < size && (length = shape_next_axis(&rest, &axis)) > 0; first = false) {
            size_t n = 0;
            char letter[4];
            if (!first) at += (size_t)snprintf(text + at, size - at, ", ");
            if (at >= size) return;
            if (shape_axis(&n, letter, p, axis, length) == AXIS_KNOWN)
                at += (size_t)snprintf(text + at, size - at, "%zu", n);
            else at += (size_t)snprintf(text + at, size - at, "%.*s", (int)length, axis);
        }
        if (at < size) at += (size_t)snprintf(text + at, size - at, "]");
    }
}
