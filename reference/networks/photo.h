/* photo.h -- a picture as classifiers of ImageNet are given it
 *
 * Scaled by one factor until it covers 256/224 of the target, the middle cut out, the mean
 * of ImageNet's colours taken off and their deviation divided by.  The scaling is
 * image_fit's, bilinear and free of aliases.  The authors' recipes have PIL's bicubic,
 * whose kernel is wider and dips below zero: edges come out a little sharper there,
 * and logits differ by as much.  A grey picture counts as three equal colours. */

#ifndef TWICETOLD_PHOTO_H
#define TWICETOLD_PHOTO_H

#include "../instruments/images.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x [H][W][3] of the middle of an image.  Fails when memory is out. */
status photo_prepare(real *x, const struct image *im, size_t H, size_t W);

/* The same of a PNG file; refused is any other.  With one channel x [H][W] is the whole
 * image in grey, 0 ... 1, as the data sets of tiny networks have it. */
status photo_read(real *x, const char *path, size_t H, size_t W, size_t channels);

#ifdef __cplusplus
}
#endif

#endif
