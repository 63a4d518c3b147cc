/* lisa-kernels.c -- attention kernels of a few tokens on a real image
 *
 *     build/figures/lisa-kernels
 *
 * In the manner of LiSA's Fig. 5, but nothing here is trained.  Every pixel of
 * one 28 x 28 image is a token, its 3 x 3 neighbourhood both query and key.
 * The attention kernel of a query i, kappa_in, is read back by impulses: some
 * channels carry no image but one value of 1 at one token n each, and pass to
 * the output as values; what arrives there at i is kappa_in.  Self-attention
 * and LiSA (Eq. 10) are read alike, through the same calls that any program
 * makes.
 *
 * LiSA has D = 4 latents and two sets of tables: made by hand, the derivatives
 * of a Gaussian that Sobel's and Laplace's masks stand for, small ones to read
 * the correlation and larger ones to make the kernel; and normal draws.
 *
 * One matrix for the image and one for each operator and query, each scaled to
 * a largest magnitude of 1. */

#include <math.h>
#include "../reference/lisa.h"
#include "../reference/msa.h"
#include "../reference/random.h"
#include "bench.h"
#include "picture.h"

enum {
    IMPULSES = 56,              /* channels that carry an impulse: 14 runs for all tokens */
    CHANNELS = SEEN + IMPULSES,
    D = 4,
    PICTURE = 30,               /* of the data set: a bag, for its edges */
    QUERIES = 3
};

static const size_t query[QUERIES][2] = {{5, 12}, {10, 17}, {18, 25}};     /* row, column */

/* The Gaussian and its derivatives, d = 0 ... 3: d/dx, d/dy, minus the
 * Laplacian, the Gaussian itself; at distance (y, x), width s. */
static double hand_made(int d, double y, double x, double s)
{
    double gaussian = exp(-(x * x + y * y) / (2 * s * s));
    switch (d) {
    case 0: return -x / s * gaussian;
    case 1: return -y / s * gaussian;
    case 2: return (2 - (x * x + y * y) / (s * s)) / 2 * gaussian;
    default: return gaussian / 4;
    }
}

/* w [N][columns][D]: all columns alike; entry m is the distance i - n, taken
 * the short way around. */
static void draw_by_hand(real *w, size_t columns, double width)
{
    for (size_t m = 0; m < TOKENS; m++)
        for (size_t column = 0; column < columns; column++)
            for (int d = 0; d < D; d++) {
                double y = (double)(m / EDGE), x = (double)(m % EDGE);
                if (y > EDGE / 2) y -= EDGE;
                if (x > EDGE / 2) x -= EDGE;
                w[(m * columns + column) * D + (size_t)d] = (real)hand_made(d, y, x, width);
            }
}

/* kernel [QUERIES][N], by impulses at IMPULSES tokens a run. */
static status read_kernels(real *kernel, struct bench *b, real *x, const struct declaration *d,
                           int words, const char *const *word)
{
    real *y = memory_reals(TOKENS, CHANNELS, 1, 1);
    status s = y ? status_ok() : out_of_memory("y");
    for (size_t first = 0; !s.code && first < TOKENS; first += IMPULSES) {
        /* Step 1: an impulse of 1 at one token in each channel. */
        for (size_t n = 0; n < TOKENS; n++)
            for (size_t m = 0; m < IMPULSES; m++) x[n * CHANNELS + SEEN + m] = n == first + m;

        /* Step 2: what arrives at the queries. */
        s = bench_run(y, b, d, "fast", words, word, 1);
        for (size_t t = 0; t < QUERIES && !s.code; t++)
            for (size_t m = 0; m < IMPULSES; m++)
                kernel[t * TOKENS + first + m] = y[(query[t][0] * EDGE + query[t][1]) * CHANNELS + SEEN + m];
    }
    memory_free(y);
    return s;
}

static void print_matrix(const char *name, size_t t, const real *a)
{
    double largest = 0;
    for (size_t i = 0; i < TOKENS; i++)
        if (fabs((double)a[i]) > largest) largest = fabs((double)a[i]);
    printf("# %s %zu\n", name, t);
    for (size_t i = 0; i < TOKENS; i++)
        printf("%.3f%c", largest > 0 ? (double)a[i] / largest : 0, (i + 1) % EDGE ? '\t' : '\n');
    printf("\n\n");
}

/* x and w_qkv: image channels make query and key, impulse channels the value. */
static status fill(struct bench *b, real **x, const real *pixels)
{
    *x = bench_add(b, "x", 1, TOKENS, CHANNELS);
    real *w = bench_add(b, "w_qkv", 3 * CHANNELS, CHANNELS, 0);
    if (!*x || !w) return out_of_memory("tensors");
    picture_see(*x, CHANNELS, pixels);
    for (size_t ch = 0; ch < CHANNELS; ch++)
        for (size_t part = 0; part < 3; part++)
            w[(part * CHANNELS + ch) * CHANNELS + ch] = ch < SEEN ? part < 2 : part == 2;
    return status_ok();
}

static status self_attention(real *kernel, const real *pixels)
{
    const char *word[] = {"--grid", "28x28", "--scale", "4"};
    struct bench b = {0};
    real *x;
    status s = fill(&b, &x, pixels);
    if (!s.code) s = read_kernels(kernel, &b, x, &msa, 4, word);
    bench_release(&b);
    return s;
}

static status lisa_attention(real *kernel, const real *pixels, bool by_hand)
{
    const char *word[] = {"--grid", "28x28"};
    struct bench b = {0};
    real *x;
    status s = fill(&b, &x, pixels);
    real *wa = bench_add(&b, "wa", TOKENS, CHANNELS, D), *wb = bench_add(&b, "wb", TOKENS, D, 0);
    bool biases = bench_add(&b, "ba", CHANNELS, D, 0) && bench_add(&b, "bb", CHANNELS, D, 0);
    if (!s.code && (!wa || !wb || !biases)) s = out_of_memory("tensors");
    if (!s.code && by_hand) {
        draw_by_hand(wa, CHANNELS, 1);
        draw_by_hand(wb, 1, 2.5);
    } else if (!s.code) {
        random_fill_normal(wa, (size_t)TOKENS * CHANNELS * D, 1, 0, 1);
        random_fill_normal(wb, TOKENS * D, 1, 1, 1);
    }
    if (!s.code) s = read_kernels(kernel, &b, x, &lisa, 2, word);
    bench_release(&b);
    return s;
}

int main(void)
{
    real *pixels = memory_reals(TOKENS, 1, 1, 1), *kernel = memory_reals(QUERIES, TOKENS, 1, 1);
    const char *origin = "";
    static const char *const name[] = {"self", "hand", "random"};
    status s = pixels && kernel ? picture(pixels, PICTURE, &origin) : out_of_memory("kernels");

    if (!s.code) {
        printf("# lisa-kernels: attention kernels over the grid, image %d of %s; nothing is trained\n",
               PICTURE, origin);
        printf("# queries (row, column):");
        for (int t = 0; t < QUERIES; t++) printf(" (%zu, %zu)", query[t][0], query[t][1]);
        printf("\n");
        print_matrix("image", 0, pixels);
    }
    for (int o = 0; o < 3 && !s.code; o++) {
        s = o == 0 ? self_attention(kernel, pixels) : lisa_attention(kernel, pixels, o == 1);
        for (size_t t = 0; t < QUERIES && !s.code; t++) print_matrix(name[o], t, kernel + t * TOKENS);
    }
    if (s.code) fprintf(stderr, "lisa-kernels: %s\n", s.message);
    memory_free(kernel);
    memory_free(pixels);
    return s.code;
}
