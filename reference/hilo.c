/* hilo.c -- declaration of HiLo; see hilo.h */

#include "hilo.h"
#include <limits.h>
#include <math.h>
#include "runtime/heads.h"
#include "runtime/memory.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    OPTION_HEADS,
    {.name = "window", .kind = OPTION_INTEGER, .default_value = "2", .low = 1, .high = 65536, .letter = "s",
     .meaning = "windows are s x s tokens; 1 is plain attention, all heads in Lo-Fi"},
    {.name = "alpha", .kind = OPTION_REAL, .default_value = "0.9", .low = 0, .high = 1,
     .meaning = "share of the heads in Lo-Fi, rounded down to whole heads"},
    {.name = "pooled-queries", .kind = OPTION_FLAG, .meaning = "Lo-Fi's queries from the pooled map too (Tab. 9)"},
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    {.name = "h_qkv", .shape = "3*hd C", .fan_in = "C", .meaning = "Hi-Fi: rows make query, key, value"},
    {.name = "h_qkv_b", .shape = "3*hd", .optional = true, .fan_in = "C", .meaning = "their bias"},
    {.name = "h_proj", .shape = "hd hd", .fan_in = "hd", .meaning = "Hi-Fi: output projection"},
    {.name = "h_proj_b", .shape = "hd", .optional = true, .fan_in = "hd", .meaning = "its bias"},
    {.name = "l_q", .shape = "ld C", .fan_in = "C", .meaning = "Lo-Fi: rows make the query"},
    {.name = "l_q_b", .shape = "ld", .optional = true, .fan_in = "C", .meaning = "its bias"},
    {.name = "l_kv", .shape = "2*ld C", .fan_in = "C", .meaning = "Lo-Fi: rows make key and value of a window"},
    {.name = "l_kv_b", .shape = "2*ld", .optional = true, .fan_in = "C", .meaning = "their bias"},
    {.name = "l_proj", .shape = "ld ld", .fan_in = "ld", .meaning = "Lo-Fi: output projection"},
    {.name = "l_proj_b", .shape = "ld", .optional = true, .fan_in = "ld", .meaning = "its bias"},
    {0}
};

/* Sets hd and ld.  Rejects batches with more than INT_MAX padded tokens. */
static status derive(struct problem *p)
{
    size_t s = problem_size(p, "s"), h = problem_size(p, "h"), tokens = problem_size(p, "B");
    status result = derive_head_channels(p);
    if (result.code) return result;
    for (int a = 0; a < 2; a++)
        if (!size_multiply(&tokens, tokens, (p->grid.size[a] + s - 1) / s * s) || tokens > INT_MAX)
            return bad_input("option --window: found %zu, which pads %zu images of %zu x %zu tokens to more than %d",
                             s, problem_size(p, "B"), p->grid.size[0], p->grid.size[1], INT_MAX);
    size_t low = s == 1 ? h : (size_t)floor(problem_number(p, "alpha") * (double)h), c = problem_size(p, "c");
    result = problem_set_size(p, "hd", (h - low) * c);
    return result.code ? result : problem_set_size(p, "ld", low * c);
}

static status resolve(void *params, const struct problem *problem)
{
    struct lookup names = {.problem = problem};
    struct hilo_problem *p = params;
    *p = (struct hilo_problem){
        .B = lookup_size(&names, "B"), .H = problem->grid.size[0], .W = problem->grid.size[1],
        .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"), .c = lookup_size(&names, "c"),
        .s = lookup_size(&names, "s"), .hd = lookup_size(&names, "hd"), .ld = lookup_size(&names, "ld"),
        .pooled_queries = lookup_given(&names, "pooled-queries"),
        .scale = (real)(1 / sqrt((double)lookup_size(&names, "c"))),
        .h_qkv = lookup_tensor(&names, "h_qkv"), .h_qkv_b = lookup_tensor(&names, "h_qkv_b"),
        .h_proj = lookup_tensor(&names, "h_proj"), .h_proj_b = lookup_tensor(&names, "h_proj_b"),
        .l_q = lookup_tensor(&names, "l_q"), .l_q_b = lookup_tensor(&names, "l_q_b"),
        .l_kv = lookup_tensor(&names, "l_kv"), .l_kv_b = lookup_tensor(&names, "l_kv_b"),
        .l_proj = lookup_tensor(&names, "l_proj"), .l_proj_b = lookup_tensor(&names, "l_proj_b"),
    };
    if (names.error.code) return names.error;

    /* The padded plane is built without grid_create: nothing needs its offsets, and they may exceed INT_MAX. */
    status s = windows_create(&p->windows, &problem->grid, p->s);
    if (s.code) return s;
    p->n = p->windows.count;
    p->M = p->n * p->s * p->s;
    const grid padded = {.axes = 2, .size = {p->windows.rows * p->s, p->windows.columns * p->s, 1}, .tokens = p->M};
    return windows_create(&p->padded, &padded, p->s);
}

void hilo_maps_prepare(struct hilo_maps *maps, struct arena *arena, const struct hilo_problem *p)
{
    linear_prepare(&maps->h_qkv, &linear_as_it_lies, arena, p->C, 3 * p->hd);
    linear_prepare(&maps->h_proj, &linear_as_it_lies, arena, p->hd, p->hd);
    linear_prepare(&maps->l_q, &linear_as_it_lies, arena, p->C, p->ld);
    linear_prepare(&maps->l_kv, &linear_as_it_lies, arena, p->C, 2 * p->ld);
    linear_prepare(&maps->l_proj, &linear_as_it_lies, arena, p->ld, p->ld);
}

void hilo_maps_load(struct hilo_maps *maps, const struct hilo_problem *p)
{
    linear_load(&maps->h_qkv, 0, 3 * p->hd, p->h_qkv, p->h_qkv_b);
    linear_load(&maps->h_proj, 0, p->hd, p->h_proj, p->h_proj_b);
    linear_load(&maps->l_q, 0, p->ld, p->l_q, p->l_q_b);
    linear_load(&maps->l_kv, 0, 2 * p->ld, p->l_kv, p->l_kv_b);
    linear_load(&maps->l_proj, 0, p->ld, p->l_proj, p->l_proj_b);
}

double hilo_projections(const struct hilo_problem *p, size_t tokens)
{
    double N = (double)tokens, n = (double)p->n, C = (double)p->C, hd = (double)p->hd, ld = (double)p->ld;
    double queries = p->pooled_queries ? n : N;
    return (double)p->B * (N * hd * (3 * C + hd) + queries * ld * (C + ld) + 2 * n * C * ld);
}

static const struct letter letters[] = {
    {"hd", "channels of Hi-Fi's heads"},
    {"ld", "channels of Lo-Fi's heads"},
    {0}
};

const struct declaration hilo = {
    .name = "hilo",
    .summary = "HiLo attention: local heads and pooled global heads (Pan et al. 2022)",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct hilo_problem),
    .resolve = resolve,
};
