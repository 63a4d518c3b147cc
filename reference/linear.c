/* linear.c -- linear maps of tokens, over CBLAS; see linear.h */

#include "linear.h"
#include <cblas.h>
#include <string.h>
#include "flight.h"

void linear_map(real *y, size_t y_stride, const real *x, size_t x_stride,
                const real *weight, const real *bias, size_t tokens, size_t in, size_t out)
{
    /* The bias is written first and the product added to it. */
    if (bias)
        for (size_t n = 0; n < tokens; n++) memcpy(y + n * y_stride, bias, out * sizeof *y);
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasTrans, (int)tokens, (int)out, (int)in,
               1, x, (int)x_stride, weight, (int)in, bias ? 1 : 0, y, (int)y_stride);
}

void linear_product(real *y, size_t y_stride, const real *x, size_t x_stride,
                    const real *values, size_t tokens, size_t in, size_t out)
{
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)tokens, (int)out, (int)in,
               1, x, (int)x_stride, values, (int)out, 0, y, (int)y_stride);
}

void linear_from_planes(real *y, size_t y_stride, const real *planes, size_t plane, const real *weight,
                        size_t tokens, size_t in, size_t out)
{
    BLAS(gemm)(CblasRowMajor, CblasTrans, CblasTrans, (int)tokens, (int)out, (int)in,
               1, planes, (int)plane, weight, (int)in, 0, y, (int)y_stride);
}

/* ---- weights as they lie -------------------------------------------------- */

static void prepare(struct linear *map, struct room *room)
{
    (void)map;
    (void)room;
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

const struct linear_kind linear_as_it_lies = {prepare, load, apply};
