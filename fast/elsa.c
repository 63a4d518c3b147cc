/* elsa.c -- ELSA with nothing unfolded
 *
 *     l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an
 *
 * Neither sum depends on both i and its neighbour: each is a linear map of
 * the Hadamard product at one token, h K^2 numbers of it.  Where Algorithm 2
 * unfolds z to N x K^2 x C and then contracts, here one matrix product makes
 * both halves for all tokens, and the second half is read from where the
 * neighbour stands.  Nor are the values unfolded: they are read in place.
 *
 * What was done for speed, at 56 x 56 tokens, 96 channels, 3 heads, K = 7, with a
 * ghost head, where 2.7 ms were reached on one core of a Zen 5 with AVX-512 and
 * arithmetic alone needs 1.8 (matrix products 1.55 ms at full speed, their
 * packing and clearing 0.3, filters applied 0.45, softmax 0.16, turning tokens
 * into planes and back 0.2):
 *
 * 1. Planes (planes.h): a vector holds the same number of 16 neighbouring
 *    tokens.  A shift is then a load from another address, the softmax over the
 *    neighbours needs no sums across a vector, and logits come out of the
 *    matrix product as planes by themselves: [2 h K^2][N] = R z^T.
 * 2. Borders without tests.  Rows off the grid are left out of a list made once
 *    a row; columns off the grid are masked to zero in the logits, and are zeros
 *    beside the rows of the values.
 * 3. The ghost head folded into the application: two multiply-adds for each
 *    neighbour, channel and vector.  Four vectors of two channels at a time, so
 *    that filters are read once for two channels and the static matrices once
 *    for four vectors.
 * 4. The softmax with the number of vectors a constant, so that tops and sums
 *    stay in registers: 0.15 ms.
 *
 * What did not help: two rows of tokens at a time, so that a value which both
 * reach is loaded once for both.
 *
 * Contract: reference/elsa.h. */

#include "../reference/elsa.h"
#include <string.h>
#include "../reference/linear.h"
#include "../reference/memory.h"
#include "elsa_fast.h"
#include "exponential.h"

#define LOG2_E ((real)1.44269504088896340736)

/* ---- what a row of tokens looks at ------------------------------------- */

/* Step n of the window, in rows or columns. */
static ptrdiff_t step_of(const struct elsa_fast *f, size_t at)
{
    return ((ptrdiff_t)at - (ptrdiff_t)(f->sizes.K / 2)) * (ptrdiff_t)f->dilation;
}

size_t elsa_reach(struct elsa_reached *reached, const struct elsa_fast *f, const struct planes *p, size_t row)
{
    size_t K = f->sizes.K, count = 0;
    ptrdiff_t H = (ptrdiff_t)f->rows, W = (ptrdiff_t)f->columns;

    for (size_t n = 0; n < f->sizes.entries; n++) {
        ptrdiff_t dy = step_of(f, n / K), dx = step_of(f, n % K), y = (ptrdiff_t)row + dy;
        if (y < 0 || y >= H || dx <= -W || dx >= W) continue;
        reached[count++] = (struct elsa_reached){.n = n, .offset = dy * (ptrdiff_t)p->stride + dx, .token = dy * W + dx};
    }
    return count;
}

/* ---- the softmax --------------------------------------------------------- */

/* w [K^2][CHUNK] = the attention of head a on `vectors` vectors of tokens from
 * column x of a row on.  vectors is a constant where this is called. */
static inline __attribute__((always_inline))
void attend_some(lanes *w, const struct elsa_fast *f, const struct elsa_reached *reached, size_t count,
                 size_t a, size_t row, size_t x, size_t vectors)
{
    size_t entries = f->sizes.entries, N = f->sizes.N, at = row * f->columns + x;
    const real *own = f->logits + a * entries * N + at, *other = own + f->sizes.h * entries * N;
    lanes top[ELSA_CHUNK], sum[ELSA_CHUNK];

    /* Step 1: the token's own half, in powers of two. */
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++)
            w[n * ELSA_CHUNK + v] = (lanes_load_anywhere(own + n * N + v * LANES) + f->bias[a * entries + n]) * LOG2_E;

    /* Step 2: the neighbour's half, zero off the grid. */
    for (size_t r = 0; f->halves == 2 && r < count; r++) {
        size_t n = reached[r].n;
        const real *from = other + n * N + reached[r].token;
        const lanes_mask *on_grid = f->on_grid + n % f->sizes.K * f->vectors + x / LANES;
        for (size_t v = 0; v < vectors; v++)
            w[n * ELSA_CHUNK + v] += (lanes)((lanes_mask)lanes_load_anywhere(from + v * LANES) & on_grid[v]) * LOG2_E;
    }

    /* Step 3: the softmax over the neighbours, lane by lane. */
    for (size_t v = 0; v < vectors; v++) {
        top[v] = w[v];
        sum[v] = (lanes){0};
    }
    for (size_t n = 1; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) top[v] = lanes_larger(w[n * ELSA_CHUNK + v], top[v]);
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) {
            w[n * ELSA_CHUNK + v] = exp2_lanes(w[n * ELSA_CHUNK + v] - top[v]);
            sum[v] += w[n * ELSA_CHUNK + v];
        }
    for (size_t v = 0; v < vectors; v++) sum[v] = 1 / sum[v];
    for (size_t n = 0; n < entries; n++)
        for (size_t v = 0; v < vectors; v++) w[n * ELSA_CHUNK + v] *= sum[v];
}

static void attend(lanes *w, const struct elsa_fast *f, const struct elsa_reached *reached, size_t count,
                   size_t a, size_t row, size_t x, size_t vectors)
{
    switch (vectors) {
    case 4: attend_some(w, f, reached, count, a, row, x, 4); break;
    case 3: attend_some(w, f, reached, count, a, row, x, 3); break;
    case 2: attend_some(w, f, reached, count, a, row, x, 2); break;
    default: attend_some(w, f, reached, count, a, row, x, 1); break;
    }
}

/* ---- the filters applied ------------------------------------------------- */

/* Some channels of one head, as many vectors of tokens: constants where this is
 * called.  channel[] are the channels, value[] their rows at this column. */
static inline __attribute__((always_inline))
void apply_some(lanes *out, const lanes *w, const struct elsa_fast *f, const struct elsa_reached *reached, size_t count,
                const size_t *channel, const real *const *value, size_t channels, size_t vectors, bool ghost)
{
    lanes sum[2][ELSA_CHUNK];

    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < vectors; v++) sum[c][v] = (lanes){0};
    for (size_t r = 0; r < count; r++) {
        size_t n = reached[r].n;
        for (size_t c = 0; c < channels; c++)
            for (size_t v = 0; v < vectors; v++) {
                lanes filter = w[n * ELSA_CHUNK + v];
                if (ghost) filter = f->factor[channel[c] * f->sizes.entries + n] * filter
                                  + f->summand[channel[c] * f->sizes.entries + n];
                sum[c][v] += filter * lanes_load_anywhere(value[c] + reached[r].offset + v * LANES);
            }
    }
    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < vectors; v++) out[channel[c] * ELSA_CHUNK + v] = sum[c][v];
}

#define APPLY(channels, vectors) \
    if (f->factor) apply_some(out, w, f, reached, count, channel, value, channels, vectors, true); \
    else apply_some(out, w, f, reached, count, channel, value, channels, vectors, false); \
    break

static void apply_pair(lanes *out, const lanes *w, const struct elsa_fast *f, const struct elsa_reached *reached,
                       size_t count, const size_t *channel, const real *const *value, size_t vectors)
{
    switch (vectors) {
    case 4: APPLY(2, 4);
    case 3: APPLY(2, 3);
    case 2: APPLY(2, 2);
    default: APPLY(2, 1);
    }
}

static void apply_one(lanes *out, const lanes *w, const struct elsa_fast *f, const struct elsa_reached *reached,
                      size_t count, const size_t *channel, const real *const *value, size_t vectors)
{
    switch (vectors) {
    case 4: APPLY(1, 4);
    case 3: APPLY(1, 3);
    case 2: APPLY(1, 2);
    default: APPLY(1, 1);
    }
}

/* out [C][CHUNK]: all channels of head a. */
static void apply(lanes *out, const lanes *w, const struct elsa_fast *f, const struct elsa_reached *reached, size_t count,
                  size_t a, size_t row, size_t x, size_t vectors)
{
    size_t c = f->sizes.C / f->sizes.h, first = f->sizes.by_block ? a * c : a, step = f->sizes.by_block ? 1 : f->sizes.h;

    for (size_t k = 0; k < c; k += 2) {
        size_t channel[2] = {first + k * step, first + (k + 1) * step};
        const real *value[2] = {planes_row(&f->values, channel[0], row) + x, NULL};
        if (k + 1 < c) {
            value[1] = planes_row(&f->values, channel[1], row) + x;
            apply_pair(out, w, f, reached, count, channel, value, vectors);
        } else {
            apply_one(out, w, f, reached, count, channel, value, vectors);
        }
    }
}

/* ---- an image ------------------------------------------------------------ */

/* z = scale q o k of one row of tokens, or for Eq. 6 both apart; and the values
 * as planes. */
static void gather_row(const struct elsa_fast *f, size_t row, const real *qkv, size_t width)
{
    size_t Q = f->sizes.Q;
    real scale = f->sizes.scale;

    for (size_t i = row * f->columns; i < (row + 1) * f->columns; i++) {
        const real *q = qkv + i * width, *k = q + Q;
        real *own = f->own + i * Q, *other = f->other + i * Q;
        for (size_t c = 0; f->sizes.equation == 6 && c < Q; c++) {
            own[c] = scale * q[c];
            other[c] = scale * k[c];
        }
        for (size_t c = 0; f->sizes.equation != 6 && c < Q; c++) own[c] = scale * (q[c] * k[c]);
    }
    planes_fill(&f->values, row, qkv + row * f->columns * width + 2 * Q, width);
}

/* One chunk of a row: every head's attention, and its channels. */
static void chunk(const struct elsa_fast *f, real *y, size_t row, size_t x, lanes *workspace)
{
    size_t left = f->columns - x, count;
    size_t tokens = left < ELSA_CHUNK * LANES ? left : ELSA_CHUNK * LANES, vectors = (tokens - 1) / LANES + 1;
    lanes *w = workspace, *out = w + f->sizes.entries * ELSA_CHUNK;
    struct elsa_reached *reached = (struct elsa_reached *)(out + f->sizes.C * ELSA_CHUNK);

    count = elsa_reach(reached, f, &f->values, row);
    for (size_t a = 0; a < f->sizes.h; a++) {
        attend(w, f, reached, count, a, row, x, vectors);
        apply(out, w, f, reached, count, a, row, x, vectors);
    }
    planes_drain(y + (row * f->columns + x) * f->sizes.C, f->sizes.C, out, ELSA_CHUNK, tokens, f->sizes.C);
}

static void one_image(const struct elsa_fast *f, const struct plan *plan, real *y, const real *qkv, size_t width)
{
    size_t maps = f->sizes.h * f->sizes.entries, chunks = (f->columns - 1) / (ELSA_CHUNK * LANES) + 1;

    /* Step 1: the products, and the values as planes. */
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t row = 0; row < f->rows; row++) gather_row(f, row, qkv, width);

    /* Step 2: the logits as planes, [h K^2][N] twice. */
    if (!f->sizes.equation) elsa_final_logits(f, plan);
    else if (f->sizes.equation == 7) linear_map(f->logits, f->sizes.N, f->maps, f->sizes.C, f->own, NULL, 2 * maps, f->sizes.C, f->sizes.N);
    else {
        linear_map(f->logits, f->sizes.N, f->maps, f->sizes.C, f->own, NULL, maps, f->sizes.C, f->sizes.N);
        linear_map(f->logits + maps * f->sizes.N, f->sizes.N, f->maps + maps * f->sizes.C, f->sizes.C, f->other, NULL,
                   maps, f->sizes.C, f->sizes.N);
    }

    /* Step 3: chunks of rows. */
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t item = 0; item < f->rows * chunks; item++)
        chunk(f, y, item / chunks, item % chunks * ELSA_CHUNK * LANES, elsa_workspace(f));
}

/* ---- the form ------------------------------------------------------------ */

/* Which columns of a row have a neighbour dx columns away, for every dx. */
static status masks_create(struct elsa_fast *f)
{
    size_t K = f->sizes.K;
    f->on_grid = memory_get(K * f->vectors, sizeof *f->on_grid);
    if (!f->on_grid) return out_of_memory("the masks");
    for (size_t k = 0; k < K; k++)
        for (size_t x = 0; x < f->vectors * LANES; x++) {
            ptrdiff_t at = (ptrdiff_t)x + step_of(f, k);
            f->on_grid[k * f->vectors + x / LANES][x % LANES] = at >= 0 && at < (ptrdiff_t)f->columns ? -1 : 0;
        }
    return status_ok();
}

/* The two linear maps in one, [2 h K^2][C], from rk and rq [C][h][K^2]. */
static status maps_create(struct elsa_fast *f, const struct problem *p)
{
    size_t maps = f->sizes.h * f->sizes.entries, C = f->sizes.C;
    const real *rk = problem_tensor(p, "rk"), *rq = problem_tensor(p, "rq");
    f->maps = memory_reals(2, maps, C, 1);
    if (!f->maps) return out_of_memory("the maps");
    for (size_t an = 0; an < maps; an++)
        for (size_t c = 0; c < C; c++) {
            f->maps[an * C + c] = rk[c * maps + an];
            f->maps[(maps + an) * C + c] = rq[c * maps + an];
        }
    return status_ok();
}

/* The widest step that still meets the grid. */
static size_t widest(const struct elsa_fast *f)
{
    size_t pad = 0;
    for (size_t k = 1; k <= f->sizes.K / 2 && k * f->dilation < f->columns; k++) pad = k * f->dilation;
    return pad;
}

static status tables_create(struct elsa_fast *f, const struct problem *p)
{
    size_t C = f->sizes.C, K = f->sizes.K, N = f->sizes.N, pad = widest(f), slack, reals;
    status s;

    /* Step 1: tables of the parameters. */
    if ((s = masks_create(f)).code) return s;
    if (f->sizes.equation && (s = maps_create(f, p)).code) return s;
    f->bias = problem_tensor(p, f->sizes.equation ? "rb" : "mix_b");
    if (problem_tensor(p, "ghost_mul")) {
        f->factor = memory_reals(C, K, K, 1);
        f->summand = memory_reals(C, K, K, 1);
        if (!f->factor || !f->summand) return out_of_memory("the ghost head");
        elsa_ghost(f->factor, f->summand, p);
    }

    /* Step 2: the products, the logits and the values of one image.  Shifted
     * vectors may begin before the logits' first plane, and end behind the last. */
    f->halves = f->sizes.equation ? 2 : 1;
    slack = (pad + LANES + 15) / 16 * 16;
    f->own = memory_reals(N, f->sizes.Q, 1, 1);
    f->other = f->sizes.equation == 6 ? memory_reals(N, f->sizes.Q, 1, 1) : NULL;
    if (!f->own || (f->sizes.equation == 6 && !f->other)) return out_of_memory("the products");
    if (!size_multiply(&reals, f->sizes.h * f->halves, f->sizes.entries) || !size_multiply(&reals, reals, N)
        || reals + 2 * slack < reals)
        return out_of_memory("the logits");
    f->logits_block = memory_reals(reals + 2 * slack, 1, 1, 1);
    if (!f->logits_block) return out_of_memory("the logits");
    f->logits = f->logits_block + slack;
    for (size_t r = 0; r < slack; r++) f->logits_block[r] = f->logits[reals + r] = 0;
    if ((s = planes_create(&f->values, C, f->rows, f->columns, pad)).code) return s;
    return f->sizes.equation ? status_ok() : elsa_final_create(f, p, pad);
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t workspace;
    status s;

    struct elsa_fast *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct elsa_fast){.sizes = elsa_sizes(p), .dilation = (size_t)problem_number(p, "dilation"),
                            .rows = p->grid.size[0], .columns = p->grid.size[1]};
    plan->state = f;
    f->vectors = (f->columns - 1) / LANES + 1;
    if (f->sizes.equation == 4) return elsa_unified_prepare(f, plan);
    if ((s = tables_create(f, p)).code) return s;
    workspace = (f->sizes.entries + f->sizes.C) * ELSA_CHUNK * LANES;
    workspace += (f->sizes.entries * sizeof(struct elsa_reached)) / sizeof(real) + 1;
    return heads_prepare(&f->heads, plan, workspace);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    struct elsa_fast *f = plan->state;
    size_t width = problem_axis(p, "w_qkv", 0), N = f->sizes.N;

    if (f->sizes.equation == 4) return elsa_unified_run(f, plan, y, x);
    heads_project(&f->heads, plan, x);
    real *joined = heads_joined(&f->heads, plan, y);
    for (size_t image = 0; image < problem_size(p, "B"); image++)
        one_image(f, plan, joined + image * N * f->sizes.C, f->heads.qkv + image * N * width, width);
    heads_join(&f->heads, plan, y);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct elsa_fast *f = plan->state;
    if (!f) return;
    heads_release(&f->heads);
    planes_release(&f->values);
    elsa_final_release(f);
    elsa_area_release(&f->area);
    memory_free(f->on_grid);
    memory_free(f->maps);
    memory_free(f->factor);
    memory_free(f->summand);
    memory_free(f->own);
    memory_free(f->other);
    memory_free(f->logits_block);
    memory_free(f);
}

/* As the naive form, but that neighbours off the grid are not multiplied. */
static double multiply_adds(const struct problem *p)
{
    struct elsa_sizes s = elsa_sizes(p);
    double N = (double)s.N, C = (double)s.C, h = (double)s.h, n = (double)s.entries, Q = (double)s.Q;
    double pairs = elsa_pairs(p), one;

    if (s.equation == 4) {
        one = elsa_term_multiply_adds(p) + pairs * C;
    } else {
        one = 2 * N * Q;
        one += s.equation ? 2 * N * n * h * C : pairs * 8 * Q + N * n * h * Q;
        one += pairs * C * (problem_axis(p, "ghost_mul", 0) ? 2 : 1);
    }
    return heads_multiply_adds(p) + (double)problem_size(p, "B") * one;
}

const struct form elsa_fast = {"fast", prepare, run, release, multiply_adds};
