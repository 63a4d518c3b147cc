/* sra.c -- spatial-reduction attention as Eq. 1-4 of PVT read
 *
 * The convolution is six loops, and the map of every query against every
 * reduced key is really there, one head at a time.  Never optimised; to be
 * read beside the equations.
 *
 *     m  patches, at (Y, X) of the reduced plane     o, c  channels out and in
 *
 * Contract: reference/sra.h. */

#include "../reference/sra.h"
#include <omp.h>
#include "../reference/attention.h"
#include "../reference/heads.h"
#include "../reference/linear.h"
#include "../reference/memory.h"
#include "../reference/steps.h"

/* All images, every tensor by its name; dense, row-major. */
struct sra_state {
    struct sra_sizes sizes;
    real *q;                    /* [B][N][C] */
    real *reduced;              /* [B][M][C], NULL where s = 1 */
    real *kv;                   /* [B][M][2C] */
    real *joined;               /* [B][N][C]: the heads side by side */
    real *heads;                /* [threads][head_reals] */
    size_t head_reals;
};

void sra_naive_convolve(real *reduced, const real *x, const real *w, const real *b, const struct sra_sizes *z)
{
    size_t s = z->s, C = z->C, W = z->columns * s;

    for (size_t Y = 0; Y < z->rows; Y++)
        for (size_t X = 0; X < z->columns; X++)
            for (size_t o = 0; o < C; o++) {
                real sum = 0;
                for (size_t c = 0; c < C; c++)
                    for (size_t dy = 0; dy < s; dy++)
                        for (size_t dx = 0; dx < s; dx++)
                            sum += w[((o * C + c) * s + dy) * s + dx] * x[((Y * s + dy) * W + X * s + dx) * C + c];
                reduced[(Y * z->columns + X) * C + o] = b ? sum + b[o] : sum;
            }
}

/* One head of one image. */
static void attend(const struct sra_state *n, size_t image, size_t head)
{
    size_t N = n->sizes.N, M = n->sizes.M, C = n->sizes.C, c = n->sizes.c;
    const real *keys = n->kv + image * M * 2 * C + head * c;
    real *q = n->heads + (size_t)omp_get_thread_num() * n->head_reals;
    real *k = q + N * c, *v = k + M * c, *y = v + M * c, *a = y + N * c;

    head_gather(q, n->q + image * N * C + head * c, C, N, c);
    head_gather(k, keys, 2 * C, M, c);
    head_gather(v, keys + C, 2 * C, M, c);
    attention_naive(y, a, q, k, v, NULL, n->sizes.scale, N, M, c);
    head_scatter(n->joined + image * N * C + head * c, C, y, N, c);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    const struct sra_state *n = (const struct sra_state *)plan->state;
    size_t B = n->sizes.B, N = n->sizes.N, M = n->sizes.M, C = n->sizes.C, h = n->sizes.h;
    const real *w_o = problem_tensor(p, "w_o");

    /* Step 1: every patch becomes one token, and is normalised. */
    for (size_t image = 0; n->reduced && image < B; image++)
        sra_naive_convolve(n->reduced + image * M * C, x + image * N * C, problem_tensor(p, "sr_w"),
                           problem_tensor(p, "sr_b"), &n->sizes);
    for (size_t m = 0; n->reduced && m < B * M; m++)
        layer_norm(n->reduced + m * C, problem_tensor(p, "norm_g"), problem_tensor(p, "norm_b"), C, SRA_EPSILON);

    /* Step 2: queries of tokens, keys and values of patches. */
    linear_map(n->q, C, x, C, problem_tensor(p, "w_q"), problem_tensor(p, "b_q"), B * N, C, C);
    linear_map(n->kv, 2 * C, n->reduced ? n->reduced : x, C, problem_tensor(p, "w_kv"), problem_tensor(p, "b_kv"),
               B * M, C, 2 * C);

    /* Step 3: the equation, head by head. */
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t item = 0; item < B * h; item++) attend(n, item / h, item % h);

    /* Step 4: the output projection mixes the heads. */
    if (w_o) linear_map(y, C, n->joined, C, w_o, problem_tensor(p, "b_o"), B * N, C, C);
    else head_scatter(y, C, n->joined, B * N, C);
    return status_ok();
}

static status prepare(struct plan *plan)
{
    struct sra_sizes z = sra_sizes(plan->problem);
    size_t map, rows;

    struct sra_state *n = (struct sra_state *)memory_get(1, sizeof *n);
    if (!n) return out_of_memory("a plan");
    *n = (struct sra_state){.sizes = z};
    plan->state = n;
    if (!size_multiply(&map, z.N, z.M) || !size_multiply(&rows, 2 * (z.N + z.M), z.c) || map + rows < map)
        return out_of_memory("the attention map");
    n->head_reals = map + rows;
    n->q = memory_reals(z.B, z.N, z.C, 1);
    n->reduced = z.s > 1 ? memory_reals(z.B, z.M, z.C, 1) : NULL;
    n->kv = memory_reals(z.B, z.M, z.C, 2);
    n->joined = memory_reals(z.B, z.N, z.C, 1);
    n->heads = memory_reals((size_t)plan->threads, n->head_reals, 1, 1);
    if (!n->q || (z.s > 1 && !n->reduced) || !n->kv || !n->joined || !n->heads)
        return out_of_memory("query, key, value and the attention map");
    return status_ok();
}

static void release(struct plan *plan)
{
    struct sra_state *n = (struct sra_state *)plan->state;
    if (!n) return;
    memory_free(n->q);
    memory_free(n->reduced);
    memory_free(n->kv);
    memory_free(n->joined);
    memory_free(n->heads);
    memory_free(n);
}

/* The scale is one multiplication more for each pair. */
static double multiply_adds(const struct problem *p)
{
    struct sra_sizes z = sra_sizes(p);
    return sra_multiply_adds(p) + (double)z.B * (double)z.h * (double)z.N * (double)z.M;
}

const struct form sra_naive = {"naive", prepare, run, release, multiply_adds};
