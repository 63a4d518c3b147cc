/* lisa_case.h -- what the proofs of LiSA are made on
 *
 * Two kinds of subject: one head of small whole numbers, on which the naive
 * hearts are exact and every comparison is to the bit; and a whole problem,
 * drawn or read, with the bound that its rounding errors must keep.
 *
 * Arrays live until the test ends. */

#ifndef TWICETOLD_TESTS_LISA_CASE_H
#define TWICETOLD_TESTS_LISA_CASE_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../reference/linear.h"
#include "../reference/lisa.h"
#include "../reference/steps.h"

/* ---- one head -------------------------------------------------------- */

struct one_head {
    grid g;
    size_t N, P, c, D;
    real *q, *k, *v;            /* [N][c] */
    real *e;                    /* [P] */
    real *ea, *eac, *eb;        /* [P][D], [P][c][D], [P][D] */
    real *wa, *wb;              /* [N][c][D], [N][D] */
    real *Ba, *Bb;              /* [c][D] */
};

/* Whole numbers from -2 to 2.  A sum of Eq. 7, the longest here, is at most
 * D (8 N c + 4 c) (4 N + 2), and that must be a whole number that a float
 * holds: then every order of summation gives the same. */
static inline struct one_head whole_head(const char *text, size_t c, size_t D)
{
    struct one_head o = {.c = c, .D = D};
    succeeds(grid_parse(&o.g, text));
    o.N = o.g.tokens;
    o.P = o.g.offsets;
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
    return o;
}

static inline real *toeplitz(const grid *g, const real *e, size_t columns)
{
    real *R = zeros(g->tokens * g->tokens * columns);
    lisa_toeplitz(R, e, g, columns);
    return R;
}

/* y [N][c] of one head by the naive hearts. */
static inline real *eq4(const struct one_head *o)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_eq4(y, o->q, o->k, o->v, toeplitz(&o->g, o->e, 1), zeros(o->N * o->N), o->N, o->c);
    return y;
}

static inline real *eq5(const struct one_head *o)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_eq5(y, o->q, o->k, o->v, toeplitz(&o->g, o->ea, o->D), toeplitz(&o->g, o->eb, o->D), o->Bb,
                   zeros(o->N * o->N), zeros(o->N * o->D), zeros(o->N * o->N), o->N, o->c, o->D);
    return y;
}

static inline real *fig6(const struct one_head *o)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_fig6(y, o->q, o->k, o->v, toeplitz(&o->g, o->ea, o->D), toeplitz(&o->g, o->eb, o->D), o->Bb,
                    zeros(o->N * o->c * o->D), zeros(o->N * o->c * o->D), o->N, o->c, o->D);
    return y;
}

static inline real *eq6_or_7(const struct one_head *o, const real *Ba)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_eq7(y, o->q, o->k, o->v, toeplitz(&o->g, o->eac, o->c * o->D), toeplitz(&o->g, o->eb, o->D),
                   Ba, o->Bb, zeros(o->N * o->N * o->c), zeros(o->N * o->D), zeros(o->N * o->N),
                   o->N, o->c, o->D);
    return y;
}

static inline real *eq6(const struct one_head *o) { return eq6_or_7(o, NULL); }
static inline real *eq7(const struct one_head *o) { return eq6_or_7(o, o->Ba); }

static inline real *eq10(const struct one_head *o)
{
    real *y = zeros(o->N * o->c);
    lisa_naive_eq10(y, o->q, o->k, o->v, o->wa, o->wb, o->Ba, o->Bb,
                    zeros(o->N * o->c * o->D), zeros(o->N * o->c * o->D), &o->g, o->c, o->D);
    return y;
}

/* All five, for the claims that they share. */
typedef real *(*equation)(const struct one_head *);
static const struct { const char *name; equation y; } equations[] = {
    {"Eq. 4", eq4}, {"Eq. 5", eq5}, {"Eq. 6", eq6}, {"Eq. 7", eq7}, {"Eq. 10", eq10},
};

/* ---- a whole problem ------------------------------------------------- */

struct sizes {
    const char *grid;
    size_t c, h, D, B;
    bool bare;                  /* neither biases nor output projection */
};

static inline bool optional(const char *name, void *bare)
{
    (void)name;
    return *(bool *)bare;
}

static inline status lisa_problem(struct problem *p, const char *place, const char *which, const char *heads)
{
    return problem_create(p, &lisa, 6, (const char *[]){"--grid", place, "--equation", which, "--heads", heads});
}

/* A problem of these sizes with normal parameters. */
static inline struct problem drawn_problem(const struct sizes *z, const char *which)
{
    struct problem p;
    char heads[24];
    bool bare = z->bare;
    snprintf(heads, sizeof heads, "%zu", z->h);
    succeeds(lisa_problem(&p, z->grid, which, heads));
    succeeds(problem_set_size(&p, "B", z->B));
    succeeds(problem_set_size(&p, "C", z->c * z->h));
    succeeds(problem_set_size(&p, "D", z->D));
    succeeds(problem_shape(&p, optional, &bare));
    draw_parameters(&p, 7);
    return p;
}

/* The largest Euclidean norm of a column of table [rows][columns]; 0 without. */
static inline double largest_column(const real *table, size_t rows, size_t columns)
{
    double worst = 0;
    for (size_t col = 0; table && col < columns; col++) {
        double squares = 0;
        for (size_t r = 0; r < rows; r++) squares += pow((double)table[r * columns + col], 2);
        worst = fmax(worst, sqrt(squares));
    }
    return worst;
}

/* R: the size of y when the signs of what is summed are independent, as they
 * are for drawn parameters: squares add.  |q_i| = |k_n| = 1, so with w standing
 * for the tables of Eq. 5-7 too, |w| the largest norm of one column, and V the
 * largest value,
 *
 *     Eq. 4      R = |e| V
 *     Eq. 5-10   R = sqrt(D) (|w^a| + |Ba|) (|w^b| V + |Bb|)
 *
 * and with an output projection |w_o| R + |b_o|. */
static inline double natural_size(const struct problem *p, const real *x)
{
    size_t N = problem_size(p, "N"), P = problem_size(p, "P"), C = problem_size(p, "C");
    size_t c = problem_size(p, "c"), D = problem_size(p, "D"), tokens = problem_size(p, "B") * N;
    const real *w_qkv = problem_tensor(p, "w_qkv"), *b_qkv = problem_tensor(p, "b_qkv");
    const real *w_o = problem_tensor(p, "w_o"), *b_o = problem_tensor(p, "b_o");
    const real *wa = problem_tensor(p, "wa"), *wb = problem_tensor(p, "wb"), *e = problem_tensor(p, "e");
    double R, mixed = 1;

    /* Step 1: the largest value. */
    real *v = zeros(tokens * C);
    linear_map(v, C, x, C, w_qkv + 2 * C * C, b_qkv ? b_qkv + 2 * C : NULL, tokens, C, C);
    double V = largest(v, tokens * C);

    /* Step 2: one head. */
    if (e) R = largest_column(e, P, problem_axis(p, "e", 1)) * V;
    else {
        size_t columns = problem_axis(p, "ea", 2) ? c * D : D;
        double a = wa ? largest_column(wa, N, c * D) : largest_column(problem_tensor(p, "ea"), P, columns);
        double b = wb ? largest_column(wb, N, D) : largest_column(problem_tensor(p, "eb"), P, D);
        R = sqrt((double)D) * (a + largest_column(problem_tensor(p, "ba"), c, D))
          * (b * V + largest(problem_tensor(p, "bb"), c * D));
    }

    /* Step 3: the heads mixed. */
    for (size_t o = 0; w_o && o < C; o++) mixed = fmax(mixed, largest_column(w_o + o * C, C, 1));
    return R * mixed + (b_o ? largest(b_o, C) : 0);
}

/* How far `roundings` roundings along the way move a result of that size.
 * They are taken as independent and of mean zero, so their squares add; the
 * sum exceeds 8 sqrt(roundings) u with a probability of 2 exp(-32) at most
 * (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, thm 2.4). */
static inline double rounding_error(double roundings, double of_size)
{
    return 8 * sqrt(roundings) * UNIT_ROUNDOFF * of_size;
}

/* How far two forms may be apart, both starting from the same q, k and v
 * (heads.h).  Along the longest way through either lie 2 N + c + D + 6
 * additions, and C + 1 in the projection.  A fast convolution takes three
 * FFTs of M points and a product; a butterfly's squares are 5 + 1 + 1 (the
 * product of two complex numbers errs by sqrt(5) u at most, Brent, Percival
 * and Zimmermann, Math. Comp. 76, 2007; the twiddle factor; the addition),
 * log2 M times; all that doubled where two signals share a transform; there
 * are two convolutions, and padding makes at most 4 points of one on every
 * axis:  2 (2 N + c + D + C + 7) + 2 (3 x 14 log2 M + 10). */
static inline double tolerance(const struct problem *p, const real *x)
{
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c");
    double D = (double)problem_size(p, "D"), C = (double)problem_size(p, "C");
    double roundings = 2 * (2 * N + c + D + C + 7) + 84 * (log2(N) + 2 * p->grid.axes) + 20;
    return rounding_error(roundings, natural_size(p, x));
}

#endif
