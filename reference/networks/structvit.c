/* structvit.c -- StructViT: Kim, Seo, Schmid and Cho, "Learning Correlation Structures for Vision Transformers", CVPR
 * 2024, Tab. 2
 *
 * UniFormer (Li et al. 2022), also with StructSA instead of its attention.  Every block begins with a 3 x 3 convolution
 * of each channel.  Stages 1 and 2 have convolutions after batch norms.  Stages 3 and 4 have StructSA (Eq. 16, windows
 * of 3 x 3) after layer norms of epsilon 1e-6.  The numbers in a name are D and the stride of the windows.  q is scaled
 * by 1/sqrt(c), as in UniFormer.
 *
 * The video networks take 16 frames of 224 x 224 (patches of 3 x 4 x 4 at strides of 2, 4 and 4); their
 * convolutions and windows have three axes, and windows stride in space only. */

#include "stages.h"

#define STEP_LOCAL(words) {.name = "local", .move = ADD, .what = "depthwise", .options = words}
#define STEP_BATCH(called) {.name = called, .move = INTO, .what = "norm", .options = "--kind batch"}
#define STEP_FINE(called) {.name = called, .move = INTO, .what = "norm", .options = "--epsilon 1e-6"}

#define CONVOLVE(near, far) { \
    STEP_LOCAL("--size " near), \
    STEP_BATCH("norm1"), \
    {.name = "in", .move = ALONG, .what = "linear", .options = "--channels %C"}, \
    {.name = "mixer", .move = ALONG, .what = "depthwise", .options = "--size " far}, \
    {.name = "out", .move = JOIN, .what = "linear", .options = "--channels %C"}, \
    STEP_BATCH("norm2"), STEP_MLP, {0}}
#define MIX(near, ...) { \
    STEP_LOCAL("--size " near), \
    STEP_FINE("norm1"), {.name = "mixer", .move = JOIN, __VA_ARGS__}, STEP_FINE("norm2"), STEP_MLP, {0}}
#define CORRELATE(near, D, strides) MIX(near, .what = "structsa", .sizes = "D=" #D, \
    .options = "--kernel " near " --stride " strides " --heads %h --scale %s")
#define ATTEND(near) \
    MIX(near, .what = "msa", .options = "--heads %h --scale %s", .without = "rpe,ghost_add,ghost_mul")

static const struct network_step
    convolve[] = CONVOLVE("3x3", "5x5"), convolve_video[] = CONVOLVE("3x3x3", "5x5x5"),
    correlate_4_2[] = CORRELATE("3x3", 4, "2"), correlate_4_1[] = CORRELATE("3x3", 4, "1"),
    correlate_8_1[] = CORRELATE("3x3", 8, "1"),
    video_4_2[] = CORRELATE("3x3x3", 4, "1x2x2"), video_4_1[] = CORRELATE("3x3x3", 4, "1"),
    video_8_1[] = CORRELATE("3x3x3", 8, "1"), attend[] = ATTEND("3x3"), attend_video[] = ATTEND("3x3x3");

static const struct network_step
    first[] = {STEPS_EMBED("--size 4"), {0}}, next[] = {STEPS_EMBED("--size 2"), {0}},
    first_video[] = {STEPS_EMBED("--size 3x4x4 --stride 2x4x4 --pad 1x0x0"), {0}},
    next_video[] = {STEPS_EMBED("--size 1x2x2"), {0}};

static const struct network_step end[] = {
    {.name = "norm", .move = ON, .what = "norm", .options = "--kind batch"}, STEP_HEAD, {0}};

#define STAGES(a, b, c, d, C1, C2, C3, C4, begin, on, local, global) \
    .end = end, .stage = {{a, C1, C1 / 64, begin, local}, {b, C2, C2 / 64, on, local}, {c, C3, C3 / 64, on, global}, \
                          {d, C4, C4 / 64, on, global}}
#define S(...) STAGES(3, 4, 8, 3, 64, 128, 320, 512, __VA_ARGS__)
#define B(...) STAGES(5, 8, 20, 7, 64, 128, 320, 512, __VA_ARGS__)
#define L(...) STAGES(5, 10, 24, 7, 128, 192, 448, 640, __VA_ARGS__)
#define OF_IMAGES(mixer) first, next, convolve, mixer
#define OF_VIDEOS(mixer) first_video, next_video, convolve_video, mixer

#define IMAGES(called, title, size, mixer) { \
    .name = called, .summary = title " (Kim et al. 2024)", .grid = "224x224", size(OF_IMAGES(mixer))}
#define VIDEOS(called, title, size, mixer) { \
    .name = called, .summary = title " (Kim et al. 2024)", .grid = "16x224x224", size(OF_VIDEOS(mixer))}

const struct network_table structvit[] = {
    IMAGES("structvit-s-4-2", "StructViT-S: 4 patterns, every second window", S, correlate_4_2),
    IMAGES("structvit-s-4-1", "StructViT-S: 4 patterns, every window", S, correlate_4_1),
    IMAGES("structvit-s-8-1", "StructViT-S: 8 patterns, every window", S, correlate_8_1),
    IMAGES("structvit-b-4-2", "StructViT-B: 4 patterns, every second window", B, correlate_4_2),
    IMAGES("structvit-b-4-1", "StructViT-B: 4 patterns, every window", B, correlate_4_1),
    IMAGES("structvit-b-8-1", "StructViT-B: 8 patterns, every window", B, correlate_8_1),
    IMAGES("structvit-l-4-1", "StructViT-L: 4 patterns, every window", L, correlate_4_1),
    VIDEOS("structvit-s-4-2-video", "StructViT-S on video: 4 patterns, every second window", S, video_4_2),
    VIDEOS("structvit-s-4-1-video", "StructViT-S on video: 4 patterns, every window", S, video_4_1),
    VIDEOS("structvit-s-8-1-video", "StructViT-S on video: 8 patterns, every window", S, video_8_1),
    VIDEOS("structvit-b-4-2-video", "StructViT-B on video: 4 patterns, every second window", B, video_4_2),
    VIDEOS("structvit-b-4-1-video", "StructViT-B on video: 4 patterns, every window", B, video_4_1),
    IMAGES("uniformer-s", "UniFormer-S, the base of StructViT-S", S, attend),
    IMAGES("uniformer-b", "UniFormer-B, the base of StructViT-B", B, attend),
    {.name = "uniformer-h-t", .summary = "UniFormer with the stages of LiSANet-H-T (Kwon et al. 2022, Tab. 8)",
     .grid = "224x224", .end = end, .stage = {{1, 64, 4, first, convolve}, {2, 128, 8, next, convolve},
                                              {5, 256, 16, next, attend}, {2, 512, 32, next, attend}}},
    VIDEOS("uniformer-s-video", "UniFormer-S on video, the base of StructViT-S", S, attend_video),
    VIDEOS("uniformer-b-video", "UniFormer-B on video, the base of StructViT-B", B, attend_video),
    {0}
};
