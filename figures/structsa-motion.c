/* structsa-motion.c -- dynamic kernels that see which way a thing moves
 *
 *     build/figures/structsa-motion
 *
 * In the manner of StructSA's Fig. 3, but nothing here is trained.  In a video
 * of 5 frames of 14 x 20 tokens one picture moves to the right, one token a
 * frame; played backwards it moves to the left.  A pixel's 3 x 3 neighbourhood
 * in its frame, less the video's mean and brought to length 1, is query, key
 * and value.  The query is one spot of the picture in the middle frame, which is
 * the same frame both ways.
 *
 * Windows are 5 frames x 3 rows x 5 columns.  D = 2 detectors are made by hand,
 * one for each way: positive on the path of a thing that moves so, negative
 * beside it, and nothing in sum in any frame.  The aggregator of the right is its
 * detector, that of the left its detector negated: had it not the other sign, the
 * two patterns would be mirror images, and the outputs the same both ways.
 * Self-attention is StructSA with a window of one token.
 *
 * For either way the comments say how a_iid is shared among the patterns, and
 * what self-attention has in place of a kernel; at the end, how the two outputs
 * y compare.  The matrices are the frames, forwards, and slices of windows
 * through their middle row, frames downwards: the detectors, the similarity around
 * the query, the kernels kappa_ii over their largest magnitude. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../naive/structsa.h"
#include "../reference/instruments/images.h"

enum {
    FRAMES = 5, ROWS = 14, COLUMNS = 20, FRAME = ROWS * COLUMNS, TOKENS = FRAMES * FRAME,
    SEEN = 9,                           /* channels */
    LONG = 5, HIGH = 3, WIDE = 5, M = LONG * HIGH * WIDE,
    PICTURE = 28,                       /* of the data set: a boot */
    THING = 14,                         /* its size in the video */
    QUERY = 2 * FRAME + 5 * COLUMNS + 9,
    RIGHT = 0, LEFT = 1, D = 2          /* forwards it moves right, backwards left */
};

static const double scale = 12;         /* multiplies q */
static const char *const way[D] = {"right", "left"};

/* video [FRAMES][ROWS][COLUMNS] from picture [THING][THING]. */
static void film(real *video, const real *picture, int direction)
{
    memset(video, 0, TOKENS * sizeof *video);
    for (size_t frame = 0; frame < FRAMES; frame++) {
        size_t column = 1 + (direction == RIGHT ? frame : FRAMES - 1 - frame);
        for (size_t row = 0; row < THING; row++)
            memcpy(video + frame * FRAME + row * COLUMNS + column, picture + row * THING, THING * sizeof *video);
    }
}

/* x [N][SEEN]: the 3 x 3 neighbourhood less the mean, zero outside the frame,
 * to length 1. */
static void see(real *x, const real *video)
{
    double mean = 0;
    for (size_t i = 0; i < TOKENS; i++) mean += (double)video[i] / TOKENS;
    for (size_t i = 0; i < TOKENS; i++) {
        const real *frame = video + i / FRAME * FRAME;
        double squares = 0, seen[SEEN];
        for (size_t m = 0; m < SEEN; m++) {
            size_t row = i % FRAME / COLUMNS + m / 3, column = i % COLUMNS + m % 3;   /* one more than the pixel's */
            bool inside = row >= 1 && row <= ROWS && column >= 1 && column <= COLUMNS;
            seen[m] = (inside ? (double)frame[(row - 1) * COLUMNS + column - 1] : 0) - mean;
            squares += seen[m] * seen[m];
        }
        for (size_t m = 0; m < SEEN; m++) x[i * SEEN + m] = squares > 0 ? (real)(seen[m] / sqrt(squares)) : 0;
    }
}

/* hk, hv [D][M]: the path of one token a frame, the middle row twice as heavy
 * as its neighbours, over the sum of magnitudes. */
static void draw_by_hand(real *hk, real *hv)
{
    for (int m = 0; m < M; m++) {
        int t = m / (HIGH * WIDE) - LONG / 2, y = m / WIDE % HIGH - HIGH / 2, x = m % WIDE - WIDE / 2;
        double unit = (y ? 1 : 2) / (double)(LONG * (HIGH + 1) * 2 * (WIDE - 1));
        hk[RIGHT * M + m] = (real)(unit * (x == t ? WIDE - 1 : -1));
        hk[LEFT * M + m] = (real)(unit * (x == -t ? WIDE - 1 : -1));
        hv[RIGHT * M + m] = hk[RIGHT * M + m];
        hv[LEFT * M + m] = -hk[LEFT * M + m];
    }
}

/* The slice of a window [LONG][HIGH][WIDE] through its middle row, over unit. */
static void print_slice(const char *name, int direction, const real *window, double unit)
{
    printf("# %s %s\n", name, way[direction]);
    for (size_t t = 0; t < LONG; t++)
        for (size_t x = 0; x < WIDE; x++)
            printf("%.3f%c", (double)window[(t * HIGH + HIGH / 2) * WIDE + x] / unit, x + 1 < WIDE ? '\t' : '\n');
    printf("\n\n");
}

static double largest(const real *a, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs((double)a[i]) > most) most = fabs((double)a[i]);
    return most;
}

/* y [SEEN], the output of the query: the values, by the merged map. */
static void gather(real *y, const real *merged, const real *v)
{
    for (size_t ch = 0; ch < SEEN; ch++) {
        double sum = 0;
        for (size_t n = 0; n < TOKENS; n++) sum += (double)merged[n] * (double)v[n * SEEN + ch];
        y[ch] = (real)sum;
    }
}

/* What the query sees of its own surroundings, i = j: the shares a_ii of the
 * patterns, the window of the map, the kernel. */
static void print_self(const real *a_ii, const real *window, const real *kernel, size_t entries, int direction)
{
    if (entries == 1) {
        printf("# weight of the query itself, %s: %.6f\n", way[direction], (double)kernel[0]);
        return;
    }
    printf("# shares of right and left, %s: %.3f %.3f\n", way[direction],
           (double)(a_ii[RIGHT] / (a_ii[RIGHT] + a_ii[LEFT])), (double)(a_ii[LEFT] / (a_ii[RIGHT] + a_ii[LEFT])));
    print_slice("similarity", direction, window, scale);
    print_slice("kernel", direction, kernel, largest(kernel, entries));
}

/* y = the output of the query, for tokens x of one video; StructSA, or without
 * filters self-attention. */
static status operate(real *y, const real *x, const real *hk, const real *hv, int direction)
{
    static const size_t video[3] = {FRAMES, ROWS, COLUMNS};
    static const size_t around[3] = {LONG, HIGH, WIDE}, itself[3] = {1, 1, 1};
    static const real one[1] = {1};
    size_t entries = hk ? M : 1, patterns = hk ? D : 1;
    const struct structsa_problem p = {
        .N = TOKENS, .c = SEEN, .D = patterns, .J = TOKENS, .M = entries, .Mv = entries, .columns = 1,
    };
    struct neighbours windows;
    struct room room = room_open(1);
    real *q, *map, *unfolded, *a_i, *kernels, *merged;
    grid tokens, window;

    /* Step 1: room for all that the hearts make. */
    status s = grid_create(&tokens, 3, video);
    if (!s.code) s = grid_create(&window, 3, hk ? around : itself);
    if (s.code) return s;
    neighbours_prepare(&windows, &room, &tokens, &window, NULL, 1);
    room_reals(&room, OF_RUN, &q, "the queries", TOKENS, SEEN, 1, 1);
    room_reals(&room, OF_RUN, &map, "the map", TOKENS, TOKENS, 1, 1);
    room_reals(&room, OF_RUN, &unfolded, "the windows of the query", TOKENS, entries, 1, 1);
    room_reals(&room, OF_RUN, &a_i, "the attention of the query", TOKENS, patterns, 1, 1);
    room_reals(&room, OF_RUN, &kernels, "the kernels of the query", TOKENS, entries, 1, 1);
    room_reals(&room, OF_RUN, &merged, "a merged map", TOKENS, 1, 1, 1);
    s = room_place(&room, NULL);
    if (s.code) return s;
    neighbours_load(&windows);

    /* Step 2: the equations, for one query. */
    for (size_t ic = 0; ic < TOKENS * SEEN; ic++) q[ic] = (real)scale * x[ic];
    structsa_naive_correlate(map, q, x, &p);
    structsa_naive_unfold(unfolded, map + (size_t)QUERY * TOKENS, 1, &windows);
    structsa_naive_attend(a_i, unfolded, hk ? hk : one, &p);
    structsa_naive_kernels(kernels, a_i, hk ? hv : one, &p);
    structsa_naive_merge(merged, kernels, &windows, &p);
    gather(y, merged, x);

    /* Step 3: what there is to see. */
    print_self(a_i + QUERY * patterns, unfolded + QUERY * entries, kernels + QUERY * entries, entries, direction);
    room_release(&room);
    return status_ok();
}

/* || y_right - sign y_left || over || y_right ||. */
static double apart(const real *right, const real *left, double sign)
{
    double difference = 0, length = 0;
    for (size_t ch = 0; ch < SEEN; ch++) {
        double a = (double)right[ch], b = sign * (double)left[ch];
        difference += (a - b) * (a - b);
        length += a * a;
    }
    return sqrt(difference / length);
}

/* The picture, or without the data set a disc, the query on its edge. */
static status picture(struct image *small, const char **origin)
{
    struct image_set set;
    struct image whole = {0};
    status s = image_set_open(&set, IMAGES_DEFAULT);
    *origin = "Fashion-MNIST (test)";
    if (!s.code) {
        s = image_create(&whole, set.rows, set.columns, 1);
        if (!s.code) s = image_set_read(whole.pixels, &set, PICTURE, 1);
        if (!s.code) s = image_fit(small, &whole, THING, THING);
        image_release(&whole);
        image_set_close(&set);
        return s;
    }
    *origin = "a disc, for want of the data set";
    if ((s = image_create(small, THING, THING, 1)).code) return s;
    for (size_t i = 0; i < THING * THING; i++)
        small->pixels[i] = hypot((double)(i / THING) - 6, (double)(i % THING) - 10) < 3.6;
    return status_ok();
}

static void print_head(const real *hk, const char *origin)
{
    printf("# structsa_motion: a video of image %d of %s; nothing is trained\n", PICTURE, origin);
    printf("# scale: %g\n", scale);
    printf("# query (frame, row, column): %d %d %d\n", QUERY / FRAME, QUERY % FRAME / COLUMNS, QUERY % COLUMNS);
    for (int d = 0; d < D; d++) print_slice("detector", d, hk + d * M, largest(hk + d * M, M));
}

static void print_video(const real *video)
{
    for (size_t i = 0; i < TOKENS; i++) {
        if (i % FRAME == 0) printf("# frame %zu\n", i / FRAME);
        printf("%.3f%c", (double)video[i], (i + 1) % COLUMNS ? '\t' : '\n');
        if ((i + 1) % FRAME == 0) printf("\n\n");
    }
}

int main(void)
{
    struct image small = {0};
    const char *origin = "";
    real *video = memory_reals(TOKENS, 1, 1, 1), *x = memory_reals(TOKENS, SEEN, 1, 1);
    real hk[D * M], hv[D * M], attended[D][SEEN], structured[D][SEEN];
    status s = video && x ? picture(&small, &origin) : out_of_memory("tokens");

    draw_by_hand(hk, hv);
    if (!s.code) print_head(hk, origin);
    for (int direction = 0; direction < D && !s.code; direction++) {
        film(video, small.pixels, direction);
        see(x, video);
        if (direction == RIGHT) print_video(video);
        s = operate(attended[direction], x, NULL, NULL, direction);
        if (!s.code) s = operate(structured[direction], x, hk, hv, direction);
    }
    if (!s.code) {
        printf("# self-attention, y right - y left: %.2g of y\n", apart(attended[RIGHT], attended[LEFT], 1));
        printf("# StructSA, y right - y left: %.2g of y\n", apart(structured[RIGHT], structured[LEFT], 1));
        printf("# StructSA, y right + y left: %.2g of y\n", apart(structured[RIGHT], structured[LEFT], -1));
    }
    if (s.code) fprintf(stderr, "structsa-motion: %s\n", s.message);
    image_release(&small);
    memory_free(x);
    memory_free(video);
    return s.code;
}
