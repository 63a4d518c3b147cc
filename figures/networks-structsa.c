/* networks-structsa.c -- StructSA's attention, kernels and filters in a trained network, and with random weights
 *
 *     build/figures/networks-structsa
 *
 * As StructSA's Fig. 4, of the second block of the tiny network that
 * tests/pytorch/train.py trains (learned.h), its first head: for two queries the
 * attention a_ijd over the centres j of each pattern d, by the hearts of the naive form;
 * the merged kernels (Eq. 21) of a few channels; and the detectors hk and aggregators hv
 * of those channels.
 *
 * Attention over its largest entry of all patterns; the rest each over its largest
 * magnitude.  The comments say how much of each query's attention every pattern has, and
 * for both heads how many queries look at the same place by the same pattern. */

#include "../naive/structsa.h"
#include "../reference/linear.h"
#include "learned.h"

enum { HEADS = 2, WIDTH = C / HEADS, D = 4, M = 9, CENTRES = SIDE / 2, J = CENTRES * CENTRES,
       QUERIES = 2, PICTURE = 28, CHANNELS = 4 };

static const size_t query[QUERIES][2] = {{3, 10}, {11, 4}};        /* row, column */
static const size_t stride[GRID_AXES] = {2, 2, 1};

static real q[N * WIDTH], k[N * WIDTH], map[(size_t)N * N * WIDTH], windows[J * M * WIDTH];
static real a_i[J * D], kernels[J * M * WIDTH], merged[N * WIDTH], hk[D * M * WIDTH], hv[D * M * WIDTH];

/* The filters of a pattern for four channels in one matrix, two by two, each over its largest magnitude, and zeros
 * between them. */
static void print_filters(const char *kind, const char *side, const real *h)
{
    enum { TALL = 7 };
    for (size_t d = 0; d < D; d++) {
        char name[40];
        real four[TALL * TALL] = {0};
        for (size_t ch = 0; ch < CHANNELS; ch++) {
            real filter[M], *corner = four + ch / 2 * 4 * TALL + ch % 2 * 4;
            for (size_t m = 0; m < M; m++) filter[m] = h[(d * M + m) * WIDTH + ch];
            for (size_t m = 0; m < M; m++)
                corner[m / 3 * TALL + m % 3] = (real)((double)filter[m] / learned_largest(filter, M));
        }
        snprintf(name, sizeof name, "%s %s %zu", kind, side, d);
        learned_print(name, four, TALL, TALL, 0);
    }
}

static void print_query(const char *kind, size_t t)
{
    char name[40];
    real plane[N];
    double share[D] = {0};
    for (size_t d = 0; d < D; d++) {
        for (size_t j = 0; j < J; j++) {
            plane[j] = a_i[j * D + d];
            share[d] += 100 * (double)a_i[j * D + d];
        }
        snprintf(name, sizeof name, "%s attention %zu %zu", kind, t, d);
        learned_print(name, plane, CENTRES, CENTRES, learned_largest(a_i, J * D));
    }
    printf("# percent of the patterns, %s %zu:", kind, t);
    for (size_t d = 0; d < D; d++) printf(" %.0f", share[d]);
    printf("\n");
    for (size_t ch = 0; ch < CHANNELS; ch++) {
        for (size_t n = 0; n < N; n++) plane[n] = merged[n * WIDTH + ch];
        snprintf(name, sizeof name, "%s merged %zu %zu", kind, t, ch);
        learned_print(name, plane, SIDE, SIDE, learned_largest(plane, N));
    }
}

/* Query, key and filters of a head, and its map. */
static void take_head(const struct structsa_problem *p, const struct learned *l, size_t head)
{
    const real *w = learned_tensor(l, "w_qkv") + head * WIDTH * C, *b = learned_tensor(l, "b_qkv") + head * WIDTH;
    linear_map(q, WIDTH, l->met, C, w, b, N, C, WIDTH);
    linear_map(k, WIDTH, l->met, C, w + C * C, b + C, N, C, WIDTH);
    for (size_t i = 0; i < N * WIDTH; i++) q[i] *= (real)0.25;
    for (size_t dm = 0; dm < D * M; dm++) {
        memcpy(hk + dm * WIDTH, learned_tensor(l, "hk") + dm * C + head * WIDTH, WIDTH * sizeof *hk);
        memcpy(hv + dm * WIDTH, learned_tensor(l, "hv") + dm * C + head * WIDTH, WIDTH * sizeof *hv);
    }
    structsa_naive_correlate(map, q, k, p);
}

static void attend(const struct structsa_problem *p, const struct neighbours *around, size_t i)
{
    structsa_naive_unfold(windows, map + i * N * WIDTH, WIDTH, around);
    structsa_naive_attend(a_i, windows, hk, p);
}

/* How many queries have their largest entry where most have it, and how large it is on the mean. */
static void survey(const char *kind, const struct structsa_problem *p, const struct neighbours *around, size_t head)
{
    size_t count[J * D] = {0}, most = 0;
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        size_t best = 0;
        attend(p, around, i);
        for (size_t jd = 1; jd < J * D; jd++)
            if (a_i[jd] > a_i[best]) best = jd;
        sum += (double)a_i[best];
        if (++count[best] > most) most = count[best];
    }
    printf("# %s, head %zu: %zu of %d queries have their largest entry in common, the mean of the largest is %.3f\n",
           kind, head + 1, most, N, sum / N);
}

/* Both heads in numbers, the first in pictures. */
static void draw_around(const char *kind, const struct learned *l, const struct neighbours *around)
{
    const struct structsa_problem p = {.N = N, .c = WIDTH, .D = D, .J = J, .M = M, .Mv = M, .columns = WIDTH};
    for (size_t head = HEADS; head-- > 0;) {
        take_head(&p, l, head);
        survey(kind, &p, around, head);
    }
    print_filters(kind, "hk", hk);
    print_filters(kind, "hv", hv);
    for (size_t t = 0; t < QUERIES; t++) {
        attend(&p, around, query[t][0] * SIDE + query[t][1]);
        structsa_naive_kernels(kernels, a_i, hv, &p);
        structsa_naive_merge(merged, kernels, around, &p);
        print_query(kind, t);
    }
}

/* A centre at every second token of each axis. */
static status draw(const char *kind, struct learned *l)
{
    struct room room = room_open(1);
    struct neighbours around;
    grid tokens, window;
    room_refuse(&room, grid_create(&tokens, 2, (size_t[]){SIDE, SIDE}));
    room_refuse(&room, grid_create(&window, 2, (size_t[]){3, 3}));
    neighbours_prepare(&around, &room, &tokens, &window, stride, 1);
    status s = room_place(&room, NULL);
    if (!s.code) {
        neighbours_load(&around);
        draw_around(kind, l, &around);
    }
    room_release(&room);
    return s;
}

int main(void)
{
    const struct learned_view view = {"networks-structsa", "structsa", PICTURE, "queries", QUERIES, query};
    return learned_compare(&view, draw);
}
