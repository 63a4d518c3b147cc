/* litv2.c -- LITv2: Pan, Cai and Zhuang, "Fast Vision Transformers with HiLo Attention", NeurIPS 2022, Tab. 7
 *
 * Stages 1 and 2 have no mixer.  Stage 3 has HiLo with windows of 2 x 2 and nine tenths of the heads in Lo-Fi; stage 4
 * plain attention, which is HiLo with windows of 1.  Every MLP convolves its hidden channels; the zeros around the
 * plane are all that depends on the position.  Deformable convolutions join the stages.  All maps have biases. */

#include "stages.h"

static const struct network_step embed[] = {STEPS_EMBED("--size 4"), {0}};
static const struct network_step deform[] = {{.name = "deform", .move = ON, .what = "deform"}, {0}};

#define STEP_CONV_MLP {.name = "mlp", .move = JOIN, .what = "mlp", .options = "--depthwise"}
static const struct network_step feed[] = {STEP_NORM2, STEP_CONV_MLP, {0}};
static const struct network_step hilo[] = {
    STEP_NORM1, {.name = "mixer", .move = JOIN, .what = "hilo", .options = "--heads %h --window 2 --alpha 0.9"},
    STEP_NORM2, STEP_CONV_MLP, {0}};
static const struct network_step attention[] = {
    STEP_NORM1, {.name = "mixer", .move = JOIN, .what = "hilo", .options = "--heads %h --window 1"},
    STEP_NORM2, STEP_CONV_MLP, {0}};
static const struct network_step end[] = {STEPS_END, {0}};

#define LITV2(called, title, third, C, side) { \
    .name = called, .summary = title " (Pan et al. 2022)", .grid = "224x224", .end = end, .photo = {.squeezed = side}, \
    .stage = {{2, C, C / 32, embed, feed}, {2, 2 * C, C / 16, deform, feed}, {third, 4 * C, C / 8, deform, hilo}, \
              {2, 8 * C, C / 4, deform, attention}}}

const struct network_table litv2[] = {
    LITV2("litv2-s", "LITv2-S: HiLo where planes are 14 x 14", 6, 96, 0),
    LITV2("litv2-m", "LITv2-M: three times as deep where HiLo is", 18, 96, 0),
    LITV2("litv2-b", "LITv2-B: as deep, and a third wider", 18, 128, 384),
    {0}
};
