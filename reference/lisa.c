/* lisa.c -- the declaration of LiSA; see lisa.h */

#include "lisa.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "equation", .kind = OPTION_CHOICE, .fallback = "10", .choices = "4|5|6|7|10",
     .meaning = "the paper's equation; 10 is LiSA itself"},
    OPTION_HEADS,
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    TENSORS_QKV,
    {.name = "e", .shape = "P 1 | P h", .when = "equation=4", .fan = "N", .meaning = "one RPE, or one per head"},
    {.name = "ea", .shape = "P D", .when = "equation=5", .fan = "N", .meaning = "D RPEs that read the correlation"},
    {.name = "ea", .shape = "P c D", .when = "equation=6|7", .fan = "N", .meaning = "D RPEs per channel"},
    {.name = "eb", .shape = "P D", .when = "equation=5|6|7", .fan = "N", .meaning = "D RPEs that make the kernel"},
    {.name = "wa", .shape = "N c D", .when = "equation=10", .fan = "N", .meaning = "circular kernels of the key"},
    {.name = "wb", .shape = "N D", .when = "equation=10", .fan = "N", .meaning = "circular kernels of the value"},
    {.name = "ba", .shape = "c D", .when = "equation=7|10", .fan = "c", .meaning = "bias beside the key side"},
    {.name = "bb", .shape = "c D", .when = "equation=5|6|7|10", .fan = "c", .meaning = "bias beside the value side"},
    TENSORS_OUTPUT,
    {0}
};

static status resolve(void *of, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct lisa_problem *l = of;
    *l = (struct lisa_problem){
        .heads = heads_problem(&names), .g = p->grid, .D = lookup_size(&names, "D"),
        .equation = (int)lookup_number(&names, "equation"),
        .e = lookup_tensor(&names, "e"), .e_columns = lookup_axis(&names, "e", 1),
        .ea = lookup_tensor(&names, "ea"), .eb = lookup_tensor(&names, "eb"),
        .wa = lookup_tensor(&names, "wa"), .wb = lookup_tensor(&names, "wb"),
        .ba = lookup_tensor(&names, "ba"), .bb = lookup_tensor(&names, "bb"),
    };
    return names.refusal;
}

const struct declaration lisa = {
    .name = "lisa",
    .summary = "lightweight structure-aware attention (Kwon et al. 2022)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive_head_channels,
    .resolved = sizeof(struct lisa_problem),
    .resolve = resolve,
};
