/* images.c -- fuzz target: the readers of images
 *
 * The first byte, modulo 3, selects how the others become a file: as they are; with corrected PNG checksums;
 * compressed, for IDX.  The second byte is the size to which an image is scaled. */

#include "fuzz.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "../../reference/io/tokens.h"

#define MOST ((size_t)32 << 20)         /* memory in bytes */

/* Corrects the CRC at the end of each PNG chunk: length, name, data, CRC of name and data. */
static void correct_sums(uint8_t *png, size_t size)
{
    for (size_t at = 8; at + 12 <= size;) {
        size_t length = (size_t)png[at] << 24 | (size_t)png[at + 1] << 16 | (size_t)png[at + 2] << 8 | png[at + 3];
        if (length > size - at - 12) return;
        unsigned long sum = crc32(0, png + at + 4, (unsigned)length + 4);
        for (int b = 0; b < 4; b++) png[at + 8 + length + (size_t)b] = (uint8_t)(sum >> (24 - 8 * b));
        at += 12 + length;
    }
}

static const char *compress_file(const uint8_t *bytes, size_t size)
{
    gzFile z = gzopen("in", "wb1");
    int written = z && size ? gzwrite(z, bytes, (unsigned)size) : 0;
    return !z || gzclose(z) != Z_OK || written != (int)size ? wrong("in: cannot be compressed") : NULL;
}

static const char *within_bounds(const real *pixels, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (!(pixels[n] >= 0 && pixels[n] <= 1 + 1e-5)) return wrong("pixel %zu is %g", n, (double)pixels[n]);
    return NULL;
}

static const char *attempt_picture(size_t side)
{
    struct image im, fitted;
    status s = image_read_picture(&im, "in");
    const char *fault = wrong_status(s);
    if (fault || s.code) return fault;
    fault = within_bounds(im.pixels, im.rows * im.columns * im.channels);
    s = image_fit(&fitted, &im, side, 2 * side + 1);
    if (!fault) fault = wrong_status(s);
    if (!fault && !s.code) fault = within_bounds(fitted.pixels, fitted.rows * fitted.columns * fitted.channels);
    if (!s.code) image_release(&fitted);
    image_release(&im);
    return fault;
}

/* Reads the last image, then up to 65,536 pixels; nothing if an image has more. */
static const char *attempt_set(void)
{
    struct image_set set;
    status s = image_set_open(&set, "in");
    const char *fault = wrong_status(s);
    if (fault || s.code) return fault;
    size_t pixels = set.rows * set.columns, few = 65536 / pixels < set.count ? 65536 / pixels : set.count;
    real *data = memory_reals(few ? few : 1, pixels, 1, 1);
    if (data && few) {
        s = image_set_read(data, &set, set.count - 1, 1);
        if (!s.code) s = image_set_read(data, &set, 0, few);
        fault = s.code ? wrong("opened but not read: %s", s.message) : within_bounds(data, few * pixels);
    }
    memory_free(data);
    image_set_close(&set);
    return fault;
}

static const char *attempt_tokens(size_t patch)
{
    grid g;
    real x[2 * 12 * 3];
    char origin[80];
    struct token_source source = {.kind = TOKENS_IMAGES, .path = "in", .patch = patch, .seed = 1};
    if (grid_parse(&g, "3x4").code) return wrong("3x4 is no grid");
    status s = tokens_make(x, 2, &g, 3, &source, origin, sizeof origin);
    const char *fault = wrong_status(s);
    for (size_t n = 0; n < sizeof x / sizeof *x && !s.code && !fault; n++)
        if (!(fabs((double)x[n]) <= 4)) fault = wrong("token %zu is %g", n / 3, (double)x[n]);
    return fault;
}

const char *fuzz_images(const uint8_t *bytes, size_t size)
{
    struct bytes b = {bytes, size};
    unsigned kind = choose(&b, 3), side = choose(&b, 24) + 1;
    bool picture;
    uint8_t *file = malloc(b.left + 1);
    if (file && b.left) memcpy(file, b.next, b.left);
    if (file && kind == 1) correct_sums(file, b.left);
    const char *fault = !file ? wrong("no memory") : kind == 2 ? compress_file(file, b.left)
                                                               : write_file("in", file, b.left);
    free(file);

    memory_set_limit(memory_in_use() + MOST);
    if (!fault) fault = wrong_status(image_is_picture(&picture, "in"));
    if (!fault) fault = attempt_picture(side);
    if (!fault) fault = attempt_set();
    return fault ? fault : attempt_tokens(side);
}
