/* tokens.h -- tokens of real images, for measurements and figures
 *
 * A grid of H x W tokens is cut from a canvas of Hp x Wp pixels, one p x p
 * patch a token.  The patch, p p values for each colour of the image, goes
 * through one seeded matrix of normal draws to C channels; then every channel
 * is standardised over the tokens of one image: mean 0, variance 1.  This is
 * the patch embedding of a vision transformer before it is trained.
 *
 * The canvas is
 *   - a mosaic of as many images of an IDX file as cover it, row by row, the
 *     last ones cut off; every entry of the batch takes the next images, and
 *     after the last image of the file comes its first;
 *   - or a PNG file, scaled to cover it (image_fit), the same for all entries;
 *   - or 1/f noise: independent normal Fourier coefficients whose deviation is
 *     1/f, f in cycles per pixel, as the amplitudes of natural images fall;
 *     stretched to fill 0 ... 1, a new one for every entry.
 *
 * A grid of one axis takes its N tokens row-major from the smallest
 * nearly square grid that holds them: W = ceil(sqrt N), H = ceil(N / W).  A
 * grid of three axes is a video: frame t looks at a canvas that is wider by
 * 2 (T-1) pixels from 2 t pixels on: the camera pans to the right.
 *
 * The same seed gives the same tokens on every platform, up to the rounding of
 * sums. */

#ifndef TWICETOLD_TOKENS_H
#define TWICETOLD_TOKENS_H

#include <stdint.h>
#include "../grid.h"
#include "images.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TOKEN_PATCH 4           /* pixels, where the source does not say */
#define TOKEN_PATCH_MAX 256
#define TOKEN_PAN 2             /* pixels from one frame to the next */

enum token_kind {
    TOKENS_IMAGES_OR_NOISE,     /* noise where there is no such file, and origin says so */
    TOKENS_IMAGES,              /* refused where there is no such file */
    TOKENS_NOISE
};

struct token_source {           /* zeros are the plain default */
    enum token_kind kind;
    const char *path;           /* IDX or PNG; NULL is IMAGES_DEFAULT */
    size_t patch;               /* p; 0 is TOKEN_PATCH */
    size_t first;               /* of the images in the file (0 for PNG); not read for noise */
    uint64_t seed;
};

/* x [batch][N][C], and into origin (of `size` bytes, may be NULL) what they
 * were made of, one line: "images 0 ... 3 of Fashion-MNIST (test), mosaics of
 * 2x2, 4x4 patches".  A channel that is the same in all tokens, as it is when
 * N = 1 or the canvas has one colour, becomes zeros.
 *
 * Refused: batch or channels of 0, a patch above TOKEN_PATCH_MAX, `first`
 * beyond the file, a file that image_set_open and image_read_png refuse.
 * Memory: the canvas, N p p values for each colour, the matrix, and what is
 * held of the file. */
status tokens_make(real *x, size_t batch, const grid *g, size_t channels, const struct token_source *source,
                   char *origin, size_t size);

/* Bytes that tokens_make takes at most, beside x and what it holds of the file. */
status tokens_bytes(size_t *bytes, const grid *g, size_t channels, const struct token_source *source);

/* What the tokens of the first entry see, for figures: frame t of the canvas
 * (t = 0 unless the grid has three axes), Hp x Wp pixels; image_block_means
 * with p reduces it to one value a token.  A grid of one axis gives the canvas
 * of the nearly square grid.  Creates frame. */
status tokens_frame(struct image *frame, const grid *g, size_t t, const struct token_source *source,
                    char *origin, size_t size);

#ifdef __cplusplus
}
#endif

#endif
