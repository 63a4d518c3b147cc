/* dfc_case.h -- shared by the tests of chapter 4: tensors of layers that are special cases of the fully connected
 * layer, Eq. 6 with its multiplications counted, bounds of rounding errors */

#pragma once
#include "../support/fixture.h"
#include "../../naive/dfc.h"
#include "../../reference/runtime/steps.h"

/* Integers from -2 to 2 in x and every parameter. */
static inline void make_integer(struct fixture *t)
{
    for (size_t r = 1; r < PROBLEM_TENSORS; r++)
        for (size_t i = 0; t->problem.tensor[r].data && i < t->problem.tensor[r].count; i++)
            t->problem.tensor[r].data[i] = (real)((7 * i * i + 3 * i + 5 * r) % 11 % 5) - 2;
    t->x = integers(9, t->inputs, 2);
}

/* Sets the gates of a chopd to 1, the logistic of 100. */
static inline void open_gate(struct fixture *t)
{
    fixture_fill(t, "phi_w2", 0);
    fixture_fill(t, "phi_b2", 100);
}

static inline struct dfc_problem dfc_of(const struct problem *p)
{
    struct dfc_problem params;
    succeeds(dfc_cp.resolve(&params, p));
    return params;
}

/* The index of W_imncd. */
static inline size_t place(const struct dfc_problem *s, size_t i, size_t m, size_t n, size_t c, size_t d)
{
    return (((i * s->M + m) * s->N + n) * s->C + c) * s->D + d;
}

/* Eq. 3 with this W. */
static inline real *layer(const struct dfc_problem *s, const real *w, const real *x)
{
    real *y = zeros(s->B * s->N * s->D);
    dfc_naive_apply(y, x, w, s->B, s->M, s->N, s->C, s->D);
    return y;
}

/* Bound of the errors of Eq. 3, and of sums of the same terms in another order, with `more` roundings of each term:
 * (M C + more) u times the largest sum of |x| |W|. */
static inline double layer_bound(const struct dfc_problem *s, const real *w, const real *x, double more)
{
    double most = 0;
    for (size_t i = 0; i < s->B; i++)
        for (size_t n = 0; n < s->N; n++)
            for (size_t d = 0; d < s->D; d++) {
                double sum = 0;
                for (size_t m = 0; m < s->M; m++)
                    for (size_t c = 0; c < s->C; c++)
                        sum += fabs((double)x[(i * s->M + m) * s->C + c] * (double)w[place(s, i, m, n, c, d)]);
                most = fmax(most, sum);
            }
    return ((double)(s->M * s->C) + more) * UNIT_ROUNDOFF * most;
}

/* A square window that moves over a grid. */
struct window { size_t H, W, k, stride, padding; };

static inline size_t rows_out(const struct window *v) { return (v->H + 2 * v->padding - v->k) / v->stride + 1; }
static inline size_t columns_out(const struct window *v) { return (v->W + 2 * v->padding - v->k) / v->stride + 1; }

/* The entry, row-major, of output n's window at token m; k k if there is none. */
static inline size_t entry(const struct window *v, size_t m, size_t n)
{
    size_t dy = m / v->W + v->padding - n / columns_out(v) * v->stride;         /* below 0 it wraps and exceeds k */
    size_t dx = m % v->W + v->padding - n % columns_out(v) * v->stride;
    return dy < v->k && dx < v->k ? dy * v->k + dx : v->k * v->k;
}

static inline struct dfc_problem window_sizes(const struct window *v, size_t B, size_t C, size_t D)
{
    return (struct dfc_problem){.B = B, .M = v->H * v->W, .N = rows_out(v) * columns_out(v), .C = C, .D = D};
}

/* W_mncd = kernel_dc[m - n], for kernel [D][C][k k]. */
static inline real *convolution_tensor(const struct window *v, const real *kernel, size_t C, size_t D)
{
    struct dfc_problem s = window_sizes(v, 1, C, D);
    real *w = zeros(s.M * s.N * C * D);
    for (size_t m = 0; m < s.M; m++)
        for (size_t n = 0; n < s.N; n++)
            for (size_t c = 0, k = entry(v, m, n); k < v->k * v->k && c < C; c++)
                for (size_t d = 0; d < D; d++) w[place(&s, 0, m, n, c, d)] = kernel[(d * C + c) * v->k * v->k + k];
    return w;
}

/* W_mncd = kernel_c[m - n] where c is d, for kernel [C][k k]. */
static inline real *depthwise_tensor(const struct window *v, const real *kernel, size_t C)
{
    struct dfc_problem s = window_sizes(v, 1, C, C);
    real *w = zeros(s.M * s.N * C * C);
    for (size_t m = 0; m < s.M; m++)
        for (size_t n = 0; n < s.N; n++)
            for (size_t c = 0, k = entry(v, m, n); k < v->k * v->k && c < C; c++)
                w[place(&s, 0, m, n, c, c)] = kernel[c * v->k * v->k + k];
    return w;
}

/* One head of self-attention on x [M][C], with q and k from `width` rows of w_q and w_k [][C]: the softmax over m of
 * scale q_n k_m, at [n][m]. */
static inline real *attention_map(const real *x, const real *w_q, const real *w_k, size_t M, size_t C, size_t width,
                                  real scale)
{
    real *map = zeros(M * M);
    for (size_t n = 0; n < M; n++) {
        for (size_t m = 0; m < M; m++)
            for (size_t e = 0; e < width; e++) {
                real q = 0, k = 0;
                for (size_t c = 0; c < C; c++) {
                    q += w_q[e * C + c] * x[n * C + c];
                    k += w_k[e * C + c] * x[m * C + c];
                }
                map[n * M + m] += scale * q * k;
            }
        softmax(map + n * M, M);
    }
    return map;
}

/* Readings of "unfolding": m counts tokens, or 2 N - 1 positions from n - (N - 1) to n + N - 1. */
enum reading { ABSOLUTE, RELATIVE };

/* Multiplications of each of the five steps. */
struct steps { double u4, u2, u3, u1, u5; };

static inline double all_steps(const struct steps *k) { return k->u4 + k->u2 + k->u3 + k->u1 + k->u5; }

/* y [B][N][D] without bias, for tokens in a row, in the printed order u4, u2, u3, u1, u5.  With absolute positions, u1
 * multiplies one number for all tokens. */
static inline real *eq6(const struct dfc_problem *s, const real *x, enum reading how, struct steps *k)
{
    size_t R = s->R;
    real *y = zeros(s->B * s->N * s->D), *z = zeros(s->M * R), *mixed = zeros(s->N * R);
    *k = (struct steps){0};
    for (size_t i = 0; i < s->B; i++) {
        memset(z, 0, s->M * R * sizeof *z);
        memset(mixed, 0, s->N * R * sizeof *mixed);
        for (size_t m = 0; m < s->M; m++)
            for (size_t c = 0; c < s->C; c++)
                for (size_t r = 0; r < R; r++, k->u4++)
                    z[m * R + r] += x[(i * s->M + m) * s->C + c] * s->u4[c * R + r];
        for (size_t r = 0; r < R; r++)
            if (how == ABSOLUTE) {
                real sum = 0;
                for (size_t m = 0; m < s->M; m++, k->u2++) sum += z[m * R + r] * s->u2[m * R + r];
                sum *= s->u1[i * R + r];
                k->u1++;
                for (size_t n = 0; n < s->N; n++, k->u3++) mixed[n * R + r] = sum * s->u3[n * R + r];
            } else {
                for (size_t n = 0; n < s->N; n++) {
                    for (size_t m = 0; m < s->M; m++, k->u2++)
                        mixed[n * R + r] += z[m * R + r] * s->u2[(m + s->N - 1 - n) * R + r];
                    mixed[n * R + r] *= s->u3[n * R + r];
                    mixed[n * R + r] *= s->u1[i * R + r];
                    k->u3++, k->u1++;
                }
            }
        for (size_t n = 0; n < s->N; n++)
            for (size_t d = 0; d < s->D; d++)
                for (size_t r = 0; r < R; r++, k->u5++)
                    y[(i * s->N + n) * s->D + d] += mixed[n * R + r] * s->u5[d * R + r];
    }
    return y;
}

/* Eq. 5, then Eq. 3. */
static inline real *eq5_in_eq3(const struct dfc_problem *s, const real *x)
{
    real *w = zeros(s->B * s->M * s->N * s->C * s->D);
    dfc_naive_tensor(w, s);
    return layer(s, w, x);
}
