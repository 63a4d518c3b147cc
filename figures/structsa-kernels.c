/* structsa-kernels.c -- dynamic kernels of one query on a real image
 *
 *     build/figures/structsa-kernels
 *
 * In the manner of StructSA's Fig. 2 and 4, but nothing here is trained.  Every
 * pixel of one 28 x 28 image is a token; its 3 x 3 neighbourhood less the
 * image's mean, brought to length 1, is both query and key, so that the map
 * q_i . k_n is a cosine.  All operators are the hearts of the naive form on
 * this one map: self-attention is StructSA with a window of one token, ConvSA
 * has the first detector alone (D = 1), StructSA all of them.
 *
 * The detectors are made by hand, D = 8: Sobel's mask in eight directions, each
 * divided by the sum of its magnitudes, so that none scores above 1 on a map of
 * cosines.  The aggregator of each pattern is the detector itself.  Where the
 * map is flat all eight score alike and their aggregators cancel.
 *
 * One matrix for the image, the map and each detector; for each operator the
 * merged map (Eq. 21) and the kernels at a few keys, each over its largest
 * magnitude.  How large the kernels are beside the operator's largest is said
 * in the comments. */

#include <math.h>
#include <stdio.h>
#include "../naive/structsa.h"
#include "../reference/steps.h"
#include "picture.h"

enum {
    M = SEEN,                   /* entries of a window, and channels of a token */
    D = 8,
    PICTURE = 28,               /* of the data set: a boot, for its edges in all directions */
    KEYS = 5
};

static const double scale = 7;                  /* multiplies q */
static const size_t query[2] = {16, 14};        /* row, column */
static const size_t key[KEYS][2] = {{14, 4}, {11, 12}, {5, 20}, {11, 26}, {22, 13}};

/* x [N][M]: what the picture shows around each token, to length 1. */
static void see(real *x, const real *pixels)
{
    picture_see(x, M, pixels);
    for (size_t i = 0; i < TOKENS; i++) l2_normalise(x + i * M, M);
}

/* h [D][M]: Sobel's mask turned by d eighths of a circle, over the sum of its
 * magnitudes.  Its entries but the middle lie on a ring, clockwise from the
 * right. */
static void draw_by_hand(real *h)
{
    static const size_t ring[D] = {5, 8, 7, 6, 3, 0, 1, 2};
    static const int weight[D] = {2, 1, 0, -1, -2, -1, 0, 1};
    for (size_t d = 0; d < D; d++) {
        h[d * M + M / 2] = 0;
        for (size_t t = 0; t < D; t++) h[d * M + ring[t]] = (real)weight[(t + D - d) % D] / 8;
    }
}

static size_t token(const size_t at[2])
{
    return at[0] * EDGE + at[1];
}

static double largest(const real *a, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs((double)a[i]) > most) most = fabs((double)a[i]);
    return most;
}

/* a [rows][columns] over its largest magnitude. */
static void print_matrix(const char *name, size_t t, const real *a, size_t rows, size_t columns)
{
    double most = largest(a, rows * columns);
    printf("# %s %zu\n", name, t);
    for (size_t i = 0; i < rows * columns; i++)
        printf("%.3f%c", most > 0 ? (double)a[i] / most : 0, (i + 1) % columns ? '\t' : '\n');
    printf("\n\n");
}

/* What one operator does with one query: where a window is more than one
 * token, how large the kernels at the keys are beside the largest; the merged
 * map; the kernels. */
static void print_operator(const char *name, const real *kernels, size_t entries, const real *merged)
{
    double most = largest(kernels, TOKENS * entries);
    if (entries > 1) {
        printf("# largest entry of the kernels, %s:", name);
        for (size_t t = 0; t < KEYS; t++) printf(" %.6f", largest(kernels + token(key[t]) * entries, entries) / most);
        printf("\n");
    }
    print_matrix(name, 0, merged, EDGE, EDGE);
    for (size_t t = 0; t < KEYS && entries > 1; t++)
        print_matrix(name, t + 1, kernels + token(key[t]) * entries, 3, 3);
}

/* One operator: a window of `edge` x `edge`, the first `patterns` of the
 * detectors. */
static status operate(const char *name, const real *x, const real *q, const real *filters,
                      size_t edge, size_t patterns)
{
    size_t entries = edge * edge;
    const struct structsa_problem p = {
        .N = TOKENS, .c = M, .D = patterns, .J = TOKENS, .M = entries, .Mv = entries, .columns = 1,
    };
    struct neighbours windows;
    struct room room = room_open(1);
    real *map, *unfolded, *a_i, *kernels, *merged;
    grid tokens, window;

    /* Step 1: room for all that the hearts make. */
    status s = grid_create(&tokens, 2, (size_t[]){EDGE, EDGE});
    if (!s.code) s = grid_create(&window, 2, (size_t[]){edge, edge});
    if (s.code) return s;
    neighbours_prepare(&windows, &room, &tokens, &window, NULL, 1);
    room_reals(&room, OF_RUN, &map, "the map", TOKENS, TOKENS, 1, 1);
    room_reals(&room, OF_RUN, &unfolded, "the windows of the query", TOKENS, entries, 1, 1);
    room_reals(&room, OF_RUN, &a_i, "the attention of the query", TOKENS, patterns, 1, 1);
    room_reals(&room, OF_RUN, &kernels, "the kernels of the query", TOKENS, entries, 1, 1);
    room_reals(&room, OF_RUN, &merged, "a merged map", TOKENS, 1, 1, 1);
    s = room_place(&room, NULL);
    if (s.code) return s;
    neighbours_load(&windows);

    /* Step 2: the equations, for one query. */
    const real *map_i = map + token(query) * TOKENS;
    structsa_naive_correlate(map, q, x, &p);
    structsa_naive_unfold(unfolded, map_i, 1, &windows);
    structsa_naive_attend(a_i, unfolded, filters, &p);
    structsa_naive_kernels(kernels, a_i, filters, &p);
    structsa_naive_merge(merged, kernels, &windows, &p);

    /* Step 3: what there is to see. */
    if (edge == 1) print_matrix("similarity", 0, map_i, EDGE, EDGE);
    print_operator(name, kernels, entries, merged);
    room_release(&room);
    return status_ok();
}

int main(void)
{
    static const real one[1] = {1};
    real *pixels = memory_reals(TOKENS, 1, 1, 1), filters[D * M];
    real *x = memory_reals(TOKENS, M, 1, 1), *q = memory_reals(TOKENS, M, 1, 1);
    const char *origin = "";
    status s = pixels && x && q ? picture(pixels, PICTURE, &origin) : out_of_memory("tokens");

    if (!s.code) {
        see(x, pixels);
        for (size_t ic = 0; ic < TOKENS * M; ic++) q[ic] = (real)scale * x[ic];
        draw_by_hand(filters);
        printf("# structsa_kernels: dynamic kernels, image %d of %s; nothing is trained\n", PICTURE, origin);
        printf("# scale: %g\n# query (row, column): %zu %zu\n# keys (row, column):", scale, query[0], query[1]);
        for (size_t t = 0; t < KEYS; t++) printf(" %zu %zu", key[t][0], key[t][1]);
        printf("\n");
        print_matrix("image", 0, pixels, EDGE, EDGE);
        for (size_t d = 0; d < D; d++) print_matrix("detector", d, filters + d * M, 3, 3);
    }
    if (!s.code) s = operate("self", x, q, one, 1, 1);
    if (!s.code) s = operate("conv", x, q, filters, 3, 1);
    if (!s.code) s = operate("struct", x, q, filters, 3, D);
    if (s.code) fprintf(stderr, "structsa-kernels: %s\n", s.message);
    memory_free(q);
    memory_free(x);
    memory_free(pixels);
    return s.code;
}
