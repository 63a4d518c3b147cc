/* test_images.c -- scaling, tokens, noise, damaged files, memory; test_image_files.py tests file formats */

#define _XOPEN_SOURCE 700       /* mkdtemp */

#include <zlib.h>
#include "../support/folder.h"
#include "../../reference/runtime/random.h"
#include "../../reference/io/tokens.h"

#define COUNT_IN_SET 7
#define ROWS 5
#define COLUMNS 6
#define IDX_SIZE (16 + COUNT_IN_SET * ROWS * COLUMNS)

/* A valid IDX file of 7 images of 5 x 6, and one more byte. */
static const unsigned char *idx(void)
{
    static unsigned char bytes[IDX_SIZE + 1] = {0, 0, 8, 3, 0, 0, 0, COUNT_IN_SET, 0, 0, 0, ROWS, 0, 0, 0, COLUMNS};
    for (size_t i = 16; i < IDX_SIZE; i++) bytes[i] = (unsigned char)random_bits(1, 0, i);
    return bytes;
}

static void write_gzip(const char *path, const unsigned char *bytes, size_t count)
{
    gzFile f = gzopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(gzwrite(f, bytes, (unsigned)count), (int)count);
    ck_assert_int_eq(gzclose(f), Z_OK);
}

TESTS(any_images_of_a_set_are_read, 2)
{
    static const struct { size_t first, count; } right[] = {{0, 1}, {6, 1}, {2, 3}, {0, 7}, {7, 0}, {1, 1}},
                                                 beyond[] = {{7, 1}, {0, 8}, {8, 0}, {3, SIZE_MAX}};
    enum { SIZE = ROWS * COLUMNS };
    const unsigned char *bytes = idx();
    real pixels[IDX_SIZE];
    struct image_set set;
    if (_i) write_gzip("set", bytes, IDX_SIZE);
    else file_write("set", bytes, IDX_SIZE);
    succeeds(image_set_open(&set, "set"));
    ck_assert(set.count == COUNT_IN_SET && set.rows == ROWS && set.columns == COLUMNS);
    for (size_t r = 0; r < COUNT(right); r++) {
        succeeds(image_set_read(pixels, &set, right[r].first, right[r].count));
        for (size_t i = 0; i < right[r].count * SIZE; i++)
            ck_assert(pixels[i] == (real)bytes[16 + right[r].first * SIZE + i] / 255);
    }
    for (size_t r = 0; r < COUNT(beyond); r++)
        rejected(image_set_read(pixels, &set, beyond[r].first, beyond[r].count), STATUS_BAD_INPUT, "the file has 7");
    image_set_close(&set);
    image_set_close(&set);
}

TEST(truncated_sets_are_rejected)
{
    struct image_set set;
    for (size_t length = 0; length <= IDX_SIZE + 1; length++) {
        file_write("set", idx(), length);
        status s = image_set_open(&set, "set");
        if (length == IDX_SIZE) succeeds(s);
        else rejected(s, STATUS_BAD_INPUT, length < 16 ? "expected an IDX header" : "bytes");
        image_set_close(&set);
    }
}

static struct image random_image(uint64_t seed, size_t rows, size_t columns, size_t channels)
{
    struct image im;
    succeeds(image_create(&im, rows, columns, channels));
    for (size_t i = 0; i < rows * columns * channels; i++)
        im.pixels[i] = (real)(random_bits(seed, 0, i) % 256) / 255;
    return im;
}

static void same_image(const struct image *a, const struct image *b)
{
    ck_assert_uint_eq(a->rows, b->rows);
    ck_assert_uint_eq(a->columns, b->columns);
    ck_assert_uint_eq(a->channels, b->channels);
    ck_assert_double_eq(largest_difference(a->pixels, b->pixels, a->rows * a->columns * a->channels), 0);
}

static bool set_is_read(void)
{
    const unsigned char *bytes = idx();
    real pixels[IDX_SIZE];
    struct image_set set;
    status s = image_set_open(&set, "file");
    if (s.code) rejected(s, STATUS_BAD_INPUT, "");
    else succeeds(image_set_read(pixels, &set, 0, COUNT_IN_SET));
    for (size_t i = 16; i < IDX_SIZE && !s.code; i++) ck_assert(pixels[i - 16] == (real)bytes[i] / 255);
    image_set_close(&set);
    return !s.code;
}

static bool png_is_read(void)
{
    struct image im = random_image(4, 4, 5, 3), back;
    status s = image_read_picture(&back, "file");
    if (!s.code) same_image(&back, &im);
    else rejected(s, STATUS_BAD_INPUT, "PNG");
    ck_assert(!s.code || !back.pixels);
    image_release(&back);
    image_release(&im);
    return !s.code;
}

/* Files truncated at any length, or with any bit inverted.  Fewer than `harmless` changes are not noticed, such as
 * those of a time stamp. */
TESTS(damaged_images_are_rejected_or_equal, 2)
{
    static const struct { bool (*is_read)(void); size_t harmless; } kind[] = {{set_is_read, 8 * 12},
                                                                              {png_is_read, 9 * 36}};
    unsigned char bytes[1024];
    size_t rejected = 0;
    struct image im = random_image(4, 4, 5, 3);
    if (_i) png_write("file", &im);
    else write_gzip("file", idx(), IDX_SIZE);
    image_release(&im);
    size_t whole = file_read("file", bytes, sizeof bytes);
    for (size_t length = 0; length < whole; length++) {
        file_write("file", bytes, length);
        bool read = kind[_i].is_read();
        ck_assert(!read || _i == 1);
        rejected += !read;
    }
    for (size_t bit = 0; bit < 8 * whole; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        file_write("file", bytes, whole);
        rejected += !kind[_i].is_read();
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_uint_gt(rejected, 9 * whole - kind[_i].harmless);
}

static real even(size_t y, size_t x) { return (void)y, (void)x, (real)0.7; }
static real ramp(size_t y, size_t x) { return (void)y, (real)x / 40; }
static real chess(size_t y, size_t x) { return (real)((y + x) % 2); }

/* A picture of 20 x 20 pixels, scaled. */
static const real *fitted_picture(real (*pixel)(size_t y, size_t x), size_t rows, size_t columns)
{
    struct image im, fitted;
    succeeds(image_create(&im, 20, 20, 1));
    for (size_t i = 0; i < 400; i++) im.pixels[i] = pixel(i / 20, i % 20);
    succeeds(image_fit(&fitted, &im, rows, columns));
    real *pixels = copy(fitted.pixels, rows * columns);
    image_release(&fitted);
    image_release(&im);
    return pixels;
}

/* Enlarged by 2, pixel x shows (x + 1/2)/2 - 1/2 of the source; cut to two columns, the image shows columns 9 and 10.
 * Tolerance of the ramp: four products in double, below 8 2^-53, and two roundings to real.  Tolerance of the chess
 * board: half of 1/25.  A tent of radius 5 weighs even and odd pixels equally to within one step of 1/5, also at the
 * border. */
TEST(fitted_images_are_interpolated)
{
    double tolerance = 8 * 0x1p-53 + 2 * UNIT_ROUNDOFF;
    struct image im = random_image(6, 6, 9, 3), fitted;
    succeeds(image_fit(&fitted, &im, 6, 9));
    same_image(&fitted, &im);
    image_release(&fitted);
    image_release(&im);

    for (size_t rows = 1; rows < 50; rows += 7)
        for (size_t columns = 1; columns < 50; columns += 8)
            equal(fitted_picture(even, rows, columns), filled(rows * columns, (double)(real)0.7), rows * columns);
    const real *large = fitted_picture(ramp, 40, 40), *cut = fitted_picture(ramp, 20, 2);
    for (size_t x = 1; x < 39; x++)
        ck_assert_double_le(fabs((double)large[5 * 40 + x] - (((double)x + 0.5) / 2 - 0.5) / 40), tolerance);
    for (size_t x = 0; x < 2; x++) ck_assert_double_le(fabs((double)cut[x] - (9 + (double)x) / 40), tolerance);
    within("chess board", largest_difference(fitted_picture(chess, 4, 4), filled(16, 0.5), 16), 1.0 / 50);
}

static struct token_source little_set(void)
{
    write_gzip("set", idx(), IDX_SIZE);
    return (struct token_source){.kind = TOKENS_IMAGES, .path = "set", .patch = 2, .seed = 3};
}

static grid make_grid(const char *text)
{
    grid g;
    succeeds(grid_parse(&g, text));
    return g;
}

/* Tolerance: 3 * 72 u sqrt(N) / s.  Sums of 4 products are at most 12 (pixels to 1, weights to 6 / 2) and err by 72 u.
 * Value, mean and deviation each add this error, divided by the smallest deviation s; tokens are at most sqrt(N). */
TEST(tokens_are_projected_patches)
{
    enum { C = 5 };
    struct token_source source = little_set();
    grid g = make_grid("6x7");
    size_t N = g.tokens;
    real *x = zeros(N * C), *expected = zeros(N * C), *turned = zeros(N * C);
    const unsigned char *bytes = idx();
    double smallest = INFINITY;

    succeeds(tokens_make(x, 1, &g, C, &source, NULL, 0));
    for (int turn = 0; turn < 2; turn++)
    for (size_t c = 0; c < C; c++) {
        double value[42], mean = 0, variance = 0;
        for (size_t i = 0; i < N; i++) {
            value[i] = 0;
            for (size_t k = 0; k < 4; k++) {
                size_t row = i / 7 * 2 + (turn ? k % 2 : k / 2), column = i % 7 * 2 + (turn ? k / 2 : k % 2);
                size_t image = (row / ROWS * 3 + column / COLUMNS) % COUNT_IN_SET;
                size_t at = 16 + (image * ROWS + row % ROWS) * COLUMNS + column % COLUMNS;
                value[i] += random_normal(source.seed, 0x70726f6a, c * 4 + k) / 2 * bytes[at] / 255;
            }
            mean += value[i] / (double)N;
        }
        for (size_t i = 0; i < N; i++) variance += pow(value[i] - mean, 2) / (double)N;
        if (sqrt(variance) < smallest) smallest = sqrt(variance);
        for (size_t i = 0; i < N; i++)
            (turn ? turned : expected)[i * C + c] = (real)((value[i] - mean) / sqrt(variance));
    }
    double tolerance = 3 * 72 * UNIT_ROUNDOFF * sqrt((double)N) / smallest;
    within("tokens", largest_difference(x, expected, N * C), tolerance);
    beyond("... of patches read the other way", largest_difference(x, turned, N * C), tolerance);
}

/* Coefficient n is normal numbers 2 n and 2 n + 1 over the frequency; patches are one pixel, standardised.  Tolerance:
 * 64 u of the range; at most log2 P + 4 stages, or a prime axis, each err by a few u of the largest number. */
TESTS(noise_falls_as_one_over_f, 5)
{
    static const struct { size_t H, W; } size[] = {{12, 20}, {17, 11}, {1, 90}, {23, 9}, {32, 32}};
    const double turn = 6.283185307179586;
    size_t H = size[_i].H, W = size[_i].W, P = H * W;
    grid g = {.axes = 2, .size = {H, W}, .tokens = P};
    real *x = zeros(P);
    double *plane = keep(P, sizeof *plane);
    for (uint64_t seed = 5; seed < 7; seed++) {
        double low = INFINITY, high = -INFINITY, squares = 0, worst = 0;
        for (size_t i = 0; i < P; i++) {
            plane[i] = 0;
            for (size_t n = 1; n < P; n++) {
                size_t u = n / W, v = n % W;
                double angle = turn * ((double)(u * (i / W) % H) / (double)H + (double)(v * (i % W) % W) / (double)W);
                double f_y = (double)(u < H - u ? u : H - u) / (double)H;
                double f = hypot(f_y, (double)(v < W - v ? v : W - v) / (double)W);
                plane[i] += (random_normal(seed, 0x6e6f00000000, 2 * n) * cos(angle)
                             - random_normal(seed, 0x6e6f00000000, 2 * n + 1) * sin(angle)) / f;
            }
            low = fmin(low, plane[i]);
            high = fmax(high, plane[i]);
            squares += plane[i] * plane[i];
        }
        struct token_source source = {.kind = TOKENS_NOISE, .patch = 1, .seed = seed};
        succeeds(tokens_make(x, 1, &g, 1, &source, NULL, 0));
        double deviation = copysign(sqrt(squares / (double)P), random_normal(seed, 0x70726f6a, 0));
        for (size_t i = 0; i < P; i++) worse(&worst, fabs((double)x[i] - plane[i] / deviation));
        within("noise", worst, 64 * UNIT_ROUNDOFF * (high - low) / fabs(deviation));
    }
}

/* The text about the noise is truncated to its buffer and terminated. */
TEST(noise_replaces_a_missing_data_set)
{
    const char *about_noise = "1/f noise of seed 0, 2x2 patches";
    real *x = zeros(12), *noise = zeros(12);
    grid g = make_grid("3x4");
    char origin[200];
    struct token_source source = {.path = "/nowhere/at\nall", .patch = 2};
    struct token_source plain = {.kind = TOKENS_NOISE, .patch = 2};

    succeeds(tokens_make(x, 1, &g, 1, &source, origin, sizeof origin));
    ck_assert_str_eq(origin, "1/f noise of seed 0, 2x2 patches: no images at /nowhere/at?all");
    for (size_t size = 0; size <= strlen(about_noise) + 1; size++) {
        memset(origin, '#', sizeof origin);
        succeeds(tokens_make(noise, 1, &g, 1, &plain, origin, size));
        if (size > 0) ck_assert(strlen(origin) == size - 1 && strncmp(origin, about_noise, size - 1) == 0);
        ck_assert_int_eq(origin[size], '#');
    }
    ck_assert_double_eq(largest_difference(x, noise, 12), 0);
    source.kind = TOKENS_IMAGES;
    rejected(tokens_make(x, 1, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "cannot be opened: No such file");
}

/* A broken file, and a path that cannot lead to a file, do not count as a missing data set. */
TEST(wrong_token_sources_are_rejected)
{
    static const struct {
        const char *path;
        size_t patch, first, batch, channels;
        const char *grid, *message;
    } wrong[] = {
        {"set/file", 2, 0, 1, 1, "3x4", "Not a directory"},
        {"broken", 2, 0, 1, 1, "3x4", "is broken gzip"},
        {"set", 2, 7, 1, 1, "3x4", "image 7 asked for, the file has 7"},
        {"set", 2, 0, 0, 1, "3x4", "batch 0"},
        {"set", 2, 0, 1, 0, "3x4", "0 channels"},
        {"set", 257, 0, 1, 1, "3x4", "patches of 257 pixels"},
        {"set", 256, 0, 1, 1, "1000x1000", "256000 x 256000 pixels"},
    };
    real x[12];
    struct image im;
    little_set();
    file_write("broken", "\x1f\x8b\x08", 3);
    for (size_t n = 0; n < COUNT(wrong); n++) {
        grid g = make_grid(wrong[n].grid);
        struct token_source source = {.path = wrong[n].path, .patch = wrong[n].patch, .first = wrong[n].first};
        rejected(tokens_make(x, wrong[n].batch, &g, wrong[n].channels, &source, NULL, 0), STATUS_BAD_INPUT,
                wrong[n].message);
    }
    for (size_t a = 0; a < 3; a++)
        rejected(image_create(&im, a != 0, a != 1, a != 2), STATUS_BAD_INPUT, "expected at least 1 of each");
}

/* Tolerance: six blocks, each rounded up to lines of 64 bytes. */
TEST(bytes_of_tokens_are_known_beforehand)
{
    struct image im = random_image(8, 60, 60, 3);
    grid g = make_grid("20x30");
    size_t said, before = memory_in_use(), photo = 60 * 60 * 3;
    real *x = zeros(2 * 600 * 24);
    struct token_source set = little_set(), noise = {.kind = TOKENS_NOISE}, png = {.path = "image.png"};
    const struct { const struct token_source *source; size_t held; } z[] = {
        {&set, 0}, {&noise, 0}, {&png, photo * sizeof(real)},
    };
    png_write(png.path, &im);
    for (size_t n = 0; n < COUNT(z); n++) {
        succeeds(tokens_bytes(&said, &g, 24, z[n].source));
        memory_reset_peak();
        succeeds(tokens_make(x, 2, &g, 24, z[n].source, NULL, 0));
        size_t took = memory_peak() - before - z[n].held;
        bool near = took <= said + 6 * 64 && took > said / 4 * 3;
        ck_assert_msg(near, "source %zu took %zu bytes, said %zu", n, took, said);
    }
    image_release(&im);
}

int main(void)
{
    Suite *suite = suite_create("images");
    add_tests(add_folder_case(suite, "images"));
    return run_suite(suite);
}
