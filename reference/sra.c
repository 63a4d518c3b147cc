/* sra.c -- the declaration of spatial-reduction attention; see sra.h */

#include "sra.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include "memory.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "reduction", .kind = OPTION_INTEGER, .fallback = "2", .low = 1, .high = 65536, .letter = "s",
     .meaning = "keys and values stand for patches of this edge"},
    {.name = "heads", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads, each of c = C/h channels"},
    {.name = "scale", .kind = OPTION_REAL, .fallback = "", .low = -DBL_MAX, .high = DBL_MAX,
     .meaning = "multiplies q.k in place of 1/sqrt(c)"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "w_q", .shape = "C C", .fan = "C", .meaning = "rows make the query"},
    {.name = "b_q", .shape = "C", .optional = true, .fan = "C", .meaning = "its bias"},
    {.name = "sr_w", .shape = "R C s s", .fan = "C*s*s",
     .meaning = "convolution with stride s; R = C, or 0 without reduction"},
    {.name = "sr_b", .shape = "R", .optional = true, .fan = "C", .meaning = "its bias"},
    {.name = "norm_g", .shape = "R", .fan = "1", .meaning = "gain of the layer norm behind it"},
    {.name = "norm_b", .shape = "R", .fan = "C", .meaning = "bias of the layer norm"},
    {.name = "w_kv", .shape = "2*C C", .fan = "C", .meaning = "rows make key, value of the reduced plane"},
    {.name = "b_kv", .shape = "2*C", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "w_o", .shape = "C C", .optional = true, .fan = "C", .meaning = "output projection"},
    {.name = "b_o", .shape = "C", .optional = true, .with = "w_o", .fan = "C", .meaning = "its bias"},
    {0}
};

/* R is 0 where nothing is reduced: tensors with an axis of 0 must be absent. */
static status derive(struct problem *p)
{
    size_t s = problem_size(p, "s"), C = problem_size(p, "C"), patch;
    status result = derive_head_channels(p);
    if (result.code) return result;
    if (p->grid.size[0] % s || p->grid.size[1] % s)
        return bad_input("option --reduction: found %zu, expected a divisor of %zu and %zu", s,
                         p->grid.size[0], p->grid.size[1]);
    if (!size_multiply(&patch, s * s, C) || patch > INT_MAX)
        return bad_input("option --reduction: found %zu, expected at most %d numbers in a patch", s, INT_MAX);
    return problem_set_size(p, "R", s > 1 ? C : 0);
}

const struct declaration sra = {
    .name = "sra",
    .summary = "spatial-reduction attention (Wang et al. 2021)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .forms = {&sra_naive, &sra_fast},
};

struct sra_sizes sra_sizes(const struct problem *p)
{
    struct sra_sizes z = {
        .B = problem_size(p, "B"), .N = problem_size(p, "N"), .C = problem_size(p, "C"),
        .h = problem_size(p, "h"), .c = problem_size(p, "c"), .s = problem_size(p, "s"),
    };
    z.rows = p->grid.size[0] / z.s;
    z.columns = p->grid.size[1] / z.s;
    z.M = z.rows * z.columns;
    z.scale = problem_given(p, "scale") ? (real)problem_number(p, "scale") : (real)(1 / sqrt((double)z.c));
    return z;
}

double sra_multiply_adds(const struct problem *p)
{
    struct sra_sizes z = sra_sizes(p);
    double N = (double)z.N, M = (double)z.M, C = (double)z.C;
    double one = N * C * C + 2 * M * C * C + 2 * N * M * C;
    if (z.s > 1) one += N * C * C;
    if (problem_axis(p, "w_o", 0)) one += N * C * C;
    return (double)z.B * one;
}
