/* packed_linear.c -- linear maps with their weights repacked once; see
 * packed_linear.h
 *
 * ROWS tokens by WIDE vectors of outputs are sums in registers: for each input
 * WIDE loads and ROWS repeated numbers feed ROWS WIDE multiply-adds.  A panel
 * comes from the second cache, as the tokens pass by it.
 *
 * On one core of a Zen 5 with AVX-512, 196 tokens, 768 inputs and 1024 outputs
 * take 1.35 ms (228 of 265 GFLOP/s), and 1.51 by OpenBLAS; 49 tokens and 1280
 * outputs 0.42 ms, and 0.62.  What did not help: the inputs in parts, so that
 * a panel fits the first cache (sums then pass through memory); 7 rows by 4
 * and 5 by 5; larger chunks.  Beyond a few hundred tokens a BLAS, which lays out
 * the tokens too, is faster: hence one image after the other. */

#include "packed_linear.h"
#include <string.h>
#include "../reference/flight.h"
#include "lanes.h"

/* 24 sums of 32 registers, or 12 of 16. */
#if defined __AVX512F__ || defined __aarch64__
#define ROWS 6
#define WIDE 4
#else
#define ROWS 4
#define WIDE 3
#endif

/* Tokens of an item of work. */
#define CHUNK 48

static void prepare(struct linear *map, struct room *room)
{
    size_t vectors = map->in ? (map->out + LANES - 1) / LANES : 0;
    room_reals(room, OF_LOAD, &map->panels, "repacked weights", vectors, LANES, map->in + 1, 1);
}

/* The panel that holds an output: where it begins, and its vectors. */
static size_t panel_of(size_t *vectors, const struct linear *map, size_t out)
{
    size_t width = WIDE * LANES, wide = map->out / width * width;
    *vectors = out < wide ? WIDE : 1;
    return out / (*vectors * LANES) * (*vectors * LANES);
}

static void load(struct linear *map, size_t first, size_t rows, const real *weight, const real *bias)
{
    /* The last panel is filled up with zeros. */
    if (first + rows == map->out && map->out % LANES)
        for (size_t n = 0; n <= map->in; n++)
            for (size_t l = map->out % LANES; l < LANES; l++)
                map->panels[map->out / LANES * LANES * (map->in + 1) + n * LANES + l] = 0;

    for (size_t row = 0; row < rows; row++) {
        size_t vectors, panel = panel_of(&vectors, map, first + row);
        real *to = map->panels + panel * (map->in + 1) + first + row - panel;
        *to = bias ? bias[row] : 0;
        for (size_t n = 0; n < map->in; n++) to[(n + 1) * vectors * LANES] = weight[row * map->in + n];
    }
}

/* y of so many tokens and one panel, of which `wanted` outputs are written.
 * Callers pass constants for rows and vectors, so that `sum` is registers. */
INLINED void rows_by_panel(real *y, size_t y_stride, const real *x, size_t x_stride, const real *panel,
                                 size_t in, size_t wanted, size_t rows, size_t vectors)
{
    lanes sum[ROWS][WIDE];

    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) sum[r][v] = lanes_load(panel + v * LANES);
    for (size_t n = 0; n < in; n++) {
        panel += vectors * LANES;
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) sum[r][v] += x[r * x_stride + n] * lanes_load(panel + v * LANES);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) {
            if (wanted >= (v + 1) * LANES) lanes_store_anywhere(y + r * y_stride + v * LANES, sum[r][v]);
            else lanes_store_part(y + r * y_stride + v * LANES, sum[r][v], wanted - v * LANES);
        }
}

INLINED void any_rows_by_panel(real *y, size_t y_stride, const real *x, size_t x_stride, const real *panel,
                                     size_t in, size_t wanted, size_t rows, size_t vectors)
{
    switch (rows) {
#if ROWS > 4
    case 6: rows_by_panel(y, y_stride, x, x_stride, panel, in, wanted, 6, vectors); break;
    case 5: rows_by_panel(y, y_stride, x, x_stride, panel, in, wanted, 5, vectors); break;
#endif
    case 4: rows_by_panel(y, y_stride, x, x_stride, panel, in, wanted, 4, vectors); break;
    case 3: rows_by_panel(y, y_stride, x, x_stride, panel, in, wanted, 3, vectors); break;
    case 2: rows_by_panel(y, y_stride, x, x_stride, panel, in, wanted, 2, vectors); break;
    default: rows_by_panel(y, y_stride, x, x_stride, panel, in, wanted, 1, vectors); break;
    }
}

static void apply(real *y, size_t y_stride, const real *x, size_t x_stride, const struct linear *map,
                  size_t tokens, size_t part, size_t parts)
{
    size_t wide = map->out / (WIDE * LANES), narrow = (map->out - wide * WIDE * LANES + LANES - 1) / LANES;
    size_t chunks = (tokens + CHUNK - 1) / CHUNK, items = (wide + narrow) * chunks;

    for (size_t item = share(items, part, parts); item < share(items, part + 1, parts); item++) {
        size_t number = item / chunks, vectors = number < wide ? WIDE : 1;
        size_t out = number < wide ? number * WIDE * LANES : (wide * WIDE + number - wide) * LANES;
        size_t token = share(tokens, item % chunks, chunks), end = share(tokens, item % chunks + 1, chunks);
        const real *panel = map->panels + out * (map->in + 1);

        /* Blocks of almost the same number of tokens, none of them small. */
        for (size_t blocks = (end - token + ROWS - 1) / ROWS; blocks; blocks--) {
            size_t rows = (end - token + blocks - 1) / blocks;
            real *to = y + token * y_stride + out;
            const real *from = x + token * x_stride;
            if (vectors == WIDE)
                any_rows_by_panel(to, y_stride, from, x_stride, panel, map->in, WIDE * LANES, rows, WIDE);
            else any_rows_by_panel(to, y_stride, from, x_stride, panel, map->in, map->out - out, rows, 1);
            token += rows;
        }
    }
}

const struct linear_kind linear_packed = {prepare, load, apply};
