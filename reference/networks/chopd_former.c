/* chopd_former.c -- a ChoP'D Former: "Chopping Formers is what you need in vision" (anonymous, under review)
 *
 * Of the paper's networks four stages, the ratio 1:1:3:1 of their depths, four pooling
 * layers and the totals, 15 M and 28 M parameters, are known; all else stands in a
 * supplement that is not at hand.  THESE WIDTHS ARE OURS, chosen so that the totals
 * come near: a block is one layer of Eq. 10 behind a norm, with 4C components, four boxes each, and
 * a gate of C/8 hidden channels; embeddings are patches side by side. */

#include "steps.h"

#define EMBED(words) { \
    {.name = "embed", .move = ON, .what = "patch", .options = words " --channels %C"}, \
    {.name = "embed_norm", .move = ON, .what = "norm"}, {0}}
static const struct network_step first[] = EMBED("--size 4"), next[] = EMBED("--size 2");
static const struct network_step block[] = {
    STEP_NORM1, {.name = "mixer", .move = JOIN, .what = "chopd", .sizes = "R=%4C,G=4,S=%C/8,D=%C"}, {0}};
static const struct network_step end[] = {STEPS_END, {0}};

#define STAGES(n) \
    .grid = "224x224", .end = end, \
    .stage = {{n, 64, 1, first, block}, {n, 128, 1, next, block}, \
              {3 * n, 256, 1, next, block}, {n, 512, 1, next, block}}

const struct network_table chopd_former_15 = {
    .name = "chopd-former-15m", .summary = "a ChoP'D Former of our own widths, near the printed 15 M", STAGES(3)};
const struct network_table chopd_former_28 = {
    .name = "chopd-former-28m", .summary = "a ChoP'D Former of our own widths, near the printed 28 M", STAGES(6)};
