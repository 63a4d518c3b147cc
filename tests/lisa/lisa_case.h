/* lisa_case.h -- shared by the tests of LiSA: one head, a whole problem
 *
 * A head has small integers, on which the naive cores are exact.  Arrays live until the test ends. */

#pragma once
#include "../support/fixture.h"
#include "../../naive/attention.h"
#include "../../naive/lisa.h"

/* ---- one head -------------------------------------------------------- */

struct case_head {
    struct grid grid;
    size_t N, P, c, D;
    real *q, *k, *v;            /* [N][c] */
    real *e;                    /* [P] */
    real *ea, *eac, *eb;        /* [P][D], [P][c][D], [P][D] */
    real *wa, *wb;              /* [N][c][D], [N][D] */
    struct grid window;         /* of local kernels, M entries */
    real *la, *lb;              /* [M][c][D], [M][D] */
    real *Ba, *Bb;              /* [c][D] */
};

/* Random local kernels of `edge` tokens on every axis. */
static inline void give_window(struct case_head *o, size_t edge)
{
    size_t size[GRID_AXES] = {edge, edge, edge};
    succeeds(grid_create(&o->window, o->grid.axes, size));
    o->la = integers(12, o->window.tokens * o->c * o->D, 2);
    o->lb = integers(13, o->window.tokens * o->D, 2);
}

/* Integers from -2 to 2; local kernels of 3 on every axis.  A sum of Eq. 7, the longest, is at most
 * D (8 N c + 4 c) (4 N + 2), which a float represents exactly, so every order of summation gives the same. */
static inline struct case_head integer_head(const char *text, size_t c, size_t D)
{
    struct case_head o = {.c = c, .D = D};
    succeeds(grid_parse(&o.grid, text));
    o.N = o.grid.tokens;
    o.P = o.grid.offsets;
    ck_assert_uint_lt(D * (8 * o.N * c + 4 * c) * (4 * o.N + 2), 1 << 24);
    o.q = integers(1, o.N * c, 2);
    o.k = integers(2, o.N * c, 2);
    o.v = integers(3, o.N * c, 2);
    o.e = integers(4, o.P, 2);
    o.ea = integers(5, o.P * D, 2);
    o.eac = integers(6, o.P * c * D, 2);
    o.eb = integers(7, o.P * D, 2);
    o.wa = integers(8, o.N * c * D, 2);
    o.wb = integers(9, o.N * D, 2);
    o.Ba = integers(10, c * D, 2);
    o.Bb = integers(11, c * D, 2);
    give_window(&o, 3);
    return o;
}

static inline real *toeplitz_of(const grid *g, const real *e, size_t columns)
{
    real *R = zeros(g->tokens * g->tokens * columns);
    toeplitz(R, e, columns, g, columns);
    return R;
}

/* The structure vectors a [N][D] of Eq. 5, with or without Ba, and of Eq. 7 (Eq. 6 without Ba). */
static inline real *structure_eq5(const struct case_head *o, const real *Ba)
{
    real *A = zeros(o->N * o->N), *a = zeros(o->N * o->D);
    lisa_naive_correlation(A, o->q, o->k, o->N, o->c);
    lisa_naive_structure(a, A, toeplitz_of(&o->grid, o->ea, o->D), o->q, Ba, o->N, o->c, o->D);
    return a;
}

static inline real *structure_eq7(const struct case_head *o, const real *Ba)
{
    real *A = zeros(o->N * o->N * o->c), *a = zeros(o->N * o->D);
    lisa_naive_hadamard(A, o->q, o->k, o->N, o->c);
    lisa_naive_hadamard_structure(a, A, toeplitz_of(&o->grid, o->eac, o->c * o->D), o->q, Ba, o->N, o->c, o->D);
    return a;
}

/* The attention kernels [N][N] of Eq. 4, and of Eq. 5-7 from their structure vectors. */
static inline real *kernel_eq4(const struct case_head *o)
{
    real *A = zeros(o->N * o->N);
    lisa_naive_correlation(A, o->q, o->k, o->N, o->c);
    lisa_naive_weigh(A, toeplitz_of(&o->grid, o->e, 1), o->N);
    return A;
}

static inline real *kernel_of(const struct case_head *o, const real *a)
{
    real *kernel = zeros(o->N * o->N);
    lisa_naive_kernel(kernel, a, toeplitz_of(&o->grid, o->eb, o->D), o->N, o->D);
    return kernel;
}

/* The convolutions [N][c][D] of Eq. 10. */
static inline real *circular_key(const struct case_head *o, const real *wa, const real *Ba)
{
    real *Ga = zeros(o->N * o->c * o->D);
    lisa_naive_circular_key(Ga, o->k, wa, Ba, &o->grid, o->c, o->D);
    return Ga;
}

static inline real *circular_value(const struct case_head *o, const real *wb, const real *Bb)
{
    real *Gb = zeros(o->N * o->c * o->D);
    lisa_naive_circular_value(Gb, o->v, wb, Bb, &o->grid, o->c, o->D);
    return Gb;
}

/* y [N][c] of one head by the naive cores. */
static inline real *output(const struct case_head *o, const real *kernel, const real *a, size_t D)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_output(y, kernel, o->v, a, o->Bb, o->N, o->c, D);
    return y;
}

static inline real *eq5_to_7(const struct case_head *o, const real *a) { return output(o, kernel_of(o, a), a, o->D); }
static inline real *eq4(const struct case_head *o) { return output(o, kernel_eq4(o), NULL, 0); }
static inline real *eq5(const struct case_head *o) { return eq5_to_7(o, structure_eq5(o, NULL)); }
static inline real *eq5_biased(const struct case_head *o) { return eq5_to_7(o, structure_eq5(o, o->Ba)); }
static inline real *eq6(const struct case_head *o) { return eq5_to_7(o, structure_eq7(o, NULL)); }
static inline real *eq7(const struct case_head *o) { return eq5_to_7(o, structure_eq7(o, o->Ba)); }

static inline real *eq10(const struct case_head *o)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_contraction(y, o->q, circular_key(o, o->wa, o->Ba), circular_value(o, o->wb, o->Bb), o->N, o->c, o->D);
    return y;
}

static inline real *local_key(const struct case_head *o)
{
    real *Ga = zeros(o->N * o->c * o->D);
    lisa_naive_local_key(Ga, o->k, o->la, o->Ba, &o->grid, &o->window, o->c, o->D);
    return Ga;
}

static inline real *eq10_local(const struct case_head *o)
{
    real *y = zeros(o->N * o->c), *Gb = zeros(o->N * o->c * o->D);
    lisa_naive_local_value(Gb, o->v, o->lb, o->Bb, &o->grid, &o->window, o->c, o->D);
    lisa_naive_contraction(y, o->q, local_key(o), Gb, o->N, o->c, o->D);
    return y;
}

/* The entry of a window for the offset i - n, or window->tokens outside it. */
static inline size_t window_entry(const grid *window, const grid *g, size_t i, size_t n)
{
    size_t at_i[GRID_AXES], at_n[GRID_AXES], entry = 0;
    grid_coordinates(at_i, g, i);
    grid_coordinates(at_n, g, n);
    for (int a = 0; a < GRID_AXES; a++) {
        size_t at = at_i[a] + window->size[a] / 2 - at_n[a];    /* below 0 it wraps and exceeds the window */
        if (at >= window->size[a]) return window->tokens;
        entry = entry * window->size[a] + at;
    }
    return entry;
}

static inline real *fig6(const struct case_head *o, const real *Ba)
{
    const struct lisa_problem p = {.heads = {.N = o->N, .c = o->c}, .D = o->D, .ba = Ba, .bb = o->Bb};
    real *y = zeros(o->N * o->c), *KRa = zeros(o->N * o->c * o->D), *RbV = zeros(o->N * o->c * o->D);
    lisa_naive_fig6(y, KRa, RbV, o->q, o->k, o->v,
                    toeplitz_of(&o->grid, o->ea, o->D), toeplitz_of(&o->grid, o->eb, o->D), &p);
    return y;
}

typedef real *(*equation)(const struct case_head *);
static const struct { const char *name; equation y; } equations[] = {
    {"Eq. 4", eq4}, {"Eq. 5", eq5}, {"Eq. 6", eq6}, {"Eq. 7", eq7}, {"Eq. 10", eq10},
    {"Eq. 5 + Ba", eq5_biased}, {"Eq. 10 local", eq10_local},
};

static inline struct lisa_problem resolved(const struct problem *p)
{
    struct lisa_problem l;
    succeeds(lisa.resolve(&l, p));
    return l;
}
