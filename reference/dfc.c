/* dfc.c -- declarations of the fully connected layers; see dfc.h */

#include "dfc.h"
#include <limits.h>
#include <string.h>
#include "runtime/memory.h"

static const struct option no_options[] = {{0}};
static const struct option dfc_options[] = {DFC_ACTIVATION, {0}};
static const struct option cp_options[] = {
    DFC_ACTIVATION,
    {.name = "positions", .kind = OPTION_CHOICE, .default_value = "absolute", .choices = "absolute|relative",
     .meaning = "u2 has a row for each token in, or for each offset"},
    {.name = "grid", .kind = OPTION_GRID, .default_value = "", .low = 2, .high = 2, .letter = "M",
     .meaning = "the token grid for relative positions: HxW"},
    {0}
};

static const struct tensor_row fc_tensors[] = {
    {.name = "x", .shape = "B M C", .meaning = "the tokens in"},
    {.name = "w", .shape = "M N C D", .fan_in = "M*C", .meaning = "a weight for each token and channel in and out"},
    {0}
};

static const struct tensor_row dfc_tensors[] = {
    {.name = "x", .shape = "B M C", .meaning = "the tokens in"},
    {.name = "w", .shape = "B M N C D", .fan_in = "M*C", .meaning = "a weight for each image, token and channel"},
    {.name = "b", .shape = "N D", .optional = true, .fan_in = "1", .meaning = "the bias"},
    {0}
};

static const struct tensor_row cp_tensors[] = {
    {.name = "x", .shape = "B M C", .meaning = "the tokens in"},
    {.name = "u1", .shape = "B R", .optional = true, .fan_in = "1",
     .meaning = "weight of each component for an image; 1 if absent"},
    {.name = "u2", .shape = "M R", .when = "positions=absolute", .fan_in = "M", .meaning = "the tokens in"},
    {.name = "u2", .shape = "P R", .when = "positions=relative", .fan_in = "M", .meaning = "the offsets m - n"},
    {.name = "u3", .shape = "N R", .fan_in = "1", .meaning = "the tokens out"},
    {.name = "u4", .shape = "C R", .fan_in = "C", .meaning = "the channels in"},
    {.name = "u5", .shape = "D R", .fan_in = "R", .meaning = "the channels out"},
    {.name = "b", .shape = "N D", .fan_in = "1", .meaning = "the bias"},
    {0}
};

/* BLAS counts rows and columns in int. */
static status within_blas(const struct problem *p, const char *a, const char *b)
{
    size_t product;
    if (size_multiply(&product, problem_size(p, a), problem_size(p, b)) && product <= INT_MAX) return status_ok();
    return bad_input("%s %s: found %zu x %zu, expected a product of at most %d", a, b, problem_size(p, a),
                     problem_size(p, b), INT_MAX);
}

static status check_fc(const struct problem *p)
{
    status s = within_blas(p, "M", "C");
    return s.code ? s : within_blas(p, "N", "D");
}

/* Relative positions need a plane, and bind its offsets. */
static status derive_cp(struct problem *p)
{
    status s;
    if (strcmp(problem_text(p, "positions"), "relative"))
        return problem_given(p, "grid") ? bad_input("option --grid: found, expected only with --positions relative")
                                        : status_ok();
    if (p->grid.axes != 2)
        return bad_input("option --grid: found %d axes, expected HxW with --positions relative", p->grid.axes);
    if ((s = problem_set_size(p, "M", p->grid.tokens)).code) return s;
    if ((s = problem_set_size(p, "N", p->grid.tokens)).code) return s;
    return problem_set_size(p, "P", p->grid.offsets);
}

static status check_cp(const struct problem *p)
{
    status s = within_blas(p, "B", "M");
    return s.code ? s : within_blas(p, "B", "N");
}

bool dfc_gelu(struct lookup *names)
{
    return lookup_choice(names, "activation") == 0;
}

static status resolve_fc(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct fc_problem *)params = (struct fc_problem){
        .B = lookup_size(&names, "B"), .M = lookup_size(&names, "M"), .N = lookup_size(&names, "N"),
        .C = lookup_size(&names, "C"), .D = lookup_size(&names, "D"), .w = lookup_tensor(&names, "w"),
    };
    return names.error;
}

static status resolve_dfc(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct fc_problem *layer = params;
    status s = resolve_fc(layer, p);
    layer->gelu = dfc_gelu(&names);
    layer->b = lookup_tensor(&names, "b");
    return s.code ? s : names.error;
}

static status resolve_cp(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct dfc_problem *)params = (struct dfc_problem){
        .B = lookup_size(&names, "B"), .M = lookup_size(&names, "M"), .N = lookup_size(&names, "N"),
        .C = lookup_size(&names, "C"), .D = lookup_size(&names, "D"), .R = lookup_size(&names, "R"),
        .gelu = dfc_gelu(&names), .relative = lookup_choice(&names, "positions") == 1, .grid = p->grid,
        .u1 = lookup_tensor(&names, "u1"), .u2 = lookup_tensor(&names, "u2"), .u3 = lookup_tensor(&names, "u3"),
        .u4 = lookup_tensor(&names, "u4"), .u5 = lookup_tensor(&names, "u5"), .b = lookup_tensor(&names, "b"),
    };
    return names.error;
}

double fc_multiply_adds(const void *params)
{
    const struct fc_problem *p = params;
    return (double)p->B * (double)p->M * (double)p->N * (double)p->C * (double)p->D;
}

double dfc_cp_multiply_adds(const void *params)
{
    const struct dfc_problem *p = params;
    double M = (double)p->M, N = (double)p->N, C = (double)p->C, D = (double)p->D, R = (double)p->R;
    double positions = p->relative ? N * M * R + (p->u1 ? N * R : 0) : M * R + (p->u1 ? R : 0);
    return (double)p->B * (M * C * R + positions + N * R + N * D * R);
}

static const struct letter letters[] = {
    {"M", "tokens in"},
    {"N", "tokens out"},
    {"C", "channels in"},
    {"D", "channels out"},
    {"R", "components"},
    {0}
};

const struct declaration fc = {
    .name = "fc",
    .summary = "the most general linear layer, all tokens and channels to all (Eq. 2)",
    .letters = letters,
    .output = "B N D",
    .options = no_options,
    .tensors = fc_tensors,
    .check = check_fc,
    .resolved = sizeof(struct fc_problem),
    .resolve = resolve_fc,
};

const struct declaration dfc = {
    .name = "dfc",
    .summary = "a linear layer for each image, all tokens and channels to all (Eq. 3, 4)",
    .letters = letters,
    .output = "B N D",
    .options = dfc_options,
    .tensors = dfc_tensors,
    .check = check_fc,
    .resolved = sizeof(struct fc_problem),
    .resolve = resolve_dfc,
};

const struct declaration dfc_cp = {
    .name = "dfc-cp",
    .summary = "a layer for each image, in the factors of its CP decomposition (Eq. 5, 6)",
    .letters = letters,
    .output = "B N D",
    .options = cp_options,
    .tensors = cp_tensors,
    .derive = derive_cp,
    .check = check_cp,
    .resolved = sizeof(struct dfc_problem),
    .resolve = resolve_cp,
};
