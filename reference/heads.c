/* heads.c -- projections, heads, batch and threads; see heads.h */

#include "heads.h"
#include <omp.h>
#include <string.h>
#include "linear.h"

/* Rows of w_qkv: 3C, or 2Q + C. */
static size_t projected(const struct problem *p)
{
    return problem_axis(p, "w_qkv", 0);
}

status heads_prepare(struct heads *heads, const struct plan *plan, size_t workspace_reals)
{
    const struct problem *p = plan->problem;
    size_t B = problem_size(p, "B"), N = problem_size(p, "N"), C = problem_size(p, "C");
    bool project = problem_tensor(p, "w_o") != NULL;

    *heads = (struct heads){.workspace_reals = (workspace_reals + 15) / 16 * 16};
    heads->qkv = memory_reals(B, N, projected(p), 1);
    heads->joined = project ? memory_reals(B, N, C, 1) : NULL;
    heads->workspace = memory_reals((size_t)plan->threads, heads->workspace_reals, 1, 1);
    if (!heads->qkv || (project && !heads->joined) || !heads->workspace) {
        heads_release(heads);
        return out_of_memory("the projections and the workspace of the heads");
    }
    return status_ok();
}

void heads_release(struct heads *heads)
{
    memory_free(heads->qkv);
    memory_free(heads->joined);
    memory_free(heads->workspace);
    *heads = (struct heads){0};
}

void heads_project(const struct heads *heads, const struct plan *plan, const real *x)
{
    const struct problem *p = plan->problem;
    size_t C = problem_size(p, "C"), width = projected(p);
    linear_map(heads->qkv, width, x, C, problem_tensor(p, "w_qkv"), problem_tensor(p, "b_qkv"),
               problem_size(p, "B") * problem_size(p, "N"), C, width);
}

real *heads_joined(const struct heads *heads, const struct plan *plan, real *y)
{
    return problem_tensor(plan->problem, "w_o") ? heads->joined : y;
}

void heads_join(const struct heads *heads, const struct plan *plan, real *y)
{
    const struct problem *p = plan->problem;
    size_t C = problem_size(p, "C");
    const real *w_o = problem_tensor(p, "w_o");
    if (w_o)
        linear_map(y, C, heads->joined, C, w_o, problem_tensor(p, "b_o"), problem_size(p, "B") * problem_size(p, "N"), C, C);
}

/* The hearts, `heads_apart` of them an image, each of c channels. */
static void run(const struct heads *heads, const struct plan *plan, real *y, const real *x,
                void (*heart)(const struct head *), size_t heads_apart, size_t parts, const void *prepared)
{
    const struct problem *p = plan->problem;
    size_t B = problem_size(p, "B"), N = problem_size(p, "N"), C = problem_size(p, "C");
    size_t width = projected(p), Q = (width - C) / 2, c = C / heads_apart;
    real *joined = heads_joined(heads, plan, y);

    /* Step 1: query, key and value of every token, side by side. */
    heads_project(heads, plan, x);

    /* Step 2: the heart, once for each part of each head of each image. */
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t item = 0; item < B * heads_apart * parts; item++) {
        size_t image = item / parts / heads_apart, head = item / parts % heads_apart;
        const real *q = heads->qkv + image * N * width + head * c;
        struct head one = {
            .problem = p, .prepared = prepared,
            .q = q, .k = q + Q, .v = q + 2 * Q, .stride = width,
            .y = joined + image * N * C + head * c, .y_stride = C,
            .image = image, .head = head, .part = item % parts, .parts = parts,
            .workspace = heads->workspace + (size_t)omp_get_thread_num() * heads->workspace_reals,
        };
        heart(&one);
    }

    /* Step 3: the output projection mixes the heads. */
    heads_join(heads, plan, y);
}

void heads_run(const struct heads *heads, const struct plan *plan, real *y, const real *x,
               void (*heart)(const struct head *), size_t parts, const void *prepared)
{
    run(heads, plan, y, x, heart, problem_size(plan->problem, "h"), parts, prepared);
}

void heads_run_whole(const struct heads *heads, const struct plan *plan, real *y, const real *x,
                     void (*heart)(const struct head *), size_t parts, const void *prepared)
{
    run(heads, plan, y, x, heart, 1, parts, prepared);
}

void head_gather(real *dense, const real *rows, size_t stride, size_t tokens, size_t channels)
{
    for (size_t n = 0; n < tokens; n++)
        memcpy(dense + n * channels, rows + n * stride, channels * sizeof *dense);
}

void head_scatter(real *rows, size_t stride, const real *dense, size_t tokens, size_t channels)
{
    for (size_t n = 0; n < tokens; n++)
        memcpy(rows + n * stride, dense + n * channels, channels * sizeof *dense);
}

double heads_multiply_adds(const struct problem *p)
{
    double tokens = (double)problem_size(p, "B") * (double)problem_size(p, "N");
    double C = (double)problem_size(p, "C");
    return tokens * C * ((double)projected(p) + (problem_axis(p, "w_o", 0) ? C : 0));
}
