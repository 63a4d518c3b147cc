/* test_images.c -- reference/instruments/images.h and reference/instruments/tokens.h
 *
 * Every file is made in a temporary folder; no test but the last needs a data set.  Bytes over 255 are compared
 * exactly. */

#define _POSIX_C_SOURCE 200809L

#include "support.h"
#include <dirent.h>
#include <math.h>
#include <png.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include "../reference/random.h"
#include "../reference/instruments/spectrum.h"
#include "../reference/instruments/tokens.h"

/* ---------------------------------------------------------------- files */

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/twicetold-images-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int files(bool remove_them)
{
    int count = 0;
    char path[512];
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (remove_them) remove(path);
        count++;
    }
    closedir(d);
    return count;
}

static void remove_folder(void)
{
    files(true);
    rmdir(folder);
}

/* A path in the folder; the last four stay valid. */
static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, count, f), count);
    ck_assert_int_eq(fclose(f), 0);
}

static void write_gzip(const char *path, const unsigned char *bytes, size_t count)
{
    gzFile f = gzopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(gzwrite(f, bytes, (unsigned)count), (int)count);
    ck_assert_int_eq(gzclose(f), Z_OK);
}

static size_t read_bytes(const char *path, unsigned char *bytes, size_t room)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t count = fread(bytes, 1, room, f);
    ck_assert_uint_lt(count, room);
    fclose(f);
    return count;
}

/* ------------------------------------------------------------------ IDX */

#define COUNT_IN_SET 7
#define ROWS 5
#define COLUMNS 6
#define IDX_SIZE (16 + COUNT_IN_SET * ROWS * COLUMNS)

/* A valid IDX file: 7 images of 5 x 6. */
static void idx(unsigned char bytes[IDX_SIZE])
{
    const unsigned char header[16] = {0, 0, 8, 3, 0, 0, 0, COUNT_IN_SET, 0, 0, 0, ROWS, 0, 0, 0, COLUMNS};
    memcpy(bytes, header, 16);
    for (size_t i = 16; i < IDX_SIZE; i++) bytes[i] = (unsigned char)random_bits(1, 0, i);
}

static status try_set(const char *path)
{
    struct image_set set;
    status s = image_set_open(&set, path);
    image_set_close(&set);
    return s;
}

START_TEST(idx_gives_back_its_bytes)
{
    static const struct { size_t first, count; } range[] = {{0, 1}, {6, 1}, {2, 3}, {0, 7}, {7, 0}, {1, 1}};
    unsigned char bytes[IDX_SIZE];
    real *pixels = zeros(IDX_SIZE), *expected = zeros(IDX_SIZE);
    const char *path = in_folder("set");
    struct image_set set;

    idx(bytes);
    for (size_t i = 16; i < IDX_SIZE; i++) expected[i - 16] = (real)bytes[i] / 255;
    if (_i) write_gzip(path, bytes, IDX_SIZE);
    else write_bytes(path, bytes, IDX_SIZE);

    succeeds(image_set_open(&set, path));
    ck_assert_uint_eq(set.count, COUNT_IN_SET);
    ck_assert_uint_eq(set.rows, ROWS);
    ck_assert_uint_eq(set.columns, COLUMNS);
    for (size_t r = 0; r < COUNT(range); r++) {
        succeeds(image_set_read(pixels, &set, range[r].first, range[r].count));
        ck_assert_double_eq(largest_difference(pixels, expected + range[r].first * ROWS * COLUMNS,
                                               range[r].count * ROWS * COLUMNS), 0);
    }
    refused(image_set_read(pixels, &set, 7, 1), STATUS_BAD_INPUT, "the file has 7");
    refused(image_set_read(pixels, &set, 0, 8), STATUS_BAD_INPUT, "the file has 7");
    refused(image_set_read(pixels, &set, 8, 0), STATUS_BAD_INPUT, "the file has 7");
    refused(image_set_read(pixels, &set, 3, SIZE_MAX), STATUS_BAD_INPUT, "the file has 7");
    image_set_close(&set);
    image_set_close(&set);
}
END_TEST

START_TEST(idx_headers_that_lie)
{
    static const struct { unsigned char header[16]; const char *expected; } lie[] = {
        {{1, 0, 8, 3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 6}, "begins with 0x0100"},
        {{0, 1, 8, 3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 6}, "begins with 0x0001"},
        {{0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 1, 0, 72},
         "is a JPEG image, expected PNG or IDX"},
        {{'G', 'I', 'F', '8', '9', 'a'}, "is a GIF image"},
        {{'B', 'M', 0x46, 0, 0, 0}, "is a BMP image"},
        {{'R', 'I', 'F', 'F', 9, 9, 0, 0, 'W', 'E', 'B', 'P'}, "is a WebP image"},
        {{'I', 'I', '*', 0}, "is a TIFF image"},
        {{0, 0, 0, 24, 'f', 't', 'y', 'p', 'h', 'e', 'i', 'c'}, "is a HEIF image"},
        {{0, 0, 13, 3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 6}, "type 0x0d"},
        {{0, 0, 8, 1, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 6}, "1 axes"},
        {{0, 0, 8, 4, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 6}, "4 axes"},
        {{0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6}, "0 images"},
        {{0, 0, 8, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 6}, "at least 1"},
        {{0, 0, 8, 3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 0}, "at least 1"},
        {{0, 0, 8, 3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "at most"},
        {{0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 5, 0, 0, 0, 6}, "at most"},
        {{0, 0, 8, 3, 0x80, 0, 0, 0, 0, 0, 0, 2, 0x80, 0, 0, 0}, "at most"},
        {{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0x20, 0}, "holds 210 bytes of pixels, expected 67108864"},
        {{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0x20, 1}, "expected at most 67108864 pixels"},
        {{0, 0, 8, 3, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1},
         "holds 210 bytes of pixels, expected 2147483647"},
        {{0, 0, 8, 3, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, "and 2147483647 in all"},
        {{0, 0, 8, 3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 7}, "holds 210 bytes of pixels, expected 245"},
        {{0, 0, 8, 3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 5}, "goes on after the 175 bytes"},
        {{0, 0, 8, 3, 0, 0, 0, 6, 0, 0, 0, 5, 0, 0, 0, 6}, "goes on after the 180 bytes"},
    };
    unsigned char bytes[IDX_SIZE];
    idx(bytes);
    memcpy(bytes, lie[_i].header, 16);
    write_bytes(in_folder("lie"), bytes, IDX_SIZE);
    refused(try_set(in_folder("lie")), STATUS_BAD_INPUT, lie[_i].expected);
    write_gzip(in_folder("lie"), bytes, IDX_SIZE);
    refused(try_set(in_folder("lie")), STATUS_BAD_INPUT, lie[_i].expected);
}
END_TEST

/* The pixels fill whole pieces of what is read at a time: 4096 bytes, and four times that. */
START_TEST(idx_files_with_a_byte_more)
{
    static unsigned char bytes[16 + 4 * 64 * 64 + 1];
    for (unsigned char side = 32; side <= 64; side *= 2) {
        const unsigned char header[16] = {0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, side, 0, 0, 0, side};
        memcpy(bytes, header, sizeof header);
        for (size_t more = 0; more < 2; more++) {
            write_bytes(in_folder("more"), bytes, sizeof header + 4 * (size_t)side * side + more);
            if (!more) succeeds(try_set(in_folder("more")));
            else refused(try_set(in_folder("more")), STATUS_BAD_INPUT, "goes on after the");
        }
    }
}
END_TEST

/* Cut anywhere, or with a byte more.  A gzip file with one bit inverted may hold the same images: a time stamp may
 * change. */
START_TEST(idx_files_that_are_damaged)
{
    unsigned char bytes[IDX_SIZE + 1] = {0}, packed[2 * IDX_SIZE];
    const char *path = in_folder("damaged");
    idx(bytes);

    for (size_t length = 0; length <= IDX_SIZE + 1; length++) {
        write_bytes(path, bytes, length);
        if (length == IDX_SIZE) succeeds(try_set(path));
        else refused(try_set(path), STATUS_BAD_INPUT, length < 16 ? "expected an IDX header" : "bytes");
    }

    write_gzip(path, bytes, IDX_SIZE);
    size_t whole = read_bytes(path, packed, sizeof packed);
    for (size_t length = 0; length < whole; length++) {
        write_bytes(path, packed, length);
        refused(try_set(path), STATUS_BAD_INPUT, "");
    }

    int refusals = 0;
    real *pixels = zeros(IDX_SIZE);
    for (size_t bit = 0; bit < 8 * whole; bit++) {
        struct image_set set;
        packed[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_bytes(path, packed, whole);
        status s = image_set_open(&set, path);
        if (s.code) {
            refused(s, STATUS_BAD_INPUT, "");
            refusals++;
        } else {
            succeeds(image_set_read(pixels, &set, 0, COUNT_IN_SET));
            for (size_t i = 16; i < IDX_SIZE; i++) ck_assert(pixels[i - 16] == (real)bytes[i] / 255);
        }
        image_set_close(&set);
        packed[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_int_gt(refusals, 8 * (int)(whole - 12));
}
END_TEST

START_TEST(what_is_not_a_file)
{
    struct image im;
    const char *pipe = in_folder("pipe");
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    refused(try_set(pipe), STATUS_BAD_INPUT, "is not a regular file");
    refused(try_set(folder), STATUS_BAD_INPUT, "is not a regular file");
    refused(try_set("/dev/zero"), STATUS_BAD_INPUT, "is not a regular file");
    refused(try_set(in_folder("nothing")), STATUS_BAD_INPUT, "cannot be opened: No such file");
    refused(image_read_png(&im, pipe), STATUS_BAD_INPUT, "is not a regular file");
    refused(image_read_png(&im, folder), STATUS_BAD_INPUT, "is not a regular file");
    refused(image_read_png(&im, in_folder("nothing")), STATUS_BAD_INPUT, "cannot be opened: No such file");
}
END_TEST

/* ------------------------------------------------------------------ PNG */

static struct image new_image(size_t rows, size_t columns, size_t channels)
{
    struct image im;
    succeeds(image_create(&im, rows, columns, channels));
    return im;
}

static struct image random_image(uint64_t seed, size_t rows, size_t columns, size_t channels)
{
    struct image im = new_image(rows, columns, channels);
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

/* Whole 255ths come back exactly; values between them round to the nearest, values beyond are clipped, NaN is black. */
START_TEST(png_there_and_back)
{
    static const double odd[] = {-1, 2, 0.49 / 255, 0.51 / 255, 254.6 / 255, NAN, INFINITY, -INFINITY};
    static const double seen[] = {0, 1, 0, 1.0 / 255, 1, 0, 1, 0};
    const char *path = in_folder("image.png");
    struct image back;

    for (size_t channels = 1; channels <= 3; channels += 2) {
        struct image im = random_image(channels, 7, 5, channels);
        succeeds(image_write_png(&im, path));
        succeeds(image_read_png(&back, path));
        same_image(&back, &im);
        image_release(&im);
        image_release(&back);
    }

    struct image im = new_image(2, 4, 1), expected = new_image(2, 4, 1);
    for (size_t i = 0; i < 8; i++) {
        im.pixels[i] = (real)odd[i];
        expected.pixels[i] = (real)seen[i];
    }
    succeeds(image_write_png(&im, path));
    succeeds(image_read_png(&back, path));
    same_image(&back, &expected);
    ck_assert_int_eq(files(false), 1);
    image_release(&im);
    image_release(&back);
    image_release(&expected);
}
END_TEST

/* Writes 1 x 2 pixels of this format through libpng's simplified writer. */
static void write_two_pixels(const char *path, png_uint_32 format, const void *pixels)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = 2, .height = 1, .format = format};
    ck_assert_msg(png_image_write_to_file(&png, path, 0, pixels, 0, NULL), "%s", png.message);
}

/* A chunk of a PNG at bytes + at; returns where it ends. */
static size_t put_chunk(unsigned char *bytes, size_t at, const char *type, const unsigned char *data, size_t length)
{
    memset(bytes + at, 0, 4);
    bytes[at + 3] = (unsigned char)length;
    memcpy(bytes + at + 4, type, 4);
    memcpy(bytes + at + 8, data, length);
    uLong sum = crc32(0, bytes + at + 4, (uInt)length + 4);
    for (size_t i = 0; i < 4; i++) bytes[at + 8 + length + i] = (unsigned char)(sum >> (24 - 8 * i));
    return at + 12 + length;
}

/* A grey PNG by hand: its header, its pixels (a filter byte before each row), its end. */
static void make_png(const char *path, size_t rows, size_t columns, unsigned char depth, const unsigned char *data,
                     size_t count)
{
    static const unsigned char begin[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {0, 0, 0, 0, 0, 0, 0, 0, depth, 0, 0, 0, 0}, packed[64];
    unsigned char bytes[256] = {0};
    uLongf length = sizeof packed;
    for (size_t i = 0; i < 4; i++) {
        header[i] = (unsigned char)(columns >> (24 - 8 * i));
        header[4 + i] = (unsigned char)(rows >> (24 - 8 * i));
    }
    ck_assert_int_eq(compress(packed, &length, data, (uLong)count), Z_OK);
    memcpy(bytes, begin, 8);
    size_t at = put_chunk(bytes, 8, "IHDR", header, 13);
    at = put_chunk(bytes, at, "IDAT", packed, length);
    write_bytes(path, bytes, put_chunk(bytes, at, "IEND", header, 0));
}

/* Transparent pixels are composed on black.  16 bits round to 8: 0x10ff is 17, where truncation gives 16. */
START_TEST(png_of_other_kinds)
{
    static const unsigned char rgba[8] = {255, 0, 51, 255, 255, 255, 255, 0}, grey_alpha[4] = {102, 255, 200, 0};
    static const unsigned char deep[5] = {0, 0x80, 0x80, 0x10, 0xff};
    const char *path = in_folder("kind.png");
    struct image im;

    write_two_pixels(path, PNG_FORMAT_RGBA, rgba);
    succeeds(image_read_png(&im, path));
    ck_assert_uint_eq(im.channels, 3);
    ck_assert(im.pixels[0] == 1 && im.pixels[1] == 0 && im.pixels[2] == (real)51 / 255);
    ck_assert_double_eq(largest(im.pixels + 3, 3), 0);
    image_release(&im);

    write_two_pixels(path, PNG_FORMAT_GA, grey_alpha);
    succeeds(image_read_png(&im, path));
    ck_assert_uint_eq(im.channels, 1);
    ck_assert(im.pixels[0] == (real)102 / 255 && im.pixels[1] == 0);
    image_release(&im);

    make_png(path, 1, 2, 16, deep, sizeof deep);
    succeeds(image_read_png(&im, path));
    ck_assert(im.pixels[0] == (real)128 / 255 && im.pixels[1] == (real)17 / 255);
    image_release(&im);
}
END_TEST

static const struct { int type, depth; } encodings[] = {
    {PNG_COLOR_TYPE_GRAY, 1}, {PNG_COLOR_TYPE_GRAY, 2}, {PNG_COLOR_TYPE_GRAY, 4}, {PNG_COLOR_TYPE_GRAY, 8},
    {PNG_COLOR_TYPE_GRAY, 16}, {PNG_COLOR_TYPE_RGB, 8}, {PNG_COLOR_TYPE_RGB, 16}, {PNG_COLOR_TYPE_PALETTE, 1},
    {PNG_COLOR_TYPE_PALETTE, 2}, {PNG_COLOR_TYPE_PALETTE, 4}, {PNG_COLOR_TYPE_PALETTE, 8},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 8}, {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_RGB_ALPHA, 8},
    {PNG_COLOR_TYPE_RGB_ALPHA, 16},
};

enum { NO_CURVE, LINEAR, SRGB, PRIMARIES, CURVES };

/* Writes random pixels in this encoding and returns them as they must be read.  A sample of depth d has 2^d values (256
 * if d is 16); a sample of a palette is an index. */
static struct image write_encoded(const char *path, size_t rows, size_t columns, int type, int depth, bool transparent,
                                  int interlace, int curve)
{
    enum { MOST = 16 };                 /* rows, and columns */
    static png_byte bytes[MOST][MOST * 8];
    png_bytep row[MOST];
    png_color colours[256];
    png_byte opacity[256];
    bool palette = type == PNG_COLOR_TYPE_PALETTE, alpha = type & PNG_COLOR_MASK_ALPHA;
    unsigned levels = 1u << (depth < 8 ? depth : 8), step = palette ? 1 : 255 / (levels - 1);
    size_t channels = type & PNG_COLOR_MASK_COLOR ? 3 : 1, samples = (palette ? 1 : channels) + alpha;
    size_t width = depth == 16 ? 2 : 1;
    struct image shown = new_image(rows, columns, channels);

    /* Step 1: a palette. */
    for (size_t k = 0; k < 256; k++) {
        colours[k] = (png_color){(png_byte)random_bits(11, 0, k), (png_byte)random_bits(11, 1, k),
                                 (png_byte)random_bits(11, 2, k)};
        opacity[k] = transparent ? (png_byte)random_bits(11, 3, k) : 255;
    }

    /* Step 2: samples and their colours.  With tRNS, grey and RGB have the colour of pixel 0 transparent. */
    for (size_t i = 0; i < rows * columns; i++) {
        unsigned k[4] = {0}, seen[4] = {0};
        bool as_first = true;
        for (size_t s = 0; s < samples; s++) {
            k[s] = (unsigned)(random_bits(12, s, i) % levels);
            seen[s] = k[s] * step;
            as_first = as_first && k[s] == random_bits(12, s, 0) % levels;
            for (size_t b = 0; b < width; b++)
                bytes[i / columns][(i % columns * samples + s) * width + b] = (png_byte)k[s];
        }
        unsigned a = alpha ? seen[samples - 1] : palette ? opacity[k[0]] : transparent && as_first ? 0 : 255;
        if (palette) seen[0] = colours[k[0]].red, seen[1] = colours[k[0]].green, seen[2] = colours[k[0]].blue;
        for (size_t c = 0; c < channels; c++)
            shown.pixels[i * channels + c] = (real)floor(seen[c] * a / 255.0 + 0.5) / 255;
    }

    /* Step 3: the file.  16 bits of two equal bytes round to that byte. */
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    FILE *file = fopen(path, "wb");
    ck_assert(png && info && file && rows <= MOST && columns <= MOST);
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)columns, (png_uint_32)rows, depth, type, interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (palette) png_set_PLTE(png, info, colours, (int)levels);
    if (transparent) {
        png_uint_16 first[3];
        for (size_t s = 0; s < 3; s++)
            first[s] = (png_uint_16)(random_bits(12, s, 0) % levels * (width == 2 ? 257 : 1));
        png_color_16 key = {.red = first[0], .green = first[1], .blue = first[2], .gray = first[0]};
        png_set_tRNS(png, info, opacity, (int)levels, &key);
    }
    if (curve == LINEAR || curve == PRIMARIES) png_set_gAMA(png, info, 1);
    if (curve == PRIMARIES) png_set_cHRM(png, info, 0.3, 0.3, 0.7, 0.3, 0.2, 0.7, 0.1, 0.1);
    if (curve == SRGB) png_set_sRGB_gAMA_and_cHRM(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, info);
    png_set_packing(png);
    for (size_t y = 0; y < rows; y++) row[y] = bytes[y];
    png_write_image(png, row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    ck_assert_int_eq(fclose(file), 0);
    return shown;
}

/* 15 encodings at 5 sizes, interlaced or not, with and without tRNS, with 4 choices of gAMA, sRGB and cHRM. */
START_TEST(png_of_every_encoding)
{
    static const size_t size[][2] = {{3, 1}, {1, 1}, {1, 9}, {8, 8}, {13, 6}};
    int type = encodings[_i].type, depth = encodings[_i].depth;
    const char *path = in_folder("encoded.png");
    for (size_t n = 0; n < COUNT(size); n++)
    for (int way = 0; way < 4 * CURVES; way++) {
        bool transparent = way & 1;
        if (transparent && type & PNG_COLOR_MASK_ALPHA) continue;
        struct image back, shown = write_encoded(path, size[n][0], size[n][1], type, depth, transparent,
                                                 way & 2 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, way / 4);
        succeeds(image_read_png(&back, path));
        same_image(&back, &shown);
        image_release(&back);
        image_release(&shown);
    }
}
END_TEST

/* Cut or with one bit inverted anywhere, a file is an error or has the same pixels.  Sizes are checked before memory is
 * allocated. */
START_TEST(png_files_that_lie)
{
    unsigned char bytes[1024], row[3] = {0, 7, 9};
    const char *path = in_folder("lie.png");
    struct image im = random_image(4, 4, 5, 3), back;

    write_bytes(path, (const unsigned char *)"P5 2 2 255\n....", 15);
    refused(image_read_png(&back, path), STATUS_BAD_INPUT, "is not a PNG");

    memory_reset_peak();
    size_t before = memory_in_use();
    make_png(path, 1000000, 1000000, 8, row, 3);
    refused(image_read_png(&back, path), STATUS_BAD_INPUT, "states 1000000 x 1000000 pixels");
    make_png(path, 8193, 8192, 8, row, 3);
    refused(image_read_png(&back, path), STATUS_BAD_INPUT, "states 8193 x 8192 pixels");
    make_png(path, 0x7fffffff, 0x7fffffff, 8, row, 3);
    refused(image_read_png(&back, path), STATUS_BAD_INPUT, "PNG");
    make_png(path, 0, 5, 8, row, 3);
    refused(image_read_png(&back, path), STATUS_BAD_INPUT, "PNG");
    ck_assert_uint_eq(memory_peak(), before);
    make_png(path, 2, 2, 8, row, 3);
    refused(image_read_png(&back, path), STATUS_BAD_INPUT, "is a broken PNG");

    succeeds(image_write_png(&im, path));
    size_t whole = read_bytes(path, bytes, sizeof bytes);
    int refusals = 0;
    for (size_t change = 0; change < 9 * whole; change++) {
        bool cut = change >= 8 * whole;
        if (!cut) bytes[change / 8] ^= (unsigned char)(1 << change % 8);
        write_bytes(path, bytes, cut ? change - 8 * whole : whole);
        if (!cut) bytes[change / 8] ^= (unsigned char)(1 << change % 8);
        status s = image_read_png(&back, path);
        if (s.code) {
            refused(s, STATUS_BAD_INPUT, "PNG");
            ck_assert_ptr_null(back.pixels);
            refusals++;
        } else same_image(&back, &im);
        image_release(&back);
    }
    ck_assert_int_gt(refusals, (int)(9 * (whole - 12 - 24)));
    image_release(&im);
}
END_TEST

/* A file at the limit fails only for lack of memory; one pixel column more is bad input. */
START_TEST(limits_are_limits)
{
    static const struct { size_t rows, columns, channels; } none[] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
    const size_t side = 8192;           /* its square is IMAGE_PIXELS_MAX */
    struct image im, most = {side, side, 1, NULL}, beyond = {side, side + 1, 1, NULL};

    ck_assert_uint_eq(side * side, IMAGE_PIXELS_MAX);
    for (size_t n = 0; n < COUNT(none); n++)
        refused(image_create(&im, none[n].rows, none[n].columns, none[n].channels), STATUS_BAD_INPUT,
                "expected at least 1 of each");
    refused(image_write_png(&beyond, in_folder("beyond.png")), STATUS_BAD_INPUT, "expected at most 67108864 in all");
    memory_fail_after(0);
    status s = image_write_png(&most, in_folder("most.png"));
    memory_fail_after(-1);
    refused(s, STATUS_FAILURE, "not enough memory");

    for (size_t more = 0; more < 2; more++) {
        static const unsigned char nothing[4] = {0};
        make_png(in_folder("large.png"), side, side + more, 8, nothing, sizeof nothing);
        memory_fail_after(0);
        s = image_read_png(&im, in_folder("large.png"));
        memory_fail_after(-1);
        if (more) refused(s, STATUS_BAD_INPUT, "expected at most 67108864 in all");
        else refused(s, STATUS_FAILURE, "not enough memory");
    }
}
END_TEST

START_TEST(png_that_cannot_be_written)
{
    struct image im = random_image(5, 3, 3, 1), two = random_image(5, 3, 3, 2);
    struct image other = random_image(6, 3, 3, 1), back;
    refused(image_write_png(&two, in_folder("two.png")), STATUS_BAD_INPUT, "2 channels");
    refused(image_write_png(&im, folder), STATUS_BAD_INPUT, "is a folder");
    refused(image_write_png(&im, "/dev/null"), STATUS_BAD_INPUT, "is no regular file");
    refused(image_write_png(&im, in_folder("nowhere/image.png")), STATUS_BAD_INPUT, "cannot be written: No such file");
    ck_assert_int_eq(files(false), 0);

    /* A file named image.png.0 must stay. */
    write_bytes(in_folder("image.png.0"), (const unsigned char *)"mine", 4);
    succeeds(image_write_png(&im, in_folder("image.png")));
    succeeds(image_read_png(&back, in_folder("image.png")));
    same_image(&back, &im);
    ck_assert_int_eq(files(false), 2);
    image_release(&back);

    /* A full disk: no file may grow beyond 16 bytes. */
    struct rlimit usual, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = usual;
    small.rlim_cur = 16;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    status full = image_write_png(&other, in_folder("image.png"));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
    signal(SIGXFSZ, SIG_DFL);
    refused(full, STATUS_FAILURE, "cannot be written");
    ck_assert_int_eq(files(false), 2);
    succeeds(image_read_png(&back, in_folder("image.png")));
    same_image(&back, &im);
    image_release(&back);
    image_release(&im);
    image_release(&two);
    image_release(&other);
}
END_TEST

/* libpng needs more than 7.2 MB for this row, the image 2.7 MB; the child's address space may grow by 6 MiB.
 * Sanitizers, valgrind and qemu do not allow such a limit. */
START_TEST(png_without_memory_is_a_failure)
{
    static png_uint_16 pixels[4 * 900000];
    png_image png = {.version = PNG_IMAGE_VERSION, .width = 900000, .height = 1,
                     .format = PNG_FORMAT_LINEAR_RGB_ALPHA};
    const char *preloaded = getenv("LD_PRELOAD"), *path = in_folder("wide.png");
    int state, bounded = !getenv("EMULATED") && (!preloaded || !strstr(preloaded, "valgrind"));
#ifdef __SANITIZE_ADDRESS__
    bounded = 0;
#endif
    for (size_t n = 0; n < COUNT(pixels); n++) pixels[n] = 0xffff;
    ck_assert(png_image_write_to_file(&png, path, 0, pixels, 0, NULL));
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct image im;
        unsigned long pages = 0;
        FILE *statm = fopen("/proc/self/statm", "r");
        if (!statm || fscanf(statm, "%lu", &pages) != 1) _exit(3);
        fclose(statm);
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (6 << 20);
        if (bounded && setrlimit(RLIMIT_AS, &(struct rlimit){most, most})) _exit(4);
        status s = image_read_png(&im, path);
        _exit(s.code == (bounded ? STATUS_FAILURE : STATUS_OK) && (!bounded || strstr(s.message, "memory")) ? 0 : 5);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert_msg(WIFEXITED(state) && WEXITSTATUS(state) == 0, "ended with %d", WEXITSTATUS(state));
}
END_TEST

/* -------------------------------------------------------------- scaling */

/* The ramp: four products in double, below 8 2^-53, and two roundings to real.  The chess board: a tent of radius 5
 * weighs even and odd pixels alike to within one of its steps of 1/5, also at the border: half of 1/25. */
START_TEST(fitting)
{
    double tolerance = 8 * 0x1p-53 + 2 * UNIT_ROUNDOFF;
    struct image im = random_image(6, 6, 9, 3), fitted;
    succeeds(image_fit(&fitted, &im, 6, 9));
    same_image(&fitted, &im);
    image_release(&fitted);
    image_release(&im);

    im = new_image(20, 20, 1);
    for (size_t i = 0; i < 400; i++) im.pixels[i] = (real)0.7;
    for (size_t rows = 1; rows < 50; rows += 7)
    for (size_t columns = 1; columns < 50; columns += 8) {
        succeeds(image_fit(&fitted, &im, rows, columns));
        for (size_t i = 0; i < rows * columns; i++) ck_assert(fitted.pixels[i] == (real)0.7);
        image_release(&fitted);
    }

    /* Twice as large: pixel x of the ramp is at (x + 1/2)/2 - 1/2 of the source. */
    for (size_t i = 0; i < 400; i++) im.pixels[i] = (real)(i % 20) / 40;
    succeeds(image_fit(&fitted, &im, 40, 40));
    for (size_t x = 1; x < 39; x++)
        ck_assert_double_le(fabs((double)fitted.pixels[5 * 40 + x] - (((double)x + 0.5) / 2 - 0.5) / 40), tolerance);
    image_release(&fitted);

    /* Two columns are cut from the middle of the source, 9 and 10. */
    succeeds(image_fit(&fitted, &im, 20, 2));
    ck_assert_double_le(fabs((double)fitted.pixels[0] - 9.0 / 40), tolerance);
    ck_assert_double_le(fabs((double)fitted.pixels[1] - 10.0 / 40), tolerance);
    image_release(&fitted);

    for (size_t i = 0; i < 400; i++) im.pixels[i] = (real)((i / 20 + i % 20) % 2);
    succeeds(image_fit(&fitted, &im, 4, 4));
    double worst = 0;
    for (size_t i = 0; i < 16; i++) worse(&worst, fabs((double)fitted.pixels[i] - 0.5));
    within("chess board", worst, 1.0 / 50);
    image_release(&fitted);
    image_release(&im);
}
END_TEST

/* Whole numbers, whose sums and halves are exact. */
START_TEST(block_means)
{
    struct image im = new_image(4, 6, 2), small;
    for (size_t i = 0; i < 48; i++) im.pixels[i] = (real)i;
    succeeds(image_block_means(&small, &im, 2));
    ck_assert_uint_eq(small.rows, 2);
    ck_assert_uint_eq(small.columns, 3);
    for (size_t y = 0; y < 2; y++)
    for (size_t x = 0; x < 3; x++)
        ck_assert_double_eq((double)small.pixels[y * 3 + x], (double)(24 * y + 4 * x) + 7.5);
    image_release(&small);
    refused(image_block_means(&small, &im, 3), STATUS_BAD_INPUT, "4 x 6 pixels do not divide into 3 x 3");
    refused(image_block_means(&small, &im, 0), STATUS_BAD_INPUT, "do not divide");
    image_release(&im);
}
END_TEST

/* --------------------------------------------------------------- tokens */

/* A token source: the 7 images of 5 x 6, patches of 2. */
static struct token_source little_set(void)
{
    unsigned char bytes[IDX_SIZE];
    idx(bytes);
    write_gzip(in_folder("set"), bytes, IDX_SIZE);
    return (struct token_source){.kind = TOKENS_IMAGES, .path = in_folder("set"), .patch = 2, .seed = 3};
}

static grid make_grid(const char *text)
{
    grid g;
    succeeds(grid_parse(&g, text));
    return g;
}

/* Images row by row, from image 0 again after the last; frame t begins 2 t pixels further right; 13 tokens are cut from
 * a square of 4 x 4.  `origin` is cut to its buffer, and terminated. */
START_TEST(the_canvas_is_a_mosaic)
{
    static const struct { const char *grid; size_t T, rows, columns, across, first; const char *origin; } made[] = {
        {"2x3", 1, 4, 6, 1, 2, "images 2 ... 2 of "},
        {"7x5", 1, 14, 10, 2, 4, "images 4 ... 9 (from 0 again after the last) of "},
        {"13", 1, 8, 8, 2, 0, "images 0 ... 3 of "},
        {"4x3x5", 4, 6, 10, 3, 1, "images 1 ... 6 of "},
    };
    unsigned char bytes[IDX_SIZE];
    char origin[200];
    struct image frame;
    struct token_source source = little_set();
    grid g = make_grid(made[_i].grid);
    idx(bytes);
    source.first = made[_i].first;

    for (size_t t = 0; t < made[_i].T; t++) {
        succeeds(tokens_frame(&frame, &g, t, &source, origin, sizeof origin));
        ck_assert_uint_eq(frame.rows, made[_i].rows);
        ck_assert_uint_eq(frame.columns, made[_i].columns);
        for (size_t y = 0; y < frame.rows; y++)
        for (size_t x = 0; x < frame.columns; x++) {
            size_t column = x + 2 * t;
            size_t image = (made[_i].first + y / ROWS * made[_i].across + column / COLUMNS) % COUNT_IN_SET;
            size_t at = 16 + (image * ROWS + y % ROWS) * COLUMNS + column % COLUMNS;
            ck_assert(frame.pixels[y * frame.columns + x] == (real)bytes[at] / 255);
        }
        image_release(&frame);
        ck_assert_msg(strstr(origin, made[_i].origin) == origin, "%s", origin);
    }
    for (size_t size = 0; size < 9; size++) {
        char cut[10] = "#########";
        succeeds(tokens_frame(&frame, &g, 0, &source, cut, size));
        image_release(&frame);
        if (size > 0) ck_assert(strlen(cut) == size - 1 && strncmp(cut, origin, size - 1) == 0);
        ck_assert_int_eq(cut[size], '#');
    }
    refused(tokens_frame(&frame, &g, made[_i].T, &source, NULL, 0), STATUS_BAD_INPUT, "frame");
}
END_TEST

/* Sums of 4 products are at most 12 (pixels to 1, weights to 6 / 2) and err by 6 u 12.  Value, mean and deviation each
 * add that over the smallest deviation s, for tokens of at most sqrt(N): 3 * 72 u sqrt(N) / s. */
START_TEST(tokens_are_projected_patches)
{
    enum { C = 5 };
    struct token_source source = little_set();
    grid g = make_grid("6x7");
    size_t N = g.tokens;
    real *x = zeros(N * C), *expected = zeros(N * C), *turned = zeros(N * C);
    struct image frame;
    double smallest = INFINITY;

    succeeds(tokens_make(x, 1, &g, C, &source, NULL, 0));
    succeeds(tokens_frame(&frame, &g, 0, &source, NULL, 0));
    for (int turn = 0; turn < 2; turn++)
    for (size_t c = 0; c < C; c++) {
        double value[42], mean = 0, variance = 0;
        for (size_t i = 0; i < N; i++) {
            value[i] = 0;
            for (size_t k = 0; k < 4; k++) {
                size_t down = turn ? k % 2 : k / 2, across = turn ? k / 2 : k % 2;
                value[i] += random_normal(source.seed, 0x70726f6a, c * 4 + k) / 2
                          * (double)frame.pixels[(i / 7 * 2 + down) * frame.columns + i % 7 * 2 + across];
            }
            mean += value[i] / (double)N;
        }
        for (size_t i = 0; i < N; i++) variance += pow(value[i] - mean, 2) / (double)N;
        if (sqrt(variance) < smallest) smallest = sqrt(variance);
        for (size_t i = 0; i < N; i++)
            (turn ? turned : expected)[i * C + c] = (real)((value[i] - mean) / sqrt(variance));
    }
    image_release(&frame);
    double tolerance = 3 * 72 * UNIT_ROUNDOFF * sqrt((double)N) / smallest;
    within("tokens", largest_difference(x, expected, N * C), tolerance);
    beyond("... of patches read the other way", largest_difference(x, turned, N * C), tolerance);
}
END_TEST

/* Tokens are at most sqrt(N), with mean square 1, and round to u each: u for the mean, 2 u for the square.  Sums of N
 * doubles, here and there: 2 (N + 8) 2^-53, of values whose mean may be sqrt(N) deviations. */
START_TEST(channels_are_standardised)
{
    static const struct { const char *grid; size_t B, C, images; } made[] = {   /* images that cover it; 0: noise */
        {"2x3", 3, 7, 1}, {"11", 2, 1, 4}, {"3x4x5", 2, 33, 6}, {"9x9", 12, 2, 12},
        {"2x3", 3, 7, 0}, {"11", 2, 1, 0}, {"3x4x5", 2, 33, 0}, {"1x50", 1, 3, 0},
    };
    size_t B = made[_i].B, C = made[_i].C;
    grid g = make_grid(made[_i].grid);
    size_t N = g.tokens;
    struct token_source source = little_set();
    real *x = zeros(B * N * C), *again = zeros(B * N * C);
    double worst_mean = 0, worst_variance = 0;
    if (made[_i].images == 0) source.kind = TOKENS_NOISE;

    succeeds(tokens_make(x, B, &g, C, &source, NULL, 0));
    for (size_t b = 0; b < B; b++)
    for (size_t c = 0; c < C; c++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < N; i++) {
            double v = (double)x[(b * N + i) * C + c];
            ck_assert(isfinite(v));
            mean += v / (double)N;
            squares += v * v / (double)N;
        }
        worse(&worst_mean, fabs(mean));
        worse(&worst_variance, fabs(squares - 1));
    }
    double sums = 2 * ((double)N + 8) * 0x1p-53;
    within("means", worst_mean, UNIT_ROUNDOFF + sums * sqrt((double)N));
    within("variances", worst_variance, 2 * UNIT_ROUNDOFF + sums);

    succeeds(tokens_make(again, B, &g, C, &source, NULL, 0));
    ck_assert_double_eq(largest_difference(x, again, B * N * C), 0);
    if (B > 1) beyond("entries of the batch", largest_difference(x, x + N * C, N * C), 0.1);
    if (made[_i].images) {
        source.first = (B - 1) * made[_i].images % COUNT_IN_SET;
        succeeds(tokens_make(again, 1, &g, C, &source, NULL, 0));
        ck_assert_double_eq(largest_difference(x + (B - 1) * N * C, again, N * C), 0);
    }
}
END_TEST

/* H W tokens in a line, and a video of one frame, equal the H x W image.  Frame t shows frame t-1 moved by one token,
 * since patches are as wide as the video's step. */
START_TEST(lines_and_videos)
{
    enum { C = 4 };
    struct token_source source = little_set();
    grid line = make_grid("12"), plane = make_grid("3x4"), frame = make_grid("1x3x4"), video = make_grid("3x3x4");
    real *a = zeros(12 * C), *b = zeros(12 * C), *v = zeros(36 * C);

    succeeds(tokens_make(a, 1, &plane, C, &source, NULL, 0));
    succeeds(tokens_make(b, 1, &line, C, &source, NULL, 0));
    ck_assert_double_eq(largest_difference(a, b, 12 * C), 0);
    succeeds(tokens_make(b, 1, &frame, C, &source, NULL, 0));
    ck_assert_double_eq(largest_difference(a, b, 12 * C), 0);

    succeeds(tokens_make(v, 1, &video, C, &source, NULL, 0));
    for (size_t t = 1; t < 3; t++)
    for (size_t y = 0; y < 3; y++)
        ck_assert_double_eq(largest_difference(v + (t * 3 + y) * 4 * C,
                                               v + (((t - 1) * 3 + y) * 4 + 1) * C, 3 * C), 0);
    beyond("a frame and the next", largest_difference(v, v + 12 * C, 12 * C), 0.1);
}
END_TEST

/* One colour, and a single token: rounding must not be standardised. */
START_TEST(constant_channels_become_zeros)
{
    struct image im = new_image(9, 9, 3);
    for (size_t i = 0; i < 9 * 9 * 3; i++) im.pixels[i] = (real)(i % 3 + 1) / 5;
    succeeds(image_write_png(&im, in_folder("flat.png")));
    image_release(&im);

    struct token_source source = {.path = in_folder("flat.png"), .patch = 3};
    real *x = uniform(1, 35 * 8, 1, 2);
    grid g = make_grid("5x7"), one = make_grid("1");
    char origin[200];
    succeeds(tokens_make(x, 1, &g, 8, &source, origin, sizeof origin));
    ck_assert_double_eq(largest(x, 35 * 8), 0);
    ck_assert_ptr_nonnull(strstr(origin, "flat.png, scaled to cover 15x21 pixels, 3x3 patches"));

    x[0] = 1;
    source = (struct token_source){.kind = TOKENS_NOISE};
    succeeds(tokens_make(x, 1, &one, 8, &source, NULL, 0));
    ck_assert_double_eq(largest(x, 8), 0);
}
END_TEST

/* Least squares over all frequencies but 0.  log |F| of a complex normal deviates by pi / sqrt(24) = 0.64, half of the
 * P - 1 frequencies are independent, so the slope deviates by 0.64 / (s sqrt(P/2)), where log f deviates by s: five of
 * those. */
START_TEST(noise_falls_as_one_over_f)
{
    static const char *const text[] = {"64x64", "17x61", "1x900", "23x9"};
    struct token_source source = {.kind = TOKENS_NOISE, .seed = 5};
    grid g = make_grid(text[_i]);
    struct image im;
    char origin[100];
    succeeds(tokens_frame(&im, &g, 0, &source, origin, sizeof origin));
    ck_assert_str_eq(origin, "1/f noise of seed 5, 4x4 patches");

    size_t H = im.rows, W = im.columns, P = H * W;
    real *out = zeros(P);
    double low = 1, high = 0, n = (double)P - 1, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    succeeds(spectrum(out, im.pixels, 1, H, W, 1));
    for (size_t i = 0; i < P; i++) {
        if ((double)im.pixels[i] < low) low = (double)im.pixels[i];
        if ((double)im.pixels[i] > high) high = (double)im.pixels[i];
    }
    ck_assert(low == 0 && high == 1);

    for (int pass = 0; pass < 2; pass++)
    for (size_t u = 0; u < H; u++)
    for (size_t v = 0; v < W; v++) {
        double f_y = ((double)u - (double)(H / 2)) / (double)H, f_x = ((double)v - (double)(W / 2)) / (double)W;
        if (f_y == 0 && f_x == 0) continue;
        double x = log(hypot(f_y, f_x)), y = (double)out[u * W + v];
        if (pass == 0) {
            mean_x += x / n;
            mean_y += y / n;
        } else {
            xx += (x - mean_x) * (x - mean_x);
            xy += (x - mean_x) * (y - mean_y);
        }
    }
    double tolerance = 5 * 0.64 / (sqrt(xx / n) * sqrt((double)P / 2));
    within("slope of 1/f noise, from -1", fabs(xy / xx + 1), tolerance);
    if (P > 50000) beyond("... from -1.1", fabs(xy / xx + 1.1), tolerance);
    image_release(&im);
}
END_TEST

/* Coefficient n is normal draws 2 n and 2 n + 1 over the frequency.  A pixel passes at most log2(12 20) + 4 stages,
 * each off by a few u of the largest, and the stretch to 0 ... 1 doubles that: 64 u. */
START_TEST(noise_is_the_same_everywhere)
{
    enum { H = 12, W = 20 };
    static double plane[H * W];
    const double turn = 6.283185307179586;
    struct token_source source = {.kind = TOKENS_NOISE};
    grid g = make_grid("3x5");
    struct image im;
    for (source.seed = 5; source.seed < 7; source.seed++) {
        double low = INFINITY, high = -INFINITY, worst = 0;
        for (size_t i = 0; i < H * W; i++) {
            plane[i] = 0;
            for (size_t n = 1; n < H * W; n++) {
                double u = (double)(n / W), v = (double)(n % W);
                double angle = turn * (u * (double)(i / W) / H + v * (double)(i % W) / W);
                double f = hypot(fmin(u, H - u) / H, fmin(v, W - v) / W);
                plane[i] += (random_normal(source.seed, 0x6e6f00000000, 2 * n) * cos(angle)
                             - random_normal(source.seed, 0x6e6f00000000, 2 * n + 1) * sin(angle)) / f;
            }
            if (plane[i] < low) low = plane[i];
            if (plane[i] > high) high = plane[i];
        }
        succeeds(tokens_frame(&im, &g, 0, &source, NULL, 0));
        ck_assert(im.rows == H && im.columns == W);
        for (size_t i = 0; i < H * W; i++)
            worse(&worst, fabs((double)im.pixels[i] - (plane[i] - low) / (high - low)));
        within("noise", worst, 64 * UNIT_ROUNDOFF);
        image_release(&im);
    }
}
END_TEST

START_TEST(without_the_data_set)
{
    real *x = zeros(12), *noise = zeros(12);
    grid g = make_grid("3x4");
    char origin[200], brief[8];
    struct token_source source = {.path = "/nowhere/at\nall", .patch = 2};
    struct token_source plain = {.kind = TOKENS_NOISE, .patch = 2};

    succeeds(tokens_make(x, 1, &g, 1, &source, origin, sizeof origin));
    ck_assert_str_eq(origin, "1/f noise of seed 0, 2x2 patches: no images at /nowhere/at?all");
    succeeds(tokens_make(noise, 1, &g, 1, &plain, brief, sizeof brief));
    ck_assert_str_eq(brief, "1/f noi");
    ck_assert_double_eq(largest_difference(x, noise, 12), 0);
    source.kind = TOKENS_IMAGES;
    refused(tokens_make(x, 1, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "cannot be opened: No such file");

    /* A path that cannot lead to a file is a mistake, not an absent data set. */
    (void)little_set();
    source = (struct token_source){.path = in_folder("set/file")};
    refused(tokens_make(x, 1, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "Not a directory");

    source = little_set();
    source.first = 7;
    refused(tokens_make(x, 1, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "image 7 asked for, the file has 7");
    source.first = 0;
    refused(tokens_make(x, 0, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "batch 0");
    refused(tokens_make(x, 1, &g, 0, &source, NULL, 0), STATUS_BAD_INPUT, "0 channels");
    source.patch = 257;
    refused(tokens_make(x, 1, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "patches of 257 pixels");
    source.patch = 256;
    grid huge = make_grid("1000x1000");
    refused(tokens_make(x, 1, &huge, 1, &source, NULL, 0), STATUS_BAD_INPUT, "256000 x 256000 pixels");

    /* A broken file is an error, not an absent one. */
    write_bytes(in_folder("broken"), (const unsigned char *)"\x1f\x8b\x08", 3);
    source = (struct token_source){.path = in_folder("broken")};
    refused(tokens_make(x, 1, &g, 1, &source, NULL, 0), STATUS_BAD_INPUT, "broken");
}
END_TEST

/* Six blocks, each rounded up to lines of 64 bytes. */
START_TEST(bytes_of_tokens_are_known_beforehand)
{
    struct image im = random_image(8, 60, 60, 3);
    grid g = make_grid("20x30");
    size_t said, before = memory_in_use(), photo = 60 * 60 * 3;
    real *x = zeros(2 * 600 * 24);
    struct token_source set = little_set(), noise = {.kind = TOKENS_NOISE}, png = {.path = in_folder("image.png")};
    const struct { const struct token_source *source; size_t held; } z[] = {
        {&set, 0}, {&noise, 0}, {&png, photo * sizeof(real)},
    };
    succeeds(image_write_png(&im, png.path));
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
END_TEST

START_TEST(no_memory)
{
    struct image im = random_image(8, 6, 6, 3), made;
    grid g = make_grid("2x3");
    real *x = zeros(2 * 6 * 3);
    struct token_source set = little_set(), noise = {.kind = TOKENS_NOISE}, png = {.path = in_folder("image.png")};
    const struct token_source *source[] = {&set, &noise, &png};
    succeeds(image_write_png(&im, png.path));

    for (int call = 0; call < 10; call++) {
        long requests = 0;
        for (status s = failure("not yet"); s.code; requests++) {
            size_t before = memory_in_use();
            made = (struct image){0};
            memory_fail_after(requests);
            if (call < 3) s = tokens_make(x, 2, &g, 3, source[call], NULL, 0);
            else if (call < 6) s = tokens_frame(&made, &g, 0, source[call - 3], NULL, 0);
            else if (call == 6) s = image_read_png(&made, png.path);
            else if (call == 7) s = image_write_png(&im, png.path);
            else if (call == 8) s = image_fit(&made, &im, 3, 3);
            else s = image_block_means(&made, &im, 2);
            memory_fail_after(-1);
            if (!s.code) image_release(&made);
            else refused(s, STATUS_FAILURE, "not enough memory");
            ck_assert_uint_eq(memory_in_use(), before);
        }
        ck_assert_int_gt(requests, 1);
    }
    image_release(&im);
}
END_TEST

START_TEST(the_default_data_set)
{
    struct image_set set;
    struct stat about;
    char origin[200];
    if (stat(IMAGES_DEFAULT, &about) != 0) {
        printf("skipped: no data set at %s\n", IMAGES_DEFAULT);
        return;
    }
    succeeds(image_set_open(&set, IMAGES_DEFAULT));
    ck_assert(set.count == 10000 && set.rows == 28 && set.columns == 28);
    image_set_close(&set);

    struct token_source source = {0};
    grid g = make_grid("14x14");
    real *x = zeros(2 * 196 * 3);
    succeeds(tokens_make(x, 2, &g, 3, &source, origin, sizeof origin));
    ck_assert_str_eq(origin, "images 0 ... 7 of Fashion-MNIST (test), mosaics of 2x2, 4x4 patches");
}
END_TEST

static void empty_folder(void)
{
    files(true);
}

static TCase *add_folder_case(Suite *suite, const char *name)
{
    TCase *c = add_case(suite, name);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_checked_fixture(c, empty_folder, NULL);
    return c;
}

int main(void)
{
    Suite *suite = suite_create("images");
    TCase *sets = add_folder_case(suite, "IDX");
    TCase *png = add_folder_case(suite, "PNG");
    TCase *tokens = add_folder_case(suite, "tokens");

    tcase_add_loop_test(sets, idx_gives_back_its_bytes, 0, 2);
    tcase_add_loop_test(sets, idx_headers_that_lie, 0, 24);
    tcase_add_test(sets, idx_files_that_are_damaged);
    tcase_add_test(sets, idx_files_with_a_byte_more);
    tcase_add_test(sets, what_is_not_a_file);
    tcase_add_test(png, png_there_and_back);
    tcase_add_test(png, png_of_other_kinds);
    tcase_add_loop_test(png, png_of_every_encoding, 0, COUNT(encodings));
    tcase_add_test(png, png_files_that_lie);
    tcase_add_test(png, limits_are_limits);
    tcase_add_test(png, png_that_cannot_be_written);
    tcase_add_test(png, png_without_memory_is_a_failure);
    tcase_add_test(png, fitting);
    tcase_add_test(png, block_means);
    tcase_add_loop_test(tokens, the_canvas_is_a_mosaic, 0, 4);
    tcase_add_test(tokens, tokens_are_projected_patches);
    tcase_add_loop_test(tokens, channels_are_standardised, 0, 8);
    tcase_add_test(tokens, lines_and_videos);
    tcase_add_test(tokens, constant_channels_become_zeros);
    tcase_add_loop_test(tokens, noise_falls_as_one_over_f, 0, 4);
    tcase_add_test(tokens, noise_is_the_same_everywhere);
    tcase_add_test(tokens, without_the_data_set);
    tcase_add_test(tokens, bytes_of_tokens_are_known_beforehand);
    tcase_add_test(tokens, no_memory);
    tcase_add_test(tokens, the_default_data_set);
    return run_suite(suite);
}
