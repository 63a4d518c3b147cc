/* elsa_filters.c -- effective filters of a few tokens, without and with a ghost head
 *
 *     build/figures/elsa_filters
 *
 * Every pixel of one 28 x 28 image is a token, its 3 x 3 neighbourhood less the
 * image's mean both query and key.  Nothing is trained: one head, whose map of
 * the neighbour's Hadamard product asks for contrast (the sum of z over its
 * channels), and a bias that falls with the distance, K = 7.  The ghost head
 * has four channels, made by hand: their factors are left less right, top less
 * bottom, centre less surround, and a diagonal stripe; their summands are 0.
 *
 * One matrix for the image; for each token the head's filter and those of the
 * four channels, over the largest magnitude of each. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "../reference/elsa.h"
#include "../reference/memory.h"
#include "picture.h"

enum { K = 7, ENTRIES = K * K, CHANNELS = 4, PICTURE = 28, SPOTS = 3 };

static const size_t spot[SPOTS][2] = {{8, 14}, {15, 21}, {20, 8}};       /* row, column */

/* Factor of channel c at neighbour n. */
static real made_by_hand(size_t c, size_t n)
{
    double y = (double)(n / K) - K / 2, x = (double)(n % K) - K / 2, far = sqrt(x * x + y * y);
    switch (c) {
    case 0: return (real)(x / 3);
    case 1: return (real)(y / 3);
    case 2: return far < 1.5 ? 1 : (real)-0.3;
    default: return (real)exp(-(x - y) * (x - y) / 2);
    }
}

static void filter(const char *name, const real *h, size_t step)
{
    double top = 0;
    for (size_t n = 0; n < ENTRIES; n++) top = fmax(top, fabs((double)h[n * step]));
    printf("# %s\n", name);
    for (size_t n = 0; n < ENTRIES; n++) printf("%.4f%s", (double)h[n * step] / top, n % K == K - 1 ? "\n" : "\t");
    printf("\n\n");
}

static status draw(const real *pixels, const char *origin)
{
    struct neighbours around;
    grid tokens, window;
    struct elsa_image m = {.sizes = {.N = TOKENS, .C = CHANNELS, .h = 1, .K = K, .entries = ENTRIES, .Q = SEEN, .equation = 7, .scale = 6}};
    static real x[TOKENS * SEEN], v[TOKENS * CHANNELS], rk[SEEN * ENTRIES], rq[SEEN * ENTRIES], rb[ENTRIES];
    static real factor[CHANNELS * ENTRIES], summand[CHANNELS * ENTRIES];
    size_t reals;
    status s;

    /* Step 1: the scene. */
    if ((s = grid_create(&tokens, 2, (size_t[]){EDGE, EDGE})).code) return s;
    if ((s = grid_create(&window, 2, (size_t[]){K, K})).code) return s;
    if ((s = neighbours_create(&around, &tokens, &window, 1, 1)).code) return s;
    picture_see(x, SEEN, pixels);
    for (size_t n = 0; n < ENTRIES; n++) {
        double y = (double)(n / K) - K / 2, at = (double)(n % K) - K / 2;
        rb[n] = (real)(-(y * y + at * at) / 8);
        for (size_t c = 0; c < SEEN; c++) rq[c * ENTRIES + n] = 1;
        for (size_t c = 0; c < CHANNELS; c++) factor[c * ENTRIES + n] = made_by_hand(c, n);
    }
    m.around = &around;
    m.q = m.k = x;
    m.v = v;
    m.rk = rk;
    m.rq = rq;
    m.rb = rb;
    m.factor = factor;
    m.summand = summand;

    /* Step 2: the hearts.  Query and key have SEEN channels here, values CHANNELS:
     * the logits are those of an image of SEEN channels. */
    m.sizes.C = SEEN;
    real *room = elsa_image_reals(&reals, &m.sizes) ? memory_reals(reals, 1, 1, 1) : NULL;
    if (!room) {
        neighbours_release(&around);
        return out_of_memory("the image");
    }
    elsa_image_place(&m, room);
    elsa_naive_product(&m);
    elsa_naive_logits(&m);
    elsa_naive_softmax(&m);
    m.sizes.C = CHANNELS;
    elsa_naive_filters(&m);

    /* Step 3: what is drawn. */
    printf("# elsa_filters: %s; nothing is trained\n# tokens (row, column):", origin);
    for (size_t k = 0; k < SPOTS; k++) printf(" %zu %zu", spot[k][0], spot[k][1]);
    printf("\n# image\n");
    for (size_t i = 0; i < TOKENS; i++) printf("%.3f%s", (double)pixels[i], i % EDGE == EDGE - 1 ? "\n" : "\t");
    printf("\n\n");
    for (size_t k = 0; k < SPOTS; k++) {
        size_t i = spot[k][0] * EDGE + spot[k][1];
        char name[40];
        snprintf(name, sizeof name, "head %zu", k + 1);
        filter(name, m.h + i, TOKENS);
        for (size_t c = 0; c < CHANNELS; c++) {
            snprintf(name, sizeof name, "channel %zu %zu", k + 1, c + 1);
            filter(name, m.filters + c * ENTRIES * TOKENS + i, TOKENS);
        }
    }
    memory_free(room);
    neighbours_release(&around);
    return status_ok();
}

int main(void)
{
    real *pixels = memory_reals(TOKENS, 1, 1, 1);
    const char *origin = "";
    status s = pixels ? picture(pixels, PICTURE, &origin) : out_of_memory("the image");

    if (s.code == STATUS_OK) s = draw(pixels, origin);
    if (s.code) fprintf(stderr, "elsa_filters: %s\n", s.message);
    memory_free(pixels);
    return s.code;
}
