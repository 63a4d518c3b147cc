/* chopd.c -- the declaration of the ChoP'D Former's layer, and phi; see chopd.h */

#include "chopd.h"
#include <limits.h>
#include <tgmath.h>
#include "dfc.h"
#include "linear.h"
#include "memory.h"
#include "resample.h"
#include "steps.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "gate-size", .kind = OPTION_INTEGER, .fallback = "7", .low = 1, .high = 1024,
     .meaning = "phi works on a map of so many cells a side"},
    DFC_ACTIVATION,
    {0}
};

/* Normal numbers into boxes: a middle some tokens away, and sides from half a
 * token on. */
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
    {.name = "u4", .shape = "C R", .fan = "C", .meaning = "channels to components"},
    {.name = "boxes", .shape = "R G 4", .fan = "1", .adjust = adjust_boxes,
     .meaning = "y0 x0 y1 x1 from the middle of the token, in tokens"},
    {.name = "mix", .shape = "R G", .fan = "G", .meaning = "the weights of a component's boxes, E"},
    {.name = "phi_w1", .shape = "S C 3 3", .fan = "9*C", .meaning = "the gate's 3x3 convolution"},
    {.name = "phi_b1", .shape = "S", .fan = "9*C", .meaning = "its bias"},
    {.name = "phi_w2", .shape = "R S", .fan = "S", .meaning = "the gate's 1x1 convolution"},
    {.name = "phi_b2", .shape = "R", .fan = "S", .meaning = "its bias"},
    {.name = "u5", .shape = "D R", .fan = "R", .meaning = "components to channels"},
    {.name = "b", .shape = "D", .fan = "1", .meaning = "the bias"},
    {0}
};

struct chopd_sizes chopd_sizes(const struct problem *p)
{
    return (struct chopd_sizes){
        .B = problem_size(p, "B"), .H = p->grid.size[0], .W = p->grid.size[1], .N = problem_size(p, "N"),
        .C = problem_size(p, "C"), .D = problem_size(p, "D"), .R = problem_size(p, "R"), .G = problem_size(p, "G"),
        .S = problem_size(p, "S"), .s = (size_t)problem_number(p, "gate-size"),
    };
}

/* A box has an inside, and BLAS can count a patch of phi's convolution. */
static status check(const struct problem *p)
{
    const real *box = problem_tensor(p, "boxes");
    size_t R = problem_size(p, "R"), G = problem_size(p, "G"), patch;

    for (size_t rg = 0; rg < R * G; rg++, box += 4) {
        if (isfinite(box[0]) && isfinite(box[1]) && isfinite(box[2]) && isfinite(box[3])
            && box[0] < box[2] && box[1] < box[3])
            continue;
        return bad_input("tensor boxes: found (%g, %g, %g, %g) at [%zu, %zu], expected finite y0 < y1 and x0 < x1",
                         (double)box[0], (double)box[1], (double)box[2], (double)box[3], rg / G, rg % G);
    }
    if (!size_multiply(&patch, 9, problem_size(p, "C")) || patch > INT_MAX)
        return bad_input("tensor phi_w1: 9 C is too large, expected at most %d", INT_MAX);
    return status_ok();
}

/* ---- phi --------------------------------------------------------------- */

bool chopd_gate_reals(size_t *reals, const struct chopd_sizes *s)
{
    size_t width, cells = s->s * s->s;
    return size_multiply(&width, 10, s->C) && width + s->S >= width && size_multiply(reals, cells, width + s->S);
}

/* What the 3 x 3 convolution sees around a cell: [C][3][3], zero off the map. */
static void patch(real *around, const real *mean, size_t s, size_t C, size_t i, size_t j)
{
    for (size_t k = 0; k < 9; k++) {
        size_t y = i + k / 3, x = j + k % 3;
        bool inside = y >= 1 && y <= s && x >= 1 && x <= s;
        for (size_t c = 0; c < C; c++) around[c * 9 + k] = inside ? mean[((y - 1) * s + x - 1) * C + c] : 0;
    }
}

void chopd_gate(real *map, const real *x, const struct problem *p, real *room)
{
    struct chopd_sizes z = chopd_sizes(p);
    size_t cells = z.s * z.s;
    real *mean = room, *patches = mean + cells * z.C, *hidden = patches + cells * 9 * z.C;

    /* Step 1: a small map, whatever the size of the image. */
    adaptive_mean(mean, x, z.H, z.W, z.C, z.s);

    /* Step 2: the two convolutions. */
    for (size_t at = 0; at < cells; at++) patch(patches + at * 9 * z.C, mean, z.s, z.C, at / z.s, at % z.s);
    linear_map(hidden, z.S, patches, 9 * z.C, problem_tensor(p, "phi_w1"), problem_tensor(p, "phi_b1"), cells, 9 * z.C, z.S);
    for (size_t at = 0; at < cells * z.S; at++) hidden[at] = gelu(hidden[at]);
    linear_map(map, z.R, hidden, z.S, problem_tensor(p, "phi_w2"), problem_tensor(p, "phi_b2"), cells, z.S, z.R);

    /* Step 3: between 0 and 1. */
    for (size_t at = 0; at < cells * z.R; at++) map[at] = 1 / (1 + exp(-map[at]));
}

double chopd_gate_multiply_adds(const struct chopd_sizes *s)
{
    return (double)(s->s * s->s) * (9 * (double)s->C * (double)s->S + (double)s->S * (double)s->R);
}

const struct declaration chopd = {
    .name = "chopd",
    .summary = "gated pooling over learnable boxes (Chopping Formers, Eq. 10)",
    .output = "B N D",
    .options = options,
    .tensors = tensors,
    .check = check,
    .forms = {&chopd_naive, &chopd_fast},
};
