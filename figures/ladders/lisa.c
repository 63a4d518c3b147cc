/* lisa.c -- LiSA's Eq. 10 as a ladder: eight steps, one idea each
 *
 *     i, n  token, N of them     ch  channel, c of them     d  latent, D of them
 *
 *   equation    The core of the naive form: both convolutions of all tokens, then the query.
 *   order       The query first.  The structure vector a of a token is summed before anything is mixed, and kernels are
 *               mixed before they meet the values: half the multiply-adds, and no array of N c D numbers.
 *   identity    A circular convolution is a product of spectra (chapters/1-lisa.md, identity 5).  Transforms are plain
 *               sums along each axis.
 *   fft         A sum of n terms splits by the factors of n.
 *   pairs       Two latents are one complex kernel (identity 6): half the transforms.
 *   lanes       A channel in each lane: the same transforms with vectors instead of numbers.
 *   registers   Two to eight points at a time are transformed in registers, without multiplications by 0 or 1.
 *   threads     The threads share the heads, which needs no new line.
 *
 * Any grid; other equations and local kernels are rejected.  Contract: reference/lisa.h. */

#include <string.h>
#include "../../fast/tuned/lisa/vec_pass.h"
#include "../../fast/tuned/transpose.h"
#include "../../naive/lisa.h"
#include "../../reference/runtime/steps.h"
#include "lisa_costs.h"

/* A complex number.  Of a vector of them, vec.h has the point. */
typedef struct number { real re, im; } number;

/* An axis of n points, which lie `stride` apart on the grid; the nth roots of 1, exp(-2 pi sqrt(-1) k / n). */
struct axis {
    size_t n, stride;
    number *root;
};

/* out[o] = sum_i in[i step] root^(i o) for o < n; part is room for n numbers. */
typedef void line_transform(number *out, const number *in, size_t step, size_t n, const struct axis *axis,
                            number *part);
typedef void lane_transform(point *out, const point *in, size_t step, size_t n, const struct axis *axis, point *part);

struct climb {
    struct heads heads;
    real *Ga, *Gb;              /* [N][c][D], of the equation */
    real *a;                    /* [D] of one token; from `identity` on [2 pairs][row] of all */
    size_t row;                 /* N, filled up to whole vectors */
    size_t together;            /* latents in a transform, 1 or 2 */
    size_t kernels;             /* transforms for all latents */
    size_t blocks;              /* of LANES channels */
    struct axis axis[GRID_AXES];
    size_t longest;             /* axis */
    line_transform *transform;
    lane_transform *transform_lanes;
    number *key_kernel, *value_kernel;  /* [c][kernels][N]; [kernels][N]: spectra, over N */
    number *z, *G, *line;       /* [N] of a channel, and what a kernel makes of it; a line and a copy */
    number *line_for_loading;
    real *key_kernel_lanes;     /* [blocks][kernels][N] points */
    real *key_bias, *value_bias;        /* [blocks][kernels] points */
    real *z_lanes, *G_lanes, *line_lanes, *line_lanes_for_loading;      /* the same for the lanes */
    real *sum;                  /* [N] vectors: what values become */
};
HEADS_FIRST(struct climb);

static number plus(number a, number b) { return (number){a.re + b.re, a.im + b.im}; }
static number times(number a, number b) { return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Query and key, which are this thread's copies, become unit vectors. */
static void normalise(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    for (size_t i = 0; i < p->heads.N; i++) {
        l2_normalise(head_thread(head, f->heads.q) + i * p->heads.c, p->heads.c);
        l2_normalise(head_thread(head, f->heads.k) + i * p->heads.c, p->heads.c);
    }
}

/* ---- 1. equation ------------------------------------------------------------------ */

static void equation(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    real *Ga = head_thread(head, f->Ga), *Gb = head_thread(head, f->Gb);

    normalise(head);
    lisa_naive_circular_key(Ga, head->k, p->wa, p->ba, &p->grid, c, D);
    lisa_naive_circular_value(Gb, head->v, p->wb, p->bb, &p->grid, c, D);
    lisa_naive_contraction(head->y, head->q, Ga, Gb, N, c, D);
}

/* ---- 2. order ---------------------------------------------------------------------- */

static void order(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    real *a = head_thread(head, f->a);

    normalise(head);
    for (size_t i = 0; i < N; i++) {
        const real *q_i = head->q + i * c;
        real *y_i = head->y + i * c;

        /* Step 1: the query meets each key before the kernels do. */
        for (size_t d = 0; d < D; d++) a[d] = 0;
        for (size_t n = 0; n < N; n++) {
            const real *k_n = head->k + n * c, *wa_in = p->wa + grid_circular(&p->grid, i, n) * c * D;
            for (size_t ch = 0; ch < c; ch++) {
                real correlation = q_i[ch] * k_n[ch];
                for (size_t d = 0; d < D; d++) a[d] += correlation * wa_in[ch * D + d];
            }
        }
        for (size_t ch = 0; ch < c; ch++)
            for (size_t d = 0; d < D; d++) a[d] += q_i[ch] * p->ba[ch * D + d];

        /* Step 2: the kernels are mixed before they meet the values. */
        for (size_t ch = 0; ch < c; ch++) y_i[ch] = 0;
        for (size_t n = 0; n < N; n++) {
            const real *v_n = head->v + n * c, *wb_in = p->wb + grid_circular(&p->grid, i, n) * D;
            real kernel = 0;
            for (size_t d = 0; d < D; d++) kernel += a[d] * wb_in[d];
            for (size_t ch = 0; ch < c; ch++) y_i[ch] += kernel * v_n[ch];
        }

        /* Step 3: and the biases meet the readings. */
        for (size_t ch = 0; ch < c; ch++)
            for (size_t d = 0; d < D; d++) y_i[ch] += a[d] * p->bb[ch * D + d];
    }
}

/* ---- 3. identity --------------------------------------------------------------------- */

/* The sum as it stands. */
static void dft(number *out, const number *in, size_t step, size_t n, const struct axis *axis, number *part)
{
    (void)part;
    for (size_t o = 0; o < n; o++) {
        number sum = in[0];
        for (size_t i = 1, turn = o; i < n; i++) {
            sum = plus(sum, times(in[i * step], axis->root[turn]));
            turn += o;
            if (turn >= n) turn -= n;
        }
        out[o] = sum;
    }
}

/* All points of a signal, along each axis. */
static void spectrum(number *z, const struct climb *f, size_t points, number *line)
{
    for (const struct axis *x = f->axis; x < f->axis + GRID_AXES; x++)
        for (size_t first = 0; x->n > 1 && first < points; first += x->n * x->stride)
            for (size_t at = first; at < first + x->stride; at++) {
                f->transform(line, z + at, x->stride, x->n, x, line + f->longest);
                for (size_t o = 0; o < x->n; o++) z[at + o * x->stride] = line[o];
            }
}

/* A channel of tokens as a signal. */
static void lay(number *z, const real *channel, size_t points, size_t c)
{
    for (size_t n = 0; n < points; n++) z[n] = (number){channel[n * c], 0};
}

/* G = z convolved with a kernel, real and imaginary part exchanged: an inverse transform is
 * a transform with both exchanged before and after. */
static void convolve(number *G, const struct climb *f, const number *z, const number *kernel, size_t points,
                     number *line)
{
    for (size_t n = 0; n < points; n++) {
        number product = times(z[n], kernel[n]);
        G[n] = (number){product.im, product.re};
    }
    spectrum(G, f, points, line);
}

static void each_latent(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    number *z = arena_thread(&head->plan->arena, f->z, head->thread), *G = arena_thread(&head->plan->arena, f->G, head->thread);
    number *line = arena_thread(&head->plan->arena, f->line, head->thread);
    real *a = head_thread(head, f->a);

    normalise(head);
    memset(a, 0, D * f->row * sizeof *a);
    memset(head->y, 0, N * c * sizeof *a);

    /* Step 1: each latent's convolution of the key, met with the query and forgotten. */
    for (size_t ch = 0; ch < c; ch++) {
        lay(z, head->k + ch, N, c);
        spectrum(z, f, N, line);
        for (size_t d = 0; d < D; d++) {
            convolve(G, f, z, f->key_kernel + (ch * D + d) * N, N, line);
            for (size_t n = 0; n < N; n++) a[d * f->row + n] += head->q[n * c + ch] * (G[n].im + p->ba[ch * D + d]);
        }
    }

    /* Step 2: each latent's convolution of the value, weighed with its readings. */
    for (size_t ch = 0; ch < c; ch++) {
        lay(z, head->v + ch, N, c);
        spectrum(z, f, N, line);
        for (size_t d = 0; d < D; d++) {
            convolve(G, f, z, f->value_kernel + d * N, N, line);
            for (size_t n = 0; n < N; n++) head->y[n * c + ch] += a[d * f->row + n] * (G[n].im + p->bb[ch * D + d]);
        }
    }
}

/* ---- 4. fft ---------------------------------------------------------------------------- */

/* p transforms of every pth point, and their sums: n (n - 1) products become n times the sum of p - 1 over the
 * factors. */
static void fft(number *out, const number *in, size_t step, size_t n, const struct axis *axis, number *part)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    size_t p = factor(n), m = n / p;
    for (size_t r = 0; r < p; r++) fft(out + r * m, in + r * step, p * step, m, axis, part);
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++) part[r] = out[r * m + k];
        for (size_t o = k; o < n; o += m) {
            number sum = part[0];
            for (size_t r = 1, turn = o; r < p; r++) {
                sum = plus(sum, times(part[r], axis->root[turn * (axis->n / n)]));
                turn += o;
                if (turn >= n) turn -= n;
            }
            out[o] = sum;
        }
    }
}

/* ---- 5. pairs -------------------------------------------------------------------------- */

/* The bias of a latent, 0 of the last one's missing partner. */
static real bias_of(const real *bias, size_t ch, size_t d, size_t D)
{
    return d < D ? bias[ch * D + d] : 0;
}

static void each_pair(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    number *z = arena_thread(&head->plan->arena, f->z, head->thread), *G = arena_thread(&head->plan->arena, f->G, head->thread);
    number *line = arena_thread(&head->plan->arena, f->line, head->thread);
    real *a = head_thread(head, f->a);

    normalise(head);
    memset(a, 0, 2 * f->kernels * f->row * sizeof *a);
    memset(head->y, 0, N * c * sizeof *a);

    /* Step 1: two latents, one in the real part and one in the imaginary. */
    for (size_t ch = 0; ch < c; ch++) {
        lay(z, head->k + ch, N, c);
        spectrum(z, f, N, line);
        for (size_t d = 0; d < D; d += 2) {
            number bias = {bias_of(p->ba, ch, d, D), bias_of(p->ba, ch, d + 1, D)};
            real *even = a + d * f->row, *odd = even + f->row;
            convolve(G, f, z, f->key_kernel + (ch * f->kernels + d / 2) * N, N, line);
            for (size_t n = 0; n < N; n++) {
                even[n] += head->q[n * c + ch] * (G[n].im + bias.re);
                odd[n] += head->q[n * c + ch] * (G[n].re + bias.im);
            }
        }
    }

    /* Step 2: the same of the value. */
    for (size_t ch = 0; ch < c; ch++) {
        lay(z, head->v + ch, N, c);
        spectrum(z, f, N, line);
        for (size_t d = 0; d < D; d += 2) {
            number bias = {bias_of(p->bb, ch, d, D), bias_of(p->bb, ch, d + 1, D)};
            const real *even = a + d * f->row, *odd = even + f->row;
            convolve(G, f, z, f->value_kernel + d / 2 * N, N, line);
            for (size_t n = 0; n < N; n++)
                head->y[n * c + ch] += even[n] * (G[n].im + bias.re) + odd[n] * (G[n].re + bias.im);
        }
    }
}

/* ---- 6. lanes --------------------------------------------------------------------------- */

/* A point times a number, which is the same for all lanes. */
static point turned(point a, number b) { return (point){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* fft, word for word. */
static void fft_lanes(point *out, const point *in, size_t step, size_t n, const struct axis *axis, point *part)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    size_t p = factor(n), m = n / p;
    for (size_t r = 0; r < p; r++) fft_lanes(out + r * m, in + r * step, p * step, m, axis, part);
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++) part[r] = out[r * m + k];
        for (size_t o = k; o < n; o += m) {
            point sum = part[0];
            for (size_t r = 1, turn = o; r < p; r++) {
                sum = add(sum, turned(part[r], axis->root[turn * (axis->n / n)]));
                turn += o;
                if (turn >= n) turn -= n;
            }
            out[o] = sum;
        }
    }
}

static void spectrum_lanes(point *z, const struct climb *f, size_t points, point *line)
{
    for (const struct axis *x = f->axis; x < f->axis + GRID_AXES; x++)
        for (size_t first = 0; x->n > 1 && first < points; first += x->n * x->stride)
            for (size_t at = first; at < first + x->stride; at++) {
                f->transform_lanes(line, z + at, x->stride, x->n, x, line + f->longest);
                for (size_t o = 0; o < x->n; o++) z[at + o * x->stride] = line[o];
            }
}

/* Channels from ch on, zeros in lanes behind the last. */
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

static void in_lanes(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct climb *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    point *z = (point *)head_thread(head, f->z_lanes), *G = (point *)head_thread(head, f->G_lanes);
    point *line = (point *)head_thread(head, f->line_lanes);
    const point *key_bias = (const point *)f->key_bias, *value_bias = (const point *)f->value_bias;
    vec *sum = (vec *)head_thread(head, f->sum);
    real *a = head_thread(head, f->a);

    normalise(head);
    memset(a, 0, 2 * f->kernels * f->row * sizeof *a);

    /* Step 1: a kernel for each lane, and the query's channels beside each other. */
    for (size_t block = 0; block < f->blocks; block++) {
        lay_lanes(z, head->k, N, block * LANES, c);
        spectrum_lanes(z, f, N, line);
        for (size_t d = 0; d < D; d += 2) {
            size_t pair = block * f->kernels + d / 2;
            const point *kernel = (const point *)f->key_kernel_lanes + pair * N;
            for (size_t n = 0; n < N; n++)
                G[n] = (point){z[n].re * kernel[n].im + z[n].im * kernel[n].re,
                               z[n].re * kernel[n].re - z[n].im * kernel[n].im};
            spectrum_lanes(G, f, N, line);
            read_lanes(a + d * f->row, a + (d + 1) * f->row, G, head->q, key_bias[pair], N, block * LANES, c);
        }
    }

    /* Step 2: one kernel for all lanes. */
    for (size_t block = 0; block < f->blocks; block++) {
        lay_lanes(z, head->v, N, block * LANES, c);
        spectrum_lanes(z, f, N, line);
        memset(sum, 0, N * sizeof *sum);
        for (size_t d = 0; d < D; d += 2) {
            const real *even = a + d * f->row, *odd = even + f->row;
            point bias = value_bias[block * f->kernels + d / 2];
            for (size_t n = 0; n < N; n++) {
                point product = turned(z[n], f->value_kernel[d / 2 * N + n]);
                G[n] = (point){product.im, product.re};
            }
            spectrum_lanes(G, f, N, line);
            for (size_t n = 0; n < N; n++)
                sum[n] += even[n] * (G[n].im + bias.re) + odd[n] * (G[n].re + bias.im);
        }
        for (size_t n = 0; n < N; n++) {
            size_t left = c - block * LANES;
            vec_store_partial(head->y + n * c + block * LANES, sum[n], left < LANES ? left : LANES);
        }
    }
}

/* ---- 7. registers ------------------------------------------------------------------------- */

/* The transform of an odd prime of points in registers, by the sums and differences of vec_pass.h. */
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

/* The same for any of the primes and powers that have one; p is a constant where it is called. */
INLINED void butterfly(point z[8], const size_t p)
{
    if (p == 2) butterfly_2(z);
    if (p == 4) butterfly_4(z);
    if (p == 8) butterfly_8(z);
    if (p % 2) butterfly_odd(z, p);
}

/* p transforms of m points become one: p points at a time are turned and transformed. */
INLINED void join(point *out, size_t m, const struct axis *axis, const size_t p)
{
    size_t apart = axis->n / (p * m);
    for (size_t k = 0; k < m; k++) {
        point z[8] = {out[k]};
#pragma GCC unroll 8
        for (size_t r = 1; r < p; r++) z[r] = turned(out[r * m + k], axis->root[r * k * apart]);
        butterfly(z, p);
#pragma GCC unroll 8
        for (size_t r = 0; r < p; r++) out[r * m + k] = z[r];
    }
}

/* The last p points of all need not be turned. */
INLINED void leaf(point *out, const point *in, size_t step, const size_t p)
{
    point z[8];
#pragma GCC unroll 8
    for (size_t r = 0; r < p; r++) z[r] = in[r * step];
    butterfly(z, p);
#pragma GCC unroll 8
    for (size_t r = 0; r < p; r++) out[r] = z[r];
}

static void fft_registers(point *out, const point *in, size_t step, size_t n, const struct axis *axis, point *part)
{
    size_t p = radix(n), m = p ? n / p : 0;

    if (m == 0) {
        fft_lanes(out, in, step, n, axis, part);
        return;
    }
    for (size_t r = 0; m > 1 && r < p; r++) fft_registers(out + r * m, in + r * step, p * step, m, axis, part);
    switch (p) {
#define CASE(p) case p: \
        if (m == 1) leaf(out, in, step, p); \
        else join(out, m, axis, p); \
        break;
    CASE(8) CASE(7) CASE(5) CASE(4) CASE(3) CASE(2)
#undef CASE
    }
}

/* ---- the forms around them --------------------------------------------------------------- */

static status prepare(struct plan *plan)
{
    static const struct step {
        void (*core)(const struct head *);
        size_t together;
        line_transform *transform;
        lane_transform *transform_lanes;
    } steps[] = {
        {equation, 0, NULL, NULL}, {order, 0, NULL, NULL}, {each_latent, 1, dft, NULL}, {each_latent, 1, fft, NULL},
        {each_pair, 2, fft, NULL}, {in_lanes, 2, fft, fft_lanes}, {in_lanes, 2, fft, fft_registers},
        {in_lanes, 2, fft, fft_registers},
    };
    const struct lisa_problem *p = plan->params;
    const struct step *step = &steps[step_number(&lisa_ladder, plan->form)];
    struct climb *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, c = p->heads.c, D = p->D, stride = N;

    /* Step 1: the sums of Eq. 10 as they stand. */
    if (p->equation != 10 || !p->wraps)
        return bad_input("the ladder is of Eq. 10 with circular kernels, found another equation or local ones");
    heads_prepare(plan, (struct core_options){.core = step->core, .dense = true});
    if (step->core == equation) {
        arena_reals(arena, PER_THREAD, &f->Ga, "the convolutions of the key", N, c, D);
        arena_reals(arena, PER_THREAD, &f->Gb, "the convolutions of the value", N, c, D);
    }
    if (step->core == order) arena_reals(arena, PER_THREAD, &f->a, "the readings of a token", D);
    if (!step->transform) return arena_status(arena);

    /* Step 2: axes and their roots, the structure vectors of all tokens, the value's kernels. */
    for (int a = 0; a < GRID_AXES; a++) {
        size_t n = p->grid.size[a];
        stride /= n;
        f->axis[a] = (struct axis){.n = n, .stride = stride};
        if (n > f->longest) f->longest = n;
        arena_objects(arena, PERSISTENT, &f->axis[a].root, "the roots of an axis", n, 1, sizeof(number));
    }
    f->transform = step->transform;
    f->transform_lanes = step->transform_lanes;
    f->together = step->together;
    f->kernels = (D + f->together - 1) / f->together;
    f->row = (N + LANES - 1) / LANES * LANES;
    f->blocks = (c + LANES - 1) / LANES;
    arena_reals(arena, PER_THREAD, &f->a, "the structure vectors", f->together * f->kernels, f->row);
    arena_objects(arena, PERSISTENT, &f->value_kernel, "the spectra of the value's kernels", f->kernels, N, sizeof(number));
    arena_objects(arena, LOAD_SCRATCH, &f->line_for_loading, "a line and a copy", 2, f->longest, sizeof(number));

    /* Step 3: one channel at a time, or a block of them. */
    size_t each = step->transform_lanes ? 0 : N, all = step->transform_lanes ? N : 0;
    arena_objects(arena, PERSISTENT, &f->key_kernel, "the spectra of the key's kernels", c * f->kernels, each,
                 sizeof(number));
    arena_objects(arena, PER_THREAD, &f->z, "the spectrum of a channel", each, 1, sizeof(number));
    arena_objects(arena, PER_THREAD, &f->G, "its convolution", each, 1, sizeof(number));
    arena_objects(arena, PER_THREAD, &f->line, "a line and a copy", each ? 2 : 0, f->longest, sizeof(number));
    arena_reals(arena, PERSISTENT, &f->key_kernel_lanes, "the spectra of the key's kernels", f->blocks, f->kernels, all,
               POINT);
    arena_reals(arena, PERSISTENT, &f->key_bias, "the key's bias", all ? f->blocks : 0, f->kernels, POINT);
    arena_reals(arena, PERSISTENT, &f->value_bias, "the value's bias", all ? f->blocks : 0, f->kernels, POINT);
    arena_reals(arena, LOAD_SCRATCH, &f->line_lanes_for_loading, "a line and a copy", all ? 2 : 0, f->longest, POINT);
    arena_reals(arena, PER_THREAD, &f->z_lanes, "the spectra of a block", all, POINT);
    arena_reals(arena, PER_THREAD, &f->G_lanes, "its convolutions", all, POINT);
    arena_reals(arena, PER_THREAD, &f->line_lanes, "a line and a copy", all ? 2 : 0, f->longest, POINT);
    arena_reals(arena, PER_THREAD, &f->sum, "what a block of values becomes", all, LANES);
    return arena_status(arena);
}

/* The spectra of kernels [N][columns] from column `first` on, `together` columns as the real
 * and the imaginary part of one, over N. */
static void load_kernel(number *kernel, const struct climb *f, const real *table, size_t points, size_t columns,
                        size_t first, size_t behind)
{
    for (size_t n = 0; n < points; n++) {
        const real *row = table + n * columns;
        kernel[n].re = row[first] / (real)points;
        kernel[n].im = f->together > 1 && first + 1 < behind ? row[first + 1] / (real)points : 0;
    }
    spectrum(kernel, f, points, f->line_for_loading);
}

/* The same of a channel for each lane, and of two latents of a bias. */
static void load_block(struct climb *f, const struct lisa_problem *p, size_t block, size_t d)
{
    size_t N = p->heads.N, c = p->heads.c, D = p->D, pair = block * f->kernels + d / 2;
    point *kernel = (point *)f->key_kernel_lanes + pair * N;
    point *key_bias = (point *)f->key_bias + pair, *value_bias = (point *)f->value_bias + pair;

    memset(kernel, 0, N * sizeof *kernel);
    memset(key_bias, 0, sizeof *key_bias);
    memset(value_bias, 0, sizeof *value_bias);
    for (size_t l = 0; l < LANES && block * LANES + l < c; l++) {
        size_t ch = block * LANES + l;
        for (size_t n = 0; n < N; n++) {
            const real *wa = p->wa + (n * c + ch) * D;
            kernel[n].re[l] = wa[d] / (real)N;
            kernel[n].im[l] = d + 1 < D ? wa[d + 1] / (real)N : 0;
        }
        key_bias->re[l] = bias_of(p->ba, ch, d, D);
        key_bias->im[l] = bias_of(p->ba, ch, d + 1, D);
        value_bias->re[l] = bias_of(p->bb, ch, d, D);
        value_bias->im[l] = bias_of(p->bb, ch, d + 1, D);
    }
    spectrum_lanes(kernel, f, N, (point *)f->line_lanes_for_loading);
}

static status load(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct climb *f = plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;

    /* Step 1: the roots. */
    for (struct axis *x = f->axis; x < f->axis + GRID_AXES; x++)
        for (size_t k = 0; x->root && k < x->n; k++) x->root[k] = (number){turn_cosine(k, x->n), -turn_sine(k, x->n)};

    /* Step 2: the spectra of all kernels. */
    for (size_t kernel = 0; kernel < f->kernels; kernel++) {
        size_t d = kernel * f->together;
        load_kernel(f->value_kernel + kernel * N, f, p->wb, N, D, d, D);
        for (size_t ch = 0; f->key_kernel && ch < c; ch++)
            load_kernel(f->key_kernel + (ch * f->kernels + kernel) * N, f, p->wa, N, c * D, ch * D + d, (ch + 1) * D);
        for (size_t block = 0; f->key_kernel_lanes && block < f->blocks; block++) load_block(f, p, block, d);
    }
    return heads_load(plan);
}

/* ---- the ladder -------------------------------------------------------------------------- */

#define STEP(name, cost) {#name, sizeof(struct climb), prepare, load, heads_run, NULL, cost}
static const struct step steps[] = {
    {"the equation", STEP(equation, lisa_by_equation)},
    {"the query first, kernels mixed", STEP(order, lisa_by_order)},
    {"a product of spectra", STEP(identity, lisa_by_identity)},
    {"sums fall apart by factors", STEP(fft, lisa_by_fft)},
    {"two latents a transform", STEP(pairs, lisa_by_pairs)},
    {"a channel for each lane", STEP(vec, lisa_by_lanes)},
    {"butterflies in registers", STEP(registers, lisa_by_registers)},
    {"heads for all threads", STEP(threads, lisa_by_registers)},
    {NULL, {0}}
};

const struct ladder lisa_ladder = {&lisa, steps, lisa_traffic};
