/* steps.h -- steps that several families have; nobody but the tables includes it */

#ifndef TWICETOLD_NETWORKS_STEPS_H
#define TWICETOLD_NETWORKS_STEPS_H

#include "network.h"

/* x += f(norm x), twice. */
#define STEP_NORM1 {.name = "norm1", .move = INTO, .what = "norm"}
#define STEP_NORM2 {.name = "norm2", .move = INTO, .what = "norm"}
#define STEP_MLP {.name = "mlp", .move = JOIN, .what = "mlp"}

/* Patches of 4 x 4 pixels side by side, and a layer norm. */
#define STEPS_EMBED_4 \
    {.name = "embed", .move = ON, .what = "patch", .options = "--size 4 --channels %C"}, \
    {.name = "embed_norm", .move = ON, .what = "norm"}

/* Layer norm, mean over the tokens, classes. */
#define STEP_HEAD {.name = "head", .move = ON, .what = "head", .options = "--classes %K"}
#define STEPS_END {.name = "norm", .move = ON, .what = "norm"}, STEP_HEAD

#endif
