/* msa.c -- the declaration of self-attention; see msa.h */

#include "msa.h"
#include <float.h>
#include <math.h>
#include "heads.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "heads", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads, each of c = C/h channels"},
    {.name = "scale", .kind = OPTION_REAL, .fallback = "", .low = -DBL_MAX, .high = DBL_MAX,
     .meaning = "multiplies q.k in place of 1/sqrt(c)"},
    {.name = "window", .kind = OPTION_INTEGER, .fallback = "", .low = 1, .high = 65536,
     .meaning = "attend within windows of this edge (2-D grids)"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "w_qkv", .shape = "3*C C", .fan = "C", .meaning = "rows make query, key, value"},
    {.name = "b_qkv", .shape = "3*C", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "rpe", .shape = "P 1 | P h", .optional = true, .fan = "1", .meaning = "one RPE added to the scores, or one per head"},
    {.name = "w_o", .shape = "C C", .optional = true, .fan = "C", .meaning = "output projection"},
    {.name = "b_o", .shape = "C", .optional = true, .with = "w_o", .fan = "C", .meaning = "its bias"},
    {0}
};

static status derive(struct problem *p)
{
    size_t s = msa_window(p);
    if (s && p->grid.axes != 2)
        return bad_input("option --window: found a grid of %d axes, expected two", p->grid.axes);
    if (s && (p->grid.size[0] % s || p->grid.size[1] % s))
        return bad_input("option --window: found %zu, expected a divisor of %zu and %zu", s, p->grid.size[0], p->grid.size[1]);
    return derive_head_channels(p);
}

double msa_scale(const struct problem *p)
{
    return problem_given(p, "scale") ? problem_number(p, "scale") : 1 / sqrt((double)problem_size(p, "c"));
}

size_t msa_window(const struct problem *p)
{
    return problem_given(p, "window") ? (size_t)problem_number(p, "window") : 0;
}

size_t msa_reach(const struct problem *p)
{
    size_t s = msa_window(p);
    return s ? s * s : p->grid.tokens;
}

size_t msa_windows(const struct problem *p)
{
    return p->grid.tokens / msa_reach(p);
}

size_t msa_window_token(const struct problem *p, size_t w, size_t i)
{
    size_t s = msa_window(p), W = p->grid.size[1];
    if (!s) return i;
    return (w / (W / s) * s + i / s) * W + w % (W / s) * s + i % s;
}

double msa_multiply_adds(const struct problem *p)
{
    return heads_multiply_adds(p) + 2.0 * (double)problem_size(p, "B") * (double)problem_size(p, "N")
                                    * (double)msa_reach(p) * (double)problem_size(p, "C");
}

const struct declaration msa = {
    .name = "msa",
    .summary = "multi-head self-attention, plain, windowed, with an RPE (Vaswani et al. 2017)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .forms = {&msa_naive, &msa_fast},
};
