/* lisa_fftw.c -- variant 1: the identity of the chapter, with FFTW
 *
 * For one head, and with (*) the convolution on the circle of circulant.h,
 *
 *     Eq. 5-7, 10   a[n,d] = sum_c q[n,c] (Ga[n,c,d] + ba[c,d]),   Ga[.,c,d] = k[.,c] (*) wa[.,c,d]
 *                   y[n,k] = sum_d a[n,d] (Gb[n,k,d] + bb[k,d]),   Gb[.,k,d] = v[.,k] (*) wb[.,d]
 *     Eq. 4         y[n,k] = sum_c q[n,c] G[n,c,k],                G[.,c,k]  = (k[.,c] v[.,k]) (*) e
 *
 * What it changes over the naive form: nothing of size N c D exists.  Two
 * latents are made at a time, as real and imaginary part of one complex signal
 * per channel (of Eq. 4, two channels c), and contracted at once.  A real
 * transform there and back would be as much work, and FFTW's are slower at
 * these sizes than its complex ones.
 *
 * How it fared: plain to read, every grid, and a few times slower than
 * variant 2 (lisa_lanes.c), which keeps the channels of a line in the lanes of
 * a vector where FFTW gathers them. */

#include "lisa_fftw.h"
#include <string.h>
#include "circulant.h"
#include "fft.h"
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "../reference/steps.h"

struct lisa_fftw {
    struct heads heads;
    struct circulant circle;
    struct fft side_by_side;    /* c signals */
    size_t tokens, channels, latents, equation;         /* N c D */
    size_t signals;             /* reals of c complex signals on the circle */
    size_t kernels;             /* of the key: c, or 1 that all channels share */
    size_t values;              /* of the value: D/2 rounded up, or a table per head (Eq. 4) */
    real *key_kernel;           /* [pairs of latents][points][kernels][re, im] */
    real *value_kernel;         /* [values][points][re, im] */
};

/* Where on the circle token n lies, row-major. */
static size_t on_circle(const struct circulant *circle, size_t n)
{
    size_t at[GRID_AXES];
    grid_coordinates(at, &circle->tokens, n);
    return (at[0] * circle->size[1] + at[1]) * circle->size[2] + at[2];
}

/* z = z w on every point, c signals side by side; w has a factor for each, or
 * one for all. */
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

/* ---- prepare --------------------------------------------------------- */

/* The spectra of kernels, `pairs` of [points][rows], each two columns of the
 * table [entries][rows][columns] as real and imaginary part, over the number
 * of points.  Where each column stands alone, the imaginary part is 0. */
static status transform_kernels(const struct lisa_fftw *l, real *kernels, size_t pairs, const real *table,
                                size_t rows, size_t columns, size_t columns_each)
{
    const struct circulant *circle = &l->circle;
    real share = 1 / (real)circle->points;
    struct fft fft = {0};
    status s = fft_prepare(&fft, circle->tokens.axes, circle->size, rows, kernels);
    if (s.code) return s;

    for (size_t pair = 0; pair < pairs; pair++) {
        real *kernel = kernels + pair * circle->points * rows * 2;
        for (size_t i = 0; i < circle->points; i++) {
            size_t entry = circulant_entry(circle, i);
            for (size_t row = 0; row < rows; row++)
                for (size_t part = 0; part < 2; part++) {
                    size_t column = pair * columns_each + part;
                    bool there = entry != NO_ENTRY && part < columns_each && column < columns;
                    kernel[(i * rows + row) * 2 + part] =
                        there ? table[(entry * rows + row) * columns + column] * share : 0;
                }
        }
        fft_run(&fft, kernel, false);
    }
    fft_release(&fft);
    return s;
}

status lisa_fftw_prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    struct lisa_fftw *l = memory_get(1, sizeof *l);
    if (!l) return out_of_memory("a plan");

    /* Step 1: sizes. */
    *l = (struct lisa_fftw){
        .tokens = problem_size(p, "N"), .channels = problem_size(p, "c"), .latents = problem_size(p, "D"),
        .equation = (size_t)problem_number(p, "equation"),
    };
    plan->state = l;
    bool circular = l->equation == 10;
    size_t pairs = (l->latents + 1) / 2, c = l->channels;
    status s = circulant_create(&l->circle, &p->grid, circular, false);
    if (s.code) return s;
    l->signals = 2 * l->circle.points * c;
    l->kernels = l->equation == 5 ? 1 : c;
    l->values = l->equation == 4 ? problem_axis(p, "e", 1) : pairs;

    /* Step 2: memory; a thread holds two sets of c signals, q, k and a. */
    size_t workspace = 2 * l->signals + 2 * l->tokens * (c + pairs);
    l->value_kernel = memory_reals(l->values, l->circle.points, 2, 1);
    l->key_kernel = l->equation == 4 ? NULL : memory_reals(pairs, l->circle.points, l->kernels, 2);
    if (!l->value_kernel || (l->equation != 4 && !l->key_kernel))
        return out_of_memory("the spectra of the kernels");
    if ((s = heads_prepare(&l->heads, plan, workspace)).code) return s;
    s = fft_prepare(&l->side_by_side, l->circle.tokens.axes, l->circle.size, c, l->heads.workspace);
    if (s.code) return s;

    /* Step 3: the spectra of the kernels. */
    if (l->equation == 4)
        return transform_kernels(l, l->value_kernel, l->values, problem_tensor(p, "e"), 1, l->values, 1);
    const real *key = problem_tensor(p, circular ? "wa" : "ea"), *value = problem_tensor(p, circular ? "wb" : "eb");
    s = transform_kernels(l, l->key_kernel, pairs, key, l->kernels, l->latents, 2);
    return s.code ? s : transform_kernels(l, l->value_kernel, pairs, value, 1, l->latents, 2);
}

void lisa_fftw_release(struct plan *plan)
{
    struct lisa_fftw *l = plan->state;
    if (!l) return;
    heads_release(&l->heads);
    fft_release(&l->side_by_side);
    memory_free(l->key_kernel);
    memory_free(l->value_kernel);
    memory_free(l);
    plan->state = NULL;
}

/* ---- run ------------------------------------------------------------- */

/* z = c complex signals that are 0 off the tokens, transformed:
 * (even[n] + sqrt(-1) odd[n]) v[n,j], or v[n,j] where there is no even. */
static void spectrum(const struct lisa_fftw *l, real *z, const real *v, size_t stride,
                     const real *even, const real *odd, size_t step)
{
    size_t c = l->channels;
    memset(z, 0, l->signals * sizeof *z);
    for (size_t n = 0; n < l->tokens; n++) {
        real *z_n = z + on_circle(&l->circle, n) * c * 2;
        real re = even ? even[n * step] : 1, im = odd ? odd[n * step] : 0;
        for (size_t j = 0; j < c; j++) {
            z_n[2 * j] = re * v[n * stride + j];
            z_n[2 * j + 1] = im * v[n * stride + j];
        }
    }
    fft_run(&l->side_by_side, z, false);
}

/* G = what is left of the spectrum z times a kernel's, with bias_j,d + sqrt(-1)
 * bias_j,d+1 everywhere: a constant is one number at frequency 0. */
static void convolve(const struct lisa_fftw *l, real *G, const real *z, const real *kernel, size_t kernels,
                     const real *bias, size_t d)
{
    size_t c = l->channels, D = l->latents;
    memcpy(G, z, l->signals * sizeof *G);
    multiply(G, kernel, l->circle.points, c, kernels);
    for (size_t j = 0; bias && j < c; j++) {
        G[2 * j] += bias[j * D + d];
        if (d + 1 < D) G[2 * j + 1] += bias[j * D + d + 1];
    }
    fft_run(&l->side_by_side, G, true);
}

/* y[n] += even[n] Re G[n] + odd[n] Im G[n]; odd may be NULL for 0. */
static void weigh(const struct lisa_fftw *l, real *y, size_t stride, const real *G,
                  const real *even, const real *odd, size_t step)
{
    for (size_t n = 0; n < l->tokens; n++) {
        const real *G_n = G + on_circle(&l->circle, n) * l->channels * 2;
        real re = even[n * step], im = odd ? odd[n * step] : 0;
        for (size_t j = 0; j < l->channels; j++)
            y[n * stride + j] += re * G_n[2 * j] + im * G_n[2 * j + 1];
    }
}

/* Normalised rows of query or key, [N][c] dense. */
static void normalised(const struct lisa_fftw *l, real *dense, const real *rows, size_t stride)
{
    head_gather(dense, rows, stride, l->tokens, l->channels);
    for (size_t n = 0; n < l->tokens; n++) l2_normalise(dense + n * l->channels, l->channels);
}

/* Eq. 5-7 and 10 for one head. */
static void latents_head(const struct head *one)
{
    const struct lisa_fftw *l = one->prepared;
    const real *ba = problem_tensor(one->problem, "ba"), *bb = problem_tensor(one->problem, "bb");
    size_t N = l->tokens, c = l->channels, D = l->latents, points = l->circle.points;
    real *z = one->workspace, *G = z + l->signals, *q = G + l->signals, *k = q + N * c, *a = k + N * c;

    /* Step 1: a, two latents at a time: product, inverse, contraction with q. */
    normalised(l, q, one->q, one->stride);
    normalised(l, k, one->k, one->stride);
    spectrum(l, z, k, c, NULL, NULL, 0);
    for (size_t d = 0; d < D; d += 2) {
        convolve(l, G, z, l->key_kernel + d * points * l->kernels, l->kernels, ba, d);
        for (size_t n = 0; n < N; n++) {
            const real *G_n = G + on_circle(&l->circle, n) * c * 2;
            real even = 0, odd = 0;
            for (size_t j = 0; j < c; j++) {
                even += q[n * c + j] * G_n[2 * j];
                odd += q[n * c + j] * G_n[2 * j + 1];
            }
            a[d * N + n] = even;
            a[(d + 1) * N + n] = odd;
        }
    }

    /* Step 2: y, two latents at a time: product, inverse, weighed with a. */
    for (size_t n = 0; n < N; n++) memset(one->y + n * one->y_stride, 0, c * sizeof *one->y);
    spectrum(l, z, one->v, one->stride, NULL, NULL, 0);
    for (size_t d = 0; d < D; d += 2) {
        convolve(l, G, z, l->value_kernel + d * points, 1, bb, d);
        weigh(l, one->y, one->y_stride, G, a + d * N, a + (d + 1) * N, 1);
    }
}

/* Eq. 4 for one head, two channels of query and key at a time. */
static void rpe_head(const struct head *one)
{
    const struct lisa_fftw *l = one->prepared;
    size_t N = l->tokens, c = l->channels, points = l->circle.points;
    real *z = one->workspace, *G = z + l->signals, *q = G + l->signals, *k = q + N * c;
    const real *kernel = l->value_kernel + (l->values > 1 ? one->head : 0) * points * 2;

    normalised(l, q, one->q, one->stride);
    normalised(l, k, one->k, one->stride);
    for (size_t n = 0; n < N; n++) memset(one->y + n * one->y_stride, 0, c * sizeof *one->y);
    for (size_t j = 0; j < c; j += 2) {
        bool both = j + 1 < c;
        spectrum(l, z, one->v, one->stride, k + j, both ? k + j + 1 : NULL, c);
        convolve(l, G, z, kernel, 1, NULL, 0);
        weigh(l, one->y, one->y_stride, G, q + j, both ? q + j + 1 : NULL, c);
    }
}

status lisa_fftw_run(struct plan *plan, real *y, const real *x)
{
    const struct lisa_fftw *l = plan->state;
    heads_run(&l->heads, plan, y, x, l->equation == 4 ? rpe_head : latents_head, 1, l);
    return status_ok();
}
