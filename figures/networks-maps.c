/* networks-maps.c -- a picture on its way through two networks
 *
 *     build/figures/networks-maps
 *
 * One picture of the test set (picture.h) enters LITv2-S, enlarged to 224 x 224 and with random weights, since
 * trained ones are not ours to give; and the tiny network of HiLo that tests/pytorch/train.py trains
 * (reference/networks/learned.c), as it is.  At some stations the run is stopped and x is looked at: of the
 * three channels that vary most over the plane each a matrix, its mean taken off, in percent of its largest
 * magnitude.  Of the tiny network also what it answers: each class with its share by softmax, and the right one.
 *
 * The comments say how large each station's plane is. */

#include "../reference/layers/layers.h"
#include "../reference/networks/photo.h"
#include "learned.h"

enum { PHOTO = 224, SHOWN = 3, PICTURE = 28, CLASSES = 10 };

static const char *const big[] = {
    "stage1.embed_norm", "stage1.block2.mlp", "stage2.deform", "stage2.block2.mlp", "stage3.deform",
    "stage3.block6.mlp", "stage4.deform", "stage4.block2.mlp", NULL};
static const char *const tiny[] = {
    "stage1.embed", "stage1.position", "stage1.block1.mixer", "stage1.block1.mlp", "stage1.block2.mixer",
    "stage1.block2.mlp", NULL};
static const char *const name[CLASSES] = {
    "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"};

/* The variance of channel c of x [tokens][channels], and its mean. */
static double variance_of(double *mean, const real *x, size_t tokens, size_t channels, size_t c)
{
    double sum = 0, squares = 0;
    for (size_t n = 0; n < tokens; n++) sum += (double)x[n * channels + c];
    *mean = sum / (double)tokens;
    for (size_t n = 0; n < tokens; n++) squares += pow((double)x[n * channels + c] - *mean, 2);
    return squares / (double)tokens;
}

/* The channel that varies most of those that vary less than `below`. */
static size_t next_channel(double *below, const real *x, size_t tokens, size_t channels)
{
    double best = -1, mean;
    size_t found = 0;
    for (size_t c = 0; c < channels; c++) {
        double variance = variance_of(&mean, x, tokens, channels, c);
        if (variance < *below && variance > best) best = variance, found = c;
    }
    *below = best;
    return found;
}

static void print_percent(const char *title, const real *map, size_t rows, size_t columns)
{
    double most = learned_largest(map, rows * columns);
    printf("# %s\n", title);
    for (size_t i = 0; i < rows * columns; i++)
        printf("%.0f%c", 100 * (double)map[i] / (most > 0 ? most : 1), (i + 1) % columns ? '\t' : '\n');
    printf("\n\n");
}

/* x of an image as it is behind a step. */
static status print_station(struct network *n, const char *kind, int number, const char *path, const real *pixels,
                            real *scratch)
{
    size_t parts = n->parts, p = 0, size[TENSOR_AXES];
    int axes;
    while (strcmp(n->part[p].path, path)) p++;
    n->parts = p + 1;
    status s = network_run(n, scratch, pixels, NULL);
    n->parts = parts;
    if (!s.code) s = problem_output_shape(&n->part[p].problem, &axes, size);
    if (s.code) return s;
    grid g = layer_grid(&n->part[p].problem);
    double below = INFINITY, mean;
    printf("# %s %d: %s, %zu x %zu tokens of %zu channels\n", kind, number, path, g.size[0], g.size[1], size[2]);
    for (int shown = 0; shown < SHOWN; shown++) {
        char title[40];
        size_t c = next_channel(&below, n->x, size[1], size[2]);
        variance_of(&mean, n->x, size[1], size[2], c);
        for (size_t t = 0; t < size[1]; t++) scratch[t] = (real)((double)n->x[t * size[2] + c] - mean);
        snprintf(title, sizeof title, "%s %d %d", kind, number, shown);
        print_percent(title, scratch, g.size[0], g.size[1]);
    }
    return s;
}

static status print_stations(struct network *n, const char *kind, const char *const *path, const real *pixels)
{
    real *scratch = memory_reals(n->activations, 1, 1, 1);
    status s = scratch ? status_ok() : out_of_memory("what a station holds");
    for (int i = 0; path[i] && !s.code; i++) s = print_station(n, kind, i, path[i], pixels, scratch);
    memory_free(scratch);
    return s;
}

/* LITv2-S, its weights drawn, on the enlarged picture. */
static status through_litv2(const real *picture_of)
{
    struct image im = {0};
    struct network n;
    static real pixels[PHOTO * PHOTO * 3];
    status s = image_create(&im, EDGE, EDGE, 1);
    if (!s.code) memcpy(im.pixels, picture_of, TOKENS * sizeof *im.pixels);
    if (!s.code) s = photo_prepare(pixels, &im, &network_find("litv2-s")->photo, PHOTO, PHOTO);
    image_release(&im);
    if (!s.code) s = network_create(&n, network_find("litv2-s"), &(struct network_request){.threads = 2});
    if (s.code) return s;
    s = network_draw(&n, SEED);
    if (!s.code) s = network_place(&n);
    if (!s.code) s = print_stations(&n, "litv2", big, pixels);
    network_release(&n);
    return s;
}

/* The tiny network, trained; and what it answers. */
static status through_learned(const real *pixels)
{
    struct learned l;
    real logits[CLASSES];
    double sum = 0;
    status s = learned_open(&l, "hilo", 1, true);
    if (s.code) return s;
    s = print_stations(&l.network, "learned", tiny, pixels);
    if (!s.code) s = network_run(&l.network, logits, pixels, NULL);
    learned_close(&l);
    if (s.code) return s;
    for (int c = 0; c < CLASSES; c++) sum += exp((double)logits[c]);
    printf("# answers\n");
    for (int c = 0; c < CLASSES; c++) printf("%d\t%.4f\t%s\n", c, exp((double)logits[c]) / sum, name[c]);
    printf("\n\n");
    return s;
}

int main(void)
{
    static real pixels[TOKENS];
    const char *origin = "";
    status s = picture(pixels, PICTURE, &origin);
    if (!s.code) {
        printf("# networks-maps: image %d of %s, through LITv2-S with random weights and a tiny trained HiLo\n",
               PICTURE, origin);
        learned_print("image", pixels, EDGE, EDGE, 0);
        s = through_litv2(pixels);
    }
    if (!s.code) s = through_learned(pixels);
    if (s.code) fprintf(stderr, "networks-maps: %s\n", s.message);
    return s.code;
}
