/* regrid.c -- kernels and tables for another grid; see regrid.h */

#include "regrid.h"
#include <complex.h>
#include <math.h>
#include "../runtime/memory.h"

#define TURN 6.283185307179586476925286766559

/* exp(2 pi i k / n). */
static double complex root(size_t k, size_t n)
{
    double angle = TURN * (double)(k % n) / (double)n;
    return cos(angle) + sin(angle) * I;
}

/* The weight at distance d. */
static double cubic_weight(double d)
{
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
}

static void cubic(double complex *matrix, size_t from, size_t to, bool aligned)
{
    for (size_t entry = 0; entry < to * from; entry++) matrix[entry] = 0;
    for (size_t i = 0; i < to; i++) {
        double at = aligned ? to > 1 ? (double)i * (double)(from - 1) / (double)(to - 1) : 0
                            : ((double)i + 0.5) * (double)from / (double)to - 0.5;
        double floor_at = floor(at);
        for (int tap = -1; tap <= 2; tap++) {
            double nearest = fmin(fmax(floor_at + tap, 0), (double)(from - 1));
            matrix[i * from + (size_t)nearest] += cubic_weight(at - floor_at - tap);
        }
    }
}

/* Sum over the frequencies f of the coarse axis: exp(2 pi i f (m/to - n/from)) / to. */
static void zeros(double complex *matrix, size_t from, size_t to)
{
    for (size_t m = 0; m < to; m++)
        for (size_t n = 0; n < from; n++) {
            double sum = 1;
            for (size_t f = 1; 2 * f <= from; f++) {
                double pair = creal(root(f * m, to) * conj(root(f * n, from)));
                sum += 2 * f == from ? pair : 2 * pair;
            }
            matrix[m * from + n] = sum / (double)to;
        }
}

/* Transform, cubic rule along the bins, transform back.  The last axis has only bins 0 to n/2.  Those beyond n/2
 * would be their complex conjugates, so bins between 0 and n/2 count twice. */
static void spectrum(double complex *matrix, double complex *bins, size_t from, size_t to, bool last)
{
    size_t old = last ? from / 2 + 1 : from, new = last ? to / 2 + 1 : to;
    double complex *between = bins + new * old;
    cubic(bins, old, new, true);
    for (size_t f = 0; f < new; f++)
        for (size_t n = 0; n < from; n++) {
            double complex sum = 0;
            for (size_t g = 0; g < old; g++) sum += bins[f * old + g] * conj(root(g * n, from));
            between[f * from + n] = sum;
        }
    for (size_t m = 0; m < to; m++)
        for (size_t n = 0; n < from; n++) {
            double complex sum = 0;
            for (size_t f = 0; f < new; f++)
                sum += (last && f && 2 * f != to ? 2 : 1) * root(f * m, to) * between[f * from + n];
            matrix[m * from + n] = sum / (double)to;
        }
}

/* y [before][to][after] = matrix [to][from] times x [before][from][after]. */
static void along(double complex *y, const double complex *x, const double complex *matrix, size_t before,
                  size_t from, size_t to, size_t after)
{
    for (size_t b = 0; b < before; b++)
        for (size_t m = 0; m < to; m++) {
            double complex *y_m = y + (b * to + m) * after;
            for (size_t i = 0; i < after; i++) y_m[i] = 0;
            for (size_t n = 0; n < from; n++) {
                double complex weight = matrix[m * from + n];
                const double complex *x_n = x + (b * from + n) * after;
                for (size_t i = 0; i < after; i++) y_m[i] += weight * x_n[i];
            }
        }
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

status regrid(real *y, const real *x, size_t outer, const size_t from[GRID_AXES], const size_t to[GRID_AXES],
              size_t inner, enum regrid_rule rule)
{
    size_t old = 1, new = 1, edge = 1, matrix_size, entries = inner;
    bool countable = true;
    int last = 0;
    for (int a = 0; a < GRID_AXES; a++) {
        if (!from[a] || !to[a]) return bad_input("found no token along axis %d, expected one or more", a + 1);
        if (rule == REGRID_ZEROS && to[a] < from[a])
            return bad_input("found %zu tokens along axis %d for %zu, expected no fewer", to[a], a + 1, from[a]);
        old *= from[a];
        new *= to[a];
        countable = countable && size_multiply(&entries, entries, larger(from[a], to[a]));
        edge = larger(edge, larger(from[a], to[a]));
        if (from[a] > 1 || to[a] > 1) last = a;
    }

    /* Memory for an axis's matrices, and for a table before and after one axis. */
    double complex *matrix = NULL, *table = NULL, *next = NULL;
    if (countable && size_multiply(&matrix_size, edge, edge) && size_multiply(&matrix_size, matrix_size, 3)) {
        matrix = memory_get(matrix_size, sizeof *matrix);
        table = memory_get(entries, sizeof *table);
        next = memory_get(entries, sizeof *next);
    }
    bool held = matrix && table && next;
    for (size_t o = 0; o < outer && held; o++) {
        size_t before = 1, after = old * inner;
        for (size_t i = 0; i < old * inner; i++) table[i] = (double)x[o * old * inner + i];
        for (int a = 0; a < GRID_AXES; a++) {
            after /= from[a];
            if (rule == REGRID_ZEROS) zeros(matrix, from[a], to[a]);
            else if (rule == REGRID_BICUBIC) cubic(matrix, from[a], to[a], false);
            else spectrum(matrix, matrix + edge * edge, from[a], to[a], a == last);
            along(next, table, matrix, before, from[a], to[a], after);
            before *= to[a];
            double complex *done = next;
            next = table;
            table = done;
        }
        for (size_t i = 0; i < new * inner; i++) y[o * new * inner + i] = (real)creal(table[i]);
    }
    memory_free(next);
    memory_free(table);
    memory_free(matrix);
    return held ? status_ok() : out_of_memory("a resampled table");
}
