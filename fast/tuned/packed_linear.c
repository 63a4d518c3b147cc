/* packed_linear.c -- linear maps with their weights repacked once; see packed_linear.h
 *
 * 1. Blocks of 6 tokens by 4 vectors of outputs, or 8 by 3, are summed in registers.  Each input takes 4 loads and 6
 *    broadcasts, or 3 and 8, for 24 multiply-adds.  With 16 registers, blocks are 4 by 3: three more registers hold
 *    the weights, and one the input.
 * 2. A panel stays in the second cache for a group of tokens.  Meanwhile the next panel is prefetched.
 * 3. Stores of whole vectors and of partial ones are separate.  If one store of a sum is partial, GCC keeps all sums
 *    in memory.
 * 4. Panel widths differ by at most one vector, since a panel of one vector needs as many loads as multiply-adds.
 *
 * Tried without gain: parts of the inputs, so that a panel fits the first cache; 7 rows by 4 and 5 by 5; 6 by 2 with 16
 * registers; larger chunks. */

#include "packed_linear.h"
#include <string.h>
#include "../../reference/runtime/batch.h"
#include "vec.h"
#include "transpose.h"

/* Sums in registers: 24 of 32, or 12 of 16.  Narrower panels use more tokens in a block, but at most 8: more would not
 * hide more latency. */
#if LANE_REGISTERS == 32
#define SUMS 24
#define WIDE 4
#else
#define SUMS 12
#define WIDE 3
#endif
#define MOST_ROWS 8
#define ROWS(vectors) (SUMS / (vectors) < MOST_ROWS ? SUMS / (vectors) : MOST_ROWS)

/* The most tokens in a chunk; tokens that a group of chunks may have whatever their size. */
#define CHUNK 48
#define GROUP 256

#define LINE (64 / sizeof(real))       /* reals in a cache line */

static size_t vectors_of(const struct linear *map) { return (map->out + LANES - 1) / LANES; }
static size_t panels_of(const struct linear *map) { return (vectors_of(map) + WIDE - 1) / WIDE; }

static void prepare(struct linear *map, struct arena *arena)
{
    arena_reals(arena, PERSISTENT, &map->panels, "repacked weights", map->in ? vectors_of(map) : 0, LANES, map->in + 1);
}

/* Returns the first vector of outputs of a panel; sets *vectors to its width. */
static size_t panel_at(size_t *vectors, const struct linear *map, size_t panel)
{
    size_t first = share(vectors_of(map), panel, panels_of(map));
    *vectors = share(vectors_of(map), panel + 1, panels_of(map)) - first;
    return first;
}

/* Index of the panel that holds this output: start at the equal split, and step to a neighbour. */
static size_t panel_of(const struct linear *map, size_t out)
{
    size_t vectors, panel = out / LANES * panels_of(map) / vectors_of(map);
    while (panel_at(&vectors, map, panel) * LANES > out) panel--;
    while (panel_at(&vectors, map, panel + 1) * LANES <= out) panel++;
    return panel;
}

/* Packs LANES outputs into the panel at `to`, transposing squares in registers. */
static void load_vector(real *to, size_t width, const real *weight, size_t stride, const real *bias, size_t in)
{
    vec_store(to, bias ? vec_loadu(bias) : (vec){0});
    for (size_t n = 0; n < in; n += LANES) {
        size_t here = in - n < LANES ? in - n : LANES;
        vec square[LANES];
        for (size_t o = 0; o < LANES; o++)
            square[o] = here == LANES ? vec_loadu(weight + o * stride + n)
                                      : vec_load_partial(weight + o * stride + n, here);
        vec_transpose(square);
        for (size_t l = 0; l < here; l++) vec_store(to + (1 + n + l) * width, square[l]);
    }
}

void linear_packed_load(struct linear *map, size_t first, size_t rows, const real *weight, size_t stride,
                        const real *bias)
{
    /* The call that packs the last row also writes the padding zeros. */
    size_t end = first + rows < map->out ? first + rows : vectors_of(map) * LANES;
    if (!rows) return;                          /* a map without outputs has no panel */
    for (size_t panel = panel_of(map, first); panel < panels_of(map); panel++) {
        size_t vectors, from = panel_at(&vectors, map, panel) * LANES, width = vectors * LANES;
        real *to = map->panels + from * (map->in + 1);
        if (from >= end) break;

        for (size_t o = from < first ? first - from : 0; o < width && from + o < end; o++) {
            size_t row = from + o - first;
            if (row >= rows) {
                for (size_t n = 0; n <= map->in; n++) to[n * width + o] = 0;
                continue;
            }
            if (o % LANES == 0 && rows - row >= LANES) {
                load_vector(to + o, width, weight + row * stride, stride, bias ? bias + row : NULL, map->in);
                o += LANES - 1;
                continue;
            }
            to[o] = bias ? bias[row] : 0;
            for (size_t n = 0; n < map->in; n++) to[(n + 1) * width + o] = weight[row * stride + n];
        }
    }
}

static void load(struct linear *map, size_t first, size_t rows, const real *weight, const real *bias)
{
    linear_packed_load(map, first, rows, weight, map->in, bias);
}

/* y of `rows` tokens and one panel; only `last` lanes of its last vector are stored.  In x, tokens are `token` reals
 * apart and inputs `input`; one of the two is 1.  Callers pass constants for that one, for rows and for vectors, so
 * that `sum` is in registers.  Each input prefetches one line of the next panel, at `ahead`. */
INLINED void rows_by_panel(real *y, size_t y_stride, const real *x, size_t token, size_t input, const real *panel,
                           const real *ahead, size_t in, size_t last, size_t rows, size_t vectors)
{
    vec sum[MOST_ROWS][WIDE];

    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++) sum[r][v] = vec_load(panel + v * LANES);
    for (size_t n = 0; n < in; n++) {
        panel += vectors * LANES;
        __builtin_prefetch(ahead + n * LINE, 0, 2);
        vec weight[WIDE];
        for (size_t v = 0; v < vectors; v++) weight[v] = vec_in_register(vec_load(panel + v * LANES));
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) sum[r][v] += x[r * token + n * input] * weight[v];
    }
    if (last == LANES) {        /* separate, so that `sum` stays in registers */
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) vec_storeu(y + r * y_stride + v * LANES, sum[r][v]);
    } else {
        vec kept[MOST_ROWS][WIDE];
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) kept[r][v] = sum[r][v];
        for (size_t r = 0; r < rows; r++)
            memcpy(y + r * y_stride, kept[r], ((vectors - 1) * LANES + last) * sizeof *y);
    }
}

/* `tokens` tokens and one panel, in blocks of almost equal size.  `sent` lines of the next panel have been prefetched;
 * returns the new number. */
INLINED size_t chunk_by_panel(real *y, size_t y_stride, const real *x, size_t token, size_t input, const real *panel,
                              size_t sent, size_t in, size_t last, size_t tokens, size_t vectors)
{
    const real *next = panel + (in + 1) * vectors * LANES;
    for (size_t blocks = (tokens + ROWS(vectors) - 1) / ROWS(vectors); blocks; blocks--) {
        size_t rows = (tokens + blocks - 1) / blocks;
        const real *ahead = next + sent * LINE;
        switch (rows) {
#define CASE(n) case n: \
            if (n <= ROWS(vectors)) rows_by_panel(y, y_stride, x, token, input, panel, ahead, in, last, n, vectors); \
            break;
        CASE(8) CASE(7) CASE(6) CASE(5) CASE(4) CASE(3) CASE(2) CASE(1)
#undef CASE
        }
        y += rows * y_stride;
        x += rows * token;
        tokens -= rows;
        if (sent < in * vectors * LANES / LINE) sent += in;
    }
    return sent;
}

/* The same for panel number `panel` of a map. */
INLINED size_t apply_panel(real *y, size_t y_stride, const real *x, size_t token, size_t input,
                           const struct linear *map, size_t panel, size_t sent, size_t tokens)
{
    size_t vectors, out = panel_at(&vectors, map, panel) * LANES, in = map->in;
    size_t last = panel + 1 < panels_of(map) ? LANES : (map->out - 1) % LANES + 1;
    const real *weights = map->panels + out * (in + 1);

    y += out;
    switch (vectors) {
#if WIDE > 3
    case 4: return chunk_by_panel(y, y_stride, x, token, input, weights, sent, in, last, tokens, 4);
#endif
    case 3: return chunk_by_panel(y, y_stride, x, token, input, weights, sent, in, last, tokens, 3);
    case 2: return chunk_by_panel(y, y_stride, x, token, input, weights, sent, in, last, tokens, 2);
    default: return chunk_by_panel(y, y_stride, x, token, input, weights, sent, in, last, tokens, 1);
    }
}

/* All tokens and panels.  The tokens are divided into groups.  For each panel, the chunks of a group follow each other.
 * A group's x and y are at most one megabyte in float, for the second cache.  But a group may always have GROUP tokens,
 * since each group reads all weights. */
INLINED void apply_all(real *y, size_t y_stride, const real *x, size_t token, size_t input, const struct linear *map,
                       size_t tokens, size_t part, size_t parts)
{
    size_t most = 262144 / (map->in + map->out + 1), groups = tokens / (most < GROUP ? GROUP : most) + 1;
    size_t panels = panels_of(map), chunks = (tokens + groups * CHUNK - 1) / (groups * CHUNK), sent = 0;
    size_t items = groups * panels * chunks;
    if (!panels || !chunks) return;             /* no outputs, or no tokens; x and y may be NULL */

    for (size_t item = share(items, part, parts); item < share(items, part + 1, parts); item++) {
        size_t group = item / chunks / panels, chunk = group * chunks + item % chunks;
        size_t first = share(tokens, chunk, groups * chunks), end = share(tokens, chunk + 1, groups * chunks);
        if (item % chunks == 0) sent = 0;
        sent = apply_panel(y + first * y_stride, y_stride, x + first * token, token, input, map,
                           item / chunks % panels, sent, end - first);
    }
}

static void apply(real *y, size_t y_stride, const real *x, size_t x_stride, const struct linear *map,
                  size_t tokens, size_t part, size_t parts)
{
    apply_all(y, y_stride, x, x_stride, 1, map, tokens, part, parts);
}

void linear_packed_planes(real *y, size_t y_stride, const real *planes, size_t plane, const struct linear *map,
                          size_t tokens)
{
    apply_all(y, y_stride, planes, 1, plane, map, tokens, 0, 1);
}

const struct linear_kind linear_packed = {8, prepare, load, apply};
