/* elsa_case.h -- what the proofs of ELSA are made on
 *
 * One image, drawn at random or of small whole numbers, with every tensor of
 * the naive form (struct elsa_image); and the bound that rounding errors of a
 * whole problem must keep.  Arrays live until the test ends. */

#ifndef TWICETOLD_TESTS_ELSA_CASE_H
#define TWICETOLD_TESTS_ELSA_CASE_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../reference/elsa.h"

/* Neighbours that live as long as the test. */
static inline const struct neighbours *around_of(const grid *tokens, size_t K, size_t dilation)
{
    struct neighbours made, *kept = (struct neighbours *)zeros(sizeof made / sizeof(real) + 1);
    grid window;
    succeeds(grid_create(&window, 2, (size_t[]){K, K}));
    succeeds(neighbours_create(&made, tokens, &window, 1, dilation));
    size_t bytes = made.centres * made.entries * sizeof(int);
    int *table = (int *)zeros(bytes / sizeof(real) + 1);
    memcpy(table, made.token, bytes);
    neighbours_release(&made);
    made.token = table;
    memcpy(kept, &made, sizeof made);
    return kept;
}

struct subject { const char *grid; size_t C, h, K, dilation; int equation; };

/* An image of this shape with room for all that the hearts make, and nothing
 * drawn yet; without a ghost head. */
static inline struct elsa_image empty_image(const struct subject *s)
{
    struct elsa_image m = {.sizes = {.C = s->C, .h = s->h, .K = s->K, .entries = s->K * s->K, .Q = s->C,
                                     .equation = s->equation, .scale = 1}};
    grid tokens;
    size_t reals;
    succeeds(grid_parse(&tokens, s->grid));
    m.sizes.N = tokens.tokens;
    m.around = around_of(&tokens, s->K, s->dilation);
    ck_assert(elsa_image_reals(&reals, &m.sizes));
    elsa_image_place(&m, zeros(reals));
    return m;
}

/* Whole numbers from -2 to 2: logits are exact in every order of summation. */
static inline struct elsa_image whole_image(const struct subject *s)
{
    struct elsa_image m = empty_image(s);
    size_t tokens = m.sizes.N * s->C, maps = s->C * s->h * s->K * s->K;
    m.q = integers(1, tokens, 2);
    m.k = integers(2, tokens, 2);
    m.v = integers(3, tokens, 2);
    m.rk = integers(4, maps, 2);
    m.rq = integers(5, maps, 2);
    m.rb = integers(6, s->h * s->K * s->K, 2);
    return m;
}

/* Standard normal, the maps scaled so that a logit is of order one. */
static inline struct elsa_image normal_image(const struct subject *s)
{
    struct elsa_image m = empty_image(s);
    size_t tokens = m.sizes.N * s->C, maps = s->C * s->h * s->K * s->K;
    real *rk = normal(4, maps), *rq = normal(5, maps);
    for (size_t i = 0; i < maps; i++) {
        rk[i] /= sqrt((real)s->C);
        rq[i] /= sqrt((real)s->C);
    }
    m.q = normal(1, tokens);
    m.k = normal(2, tokens);
    m.v = normal(3, tokens);
    m.rk = rk;
    m.rq = rq;
    m.rb = normal(6, s->h * s->K * s->K);
    return m;
}

static inline const real *tell(struct elsa_image *m)
{
    elsa_naive_product(m);
    elsa_naive_logits(m);
    elsa_naive_softmax(m);
    elsa_naive_filters(m);
    elsa_naive_apply(m);
    return m->f;
}

/* ---- how much rounding may show -------------------------------------- */

/* Two ways to the same y, from the same q, k and v, over the largest entry of
 * y.  A logit is two sums of C products (in the final variant 8 K^2 and then Q)
 * whose partial sums have a root mean square of S = 2 max(1, |scale|), as maps
 * are drawn, with bad luck; its absolute error is the relative error of a weight.
 * K^2 weights and their products with values are summed, each filter bent by
 * the ghost head with one rounding more; 10 for the exponential, the scale and
 * the division.  Without a softmax (Eq. 4) errors of the logits are those of
 * the weights all the same; a filter norm divides by a deviation that may be
 * small: 4 times.  Rounding errors of a sum of n terms grow like sqrt(n) u
 * (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, lambda = 8):
 *
 *     8 (S sqrt(2 n) + 2 K + 12) u,   n = C, or 8 K^2 + Q */
static inline double elsa_tolerance(const struct problem *p)
{
    struct elsa_sizes s = elsa_sizes(p);
    double n = s.equation ? (double)s.C : 8 * (double)s.entries + (double)s.Q, S = 2 * fmax(1, fabs((double)s.scale));
    double loss = s.equation == 4 && elsa_norm(p) == ELSA_FILTER ? 4 : 1;
    return 8 * loss * (S * sqrt(2 * n) + 2 * (double)s.K + 12) * UNIT_ROUNDOFF;
}

static inline double image_tolerance(const struct elsa_image *m)
{
    return 8 * (2 * sqrt(2 * (double)m->sizes.C) + 2 * (double)m->sizes.K + 12) * UNIT_ROUNDOFF;
}

#endif
