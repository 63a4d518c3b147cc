/* photo.c -- photographs as input of ImageNet classifiers; see photo.h */

#include "photo.h"
#include <math.h>
#include <stdio.h>

/* Pixels of a side that the scaled photograph covers: by default 256 for 224. */
static size_t covered(const struct photo_recipe *recipe, size_t side)
{
    double crop = recipe->crop > 0 ? recipe->crop : 224. / 256;
    return (size_t)floor((double)side / crop);
}

static bool squeezed(const struct photo_recipe *recipe, size_t H, size_t W)
{
    return recipe->squeezed && recipe->squeezed == H && recipe->squeezed == W;
}

status photo_prepare(real *x, const struct image *im, const struct photo_recipe *recipe, size_t H, size_t W)
{
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    struct image fitted = {0};
    bool whole = squeezed(recipe, H, W);
    status s = whole ? image_stretch(&fitted, im, H, W)
                     : image_fit(&fitted, im, covered(recipe, H), covered(recipe, W));
    if (s.code) return s;
    size_t top = (fitted.rows - H) / 2, left = (fitted.columns - W) / 2;
    for (size_t n = 0; n < H * W; n++)
        for (size_t c = 0; c < 3; c++) {
            size_t pixel = (top + n / W) * fitted.columns + left + n % W;
            real value = fitted.pixels[pixel * fitted.channels + (fitted.channels == 3 ? c : 0)];
            x[n * 3 + c] = (real)(((double)value - mean[c]) / deviation[c]);
        }
    image_release(&fitted);
    return s;
}

const char *photo_text(char *text, size_t size, const struct photo_recipe *recipe, size_t H, size_t W)
{
    if (squeezed(recipe, H, W)) snprintf(text, size, "scaled to %zux%zu pixels, nothing cut off", H, W);
    else snprintf(text, size, "scaled to cover %zux%zu pixels, the middle %zux%zu kept", covered(recipe, H),
                  covered(recipe, W), H, W);
    return text;
}

/* Computes x [H][W], the mean of the colours, 0 ... 1; the image is scaled to cover H x W and cut. */
static status prepare_grey(real *x, const struct image *im, size_t H, size_t W)
{
    struct image fitted = {0};
    status s = image_fit(&fitted, im, H, W);
    for (size_t n = 0; n < H * W && !s.code; n++) {
        double sum = 0;
        for (size_t c = 0; c < fitted.channels; c++) sum += (double)fitted.pixels[n * fitted.channels + c];
        x[n] = (real)(sum / (double)fitted.channels);
    }
    image_release(&fitted);
    return s;
}

status photo_read(real *x, const char *path, const struct photo_recipe *recipe, size_t H, size_t W, size_t channels)
{
    struct image im = {0};
    char where[120];
    bool picture;
    status s = image_is_picture(&picture, path);
    snprintf(where, sizeof where, "%.110s", path);
    if (!s.code && !picture) return status_at(bad_input("found neither PNG nor JPEG, expected one; --input takes tensors"), where);
    if (!s.code) s = image_read_picture(&im, path);
    if (s.code) return s;                       /* it names the path */
    s = channels == 1 ? prepare_grey(x, &im, H, W) : photo_prepare(x, &im, recipe, H, W);
    image_release(&im);
    return status_at(s, where);
}
