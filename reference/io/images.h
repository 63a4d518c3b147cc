/* images.h -- read IDX, PNG and JPEG, scale
 *
 * An image is [rows][columns][channels] of reals, 0 black ... 1 white: the bytes of the file over 255, in the file's
 * own (sRGB) scale.  It owns its pixels.
 *
 * IDX is the format of MNIST: many small grey images of one size in one file, gzipped or not.  The header is four
 * big-endian words (0x00000803, images, rows, columns); then comes one byte per pixel.  PNG is read by libpng,
 * and JPEG by libjpeg, if the build has it.
 *
 * Only regular files are read: a folder, a pipe or a device is rejected without waiting for it.  A file that
 * contradicts itself is rejected before its sizes allocate anything; GIF, BMP, WebP, TIFF and HEIF are rejected by
 * name.
 *
 * memory.h does not count the memory of zlib, libpng and libjpeg. */

#pragma once
#include <limits.h>
#include <stdbool.h>
#include "../runtime/memory.h"
#include "../runtime/status.h"

BEGIN_C_DECLS

/* Debian's dataset-fashion-mnist: 10 000 images of 28 x 28. */
#define IMAGES_DEFAULT "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"

#define IMAGE_PIXELS_MAX ((size_t)1 << 26)      /* rows x columns of one image in a file */
#define IMAGE_SET_BYTES_MAX ((size_t)INT_MAX)   /* all images of an IDX file together */

struct image {
    size_t rows, columns, channels;     /* each at least 1 */
    real *pixels;
};

/* An image of this size, its pixels uninitialised.  A zeroed image may be released, and any image twice. */
status image_create(struct image *im, size_t rows, size_t columns, size_t channels);
void image_release(struct image *im);

struct image_set {                      /* an IDX file, open */
    size_t count, rows, columns;
    void *stream;
};

/* Open an IDX file and read it once to check its length and checksum.  Rejected: a wrong magic number, element type or
 * number of axes, a size of 0, sizes beyond the limits above, data that are too short or too long, broken gzip.  Bytes
 * after the last gzip member are ignored.  After an error nothing is open. */
status image_set_open(struct image_set *set, const char *path);

/* pixels [count][rows][columns] = images first ... first+count-1, which must exist.  Reading forward is cheap; reading
 * back in a gzipped file starts over.  One thread at a time. */
status image_set_read(real *pixels, struct image_set *set, size_t first, size_t count);
void image_set_close(struct image_set *set);

/* *picture = true if the file begins with the signature of PNG or JPEG. */
status image_is_picture(bool *picture, const char *path);

/* The image in a PNG or JPEG file: 1 channel if it is grey, 3 if it is coloured or has a palette, 8 bits each; 16 bits
 * are rounded.  The chunks gAMA, sRGB, cHRM and iCCP are ignored, as Pillow and torchvision do.  Transparent pixels are
 * composited on black: a byte is multiplied by its alpha, without gamma, and rounded.
 *
 * Of a JPEG, EXIF is ignored: a photograph that a camera took upright may lie on its side.  Other channels than grey,
 * YCbCr or RGB (CMYK) are rejected, and so are damaged or truncated data. */
status image_read_picture(struct image *im, const char *path);

/* Create fitted: im, scaled by one factor to cover rows x columns and centred; the rest is cut off.  Each pixel is a
 * weighted mean of the source: a tent around its centre, whose radius is one pixel of the coarser image. */
status image_fit(struct image *fitted, const struct image *im, size_t rows, size_t columns);

/* The same with a factor for each axis: nothing is cut off. */
status image_stretch(struct image *fitted, const struct image *im, size_t rows, size_t columns);

END_C_DECLS
