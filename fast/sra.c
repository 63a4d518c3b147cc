/* sra.c -- spatial-reduction attention: one more linear map, and a tiled
 * attention over few keys
 *
 * A convolution whose stride is its width meets every token once.  So patches
 * are laid side by side as rows of s^2 C numbers, and the convolution is a
 * linear map of these.  They hold as many numbers as the tokens, and leave
 * their room to what the heads gather.
 *
 * Weights are laid out once (packed.h).  49 patches of 3072 numbers and 768
 * outputs then take 1.12 ms on one core of a Zen 5 with AVX-512, where OpenBLAS,
 * which lays out 9 MiB of weights for so few rows, takes 1.71; keys and values
 * 0.49 instead of 0.72.  A few images at a time go all the way from x to y,
 * shared by all threads (share.h).
 *
 * Contract: reference/sra.h. */

#include "../reference/sra.h"
#include <math.h>
#include <omp.h>
#include <string.h>
#include "../reference/attention.h"
#include "../reference/memory.h"
#include "packed.h"
#include "share.h"

struct sra_state {
    struct sra_sizes sizes;
    struct packed queries, convolution, keys, output;
    const real *gain, *bias;    /* of the norm */
    size_t flight;              /* images in flight */
    real *q;                    /* [flight][N][C] */
    real *patches;              /* [flight][M][s][s][C]; then, [flight][N][C], the heads side by side */
    real *reduced;              /* [flight][M][C], NULL where s = 1 */
    real *kv;                   /* [flight][M][2C] */
    real *workspace;            /* [threads][workspace_reals] */
    size_t workspace_reals;
};

/* ---- the reduced plane ------------------------------------------------- */

/* Row `row` of the plane, cut into the patches that it crosses. */
static void cut_row(real *patches, const real *x, const struct sra_sizes *z, size_t row)
{
    size_t run = z->s * z->C, Y = row / z->s, dy = row % z->s;
    for (size_t X = 0; X < z->columns; X++)
        memcpy(patches + ((Y * z->columns + X) * z->s + dy) * run, x + (row * z->columns + X) * run, run * sizeof *x);
}

/* layer_norm (steps.h), LANES sums at a time. */
static void norm(real *x, const real *gain, const real *bias, size_t n)
{
    lanes sum = {0}, squares = {0};
    real mean = 0, variance = 0;
    size_t whole = n - n % LANES, j;

    for (j = 0; j < whole; j += LANES) sum += lanes_load_anywhere(x + j);
    for (size_t l = 0; l < LANES; l++) mean += sum[l];
    for (; j < n; j++) mean += x[j];
    mean /= (real)n;
    for (j = 0; j < whole; j += LANES) {
        lanes off = lanes_load_anywhere(x + j) - mean;
        squares += off * off;
    }
    for (size_t l = 0; l < LANES; l++) variance += squares[l];
    for (; j < n; j++) variance += (x[j] - mean) * (x[j] - mean);
    real scale = (real)(1 / sqrt((double)variance / (double)n + SRA_EPSILON));
    for (j = 0; j < n; j++) x[j] = (x[j] - mean) * scale * gain[j] + bias[j];
}

/* ---- attention ---------------------------------------------------------- */

/* One block of queries of one head of one image against all its keys. */
static void attend(const struct sra_state *f, real *joined, size_t image, size_t head, size_t block, real *workspace)
{
    const struct sra_sizes *z = &f->sizes;
    const real *k = f->kv + image * z->M * 2 * z->C + head * z->c;
    size_t at = image * z->N * z->C + head * z->c, first = block * ATTENTION_BLOCK, left = z->N - first;
    struct attention a = {
        .queries = z->N, .keys = z->M, .channels = z->c, .scale = z->scale,
        .q = f->q + at, .k = k, .v = k + z->C,
        .q_stride = z->C, .k_stride = 2 * z->C, .v_stride = 2 * z->C,
    };
    attention_fast(joined + at + first * z->C, z->C, &a, first,
                   left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK, workspace);
}

/* ---- a flight of images --------------------------------------------------- */

/* The calling thread's share, number `part` of `parts`; all threads meet after
 * every step. */
static void run_flight(const struct sra_state *f, real *y, const real *x, size_t images, size_t part, size_t parts)
{
    const struct sra_sizes *z = &f->sizes;
    size_t C = z->C, patch = z->s * z->s * C, tokens = images * z->N, reduced = images * z->M;
    size_t planes = z->s > 1 ? images * z->rows * z->s : 0;
    size_t blocks = (z->N + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK, items = images * z->h * blocks;
    real *joined = f->output.panels ? f->patches : y;

    /* Step 1: queries of tokens; patches.  Images follow each other as rows do. */
    packed_apply(f->q, C, x, C, &f->queries, tokens, part, parts);
    for (size_t row = share(planes, part, parts); row < share(planes, part + 1, parts); row++)
        cut_row(f->patches, x, z, row);
    #pragma omp barrier

    /* Step 2: every patch becomes one token, and is normalised. */
    if (z->s > 1) {
        packed_apply(f->reduced, C, f->patches, patch, &f->convolution, reduced, part, parts);
        #pragma omp barrier
        for (size_t m = share(reduced, part, parts); m < share(reduced, part + 1, parts); m++)
            norm(f->reduced + m * C, f->gain, f->bias, C);
        #pragma omp barrier
    }

    /* Step 3: keys and values of patches. */
    packed_apply(f->kv, 2 * C, z->s > 1 ? f->reduced : x, C, &f->keys, reduced, part, parts);
    #pragma omp barrier

    /* Step 4: attention, by heads and blocks of queries. */
    for (size_t item = share(items, part, parts); item < share(items, part + 1, parts); item++)
        attend(f, joined, item / blocks / z->h, item / blocks % z->h, item % blocks,
               f->workspace + (size_t)omp_get_thread_num() * f->workspace_reals);
    #pragma omp barrier

    /* Step 5: the output projection mixes the heads. */
    if (joined != y) {
        packed_apply(y, C, joined, C, &f->output, tokens, part, parts);
        #pragma omp barrier
    }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct sra_state *f = plan->state;
    size_t B = f->sizes.B, image = f->sizes.N * f->sizes.C;

    #pragma omp parallel num_threads(plan->threads)
    for (size_t b = 0; b < B; b += f->flight)
        run_flight(f, y + b * image, x + b * image, B - b < f->flight ? B - b : f->flight,
                   (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads());
    return status_ok();
}

/* ---- preparation ---------------------------------------------------------- */

/* sr_w [C][C][s][s] with channels innermost, as patches have them. */
static bool pack_convolution(struct packed *map, const struct problem *p, const struct sra_sizes *z)
{
    const real *w = problem_tensor(p, "sr_w"), *b = problem_tensor(p, "sr_b");
    size_t C = z->C, taps = z->s * z->s;

    if (z->s == 1) return true;
    real *row = memory_reals(taps, C, 1, 1);
    bool made = row && packed_create(map, taps * C, C);
    for (size_t o = 0; made && o < C; o++) {
        for (size_t t = 0; t < taps; t++)
            for (size_t c = 0; c < C; c++) row[t * C + c] = w[(o * C + c) * taps + t];
        packed_fill(map, o, 1, row, b ? b + o : NULL);
    }
    memory_free(row);
    return made;
}

static bool pack(struct packed *map, const struct problem *p, const char *weight, const char *bias)
{
    const real *w = problem_tensor(p, weight);
    size_t out = problem_axis(p, weight, 0);
    if (!w) return true;
    if (!packed_create(map, problem_size(p, "C"), out)) return false;
    packed_fill(map, 0, out, w, problem_tensor(p, bias));
    return true;
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    struct sra_sizes z = sra_sizes(p);
    bool rooms;

    /* Step 1: the weights, laid out. */
    struct sra_state *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct sra_state){.sizes = z};
    f->gain = problem_tensor(p, "norm_g");
    f->bias = problem_tensor(p, "norm_b");
    plan->state = f;
    if (!pack(&f->queries, p, "w_q", "b_q") || !pack(&f->keys, p, "w_kv", "b_kv") || !pack(&f->output, p, "w_o", "b_o")
        || !pack_convolution(&f->convolution, p, &z)) return out_of_memory("the weights, laid out");

    /* Step 2: rooms for the images in flight, and for each thread. */
    f->flight = images_in_flight(z.N, z.B);
    if (!attention_fast_workspace(&f->workspace_reals, z.c, ATTENTION_BLOCK))
        return out_of_memory("a tile of attention");
    f->workspace_reals = (f->workspace_reals + 15) / 16 * 16;
    rooms = (f->q = memory_reals(f->flight, z.N, z.C, 1)) != NULL;
    rooms = rooms && (f->patches = memory_reals(f->flight, z.N, z.C, 1)) != NULL;
    rooms = rooms && (z.s == 1 || (f->reduced = memory_reals(f->flight, z.M, z.C, 1)) != NULL);
    rooms = rooms && (f->kv = memory_reals(f->flight, z.M, z.C, 2)) != NULL;
    rooms = rooms && (f->workspace = memory_reals((size_t)plan->threads, f->workspace_reals, 1, 1)) != NULL;
    return rooms ? status_ok() : out_of_memory("query, key and value");
}

static void release(struct plan *plan)
{
    struct sra_state *f = plan->state;
    if (!f) return;
    packed_release(&f->queries);
    packed_release(&f->convolution);
    packed_release(&f->keys);
    packed_release(&f->output);
    memory_free(f->q);
    memory_free(f->patches);
    memory_free(f->reduced);
    memory_free(f->kv);
    memory_free(f->workspace);
    memory_free(f);
}

const struct form sra_fast = {"fast", prepare, run, release, sra_multiply_adds};
