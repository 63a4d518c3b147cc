/* chopd-rank.c -- how well few terms make the tensor of a layer
 *
 *     build/figures/chopd-rank SWEEPS RANK...
 *
 * Tensors W_imncd of layers on 4 images of 4 x 4 tokens with 8 channels in and
 * out, [4][16][16][8][8], and the relative error of their CP decompositions of
 * growing rank, by alternating least squares of at most so many sweeps a start,
 * four starts.  Each rank starts from the terms of the one before; a tensor is
 * done with once its error is below a two-thousandth.
 *
 * Nothing is trained.  Self-attention: the tokens of 4 real images, each cut in
 * 4 x 4 patches; two heads of 4 channels, random projections, logits as they
 * are and four times as large.  The convolutions know no images: W is the same
 * for all i; weights are random, 3 x 3 with zero padding, or 1 x 1.  Noise: every
 * entry normal.
 *
 * One row for each tensor and rank. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../reference/instruments/cp.h"
#include "../reference/memory.h"
#include "../reference/random.h"
#include "../reference/instruments/tokens.h"

enum {
    I = 4, EDGE = 4, M = EDGE * EDGE, N = M, C = 8, D = C, HEADS = 2, WIDTH = C / HEADS,
    PATCH = 7, AXES = 5, ENTRIES = I * M * N * C * D,
    SEED = 4, RANKS = 32
};

#define ENOUGH 5e-4

static const size_t size[AXES] = {I, M, N, C, D};

/* Number k of a stream, normal. */
static double weight(uint64_t stream, size_t k) { return random_normal(SEED, stream, k); }

static double *entry(double *w, size_t i, size_t m, size_t n, size_t c, size_t d)
{
    return w + (((i * M + m) * N + n) * C + c) * D + d;
}

/* y [width] = a random projection of token x [C]. */
static void project(double *y, const real *x, uint64_t stream)
{
    for (size_t k = 0; k < WIDTH; k++) {
        y[k] = 0;
        for (size_t c = 0; c < C; c++) y[k] += weight(stream, k * C + c) * (double)x[c] / sqrt(C);
    }
}

/* a [M][N]: how much output token n takes of input token m, one head. */
static void attend(double a[M][N], const real *x, size_t head, double sharpness)
{
    for (size_t n = 0; n < N; n++) {
        double q[WIDTH], k[WIDTH], sum = 0;
        project(q, x + n * C, 10 + head);
        for (size_t m = 0; m < M; m++) {
            double logit = 0;
            project(k, x + m * C, 20 + head);
            for (size_t c = 0; c < WIDTH; c++) logit += q[c] * k[c];
            sum += a[m][n] = exp(sharpness * logit / sqrt(WIDTH));
        }
        for (size_t m = 0; m < M; m++) a[m][n] /= sum;
    }
}

static void self_attention(double *w, const real *x, double sharpness)
{
    memset(w, 0, ENTRIES * sizeof *w);
    for (size_t i = 0; i < I; i++)
        for (size_t head = 0; head < HEADS; head++) {
            double a[M][N], value[C][D];
            attend(a, x + i * M * C, head, sharpness);
            for (size_t c = 0; c < C; c++)
                for (size_t d = 0; d < D; d++) {
                    value[c][d] = 0;
                    for (size_t k = 0; k < WIDTH; k++)
                        value[c][d] += weight(30 + head, c * WIDTH + k) * weight(40 + head, k * D + d);
                }
            for (size_t m = 0; m < M; m++)
                for (size_t n = 0; n < N; n++)
                    for (size_t c = 0; c < C; c++)
                        for (size_t d = 0; d < D; d++) *entry(w, i, m, n, c, d) += a[m][n] * value[c][d];
        }
}

/* kernel x kernel, from channel c to all d or to itself alone. */
static void convolution(double *w, int kernel, bool depthwise)
{
    for (size_t k = 0; k < ENTRIES; k++) {
        size_t d = k % D, c = k / D % C, n = k / (C * D) % N, m = k / (N * C * D) % M;
        int y = (int)(m / EDGE) - (int)(n / EDGE) + kernel / 2, x = (int)(m % EDGE) - (int)(n % EDGE) + kernel / 2;
        bool seen = y >= 0 && y < kernel && x >= 0 && x < kernel && (!depthwise || c == d);
        w[k] = seen ? weight(50, (size_t)(y * kernel + x) * C * D + c * D + d) : 0;
    }
}

static void make(double *w, const char *name, const real *x)
{
    if (!strcmp(name, "attention")) self_attention(w, x, 1);
    else if (!strcmp(name, "sharp")) self_attention(w, x, 4);
    else if (!strcmp(name, "convolution")) convolution(w, 3, false);
    else if (!strcmp(name, "depthwise")) convolution(w, 3, true);
    else if (!strcmp(name, "pointwise")) convolution(w, 1, false);
    else for (size_t k = 0; k < ENTRIES; k++) w[k] = weight(60, k);
}

/* Rows of one tensor. */
static status decompose(const double *w, const char *name, size_t sweeps, const size_t rank[], size_t ranks)
{
    struct cp before = {0}, cp;
    status s = status_ok();
    for (size_t k = 0; k < ranks && !s.code; k++) {
        struct cp_options o = {
            .seed = SEED, .starts = 4, .sweeps = sweeps, .tolerance = 1e-4, .enough = ENOUGH,
            .from = k ? &before : NULL,
        };
        s = cp_als(&cp, w, AXES, size, rank[k], &o);
        if (s.code) break;
        printf("%s\t%zu\t%.6g\t%zu\t%zu\t%zu\n",
               name, rank[k], cp.error, cp_storage(&cp), cp_dense_storage(&cp), cp.sweeps);
        fflush(stdout);
        cp_release(&before);
        before = cp;
        if (cp.error <= ENOUGH) break;
    }
    cp_release(&before);
    return s;
}

static status decompose_all(size_t sweeps, const size_t rank[], size_t ranks)
{
    static const char *const name[] = {"attention", "sharp", "convolution", "depthwise", "pointwise", "noise"};
    struct token_source source = {.patch = PATCH, .seed = SEED};
    grid tokens;
    char origin[200];
    real *x = memory_reals(I, M, C, 1);
    double *w = memory_get(ENTRIES, sizeof *w);
    status s = x && w ? grid_create(&tokens, 2, (size_t[]){EDGE, EDGE}) : out_of_memory("the tensors");

    if (!s.code) s = tokens_make(x, I, &tokens, C, &source, origin, sizeof origin);
    if (!s.code) {
        printf("# tokens: %s; nothing is trained\n", origin);
        printf("# size: %d %d %d %d %d\n", I, M, N, C, D);
        printf("#tensor\trank\terror\tfactors\tdense\tsweeps\n");
    }
    for (size_t k = 0; k < sizeof name / sizeof *name && !s.code; k++) {
        make(w, name[k], x);
        s = decompose(w, name[k], sweeps, rank, ranks);
    }
    memory_free(x);
    memory_free(w);
    return s;
}

int main(int count, char **word)
{
    size_t sweeps = count > 1 ? strtoul(word[1], NULL, 10) : 0, rank[RANKS], ranks = 0;
    for (; (int)ranks + 2 < count && ranks < RANKS; ranks++) rank[ranks] = strtoul(word[ranks + 2], NULL, 10);
    status s = sweeps && ranks ? decompose_all(sweeps, rank, ranks)
                               : bad_input("expected SWEEPS RANK..., ranks rising, at most %d of them", RANKS);
    if (s.code) fprintf(stderr, "chopd-rank: %s\n", s.message);
    return s.code;
}
