/* msa.c -- the declaration of self-attention; see msa.h */

#include "msa.h"
#include <float.h>
#include <math.h>

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    OPTION_HEADS,
    OPTION_SCALE,
    {.name = "window", .kind = OPTION_INTEGER, .fallback = "", .low = 1, .high = 65536,
     .meaning = "attend within windows of this edge (2-D grids)"},
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    TENSORS_QKV,
    {.name = "rpe", .shape = "P 1 | P h", .optional = true, .fan = "1",
     .meaning = "one RPE added to the scores, or one per head"},
    TENSORS_OUTPUT,
    {0}
};

static status derive(struct problem *p)
{
    struct lookup names = {.problem = p};
    size_t s = lookup_whole(&names, "window");
    if (names.refusal.code) return names.refusal;
    if (s && p->grid.axes != 2)
        return bad_input("option --window: found a grid of %d axes, expected two", p->grid.axes);
    if (s && (p->grid.size[0] % s || p->grid.size[1] % s))
        return bad_input("option --window: found %zu, expected a divisor of %zu and %zu", s,
                         p->grid.size[0], p->grid.size[1]);
    return derive_head_channels(p);
}

static status resolve(void *of, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct msa_problem *m = of;
    *m = (struct msa_problem){
        .heads = heads_problem(&names), .c = lookup_size(&names, "c"), .scale = heads_scale(&names),
        .rpe = lookup_tensor(&names, "rpe"), .rpe_columns = lookup_axis(&names, "rpe", 1),
    };
    status s = windows_create(&m->windows, &p->grid, lookup_whole(&names, "window"));
    return names.refusal.code ? names.refusal : s;
}

double msa_multiply_adds(const void *of)
{
    const struct msa_problem *m = of;
    return heads_multiply_adds(&m->heads) + 2.0 * (double)m->heads.B * (double)m->heads.N
                                            * (double)m->windows.entries * (double)m->heads.C;
}

const struct declaration msa = {
    .name = "msa",
    .summary = "multi-head self-attention, plain, windowed, with an RPE (Vaswani et al. 2017)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct msa_problem),
    .resolve = resolve,
};
