/* chopd-error.c -- rounding errors of a mean over a box
 *
 *     build/figures/chopd-error EDGE...
 *
 * Means over boxes of 1, 3 and 9 tokens a side and of half the grid, on EDGE x
 * EDGE tokens drawn between 0 and 1, three ways:
 *
 *     float      an integral image, four corners of it, all in float
 *     double     the same in double, the mean rounded to float
 *     axes       fast/chopd/box_pool.h: one axis after the other, in reals
 *
 * against the sum over the box in double, at some tokens whose boxes lie on the
 * grid.  One row a way, side and grid: the root mean square of the differences
 * over that of the means.  In the build for double, axes are in double; what is
 * drawn is the build for float. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "../fast/chopd/box_pool.h"
#include "../reference/random.h"

enum { SEED = 8, SAMPLES = 1000, HALF = 0 };

struct scene {
    struct room room;
    struct box_pool pool;
    size_t edge;
    real *x, *pooled;           /* [edge][edge] */
    float *single;              /* integral images, [edge + 1][edge + 1] */
    double *twice;
};

/* Sums of all above and to the left, a row at a time. */
static void integrate(const struct scene *s)
{
    size_t line = s->edge + 1;
    for (size_t i = 0; i < line; i++) s->single[i] = 0, s->twice[i] = 0;
    for (size_t y = 0; y < s->edge; y++) {
        float single = 0;
        double twice = 0;
        s->single[(y + 1) * line] = 0;
        s->twice[(y + 1) * line] = 0;
        for (size_t x = 0; x < s->edge; x++) {
            single += (float)s->x[y * s->edge + x];
            twice += (double)s->x[y * s->edge + x];
            s->single[(y + 1) * line + x + 1] = s->single[y * line + x + 1] + single;
            s->twice[(y + 1) * line + x + 1] = s->twice[y * line + x + 1] + twice;
        }
    }
}

/* s->pooled: means over boxes of side x side around the token, by box_pool. */
static void pool(struct scene *s, size_t side)
{
    real half = (real)side / 2, one = 1, box[4] = {-half, -half, half, half};
    box_pool_load(&s->pool, box, &one);
    box_pool_clear(&s->pool, &s->room, 0);
    box_pool_plane(&s->pool, 0, s->pooled, s->x, NULL, &s->room, 0);
}

/* Sum over side x side tokens from (y, x) on. */
static double direct(const struct scene *s, size_t y, size_t x, size_t side)
{
    double sum = 0;
    for (size_t i = y; i < y + side; i++)
        for (size_t j = x; j < x + side; j++) sum += (double)s->x[i * s->edge + j];
    return sum;
}

static void rows(struct scene *s, size_t side, const char *name)
{
    double square = 0, single = 0, twice = 0, axes = 0, area = (double)(side * side);
    size_t line = s->edge + 1, places = s->edge - side + 1;
    pool(s, side);
    for (size_t k = 0; k < SAMPLES; k++) {
        size_t y = (size_t)(random_uniform(SEED, 1, 2 * k) * (double)places);
        size_t x = (size_t)(random_uniform(SEED, 1, 2 * k + 1) * (double)places);
        size_t a = y * line + x, b = a + side, c = a + side * line, d = c + side;
        double mean = direct(s, y, x, side) / area;
        float of_single = (s->single[d] - s->single[b] - s->single[c] + s->single[a]) / (float)area;
        float of_twice = (float)((s->twice[d] - s->twice[b] - s->twice[c] + s->twice[a]) / area);
        double of_axes = (double)s->pooled[(y + side / 2) * s->edge + x + side / 2];
        square += mean * mean;
        single += ((double)of_single - mean) * ((double)of_single - mean);
        twice += ((double)of_twice - mean) * ((double)of_twice - mean);
        axes += (of_axes - mean) * (of_axes - mean);
    }
    printf("float\t%s\t%zu\t%.3g\n", name, s->edge, sqrt(single / square));
    printf("double\t%s\t%zu\t%.3g\n", name, s->edge, sqrt(twice / square));
    printf("axes\t%s\t%zu\t%.3g\n", name, s->edge, sqrt(axes / square));
}

static status one_grid(size_t edge)
{
    static const struct { size_t side; const char *name; } box[] = {{1, "1"}, {3, "3"}, {9, "9"}, {HALF, "half"}};
    struct scene s = {.room = room_open(1), .edge = edge};
    box_pool_prepare(&s.pool, &s.room, edge, edge, 1, 1);
    room_reals(&s.room, OF_LOAD, &s.x, "the plane", edge, edge, 1, 1);
    room_reals(&s.room, OF_LOAD, &s.pooled, "the means", edge, edge, 1, 1);
    room_objects(&s.room, OF_LOAD, &s.single, "an integral image", edge + 1, edge + 1, sizeof *s.single);
    room_objects(&s.room, OF_LOAD, &s.twice, "an integral image", edge + 1, edge + 1, sizeof *s.twice);
    status result = room_place(&s.room, NULL);
    if (result.code) return result;
    random_fill_uniform(s.x, edge * edge, SEED, 0, 0, 1);
    integrate(&s);
    for (size_t b = 0; b < sizeof box / sizeof *box; b++) {
        size_t side = box[b].side == HALF ? edge / 2 - 1 + edge / 2 % 2 : box[b].side;
        if (side <= edge) rows(&s, side, box[b].name);
    }
    room_release(&s.room);
    return result;
}

int main(int count, char **word)
{
    status result = count > 1 ? status_ok() : bad_input("expected EDGE...");
    printf("#way\tside\tedge\terror\n");
    for (int w = 1; w < count && !result.code; w++) {
        size_t edge = strtoul(word[w], NULL, 10);
        if (edge < 4 || edge > 4096) result = bad_input("found a grid of %s, expected 4 to 4096", word[w]);
        else result = one_grid(edge);
    }
    if (result.code) fprintf(stderr, "chopd-error: %s\n", result.message);
    return result.code;
}
