/* lisa_kernels.c -- the spectra of LiSA's kernels, as variant 2 wants them
 *
 * Computed once, in prepare.  Two latents d, d+1 are one complex kernel, real
 * part and imaginary part (of Eq. 4, one table is one real kernel), so a pair's
 * spectrum is a full one and says both.  A last latent without a partner gets
 * zeros. */

#include "lisa_lanes.h"
#include <omp.h>
#include <string.h>
#include "../reference/memory.h"

/* A matrix [rows][columns] for each entry of a kernel, and what a lane's complex
 * kernel is: real part [row][column], imaginary part [row][column + 1] if the
 * columns go in pairs, else 0. */
struct table { const real *entries; size_t rows, columns; bool pairs; };

/* 0 beyond the table's edge: lanes without a channel, a latent without a partner. */
static real table_entry(const struct table *t, size_t e, size_t row, size_t column)
{
    return row < t->rows && column < t->columns ? t->entries[(e * t->rows + row) * t->columns + column] : 0;
}

/* Lays kernels out on the whole circle, lane number l being that of row +
 * l row_step and column + l column_step. */
static void lay_out(const struct lisa_lanes *l, const struct circulant *circle, real *field,
                    const struct table *table, size_t row, size_t row_step, size_t column, size_t column_step)
{
    size_t fast = l->grid.size[2];
    memset(field, 0, l->grid.whole * POINT * sizeof *field);
    for (size_t i = 0; i < circle->points; i++) {
        size_t e = circulant_entry(circle, i);
        real *at = field + (i / fast * l->grid.row + i % fast) * POINT;
        if (e == NO_ENTRY) continue;
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t r = row + lane * row_step, c = column + lane * column_step;
            at[lane] = table_entry(table, e, r, c);
            if (table->pairs) at[LANES + lane] = table_entry(table, e, r, c + 1);
        }
    }
}

/* `count` kernels that all channels share, [count][points][re, im]: transformed
 * side by side in the lanes, and then taken apart. */
static void one_for_all_kernels(const struct lisa_lanes *l, const struct circulant *circle, real *kernels,
                                size_t count, const struct table *table, real *field, real *spectrum, real *line)
{
    size_t each = table->pairs ? 2 : 1;
    for (size_t first = 0; first < count; first += LANES) {
        lay_out(l, circle, field, table, 0, 0, first * each, each);
        lane_grid_kernel(&l->grid, spectrum, field, line);
        for (size_t lane = 0; lane < LANES && first + lane < count; lane++)
            for (size_t f = 0; f < l->grid.points; f++)
                for (size_t part = 0; part < 2; part++)
                    kernels[((first + lane) * l->grid.points + f) * 2 + part] =
                        spectrum[f * POINT + part * LANES + lane];
    }
}

/* A bias [c][D] as points: lanes are channels, re and im two latents. */
static void lay_out_bias(const struct lisa_lanes *l, real *points, const real *bias)
{
    const struct table table = {bias, bias ? l->head_channels : 0, l->latents, true};
    for (size_t b = 0; b < l->blocks * l->pairs; b++)
        for (size_t lane = 0; lane < LANES; lane++)
            for (size_t part = 0; part < 2; part++)
                points[b * POINT + part * LANES + lane] =
                    table_entry(&table, 0, b / l->pairs * LANES + lane, b % l->pairs * 2 + part);
}

status lisa_lanes_kernels(struct lisa_lanes *l, const struct problem *p, const struct circulant *circle)
{
    size_t reals = (l->grid.whole + l->grid.points + 2 * l->grid.line) * POINT;
    real *room = memory_reals(l->threads, reals, 1, 1);
    if (!room) return out_of_memory("the transforms of the kernels");

    /* Step 1: kernels that all channels share. */
    real *spectrum = room + l->grid.whole * POINT, *line = spectrum + l->grid.points * POINT;
    struct table shared = {problem_tensor(p, circle->wraps ? "wb" : "eb"), 1, l->latents, true};
    if (l->equation == 4) shared = (struct table){problem_tensor(p, "e"), 1, l->tables, false};
    one_for_all_kernels(l, circle, l->value_kernels, l->tables, &shared, room, spectrum, line);
    shared.entries = problem_tensor(p, "ea");
    if (l->equation == 5)
        one_for_all_kernels(l, circle, l->key_kernels, l->pairs, &shared, room, spectrum, line);

    /* Step 2: kernels of each channel, where there are such. */
    struct table each = {problem_tensor(p, circle->wraps ? "wa" : "ea"), l->head_channels, l->latents, true};
    size_t kernels = l->equation > 5 ? l->blocks * l->pairs : 0;
    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t b = 0; b < kernels; b++) {
        real *field = room + (size_t)omp_get_thread_num() * reals;
        lay_out(l, circle, field, &each, b / l->pairs * LANES, 1, b % l->pairs * 2, 0);
        lane_grid_kernel(&l->grid, l->key_kernels + b * l->grid.points * POINT, field,
                         field + (l->grid.whole + l->grid.points) * POINT);
    }
    memory_free(room);

    /* Step 3: the biases. */
    lay_out_bias(l, l->key_bias, problem_tensor(p, "ba"));
    lay_out_bias(l, l->value_bias, problem_tensor(p, "bb"));
    return status_ok();
}

