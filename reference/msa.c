/* msa.c -- declaration of self-attention; see msa.h */

#include "msa.h"
#include <float.h>
#include <math.h>

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    OPTION_HEADS,
    OPTION_SCALE,
    {.name = "window", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = 65536,
     .meaning = "attend within windows of this edge (2-D grids)"},
    {.name = "shift", .kind = OPTION_INTEGER, .default_value = "0", .low = 0, .high = 65535,
     .meaning = "roll the plane by this many tokens before cutting windows"},
    OPTIONS_GHOST,
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    TENSORS_QKV,
    {.name = "rpe", .shape = "P 1 | P h | E*E 1 | E*E h", .optional = true, .fan_in = "1",
     .meaning = "added to the scores, one for all heads or one per head; offsets key minus query"},
    TENSORS_GHOST("C P", "window=", "head-map|lambda|gamma"),
    TENSORS_OUTPUT,
    {0}
};

static const struct letter letters[] = {{"E", "offsets along an edge of a window, 2 window - 1"}, {0}};

static status derive(struct problem *p)
{
    struct lookup names = {.problem = p};
    static const char *const ghost[] = {"head-map", "lambda", "gamma"};
    size_t s = lookup_whole(&names, "window"), t = lookup_whole(&names, "shift");
    if (names.error.code) return names.error;
    if (s && p->grid.axes != 2)
        return bad_input("option --window: found a grid of %d axes, expected two", p->grid.axes);
    if (s && (p->grid.size[0] % s || p->grid.size[1] % s))
        return bad_input("option --window: found %zu, expected a divisor of %zu and %zu", s,
                         p->grid.size[0], p->grid.size[1]);
    if (!s && problem_given(p, "shift"))
        return bad_input("option --shift: found without --window, expected windows to shift");
    if (s && t >= s) return bad_input("option --shift: found %zu, expected less than the window's edge, %zu", t, s);
    for (size_t o = 0; s && o < sizeof ghost / sizeof *ghost; o++)
        if (problem_given(p, ghost[o]))
            return bad_input("option --%s: found with --window, expected no ghost head in windows", ghost[o]);
    status made = s ? problem_set_size(p, "E", 2 * s - 1) : status_ok();
    return made.code ? made : derive_head_channels(p);
}

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct msa_problem *m = params;
    *m = (struct msa_problem){
        .heads = heads_problem(&names), .scale = heads_scale(&names),
        .rpe = lookup_tensor(&names, "rpe"), .rpe_columns = lookup_axis(&names, "rpe", 1), .table = p->grid,
    };
    m->ghost = ghost_problem(&names, p->grid.offsets);
    status s = windows_create(&m->windows, &p->grid, lookup_whole(&names, "window"));
    if (!s.code) s = windows_shift(&m->windows, lookup_whole(&names, "shift"));
    size_t edge = m->windows.edge, sides[] = {edge, edge}, E = 2 * edge - 1;
    if (!s.code && edge && lookup_axis(&names, "rpe", 0) == E * E) s = grid_create(&m->table, 2, sides);
    return names.error.code ? names.error : s;
}

static status check(const struct problem *p)
{
    struct msa_problem m;
    status s = resolve(&m, p);
    return s.code ? s : ghost_check(&m.ghost);
}

size_t msa_offset(const struct msa_problem *m, size_t i, size_t j)
{
    if (m->table.tokens == m->windows.grid.tokens) return grid_offset(&m->table, i, j);
    return grid_offset(&m->table, windows_entry(&m->windows, i), windows_entry(&m->windows, j));
}

double msa_multiply_adds(const struct msa_problem *m, double pairs)
{
    double products = m->ghost.add ? 3 : 2;
    return heads_multiply_adds(&m->heads) + products * (double)m->heads.B * pairs * (double)m->heads.C;
}

const struct declaration msa = {
    .name = "msa",
    .summary = "multi-head self-attention, plain, in windows, shifted or not, with an RPE (Vaswani et al. 2017)",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .check = check,
    .resolved = sizeof(struct msa_problem),
    .resolve = resolve,
};
