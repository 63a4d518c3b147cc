/* sra.c -- declaration of spatial-reduction attention; see sra.h */

#include "sra.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include "runtime/heads.h"
#include "runtime/memory.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "reduction", .kind = OPTION_INTEGER, .default_value = "2", .low = 1, .high = 65536, .letter = "s",
     .meaning = "edge of the patches that keys and values stand for"},
    OPTION_HEADS,
    OPTION_SCALE,
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    {.name = "w_q", .shape = "C C", .fan_in = "C", .meaning = "rows make the query"},
    {.name = "b_q", .shape = "C", .optional = true, .fan_in = "C", .meaning = "its bias"},
    {.name = "sr_w", .shape = "R C s s", .fan_in = "C*s*s",
     .meaning = "convolution with stride s; R = C, or 0 without reduction"},
    {.name = "sr_b", .shape = "R", .optional = true, .fan_in = "C", .meaning = "its bias"},
    {.name = "norm_g", .shape = "R", .fan_in = "1", .meaning = "gain of the layer norm after it"},
    {.name = "norm_b", .shape = "R", .fan_in = "C", .meaning = "bias of the layer norm"},
    {.name = "w_kv", .shape = "2*C C", .fan_in = "C", .meaning = "rows make key, value of the reduced plane"},
    {.name = "b_kv", .shape = "2*C", .optional = true, .fan_in = "C", .meaning = "their bias"},
    TENSORS_OUTPUT,
    {0}
};

/* R is 0 if s = 1: tensors with an axis of 0 must be absent. */
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

static status resolve(void *params, const struct problem *problem)
{
    struct lookup names = {.problem = problem};
    struct sra_problem *p = params;
    *p = (struct sra_problem){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .h = lookup_size(&names, "h"), .c = lookup_size(&names, "c"), .s = lookup_size(&names, "s"),
        .scale = heads_scale(&names),
        .w_q = lookup_tensor(&names, "w_q"), .b_q = lookup_tensor(&names, "b_q"),
        .sr_w = lookup_tensor(&names, "sr_w"), .sr_b = lookup_tensor(&names, "sr_b"),
        .norm_g = lookup_tensor(&names, "norm_g"), .norm_b = lookup_tensor(&names, "norm_b"),
        .w_kv = lookup_tensor(&names, "w_kv"), .b_kv = lookup_tensor(&names, "b_kv"),
        .w_o = lookup_tensor(&names, "w_o"), .b_o = lookup_tensor(&names, "b_o"),
    };
    status s = windows_create(&p->patches, &problem->grid, p->s);
    p->M = p->patches.count;
    return names.error.code ? names.error : s;
}

void sra_maps_prepare(struct sra_maps *maps, struct arena *arena, const struct sra_problem *p)
{
    linear_prepare(&maps->query, &linear_as_it_lies, arena, p->C, p->C);
    linear_prepare(&maps->key_value, &linear_as_it_lies, arena, p->C, 2 * p->C);
    linear_prepare(&maps->output, &linear_as_it_lies, arena, p->C, p->C);
}

void sra_maps_load(struct sra_maps *maps, const struct sra_problem *p)
{
    linear_load(&maps->query, 0, p->C, p->w_q, p->b_q);
    linear_load(&maps->key_value, 0, 2 * p->C, p->w_kv, p->b_kv);
    linear_load(&maps->output, 0, p->C, p->w_o, p->b_o);
}

double sra_multiply_adds(const void *params)
{
    const struct sra_problem *p = params;
    double N = (double)p->N, M = (double)p->M, C = (double)p->C;
    double each = N * C * C + 2 * M * C * C + 2 * N * M * C;
    if (p->s > 1) each += N * C * C;
    if (p->w_o) each += N * C * C;
    return (double)p->B * each;
}

static const struct letter letters[] = {
    {"R", "C, or 0 without a reduction"},
    {0}
};

const struct declaration sra = {
    .name = "sra",
    .summary = "spatial-reduction attention (Wang et al. 2021)",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct sra_problem),
    .resolve = resolve,
};
