/* chopd_former.c -- ChoP'D Formers: "Chopping Formers is what you need in vision" (anonymous, under review), Tab. 1
 *
 * Of the paper's networks four stages, the ratio 1:1:3:1 of their depths, four pooling
 * layers and the totals, 15 M and 28 M parameters, are known; all else stands in a
 * supplement that is not at hand.  THESE WIDTHS ARE OURS, chosen so that the totals
 * come near.  In place of the pooling layers, whose kind is not said, learned maps of
 * patches side by side lead from stage to stage.  A block is one layer behind a norm,
 * with a residual.
 *
 * The table has five layers, each with one trait less than the one before: Eq. 10 with four boxes for each component
 * and a gate of C/8 hidden channels; FC-CP, a static layer of all tokens, which is dfc-cp without the factor of the
 * image; convolutions of each component, and means, of 3 x 3 tokens; and maps of each token alone.  Components: 4C,
 * FC-CP 2C, since its factors count tokens, the others 19C/4. */

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

#define FORMER(which, told, n, size, block) { \
    .name = "chopd-former-" which size "m", .grid = "224x224", .end = end, \
    .summary = told ", of our own widths, near the printed " size " M", \
    .stage = {{n, 64, 1, first, block}, {n, 128, 1, next, block}, {3 * n, 256, 1, next, block}, \
              {n, 512, 1, next, block}}}
#define BOTH(name, which, told, block) \
    const struct network_table name##_15 = FORMER(which, told, 3, "15", block); \
    const struct network_table name##_28 = FORMER(which, told, 6, "28", block)

BOTH(chopd_former, "", "a ChoP'D Former", boxes);
BOTH(chopd_former_fc, "fc-", "its static one: FC-CP of all tokens", all);
BOTH(chopd_former_depthwise, "depthwise-", "its local one: 3 x 3 convolutions", convolved);
BOTH(chopd_former_pool, "pool-", "its local one: means of 3 x 3", pooled);
BOTH(chopd_former_linear, "linear-", "its linear one: each token alone", alone);
