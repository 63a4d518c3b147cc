/* images.h -- pictures in, pictures out
 *
 * An image is [rows][columns][channels] of reals, 0 black ... 1 white: the
 * bytes of the file over 255, in the file's own (sRGB) scale.  It owns its
 * pixels.
 *
 * Two formats are read.  IDX is how MNIST and its likes keep many small grey
 * images of one size in one file, gzipped or not: a header of four big-endian
 * words (0x00000803, images, rows, columns), then one byte a pixel.  PNG goes
 * through libpng.  Both take regular files only: a folder, a pipe or a device
 * is refused at once and never waited for.  A file that contradicts itself is
 * refused before anything is allocated by its word, and a JPEG, GIF, BMP, WebP, TIFF
 * or HEIF image by its name.
 *
 * What zlib and libpng keep for themselves is not seen by memory.h. */

#ifndef TWICETOLD_IMAGES_H
#define TWICETOLD_IMAGES_H

#include <limits.h>
#include <stdbool.h>
#include "../memory.h"
#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Debian's dataset-fashion-mnist: 10 000 images of 28 x 28. */
#define IMAGES_DEFAULT "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"

#define IMAGE_PIXELS_MAX ((size_t)1 << 26)      /* rows x columns of one image in a file */
#define IMAGE_SET_BYTES_MAX ((size_t)INT_MAX)   /* all images of an IDX file together */

struct image {
    size_t rows, columns, channels;     /* each at least 1 */
    real *pixels;
};

/* An image of this size, its pixels uninitialised; and its end, which an
 * image of zeros accepts too, and which may come twice. */
status image_create(struct image *im, size_t rows, size_t columns, size_t channels);
void image_release(struct image *im);

struct image_set {                      /* an IDX file, open */
    size_t count, rows, columns;
    void *stream;
};

/* Opens an IDX file and reads it through once, holding nothing, so that its
 * length and its checksum are known to be right: some 25 ms for the 10 000 images
 * of IMAGES_DEFAULT.  Refused: a wrong magic number, element type or number
 * of axes, a size of 0, sizes beyond the limits above, data that are too
 * short or too long, broken gzip.  What follows the last gzip member is not
 * looked at, as gzip has it.  After an error there is nothing to close. */
status image_set_open(struct image_set *set, const char *path);

/* pixels [count][rows][columns] = images first ... first+count-1, which must
 * all be there.  Going forward is cheap; in a gzipped file going back starts
 * over.  One thread at a time. */
status image_set_read(real *pixels, struct image_set *set, size_t first, size_t count);
void image_set_close(struct image_set *set);

/* Whether the file begins as a PNG does. */
status image_is_png(bool *png, const char *path);

/* The image in a PNG file: 1 channel when it is grey, 3 when it is coloured or has a
 * palette, 8 bits each.  16 bits are rounded to the nearest of 0, 1/255 ... 1; Pillow keeps
 * the upper 8 of a coloured image, and torchvision all 16.  The chunks gAMA, sRGB, cHRM and
 * iCCP are ignored, as both do.  Transparent pixels are laid on black: a byte is multiplied
 * by its alpha, without a curve, and rounded. */
status image_read_png(struct image *im, const char *path);

/* Writes 8-bit grey (1 channel) or RGB (3): v is rounded to the nearest of
 * 0, 1/255 ... 1; beyond is clipped and NaN is black.  path has the complete image or what it
 * had before (atomic_file.h).
 * Refused: other numbers of channels; a path that cannot be a file. */
status image_write_png(const struct image *im, const char *path);

/* fitted = im, scaled by one factor to cover rows x columns, centred, what
 * sticks out cut off.  Each pixel is the tent-weighted mean of the source
 * within one pixel pitch of its centre, the coarser of the two pitches: that
 * is bilinear when enlarging and free of aliases when shrinking.  Creates
 * fitted. */
status image_fit(struct image *fitted, const struct image *im, size_t rows, size_t columns);

/* The same with a factor for each axis, so that all of im is there and nothing is cut off. */
status image_stretch(struct image *fitted, const struct image *im, size_t rows, size_t columns);

/* small [rows/patch][columns/patch][1] = the mean of each patch x patch block
 * over all channels; rows and columns must be multiples of patch.  Creates
 * small. */
status image_block_means(struct image *small, const struct image *im, size_t patch);

#ifdef __cplusplus
}
#endif

#endif
