/* litv2.c -- LITv2: Pan, Cai and Zhuang, "Fast Vision Transformers with HiLo Attention", NeurIPS 2022, Tab. 7
 *
 * Stages 1 and 2 have no mixer.  Stage 3 has HiLo with windows of 2 x 2 and nine tenths of the heads in Lo-Fi; stage 4
 * plain attention, which is HiLo with windows of 1.  Every MLP convolves its hidden channels; the zeros around the
 * plane are all that depends on the position.  Deformable convolutions join the stages.  All maps have biases.
 *
 * Tab. 8 has other windows in stage 3, on CIFAR-100; Tab. 9, pooled queries; Tab. 4, other mixers. */

#include "stages.h"

static const struct network_step embed[] = {STEPS_EMBED("--size 4"), {0}};
static const struct network_step deform[] = {{.name = "deform", .move = ON, .what = "deform"}, {0}};

#define STEP_CONV_MLP {.name = "mlp", .move = JOIN, .what = "mlp", .options = "--depthwise"}
static const struct network_step feed[] = {STEP_NORM2, STEP_CONV_MLP, {0}};
#define STEP_MIXER(when, operator, words, left_out) \
    {.name = "mixer", .move = JOIN, .turn = when, .what = operator, .options = "--heads %h" words, .without = left_out}
#define MIX(...) {STEP_NORM1, STEP_MIXER(ALWAYS, __VA_ARGS__), STEP_NORM2, STEP_CONV_MLP, {0}}
#define HILO(words) MIX("hilo", words, NULL)
#define MSA(words) MIX("msa", words, "rpe,ghost_add,ghost_mul")
static const struct network_step
    hilo[] = HILO(" --window 2 --alpha 0.9"), hilo_3[] = HILO(" --window 3 --alpha 0.9"),
    hilo_4[] = HILO(" --window 4 --alpha 0.9"), hilo_5[] = HILO(" --window 5 --alpha 0.9"),
    hilo_6[] = HILO(" --window 6 --alpha 0.9"), hilo_7[] = HILO(" --window 7 --alpha 0.9"),
    pooled[] = HILO(" --window 2 --alpha 0.9 --pooled-queries"), attention[] = HILO(" --window 1"),
    msa[] = MSA(""), w_msa[] = MSA(" --window 7"), sra[] = MIX("sra", " --reduction 2", NULL),
    t_msa[] = {STEP_NORM1, STEP_MIXER(ODD, "msa", " --window 7", "rpe,ghost_add,ghost_mul"),
               STEP_MIXER(EVEN, "sra", " --reduction 2", NULL), STEP_NORM2, STEP_CONV_MLP, {0}};
static const struct network_step end[] = {STEPS_END, {0}};

#define LITV2(called, title, third, C, side, mixer, ...) { \
    .name = called, .summary = title " (Pan et al. 2022)", .grid = "224x224", .end = end, .photo = {.squeezed = side}, \
    .stage = {{2, C, C / 32, embed, feed}, {2, 2 * C, C / 16, deform, feed}, {third, 4 * C, C / 8, deform, mixer}, \
              {2, 8 * C, C / 4, deform, attention}}, __VA_ARGS__}
#define WINDOWS(s) \
    LITV2("litv2-s-w" #s, "LITv2-S with windows of " #s ", for CIFAR-100", 6, 96, 0, hilo_##s, .classes = 100)

const struct network_table litv2[] = {
    LITV2("litv2-s", "LITv2-S: HiLo where planes are 14 x 14", 6, 96, 0, hilo, .classes = 1000),
    LITV2("litv2-m", "LITv2-M: three times as deep where HiLo is", 18, 96, 0, hilo, .classes = 1000),
    LITV2("litv2-b", "LITv2-B: as deep, and a third wider", 18, 128, 384, hilo, .classes = 1000),
    WINDOWS(3), WINDOWS(4), WINDOWS(5), WINDOWS(6), WINDOWS(7),
    LITV2("litv2-s-pooled", "LITv2-S: queries of Lo-Fi are pooled, too", 6, 96, 0, pooled, .classes = 1000),
    LITV2("litv2-s-msa", "LITv2-S with MSA instead of HiLo", 6, 96, 0, msa, .classes = 1000),
    LITV2("litv2-s-w-msa", "LITv2-S with windows of 7 x 7 instead of HiLo", 6, 96, 0, w_msa, .classes = 1000),
    LITV2("litv2-s-sra", "LITv2-S with keys of 2 x 2 tokens (SRA) instead of HiLo", 6, 96, 0, sra, .classes = 1000),
    LITV2("litv2-s-t-msa", "LITv2-S with windows and SRA in turn (Twins)", 6, 96, 0, t_msa, .classes = 1000),
    {0}
};
