/* learned.c -- tiny trained networks, for five operators
 *
 * For grey images of 28 x 28: patches of 2 x 2 to 32 channels on 14 x 14 tokens, a table of positions, two blocks of
 * the operator and an MLP of twice the width, ten classes.  tests/pytorch/train.py trains them; their weights are in
 * tests/golden/learned/. */

#include "stages.h"

static const struct network_step entry[] = {
    {.name = "embed", .move = ON, .what = "patch", .options = "--size 2 --channels %C"},
    {.name = "position", .move = ON, .what = "position"}, {0}};
static const struct network_step end[] = {STEPS_END, {0}};

#define BLOCK(operator, words, open) { \
    STEP_NORM1, {.name = "mixer", .move = JOIN, .what = operator, .options = words, .sizes = open}, \
    STEP_NORM2, {.name = "mlp", .move = JOIN, .what = "mlp", .options = "--ratio 2"}, {0}}

static const struct network_step of_lisa[] = BLOCK("lisa", "--heads %h", "D=4");
static const struct network_step of_structsa[] =
    BLOCK("structsa", "--heads %h --kernel 3x3 --stride 2 --scale %s", "D=4");
static const struct network_step of_elsa[] =
    BLOCK("elsa", "--heads %h --kernel 5 --lambda 1 --scale 0.17677669529663687", NULL);      /* 1/sqrt(C) */
static const struct network_step of_chopd[] = BLOCK("chopd", NULL, "R=32,G=4,S=8,D=%C");
static const struct network_step of_hilo[] = BLOCK("hilo", "--heads %h --window 2 --alpha 0.5", NULL);

#define LEARNED(mixer, h, block) { \
    .name = "learned-" mixer, .summary = "two blocks of " mixer ", trained on Fashion-MNIST", \
    .grid = "28x28", .channels = 1, .classes = 10, .end = end, .stage = {{2, 32, h, entry, block}}}

const struct network_table learned[] = {
    LEARNED("lisa", 2, of_lisa), LEARNED("structsa", 2, of_structsa), LEARNED("elsa", 4, of_elsa),
    LEARNED("chopd", 1, of_chopd), LEARNED("hilo", 4, of_hilo), {0}
};
