/* tokens.h -- tokens of real images, for measurements and figures
 *
 * A grid of H x W tokens is cut from a canvas of Hp x Wp pixels, one p x p patch per token.  Patches go through one
 * seeded matrix of normal numbers to C channels, and every channel is standardised over the tokens of one image.  The
 * canvas is
 *
 *   - a mosaic of images of an IDX file, row by row, the last ones cut off; each entry of the batch takes the next
 *     images, and the first image follows the last;
 *   - or a PNG or JPEG file, scaled to cover it (image_fit), the same for all entries;
 *   - or 1/f noise, new for every entry: independent normal Fourier coefficients with deviation 1/f, f in cycles per
 *     pixel.
 *
 * A grid of one axis takes its N tokens row-major from the smallest nearly square grid that holds them: W = ceil(sqrt
 * N), H = ceil(N / W).  A grid of three axes is a video of a camera that pans to the right: frame t begins at column 2
 * t.
 *
 * A seed gives the same tokens on every platform, up to the rounding of sums. */

#pragma once
#include <stdint.h>
#include "../runtime/grid.h"
#include "images.h"

BEGIN_C_DECLS

#define TOKEN_PATCH 4           /* pixels, the default */
#define TOKEN_PATCH_MAX 256
#define TOKEN_PAN 2             /* pixels from one frame to the next */

enum token_kind {
    TOKENS_IMAGES_OR_NOISE,     /* noise if there is no such file; origin says so */
    TOKENS_IMAGES,              /* an error if there is no such file */
    TOKENS_NOISE
};

struct token_source {           /* zeros are the plain default */
    enum token_kind kind;
    const char *path;           /* IDX, PNG or JPEG; NULL is IMAGES_DEFAULT */
    size_t patch;               /* p; 0 is TOKEN_PATCH */
    size_t first;               /* first image of the file (0 for a picture); ignored for noise */
    uint64_t seed;
};

/* Makes x [batch][N][C].  Writes one line about its source to origin (`size` bytes; may be NULL): "images 0 ... 3 of
 * Fashion-MNIST (test), mosaics of 2x2, 4x4 patches".  A channel that is the same in all tokens (N = 1, or a canvas of
 * one colour) becomes zeros.
 *
 * Rejected: batch or channels of 0, a patch above TOKEN_PATCH_MAX, a canvas above INT_MAX pixels, `first` beyond the
 * file, a file that image_set_open or image_read_picture rejects.  Memory: the canvas, for noise a complex one too, N p
 * p values for each colour, the matrix, and the source. */
status tokens_make(real *x, size_t batch, const grid *g, size_t channels, const struct token_source *source,
                   char *origin, size_t size);

/* Upper bound of the bytes that tokens_make takes, without x and the source. */
status tokens_bytes(size_t *bytes, const grid *g, size_t channels, const struct token_source *source);

END_C_DECLS
