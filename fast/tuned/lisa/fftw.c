/* fftw.c -- the identity of the chapter, with FFTW
 *
 * For one head, and with (*) the convolution on the circle of circulant.h,
 *
 *     Eq. 5-7, 10   a[n,d] = sum_c q[n,c] (Ga[n,c,d] + ba[c,d]),   Ga[.,c,d] = k[.,c] (*) wa[.,c,d]
 *                   y[n,k] = sum_d a[n,d] (Gb[n,k,d] + bb[k,d]),   Gb[.,k,d] = v[.,k] (*) wb[.,d]
 *     Eq. 4         y[n,k] = sum_c q[n,c] G[n,c,k],                G[.,c,k]  = (k[.,c] v[.,k]) (*) e
 *
 * Nothing of size N c D exists.  Two latents (in Eq. 4, two channels c) are real and imaginary part of one complex
 * signal per channel, and are contracted at once.  FFTW's real transforms are slower at these sizes than its complex
 * ones.
 *
 * Plain to read, every grid, and a few times slower than lisa.c.
 *
 * Contract: reference/lisa.h. */

#include <string.h>
#include "circulant.h"
#include "fft.h"
#include "../../../reference/runtime/steps.h"
#include "../forms.h"

struct lisa_fftw {
    struct heads heads;
    struct circulant circle;
    struct fft side_by_side;    /* c signals */
    size_t signals;             /* reals of c complex signals on the circle */
    size_t pairs;               /* of latents */
    size_t kernels;             /* of the key: c, or 1 that all channels share */
    size_t values;              /* of the value: a pair, or a table per head (Eq. 4) */
    real *key_kernel;           /* [pairs][points][kernels][re, im] */
    real *value_kernel;         /* [values][points][re, im] */
    real *z, *G;                /* of each thread: c signals, and what they become */
    real *a;                    /* of each thread: [2 pairs][N] */
};
HEADS_FIRST(struct lisa_fftw);

/* Where on the circle token n lies, row-major. */
static size_t on_circle(const struct circulant *circle, size_t n)
{
    size_t at[GRID_AXES];
    grid_coordinates(at, &circle->tokens, n);
    return (at[0] * circle->size[1] + at[1]) * circle->size[2] + at[2];
}

/* z = z w on every point, c signals side by side; w has a factor for each, or one for all. */
static void multiply(real *z, const real *w, size_t points, size_t c, size_t kernels)
{
    for (size_t f = 0; f < points; f++, w += 2 * kernels)
        for (size_t j = 0; j < c; j++, z += 2) {
            const real *w_j = kernels == 1 ? w : w + 2 * j;
            real re = z[0] * w_j[0] - z[1] * w_j[1], im = z[0] * w_j[1] + z[1] * w_j[0];
            z[0] = re;
            z[1] = im;
        }
}

/* z = c complex signals that are 0 off the tokens, transformed:
 * (even[n] + sqrt(-1) odd[n]) v[n,j], or v[n,j] where there is no even. */
static void transform(real *z, const struct lisa_fftw *f, const real *v, const real *even, const real *odd)
{
    size_t N = f->heads.params.N, c = f->heads.params.c;
    memset(z, 0, f->signals * sizeof *z);
    for (size_t n = 0; n < N; n++) {
        const real *v_n = v + n * c;
        real *z_n = z + on_circle(&f->circle, n) * c * 2;
        real re = even ? even[n * c] : 1, im = odd ? odd[n * c] : 0;
        for (size_t j = 0; j < c; j++) {
            z_n[2 * j] = re * v_n[j];
            z_n[2 * j + 1] = im * v_n[j];
        }
    }
    fft_run(&f->side_by_side, z, false);
}

/* G = what is left of the spectrum z times a kernel's, with bias_j,d + sqrt(-1)
 * bias_j,d+1 everywhere: a constant is one number at frequency 0. */
static void convolve(real *G, const struct lisa_fftw *f, const real *z, const real *kernel, size_t kernels,
                     const real *bias, size_t d, size_t D)
{
    size_t c = f->heads.params.c, biased = bias ? c : 0;
    memcpy(G, z, f->signals * sizeof *G);
    multiply(G, kernel, f->circle.points, c, kernels);
    for (size_t j = 0; j < biased; j++) {
        G[2 * j] += bias[j * D + d];
        if (d + 1 < D) G[2 * j + 1] += bias[j * D + d + 1];
    }
    fft_run(&f->side_by_side, G, true);
}

/* y[n] += even[n] Re G[n] + odd[n] Im G[n], numbers of a token `step` apart; odd may be NULL for 0. */
static void weigh(real *y, const struct lisa_fftw *f, const real *G, const real *even, const real *odd, size_t step)
{
    size_t N = f->heads.params.N, c = f->heads.params.c;
    for (size_t n = 0; n < N; n++) {
        const real *G_n = G + on_circle(&f->circle, n) * c * 2;
        real *y_n = y + n * c;
        real re = even[n * step], im = odd ? odd[n * step] : 0;
        for (size_t j = 0; j < c; j++) y_n[j] += re * G_n[2 * j] + im * G_n[2 * j + 1];
    }
}

/* Eq. 5-7 and 10 for one head, q and k normalised. */
static void latents_head(const struct head *head, const real *q, const real *k)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_fftw *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D, points = f->circle.points;
    real *z = head_thread(head, f->z), *G = head_thread(head, f->G), *a = head_thread(head, f->a);

    /* Step 1: a, two latents at a time: product, inverse, contraction with q. */
    transform(z, f, k, NULL, NULL);
    for (size_t d = 0; d < D; d += 2) {
        convolve(G, f, z, f->key_kernel + d * points * f->kernels, f->kernels, p->ba, d, D);
        for (size_t n = 0; n < N; n++) {
            const real *G_n = G + on_circle(&f->circle, n) * c * 2, *q_n = q + n * c;
            real even = 0, odd = 0;
            for (size_t j = 0; j < c; j++) {
                even += q_n[j] * G_n[2 * j];
                odd += q_n[j] * G_n[2 * j + 1];
            }
            a[d * N + n] = even;
            a[(d + 1) * N + n] = odd;
        }
    }

    /* Step 2: y, two latents at a time: product, inverse, weighed with a. */
    transform(z, f, head->v, NULL, NULL);
    for (size_t d = 0; d < D; d += 2) {
        convolve(G, f, z, f->value_kernel + d * points, 1, p->bb, d, D);
        weigh(head->y, f, G, a + d * N, a + (d + 1) * N, 1);
    }
}

/* Eq. 4 for one head, two channels of query and key at a time. */
static void rpe_head(const struct head *head, const real *q, const real *k)
{
    const struct lisa_fftw *f = head->plan->state;
    size_t c = f->heads.params.c, points = f->circle.points;
    real *z = head_thread(head, f->z), *G = head_thread(head, f->G);
    const real *kernel = f->value_kernel + (f->values > 1 ? head->number : 0) * points * 2;

    for (size_t j = 0; j < c; j += 2) {
        bool both = j + 1 < c;
        transform(z, f, head->v, k + j, both ? k + j + 1 : NULL);
        convolve(G, f, z, kernel, 1, NULL, 0, 0);
        weigh(head->y, f, G, q + j, both ? q + j + 1 : NULL, c);
    }
}

/* Query and key, which are this thread's copies, become unit vectors. */
static void one_head(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_fftw *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c;
    real *q = head_thread(head, f->heads.q), *k = head_thread(head, f->heads.k);

    for (size_t n = 0; n < N; n++) {
        l2_normalise(q + n * c, c);
        l2_normalise(k + n * c, c);
    }
    memset(head->y, 0, N * c * sizeof *head->y);
    if (p->equation == 4) rpe_head(head, q, k);
    else latents_head(head, q, k);
}

/* ---- the form -------------------------------------------------------------- */

static status prepare(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_fftw *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, c = p->heads.c;

    arena_fail(arena, circulant_create(&f->circle, &p->grid, &p->window, p->wraps, false));
    heads_prepare(plan, (struct core_options){.core = one_head, .dense = true});
    f->signals = 2 * f->circle.points * c;
    f->pairs = (p->D + 1) / 2;
    f->kernels = p->equation == 5 ? 1 : c;
    f->values = p->equation == 4 ? p->e_columns : f->pairs;
    arena_reals(arena, PERSISTENT, &f->key_kernel, "the spectra of the key's kernels",
               f->pairs, f->circle.points, f->kernels, 2);
    arena_reals(arena, PERSISTENT, &f->value_kernel, "the spectra of the value's kernels",
               f->values, f->circle.points, 2);
    arena_reals(arena, PER_THREAD, &f->z, "the spectra of a head", 2, f->circle.points, c);
    arena_reals(arena, PER_THREAD, &f->G, "the convolutions of a head", 2, f->circle.points, c);
    arena_reals(arena, PER_THREAD, &f->a, "the structure vectors", 2 * f->pairs, N);
    return arena_status(arena);
}

/* The spectra of kernels, `pairs` of [points][rows], over the number of points.  Each has two columns of the table
 * [entries][rows][columns] as real and imaginary part, or one.  Each is made in `aligned`, where FFTW planned its
 * points, and then copied. */
static status load_kernels(real *kernels, real *aligned, const struct circulant *circle, size_t pairs,
                           const real *table, size_t rows, size_t columns, size_t columns_each)
{
    real share_of_one = 1 / (real)circle->points;
    struct fft fft = {0};
    status s = fft_load(&fft, circle->tokens.axes, circle->size, rows, aligned);
    if (s.code) return s;

    for (size_t pair = 0; pair < pairs; pair++) {
        for (size_t i = 0; i < circle->points; i++) {
            size_t entry = circulant_entry(circle, i);
            for (size_t row = 0; row < rows; row++)
                for (size_t part = 0; part < 2; part++) {
                    size_t column = pair * columns_each + part;
                    bool there = entry != NO_ENTRY && part < columns_each && column < columns;
                    aligned[(i * rows + row) * 2 + part] =
                        there ? table[(entry * rows + row) * columns + column] * share_of_one : 0;
                }
        }
        fft_run(&fft, aligned, false);
        memcpy(kernels + pair * circle->points * rows * 2, aligned, circle->points * rows * 2 * sizeof *kernels);
    }
    fft_release(&fft);
    return s;
}

static status load(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_fftw *f = plan->state;
    const struct circulant *circle = &f->circle;
    const real *key = p->wa ? p->wa : p->ea, *value = p->wb ? p->wb : p->eb;

    status s = fft_load(&f->side_by_side, circle->tokens.axes, circle->size, p->heads.c, f->z);
    if (s.code) return s;
    if (p->equation == 4) s = load_kernels(f->value_kernel, f->z, circle, f->values, p->e, 1, f->values, 1);
    else s = load_kernels(f->value_kernel, f->z, circle, f->values, value, 1, p->D, 2);
    if (!s.code && key) s = load_kernels(f->key_kernel, f->z, circle, f->pairs, key, f->kernels, p->D, 2);
    return s.code ? s : heads_load(plan);
}

static void release(struct plan *plan)
{
    struct lisa_fftw *f = plan->state;
    fft_release(&f->side_by_side);
}

static double multiply_adds(const void *params) { return circulant_multiply_adds(params, false); }

const struct form lisa_fftw = {
    .name = "fftw", .state = sizeof(struct lisa_fftw), .prepare = prepare, .load = load, .run = heads_run,
    .release = release, .multiply_adds = multiply_adds,
};
