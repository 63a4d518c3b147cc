/* test_layers.c -- each layer computes its equation of reference/networks/layers/layers.h
 *
 * test_properties.c tests layers like operators. */

#define _XOPEN_SOURCE 700
#include <glob.h>
#include "../support/golden.h"
#include "../../reference/networks/layers/layers.h"

static glob_t vectors;

/* Each layer gives PyTorch's y, computed in float64 (tests/pytorch/layers.py). */
TESTS(layers_equal_their_equations, (int)vectors.gl_pathc)
{
    const char *path = vectors.gl_pathv[_i];
    char name[16];
    struct golden g;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(strrchr(path, '/') + 1, "_"), strrchr(path, '/') + 1);
    golden_read(&g, layer_find(name), path, "y_expected");
    own_parameters(&g.problem);
    golden_holds(&g, path, property_tolerance(&g.problem));
    golden_close(&g);
}

/* Each term of the formula changes the count at these sizes. */
TEST(layer_formulas_count_multiply_adds)
{
    static const struct { const char *options; const struct declaration *d; size_t B, C; const char *sizes;
                          double cost; } row[] = {
        {"--grid 8x12 --size 4 --channels 5", &layer_patch, 2, 3, "", 2 * 6 * 16 * 3 * 5},
        {"--grid 9x7 --size 3 --stride 2 --pad 1 --channels 6", &layer_patch, 1, 5, "", 5 * 4 * 9 * 5 * 6},
        {"--grid 8x12 --size 4 --channels 5 --kind mean", &layer_patch, 2, 3, "", 2 * 6 * 3 * (16 + 5)},
        {"--grid 6x7 --size 3x5", &layer_depthwise, 2, 19, "", 2 * 42 * 15 * 19},
        {"--grid 5x6 --ratio 3", &layer_mlp, 2, 7, "", 2 * 30 * 2 * 3 * 49},
        {"--grid 5x6 --depthwise", &layer_mlp, 1, 7, "", 30 * (8 * 49 + 36 * 7)},
        {"--channels 9", &layer_linear, 2, 7, "N=13", 2 * 13 * 63},
        {"--grid 4x6", &layer_merge, 2, 5, "", 2 * 6 * (8 * 25 + 12 * 5)},
        {"--grid 4x6", &layer_deform, 2, 5, "", 2 * 6 * (8 * 25 + 32 * 5 + 16 * 5)},
        {"--classes 10", &layer_head, 3, 17, "N=12", 3 * 17 * (12 + 10)},
    };
    for (size_t n = 0; n < COUNT(row); n++) {
        struct problem p = shaped(row[n].options, row[n].d, row[n].B, row[n].C, row[n].sizes, "");
        ck_assert_msg(form_multiply_adds(operator_form_at(row[n].d, 0), &p) == row[n].cost, "%s", row[n].d->name);
    }
}

/* ---- deformable sampling ---------------------------------------------- */

/* A deform layer whose taps all have the offset (dy, dx). */
static struct fixture moved_by(double dy, double dx)
{
    struct fixture t = fixture("--grid 6x8", &layer_deform, 2, 7, "", "");
    fixture_fill(&t, "offset_w", 0);
    for (size_t o = 0; o < 8; o++) fixture_tensor(&t, "offset_b")[o] = (real)(o % 2 ? dx : dy);
    return t;
}

/* Without offsets it is a patch layer with the norm folded into its weights, and GELU.  Tolerance: that of two forms. */
TEST(deform_without_offsets_is_a_convolution)
{
    struct fixture t = moved_by(0, 0), conv = fixture("--grid 6x8 --size 2 --channels 14", &layer_patch, 2, 7, "", "");
    memcpy(conv.x, t.x, t.inputs * sizeof *t.x);
    for (size_t d = 0; d < 14; d++) {
        double f = (double)fixture_tensor(&t, "norm_g")[d] / sqrt((double)fixture_tensor(&t, "norm_var")[d] + 1e-5);
        for (size_t i = 0; i < 28; i++)
            fixture_tensor(&conv, "w")[d * 28 + i] = (real)((double)fixture_tensor(&t, "w")[d * 28 + i] * f);
        double shift = (double)fixture_tensor(&t, "b")[d] - (double)fixture_tensor(&t, "norm_mean")[d];
        fixture_tensor(&conv, "b")[d] = (real)(shift * f + (double)fixture_tensor(&t, "norm_b")[d]);
    }
    real *y = fixture_run(&conv, "layer", 1);
    for (size_t i = 0; i < conv.outputs; i++) y[i] = (real)((double)y[i] * (1 + erf((double)y[i] / sqrt(2))) / 2);
    forms_within(&t, y, property_tolerance(&t.problem));
}

/* Output (i, j) reads (i + dy, j + dx), or zeros outside.  Exact, since the weights are 1 and 0. */
TEST(whole_offsets_shift_the_plane)
{
    static const struct { ptrdiff_t dy, dx; } move[] = {{1, 0}, {0, 1}, {-1, 2}, {3, -2}, {-6, 0}, {0, 8}, {100, 100}};
    struct fixture still = moved_by(0, 0);
    for (size_t n = 0; n < COUNT(move); n++) {
        struct fixture t = moved_by((double)move[n].dy, (double)move[n].dx);
        real *x = zeros(t.inputs);
        for (ptrdiff_t i = 0; i < 2 * 48; i++) {
            ptrdiff_t row = i % 48 / 8 + move[n].dy, column = i % 8 + move[n].dx;
            if (row >= 0 && row < 6 && column >= 0 && column < 8)
                memcpy(x + i * 7, t.x + (i / 48 * 48 + row * 8 + column) * 7, 7 * sizeof *x);
        }
        equal(fixture_run(&t, "layer", 1), fixture_run_on(&still, "layer", 1, x), t.outputs);
    }
}

/* NaN offsets give NaN; huge offsets read zeros. */
TEST(nan_offsets_give_nan)
{
    struct fixture t = moved_by(1e30, -1e30), far = moved_by(100, 100), none = moved_by(0, (double)NAN);
    equal(fixture_run(&t, "layer", 1), fixture_run(&far, "layer", 1), t.outputs);
    real *y = fixture_run(&none, "layer", 1);
    for (size_t i = 0; i < t.outputs; i++) ck_assert(isnan((double)y[i]));
}

/* ---- relations between layers -------------------------------------------------------- */

/* HiLo, Sec. 4.2.  With positive weights and equal tokens, outputs are equal; with a zero-padded convolution they are
 * smaller at an edge and smallest at a corner.  A token changes its own output, or with the convolution 3 x 3 outputs.
 * Tolerance: 32 sqrt(T) u, T = 128. */
TEST(zero_padding_reveals_the_border)
{
    enum { EDGE = 6, N = EDGE * EDGE, C = 2 };
    static const char *const weights[] = {"w_1", "w_2", "conv_w"};
    for (int convolution = 0; convolution < 2; convolution++) {
        struct fixture t = fixture(convolution ? "--grid 6x6 --depthwise" : "--grid 6x6", &layer_mlp, 1, C, "",
                               "b_1 b_2 conv_b");
        for (int w = 0; w < 2 + convolution; w++)
            fixture_put(&t, weights[w], uniform(3, fixture_count(&t, weights[w]), 0.25, 1));
        real *impulse = zeros(N * C);
        impulse[(2 * EDGE + 3) * C] = 1;
        const real *y = fixture_run_on(&t, "layer", 1, filled(N * C, 1)), *middle = y + (2 * EDGE + 2) * C;
        const real *seen = fixture_run_on(&t, "layer", 1, impulse);
        double apart = 0;
        for (size_t i = 0; i < N; i++) {
            size_t row = i / EDGE, column = i % EDGE;
            bool border = row == 0 || row == EDGE - 1 || column == 0 || column == EDGE - 1;
            bool near = row >= 1 && row <= 3 && column >= 2 && column <= 4;
            if (border && convolution) ck_assert(y[i * C] < (real)0.99 * middle[0]);
            else worse(&apart, relative_difference(y + i * C, middle, C));
            ck_assert((seen[i * C] > 0) == (convolution ? near : row == 2 && column == 3));
        }
        within("equal tokens", apart, 32 * sqrt(128) * UNIT_ROUNDOFF);
        if (convolution) ck_assert(y[0] < (real)0.99 * y[C] && y[0] < (real)0.99 * y[EDGE * C]);
    }
}

/* Mean 0, variance 1, epsilon 0, gain 1, bias 0. */
TEST(identity_batch_norm_changes_no_bit)
{
    struct fixture t = fixture("--kind batch --epsilon 0", &layer_norm_of_tokens, 2, 17, "N=5", "");
    fixture_fill(&t, "g", 1);
    fixture_fill(&t, "var", 1);
    fixture_fill(&t, "b", 0);
    fixture_fill(&t, "mean", 0);
    equal(fixture_run(&t, "layer", 2), t.x, t.outputs);
}

/* Exact, since equal channels equal their mean.  37 is no multiple of a vector. */
TEST(a_layer_norm_of_equal_channels_is_its_bias)
{
    struct fixture t = fixture("--epsilon 0.0000000001", &layer_norm_of_tokens, 2, 37, "N=3", "");
    real *y = fixture_run_on(&t, "layer", 1, filled(t.inputs, 1000.7));
    for (size_t n = 0; n < t.outputs; n++) ck_assert(y[n] == fixture_tensor(&t, "b")[n % 37]);
}

TEST(layers_reject_wrong_options)
{
    static const struct { const struct declaration *d; const char *options, *says; } wrong[] = {
        {&layer_patch, "--grid 4x4 --size 5 --channels 3", "expected at most 4"},
        {&layer_patch, "--grid 4x4 --size 2x2x2 --channels 3", "found 3 axes"},
        {&layer_patch, "--grid 4x4 --stride 0 --channels 3", "whole numbers from 1"},
        {&layer_depthwise, "--grid 4x4 --size 2x2", "odd sizes"},
        {&layer_depthwise, "--grid 4x4", "missing"},
        {&layer_mlp, "--grid 2x4x4 --depthwise", "a grid of 3 axes"},
        {&layer_merge, "--grid 3x4", "even sides"},
        {&layer_deform, "--grid 4x3", "even sides"},
        {&layer_norm_of_tokens, "--kind group", "layer|batch"},
    };
    for (size_t n = 0; n < COUNT(wrong); n++) {
        struct problem p;
        rejected(shaped_openly(&p, wrong[n].options, wrong[n].d, 1, 3, "", "", 1), STATUS_BAD_INPUT, wrong[n].says);
    }
}

int main(void)
{
    if (glob("tests/golden/layers/*.safetensors", 0, NULL, &vectors)) return EXIT_FAILURE;
    return run_tests("layers");
}
