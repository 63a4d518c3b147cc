/* linear.h -- linear maps of tokens, y = x W^T + b as in PyTorch
 *
 *     y  [tokens][out],  rows y_stride apart
 *     x  [tokens][in],   rows x_stride apart
 *     W  [out][in], dense
 *     b  [out], or NULL
 *
 * Naive and fast forms share them; a library computes them (product.h).  y overlaps no input.  Sizes and strides are at
 * most INT_MAX (problem.c and shape.c reject larger ones).  Multiply-adds: tokens * in * out. */

#pragma once
#include "arena.h"

BEGIN_C_DECLS

void linear_map(real *y, size_t y_stride, const real *x, size_t x_stride,
                const real *weight, const real *bias, size_t tokens, size_t in, size_t out);

/* y = x V for V [in][out], dense. */
void linear_product(real *y, size_t y_stride, const real *x, size_t x_stride,
                    const real *values, size_t tokens, size_t in, size_t out);

struct linear {
    const struct linear_kind *kind;
    size_t in, out;
    const real *weight, *bias;  /* the caller's arrays */
    real *panels;               /* the repacked weights, if the kind repacks them */
};

/* A layout of the weights, and the product for it. */
struct linear_kind {
    size_t pieces;              /* team_linear cuts the product into this many pieces per thread */

    /* Declares the arrays that load fills. */
    void (*prepare)(struct linear *map, struct arena *arena);

    /* Loads rows first ... first + rows - 1 of W and b (NULL: no bias).  linear_as_it_lies needs all rows in one
     * call. */
    void (*load)(struct linear *map, size_t first, size_t rows, const real *weight, const real *bias);

    /* Computes part `part` of `parts` of y = x W^T + b. */
    void (*apply)(real *y, size_t y_stride, const real *x, size_t x_stride, const struct linear *map,
                  size_t tokens, size_t part, size_t parts);
};

/* Keeps only the addresses of W and b.  Each part is a range of the tokens. */
extern const struct linear_kind linear_as_it_lies;

static inline void linear_prepare(struct linear *map, const struct linear_kind *kind, struct arena *arena,
                                  size_t in, size_t out)
{
    map->kind = kind;
    map->in = in;
    map->out = out;
    kind->prepare(map, arena);
}

static inline void linear_load(struct linear *map, size_t first, size_t rows, const real *weight, const real *bias)
{
    map->kind->load(map, first, rows, weight, bias);
}

static inline void linear_apply(real *y, size_t y_stride, const real *x, size_t x_stride, const struct linear *map,
                                size_t tokens, size_t part, size_t parts)
{
    map->kind->apply(y, y_stride, x, x_stride, map, tokens, part, parts);
}

END_C_DECLS
