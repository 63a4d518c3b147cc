/* photo.h -- photographs as input of ImageNet classifiers
 *
 * The photograph is scaled by one factor until it covers floor(H / crop) x floor(W / crop) pixels, and the middle H x W
 * are kept.  The mean of ImageNet's colours is subtracted, and the result divided by their deviation.  Crops:
 *
 *     LITv2, Swin        224/256, as 256 for 224   data/build.py of both
 *     LITv2-B at 384     none: each axis is scaled to 384 by its own factor     litv2-base-finetune-384.yaml
 *     ELSA-Swin          0.9, as 248 for 224       crop_pct in elsa_swin.py
 *     others             224/256                   no public code
 *
 * Scaling is bilinear and free of aliases (images.h).  The authors use PIL's sharper, bicubic kernel. */

#pragma once
#include "../io/images.h"
#include "network.h"

BEGIN_C_DECLS

/* Computes x [H][W][3] from a photograph.  Fails only if memory is exhausted. */
status photo_prepare(real *x, const struct image *im, const struct photo_recipe *recipe, size_t H, size_t W);

/* The same from a PNG or JPEG file.  With one channel, x [H][W] is the image in grey, 0 ... 1, scaled to cover H x W and
 * cut. */
status photo_read(real *x, const char *path, const struct photo_recipe *recipe, size_t H, size_t W, size_t channels);

/* Describes the recipe, "scaled to cover 248x248 pixels, the middle 224x224 kept"; returns text. */
const char *photo_text(char *text, size_t size, const struct photo_recipe *recipe, size_t H, size_t W);

END_C_DECLS
