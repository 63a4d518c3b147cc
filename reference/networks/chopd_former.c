/* chopd_former.c -- ChoP'D Formers: "Chopping Formers is what you need in vision" (anonymous, under review), Tab. 1
 *
 * The paper states four stages, the ratio 1:1:3:1 of their depths, four pooling layers, parameters and FLOPs.  Without
 * its supplement, THESE WIDTHS ARE OURS, chosen so that the totals are those printed.  A pooling layer here is the mean
 * of 4 x 4 pixels or 2 x 2 tokens, a map of each token, a norm.  A block is one layer after a norm, with a residual.
 *
 * Tab. 1 has five layers, each with one property less than the one before: Eq. 10 with eight boxes for each component
 * and a gate of 16 hidden channels; FC-CP, which is dfc-cp without the factor of the image; convolutions, and means,
 * of 3 x 3 tokens of each component; and maps of single tokens.  Components: R, by layer and size. */

#include "stages.h"

static const struct network_step
    first[] = {STEPS_EMBED("--kind mean --size 4"), {0}}, next[] = {STEPS_EMBED("--kind mean --size 2"), {0}},
    end[] = {STEPS_END, {0}};

#define LAYER(...) {STEP_NORM1, __VA_ARGS__, {0}}
#define STEP_TO_COMPONENTS(R) {.name = "in", .move = ALONG, .what = "linear", .options = "--channels " R}
#define STEP_TO_CHANNELS {.name = "out", .move = JOIN, .what = "linear", .options = "--channels %C --gelu"}
#define LOCAL(R, words) LAYER(STEP_TO_COMPONENTS(R), \
    {.name = "mixer", .move = ALONG, .what = "depthwise", .options = "--size 3x3" words}, STEP_TO_CHANNELS)
#define BOXES(R) LAYER({.name = "mixer", .move = JOIN, .what = "chopd", .sizes = "R=" R ",G=8,S=16,D=%C"})
#define ALL(R) LAYER({.name = "mixer", .move = JOIN, .what = "dfc-cp", .sizes = "R=" R ",D=%C", .without = "u1"})
#define ALONE(R) LAYER(STEP_TO_COMPONENTS(R), STEP_TO_CHANNELS)
static const struct network_step
    boxes_15[] = BOXES("%35C/8"), boxes_28[] = BOXES("%33C/8"), all_15[] = ALL("%9C/4"), all_28[] = ALL("%17C/8"),
    convolved_15[] = LOCAL("%5C", ""), convolved_28[] = LOCAL("%19C/4", ""),
    pooled_15[] = LOCAL("%5C", " --kind mean"), pooled_28[] = LOCAL("%19C/4", " --kind mean"),
    alone_15[] = ALONE("%41C/8"), alone_28[] = ALONE("%77C/16");

#define FORMER(which, title, n, size, block) { \
    .name = "chopd-former-" which #size "m", .grid = "224x224", .end = end, \
    .summary = title ", with widths of ours for the printed " #size " M", \
    .stage = {{n, 64, 1, first, block##_##size}, {n, 128, 1, next, block##_##size}, \
              {3 * n, 256, 1, next, block##_##size}, {n, 512, 1, next, block##_##size}}}
#define BOTH(which, title, block) FORMER(which, title, 3, 15, block), FORMER(which, title, 6, 28, block)

const struct network_table chopd_former[] = {
    BOTH("", "a ChoP'D Former", boxes),
    BOTH("fc-", "a static ChoP'D Former: FC-CP of all tokens", all),
    BOTH("depthwise-", "a local ChoP'D Former: 3 x 3 convolutions", convolved),
    BOTH("pool-", "a local ChoP'D Former: means of 3 x 3", pooled),
    BOTH("linear-", "a linear ChoP'D Former: each token alone", alone),
    {0}
};
