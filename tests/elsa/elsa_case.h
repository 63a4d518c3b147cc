/* elsa_case.h -- shared by the tests of ELSA: one image with every tensor of Algorithm 2 */

#pragma once
#include "../support/fixture.h"
#include "../../naive/elsa.h"

/* One image: a problem without projections, its inputs, and the results of the naive form's steps. */
struct scene {
    struct elsa_problem params;
    struct neighbours around;
    const real *q, *k, *v;
    const real *factor, *summand;       /* NULL without a ghost head */
    real *hp, *kp, *unfolded, *h, *row, *filters, *contexts, *f;
};

struct scene_shape { const char *grid; size_t C, h, K, dilation; int equation; };

static inline struct scene empty_scene(const struct scene_shape *s)
{
    size_t entries = s->K * s->K, C = s->C, N;
    struct scene m = {.params = {.heads = {.B = 1, .C = C, .Q = C, .h = s->h, .c = C / s->h},
                                 .K = s->K, .entries = entries, .dilation = s->dilation, .equation = s->equation,
                                 .scale = 1, .ghost = {.channels = C, .heads = s->h, .offsets = entries}}};
    struct arena sizes = arena_open(1);
    grid window;

    succeeds(grid_parse(&m.params.grid, s->grid));
    const size_t sides[] = {s->K, s->K};
    succeeds(grid_create(&window, 2, sides));
    m.params.heads.N = N = m.params.grid.tokens;
    neighbours_prepare(&m.around, &sizes, &m.params.grid, &window, NULL, s->dilation);
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

/* Inputs: if `whole`, integers from -2 to 2, so that logits are exact in every order of summation; else normal, with
 * maps scaled so that logits are of order one. */
static inline struct scene scene_of(const struct scene_shape *s, bool whole)
{
    struct scene m = empty_scene(s);
    size_t tokens = m.params.heads.N * s->C, maps = s->C * s->h * m.params.entries;
    const size_t count[] = {tokens, tokens, tokens, maps, maps, s->h * m.params.entries};
    real *a[COUNT(count)];
    for (size_t n = 0; n < COUNT(count); n++) a[n] = whole ? integers(n + 1, count[n], 2) : normal(n + 1, count[n]);
    for (size_t i = 0; i < maps && !whole; i++) {
        a[3][i] /= sqrt((real)s->C);
        a[4][i] /= sqrt((real)s->C);
    }
    m.q = a[0];
    m.k = a[1];
    m.v = a[2];
    m.params.rk = a[3];
    m.params.rq = a[4];
    m.params.rb = a[5];
    return m;
}

static inline struct scene integer_scene(const struct scene_shape *s) { return scene_of(s, true); }
static inline struct scene normal_scene(const struct scene_shape *s) { return scene_of(s, false); }

/* The steps of the naive form.  make_logits: h = the logits of Eq. 6 and 7.  apply_filters: f from the weights in h. */
static inline void make_logits(struct scene *m)
{
    elsa_product(m->hp, m->kp, m->q, m->k, &m->params);
    elsa_naive_unfold(m->unfolded, m->kp, &m->around, m->params.heads.Q);
    elsa_naive_logits(m->h, m->hp, m->unfolded, &m->params);
}

static inline void apply_filters(struct scene *m)
{
    elsa_naive_filters(m->filters, m->h, m->factor, m->summand, &m->params);
    elsa_naive_unfold(m->contexts, m->v, &m->around, m->params.heads.C);
    elsa_naive_apply(m->f, m->filters, m->contexts, &m->params);
}

static inline const real *run_cores(struct scene *m)
{
    make_logits(m);
    elsa_naive_softmax(m->h, m->row, &m->params);
    apply_filters(m);
    return m->f;
}

static inline void pass_x(struct fixture *t, bool query)
{
    size_t C = problem_size(&t->problem, "C");
    memcpy(fixture_tensor(t, "w_qkv") + 2 * C * C, identity_matrix(C), C * C * sizeof(real));
    if (query) memcpy(fixture_tensor(t, "w_qkv"), identity_matrix(C), C * C * sizeof(real));
}

static inline void make_integer(struct fixture *t, bool values)
{
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
        size_t count = t->problem.tensor[r].data ? t->problem.tensor[r].count : 0;
        if (count) memcpy(t->problem.tensor[r].data, integers(10 + r, count, 2), count * sizeof(real));
    }
    if (values) pass_x(t, false);
    t->x = integers(9, t->inputs, 2);
}

static inline void all_forms_equal(const struct fixture *t, const real *y)
{
    ck_assert(largest(y, t->outputs) > 4);
    forms_equal(t, y);
}

/* The token at (dy, dx) from token i of an H x W grid, or -1. */
static inline int neighbour(int i, int H, int W, int dy, int dx)
{
    int row = i / W + dy, column = i % W + dx;
    return row < 0 || row >= H || column < 0 || column >= W ? -1 : row * W + column;
}
