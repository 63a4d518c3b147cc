/* elsa-filters.c -- effective filters of a few tokens, without and with a ghost head
 *
 *     build/figures/elsa-filters
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
#include "../naive/elsa.h"
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
    for (size_t n = 0; n < ENTRIES; n++)
        if (fabs((double)h[n * step]) > top) top = fabs((double)h[n * step]);
    printf("# %s\n", name);
    for (size_t n = 0; n < ENTRIES; n++) printf("%.4f%s", (double)h[n * step] / top, n % K == K - 1 ? "\n" : "\t");
    printf("\n\n");
}

/* Query and key have SEEN channels, values CHANNELS; the rest as in naive/elsa.h. */
static real x[TOKENS * SEEN], rk[SEEN * ENTRIES], rq[SEEN * ENTRIES], rb[ENTRIES];
static real factor[CHANNELS * ENTRIES], summand[CHANNELS * ENTRIES];
static real hp[TOKENS * SEEN], kp[TOKENS * SEEN], unfolded[TOKENS * ENTRIES * SEEN], row[ENTRIES];
static real h[ENTRIES * TOKENS], filters[CHANNELS * ENTRIES * TOKENS];

static void draw(const real *pixels, const char *origin, const struct neighbours *around)
{
    struct elsa_problem p = {.heads = {.N = TOKENS, .C = SEEN, .Q = SEEN, .h = 1}, .K = K, .entries = ENTRIES,
                             .equation = 7, .scale = 6, .rk = rk, .rq = rq, .rb = rb,
                             .ghost = {.channels = CHANNELS, .heads = 1, .offsets = ENTRIES, .lambda = 1, .gamma = 1}};

    /* Step 1: the scene. */
    picture_see(x, SEEN, pixels);
    for (size_t n = 0; n < ENTRIES; n++) {
        double y = (double)(n / K) - K / 2, at = (double)(n % K) - K / 2;
        rb[n] = (real)(-(y * y + at * at) / 8);
        for (size_t c = 0; c < SEEN; c++) rq[c * ENTRIES + n] = 1;
        for (size_t c = 0; c < CHANNELS; c++) factor[c * ENTRIES + n] = made_by_hand(c, n);
    }

    /* Step 2: the hearts; from the filters on there are as many channels as the
     * values have. */
    elsa_naive_product(hp, kp, x, x, &p);
    elsa_naive_unfold(unfolded, kp, around, SEEN);
    elsa_naive_logits(h, hp, unfolded, &p);
    elsa_naive_softmax(h, row, &p);
    p.heads.C = CHANNELS;
    elsa_naive_filters(filters, h, factor, summand, &p);

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
        filter(name, h + i, TOKENS);
        for (size_t c = 0; c < CHANNELS; c++) {
            snprintf(name, sizeof name, "channel %zu %zu", k + 1, c + 1);
            filter(name, filters + c * ENTRIES * TOKENS + i, TOKENS);
        }
    }
}

int main(void)
{
    static real pixels[TOKENS];
    const char *origin = "";
    struct room room = room_open(1);
    struct neighbours around;
    grid tokens, window;

    room_refuse(&room, grid_create(&tokens, 2, (size_t[]){EDGE, EDGE}));
    room_refuse(&room, grid_create(&window, 2, (size_t[]){K, K}));
    neighbours_prepare(&around, &room, &tokens, &window, NULL, 1);
    status s = room_place(&room, NULL);
    if (!s.code) s = picture(pixels, PICTURE, &origin);
    if (!s.code) {
        neighbours_load(&around);
        draw(pixels, origin, &around);
    }
    if (s.code) fprintf(stderr, "elsa-filters: %s\n", s.message);
    room_release(&room);
    return s.code;
}
