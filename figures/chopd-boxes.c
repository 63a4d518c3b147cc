/* chopd-boxes.c -- seconds of pooling against the size of the box
 *
 *     build/figures/chopd-boxes SECONDS SIDE...
 *
 * Means over one box of SIDE x SIDE tokens around every token of 96 planes of
 * 56 x 56, one thread, four ways:
 *
 *     direct      all tokens of the box are added, as an average pooling does
 *     axes        the same along one axis, and then along the other
 *     whole       fast/chopd/box_pool.h, edges between tokens
 *     fractional  the same with a box a quarter larger on every side: edges in tokens
 *
 * Loops of direct and axes run along x innermost, where the compiler makes
 * vectors of them, and leave out what is off the grid.  The first three compute the
 * same, and are compared with each other first.  One row a way and side: the median and the quartiles of as
 * many runs as fit into SECONDS, at least three. */

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../fast/chopd/box_pool.h"
#include "../reference/random.h"
#include "quantile.h"

enum { EDGE = 56, TOKENS = EDGE * EDGE, PLANES = 96, SEED = 7, LEAST = 3, MOST = 200 };

struct scene {
    struct room room;
    struct box_pool pool;
    ptrdiff_t reach;            /* tokens of the box beyond the middle */
    real *in, *out, *other;     /* [PLANES][TOKENS] */
};

typedef void way(const struct scene *s);

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static ptrdiff_t most(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* to [x] += from [x + shift], where that is on the grid. */
static void add_shifted(real *to, const real *from, ptrdiff_t shift)
{
    ptrdiff_t end = least(EDGE, EDGE - shift);
    for (ptrdiff_t x = most(0, -shift); x < end; x++) to[x] += from[x + shift];
}

static void scale(real *plane, ptrdiff_t reach)
{
    real over = 1 / ((real)(2 * reach + 1) * (real)(2 * reach + 1));
    for (size_t n = 0; n < TOKENS; n++) plane[n] *= over;
}

static void direct(const struct scene *s)
{
    ptrdiff_t reach = s->reach, far = least(reach, EDGE - 1);
    for (size_t p = 0; p < PLANES; p++) {
        const real *in = s->in + p * TOKENS;
        real *out = s->out + p * TOKENS;
        memset(out, 0, TOKENS * sizeof *out);
        for (ptrdiff_t y = 0; y < EDGE; y++)
            for (ptrdiff_t m = most(0, y - reach); m <= least(EDGE - 1, y + reach); m++)
                for (ptrdiff_t shift = -far; shift <= far; shift++) add_shifted(out + y * EDGE, in + m * EDGE, shift);
        scale(out, reach);
    }
}

static void axes(const struct scene *s)
{
    static real across[TOKENS];
    ptrdiff_t reach = s->reach, far = least(reach, EDGE - 1);
    for (size_t p = 0; p < PLANES; p++) {
        const real *in = s->in + p * TOKENS;
        real *out = s->out + p * TOKENS;
        memset(across, 0, sizeof across);
        memset(out, 0, TOKENS * sizeof *out);
        for (ptrdiff_t y = 0; y < EDGE; y++)
            for (ptrdiff_t shift = -far; shift <= far; shift++) add_shifted(across + y * EDGE, in + y * EDGE, shift);
        for (ptrdiff_t y = 0; y < EDGE; y++)
            for (ptrdiff_t m = most(0, y - reach); m <= least(EDGE - 1, y + reach); m++)
                add_shifted(out + y * EDGE, across + m * EDGE, 0);
        scale(out, reach);
    }
}

static void sums(const struct scene *s)
{
    box_pool_clear(&s->pool, &s->room, 0);
    for (size_t p = 0; p < PLANES; p++)
        box_pool_plane(&s->pool, p, s->out + p * TOKENS, s->in + p * TOKENS, NULL, &s->room, 0);
}

/* ---- the clock ---------------------------------------------------------------- */

static void measure(const struct scene *s, way *run, const char *name, double limit)
{
    double seconds[MOST], spent = 0;
    int runs = 0;
    run(s);
    while (runs < LEAST || (runs < MOST && spent < limit)) {
        double start = omp_get_wtime();
        run(s);
        spent += seconds[runs++] = omp_get_wtime() - start;
    }
    quantile_sort(seconds, (size_t)runs);
    printf("%s\t%d\t%.4g\t%d\t%.4g\t%.4g\n", name, (int)(2 * s->reach + 1), quantile(seconds, (size_t)runs, 0.5),
           runs, quantile(seconds, (size_t)runs, 0.25), quantile(seconds, (size_t)runs, 0.75));
    fflush(stdout);
}

/* All planes get one box, `more` tokens larger on each side than s->reach says. */
static void place(struct scene *s, double more)
{
    real boxes[PLANES * 4], ones[PLANES], side = (real)((double)s->reach + 0.5 + more);
    for (size_t p = 0; p < PLANES; p++) {
        boxes[4 * p] = boxes[4 * p + 1] = -side;
        boxes[4 * p + 2] = boxes[4 * p + 3] = side;
        ones[p] = 1;
    }
    box_pool_load(&s->pool, boxes, ones);
}

/* Largest difference over the largest mean: sums of as many terms as a box has
 * tokens, or as an axis has. */
static status compare(const struct scene *s)
{
    double apart = 0, largest = 0, side = fmin(2 * (double)s->reach + 1, EDGE);
    for (size_t n = 0; n < PLANES * TOKENS; n++) {
        double d = fabs((double)s->out[n] - (double)s->other[n]), size = fabs((double)s->other[n]);
        if (d > apart || isnan(d)) apart = d;
        if (size > largest) largest = size;
    }
    double allowed = (side * side + EDGE) * (double)REAL_EPSILON;
    if (apart <= allowed * largest) return status_ok();
    return failure("sides of %g: differ by %.2g, allowed %.2g", side, apart / largest, allowed);
}

static status one_side(struct scene *s, double limit)
{
    place(s, 0);
    direct(s);
    memcpy(s->other, s->out, PLANES * TOKENS * sizeof *s->out);
    axes(s);
    status result = compare(s);
    if (result.code) return result;
    sums(s);
    result = compare(s);
    if (result.code) return result;
    measure(s, direct, "direct", limit);
    measure(s, axes, "axes", limit);
    measure(s, sums, "whole", limit);
    place(s, 0.25);
    measure(s, sums, "fractional", limit);
    return result;
}

static status scene_create(struct scene *s)
{
    s->room = room_open(1);
    box_pool_prepare(&s->pool, &s->room, EDGE, EDGE, PLANES, 1);
    room_reals(&s->room, OF_LOAD, &s->in, "the planes", PLANES, TOKENS, 1, 1);
    room_reals(&s->room, OF_LOAD, &s->out, "the planes", PLANES, TOKENS, 1, 1);
    room_reals(&s->room, OF_LOAD, &s->other, "the planes", PLANES, TOKENS, 1, 1);
    return room_place(&s->room, NULL);
}

int main(int count, char **word)
{
    struct scene s = {0};
    double limit = count > 2 ? strtod(word[1], NULL) : 0;
    status result = limit > 0 ? scene_create(&s) : bad_input("expected SECONDS SIDE..., sides odd");
    if (!result.code) {
        random_fill_uniform(s.in, PLANES * TOKENS, SEED, 0, 0, 1);
        printf("#way\tside\tmedian_seconds\truns\tlower_quartile\tupper_quartile\n");
    }
    for (int w = 2; w < count && !result.code; w++) {
        s.reach = strtol(word[w], NULL, 10) / 2;
        result = s.reach < 0 || s.reach > 1000 ? bad_input("found a side of %s", word[w]) : one_side(&s, limit);
    }
    if (result.code) fprintf(stderr, "chopd-boxes: %s\n", result.message);
    room_release(&s.room);
    return result.code;
}
