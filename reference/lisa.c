/* lisa.c -- the declaration of LiSA; see lisa.h */

#include "lisa.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "equation", .kind = OPTION_CHOICE, .fallback = "10", .choices = "4|5|6|7|10",
     .meaning = "the paper's equation; 10 is LiSA itself"},
    {.name = "heads", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads, each of c = C/h channels"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "w_qkv", .shape = "3*C C", .fan = "C", .meaning = "rows make query, key, value"},
    {.name = "b_qkv", .shape = "3*C", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "e", .shape = "P 1 | P h", .when = "equation=4", .fan = "N", .meaning = "one RPE, or one per head"},
    {.name = "ea", .shape = "P D", .when = "equation=5", .fan = "N", .meaning = "D RPEs that read the correlation"},
    {.name = "ea", .shape = "P c D", .when = "equation=6|7", .fan = "N", .meaning = "D RPEs per channel"},
    {.name = "eb", .shape = "P D", .when = "equation=5|6|7", .fan = "N", .meaning = "D RPEs that make the kernel"},
    {.name = "wa", .shape = "N c D", .when = "equation=10", .fan = "N", .meaning = "circular kernels of the key"},
    {.name = "wb", .shape = "N D", .when = "equation=10", .fan = "N", .meaning = "circular kernels of the value"},
    {.name = "ba", .shape = "c D", .when = "equation=7|10", .fan = "c", .meaning = "bias beside the key side"},
    {.name = "bb", .shape = "c D", .when = "equation=5|6|7|10", .fan = "c", .meaning = "bias beside the value side"},
    {.name = "w_o", .shape = "C C", .optional = true, .fan = "C", .meaning = "output projection"},
    {.name = "b_o", .shape = "C", .optional = true, .with = "w_o", .fan = "C", .meaning = "its bias"},
    {0}
};

const struct declaration lisa = {
    .name = "lisa",
    .summary = "lightweight structure-aware attention (Kwon et al. 2022)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive_head_channels,
    .forms = {&lisa_naive, &lisa_fast, &lisa_fftw},
};
