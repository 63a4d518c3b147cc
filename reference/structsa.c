/* structsa.c -- the declaration of StructSA; see structsa.h */

#include "structsa.h"
#include <float.h>
#include "memory.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "kernel", .kind = OPTION_KERNEL, .meaning = "the window around a key, odd sizes: M, MxM or MxMxM"},
    {.name = "stride", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536,
     .meaning = "keys stand on every so-manieth token of each axis"},
    {.name = "equation", .kind = OPTION_CHOICE, .fallback = "16", .choices = "4|5|16",
     .meaning = "the paper's equation; 16 is StructSA itself"},
    {.name = "scale", .kind = OPTION_REAL, .fallback = "1", .low = -DBL_MAX, .high = DBL_MAX, .meaning = "multiplies q"},
    {.name = "heads", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads, each of c = C/h channels"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "w_qkv", .shape = "3*C C", .fan = "C", .meaning = "rows make query, key, value"},
    {.name = "b_qkv", .shape = "3*C", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "uk", .shape = "M D", .when = "equation=4|5", .fan = "M*c", .meaning = "D pattern detectors"},
    {.name = "uv", .shape = "D", .when = "equation=4", .fan = "1", .meaning = "the weight of each pattern"},
    {.name = "uv", .shape = "M D", .when = "equation=5", .fan = "M", .meaning = "D context aggregators"},
    {.name = "hk", .shape = "D M C", .when = "equation=16", .fan = "M*c", .meaning = "D pattern detectors per channel"},
    {.name = "hv", .shape = "D M C", .when = "equation=16", .fan = "M", .meaning = "D context aggregators per channel"},
    {.name = "w_o", .shape = "C C", .optional = true, .fan = "C", .meaning = "output projection"},
    {.name = "b_o", .shape = "C", .optional = true, .with = "w_o", .fan = "C", .meaning = "its bias"},
    {0}
};

const struct declaration structsa = {
    .name = "structsa",
    .summary = "structural self-attention (Kim et al. 2024)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive_head_channels,
    .forms = {&structsa_naive, &structsa_fast, &structsa_permuted},
};

/* ---- sides --------------------------------------------------------------- */

/* The slice of a head, from [D][M][heads columns]. */
static void slice(real *filters, const real *h, const struct structsa_sides *s, size_t entries)
{
    for (size_t head = 0; head < s->heads; head++)
        for (size_t dm = 0; dm < s->D * entries; dm++)
            for (size_t c = 0; c < s->columns; c++)
                *filters++ = h[(dm * s->heads + head) * s->columns + c];
}

/* [D][M] from [M][D]. */
static void turn(real *filters, const real *u, const struct structsa_sides *s, size_t entries)
{
    for (size_t d = 0; d < s->D; d++)
        for (size_t m = 0; m < entries; m++) filters[d * entries + m] = u[m * s->D + d];
}

status structsa_sides_create(struct structsa_sides *s, const struct problem *p)
{
    int equation = (int)problem_number(p, "equation");
    size_t stride = (size_t)problem_number(p, "stride");
    grid point;
    status result;

    /* Step 1: the windows. */
    *s = (struct structsa_sides){.D = problem_size(p, "D"), .columns = 1, .heads = 1};
    if (equation == 16) {
        s->columns = problem_size(p, "c");
        s->heads = problem_size(p, "h");
    }
    if ((result = grid_create(&point, p->grid.axes, (size_t[]){1, 1, 1})).code) return result;
    if ((result = neighbours_create(&s->keys, &p->grid, &p->kernel, stride, 1)).code) return result;
    if ((result = neighbours_create(&s->values, &p->grid, equation == 4 ? &point : &p->kernel, stride, 1)).code)
        return result;

    /* Step 2: the filters, in one layout. */
    s->hk = memory_reals(s->heads, s->D, s->keys.entries, s->columns);
    s->hv = memory_reals(s->heads, s->D, s->values.entries, s->columns);
    if (!s->hk || !s->hv) return out_of_memory("the filters");
    if (equation == 16) {
        slice(s->hk, problem_tensor(p, "hk"), s, s->keys.entries);
        slice(s->hv, problem_tensor(p, "hv"), s, s->values.entries);
    } else {
        turn(s->hk, problem_tensor(p, "uk"), s, s->keys.entries);
        turn(s->hv, problem_tensor(p, "uv"), s, s->values.entries);
    }
    return status_ok();
}

void structsa_sides_release(struct structsa_sides *s)
{
    neighbours_release(&s->keys);
    neighbours_release(&s->values);
    memory_free(s->hk);
    memory_free(s->hv);
    s->hk = s->hv = NULL;
}

const real *structsa_hk(const struct structsa_sides *s, size_t head)
{
    return s->hk + (s->heads > 1 ? head : 0) * s->D * s->keys.entries * s->columns;
}

const real *structsa_hv(const struct structsa_sides *s, size_t head)
{
    return s->hv + (s->heads > 1 ? head : 0) * s->D * s->values.entries * s->columns;
}
