/* tokens.c -- tokens of real images, for measurements and figures; see tokens.h
 *
 *     H, W  tokens down and across one frame
 *     p     pixels along a side of a patch */

#define _POSIX_C_SOURCE 200809L

#include "tokens.h"
#include <complex.h>
#include <errno.h>
#include <fftw3.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tgmath.h>
#include "../runtime/bytes.h"
#include "../runtime/linear.h"
#include "../runtime/random.h"

/* Streams of random.h: one for the projection, one per entry for noise. */
#define PROJECTION_STREAM 0x70726f6aULL
#define NOISE_STREAM 0x6e6f00000000ULL

/* Everything between the source and the tokens. */
struct scene {
    size_t H, W, p;
    size_t rows, columns;       /* of the canvas, in pixels */
    uint64_t seed;
    bool noise, picture;            /* otherwise it is an IDX file */
    struct image photo;
    struct image_set set;
    size_t first, down, across; /* mosaic: first image, and images each way */
    real *tile;                 /* mosaic: one image of the set */
    struct image canvas;
};

/* The sizes of the canvas of a grid, p pixels a token. */
static status measure_canvas(struct scene *scene, const grid *g, size_t patch)
{
    scene->p = patch ? patch : TOKEN_PATCH;
    if (scene->p > TOKEN_PATCH_MAX)
        return bad_input("patches of %zu pixels, expected at most %d", scene->p, TOKEN_PATCH_MAX);

    if (g->axes == 1) {
        scene->W = 1;
        while (scene->W * scene->W < g->tokens) scene->W++;
        scene->H = (g->tokens + scene->W - 1) / scene->W;
    } else {
        scene->H = g->size[g->axes - 2];
        scene->W = g->size[g->axes - 1];
    }

    size_t pixels, frames = g->axes == 3 ? g->size[0] : 1;
    scene->rows = scene->H * scene->p;
    scene->columns = scene->W * scene->p + TOKEN_PAN * (frames - 1);
    if (!size_multiply(&pixels, scene->rows, scene->columns) || pixels > INT_MAX)
        return bad_input("a canvas of %zu x %zu pixels, expected at most %d in all",
                         scene->rows, scene->columns, INT_MAX);
    return status_ok();
}

/* Fourier coefficients of a complex [rows][columns] plane.  Those of its real part are independent and normal too. */
static void draw_coefficients(FFTW(complex) *F, size_t rows, size_t columns, uint64_t seed, uint64_t stream)
{
    #pragma omp parallel for num_threads(default_threads())
    for (size_t u = 0; u < rows; u++)
    for (size_t v = 0; v < columns; v++) {
        size_t n = u * columns + v;
        double f_y = (double)(u < rows - u ? u : rows - u) / (double)rows;
        double f_x = (double)(v < columns - v ? v : columns - v) / (double)columns;
        double f = sqrt(f_y * f_y + f_x * f_x);
        double re = random_normal(seed, stream, 2 * n), im = random_normal(seed, stream, 2 * n + 1);
        F[n] = f > 0 ? (real)(re / f) + (real)(im / f) * I : 0;
    }
}

static status fill_with_noise(struct image *canvas, uint64_t seed, uint64_t stream)
{
    size_t rows = canvas->rows, columns = canvas->columns;
    FFTW(plan) plan = NULL;
    FFTW(complex) *plane = memory_get(rows * columns, sizeof *plane);
    if (plane) {
        #pragma omp critical(fftw_planner)
        plan = FFTW(plan_dft_2d)((int)rows, (int)columns, plane, plane, FFTW_BACKWARD, FFTW_ESTIMATE);
    }
    if (plan) {
        draw_coefficients(plane, rows, columns, seed, stream);
        FFTW(execute)(plan);
        for (size_t i = 0; i < rows * columns; i++) canvas->pixels[i] = creal(plane[i]);
        #pragma omp critical(fftw_planner)
        FFTW(destroy_plan)(plan);
    }
    memory_free(plane);
    return plan ? status_ok() : out_of_memory("noise");
}

/* Copy the tile to (y, x) of the canvas, as far as it lies within. */
static void paste(struct image *canvas, size_t y, size_t x, const real *tile, size_t rows, size_t columns)
{
    size_t width = columns < canvas->columns - x ? columns : canvas->columns - x;
    for (size_t j = 0; j < rows && y + j < canvas->rows; j++)
        memcpy(canvas->pixels + (y + j) * canvas->columns + x, tile + j * columns, width * sizeof *tile);
}

/* Entry b of the batch starts where entry b-1 stopped. */
static status fill_with_mosaic(struct scene *scene, size_t b)
{
    size_t count = scene->set.count, tiles = scene->down * scene->across;
    size_t start = (scene->first + b % count * (tiles % count)) % count;
    for (size_t t = 0; t < tiles; t++) {
        status s = image_set_read(scene->tile, &scene->set, (start + t) % count, 1);
        if (s.code) return s;
        paste(&scene->canvas, t / scene->across * scene->set.rows, t % scene->across * scene->set.columns,
              scene->tile, scene->set.rows, scene->set.columns);
    }
    return status_ok();
}

/* The canvas of entry b; a photo is fitted once and stays. */
static status fill_canvas(struct scene *scene, size_t b)
{
    if (scene->noise) return fill_with_noise(&scene->canvas, scene->seed, NOISE_STREAM + b);
    if (scene->set.stream) return fill_with_mosaic(scene, b);
    if (scene->canvas.pixels) return status_ok();
    return image_fit(&scene->canvas, &scene->photo, scene->rows, scene->columns);
}

static void close_scene(struct scene *scene)
{
    image_set_close(&scene->set);
    image_release(&scene->photo);
    image_release(&scene->canvas);
    memory_free(scene->tile);
}

static const char *path_of(const struct token_source *source)
{
    return source->path ? source->path : IMAGES_DEFAULT;
}

static status survey(struct scene *scene, const grid *g, const struct token_source *source)
{
    struct stat about;
    *scene = (struct scene){.seed = source->seed};
    status s = measure_canvas(scene, g, source->patch);
    if (s.code) return s;
    scene->noise = source->kind == TOKENS_NOISE
            || (source->kind == TOKENS_IMAGES_OR_NOISE && stat(path_of(source), &about) != 0 && errno == ENOENT);
    return scene->noise ? s : image_is_picture(&scene->picture, path_of(source));
}

static status open_file(struct scene *scene, const char *path, size_t first)
{
    status s = scene->picture ? image_read_picture(&scene->photo, path) : image_set_open(&scene->set, path);
    if (s.code) return s;

    size_t count = scene->picture ? 1 : scene->set.count;
    if (first >= count) return bad_input("%.60s: image %zu asked for, the file has %zu", path, first, count);
    if (scene->picture) return status_ok();
    scene->first = first;
    scene->down = (scene->rows + scene->set.rows - 1) / scene->set.rows;
    scene->across = (scene->columns + scene->set.columns - 1) / scene->set.columns;
    scene->tile = memory_reals(scene->set.rows, scene->set.columns, 1, 1);
    return scene->tile ? status_ok() : out_of_memory("an image");
}

/* Find the source and allocate; after an error nothing is left to close. */
static status open_scene(struct scene *scene, const grid *g, const struct token_source *source)
{
    status s = survey(scene, g, source);
    if (s.code) return s;
    if (!scene->noise) s = open_file(scene, path_of(source), source->first);
    if (!s.code && !scene->picture) s = image_create(&scene->canvas, scene->rows, scene->columns, 1);
    if (s.code) close_scene(scene);
    return s;
}

/* One line about the source, whatever bytes its path has. */
static void describe(char *origin, size_t size, const struct scene *scene, const struct token_source *source,
                     size_t batch)
{
    const char *path = path_of(source);
    bool standard = strcmp(path, IMAGES_DEFAULT) == 0;
    if (!origin || size == 0) return;

    if (scene->noise) {
        bool missed = source->kind != TOKENS_NOISE;
        snprintf(origin, size, "1/f noise of seed %llu, %zux%zu patches%s%s", (unsigned long long)scene->seed,
                 scene->p, scene->p, missed ? ": no images at " : "", missed ? path : "");
    } else if (scene->picture) {
        snprintf(origin, size, "%s, scaled to cover %zux%zu pixels, %zux%zu patches",
                 path, scene->rows, scene->columns, scene->p, scene->p);
    } else {
        double last = (double)scene->first + (double)batch * (double)(scene->down * scene->across) - 1;
        snprintf(origin, size, "images %zu ... %.0f%s of %s, mosaics of %zux%zu, %zux%zu patches", scene->first, last,
                 last < (double)scene->set.count ? "" : " (from 0 again after the last)",
                 standard ? "Fashion-MNIST (test)" : path, scene->down, scene->across, scene->p, scene->p);
    }
    status_one_line(origin);
}

static void cut_patch(real *patch, const struct scene *scene, size_t t, size_t y, size_t x)
{
    size_t colours = scene->canvas.channels, run = scene->p * colours;
    for (size_t j = 0; j < scene->p; j++)
        memcpy(patch + j * run, scene->canvas.pixels
               + ((y * scene->p + j) * scene->columns + x * scene->p + TOKEN_PAN * t) * colours, run * sizeof *patch);
}

/* One channel of x [N][channels] to mean 0 and variance 1.  A constant channel is zeros already, and stays so. */
static void standardise(real *x, size_t tokens, size_t channels)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < tokens; i++) mean += (double)x[i * channels] / (double)tokens;
    for (size_t i = 0; i < tokens; i++) {
        double d = (double)x[i * channels] - mean;
        variance += d * d / (double)tokens;
    }
    for (size_t i = 0; i < tokens; i++) {
        double d = (double)x[i * channels] - mean;
        x[i * channels] = variance > 0 ? (real)(d / sqrt(variance)) : 0;
    }
}

/* One entry of the batch, from its canvas.  The first patch is subtracted from all: the mean removes it anyway, and a
 * canvas of one colour gives zeros without rounding. */
static void make_entry(real *x, const grid *g, size_t channels, const struct scene *scene, real *patches,
                       const real *projection)
{
    size_t values = scene->p * scene->p * scene->canvas.channels;
    for (size_t i = 0; i < g->tokens; i++)
        cut_patch(patches + i * values, scene, i / (scene->H * scene->W), i / scene->W % scene->H, i % scene->W);
    for (size_t i = g->tokens; i-- > 0;)
        for (size_t k = 0; k < values; k++) patches[i * values + k] -= patches[k];
    linear_map(x, channels, patches, values, projection, NULL, g->tokens, values, channels);
    for (size_t c = 0; c < channels; c++) standardise(x + c, g->tokens, channels);
}

status tokens_bytes(size_t *bytes, const grid *g, size_t channels, const struct token_source *source)
{
    struct scene scene;
    status s = survey(&scene, g, source);
    if (s.code) return s;

    /* Noise needs its canvas and a complex plane. */
    size_t colours = scene.picture ? 3 : 1, values = scene.p * scene.p * colours;
    *bytes = 0;
    size_add(bytes, scene.rows * scene.columns, (scene.noise ? 3 : colours) * sizeof(real));
    size_add(bytes, g->tokens, values * sizeof(real));
    size_add(bytes, channels, values * sizeof(real));
    return s;
}

status tokens_make(real *x, size_t batch, const grid *g, size_t channels, const struct token_source *source,
                   char *origin, size_t size)
{
    struct scene scene;
    if (batch == 0 || channels == 0 || channels > INT_MAX)
        return bad_input("tokens of batch %zu and %zu channels, expected 1 ... %d", batch, channels, INT_MAX);

    /* The first canvas determines the number of colours. */
    status s = open_scene(&scene, g, source);
    if (s.code) return s;
    describe(origin, size, &scene, source, batch);
    s = fill_canvas(&scene, 0);
    size_t values = scene.p * scene.p * scene.canvas.channels;
    real *patches = memory_reals(g->tokens, values, 1, 1), *projection = memory_reals(channels, values, 1, 1);
    if (!s.code && (!patches || !projection)) s = out_of_memory("tokens");

    /* One projection for all entries; its rows have an expected square norm of 1. */
    if (!s.code)
        random_fill_normal(projection, channels * values, scene.seed, PROJECTION_STREAM, 1 / sqrt((double)values));
    for (size_t b = 0; !s.code && b < batch; b++) {
        if (b > 0) s = fill_canvas(&scene, b);
        if (!s.code) make_entry(x + b * g->tokens * channels, g, channels, &scene, patches, projection);
    }
    memory_free(patches);
    memory_free(projection);
    close_scene(&scene);
    return s;
}
