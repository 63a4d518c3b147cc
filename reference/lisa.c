/* lisa.c -- declaration of LiSA; see lisa.h */

#include "lisa.h"
#include <math.h>

static const struct letter letters[] = {
    {"D", "latent dimensions"},
    {"M", "entries of a kernel, local or of the whole grid"},
    {0}
};

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "equation", .kind = OPTION_CHOICE, .default_value = "10", .choices = "4|5|6|7|10",
     .meaning = "the paper's equation; 10 is LiSA itself"},
    {.name = "kernel", .kind = OPTION_KERNEL, .default_value = "", .letter = "M",
     .meaning = "Eq. 10 with local kernels, odd sizes; without, they span the grid"},
    OPTION_HEADS,
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    TENSORS_QKV,
    {.name = "e", .shape = "P 1 | P h", .when = "equation=4", .fan_in = "N", .meaning = "one RPE, or one per head"},
    {.name = "ea", .shape = "P D", .when = "equation=5", .fan_in = "N", .meaning = "D RPEs that read the correlation"},
    {.name = "ea", .shape = "P c D", .when = "equation=6|7", .fan_in = "N", .meaning = "D RPEs per channel"},
    {.name = "eb", .shape = "P D", .when = "equation=5|6|7", .fan_in = "N", .meaning = "D RPEs that make the kernel"},
    {.name = "wa", .shape = "M c D", .when = "equation=10", .fan_in = "M",
     .meaning = "kernels of the key; M = N, or local"},
    {.name = "wb", .shape = "M D", .when = "equation=10", .fan_in = "M", .meaning = "kernels of the value"},
    {.name = "ba", .shape = "c D", .when = "equation=5", .optional = true, .fan_in = "c",
     .meaning = "bias of the key side"},
    {.name = "ba", .shape = "c D", .when = "equation=7|10", .fan_in = "c", .meaning = "bias of the key side"},
    {.name = "bb", .shape = "c D", .when = "equation=5|6|7|10", .fan_in = "c", .meaning = "bias of the value side"},
    TENSORS_OUTPUT,
    {0}
};

/* Without --kernel, a kernel has an entry for each token. */
static status derive(struct problem *p)
{
    bool local = problem_given(p, "kernel");
    if (local && problem_number(p, "equation") != 10)
        return bad_input("option --kernel: found with --equation %.0f, expected only with --equation 10",
                         problem_number(p, "equation"));
    status s = local ? status_ok() : problem_set_size(p, "M", problem_size(p, "N"));
    return s.code ? s : derive_head_channels(p);
}

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct lisa_problem *l = params;
    *l = (struct lisa_problem){
        .heads = heads_problem(&names), .grid = p->grid,
        .M = lookup_size(&names, "M"), .equation = (int)lookup_number(&names, "equation"),
        .D = lookup_size(&names, "D"),
        .e = lookup_tensor(&names, "e"), .e_columns = lookup_axis(&names, "e", 1),
        .ea = lookup_tensor(&names, "ea"), .eb = lookup_tensor(&names, "eb"),
        .wa = lookup_tensor(&names, "wa"), .wb = lookup_tensor(&names, "wb"),
        .ba = lookup_tensor(&names, "ba"), .bb = lookup_tensor(&names, "bb"),
    };
    if (!names.error.code && lookup_given(&names, "kernel")) {
        status s = grid_create(&l->window, p->grid.axes, lookup_sizes(&names, "kernel"));
        if (s.code) return status_at(s, "option --kernel");
    }
    l->wraps = l->equation == 10 && !l->window.axes;
    return names.error;
}

/* On an axis of n tokens, n - o have a neighbour at distance o on a given side. */
double lisa_pairs(const struct lisa_problem *p)
{
    double pairs = 1;
    if (p->wraps) return (double)p->grid.tokens * (double)p->grid.tokens;
    for (int a = 0; a < GRID_AXES; a++) {
        double n = (double)p->grid.size[a], reach = fmin((double)(p->window.size[a] / 2), n - 1);
        pairs *= n + reach * (2 * n - reach - 1);
    }
    return pairs;
}

const struct declaration lisa = {
    .name = "lisa",
    .summary = "lightweight structure-aware attention (Kwon et al. 2022)",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct lisa_problem),
    .resolve = resolve,
};
