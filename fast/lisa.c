/* lisa.c -- LiSA in plain C: convolutions as products of spectra
 *
 * Eq. 10 convolves key and value with kernels as large as the grid: N^2 multiply-adds for each channel and latent.  A
 * circular convolution is a product of Fourier transforms (F, along every axis):
 *
 *     Ga_icd = sum_n k_nc wa_{i-n,c,d}     <=>     F Ga_cd = F k_c  F wa_cd
 *
 * A transform costs N log N (fourier.h).  F wa and F wb are computed once, at load.  Two real convolutions cost one
 * complex one: kernels d and d + 1 are the real and the imaginary part of one complex kernel, and so are the results.
 *
 * Eq. 4 to 7 and local kernels do not wrap.  They use larger circles (circulant.h), on which no offset of two tokens
 * meets another entry of the kernel; the rest is the same.  Eq. 4 convolves each pair of a key and a value channel:
 *
 *     y_ik = sum_c q_ic G_ick,   G_ick = sum_j (k_jc v_jk) e[j-i]
 *
 *     i, j, n  tokens, N of them     s  points of the circles, P of them     d  latents, D of them
 *     ch    channels, c of them: the paper's c of query and key, its k of value
 *
 * Contract: reference/lisa.h. */

#include "lisa.h"
#include <math.h>
#include "../reference/runtime/steps.h"
#include "forms.h"

/* ---- the core -------------------------------------------------------------------- */

/* Z = F z for one channel x of the tokens: z_n = x_n, or (re_n + i im_n) x_n if re is given; zero off the grid. */
static void spectrum(struct number *Z, const real *x, const real *re, const real *im, const struct lisa_plain *f,
                     struct number *line)
{
    size_t c = f->heads.params.c;
    for (size_t s = 0; s < f->circle.points; s++) Z[s] = (struct number){0, 0};
    for (size_t n = 0; n < f->heads.params.N; n++) {
        struct number *z = &Z[f->place[n]];
        z->re = re ? re[n * c] * x[n * c] : x[n * c];
        if (im) z->im = im[n * c] * x[n * c];
    }
    fourier_transform(Z, &f->fourier, false, line);
}

/* G = P F^-1 (Z w): the convolution, from the spectra of signal and kernel. */
static void convolve(struct number *G, const struct number *Z, const struct number *w, const struct lisa_plain *f,
                     struct number *line)
{
    for (size_t s = 0; s < f->circle.points; s++)
        G[s] = (struct number){Z[s].re * w[s].re - Z[s].im * w[s].im, Z[s].re * w[s].im + Z[s].im * w[s].re};
    fourier_transform(G, &f->fourier, true, line);
}

/* Eq. 5-7 and 10, latents d and d + 1, from the spectra K and V of all channels. */
static void two_latents(real *y, real *a, const real *q, const struct number *K, const struct number *V, size_t d,
                        const struct lisa_problem *p, const struct lisa_plain *f, struct number *G,
                        struct number *line)
{
    size_t N = p->heads.N, c = p->heads.c, row = f->row;
    bool both = d + 1 < p->D;

    /* Step 1: a_id = sum_c q_ic (Ga_icd + ba_cd). */
    for (size_t i = 0; i < 2 * N; i++) a[i] = 0;
    for (size_t ch = 0; ch < c; ch++) {
        const real *ba = p->ba ? p->ba + ch * p->D + d : NULL;
        convolve(G, K + ch * row, f->wa + (d / 2 * f->kernels + ch % f->kernels) * row, f, line);
        for (size_t i = 0; i < N; i++) {
            struct number Ga = G[f->place[i]];
            if (ba) Ga.re += ba[0];
            if (ba && both) Ga.im += ba[1];
            a[2 * i] += q[i * c + ch] * Ga.re;
            a[2 * i + 1] += q[i * c + ch] * Ga.im;
        }
    }

    /* Step 2: y_ik += a_id (Gb_ikd + bb_kd). */
    for (size_t ch = 0; ch < c; ch++) {
        const real *bb = p->bb + ch * p->D + d;
        convolve(G, V + ch * row, f->wb + d / 2 * row, f, line);
        for (size_t i = 0; i < N; i++) {
            struct number Gb = G[f->place[i]];
            y[i * c + ch] += a[2 * i] * (Gb.re + bb[0]);
            if (both) y[i * c + ch] += a[2 * i + 1] * (Gb.im + bb[1]);
        }
    }
}

/* Eq. 4, two channels of query and key: y_ik += q_ic G_ick.  e is the kernel's spectrum. */
static void two_channels(real *y, const real *q, const real *k, const real *v, bool both, const struct number *e,
                         const struct lisa_plain *f, struct number *G, struct number *line)
{
    size_t c = f->heads.params.c;
    for (size_t ch = 0; ch < c; ch++) {
        spectrum(G, v + ch, k, both ? k + 1 : NULL, f, line);
        convolve(G, G, e, f, line);
        for (size_t i = 0; i < f->heads.params.N; i++) {
            y[i * c + ch] += q[i * c] * G[f->place[i]].re;
            if (both) y[i * c + ch] += q[i * c + 1] * G[f->place[i]].im;
        }
    }
}

/* One head; q and k are this thread's copies. */
static void one_head(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_plain *f = head->plan->state;
    const struct arena *arena = &head->plan->arena;
    size_t N = p->heads.N, c = p->heads.c, row = f->row, t = head->thread;
    real *q = head_thread(head, f->heads.q), *k = head_thread(head, f->heads.k), *a = head_thread(head, f->a);
    struct number *K = arena_thread(arena, f->K, t), *V = arena_thread(arena, f->V, t);
    struct number *G = arena_thread(arena, f->G, t), *line = arena_thread(arena, f->fourier.line, t);

    for (size_t i = 0; i < N; i++) {
        l2_normalise(q + i * c, c);
        l2_normalise(k + i * c, c);
    }
    for (size_t ik = 0; ik < N * c; ik++) head->y[ik] = 0;
    if (p->equation == 4) {
        const struct number *e = f->wb + head->number % p->e_columns * row;
        for (size_t ch = 0; ch < c; ch += 2) two_channels(head->y, q + ch, k + ch, head->v, ch + 1 < c, e, f, G, line);
        return;
    }
    for (size_t ch = 0; ch < c; ch++) {
        spectrum(K + ch * row, k + ch, NULL, NULL, f, line);
        spectrum(V + ch * row, head->v + ch, NULL, NULL, f, line);
    }
    for (size_t d = 0; d < p->D; d += 2) two_latents(head->y, a, q, K, V, d, p, f, G, line);
}

/* ---- the form around it ------------------------------------------------------------ */

status lisa_plain_prepare(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_plain *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t c = p->heads.c, pairs = (p->D + 1) / 2, object = sizeof(struct number);
    status s = circulant_create(&f->circle, &p->grid, &p->window, p->wraps, false);
    if (s.code) return s;
    heads_prepare(plan, (struct core_options){.core = one_head, .dense = true});
    fourier_prepare(&f->fourier, arena, f->circle.size);
    f->row = f->circle.points + f->circle.points % 2;
    f->kernels = p->equation == 5 ? 1 : c;
    size_t latent = p->equation == 4 ? 0 : f->row;
    arena_objects(arena, PERSISTENT, &f->place, "the places of the tokens", p->heads.N, 1, sizeof *f->place);
    arena_objects(arena, PERSISTENT, &f->wa, "the spectra of the key's kernels", pairs * f->kernels, latent, object);
    arena_objects(arena, PERSISTENT, &f->wb, "the spectra of the value's kernels", latent ? pairs : p->e_columns,
                  f->row, object);
    arena_objects(arena, PER_THREAD, &f->K, "the key's spectra", c, latent, object);
    arena_objects(arena, PER_THREAD, &f->V, "the value's spectra", c, latent, object);
    arena_objects(arena, PER_THREAD, &f->G, "a convolution", f->row, 1, object);
    arena_reals(arena, PER_THREAD, &f->a, "two latents", latent ? p->heads.N : 0, 2);
    return arena_status(arena);
}

/* F w / P for a table [entries][rows][columns]: columns d and d + 1 as one complex kernel, or each column alone. */
static void load_kernels(struct number *w, const real *table, size_t rows, size_t columns, size_t together,
                         const struct lisa_plain *f)
{
    size_t P = f->circle.points;
    for (size_t d = 0; d < columns; d += together)
        for (size_t row = 0; row < rows; row++, w += f->row) {
            for (size_t s = 0; s < P; s++) {
                size_t entry = circulant_entry(&f->circle, s);
                const real *w_s = entry == NO_ENTRY ? NULL : table + (entry * rows + row) * columns + d;
                w[s].re = w_s ? w_s[0] / (real)P : 0;
                w[s].im = w_s && together > 1 && d + 1 < columns ? w_s[1] / (real)P : 0;
            }
            fourier_transform(w, &f->fourier, false, f->fourier.line);
        }
}

status lisa_plain_load(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_plain *f = plan->state;
    const real *key = p->wa ? p->wa : p->ea, *value = p->wb ? p->wb : p->eb;
    fourier_load(&f->fourier);
    for (size_t n = 0; n < p->heads.N; n++) f->place[n] = circulant_place(&f->circle, n);
    if (key) load_kernels(f->wa, key, f->kernels, p->D, 2, f);
    if (value) load_kernels(f->wb, value, 1, p->D, 2, f);
    else load_kernels(f->wb, p->e, 1, p->e_columns, 1, f);
    return heads_load(plan);
}

/* F is one transform, a complex product is 4; then the products with q and a, or in Eq. 4 with k and q. */
static double multiply_adds(const void *params)
{
    const struct lisa_problem *p = params;
    struct circulant circle;
    if (circulant_create(&circle, &p->grid, &p->window, p->wraps, false).code) return NAN;
    double N = (double)p->heads.N, c = (double)p->heads.c, D = (double)p->D, P = (double)circle.points, core;
    double F = fourier_multiplications(circle.size), pairs = ceil((p->equation == 4 ? c : D) / 2);
    if (p->equation == 4) core = c * pairs * (2 * F + 4 * P) + 2 * c * c * N;
    else core = 2 * c * F + c * pairs * (2 * F + 8 * P + 2 * N) + c * D * N;
    return heads_multiply_adds(&p->heads) + (double)p->heads.B * (double)p->heads.h * core;
}

const struct form lisa_plain = {
    .name = "plain", .state = sizeof(struct lisa_plain), .prepare = lisa_plain_prepare, .load = lisa_plain_load,
    .run = heads_run, .multiply_adds = multiply_adds,
};
