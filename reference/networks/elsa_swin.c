/* elsa_swin.c -- ELSA-Swin: Zhou, Wang, Wang, Liu, Li and Jin, "ELSA: Enhanced Local Self-Attention for Vision
 * Transformer", 2021, Tab. 4-6, and Swin-T
 *
 * Swin with the authors' final module instead of windows: 7 x 7 neighbours, lambda 0 and gamma 1, so that the ghost
 * head only adds.  Query and key have two thirds of the channels, rounded up to whole groups.  Depths and widths are
 * Swin's; kernel, group width, powers and scale are those of the authors' code, where the block of the published models
 * passes a scale of 1.  Stage 4 keeps Swin's attention: its windows have 7 x 7 tokens, or the shorter side of the plane
 * if that is less.  They are shifted in every second block if the shorter side exceeds 7.  A plane that windows do not
 * divide is an error, as in the authors' code for classification. */

#include "stages.h"

static const struct network_step embed[] = {STEPS_EMBED("--size 4"), {0}};
static const struct network_step merge[] = {{.name = "merge", .move = ON, .what = "merge"}, {0}};

#define ELSA(group, left_out) { \
    STEP_NORM1, \
    {.name = "mixer", .move = JOIN, .what = "elsa", .sizes = "Q=%q", .without = left_out, \
     .options = "--variant final --kernel 7 --group-width " #group " --heads %h --head-map block --lambda 0 " \
                "--scale 1"}, \
    STEP_NORM2, STEP_MLP, {0}}
static const struct network_step
    elsa_4[] = ELSA(4, "ghost_mul"), elsa_8[] = ELSA(8, "ghost_mul"), no_ghosts[] = ELSA(4, "ghost_mul,ghost_add");

#define STEP_ATTENTION(...) \
    {.name = "mixer", .move = JOIN, .what = "msa", .without = "ghost_add,ghost_mul", .last_shape = "rpe", __VA_ARGS__}
static const struct network_step windows[] = {
    STEP_NORM1,
    STEP_ATTENTION(.options = "--heads %h --window %7w", .turn = ODD),
    STEP_ATTENTION(.options = "--heads %h --window %7w --shift %7t", .turn = EVEN),
    STEP_NORM2, STEP_MLP, {0}};
static const struct network_step end[] = {STEPS_END, {0}};

/* Two thirds of C, rounded up to whole groups. */
static size_t in_groups_of_4(size_t C) { return (C / 3 * 2 + 3) / 4 * 4; }
static size_t in_groups_of_8(size_t C) { return (C / 3 * 2 + 7) / 8 * 8; }

#define STAGES(third, C, mixer) \
    .grid = "224x224", .end = end, \
    .stage = {{2, C, C / 32, embed, mixer}, {2, 2 * C, C / 16, merge, mixer}, {third, 4 * C, C / 8, merge, mixer}, \
              {2, 8 * C, C / 4, merge, windows}}

const struct network_table elsa_swin[] = {
    {.name = "elsa-swin-t", .summary = "Swin-T with ELSA in place of windows (Zhou et al. 2021)",
     .query = in_groups_of_4, .photo = {.crop = 0.9}, STAGES(6, 96, elsa_4)},
    {.name = "elsa-swin-s", .summary = "Swin-S with ELSA in place of windows (Zhou et al. 2021)",
     .query = in_groups_of_8, .photo = {.crop = 0.9}, STAGES(18, 96, elsa_8)},
    {.name = "elsa-swin-b", .summary = "Swin-B with ELSA in place of windows (Zhou et al. 2021)",
     .query = in_groups_of_8, .photo = {.crop = 0.9}, STAGES(18, 128, elsa_8)},
    {.name = "swin-t",
     .summary = "Swin-T: attention in windows of 7 x 7, every second block shifted by 3 (Liu et al. 2021)",
     STAGES(6, 96, windows)},
    {.name = "swin-s", .summary = "Swin-S (Liu et al. 2021)", STAGES(18, 96, windows)},
    {.name = "swin-b", .summary = "Swin-B (Liu et al. 2021)", STAGES(18, 128, windows)},
    {.name = "elsa-swin-t-ha", .summary = "ELSA-Swin-T without ghost heads: Hadamard attention (Zhou et al. 2021)",
     .query = in_groups_of_4, .photo = {.crop = 0.9}, STAGES(6, 96, no_ghosts)},
    {0}
};
