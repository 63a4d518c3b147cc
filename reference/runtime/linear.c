/* linear.c -- linear maps of tokens; see linear.h */

#include "linear.h"
#include "product.h"
#include "share.h"

void linear_map(real *y, size_t y_stride, const real *x, size_t x_stride,
                const real *weight, const real *bias, size_t tokens, size_t in, size_t out)
{
    product(y, y_stride, (struct factor){x, x_stride, false}, (struct factor){weight, in, true}, bias,
            tokens, in, out);
}

void linear_product(real *y, size_t y_stride, const real *x, size_t x_stride,
                    const real *values, size_t tokens, size_t in, size_t out)
{
    product(y, y_stride, (struct factor){x, x_stride, false}, (struct factor){values, out, false}, NULL,
            tokens, in, out);
}

static void prepare(struct linear *map, struct arena *arena)
{
    (void)map;
    (void)arena;
}

static void load(struct linear *map, size_t first, size_t rows, const real *weight, const real *bias)
{
    (void)first;
    (void)rows;
    map->weight = weight;
    map->bias = bias;
}

static void apply(real *y, size_t y_stride, const real *x, size_t x_stride, const struct linear *map,
                  size_t tokens, size_t part, size_t parts)
{
    size_t from = share(tokens, part, parts), to = share(tokens, part + 1, parts);
    if (from < to && map->out)
        linear_map(y + from * y_stride, y_stride, x + from * x_stride, x_stride, map->weight, map->bias,
                   to - from, map->in, map->out);
}

const struct linear_kind linear_as_it_lies = {1, prepare, load, apply};
