/* chopd_former.c -- ChoP'D Formers: "Chopping Formers is what you need in vision" (anonymous, under review), Tab. 1
 *
 * The paper states four stages, the ratio 1:1:3:1 of their depths, four pooling layers, and 15 M and 28 M parameters;
 * the supplement is not available.  THESE WIDTHS ARE OURS, chosen so that the totals come near.  The kind of the
 * pooling layers is not stated; here they are learned maps of 2 x 2 patches.  A block is one layer after a norm, with a
 * residual.
 *
 * Tab. 1 has five layers, each with one property less than the one before: Eq. 10 with four boxes for each component
 * and a gate of C/8 hidden channels; FC-CP, which is dfc-cp without the factor of the image; convolutions, and means,
 * of 3 x 3 tokens of each component; and maps of single tokens.  Components: 4C, for FC-CP 2C, for the others 19C/4. */

#include "stages.h"

static const struct network_step first[] = {STEPS_EMBED("--size 4"), {0}}, next[] = {STEPS_EMBED("--size 2"), {0}};
static const struct network_step end[] = {STEPS_END, {0}};

#define STEP_TO_COMPONENTS {.name = "in", .move = ALONG, .what = "linear", .options = "--channels %19C/4"}
#define STEP_TO_CHANNELS {.name = "out", .move = JOIN, .what = "linear", .options = "--channels %C --gelu"}
#define LAYER(...) {STEP_NORM1, __VA_ARGS__, {0}}
#define LOCAL(words) \
    STEP_TO_COMPONENTS, {.name = "mixer", .move = ALONG, .what = "depthwise", .options = words}, STEP_TO_CHANNELS
static const struct network_step
    boxes[] = LAYER({.name = "mixer", .move = JOIN, .what = "chopd", .sizes = "R=%4C,G=4,S=%C/8,D=%C"}),
    all[] = LAYER({.name = "mixer", .move = JOIN, .what = "dfc-cp", .sizes = "R=%2C,D=%C", .without = "u1"}),
    convolved[] = LAYER(LOCAL("--size 3x3")), pooled[] = LAYER(LOCAL("--size 3x3 --kind mean")),
    alone[] = LAYER(STEP_TO_COMPONENTS, STEP_TO_CHANNELS);

#define FORMER(which, title, n, size, block) { \
    .name = "chopd-former-" which size "m", .grid = "224x224", .end = end, \
    .summary = title ", with widths of ours, near the printed " size " M", \
    .stage = {{n, 64, 1, first, block}, {n, 128, 1, next, block}, {3 * n, 256, 1, next, block}, \
              {n, 512, 1, next, block}}}
#define BOTH(which, title, block) FORMER(which, title, 3, "15", block), FORMER(which, title, 6, "28", block)

const struct network_table chopd_former[] = {
    BOTH("", "a ChoP'D Former", boxes),
    BOTH("fc-", "a static ChoP'D Former: FC-CP of all tokens", all),
    BOTH("depthwise-", "a local ChoP'D Former: 3 x 3 convolutions", convolved),
    BOTH("pool-", "a local ChoP'D Former: means of 3 x 3", pooled),
    BOTH("linear-", "a linear ChoP'D Former: each token alone", alone),
    {0}
};
