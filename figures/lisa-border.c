/* lisa-border.c -- where Eq. 10 differs from Eq. 7 of LiSA, token by token
 *
 *     build/figures/lisa-border [GRID]
 *
 * Eq. 7 does not wrap around the grid, Eq. 10 does.  Here both have the same
 * tables: the circular kernel holds for each i - n the RPE entry of the
 * shortest way around, so the two differ only where a pair of tokens is
 * farther apart than half the grid.  Two kinds of tables are tried: normal
 * draws that reach across the whole grid, and the same draws under a Gaussian
 * of four tokens' width, as kernels that have learned to look nearby.  Biases
 * are 0: they add what both equations have in common.
 *
 * One matrix each, in the shape of the grid: the difference of the outputs at
 * a token, root mean square over its channels, relative to the root mean
 * square of Eq. 7's whole output. */

#include <math.h>
#include <stdlib.h>
#include "../reference/lisa.h"
#include "../reference/random.h"
#include "../reference/instruments/tokens.h"
#include "bench.h"

#define CHANNELS 96
#define HEADS 6
#define HEAD_CHANNELS (CHANNELS / HEADS)
#define LATENT 16
#define WIDTH 4.0
#define PI 3.14159265358979323846

/* The table entry, an offset n - i, of circular distance m = i - n. */
static size_t shortest_way(const grid *g, size_t m)
{
    size_t at[GRID_AXES], entry = 0;
    grid_coordinates(at, g, m);
    for (int a = 0; a < g->axes; a++) {
        size_t n = g->size[a], offset = at[a] <= n / 2 ? n - 1 - at[a] : 2 * n - 1 - at[a];
        entry = entry * (2 * n - 1) + offset;
    }
    return entry;
}

/* exp(-r^2 / 2 width^2), r the length of the offset. */
static double envelope(const grid *g, size_t entry, double width)
{
    double square = 0;
    for (int a = g->axes - 1; a >= 0; a--) {
        size_t n = 2 * g->size[a] - 1;
        double r = (double)(entry % n) - (double)(g->size[a] - 1);
        square += r * r;
        entry /= n;
    }
    return exp(-square / (2 * width * width));
}

/* RPE tables [P][columns] and, from them, circular kernels [N][columns]. */
static void make_tables(real *e, real *w, const grid *g, size_t columns, uint64_t stream, double width)
{
    double reach = width > 0 ? PI * width * width : (double)g->tokens;
    random_fill_normal(e, g->offsets * columns, 1, stream, 1 / sqrt(reach));
    for (size_t entry = 0; width > 0 && entry < g->offsets; entry++)
        for (size_t d = 0; d < columns; d++) e[entry * columns + d] *= (real)envelope(g, entry, width);
    for (size_t m = 0; m < g->tokens; m++)
        memcpy(w + m * columns, e + shortest_way(g, m) * columns, columns * sizeof *w);
}

static void print_map(const real *linear, const real *circular, const grid *g, const char *name)
{
    double square = 0;
    for (size_t i = 0; i < g->tokens * CHANNELS; i++) square += (double)linear[i] * (double)linear[i];
    double mean_square = square / (double)(g->tokens * CHANNELS);
    printf("# %s\n", name);
    for (size_t i = 0; i < g->tokens; i++) {
        double difference = 0;
        for (size_t ch = i * CHANNELS; ch < (i + 1) * CHANNELS; ch++)
            difference += pow((double)circular[ch] - (double)linear[ch], 2);
        printf("%.3g%c", sqrt(difference / CHANNELS / mean_square), (i + 1) % g->size[g->axes - 1] ? '\t' : '\n');
    }
    printf("\n\n");
}

/* Both equations with one kind of tables. */
static status compare(const char *grid_word, const grid *g, const char *name, double width)
{
    const char *eq7[] = {"--grid", grid_word, "--heads", "6", "--equation", "7"};
    const char *eq10[] = {"--grid", grid_word, "--heads", "6", "--equation", "10"};
    struct bench linear = {0}, circular = {0};
    struct bench *both[] = {&linear, &circular};
    size_t N = g->tokens, c = HEAD_CHANNELS, D = LATENT;
    real *y = memory_reals(2, N, CHANNELS, 1), *ea = NULL, *eb = NULL, *wa = NULL, *wb = NULL;
    status s = y ? status_ok() : out_of_memory("y");

    /* Step 1: what both have in common. */
    for (int b = 0; b < 2 && !s.code; b++) {
        struct token_source source = {0};
        real *x = bench_add(both[b], "x", 1, N, CHANNELS), *w = bench_add(both[b], "w_qkv", 3 * CHANNELS, CHANNELS, 0);
        bool biases = bench_add(both[b], "ba", c, D, 0) && bench_add(both[b], "bb", c, D, 0);
        if (!x || !w || !biases) s = out_of_memory("tensors");
        else s = tokens_make(x, 1, g, CHANNELS, &source, NULL, 0);
        if (s.code) break;
        random_fill_normal(w, 3 * CHANNELS * CHANNELS, 1, 0, 1 / sqrt((double)CHANNELS));
    }

    /* Step 2: the tables, straight and wrapped. */
    if (!s.code) {
        ea = bench_add(&linear, "ea", g->offsets, c, D);
        eb = bench_add(&linear, "eb", g->offsets, D, 0);
        wa = bench_add(&circular, "wa", N, c, D);
        wb = bench_add(&circular, "wb", N, D, 0);
        if (!ea || !eb || !wa || !wb) s = out_of_memory("tables");
    }
    if (!s.code) {
        make_tables(ea, wa, g, c * D, 3, width);
        make_tables(eb, wb, g, D, 4, width);
    }

    /* Step 3: run and compare. */
    if (!s.code) s = bench_run(y, &linear, &lisa, "fast", 6, eq7, 1);
    if (!s.code) s = bench_run(y + N * CHANNELS, &circular, &lisa, "fast", 6, eq10, 1);
    if (!s.code) print_map(y, y + N * CHANNELS, g, name);
    bench_release(&linear);
    bench_release(&circular);
    memory_free(y);
    return s;
}

int main(int argc, char **argv)
{
    const char *grid_word = argc > 1 ? argv[1] : "56x56";
    grid g;
    status s = grid_parse(&g, grid_word);
    if (!s.code && g.axes != 2) s = bad_input("found a grid of %d axes, expected HxW", g.axes);
    if (!s.code) {
        printf("# lisa-border: |Eq. 10 - Eq. 7| per token over the rms of Eq. 7; grid %s, C %d, heads %d, D %d, "
               "real-image tokens\n", grid_word, CHANNELS, HEADS, LATENT);
        s = compare(grid_word, &g, "wide", 0);
    }
    if (!s.code) s = compare(grid_word, &g, "narrow", WIDTH);
    if (s.code) fprintf(stderr, "lisa-border: %s\n", s.message);
    return s.code;
}
