/* elsa_case.h -- what the proofs of ELSA are made on
 *
 * One image, drawn at random or of small whole numbers, with every tensor of
 * Algorithm 2; and the bound that rounding errors of a whole problem must keep.
 * Arrays live until the test ends. */

#ifndef TWICETOLD_TESTS_ELSA_CASE_H
#define TWICETOLD_TESTS_ELSA_CASE_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../naive/elsa.h"

/* One image: a problem without projections, what is given, and what the hearts
 * make of it, shapes as in naive/elsa.h. */
struct scene {
    struct elsa_problem of;
    struct neighbours around;
    const real *q, *k, *v;
    const real *factor, *summand;       /* NULL: no ghost head */
    real *hp, *kp, *unfolded, *h, *row, *filters, *contexts, *f;
};

struct subject { const char *grid; size_t C, h, K, dilation; int equation; };

/* A scene of this shape with room for all that the hearts make, and nothing
 * drawn yet; without a ghost head. */
static inline struct scene empty_scene(const struct subject *s)
{
    size_t entries = s->K * s->K, C = s->C, N;
    struct scene m = {.of = {.heads = {.B = 1, .C = C, .Q = C, .h = s->h, .c = C / s->h}, .K = s->K, .entries = entries,
                             .dilation = s->dilation, .equation = s->equation, .scale = 1,
                             .ghost = {.channels = C, .heads = s->h, .offsets = entries}}};
    struct room sizes = room_open(1);
    grid window;

    succeeds(grid_parse(&m.of.grid, s->grid));
    const size_t sides[] = {s->K, s->K};
    succeeds(grid_create(&window, 2, sides));
    m.of.heads.N = N = m.of.grid.tokens;
    neighbours_prepare(&m.around, &sizes, &m.of.grid, &window, NULL, s->dilation);
    m.around.token = keep(N * entries, sizeof(int));
    neighbours_load(&m.around);
    m.hp = zeros(N * C);
    m.kp = zeros(N * C);
    m.unfolded = zeros(N * entries * C);
    m.h = zeros(s->h * entries * N);
    m.row = zeros(entries);
    m.filters = zeros(C * entries * N);
    m.contexts = zeros(N * entries * C);
    m.f = zeros(N * C);
    return m;
}

/* Whole numbers from -2 to 2: logits are exact in every order of summation. */
static inline struct scene whole_scene(const struct subject *s)
{
    struct scene m = empty_scene(s);
    size_t tokens = m.of.heads.N * s->C, maps = s->C * s->h * m.of.entries;
    m.q = integers(1, tokens, 2);
    m.k = integers(2, tokens, 2);
    m.v = integers(3, tokens, 2);
    m.of.rk = integers(4, maps, 2);
    m.of.rq = integers(5, maps, 2);
    m.of.rb = integers(6, s->h * m.of.entries, 2);
    return m;
}

/* Standard normal, the maps scaled so that a logit is of order one. */
static inline struct scene normal_scene(const struct subject *s)
{
    struct scene m = empty_scene(s);
    size_t tokens = m.of.heads.N * s->C, maps = s->C * s->h * m.of.entries;
    real *rk = normal(4, maps), *rq = normal(5, maps);
    for (size_t i = 0; i < maps; i++) {
        rk[i] /= sqrt((real)s->C);
        rq[i] /= sqrt((real)s->C);
    }
    m.q = normal(1, tokens);
    m.k = normal(2, tokens);
    m.v = normal(3, tokens);
    m.of.rk = rk;
    m.of.rq = rq;
    m.of.rb = normal(6, s->h * m.of.entries);
    return m;
}

/* The hearts in their order: the logits of Eq. 6 and 7, in h; and of whatever is
 * in h the filters, applied. */
static inline void make_logits(struct scene *m)
{
    elsa_naive_product(m->hp, m->kp, m->q, m->k, &m->of);
    elsa_naive_unfold(m->unfolded, m->kp, &m->around, m->of.heads.Q);
    elsa_naive_logits(m->h, m->hp, m->unfolded, &m->of);
}

static inline void apply_filters(struct scene *m)
{
    elsa_naive_filters(m->filters, m->h, m->factor, m->summand, &m->of);
    elsa_naive_unfold(m->contexts, m->v, &m->around, m->of.heads.C);
    elsa_naive_apply(m->f, m->filters, m->contexts, &m->of);
}

static inline const real *run_hearts(struct scene *m)
{
    make_logits(m);
    elsa_naive_softmax(m->h, m->row, &m->of);
    apply_filters(m);
    return m->f;
}

/* ---- how much rounding may show -------------------------------------- */

/* Two ways to the same y, from the same q, k and v, over the largest entry of
 * y: a probabilistic bound of the largest error (roundoff.h).
 *
 * A logit is two sums of C products (in the final variant g K^2 and then Q)
 * whose partial sums have a root mean square of S = 2 max(1, |scale|), as maps
 * are drawn, with bad luck; its absolute error is the relative error of a weight.
 * K^2 weights and their products with values are summed, each filter bent by
 * the ghost head with one rounding more; 10 for the exponential, the scale and
 * the division.  Without a softmax (Eq. 4) errors of the logits are those of
 * the weights all the same; a filter norm divides by a deviation that may be
 * small: 4 times.  Rounding errors of a sum of n terms grow like sqrt(n) u
 * (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, lambda = 8):
 *
 *     8 (S sqrt(2 n) + 2 K + 12) u,   n = C, or g K^2 + Q */
static inline double elsa_tolerance(const struct problem *p)
{
    struct elsa_problem e;
    succeeds(elsa.resolve(&e, p));
    double n = e.equation ? (double)e.heads.C : (double)e.g * (double)e.entries + (double)e.heads.Q;
    double S = 2 * fmax(1, fabs((double)e.scale)), loss = e.equation == 4 && e.norm == ELSA_FILTER ? 4 : 1;
    return 8 * loss * (S * sqrt(2 * n) + 2 * (double)e.K + 12) * UNIT_ROUNDOFF;
}

static inline double scene_tolerance(const struct scene *m)
{
    return 8 * (2 * sqrt(2 * (double)m->of.heads.C) + 2 * (double)m->of.K + 12) * UNIT_ROUNDOFF;
}

/* ---- whole problems --------------------------------------------------- */

/* Small whole numbers in every parameter; with `values` the value is x itself. */
static inline void make_whole(struct trial *t, bool values)
{
    size_t C = problem_size(&t->problem, "C");
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
        size_t count = t->problem.tensor[r].data ? t->problem.tensor[r].count : 0;
        if (count) memcpy(t->problem.tensor[r].data, integers(10 + r, count, 2), count * sizeof(real));
    }
    real *w = trial_tensor(t, "w_qkv");
    for (size_t i = 0; values && i < C * C; i++) w[2 * C * C + i] = i / C == i % C;
    t->x = integers(9, t->inputs, 2);
}

/* Both forms give y: exactly, or within a tolerance. */
static inline void both_equal(const struct trial *t, const real *y)
{
    ck_assert(largest(y, t->outputs) > 4);
    equal(trial_run(t, "naive", 1), y, t->outputs);
    equal(trial_run(t, "fast", 1), y, t->outputs);
}

static inline void both_within(const struct trial *t, const real *y, double tolerance)
{
    within("naive", relative_difference(trial_run(t, "naive", 1), y, t->outputs), tolerance);
    within("fast", relative_difference(trial_run(t, "fast", 1), y, t->outputs), tolerance);
}

#endif
