/* stages.h -- steps that several tables share */

#pragma once
#include "network.h"

/* x += mixer(norm1(x)); x += mlp(norm2(x)). */
#define STEP_NORM1 {.name = "norm1", .move = INTO, .what = "norm"}
#define STEP_NORM2 {.name = "norm2", .move = INTO, .what = "norm"}
#define STEP_MLP {.name = "mlp", .move = JOIN, .what = "mlp"}

/* Patches, of the size in `words`, and a layer norm. */
#define STEPS_EMBED(words) \
    {.name = "embed", .move = ON, .what = "patch", .options = words " --channels %C"}, \
    {.name = "embed_norm", .move = ON, .what = "norm"}

/* Layer norm, mean over the tokens, classes. */
#define STEP_HEAD {.name = "head", .move = ON, .what = "head", .options = "--classes %K"}
#define STEPS_END {.name = "norm", .move = ON, .what = "norm"}, STEP_HEAD
