/* photo.h -- a photograph as a classifier of ImageNet gets it
 *
 * The photograph is scaled by one factor until it covers floor(H / crop) x floor(W / crop)
 * pixels, and the middle H x W are kept.  Then the mean of ImageNet's colours is subtracted
 * and the result divided by their deviation.  The crop belongs to the network:
 *
 *     LITv2, Swin        224/256, as 256 for 224   data/build.py of both
 *     LITv2-B at 384     no crop: the whole photograph is scaled to 384 x 384, each axis
 *                        by its own factor         litv2-base-finetune-384.yaml
 *     ELSA-Swin          0.9, as 248 for 224       crop_pct in elsa_swin.py
 *     others             224/256                   no public code
 *
 * Scaling is bilinear and free of aliases (images.h).  The authors scale by PIL's bicubic
 * kernel, which is wider and has negative parts: edges are a little sharper there.  A grey
 * photograph counts as three equal colours. */

#ifndef TWICETOLD_PHOTO_H
#define TWICETOLD_PHOTO_H

#include "../io/images.h"
#include "network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x [H][W][3] of a photograph.  Fails when memory is out. */
status photo_prepare(real *x, const struct image *im, const struct photo_recipe *recipe, size_t H, size_t W);

/* The same of a PNG file; other files are rejected.  With one channel x [H][W] is the whole
 * image in grey, 0 ... 1, as the data sets of tiny networks have it. */
status photo_read(real *x, const char *path, const struct photo_recipe *recipe, size_t H, size_t W, size_t channels);

/* "scaled to cover 248x248 pixels, the middle 224x224 kept": the recipe in words; returns text. */
const char *photo_text(char *text, size_t size, const struct photo_recipe *recipe, size_t H, size_t W);

#ifdef __cplusplus
}
#endif

#endif
