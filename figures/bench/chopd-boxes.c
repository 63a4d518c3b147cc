/* chopd-boxes.c -- time of pooling over boxes, without the rest of a ChoP'D layer
 *
 *     build/figures/bench/chopd-boxes SECONDS SIDE...
 *     build/figures/bench/chopd-boxes EDGES EDGE CHANNELS BOXES THREADS REPEATS
 *
 * The first command times means over one box of SIDE x SIDE tokens (SIDE is odd) around every token, on 96 planes of 56
 * x 56 tokens, with one thread.  Each method gets SECONDS, but 3 to 200 runs:
 *
 *     direct      adds all tokens of the box, as average pooling does
 *     axes        adds along one axis, then along the other
 *     whole       fast/tuned/chopd/box_pool.h, edges between tokens; these three must agree
 *     fractional  the same with a box 1/4 token larger on every side
 *
 * The second command times weighted sums of means over random boxes on EDGE x EDGE random tokens.  EDGES is whole or
 * fractional.  Input and output are planes, as in the layer.  The result is compared with sums over the boxes in
 * double. */

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../fast/tuned/chopd/box_pool.h"
#include "../../reference/runtime/random.h"
#include "../../reference/cli/harness.h"

enum { SEED = 6, SAMPLE = 61, RUNS = 1000, WAYS = 3, SIDE_RUNS = 200, PLANES = 96, EDGE = 56 };

struct scene {
    struct arena arena;
    struct box_pool pool;
    size_t edge, N, C, G;
    int threads;
    ptrdiff_t reach;            /* (SIDE - 1) / 2 */
    real *boxes, *mix, *in, *out;       /* [C][G][4], [C][G], [C][N] */
    real *sums;                         /* along an axis, [N] */
    real *results;                      /* 2 + WAYS arrays like out, for the harness */
};

static status scene_create(struct scene *s)
{
    struct arena *arena = &s->arena;
    s->N = s->edge * s->edge;
    *arena = arena_open(s->threads);
    box_pool_prepare(&s->pool, arena, s->edge, s->edge, s->C, s->G);
    arena_reals(arena, PERSISTENT, &s->boxes, "the boxes", s->C, s->G, 4);
    arena_reals(arena, PERSISTENT, &s->mix, "the weights of the boxes", s->C, s->G);
    arena_reals(arena, PERSISTENT, &s->in, "the planes", s->N, s->C);
    arena_reals(arena, PERSISTENT, &s->out, "the planes", s->N, s->C);
    arena_reals(arena, PERSISTENT, &s->results, "the results", 2 + WAYS, s->N, s->C);
    arena_reals(arena, PERSISTENT, &s->sums, "sums along an axis", s->N);
    status result = arena_allocate(arena, NULL);
    for (int t = 0; t < s->threads && !result.code; t++) box_pool_clear(&s->pool, arena, (size_t)t);
    return result;
}

/* ---- the methods ----------------------------------------------------------- */

typedef void pooling(const struct scene *s);

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static ptrdiff_t most(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* to[x] += from[x + shift] for all shifts up to `reach`, if that is on the grid. */
static void add_shifted(real *to, const real *from, ptrdiff_t reach)
{
    reach = least(reach, EDGE - 1);
    for (ptrdiff_t shift = -reach; shift <= reach; shift++) {
        ptrdiff_t end = least(EDGE, EDGE - shift);
        for (ptrdiff_t x = most(0, -shift); x < end; x++) to[x] += from[x + shift];
    }
}

/* out[y] += the sums along x, up to `across` tokens away, of all rows within `reach` of y. */
static void add_rows(real *out, const real *in, ptrdiff_t reach, ptrdiff_t across)
{
    for (ptrdiff_t y = 0; y < EDGE; y++)
        for (ptrdiff_t m = most(0, y - reach); m <= least(EDGE - 1, y + reach); m++)
            add_shifted(out + y * EDGE, in + m * EDGE, across);
}

static void scale(real *plane, const struct scene *s)
{
    real over = 1 / ((real)(2 * s->reach + 1) * (real)(2 * s->reach + 1));
    for (size_t n = 0; n < s->N; n++) plane[n] *= over;
}

static void pool_direct(const struct scene *s)
{
    for (size_t c = 0; c < s->C; c++) {
        real *out = s->out + c * s->N;
        memset(out, 0, s->N * sizeof *out);
        add_rows(out, s->in + c * s->N, s->reach, s->reach);
        scale(out, s);
    }
}

static void pool_axes(const struct scene *s)
{
    real *sums = s->sums;
    for (size_t c = 0; c < s->C; c++) {
        real *out = s->out + c * s->N;
        memset(sums, 0, s->N * sizeof *sums);
        memset(out, 0, s->N * sizeof *out);
        add_rows(sums, s->in + c * s->N, 0, s->reach);
        add_rows(out, sums, s->reach, 0);
        scale(out, s);
    }
}

static void pool_planes(const struct scene *s)
{
    #pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t c = 0; c < s->C; c++)
        box_pool_plane(&s->pool, c, s->out + c * s->N, s->in + c * s->N, NULL, &s->arena, (size_t)omp_get_thread_num());
}

/* ---- the clock ---------------------------------------------------------------- */

struct way {
    struct contestant contestant;   /* first: a pointer to it is a pointer to the way */
    const struct scene *scene;
    pooling *pool;
    double seconds[RUNS];
};
static_assert(offsetof(struct way, contestant) == 0, "first");

/* x and y are those of the scene. */
static status run_once(struct contestant *contestant, real *y, const real *x)
{
    const struct way *way = (const struct way *)contestant;
    struct stopwatch started = stopwatch_start(way->scene->threads);
    (void)x, (void)y;
    way->pool(way->scene);
    stopwatch_stop(&started, contestant);
    return status_ok();
}

/* Times all methods, which must agree with the first.  terms: tokens summed for one output. */
static status race(struct way *way, int ways, const struct scene *s, double terms, const struct limits *limit)
{
    size_t outputs = s->N * s->C;
    struct contestant *all[WAYS];
    struct harness harness = {.x = s->in, .y = s->out, .original = s->results, .reference = s->results + outputs,
                          .inputs = outputs, .outputs = outputs, .width = s->C, .terms = terms};
    for (int w = 0; w < ways; w++) {
        way[w].scene = s;
        way[w].contestant.run = run_once;
        way[w].contestant.kept = s->results + (2 + (size_t)w) * outputs;
        way[w].contestant.seconds = way[w].seconds;
        all[w] = &way[w].contestant;
    }
    return harness_race(&harness, all, ways, limit);
}

/* ---- one box for all ------------------------------------------------------------ */

/* Sets the same box in all planes, `more` tokens larger on each side than SIDE. */
static void place(struct scene *s, double more)
{
    real side = (real)((double)s->reach + 0.5 + more);
    for (size_t c = 0; c < s->C; c++) {
        real *box = s->boxes + 4 * c;
        box[0] = box[1] = -side;
        box[2] = box[3] = side;
        s->mix[c] = 1;
    }
    box_pool_load(&s->pool, s->boxes, s->mix);
}

static status one_side(struct scene *s, double seconds)
{
    static struct way ways[WAYS + 1];
    const struct limits limit = {.least = 3, .most = SIDE_RUNS, .seconds = seconds};
    const double side = fmin(2 * (double)s->reach + 1, (double)s->edge);
    const struct { const char *name; pooling *pool; } row[] = {
        {"direct", pool_direct}, {"axes", pool_axes}, {"whole", pool_planes}, {"fractional", pool_planes},
    };
    for (int w = 0; w < WAYS + 1; w++) {
        ways[w] = (struct way){.pool = row[w].pool};
        snprintf(ways[w].contestant.name, sizeof ways[w].contestant.name, "%s", row[w].name);
    }
    place(s, 0);
    status result = race(ways, WAYS, s, side * side + (double)s->edge, &limit);
    if (result.code) return result;
    place(s, 0.25);
    result = race(ways + WAYS, 1, s, side * side, &limit);
    for (int w = 0; w < WAYS + 1 && !result.code; w++) {
        struct quartiles q = quartiles(&ways[w].contestant);
        printf("%s\t%td\t%.4g\t%d\t%.4g\t%.4g\n", row[w].name, 2 * s->reach + 1, q.median, ways[w].contestant.count,
               q.low, q.high);
    }
    fflush(stdout);
    return result;
}

static status measure_sides(struct scene *s, const char *const *word)
{
    double seconds = strtod(*word, NULL);
    s->edge = EDGE;
    s->C = PLANES;
    s->G = 1;
    s->threads = 1;
    status result = scene_create(s);
    if (result.code) return result;
    random_fill_uniform(s->in, s->C * s->N, SEED, 0, 0, 1);
    printf("#way\tside\tmedian_seconds\truns\tlower_quartile\tupper_quartile\n");
    while (*++word && !result.code) {
        s->reach = strtol(*word, NULL, 10) / 2;
        result = s->reach < 0 || s->reach > 1000 ? bad_input("found a side of %s", *word) : one_side(s, seconds);
    }
    return result;
}

/* ---- random boxes ----------------------------------------------------------------- */

/* A random box: its centre a few tokens away, its sides at least half a token. */
static void draw_box(real *box, size_t at, bool whole)
{
    for (size_t axis = 0; axis < 2; axis++) {
        double centre = 3 * random_normal(SEED, 0, 4 * at + axis);
        double half = 0.25 + 3 * fabs(random_normal(SEED, 0, 4 * at + 2 + axis));
        double low = centre - half, high = centre + half;
        if (whole) {
            low = floor(low) + 0.5;
            high = fmax(floor(high) + 0.5, low + 1);
        }
        box[axis] = (real)low;
        box[2 + axis] = (real)high;
    }
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
            sum += down * across * (double)s->in[c * s->N + m];
        }
        total += (double)s->mix[c * s->G + g] * sum / area;
    }
    return total;
}

/* The largest difference at some tokens of every channel, relative to the largest entry.  A sum along an axis has
 * `edge` terms. */
static status compare(const struct scene *s, double *largest_difference)
{
    double largest = 0, apart = 0, allowed = 8 * (double)s->edge * (double)REAL_EPSILON;
    for (size_t c = 0; c < s->C; c++)
        for (size_t n = c % SAMPLE; n < s->N; n += SAMPLE) {
            double y = expected(s, c, n);
            double d = fabs((double)s->out[c * s->N + n] - y);
            largest = fmax(largest, fabs(y));
            if (d > apart || isnan(d)) apart = d;
        }
    apart /= largest;
    if (!(apart <= allowed)) return failure("differs by %.2g, allowed %.2g; not timed", apart, allowed);
    *largest_difference = fmax(*largest_difference, apart);
    return status_ok();
}

static status measure_boxes(struct scene *s, bool whole, int repeats)
{
    static struct way way;
    const struct limits limit = {.least = repeats, .most = repeats, .seconds = HUGE_VAL};
    double apart = 0;
    status result = scene_create(s);
    if (result.code) return result;
    for (size_t at = 0; at < s->C * s->G; at++) draw_box(s->boxes + 4 * at, at, whole);
    random_fill_normal(s->mix, s->C * s->G, SEED, 1, 1 / sqrt((double)s->G));
    random_fill_normal(s->in, s->N * s->C, SEED, 2, 1);
    box_pool_load(&s->pool, s->boxes, s->mix);
    way = (struct way){.contestant.name = "pooling", .pool = pool_planes};
    way.pool(s);
    result = compare(s, &apart);
    if (!result.code) result = race(&way, 1, s, (double)s->N, &limit);
    if (!result.code) result = compare(s, &apart);
    if (result.code) return result;
    printf("#edges\tgrid\tchannels\tboxes\tthreads\trepeats\tmedian_seconds\tlargest_relative_difference\t"
           "multiply_adds\tparameters\n");
    printf("%s\t%zux%zu\t%zu\t%zu\t%d\t%d\t%.4g\t%.1e\t%zu\t%zu\n", whole ? "whole" : "fractional", s->edge, s->edge,
           s->C, s->G, s->threads, repeats, quartiles(&way.contestant).median, apart,
           s->N * s->C * s->G * (whole ? 1 : 6), 5 * s->C * s->G);
    return result;
}

static status read_boxes(struct scene *s, const char *const *word)
{
    size_t number[5];
    for (int n = 0; n < 5; n++) number[n] = strtoul(word[1 + n], NULL, 10);
    s->edge = number[0];
    s->C = number[1];
    s->G = number[2];
    s->threads = (int)number[3];
    if (!s->edge || !s->C || !s->G || s->threads < 1 || !number[4] || number[4] > RUNS)
        return bad_input("expected whole|fractional EDGE CHANNELS BOXES THREADS REPEATS");
    return measure_boxes(s, !strcmp(word[0], "whole"), (int)number[4]);
}

int main(int count, char **argv)
{
    const char *const *word = (const char *const *)argv + 1;
    struct scene s = {.reach = 0};
    status result = bad_input("expected SECONDS SIDE..., or EDGES EDGE CHANNELS BOXES THREADS REPEATS");
    if (count > 2 && strtod(*word, NULL) > 0) result = measure_sides(&s, word);
    else if (count == 7) result = read_boxes(&s, word);
    if (result.code) fprintf(stderr, "chopd-boxes: %s\n", result.message);
    arena_release(&s.arena);
    return result.code;
}
