/* hilo.c -- the declaration of HiLo; see hilo.h */

#include "hilo.h"
#include <limits.h>
#include <math.h>
#include "memory.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "heads", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads, each of c = C/h channels"},
    {.name = "window", .kind = OPTION_INTEGER, .fallback = "2", .low = 1, .high = 65536, .letter = "s",
     .meaning = "windows are s x s tokens; 1 is plain attention, all heads in Lo-Fi"},
    {.name = "alpha", .kind = OPTION_REAL, .fallback = "0.9", .low = 0, .high = 1,
     .meaning = "share of the heads in Lo-Fi, rounded down to whole heads"},
    {.name = "pooled-queries", .kind = OPTION_FLAG, .meaning = "Lo-Fi's queries from the pooled map too (Tab. 9)"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "h_qkv", .shape = "3*hd C", .fan = "C", .meaning = "Hi-Fi: rows make query, key, value"},
    {.name = "h_qkv_b", .shape = "3*hd", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "h_proj", .shape = "hd hd", .fan = "hd", .meaning = "Hi-Fi: output projection"},
    {.name = "h_proj_b", .shape = "hd", .optional = true, .fan = "hd", .meaning = "its bias"},
    {.name = "l_q", .shape = "ld C", .fan = "C", .meaning = "Lo-Fi: rows make the query"},
    {.name = "l_q_b", .shape = "ld", .optional = true, .fan = "C", .meaning = "its bias"},
    {.name = "l_kv", .shape = "2*ld C", .fan = "C", .meaning = "Lo-Fi: rows make key and value of a window"},
    {.name = "l_kv_b", .shape = "2*ld", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "l_proj", .shape = "ld ld", .fan = "ld", .meaning = "Lo-Fi: output projection"},
    {.name = "l_proj_b", .shape = "ld", .optional = true, .fan = "ld", .meaning = "its bias"},
    {0}
};

/* hd and ld, the channels of the branches; and a padded plane that can be counted. */
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
    if ((result = problem_set_size(p, "hd", (h - low) * c)).code) return result;
    return problem_set_size(p, "ld", low * c);
}

const struct declaration hilo = {
    .name = "hilo",
    .summary = "HiLo attention: local heads and pooled global heads (Pan et al. 2022)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .forms = {&hilo_naive, &hilo_fast},
};

/* ---- what both forms read off a problem -------------------------------- */

struct hilo_sizes hilo_sizes(const struct problem *p)
{
    struct hilo_sizes z = {
        .B = problem_size(p, "B"), .H = p->grid.size[0], .W = p->grid.size[1], .N = problem_size(p, "N"),
        .s = problem_size(p, "s"), .C = problem_size(p, "C"), .c = problem_size(p, "c"),
        .hd = problem_size(p, "hd"), .ld = problem_size(p, "ld"), .pooled_queries = problem_given(p, "pooled-queries"),
    };
    z.rows = (z.H + z.s - 1) / z.s;
    z.columns = (z.W + z.s - 1) / z.s;
    z.windows = z.rows * z.columns;
    z.M = z.windows * z.s * z.s;
    z.scale = (real)(1 / sqrt((double)z.c));
    return z;
}

double hilo_projection_multiply_adds(const struct hilo_sizes *z, size_t tokens)
{
    double N = (double)tokens, n = (double)z->windows, C = (double)z->C, hd = (double)z->hd, ld = (double)z->ld;
    double queries = z->pooled_queries ? n : N;
    return (double)z->B * (N * hd * (3 * C + hd) + queries * ld * (C + ld) + 2 * n * C * ld);
}
