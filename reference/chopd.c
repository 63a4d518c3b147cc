/* chopd.c -- declaration of the ChoP'D Former's layer, and phi; see chopd.h */

#include "chopd.h"
#include <limits.h>
#include <tgmath.h>
#include "dfc.h"
#include "runtime/linear.h"
#include "runtime/memory.h"
#include "runtime/resample.h"
#include "runtime/steps.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "gate-size", .kind = OPTION_INTEGER, .default_value = "7", .low = 1, .high = 1024,
     .meaning = "cells per side of the map that phi works on"},
    DFC_ACTIVATION,
    {0}
};

/* Turns normal random numbers into boxes: centres a few tokens away, sides of at least half a token. */
static void adjust_boxes(real *drawn, size_t count)
{
    for (size_t at = 0; at + 4 <= count; at += 4) {
        real y = 3 * drawn[at], x = 3 * drawn[at + 1];
        real half_y = (real)0.25 + 3 * fabs(drawn[at + 2]), half_x = (real)0.25 + 3 * fabs(drawn[at + 3]);
        drawn[at] = y - half_y;
        drawn[at + 1] = x - half_x;
        drawn[at + 2] = y + half_y;
        drawn[at + 3] = x + half_x;
    }
}

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "u4", .shape = "C R", .fan_in = "C", .meaning = "channels to components"},
    {.name = "boxes", .shape = "R G 4", .fan_in = "1", .adjust = adjust_boxes,
     .meaning = "y0 x0 y1 x1 from the middle of the token, in tokens"},
    {.name = "mix", .shape = "R G", .fan_in = "G", .meaning = "the weights of a component's boxes, E"},
    {.name = "phi_w1", .shape = "S C 3 3", .fan_in = "9*C", .meaning = "the gate's 3x3 convolution"},
    {.name = "phi_b1", .shape = "S", .fan_in = "9*C", .meaning = "its bias"},
    {.name = "phi_w2", .shape = "R S", .fan_in = "S", .meaning = "the gate's 1x1 convolution"},
    {.name = "phi_b2", .shape = "R", .fan_in = "S", .meaning = "its bias"},
    {.name = "u5", .shape = "D R", .fan_in = "R", .meaning = "components to channels"},
    {.name = "b", .shape = "D", .fan_in = "1", .meaning = "the bias"},
    {0}
};

/* Rejects empty boxes, edges that are not finite, and 9 C above INT_MAX, which BLAS cannot count. */
static status check(const struct problem *p)
{
    const real *box = problem_tensor(p, "boxes");
    size_t R = problem_size(p, "R"), G = problem_size(p, "G"), inputs;

    for (size_t rg = 0; rg < R * G; rg++, box += 4) {
        if (isfinite(box[0]) && isfinite(box[1]) && isfinite(box[2]) && isfinite(box[3])
            && box[0] < box[2] && box[1] < box[3])
            continue;
        return bad_input("tensor boxes: found (%g, %g, %g, %g) at [%zu, %zu], expected finite y0 < y1 and x0 < x1",
                         (double)box[0], (double)box[1], (double)box[2], (double)box[3], rg / G, rg % G);
    }
    if (!size_multiply(&inputs, 9, problem_size(p, "C")) || inputs > INT_MAX)
        return bad_input("tensor phi_w1: 9 C is too large, expected at most %d", INT_MAX);
    return status_ok();
}

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct chopd_problem *)params = (struct chopd_problem){
        .B = lookup_size(&names, "B"), .H = p->grid.size[0], .W = p->grid.size[1], .N = lookup_size(&names, "N"),
        .C = lookup_size(&names, "C"), .D = lookup_size(&names, "D"), .R = lookup_size(&names, "R"),
        .G = lookup_size(&names, "G"), .S = lookup_size(&names, "S"), .s = lookup_whole(&names, "gate-size"),
        .gelu = dfc_gelu(&names),
        .u4 = lookup_tensor(&names, "u4"), .u5 = lookup_tensor(&names, "u5"),
        .boxes = lookup_tensor(&names, "boxes"), .mix = lookup_tensor(&names, "mix"),
        .phi_w1 = lookup_tensor(&names, "phi_w1"), .phi_b1 = lookup_tensor(&names, "phi_b1"),
        .phi_w2 = lookup_tensor(&names, "phi_w2"), .phi_b2 = lookup_tensor(&names, "phi_b2"),
        .b = lookup_tensor(&names, "b"),
    };
    return names.error;
}

void chopd_gate_prepare(struct chopd_gate *gate, struct arena *arena, const struct chopd_problem *p, size_t slots)
{
    size_t cells = p->s * p->s;
    arena_reals(arena, PER_RUN, &gate->map, "phi's map", slots, cells, p->R);
    arena_reals(arena, PER_RUN, &gate->mean, "the cells of phi", slots, cells, p->C);
    arena_reals(arena, PER_RUN, &gate->patches, "the patches of phi's convolution", slots, cells, 9, p->C);
    arena_reals(arena, PER_RUN, &gate->hidden, "phi's channels", slots, cells, p->S);
}

/* The input of the 3 x 3 convolution at cell (i, j): [C][3][3], zero off the map. */
static void patch(real *around, const real *mean, size_t s, size_t C, size_t i, size_t j)
{
    for (size_t k = 0; k < 9; k++) {
        size_t y = i + k / 3, x = j + k % 3;
        bool inside = y >= 1 && y <= s && x >= 1 && x <= s;
        for (size_t c = 0; c < C; c++) around[c * 9 + k] = inside ? mean[((y - 1) * s + x - 1) * C + c] : 0;
    }
}

void chopd_gate(const struct chopd_gate *gate, size_t slot, const real *x, const struct chopd_problem *p)
{
    size_t cells = p->s * p->s, C = p->C, S = p->S, R = p->R;
    real *map = gate->map + slot * cells * R, *mean = gate->mean + slot * cells * C;
    real *patches = gate->patches + slot * cells * 9 * C, *hidden = gate->hidden + slot * cells * S;

    /* Step 1: average x to s x s cells. */
    adaptive_mean(mean, x, p->H, p->W, C, p->s);

    /* Step 2: the two convolutions. */
    for (size_t at = 0; at < cells; at++) patch(patches + at * 9 * C, mean, p->s, C, at / p->s, at % p->s);
    linear_map(hidden, S, patches, 9 * C, p->phi_w1, p->phi_b1, cells, 9 * C, S);
    for (size_t at = 0; at < cells * S; at++) hidden[at] = gelu(hidden[at]);
    linear_map(map, R, hidden, S, p->phi_w2, p->phi_b2, cells, S, R);

    /* Step 3: the logistic function. */
    for (size_t at = 0; at < cells * R; at++) map[at] = 1 / (1 + exp(-map[at]));
}

double chopd_gate_multiply_adds(const struct chopd_problem *p)
{
    return (double)(p->s * p->s) * (9 * (double)p->C * (double)p->S + (double)p->S * (double)p->R);
}

static const struct letter letters[] = {
    {"R", "components"},
    {"G", "boxes of a component"},
    {"S", "hidden channels of the gate"},
    {"D", "channels out"},
    {0}
};

const struct declaration chopd = {
    .name = "chopd",
    .summary = "gated pooling over learnable boxes (Chopping Formers, Eq. 10)",
    .letters = letters,
    .output = "B N D",
    .options = options,
    .tensors = tensors,
    .check = check,
    .resolved = sizeof(struct chopd_problem),
    .resolve = resolve,
};
