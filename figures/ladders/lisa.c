/* lisa.c -- LiSA's Eq. 10 as a ladder: from the plain form to nearly the fast form, one idea per step
 *
 *     i, n  token, N of them     ch  channel, c of them     d  latent, D of them
 *
 *   plain       The plain form (fast/lisa.c).
 *   lanes       A channel in each lane: the same transforms, of vectors instead of numbers.
 *   registers   Two to eight points at a time are transformed in registers, without multiplications by 0 or 1.
 *   threads     The threads share the heads, which needs no new code.
 *
 * Any grid; other equations and local kernels are rejected.  Contract: reference/lisa.h. */

#include <string.h>
#include "../../fast/forms.h"
#include "../../fast/lisa.h"
#include "../../fast/tuned/lisa/vec_pass.h"
#include "../../fast/tuned/transpose.h"
#include "../../reference/runtime/steps.h"
#include "lisa_costs.h"

/* y_k = sum_j x_[j stride] root^(jk turn) for k < n; part is scratch for n points. */
typedef void transform(point *y, const point *x, size_t stride, size_t n, const struct number *root, size_t turn,
                       point *part);

struct climb {
    struct lisa_plain plain;    /* for its roots and spectra of kernels */
    transform *transform;
    size_t pairs;               /* of latents */
    size_t blocks;              /* of LANES channels */
    size_t filled;              /* N, padded to whole vectors */
    size_t longest;             /* points of the longest axis */
    real *wa;                   /* [blocks][pairs][N] points: the spectra of the key's kernels */
    real *ba, *bb;              /* [blocks][pairs] points: the biases */
    real *a;                    /* of each thread: [2 pairs][filled] */
    real *z, *G, *line;         /* of each thread: points of a block, their convolution; a line and scratch */
    real *sum;                  /* of each thread: [N] vectors, the weighted sum of values so far */
};

/* ---- lanes ------------------------------------------------------------------------ */

/* A point times a number that all lanes share. */
static point turned(point a, struct number b)
{
    return (point){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* line_transform of fast/fourier.c, with points in place of numbers. */
static void line_lanes(point *y, const point *x, size_t stride, size_t n, const struct number *root, size_t turn,
                       point *part)
{
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    size_t p = factor(n), m = n / p;
    for (size_t r = 0; r < p; r++) line_lanes(y + r * m, x + r * stride, p * stride, m, root, p * turn, part);
    for (size_t l = 0; l < m; l++) {
        for (size_t r = 0; r < p; r++) part[r] = y[r * m + l];
        for (size_t k = l; k < n; k += m) {
            point sum = part[0];
            for (size_t r = 1, e = k; r < p; r++, e = e + k < n ? e + k : e + k - n)
                sum = add(sum, turned(part[r], root[e * turn]));
            y[k] = sum;
        }
    }
}

static void spectrum_lanes(point *z, const struct climb *f, point *line)
{
    const struct fourier *fourier = &f->plain.fourier;
    const struct number *root = fourier->root[0];
    size_t step = fourier->points;
    for (int axis = 0; axis < GRID_AXES; axis++) {
        size_t n = fourier->size[axis];
        step /= n;
        for (size_t first = 0; n > 1 && first < fourier->points; first += n * step)
            for (size_t at = first; at < first + step; at++) {
                f->transform(line, z + at, step, n, root, 1, line + f->longest);
                for (size_t k = 0; k < n; k++) z[at + k * step] = line[k];
            }
        root += n;
    }
}

/* Channels from ch on, zeros in lanes after the last. */
static vec channels_at(const real *token, size_t ch, size_t c)
{
    return ch + LANES <= c ? vec_loadu(token + ch) : vec_load_partial(token + ch, c - ch);
}

static void lay_lanes(point *z, const real *tokens, size_t points, size_t ch, size_t c)
{
    for (size_t n = 0; n < points; n++) z[n] = (point){channels_at(tokens + n * c, ch, c), {0}};
}

/* a += q (G + bias), summed over the lanes, for two latents. */
static void read_lanes(real *even, real *odd, const point *G, const real *q, point bias, size_t points, size_t ch,
                       size_t c)
{
    for (size_t first = 0; first < points; first += LANES) {
        vec re[LANES], im[LANES];
        for (size_t l = 0; l < LANES; l++) {
            size_t n = first + l;
            re[l] = im[l] = (vec){0};
            if (n >= points) continue;
            vec query = channels_at(q + n * c, ch, c);
            re[l] = query * (G[n].im + bias.re);
            im[l] = query * (G[n].re + bias.im);
        }
        vec_store(even + first, vec_load(even + first) + vec_sums(re));
        vec_store(odd + first, vec_load(odd + first) + vec_sums(im));
    }
}

/* One head.  An inverse transform is a forward one with real and imaginary part exchanged before and after. */
static void in_lanes(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    real *q = head_thread(head, f->plain.heads.q), *k = head_thread(head, f->plain.heads.k);
    point *z = (point *)head_thread(head, f->z), *G = (point *)head_thread(head, f->G);
    point *line = (point *)head_thread(head, f->line);
    vec *sum = (vec *)head_thread(head, f->sum);
    real *a = head_thread(head, f->a);

    for (size_t i = 0; i < N; i++) {
        l2_normalise(q + i * c, c);
        l2_normalise(k + i * c, c);
    }
    memset(a, 0, 2 * f->pairs * f->filled * sizeof *a);

    /* Step 1: the key side: each lane has its own kernel; the channels of a query are adjacent. */
    for (size_t block = 0; block < f->blocks; block++) {
        lay_lanes(z, k, N, block * LANES, c);
        spectrum_lanes(z, f, line);
        for (size_t d = 0; d < D; d += 2) {
            size_t pair = block * f->pairs + d / 2;
            const point *kernel = (const point *)f->wa + pair * N;
            for (size_t n = 0; n < N; n++)
                G[n] = (point){z[n].re * kernel[n].im + z[n].im * kernel[n].re,
                               z[n].re * kernel[n].re - z[n].im * kernel[n].im};
            spectrum_lanes(G, f, line);
            read_lanes(a + d * f->filled, a + (d + 1) * f->filled, G, q, ((const point *)f->ba)[pair], N,
                       block * LANES, c);
        }
    }

    /* Step 2: the value side: all lanes share a kernel. */
    for (size_t block = 0; block < f->blocks; block++) {
        lay_lanes(z, head->v, N, block * LANES, c);
        spectrum_lanes(z, f, line);
        memset(sum, 0, N * sizeof *sum);
        for (size_t d = 0; d < D; d += 2) {
            const real *even = a + d * f->filled, *odd = even + f->filled;
            point bias = ((const point *)f->bb)[block * f->pairs + d / 2];
            for (size_t n = 0; n < N; n++) {
                point product = turned(z[n], f->plain.wb[d / 2 * f->plain.row + n]);
                G[n] = (point){product.im, product.re};
            }
            spectrum_lanes(G, f, line);
            for (size_t n = 0; n < N; n++)
                sum[n] += even[n] * (G[n].im + bias.re) + odd[n] * (G[n].re + bias.im);
        }
        for (size_t n = 0; n < N; n++) {
            size_t left = c - block * LANES;
            vec_store_partial(head->y + n * c + block * LANES, sum[n], left < LANES ? left : LANES);
        }
    }
}

/* ---- registers -------------------------------------------------------------------- */

/* The transform of p points in registers, p an odd prime, by the sums and differences of vec_pass.h. */
INLINED void butterfly_odd(point *z, const size_t p)
{
    point pair[3][2];
    mirrored_odd(z, p);
    for (size_t k = 1; 2 * k < p; k++) pair_odd(pair[k - 1], z, p, k);
    z[0] = first_odd(z, p);
    for (size_t k = 1; 2 * k < p; k++) {
        z[k] = pair[k - 1][0];
        z[p - k] = pair[k - 1][1];
    }
}

/* The same for any p that radix() returns; callers pass a constant p. */
INLINED void butterfly(point z[8], const size_t p)
{
    if (p == 2) butterfly_2(z);
    if (p == 4) butterfly_4(z);
    if (p == 8) butterfly_8(z);
    if (p % 2) butterfly_odd(z, p);
}

/* Combines p transforms of m points: p points at a time are multiplied by twiddle factors and transformed. */
INLINED void join(point *y, size_t m, const struct number *root, size_t turn, const size_t p)
{
    for (size_t l = 0; l < m; l++) {
        point z[8] = {y[l]};
#pragma GCC unroll 8
        for (size_t r = 1; r < p; r++) z[r] = turned(y[r * m + l], root[r * l * turn]);
        butterfly(z, p);
#pragma GCC unroll 8
        for (size_t r = 0; r < p; r++) y[r * m + l] = z[r];
    }
}

/* A transform of p points, without twiddle factors. */
INLINED void leaf(point *y, const point *x, size_t stride, const size_t p)
{
    point z[8];
#pragma GCC unroll 8
    for (size_t r = 0; r < p; r++) z[r] = x[r * stride];
    butterfly(z, p);
#pragma GCC unroll 8
    for (size_t r = 0; r < p; r++) y[r] = z[r];
}

static void line_registers(point *y, const point *x, size_t stride, size_t n, const struct number *root, size_t turn,
                           point *part)
{
    size_t p = radix(n), m = p ? n / p : 0;
    if (m == 0) {
        line_lanes(y, x, stride, n, root, turn, part);
        return;
    }
    for (size_t r = 0; m > 1 && r < p; r++)
        line_registers(y + r * m, x + r * stride, p * stride, m, root, p * turn, part);
    switch (p) {
#define CASE(p) case p: \
        if (m == 1) leaf(y, x, stride, p); \
        else join(y, m, root, turn, p); \
        break;
    CASE(8) CASE(7) CASE(5) CASE(4) CASE(3) CASE(2)
#undef CASE
    }
}

/* ---- the forms around them ---------------------------------------------------------- */

static status prepare_plain(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    if (p->equation == 10 && p->wraps) return lisa_plain_prepare(plan);
    return bad_input("the ladder is of Eq. 10 with circular kernels, found another equation or local ones");
}

static status prepare(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct climb *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, c = p->heads.c;
    status s = prepare_plain(plan);
    if (s.code) return s;
    f->plain.heads.core.core = in_lanes;
    f->transform = step_number(&lisa_ladder, plan->form) == 1 ? line_lanes : line_registers;
    f->pairs = (p->D + 1) / 2;
    f->blocks = (c + LANES - 1) / LANES;
    f->filled = (N + LANES - 1) / LANES * LANES;
    for (int axis = 0; axis < GRID_AXES; axis++)
        if (p->grid.size[axis] > f->longest) f->longest = p->grid.size[axis];
    arena_reals(arena, PERSISTENT, &f->wa, "the spectra of the key's kernels", f->blocks, f->pairs, N, POINT);
    arena_reals(arena, PERSISTENT, &f->ba, "the key's bias", f->blocks, f->pairs, POINT);
    arena_reals(arena, PERSISTENT, &f->bb, "the value's bias", f->blocks, f->pairs, POINT);
    arena_reals(arena, PER_THREAD, &f->a, "the structure vectors", 2 * f->pairs, f->filled);
    arena_reals(arena, PER_THREAD, &f->z, "the spectra of a block", N, POINT);
    arena_reals(arena, PER_THREAD, &f->G, "its convolutions", N, POINT);
    arena_reals(arena, PER_THREAD, &f->line, "a line and scratch", 2, f->longest, POINT);
    arena_reals(arena, PER_THREAD, &f->sum, "the weighted sum of values", N, LANES);
    return arena_status(arena);
}

static void load_lane(real *z, size_t l, struct number w)
{
    z[l] = w.re;
    z[LANES + l] = w.im;
}

/* The biases of latents d and d + 1 as one number; zero after the last latent. */
static struct number bias_of(const real *bias, size_t ch, size_t d, size_t D)
{
    return (struct number){bias[ch * D + d], d + 1 < D ? bias[ch * D + d + 1] : 0};
}

static status load(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct climb *f = plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D, all = f->blocks * f->pairs * POINT;
    status s = lisa_plain_load(plan);
    memset(f->wa, 0, all * N * sizeof *f->wa);
    memset(f->ba, 0, all * sizeof *f->ba);
    memset(f->bb, 0, all * sizeof *f->bb);
    for (size_t ch = 0; ch < c; ch++)
        for (size_t pair = 0; pair < f->pairs; pair++) {
            const struct number *w = f->plain.wa + (pair * c + ch) * f->plain.row;
            size_t at = ch / LANES * f->pairs + pair, l = ch % LANES;
            for (size_t n = 0; n < N; n++) load_lane(f->wa + (at * N + n) * POINT, l, w[n]);
            load_lane(f->ba + at * POINT, l, bias_of(p->ba, ch, 2 * pair, D));
            load_lane(f->bb + at * POINT, l, bias_of(p->bb, ch, 2 * pair, D));
        }
    return s;
}

static double cost_of_plain(const void *params) { return lisa_plain.multiply_adds(params); }

/* ---- the ladder ----------------------------------------------------------------------- */

#define STEP(name, state, prepare, load, cost) {#name, sizeof(struct state), prepare, load, heads_run, NULL, cost}
static const struct step steps[] = {
    {"the plain form", STEP(plain, lisa_plain, prepare_plain, lisa_plain_load, cost_of_plain)},
    {"a channel for each lane", STEP(lanes, climb, prepare, load, lisa_by_lanes)},
    {"butterflies in registers", STEP(registers, climb, prepare, load, lisa_by_registers)},
    {"heads for all threads", STEP(threads, climb, prepare, load, lisa_by_registers)},
    {NULL, {0}}
};

const struct ladder lisa_ladder = {&lisa, steps, lisa_traffic};
