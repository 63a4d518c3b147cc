/* chopd-tensor.c -- the dense tensor of a small ChoP'D layer, and its factors
 *
 *     build/figures/chopd-tensor
 *
 * 6 x 6 tokens, two channels in and two out, three components of one box each;
 * boxes and channel factors by hand, phi's map of 3 x 3 cells drawn at random.
 * What is drawn is what the hearts of the naive form compute: W_mncd for every
 * pair of channels, and of each component u2_mnr, u13_nr and u4_cr u5_dr.
 *
 * A map of tokens to tokens is a picture of pictures: where n stands on the
 * grid, the 6 x 6 weights of all m.  Maps are over the largest magnitude of W,
 * and of each pooling. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../naive/chopd.h"
#include "../reference/random.h"

enum { EDGE = 6, N = EDGE * EDGE, C = 2, D = 2, R = 3, G = 1, CELLS = 3, SEED = 5 };

static const real boxes[R * G * 4] = {-1.5, -1.5, 1.5, 1.5,   -0.5, -3.25, 0.5, -0.75,   -2.25, 0, 2.25, 0.75};
static const real mix[R * G] = {1, 1, 1};
static const real u4[C * R] = {1, 0.75, -0.5,   0.5, -0.75, 1};
static const real u5[D * R] = {1, -1, 0.5,   -0.25, 1, 1};

/* Weights [N][N] of a tensor with `step` numbers a pair of tokens, from the
 * `at`-th on. */
static void picture(const char *name, const real *w, size_t step, size_t at, double top)
{
    printf("# %s\n", name);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            size_t n = i / EDGE * EDGE + j / EDGE, m = i % EDGE * EDGE + j % EDGE;
            printf("%.4f%s", (double)w[(m * N + n) * step + at] / top, j == N - 1 ? "\n" : "\t");
        }
    printf("\n\n");
}

/* Largest magnitude of every `step`-th number. */
static double largest(const real *a, size_t count, size_t step)
{
    double top = 0;
    for (size_t i = 0; i < count; i += step)
        if (fabs((double)a[i]) > top) top = fabs((double)a[i]);
    return top;
}

int main(void)
{
    const struct chopd_problem layer = {.B = 1, .N = N, .C = C, .D = D, .R = R, .u4 = u4, .u5 = u5};
    static real P[N * N * R * G], u2[N * N * R], w[N * N * C * D];
    static real map[CELLS * CELLS * R], u13[N * R];
    char name[40];

    /* Step 1: the factors, and the tensor that they make. */
    for (size_t k = 0; k < CELLS * CELLS * R; k++) map[k] = (real)(1 / (1 + exp(-2 * random_normal(SEED, 0, k))));
    chopd_naive_pooling(P, boxes, EDGE, EDGE, R, G);
    chopd_naive_mixing(u2, P, mix, N, R, G);
    chopd_naive_larger(u13, map, CELLS, EDGE, EDGE, R);
    chopd_naive_tensor(w, u2, u13, &layer);

    /* Step 2: what is drawn. */
    printf("# numbers: %d in W, %d in the factors and %d in the gate\n", N * N * C * D, R * (5 * G + C + D), N * R);
    printf("# boxes:");
    for (size_t k = 0; k < R * G * 4; k++) printf(" %g", (double)boxes[k]);
    printf("\n");
    for (size_t cd = 0; cd < C * D; cd++) {
        snprintf(name, sizeof name, "tensor %zu %zu", cd / D + 1, cd % D + 1);
        picture(name, w, C * D, cd, largest(w, N * N * C * D, 1));
    }
    for (size_t r = 0; r < R; r++) {
        snprintf(name, sizeof name, "pooling %zu", r + 1);
        picture(name, u2, R, r, largest(u2 + r, N * N * R - r, R));
        printf("# gate %zu\n", r + 1);
        for (size_t n = 0; n < N; n++) printf("%.4f%s", (double)u13[n * R + r], n % EDGE == EDGE - 1 ? "\n" : "\t");
        printf("\n\n# channels %zu\n", r + 1);
        for (size_t cd = 0; cd < C * D; cd++)
            printf("%.4f%s", (double)(u4[cd / D * R + r] * u5[cd % D * R + r]), cd % D == D - 1 ? "\n" : "\t");
        printf("\n\n");
    }
    return 0;
}
