/* chopd-pooling.c -- seconds of pooling over boxes, and nothing else
 *
 *     build/figures/chopd-pooling LAYOUT EDGES EDGE CHANNELS BOXES THREADS REPEATS
 *
 * Means over so many boxes a channel, weighted and added (fast/chopd/box_pool.h), on
 * EDGE x EDGE tokens with random numbers: the step of the ChoP'D layer between
 * its two products.  EDGES is whole, boxes of whole tokens, or fractional.
 * LAYOUT is planes, [C][N] in and out, which is how the layer has them; or
 * tokens, [N][C] in and out, turned into planes and back a vector of channels at
 * a time, of which C and N must be multiples.
 *
 * What comes out is compared with sums over the boxes in double, before the clock matters and again for the last timed
 * run; each run has an x of its own (judge.h).  One row, the median of the runs; multiply-adds are those of box_pool.h,
 * and the parameters four edges and a weight for each box. */

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../fast/chopd/box_pool.h"
#include "../fast/transpose.h"
#include "../reference/random.h"
#include "judge.h"
#include "quantile.h"

enum { SEED = 6, SAMPLE = 61, REPEATS_MAX = 1000 };

struct scene {
    struct contestant judged;           /* first, so that the one is the other */
    struct room room;
    struct box_pool pool;
    size_t edge, N, C, G;
    bool by_token;
    int threads;
    real *boxes, *mix, *in, *out;       /* [C][G][4], [C][G], [C][N] or [N][C] */
    real *planes;                       /* of each thread, [LANES][N] */
    real *seen;                         /* three more of out, for the judge */
};

/* A middle some tokens away, and sides from half a token on. */
static void draw_box(real *box, size_t at, bool whole)
{
    for (size_t axis = 0; axis < 2; axis++) {
        double middle = 3 * random_normal(SEED, 0, 4 * at + axis);
        double half = 0.25 + 3 * fabs(random_normal(SEED, 0, 4 * at + 2 + axis));
        double low = middle - half, high = middle + half;
        if (whole) {
            low = floor(low) + 0.5;
            high = fmax(floor(high) + 0.5, low + 1);
        }
        box[axis] = (real)low;
        box[2 + axis] = (real)high;
    }
}

static status scene_create(struct scene *s, bool whole)
{
    struct room *room = &s->room;
    s->N = s->edge * s->edge;
    *room = room_open(s->threads);
    box_pool_prepare(&s->pool, room, s->edge, s->edge, s->C, s->G);
    room_reals(room, OF_LOAD, &s->boxes, "the boxes", s->C, s->G, 4, 1);
    room_reals(room, OF_LOAD, &s->mix, "the weights of the boxes", s->C, s->G, 1, 1);
    room_reals(room, OF_LOAD, &s->in, "the planes", s->N, s->C, 1, 1);
    room_reals(room, OF_LOAD, &s->out, "the planes", s->N, s->C, 1, 1);
    room_reals(room, OF_LOAD, &s->seen, "what came out", 3, s->N, s->C, 1);
    room_reals(room, OF_THREAD, &s->planes, "the planes of some channels", LANES, s->N, 1, 1);
    status result = room_place(room, NULL);
    if (result.code) return result;
    for (size_t at = 0; at < s->C * s->G; at++) draw_box(s->boxes + 4 * at, at, whole);
    random_fill_normal(s->mix, s->C * s->G, SEED, 1, 1 / sqrt((double)s->G));
    random_fill_normal(s->in, s->N * s->C, SEED, 2, 1);
    box_pool_load(&s->pool, s->boxes, s->mix);
    for (int t = 0; t < s->threads; t++) box_pool_clear(&s->pool, room, (size_t)t);
    return result;
}

/* ---- what is timed --------------------------------------------------------- */

static void pool_planes(const struct scene *s)
{
    #pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t c = 0; c < s->C; c++)
        box_pool_plane(&s->pool, c, s->out + c * s->N, s->in + c * s->N, NULL, &s->room, (size_t)omp_get_thread_num());
}

/* LANES rows and columns: number j of row i becomes number i of row j. */
static void transpose_square(real *to, size_t to_step, const real *from, size_t from_step)
{
    lanes square[LANES];
    for (size_t i = 0; i < LANES; i++) square[i] = lanes_load_anywhere(from + i * from_step);
    lanes_transpose(square);
    for (size_t i = 0; i < LANES; i++) lanes_store_anywhere(to + i * to_step, square[i]);
}

/* LANES channels at a time, whose planes stay in the cache; C and N are multiples
 * of LANES. */
static void pool_tokens(const struct scene *s)
{
    #pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t c = 0; c < s->C; c += LANES) {
        size_t thread = (size_t)omp_get_thread_num();
        real *planes = room_own(&s->room, s->planes, thread);
        for (size_t n = 0; n < s->N; n += LANES) transpose_square(planes + n, s->N, s->in + n * s->C + c, s->C);
        for (size_t l = 0; l < LANES; l++)
            box_pool_plane(&s->pool, c + l, planes + l * s->N, planes + l * s->N, NULL, &s->room, thread);
        for (size_t n = 0; n < s->N; n += LANES) transpose_square(s->out + n * s->C + c, s->C, planes + n, s->N);
    }
}

static void pool(const struct scene *s)
{
    if (s->by_token) pool_tokens(s);
    else pool_planes(s);
}

/* ---- what it must be -------------------------------------------------------- */

static double entry(const struct scene *s, const real *a, size_t c, size_t n)
{
    return (double)a[s->by_token ? n * s->C + c : c * s->N + n];
}

static double overlap(double token, double low, double high)
{
    return fmax(0, fmin(token + 0.5, high) - fmax(token - 0.5, low));
}

/* The weighted means of channel c at token n, in double. */
static double expected(const struct scene *s, size_t c, size_t n)
{
    double total = 0, y = (double)(n / s->edge), x = (double)(n % s->edge);
    for (size_t g = 0; g < s->G; g++) {
        const real *box = s->boxes + (c * s->G + g) * 4;
        double sum = 0, area = ((double)box[2] - (double)box[0]) * ((double)box[3] - (double)box[1]);
        for (size_t m = 0; m < s->N; m++) {
            double down = overlap((double)(m / s->edge), y + (double)box[0], y + (double)box[2]);
            double across = overlap((double)(m % s->edge), x + (double)box[1], x + (double)box[3]);
            sum += down * across * entry(s, s->in, c, m);
        }
        total += (double)s->mix[c * s->G + g] * sum / area;
    }
    return total;
}

/* Largest difference at some tokens of every channel, over the largest entry. */
static double difference(const struct scene *s)
{
    double largest = 0, apart = 0;
    for (size_t c = 0; c < s->C; c++)
        for (size_t n = c % SAMPLE; n < s->N; n += SAMPLE) {
            double y = expected(s, c, n);
            double d = fabs(entry(s, s->out, c, n) - y);
            largest = fmax(largest, fabs(y));
            if (d > apart || isnan(d)) apart = d;
        }
    return apart / largest;
}

static status compare(const struct scene *s, double *apart)
{
    double allowed = 8 * (double)s->edge * (double)REAL_EPSILON;        /* a sum along an axis has as many terms */
    *apart = difference(s);
    if (*apart <= allowed) return status_ok();
    return failure("differs by %.2g, allowed %.2g; not timed", *apart, allowed);
}

/* ---- the clock ---------------------------------------------------------------- */

static status run_once(struct contestant *judged, real *y, const real *x)
{
    const struct scene *s = (const struct scene *)judged;
    double start = omp_get_wtime();
    (void)x, (void)y;                   /* the scene's own */
    pool(s);
    judged->last = omp_get_wtime() - start;
    return status_ok();
}

static status median_seconds(double *median, struct scene *s, int repeats)
{
    static double seconds[REPEATS_MAX];
    size_t numbers = s->N * s->C;
    struct judge judge = {.x = s->in, .y = s->out, .original = s->seen, .reference = s->seen + numbers,
                          .inputs = numbers, .outputs = numbers, .width = s->C, .terms = (double)s->N};
    s->judged = (struct contestant){.run = run_once, .kept = s->seen + 2 * numbers};
    status result = judge_first(&judge, &s->judged);
    for (int r = 0; r < repeats && !result.code; r++) {
        judge_round(&judge);
        result = judge_timed(&judge, &s->judged, true);
        seconds[r] = s->judged.last;
    }
    if (!result.code && s->judged.refused) result = failure("%s; not timed", s->judged.said);
    quantile_sort(seconds, (size_t)repeats);
    *median = quantile(seconds, (size_t)repeats, 0.5);
    return result;
}

static status measure(struct scene *s, bool whole, int repeats)
{
    double apart = 0, after = 0, median = 0;
    status result = scene_create(s, whole);
    if (result.code) return result;
    pool(s);
    result = compare(s, &apart);
    if (!result.code) result = median_seconds(&median, s, repeats);
    if (!result.code) result = compare(s, &after);
    if (result.code) return result;
    printf("#layout\tedges\tgrid\tchannels\tboxes\tthreads\trepeats\tmedian_seconds\tlargest_relative_difference\t"
           "multiply_adds\tparameters\n");
    printf("%s\t%s\t%zux%zu\t%zu\t%zu\t%d\t%d\t%.4g\t%.1e\t%zu\t%zu\n", s->by_token ? "tokens" : "planes",
           whole ? "whole" : "fractional", s->edge, s->edge, s->C, s->G, s->threads, repeats, median,
           fmax(apart, after), s->N * s->C * s->G * (whole ? 1 : 6), 5 * s->C * s->G);
    return result;
}

int main(int count, char **word)
{
    struct scene s = {0};
    status result = bad_input("expected planes|tokens whole|fractional EDGE CHANNELS BOXES THREADS REPEATS");
    size_t number[5] = {0};
    for (int w = 3; w < count && w < 8; w++) number[w - 3] = strtoul(word[w], NULL, 10);
    s.edge = number[0], s.C = number[1], s.G = number[2];
    s.threads = (int)number[3];
    s.by_token = count > 1 && !strcmp(word[1], "tokens");
    bool even = !s.by_token || (s.C % LANES == 0 && s.edge * s.edge % LANES == 0);
    bool given = s.edge && s.C && s.G && s.threads > 0 && number[4] && number[4] <= REPEATS_MAX;
    if (count == 8 && given && even)
        result = measure(&s, !strcmp(word[2], "whole"), (int)number[4]);
    if (result.code) fprintf(stderr, "chopd-pooling: %s\n", result.message);
    room_release(&s.room);
    return result.code;
}
