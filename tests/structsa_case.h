/* structsa_case.h -- what the proofs of StructSA are made on
 *
 * One head, drawn at random or of small whole numbers, with every tensor of
 * the naive form (struct structsa_head); and the bound that rounding errors of
 * a whole problem must keep.  Arrays live until the test ends. */

#ifndef TWICETOLD_TESTS_STRUCTSA_CASE_H
#define TWICETOLD_TESTS_STRUCTSA_CASE_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../reference/attention.h"
#include "../reference/structsa.h"

/* ---- one head -------------------------------------------------------- */

/* Windows that live as long as the test: the table is copied into its arena. */
static inline const struct neighbours *windows_of(const grid *tokens, const grid *window, size_t stride)
{
    struct neighbours made, *kept = (struct neighbours *)zeros(sizeof made / sizeof(real) + 1);
    succeeds(neighbours_create(&made, tokens, window, stride, 1));
    size_t bytes = made.centres * made.entries * sizeof(int);
    int *table = (int *)zeros(bytes / sizeof(real) + 1);
    memcpy(table, made.token, bytes);
    neighbours_release(&made);
    made.token = table;
    memcpy(kept, &made, sizeof made);
    return kept;
}

struct subject {
    const char *grid, *kernel;
    size_t stride, c, D, columns;       /* columns: 1, or c */
    bool element;                       /* Eq. 4: the value's window is one token */
};

/* A head of this shape with room for all that the hearts make, and nothing
 * drawn yet. */
static inline struct structsa_head empty_head(const struct subject *s)
{
    struct structsa_head h = {.c = s->c, .D = s->D, .columns = s->columns};
    grid tokens, window, point;
    size_t reals;
    succeeds(grid_parse(&tokens, s->grid));
    succeeds(grid_parse(&window, s->kernel));
    succeeds(grid_create(&point, tokens.axes, (size_t[]){1, 1, 1}));
    h.N = tokens.tokens;
    h.keys = windows_of(&tokens, &window, s->stride);
    h.values = windows_of(&tokens, s->element ? &point : &window, s->stride);
    ck_assert(structsa_head_reals(&reals, &h));
    structsa_head_place(&h, zeros(reals));
    return h;
}

static inline size_t taps(const struct structsa_head *h) { return h->keys->entries * h->columns; }
static inline size_t value_taps(const struct structsa_head *h) { return h->values->entries * h->columns; }

/* Queries, keys and values are standard normal; detectors are scaled so that a
 * score is, too. */
static inline struct structsa_head normal_head(const struct subject *s)
{
    struct structsa_head h = empty_head(s);
    real *hk = normal(4, h.D * taps(&h));
    for (size_t i = 0; i < h.D * taps(&h); i++) hk[i] /= sqrt((real)(h.keys->entries * h.c));
    h.q = normal(1, h.N * h.c);
    h.k = normal(2, h.N * h.c);
    h.v = normal(3, h.N * h.c);
    h.hk = hk;
    h.hv = normal(5, h.D * value_taps(&h));
    return h;
}

/* Whole numbers from -2 to 2: sums of products are exact in every order. */
static inline struct structsa_head whole_head(const struct subject *s)
{
    struct structsa_head h = empty_head(s);
    h.q = integers(1, h.N * h.c, 2);
    h.k = integers(2, h.N * h.c, 2);
    h.v = integers(3, h.N * h.c, 2);
    h.hk = integers(4, h.D * taps(&h), 2);
    h.hv = integers(5, h.D * value_taps(&h), 2);
    return h;
}

static inline const real *tell(struct structsa_head *h)
{
    structsa_naive_correlate(h);
    structsa_naive_attend(h);
    structsa_naive_aggregate(h);
    return h->y;
}

/* Virtual tokens [J][D][c] of one side: sum_m filter_dmc row_{j+m,c}. */
static inline real *virtual_tokens(const struct structsa_head *h, const struct neighbours *n, const real *filters,
                                   const real *rows)
{
    size_t M = n->entries, D = h->D, c = h->c;
    real *made = zeros(n->centres * D * c);
    for (size_t j = 0; j < n->centres; j++)
        for (size_t d = 0; d < D; d++)
            for (size_t m = 0; m < M; m++)
                for (size_t ch = 0; ch < c && n->token[j * M + m] != OFF_GRID; ch++)
                    made[(j * D + d) * c + ch] += filters[(d * M + m) * h->columns + (h->columns == 1 ? 0 : ch)]
                                                * rows[(size_t)n->token[j * M + m] * c + ch];
    return made;
}

/* Scores [N][J][D] before the softmax, filter by filter over the windows of the map. */
static inline real *scores_of_map(struct structsa_head *h)
{
    size_t J = h->keys->centres, t = taps(h);
    real *scores = zeros(h->N * J * h->D), *window = zeros(t);
    structsa_naive_correlate(h);
    for (size_t i = 0; i < h->N; i++)
        for (size_t j = 0; j < J; j++) {
            neighbours_unfold(window, h->keys, j, h->map + i * h->N * h->columns, h->columns, h->columns);
            for (size_t d = 0; d < h->D; d++)
                for (size_t mx = 0; mx < t; mx++) scores[(i * J + j) * h->D + d] += window[mx] * h->hk[d * t + mx];
        }
    return scores;
}

/* ---- how much rounding may show -------------------------------------- */

/* Two ways to the same y, from the same q, k and v, over the largest entry of
 * y.  A score is a sum of |M| c products, or of |M| products and then of c; its
 * partial sums have a root mean square of |scale|, as detectors are drawn, and
 * of S = 2 |scale| with bad luck.  Its absolute error is the relative error of
 * a weight; J D weights and their products with values of |M| terms are summed;
 * 10 for the exponential, the scale and the division.  Rounding errors of a sum
 * of n terms grow like sqrt(n) u (Higham and Mary, SIAM J. Sci. Comput. 41,
 * 2019: beyond lambda sqrt(n) u with probability 2 exp(-lambda^2/2); lambda = 8):
 *
 *     8 (S sqrt(|M| c + |M| + c) + 2 sqrt(J D) + sqrt(|M|) + 10) u */
static inline double structsa_tolerance(double M, double c, double JD, double scale)
{
    double S = 2 * fabs(scale);
    return 8 * (S * sqrt(M * c + M + c) + 2 * sqrt(JD) + sqrt(M) + 10) * UNIT_ROUNDOFF;
}

static inline double head_tolerance(const struct structsa_head *h)
{
    return structsa_tolerance((double)h->keys->entries, (double)h->c, (double)(h->keys->centres * h->D), 1);
}

static inline double problem_tolerance(const struct problem *p)
{
    double J = (double)neighbours_centres(&p->grid, (size_t)problem_number(p, "stride"));
    return structsa_tolerance((double)problem_size(p, "M"), (double)problem_size(p, "c"),
                              J * (double)problem_size(p, "D"), problem_number(p, "scale"));
}

#endif
