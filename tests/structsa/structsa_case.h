/* structsa_case.h -- one head for tests of StructSA, and its tolerance
 *
 * A head has all arrays of the naive cores (naive/structsa.h), random or of small integers.  Arrays live until the test
 * ends. */

#pragma once
#include "../support/fixture.h"
#include "../../naive/attention.h"
#include "../../naive/structsa.h"

struct head_shape {
    const char *grid, *kernel, *stride; /* stride: one for all axes, or "1x2x2" */
    size_t c, D, columns;               /* columns: 1 or c */
    const char *values;                 /* the window of the aggregators; "" for that of the detectors */
};

struct case_head {
    struct structsa_problem params;         /* sizes only */
    struct neighbours keys, values;
    const real *q, *k, *v, *hk, *hv;
    real *map, *windows, *a, *contexts, *kernels, *y;
};

/* Windows that live as long as the test. */
static inline struct neighbours windows_around(const grid *tokens, const grid *window, const size_t *stride)
{
    struct neighbours n;
    struct arena arena = arena_open(1);
    neighbours_prepare(&n, &arena, tokens, window, stride, 1);
    n.token = keep(n.centres * n.entries, sizeof(int));
    neighbours_load(&n);
    return n;
}

static inline struct case_head empty_head(const struct head_shape *s)
{
    struct case_head h = {0};
    size_t stride[GRID_AXES];
    int axes;
    grid tokens, window, value;
    succeeds(grid_parse(&tokens, s->grid));
    succeeds(grid_parse(&window, s->kernel));
    succeeds(grid_parse(&value, *s->values ? s->values : s->kernel));
    succeeds(grid_numbers(&axes, stride, s->stride));
    if (axes == 1) stride[1] = stride[2] = stride[0];
    h.keys = windows_around(&tokens, &window, stride);
    h.values = windows_around(&tokens, &value, stride);
    size_t N = tokens.tokens, J = h.keys.centres, M = h.keys.entries, Mv = h.values.entries;
    h.params = (struct structsa_problem){
        .heads = {.N = N, .c = s->c}, .D = s->D, .J = J, .M = M, .Mv = Mv, .columns = s->columns,
    };
    h.map = zeros(N * N * s->columns);
    h.windows = zeros(J * M * s->columns);
    h.a = zeros(N * J * s->D);
    h.contexts = zeros(J * Mv * s->c);
    h.kernels = zeros(J * Mv * s->columns);
    h.y = zeros(N * s->c);
    return h;
}

static inline size_t taps(const struct case_head *h) { return h->params.M * h->params.columns; }
static inline size_t value_taps(const struct case_head *h) { return h->params.Mv * h->params.columns; }

/* Queries, keys and values are standard normal; detectors are scaled so that scores have variance 1. */
static inline struct case_head normal_head(const struct head_shape *s)
{
    struct case_head h = empty_head(s);
    real *hk = normal(4, h.params.D * taps(&h));
    for (size_t i = 0; i < h.params.D * taps(&h); i++) hk[i] /= sqrt((real)(h.params.M * h.params.heads.c));
    h.q = normal(1, h.params.heads.N * h.params.heads.c);
    h.k = normal(2, h.params.heads.N * h.params.heads.c);
    h.v = normal(3, h.params.heads.N * h.params.heads.c);
    h.hk = hk;
    h.hv = normal(5, h.params.D * value_taps(&h));
    return h;
}

/* Integers from -2 to 2: sums of products are exact in every order. */
static inline struct case_head integer_head(const struct head_shape *s)
{
    struct case_head h = empty_head(s);
    h.q = integers(1, h.params.heads.N * h.params.heads.c, 2);
    h.k = integers(2, h.params.heads.N * h.params.heads.c, 2);
    h.v = integers(3, h.params.heads.N * h.params.heads.c, 2);
    h.hk = integers(4, h.params.D * taps(&h), 2);
    h.hv = integers(5, h.params.D * value_taps(&h), 2);
    return h;
}

/* kernels_of: the kernels of query i.  aggregate: y from h->a.  run_head: y from q, k and v. */
static inline void kernels_of(struct case_head *h, size_t i)
{
    structsa_naive_kernels(h->kernels, h->a + i * h->params.J * h->params.D, h->hv, &h->params);
}

static inline void aggregate(struct case_head *h)
{
    structsa_naive_unfold(h->contexts, h->v, h->params.heads.c, &h->values);
    for (size_t i = 0; i < h->params.heads.N; i++) {
        kernels_of(h, i);
        structsa_naive_aggregate(h->y + i * h->params.heads.c, h->kernels, h->contexts, &h->params);
    }
}

static inline void windows_of_query(struct case_head *h, size_t i)
{
    structsa_naive_unfold(h->windows, h->map + i * h->params.heads.N * h->params.columns, h->params.columns, &h->keys);
}

static inline const real *run_head(struct case_head *h)
{
    structsa_naive_correlate(h->map, h->q, h->k, &h->params);
    for (size_t i = 0; i < h->params.heads.N; i++) {
        windows_of_query(h, i);
        structsa_naive_attend(h->a + i * h->params.J * h->params.D, h->windows, h->hk, &h->params);
    }
    aggregate(h);
    return h->y;
}

static inline void reverse_tokens(struct case_head *h)
{
    h->q = rows_reversed(h->q, h->params.heads.N, h->params.heads.c);
    h->k = rows_reversed(h->k, h->params.heads.N, h->params.heads.c);
    h->v = rows_reversed(h->v, h->params.heads.N, h->params.heads.c);
}

/* Virtual tokens [J][D][c] of one side: sum_m filter_dmc row_{j+m,c}. */
static inline real *virtual_tokens(const struct case_head *h, const struct neighbours *n, const real *filters,
                                   const real *rows)
{
    size_t M = n->entries, D = h->params.D, c = h->params.heads.c, E = h->params.columns;
    real *made = zeros(n->centres * D * c);
    for (size_t j = 0; j < n->centres; j++)
        for (size_t d = 0; d < D; d++)
            for (size_t m = 0; m < M; m++)
                for (size_t ch = 0; ch < c && n->token[j * M + m] != OFF_GRID; ch++)
                    made[(j * D + d) * c + ch] += filters[(d * M + m) * E + (E == 1 ? 0 : ch)]
                                                * rows[(size_t)n->token[j * M + m] * c + ch];
    return made;
}

/* Scores [N][J][D] before the softmax, from the windows of the map. */
static inline real *scores_of_map(struct case_head *h)
{
    size_t J = h->params.J, D = h->params.D, t = taps(h);
    real *scores = zeros(h->params.heads.N * J * D);
    structsa_naive_correlate(h->map, h->q, h->k, &h->params);
    for (size_t i = 0; i < h->params.heads.N; i++) {
        windows_of_query(h, i);
        for (size_t jd = 0; jd < J * D; jd++)
            for (size_t me = 0; me < t; me++)
                scores[i * J * D + jd] += h->windows[jd / D * t + me] * h->hk[jd % D * t + me];
    }
    return scores;
}

/* Options and an equation.  --value-kernel is the last option; with Eq. 4 it is removed. */
static inline void options_of_equation(char *text, size_t size, const char *options, const char *equation)
{
    const char *values = strcmp(equation, "4") ? NULL : strstr(options, " --value-kernel");
    int length = values ? (int)(values - options) : (int)strlen(options);
    snprintf(text, size, "%.*s --equation %s", length, options, equation);
}

/* Probabilistic bound (roundoff.h) of the largest difference of two forms from the same q, k and v, relative to the
 * largest entry of y.  A score sums |M| c products, or |M| products and then c.  Its partial sums have a root mean
 * square of about |scale|; S = 2 |scale| leaves a margin.  Its absolute error is the relative error of a weight.  J D
 * weights and their products with values of M' terms are summed.  The exponential, the scale and the division count 10:
 *
 *     8 (S sqrt(|M| c + |M| + c) + 2 sqrt(J D) + sqrt(M') + 10) u */
static inline double structsa_tolerance(double M, double Mv, double c, double JD, double scale)
{
    double S = 2 * fabs(scale);
    return 8 * (S * sqrt(M * c + M + c) + 2 * sqrt(JD) + sqrt(Mv) + 10) * UNIT_ROUNDOFF;
}

static inline double head_tolerance(const struct case_head *h)
{
    const struct structsa_problem *params = &h->params;
    return structsa_tolerance((double)params->M, (double)params->Mv, (double)params->heads.c,
                              (double)(params->J * params->D), 1);
}
