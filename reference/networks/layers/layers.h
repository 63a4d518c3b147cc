/* layers.h -- the layers between the operators of a network
 *
 * A layer is declared like an operator.  It has one form, `layer`, which is also found as naive and as fast.  x is
 * [B][N][C], tokens row-major on a grid.  Optional tensors have a ?.
 *
 *     patch      y = W windows(x) + b: a convolution of any size, stride and zero padding; with
 *                --kind mean a map of the mean of M entries
 *                w [D][C][M], or [D][C]  b? [D]                               y [B][N'][D]
 *     norm       layer norm, or batch norm with a kept mean and variance of each channel
 *                g [C]  b [C]  and for --kind batch mean [C]  var [C]         y [B][N][C]
 *     mlp        y = W_2 gelu(W_1 x + b_1) + b_2, or with --depthwise gelu(conv(W_1 x + b_1)),
 *                a 3 x 3 convolution of each channel with zero padding
 *                w_1 [rC][C]  b_1? [rC]  conv_w [rC][3][3]  conv_b? [rC]
 *                w_2 [C][rC]  b_2? [C]                                        y [B][N][C]
 *     depthwise  a convolution of each channel, odd sizes, stride 1, zero padding; with --kind mean
 *                the mean of M entries, without w and b
 *                w [C][M]  b? [C]                                             y [B][N][C]
 *     linear     y = W x + b, or with --gelu gelu of that
 *                w [D][C]  b? [D]                                             y [B][N][D]
 *     merge      2 x 2 tokens joined, (row, column) = (0,0), (1,0), (0,1), (1,1);
 *                a layer norm of their 4C channels; a linear map without bias
 *                norm_g [4C]  norm_b [4C]  w [2C][4C]                         y [B][N/4][2C]
 *     deform     a deformable 2 x 2 convolution of stride 2, batch norm, gelu
 *                w [2C][C][2][2]  b? [2C]  offset_w [8][C][2][2]  offset_b? [8]
 *                norm_g, norm_b, norm_mean, norm_var [2C]                     y [B][N/4][2C]
 *     position   y = x + table
 *                table [N][C]                                                 y [B][N][C]
 *     head       y = W mean(x) + b, the mean over the tokens
 *                w [K][C]  b? [K]                                             y [B][K]
 *
 * gelu is exact.  Convolutions correlate; their weights are in PyTorch's order, the M entries of a window row-major.
 * Linear maps, except the head's, hold a packed copy of their weights.  Each file states the multiply-adds of its
 * layer.
 *
 * Errors: windows larger than the padded grid; odd sides for merge and deform; --depthwise on a grid that is not a
 * plane; sizes above INT_MAX. */

#pragma once
#include "../../runtime/forms.h"

BEGIN_C_DECLS

extern const struct declaration layer_patch, layer_norm_of_tokens, layer_mlp, layer_depthwise, layer_linear,
    layer_merge, layer_deform, layer_position, layer_head;

extern const struct form_row layer_forms[];

/* Layer number `at`, NULL after the last; the layer of that name, or NULL. */
const struct declaration *layer_at(int at);
const struct declaration *layer_find(const char *name);

/* The grid of y's tokens: that of x, except for patch, merge and deform. */
grid layer_grid(const struct problem *p);

/* The grid of a patch's windows. */
status layer_patch_grid(grid *out, const struct problem *p);

END_C_DECLS
