/* kernels.c -- the spectra of LiSA's kernels; see kernels.h */

#include "kernels.h"
#include <string.h>

void lisa_kernels_prepare(struct lisa_kernels *k, struct arena *arena, const struct lisa_problem *p,
                          const struct vec_grid *g)
{
    size_t c = p->heads.c;
    bool each = p->equation > 5;        /* each channel of the key has its own kernels */
    k->blocks = (c + LANES - 1) / LANES;
    k->pairs = ((p->equation == 4 ? c : p->D) + 1) / 2;
    k->tables = p->equation == 4 ? p->e_columns : k->pairs;

    if (p->equation > 4)
        arena_reals(arena, PERSISTENT, &k->key, "the spectra of the key's kernels", each ? k->blocks : 1, k->pairs,
                   g->points, each ? POINT : 2);
    arena_reals(arena, PERSISTENT, &k->value, "the spectra of the value's kernels", k->tables, g->points, 2);
    arena_reals(arena, PERSISTENT, &k->key_bias, "the key's bias", k->blocks, k->pairs, POINT);
    arena_reals(arena, PERSISTENT, &k->value_bias, "the value's bias", k->blocks, k->pairs, POINT);
    arena_reals(arena, LOAD_SCRATCH, &k->field, "a kernel on its circle", g->whole, POINT);
    arena_reals(arena, LOAD_SCRATCH, &k->spectrum, "its spectrum", g->points, POINT);
    arena_reals(arena, LOAD_SCRATCH, &k->line, "a line and its copy", 2 * g->line, POINT);
}

/* A matrix [rows][columns] for each entry of a kernel.  The kernel of a lane has the real part [row][column].  Its
 * imaginary part is [row][column + 1] if `pairs`, else 0. */
struct table { const real *entries; size_t rows, columns; bool pairs; };

/* 0 outside the table: lanes without a channel, the partner of a last odd latent. */
static real table_entry(const struct table *t, size_t e, size_t row, size_t column)
{
    return row < t->rows && column < t->columns ? t->entries[(e * t->rows + row) * t->columns + column] : 0;
}

/* The spectra of L kernels; lane l has row + l row_step and column + l column_step. */
static void transform(real *spectrum, const struct lisa_kernels *k, const struct vec_grid *g,
                      const struct table *table, size_t row, size_t row_step, size_t column, size_t column_step)
{
    size_t fast = g->size[2];
    memset(k->field, 0, g->whole * POINT * sizeof *k->field);
    for (size_t i = 0; i < g->points; i++) {
        size_t e = circulant_entry(&g->circle, i);
        real *at = k->field + (i / fast * g->row + i % fast) * POINT;
        if (e == NO_ENTRY) continue;
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t r = row + lane * row_step, c = column + lane * column_step;
            at[lane] = table_entry(table, e, r, c);
            if (table->pairs) at[LANES + lane] = table_entry(table, e, r, c + 1);
        }
    }
    lane_grid_kernel(g, spectrum, k->field, k->line);
}

/* `count` kernels shared by all channels, [count][points][re, im]: transformed L at a time, then unpacked. */
static void load_shared(real *kernels, size_t count, const struct lisa_kernels *k, const struct vec_grid *g,
                        const struct table *table)
{
    size_t each = table->pairs ? 2 : 1;
    for (size_t first = 0; first < count; first += LANES) {
        transform(k->spectrum, k, g, table, 0, 0, first * each, each);
        for (size_t lane = 0; lane < LANES && first + lane < count; lane++)
            for (size_t f = 0; f < g->points; f++)
                for (size_t part = 0; part < 2; part++)
                    kernels[((first + lane) * g->points + f) * 2 + part] = k->spectrum[f * POINT + part * LANES + lane];
    }
}

/* A bias [c][D] as points: lanes are channels, re and im are two latents. */
static void load_bias(real *points, const struct lisa_kernels *k, const struct lisa_problem *p, const real *bias)
{
    const struct table table = {bias, bias ? p->heads.c : 0, p->D, true};
    for (size_t b = 0; b < k->blocks * k->pairs; b++)
        for (size_t lane = 0; lane < LANES; lane++)
            for (size_t part = 0; part < 2; part++)
                points[b * POINT + part * LANES + lane] =
                    table_entry(&table, 0, b / k->pairs * LANES + lane, b % k->pairs * 2 + part);
}

void lisa_kernels_load(struct lisa_kernels *k, const struct lisa_problem *p, const struct vec_grid *g)
{
    const real *a = p->wa ? p->wa : p->ea, *b = p->wb ? p->wb : p->eb;

    /* Step 1: kernels that all channels share. */
    const struct table value = {b, 1, p->D, true}, rpes = {p->e, 1, p->e_columns, false}, key = {a, 1, p->D, true};
    load_shared(k->value, k->tables, k, g, p->e ? &rpes : &value);
    if (p->equation == 5) load_shared(k->key, k->pairs, k, g, &key);

    /* Step 2: kernels of each channel (Eq. 6, 7 and 10). */
    const struct table each = {a, p->heads.c, p->D, true};
    size_t kernels = p->equation > 5 ? k->blocks * k->pairs : 0;
    for (size_t pair = 0; pair < kernels; pair++)
        transform(k->key + pair * g->points * POINT, k, g, &each, pair / k->pairs * LANES, 1, pair % k->pairs * 2, 0);

    /* Step 3: the biases. */
    load_bias(k->key_bias, k, p, p->ba);
    load_bias(k->value_bias, k, p, p->bb);
}
