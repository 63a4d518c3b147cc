/* kernels.c -- the spectra of LiSA's kernels; see kernels.h
 *
 * The kernels of each channel are most of a large plan's parameters.  All threads first copy the kernels to the
 * arrays of their spectra, which reads each cache line once.  Each kernel is then transformed in its array. */

#include "kernels.h"
#include <omp.h>
#include <string.h>
#include "../../../reference/runtime/bytes.h"
#include "../transpose.h"

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
    k->threads = arena->threads;
    size_t threads = (size_t)k->threads;
    arena_reals(arena, LOAD_SCRATCH, &k->field, "a kernel on its circle", threads, g->whole, POINT);
    arena_reals(arena, LOAD_SCRATCH, &k->spectrum, "its spectrum", g->points, POINT);
    arena_reals(arena, LOAD_SCRATCH, &k->line, "a line and its copy", threads, 2 * g->line, POINT);
}

/* A matrix [rows][columns] for each entry of a kernel.  The kernel of a lane has the real part [row][column].  Its
 * imaginary part is [row][column + 1] if `pairs`, else 0. */
struct table { const real *entries; size_t rows, columns; bool pairs; };

/* 0 outside the table: lanes without a channel, the partner of a last odd latent. */
static real table_entry(const struct table *t, size_t e, size_t row, size_t column)
{
    return row < t->rows && column < t->columns ? t->entries[(e * t->rows + row) * t->columns + column] : 0;
}

/* The spectra of L kernels; lane l has column + l column_step of the only row. */
static void transform(real *spectrum, const struct lisa_kernels *k, const struct vec_grid *g,
                      const struct table *table, size_t column, size_t column_step)
{
    size_t fast = g->size[2];
    memset(k->field, 0, g->whole * POINT * sizeof *k->field);
    for (size_t i = 0; i < g->points; i++) {
        size_t e = circulant_entry(&g->circle, i);
        real *at = k->field + (i / fast * g->row + i % fast) * POINT;
        if (e == NO_ENTRY) continue;
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t c = column + lane * column_step;
            at[lane] = table_entry(table, e, 0, c);
            if (table->pairs) at[LANES + lane] = table_entry(table, e, 0, c + 1);
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
        transform(k->spectrum, k, g, table, first * each, each);
        for (size_t lane = 0; lane < LANES && first + lane < count; lane++)
            for (size_t f = 0; f < g->points; f++)
                for (size_t part = 0; part < 2; part++)
                    kernels[((first + lane) * g->points + f) * 2 + part] = k->spectrum[f * POINT + part * LANES + lane];
    }
}

/* Point i of the kernels of each channel, from a [entries][c][D]: lane l is channel l of its block. */
static void gather(const struct lisa_kernels *k, const struct vec_grid *g, const struct lisa_problem *p,
                   const real *a, size_t i)
{
    size_t e = circulant_entry(&g->circle, i), c = e == NO_ENTRY ? 0 : p->heads.c, D = p->D, latents = 2 * k->pairs;

    for (size_t block = 0; block < k->blocks; block++)
        for (size_t d = 0; d < latents; d += LANES) {
            size_t channel = block * LANES;
            vec square[LANES];
            for (size_t l = 0; l < LANES; l++, channel++) {
                const real *from = channel < c ? a + (e * c + channel) * D + d : NULL;
                square[l] = from && D - d >= LANES ? vec_loadu(from) : vec_load_partial(from, from ? D - d : 0);
            }
            vec_transpose(square);
            real *to = k->key + ((block * k->pairs + d / 2) * g->points + i) * POINT;
            for (size_t n = 0; n < LANES && d + n < latents; n++)
                vec_store(to + n / 2 * g->points * POINT + n % 2 * LANES, square[n]);
        }
}

/* The spectra of the kernels of each channel (Eq. 6, 7 and 10).  If team_begins fails, one thread computes them, and
 * the run returns the error. */
static void load_each(const struct lisa_kernels *k, const struct lisa_problem *p, const struct vec_grid *g,
                      const real *a)
{
    size_t fast = g->size[2];
    #pragma omp parallel num_threads(team_begins(k->threads).code ? 1 : k->threads)
    {
        size_t thread = (size_t)omp_get_thread_num();
        real *field = k->field + thread * g->whole * POINT, *line = k->line + thread * 2 * g->line * POINT;

        #pragma omp for schedule(static)
        for (size_t i = 0; i < g->points; i++) gather(k, g, p, a, i);
        #pragma omp for schedule(dynamic)
        for (size_t n = 0; n < k->blocks * k->pairs; n++) {
            real *kernel = k->key + n * g->points * POINT;
            for (size_t row = 0; row < g->points / fast; row++)
                memcpy(field + row * g->row * POINT, kernel + row * fast * POINT, fast * POINT * sizeof *field);
            lane_grid_kernel(g, kernel, field, line);
        }
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

    /* Step 2: kernels of each channel. */
    if (p->equation > 5) load_each(k, p, g, a);

    /* Step 3: the biases. */
    load_bias(k->key_bias, k, p, p->ba);
    load_bias(k->value_bias, k, p, p->bb);
}
