/* structsa.c -- declaration of StructSA; see structsa.h */

#include "structsa.h"
#include <float.h>
#include <string.h>
#include "runtime/lookup.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "kernel", .kind = OPTION_KERNEL, .letter = "M",
     .meaning = "the window around a key, odd sizes: M, MxM or MxMxM"},
    {.name = "value-kernel", .kind = OPTION_KERNEL, .default_value = "", .letter = "M'",
     .meaning = "the window of the aggregators, odd sizes (default: that of the keys)"},
    {.name = "stride", .kind = OPTION_STEPS, .default_value = "1", .low = 1, .high = 65536,
     .meaning = "one key every s tokens along all axes, or along each: s, HxW or TxHxW"},
    {.name = "equation", .kind = OPTION_CHOICE, .default_value = "16", .choices = "4|5|16",
     .meaning = "the paper's equation; 16 is StructSA itself"},
    {.name = "scale", .kind = OPTION_REAL, .default_value = "1", .low = -REAL_MAX, .high = REAL_MAX,
     .meaning = "multiplies q"},
    OPTION_HEADS,
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    TENSORS_QKV,
    {.name = "uk", .shape = "M D", .when = "equation=4|5", .fan_in = "M*c", .meaning = "D pattern detectors"},
    {.name = "uv", .shape = "D", .when = "equation=4", .fan_in = "1", .meaning = "the weight of each pattern"},
    {.name = "uv", .shape = "M' D", .when = "equation=5", .fan_in = "M'", .meaning = "D context aggregators"},
    {.name = "hk", .shape = "D M C", .when = "equation=16", .fan_in = "M*c", .meaning = "D detectors per channel"},
    {.name = "hv", .shape = "D M' C", .when = "equation=16", .fan_in = "M'", .meaning = "D aggregators per channel"},
    TENSORS_OUTPUT,
    {0}
};

/* Without --value-kernel, the value's window is the key's; in Eq. 4 it has one entry. */
static status derive(struct problem *p)
{
    bool element = !strcmp(problem_text(p, "equation"), "4");
    if (problem_given(p, "value-kernel"))
        return element ? bad_input("option --value-kernel: found with --equation 4, expected only with 5 or 16")
                       : derive_head_channels(p);
    status s = problem_set_size(p, "M'", element ? 1 : problem_size(p, "M"));
    return s.code ? s : derive_head_channels(p);
}

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct structsa_problem *s = params;
    static const size_t point[GRID_AXES] = {1, 1, 1};
    const size_t *step = lookup_sizes(&names, "stride"), *key = lookup_sizes(&names, "kernel"), *value = key;
    if (lookup_given(&names, "value-kernel")) value = lookup_sizes(&names, "value-kernel");
    *s = (struct structsa_problem){
        .heads = heads_problem(&names), .equation = (int)lookup_number(&names, "equation"),
        .scale = (real)lookup_number(&names, "scale"),
        .D = lookup_size(&names, "D"),
        .columns = 1, .sets = 1, .stride = {step[0], step[1], step[2]}, .grid = p->grid,
        .uk = lookup_tensor(&names, "uk"), .uv = lookup_tensor(&names, "uv"),
        .hk = lookup_tensor(&names, "hk"), .hv = lookup_tensor(&names, "hv"),
    };
    if (names.error.code) return names.error;
    if (s->equation == 4) value = point;
    if (s->equation == 16) {
        s->columns = s->heads.c;
        s->sets = s->heads.h;
    }
    status windows = grid_create(&s->key_window, p->grid.axes, key);
    if (!windows.code) windows = grid_create(&s->value_window, p->grid.axes, value);
    s->J = neighbours_centres(&s->grid, s->stride);
    s->M = s->key_window.tokens;
    s->Mv = s->value_window.tokens;
    return windows;
}

double structsa_multiply_adds(const void *params)
{
    const struct structsa_problem *p = params;
    double virtual_tokens = (double)p->J * (double)p->D, c = (double)p->heads.c;
    return heads_multiply_adds(&p->heads) + (double)p->heads.B * (double)p->heads.h * virtual_tokens * c
                                            * (2 * (double)p->heads.N + (double)p->M + (double)p->Mv);
}

static const struct letter letters[] = {
    {"D", "structures: patterns that a window of keys is compared with"},
    {"M'", "entries of the aggregators' kernel: the product of its sizes"},
    {0}
};

const struct declaration structsa = {
    .name = "structsa",
    .summary = "structural self-attention (Kim et al. 2024)",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct structsa_problem),
    .resolve = resolve,
};

void structsa_windows_prepare(struct structsa_windows *w, struct arena *arena, enum lifetime filters,
                              const struct structsa_problem *p)
{
    neighbours_prepare(&w->keys, arena, &p->grid, &p->key_window, p->stride, 1);
    neighbours_prepare(&w->values, arena, &p->grid, &p->value_window, p->stride, 1);
    arena_reals(arena, filters, &w->hk, "the detectors", p->sets, p->D, p->M, p->columns);
    arena_reals(arena, filters, &w->hv, "the aggregators", p->sets, p->D, p->Mv, p->columns);
}

/* [sets][D][entries][columns] from h [D][entries][C], C = sets * columns. */
static void slice(real *filters, const real *h, size_t entries, const struct structsa_problem *p)
{
    for (size_t set = 0; set < p->sets; set++)
        for (size_t dm = 0; dm < p->D * entries; dm++)
            for (size_t e = 0; e < p->columns; e++) *filters++ = h[(dm * p->sets + set) * p->columns + e];
}

/* [D][entries] from u [entries][D]. */
static void transpose(real *filters, const real *u, size_t entries, const struct structsa_problem *p)
{
    for (size_t d = 0; d < p->D; d++)
        for (size_t m = 0; m < entries; m++) *filters++ = u[m * p->D + d];
}

void structsa_windows_load(struct structsa_windows *w, const struct structsa_problem *p)
{
    neighbours_load(&w->keys);
    neighbours_load(&w->values);
    if (p->equation == 16) {
        slice(w->hk, p->hk, p->M, p);
        slice(w->hv, p->hv, p->Mv, p);
    } else {
        transpose(w->hk, p->uk, p->M, p);
        transpose(w->hv, p->uv, p->Mv, p);
    }
}
