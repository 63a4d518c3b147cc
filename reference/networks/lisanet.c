/* lisanet.c -- LiSANet: Kwon, Castro, Marin-Jimenez, Guil and Alahari, "Lightweight Structure-Aware Attention for
 * Visual Understanding", 2022, Tab. 2, 7 and 8
 *
 * Isotropic: DeiT-Ti with LiSA instead of attention, patches of 16 x 16, and a learned vector for each position,
 * without which the printed number of parameters would not be reached.  Hierarchical: four stages without positions.
 * The paper calls the embeddings overlapping, but the printed counts of H-T and H-S are those of patches that do not
 * overlap.  16 channels a head; biases everywhere.
 *
 * LiSANet on videos (Tab. 6) joins two frames in a patch of 3 x 16 x 16 and has no positions here; maps of its mixer
 * have no biases.  The isotropic table also makes other papers' DeiT without a class token: DeiT-S with ConvSA and
 * StructSA (Kim et al. 2024, Tab. 7) and DeiT-Ti with and without a ghost head (ELSA, Tab. 11). */

#include "stages.h"

#define LISA(latent) { \
    STEP_NORM1, \
    {.name = "mixer", .move = JOIN, .what = "lisa", .options = "--heads %h", .sizes = "D=" #latent}, \
    STEP_NORM2, STEP_MLP, {0}}
static const struct network_step lisa_1[] = LISA(1), lisa_4[] = LISA(4), lisa_8[] = LISA(8), lisa_16[] = LISA(16);

static const struct network_step patches[] = {
    {.name = "embed", .move = ON, .what = "patch", .options = "--size 16 --channels %C"},
    {.name = "position", .move = ON, .what = "position"}, {0}};

#define MIX(operator, words, open, left_out) { \
    STEP_NORM1, \
    {.name = "mixer", .move = JOIN, .what = operator, .options = words, .sizes = open, .without = left_out}, \
    STEP_NORM2, STEP_MLP, {0}}
static const struct network_step
    lisa_conv[] = {
        {.name = "local", .move = ADD, .what = "depthwise", .options = "--size 3x3"},
        STEP_NORM1, {.name = "mixer", .move = JOIN, .what = "lisa", .options = "--heads %h", .sizes = "D=8"},
        STEP_NORM2, STEP_MLP, {0}},
    lisa_video[] = MIX("lisa", "--heads %h", "D=16", "b_qkv,b_o"),
    convolved[] = MIX("structsa", "--heads %h --kernel 3x3", "D=1", NULL),
    structured[] = MIX("structsa", "--heads %h --kernel 3x3", "D=4", NULL),
    plain[] = MIX("msa", "--heads %h", NULL, "rpe,ghost_add,ghost_mul"),
    ghost[] = MIX("msa", "--heads %h --lambda 0", NULL, "rpe,ghost_mul");
static const struct network_step patches_video[] = {
    {.name = "embed", .move = ON, .what = "patch",
     .options = "--size 3x16x16 --stride 2x16x16 --pad 1x0x0 --channels %C"}, {0}};
static const struct network_step end[] = {STEPS_END, {0}};

#define STEP_EMBED(words) {{.name = "embed", .move = ON, .what = "patch", .options = words " --channels %C"}, {0}}
static const struct network_step
    first[] = STEP_EMBED("--size 4"), next[] = STEP_EMBED("--size 2"),
    first_overlapping[] = STEP_EMBED("--size 7 --stride 4 --pad 3"),
    next_overlapping[] = STEP_EMBED("--size 3 --stride 2 --pad 1");

#define ISOTROPIC(called, D, mixer) { \
    .name = called, .summary = "LiSANet-I-T with " #D " latent dimensions (Kwon et al. 2022)", \
    .grid = "224x224", .end = end, .stage = {{12, 192, 12, patches, mixer}}}

#define DEIT(called, title, depth, C, h, mixer) { \
    .name = called, .summary = title, .grid = "224x224", .end = end, .stage = {{depth, C, h, patches, mixer}}}

#define HIERARCHICAL(called, title, a, b, c, d, C, way, further, mixer) { \
    .name = called, .summary = title " (Kwon et al. 2022)", .grid = "224x224", .end = end, \
    .stage = {{a, C, C / 16, way, mixer}, {b, 2 * C, C / 8, further, mixer}, {c, 4 * C, C / 4, further, mixer}, \
              {d, 8 * C, C / 2, further, mixer}}}

const struct network_table lisanet[] = {
    ISOTROPIC("lisanet-i-t", 16, lisa_16), ISOTROPIC("lisanet-i-t-d1", 1, lisa_1),
    ISOTROPIC("lisanet-i-t-d4", 4, lisa_4), ISOTROPIC("lisanet-i-t-d8", 8, lisa_8),
    HIERARCHICAL("lisanet-h-t", "LiSANet-H-T: four stages, 8 latent dimensions", 1, 2, 5, 2, 64, first, next, lisa_8),
    HIERARCHICAL("lisanet-h-t-conv", "LiSANet-H-T: a 3 x 3 convolution in each block", 1, 2, 5, 2, 64, first, next,
                 lisa_conv),
    HIERARCHICAL("lisanet-h-s", "LiSANet-H-S: twice as deep, 16 latent dimensions, overlapping patches",
                 1, 2, 11, 2, 64, first_overlapping, next_overlapping, lisa_16),
    HIERARCHICAL("lisanet-h-b", "LiSANet-H-B: wider, overlapping patches", 2, 3, 16, 3, 96, first_overlapping,
                 next_overlapping, lisa_16),
    {.name = "lisanet-i-t-video", .summary = "LiSANet-I-T on video, without positions (Kwon et al. 2022)",
     .grid = "8x224x224", .classes = 174, .end = end, .stage = {{12, 192, 12, patches_video, lisa_video}}},
    DEIT("deit-s-convsa", "DeiT-S with ConvSA (Kim et al. 2024)", 12, 384, 6, convolved),
    DEIT("deit-s-convsa-wide", "DeiT-S with ConvSA and more channels (Kim et al. 2024)", 12, 432, 6, convolved),
    DEIT("deit-s-convsa-deep", "DeiT-S with ConvSA and more blocks (Kim et al. 2024)", 16, 384, 6, convolved),
    DEIT("deit-s-structsa", "DeiT-S with StructSA: 4 patterns (Kim et al. 2024)", 12, 384, 6, structured),
    DEIT("deit-ti-gap", "DeiT-Ti without a class token (Zhou et al. 2021)", 12, 192, 3, plain),
    DEIT("deit-ti-gap-gh", "DeiT-Ti with a ghost head that adds (Zhou et al. 2021)", 12, 192, 3, ghost),
    {0}
};
