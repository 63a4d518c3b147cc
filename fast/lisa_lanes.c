/* lisa_lanes.c -- variant 2: own FFTs, a block of channels in the SIMD lanes
 *
 *     a[n,d] = sum_c q[n,c] (Ga[n,c,d] + ba[c,d]),   Ga[.,c,d] = k[.,c] (*) wa[.,c,d]
 *     y[n,k] = sum_d a[n,d] (Gb[n,k,d] + bb[k,d]),   Gb[.,k,d] = v[.,k] (*) wb[.,d]
 *
 * (*) is the convolution on the circle of circulant.h, so that Eq. 10 and the
 * exact Eq. 5-7 are one program.  Over variant 1 (FFTW) it changes:
 *
 *   - LANES channels of one head are a block; they are transformed side by side
 *     and nothing is rearranged, for tokens lie that way already.
 *   - Two latents d, d+1 are one complex kernel, w_d + sqrt(-1) w_d+1, so that a
 *     complex inverse transform serves two real convolutions and the half
 *     spectrum of the block is all that is kept of it.
 *   - The product rides on the way into the inverse transform, the contraction
 *     with q or a on the way out: between them lies one field, in the second
 *     cache.
 *   - y is workspace until its turn: it holds k, then q, then v, then the
 *     heads' output, which is projected in place.
 *
 * How it fared: 56x56 tokens, 96 channels, 16 latents, one head, float, one and
 * two threads of a Zen 5: 4.3 and 2.3 ms with the projections; variant 1 35 ms.
 *
 * What mattered besides: the key's spectra, 19 MB, lie in the order in which
 * they are read and are asked for ahead.  Read as the butterflies jump, and not
 * asked for, they took 1.2 ms more.
 *
 * What failed: taking many images together so that they share each spectrum.
 * It saves less there than it loses on keys and queries that no longer stay in
 * the second cache, 4.4 ms an image one by one against 5.1 by sixes. */

#include "lisa_lanes.h"
#include <omp.h>
#include <string.h>
#include <tgmath.h>
#include "lane_pass.h"
#include "../reference/linear.h"
#include "../reference/memory.h"

/* Small images are taken together until there are so many tokens, so that the
 * threads have work between two barriers; larger ones go one by one. */
#define CHUNK_TOKENS 1024

/* What a thread works in; there is a query only where the last block does not
 * fill the lanes. */
struct scratch { real *field, *line, *row, *query; };

static struct scratch scratch_of(const struct lisa_lanes *l)
{
    real *at = l->scratch + (size_t)omp_get_thread_num() * l->scratch_reals;
    struct scratch s = {.field = at};
    s.line = s.field + l->grid.field * POINT;
    s.row = s.line + 2 * l->grid.line * POINT;
    s.query = s.row + (l->grid.size[2] + LANES) * POINT;
    return s;
}

/* Where in [images][N][C] head number `item`, counted over all images, begins. */
static size_t head_at(const struct lisa_lanes *l, size_t item)
{
    return item / l->heads * l->tokens * l->channels + item % l->heads * l->head_channels;
}

/* Channels of this block of a head. */
static size_t block_channels(const struct lisa_lanes *l, size_t block)
{
    size_t left = l->head_channels - block * LANES;
    return left < LANES ? left : LANES;
}

/* ---- prepare --------------------------------------------------------- */

/* Takes what a run works in. */
static status workspace(struct lisa_lanes *l)
{
    /* Step 1: a thread's scratch; it must hold a token, for the last projection. */
    size_t token = (l->channels + POINT - 1) / POINT * POINT;
    l->scratch_reals = (l->grid.field + 2 * l->grid.line + l->grid.size[2] + LANES) * POINT;
    if (l->head_channels % LANES) l->scratch_reals += l->tokens * LANES;
    if (l->scratch_reals < token) l->scratch_reals = token;
    l->scratch = memory_reals(l->threads, l->scratch_reals, 1, 1);

    /* Step 2: a, and in Eq. 4 the key beside it. */
    l->a = memory_reals(l->chunk * l->heads, l->pairs, 2, l->a_row);
    if (l->equation == 4) l->keys = memory_reals(l->chunk * l->heads, l->pairs, 2, l->a_row);

    /* Step 3: the key's spectra, where a thread's spectrum and sums of the value will live. */
    size_t spectra, sums, blocks = l->equation == 4 ? 0 : l->chunk * l->heads * l->blocks;
    if (size_multiply(&spectra, blocks, l->grid.half * POINT)
        && size_multiply(&sums, l->threads, l->grid.half * POINT + l->tokens * LANES))
        l->spectra = memory_reals(spectra > sums ? spectra : sums, 1, 1, 1);
    if (!l->scratch || !l->a || (l->equation == 4 && !l->keys) || !l->spectra)
        return out_of_memory("the workspace");
    return status_ok();
}

status lisa_lanes_prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    struct lisa_lanes *l = memory_get(1, sizeof *l);
    if (!l) return out_of_memory("a plan");

    /* Step 1: sizes. */
    *l = (struct lisa_lanes){
        .images = problem_size(p, "B"), .tokens = problem_size(p, "N"), .channels = problem_size(p, "C"),
        .heads = problem_size(p, "h"), .head_channels = problem_size(p, "c"), .latents = problem_size(p, "D"),
        .equation = (size_t)problem_number(p, "equation"), .threads = (size_t)plan->threads,
    };
    plan->state = l;
    l->blocks = (l->head_channels + LANES - 1) / LANES;
    l->pairs = ((l->equation == 4 ? l->head_channels : l->latents) + 1) / 2;
    l->tables = l->equation == 4 ? problem_axis(p, "e", 1) : l->pairs;
    l->a_row = (l->tokens + LANES - 1) / LANES * LANES + LANES;
    l->chunk = (CHUNK_TOKENS + l->tokens - 1) / l->tokens;
    if (l->chunk > l->images) l->chunk = l->images;

    /* Step 2: the circles and the spectra of the kernels. */
    struct circulant circle;
    status s = circulant_create(&circle, &p->grid, l->equation == 10, true);
    if (!s.code) s = lane_grid_prepare(&l->grid, &circle);
    if (s.code) return s;
    size_t points = l->grid.points;
    if (l->equation == 5) l->key_kernels = memory_reals(l->pairs, points, 2, 1);
    if (l->equation > 5) l->key_kernels = memory_reals(l->blocks, l->pairs, points, POINT);
    l->value_kernels = memory_reals(l->tables, points, 2, 1);
    l->key_bias = memory_reals(l->blocks, l->pairs, POINT, 1);
    l->value_bias = memory_reals(l->blocks, l->pairs, POINT, 1);
    if ((l->equation > 4 && !l->key_kernels) || !l->value_kernels || !l->key_bias || !l->value_bias)
        return out_of_memory("the spectra of the kernels");
    s = lisa_lanes_kernels(l, p, &circle);
    return s.code ? s : workspace(l);
}

void lisa_lanes_release(struct plan *plan)
{
    struct lisa_lanes *l = plan->state;
    if (!l) return;
    lane_grid_release(&l->grid);
    memory_free(l->key_kernels);
    memory_free(l->value_kernels);
    memory_free(l->key_bias);
    memory_free(l->value_bias);
    memory_free(l->spectra);
    memory_free(l->a);
    memory_free(l->keys);
    memory_free(l->scratch);
    memory_free(l);
    plan->state = NULL;
}

/* ---- run: projections ------------------------------------------------ */

/* The tokens first ... last-1 that are this part's of all of them. */
static void share(size_t *first, size_t *last, size_t count, size_t part, size_t parts)
{
    *first = count * part / parts;
    *last = count * (part + 1) / parts;
}

/* x / max(|x|, 1e-12), as steps.h has it, with the lanes in use. */
static void normalise(real *x, size_t n)
{
    lanes squares = {0};
    real sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        lanes part = lanes_load_anywhere(x + i);
        squares += part * part;
    }
    for (; i < n; i++) sum += x[i] * x[i];
    for (size_t l = 0; l < LANES; l++) sum += squares[l];
    real norm = sqrt(sum), least = (real)1e-12;
    real scale = 1 / (norm < least ? least : norm);
    for (i = 0; i < n; i++) x[i] *= scale;
}

/* y = x W^T + b for part 0 (query), 1 (key) or 2 (value) of w_qkv. */
static void project(const struct lisa_lanes *l, const struct problem *p, real *y, const real *x,
                    size_t tokens, size_t third, bool normalised)
{
    size_t C = l->channels;
    const real *weight = problem_tensor(p, "w_qkv") + third * C * C, *bias = problem_tensor(p, "b_qkv");

    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t part = 0; part < l->threads; part++) {
        size_t first, last;
        share(&first, &last, tokens, part, l->threads);
        if (first == last) continue;
        linear_map(y + first * C, C, x + first * C, C, weight, bias ? bias + third * C : NULL, last - first, C, C);
        for (size_t i = first * l->heads; normalised && i < last * l->heads; i++)
            normalise(y + i * l->head_channels, l->head_channels);
    }
}

/* y = y W_o^T + b_o in place, as many tokens at a time as the scratch holds. */
static void project_output(const struct lisa_lanes *l, const struct problem *p, real *y, size_t tokens)
{
    const real *weight = problem_tensor(p, "w_o"), *bias = problem_tensor(p, "b_o");
    size_t C = l->channels, panel = l->scratch_reals / C;

    if (!weight) return;
    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t part = 0; part < l->threads; part++) {
        real *copy = scratch_of(l).field;
        size_t first, last;
        share(&first, &last, tokens, part, l->threads);
        for (size_t n = first; n < last; n += panel) {
            size_t rows = last - n < panel ? last - n : panel;
            memcpy(copy, y + n * C, rows * C * sizeof *y);
            linear_map(y + n * C, C, copy, C, weight, bias, rows, C, C);
        }
    }
}

/* ---- run: the key's side --------------------------------------------- */

/* Leaves a row's products with the query; parts come exchanged. */
struct contraction { real *row; const real *query; size_t stride, tokens; point bias; };

INLINED void store_products(void *sink, size_t i, point z)
{
    const struct contraction *s = sink;
    if (i >= s->tokens) return;
    lanes q = lanes_load_anywhere(s->query + i * s->stride);
    line_store(s->row, i, (point){q * (z.im + s->bias.re), q * (z.re + s->bias.im)});
}

static void leave_products(const struct lane_stage *stage, void *line, void *sink)
{
    lane_stage_through(stage, line_load, line, store_products, sink);
}

/* The sums over the lanes of L vectors that are `stride` reals apart. */
INLINED lanes sums(const real *from, size_t stride)
{
    lanes s[LANES];
    for (size_t n = 0; n < LANES; n++) s[n] = lanes_load(from + n * stride);
    for (size_t left = LANES; left > 1; left /= 2)
        for (size_t n = 0; n < left / 2; n++) s[n] = lanes_add_neighbours(s[2 * n], s[2 * n + 1]);
    return s[0];
}

/* a[n,d], a[n,d+1] += sum_c q[n,c] (G[n,c] + b[c]), one block of c: the rows of the
 * field to their end, and the sums over the lanes. */
static void contract(const struct lane_grid *g, real *a, size_t a_row, real *field,
                     const real *query, size_t stride, const real *bias, const struct scratch *s)
{
    size_t W = g->tokens[2];
    struct contraction sink = {s->row, query, stride, W, {lanes_load(bias), lanes_load(bias + LANES)}};

    memset(s->row + W * POINT, 0, LANES * POINT * sizeof *s->row);
    for (size_t t = 0; t < g->tokens[0]; t++)
        for (size_t m = 0; m < g->tokens[1]; m++) {
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            lane_pass(&g->fft[2], lane_line, row, leave_products, &sink, s->line);
            for (size_t x = 0; x < W; x += LANES)
                for (size_t part = 0; part < 2; part++) {
                    real *to = a + part * a_row + x;
                    lanes more = sums(s->row + x * POINT + part * LANES, POINT);
                    lanes_store_anywhere(to, lanes_load_anywhere(to) + more);
                }
            sink.query += W * stride;
            a += W;
        }
}

/* All of a for the images of a chunk.  A thread owns some of the (pair, image,
 * head) and takes all blocks of theirs, so that sums have one order. */
static void key_side(const struct lisa_lanes *l, const real *query, size_t images)
{
    size_t items = images * l->heads, a_rows = 2 * l->pairs * l->a_row;

    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t part = 0; part < l->threads; part++) {
        struct scratch s = scratch_of(l);
        size_t first, last;
        share(&first, &last, l->pairs * items, part, l->threads);
        for (size_t block = 0; block < l->blocks; block++)
            for (size_t task = first; task < last; task++) {
                size_t pair = task / items, item = task % items, channels = block_channels(l, block);
                bool one_for_all = l->equation == 5;
                const real *kernel = one_for_all
                    ? l->key_kernels + pair * l->grid.points * 2
                    : l->key_kernels + (block * l->pairs + pair) * l->grid.points * POINT;
                real *a = l->a + item * a_rows + 2 * pair * l->a_row;
                size_t stride = l->channels;
                const real *q = query + head_at(l, item) + block * LANES;
                const real *spectrum = l->spectra + (item * l->blocks + block) * l->grid.half * POINT;

                /* Step 1: a block that does not fill the lanes is copied beside zeros. */
                if (channels < LANES) {
                    for (size_t n = 0; n < l->tokens; n++)
                        lanes_store(s.query + n * LANES, lanes_load_part(q + n * stride, channels));
                    q = s.query;
                    stride = LANES;
                }

                /* Step 2: product, inverse, contraction. */
                if (block == 0) memset(a, 0, 2 * l->a_row * sizeof *a);
                lane_grid_multiply(&l->grid, s.field, spectrum, kernel, one_for_all, s.line);
                contract(&l->grid, a, l->a_row, s.field, q, stride,
                         l->key_bias + (block * l->pairs + pair) * POINT, &s);
            }
    }
}

/* ---- run: the value's side ------------------------------------------- */

/* Adds a row of the field, weighed with two latents, to the block's sums. */
struct accumulation { real *sum; const real *a0, *a1; size_t tokens; point bias; };

INLINED void store_weighed(void *sink, size_t i, point z)
{
    const struct accumulation *s = sink;
    if (i >= s->tokens) return;
    real *to = s->sum + i * LANES;
    lanes_store(to, lanes_load(to) + (z.im + s->bias.re) * s->a0[i] + (z.re + s->bias.im) * s->a1[i]);
}

static void leave_weighed(const struct lane_stage *stage, void *line, void *sink)
{
    lane_stage_through(stage, line_load, line, store_weighed, sink);
}

static void accumulate(const struct lane_grid *g, real *sum, const real *a, size_t a_row,
                       real *field, const real *bias, real *line)
{
    size_t W = g->tokens[2];
    struct accumulation sink = {sum, a, a + a_row, W, {lanes_load(bias), lanes_load(bias + LANES)}};

    for (size_t t = 0; t < g->tokens[0]; t++)
        for (size_t m = 0; m < g->tokens[1]; m++) {
            real *row = field + (t * g->size[1] + m) * g->row * POINT;
            lane_pass(&g->fft[2], lane_line, row, leave_weighed, &sink, line);
            sink.sum += W * LANES;
            sink.a0 += W;
            sink.a1 += W;
        }
}

/* v becomes the heads' output, block by block. */
static void value_side(const struct lisa_lanes *l, real *v, size_t images)
{
    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t task = 0; task < images * l->heads * l->blocks; task++) {
        struct scratch s = scratch_of(l);
        size_t item = task / l->blocks, block = task % l->blocks, channels = block_channels(l, block);
        size_t half = l->grid.half * POINT;
        real *spectrum = l->spectra + (size_t)omp_get_thread_num() * (half + l->tokens * LANES);
        real *sum = spectrum + half, *tokens = v + head_at(l, item) + block * LANES;

        /* Step 1: all latents, or in Eq. 4 all channels of the query, two at a time. */
        if (l->equation != 4)
            lane_grid_spectrum(&l->grid, spectrum, tokens, l->channels, channels, s.field, s.line);
        memset(sum, 0, l->tokens * LANES * sizeof *sum);
        for (size_t pair = 0; pair < l->pairs; pair++) {
            size_t rows = (item * l->pairs + pair) * 2 * l->a_row;
            const real *rpe = l->value_kernels + (l->tables > 1 ? item % l->heads : 0) * l->grid.points * 2;
            if (l->equation == 4)
                lane_grid_filter(&l->grid, s.field, tokens, l->channels, channels,
                                 l->keys + rows, l->keys + rows + l->a_row, rpe, s.line);
            else
                lane_grid_multiply(&l->grid, s.field, spectrum, l->value_kernels + pair * l->grid.points * 2,
                                   true, s.line);
            accumulate(&l->grid, sum, l->a + rows, l->a_row, s.field,
                       l->value_bias + (block * l->pairs + pair) * POINT, s.line);
        }

        /* Step 2: the sums, where v was. */
        for (size_t n = 0; n < l->tokens; n++)
            memcpy(tokens + n * l->channels, sum + n * LANES, channels * sizeof *tokens);
    }
}

/* ---- run ------------------------------------------------------------- */

/* The spectra of all blocks of the keys of a chunk. */
static void key_spectra(const struct lisa_lanes *l, const real *k, size_t images)
{
    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t task = 0; task < images * l->heads * l->blocks; task++) {
        struct scratch s = scratch_of(l);
        size_t item = task / l->blocks, block = task % l->blocks;
        lane_grid_spectrum(&l->grid, l->spectra + task * l->grid.half * POINT,
                           k + head_at(l, item) + block * LANES,
                           l->channels, block_channels(l, block), s.field, s.line);
    }
}

/* Tokens [images][N][C] as rows [images][h][c][a_row], a head's last one followed by
 * zeros where c is odd. */
static void by_channel(const struct lisa_lanes *l, real *rows, const real *tokens, size_t images)
{
    #pragma omp parallel for schedule(static) num_threads((int)l->threads)
    for (size_t item = 0; item < images * l->heads; item++)
        for (size_t c = 0; c < 2 * l->pairs; c++) {
            real *row = rows + (item * 2 * l->pairs + c) * l->a_row;
            const real *from = tokens + head_at(l, item) + c;
            for (size_t n = 0; n < l->tokens; n++) row[n] = c < l->head_channels ? from[n * l->channels] : 0;
        }
}

status lisa_lanes_run(struct plan *plan, real *y, const real *x)
{
    const struct lisa_lanes *l = plan->state;
    const struct problem *p = plan->problem;
    size_t image = l->tokens * l->channels;

    for (size_t b = 0; b < l->images; b += l->chunk, x += l->chunk * image, y += l->chunk * image) {
        size_t images = l->images - b < l->chunk ? l->images - b : l->chunk, tokens = images * l->tokens;

        /* Step 1: a, from key and query; in Eq. 4 both as they are. */
        project(l, p, y, x, tokens, 1, true);
        if (l->equation == 4) by_channel(l, l->keys, y, images);
        else key_spectra(l, y, images);
        project(l, p, y, x, tokens, 0, true);
        if (l->equation == 4) by_channel(l, l->a, y, images);
        else key_side(l, y, images);

        /* Step 2: y, from the value and a. */
        project(l, p, y, x, tokens, 2, false);
        value_side(l, y, images);
        project_output(l, p, y, tokens);
    }
    return status_ok();
}
