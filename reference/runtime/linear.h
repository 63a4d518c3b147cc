/* linear.h -- linear maps of tokens
 *
 * y = x W^T + b, PyTorch's convention.  Projections are nobody's subject, so
 * naive and fast forms share them.
 *
 *     y  [tokens][out],  rows y_stride apart
 *     x  [tokens][in],   rows x_stride apart
 *     W  [out][in], dense
 *     b  [out], or NULL
 *
 * All sizes and strides are at most INT_MAX (problem.c and shape.c refuse
 * larger ones); y overlaps no input.  Multiply-adds: tokens * in * out.
 * A library's product of matrices (product.h), on the calling thread where plan_run or plan_load
 * called the form. */

#ifndef TWICETOLD_LINEAR_H
#define TWICETOLD_LINEAR_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

void linear_map(real *y, size_t y_stride, const real *x, size_t x_stride,
                const real *weight, const real *bias, size_t tokens, size_t in, size_t out);

/* y = x V for V [in][out], dense: rows of x weigh the rows of V. */
void linear_product(real *y, size_t y_stride, const real *x, size_t x_stride,
                    const real *values, size_t tokens, size_t in, size_t out);

/* ---- a map that a plan holds ---------------------------------------------- */

struct linear {
    const struct linear_kind *kind;
    size_t in, out;
    const real *weight, *bias;  /* as they lie */
    real *panels;               /* repacked, by a kind that does so */
};

/* What may be done with the weights before they meet tokens. */
struct linear_kind {
    size_t pieces;              /* a thread's share may be cut into so many, at no cost */

    /* Asks for what is kept. */
    void (*prepare)(struct linear *map, struct arena *arena);

    /* Rows first ... first + rows - 1 of W and b; NULL for no bias.  A kind that
     * keeps nothing takes all rows at once. */
    void (*load)(struct linear *map, size_t first, size_t rows, const real *weight, const real *bias);

    /* A share of y = x W^T + b, the calling thread's: number `part` of `parts`
     * that together are the whole. */
    void (*apply)(real *y, size_t y_stride, const real *x, size_t x_stride, const struct linear *map,
                  size_t tokens, size_t part, size_t parts);
};

/* Weights as they lie; each part takes some of the tokens. */
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

#ifdef __cplusplus
}
#endif

#endif
