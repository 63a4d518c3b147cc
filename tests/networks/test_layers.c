/* test_layers.c -- each layer computes its equation of reference/networks/layers/layers.h
 *
 * A layer has one form, so this file restates its equation: in double, by coordinates, one output at a time.
 * test_properties.c tests layers like operators. */

#include "../support/roundoff.h"
#include "../../reference/networks/layers/layers.h"

/* ---- layers by coordinates ------------------------------------------- */

struct input {
    const struct problem *p;
    const real *x;
    size_t B, N, C;
    grid in, out;
};

static double at(const struct input *t, const char *name, size_t i)
{
    const real *data = problem_tensor(t->p, name);
    return data ? (double)data[i] : 0;
}

static size_t size_of(const struct input *t, const char *letter) { return problem_size(t->p, letter); }
static double expected_gelu(double x) { return x * (1 + erf(x / sqrt(2))) / 2; }

static bool inside(const grid *g, const ptrdiff_t place[GRID_AXES])
{
    for (int a = 0; a < g->axes; a++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): axes <= GRID_AXES */
        if (place[a] < 0 || place[a] >= (ptrdiff_t)g->size[a]) return false;
    return true;
}

/* x at coordinates; 0 outside the grid. */
static double x_at(const struct input *t, size_t b, const ptrdiff_t place[GRID_AXES], size_t c)
{
    size_t index[GRID_AXES] = {0};
    if (!inside(&t->in, place)) return 0;
    for (int a = 0; a < t->in.axes; a++) index[a] = (size_t)place[a];
    return (double)t->x[(b * t->N + grid_index(&t->in, index)) * t->C + c];
}

/* `from`: the coordinates of entry m of output n's window. */
static void window_place(ptrdiff_t from[GRID_AXES], const grid *out, size_t n, size_t m, const size_t size[],
                         const size_t stride[], const size_t pad[])
{
    size_t place[GRID_AXES];
    grid_coordinates(place, out, n);
    for (int a = out->axes - 1; a >= 0; a--) {
        from[a] = (ptrdiff_t)(place[a] * stride[a] + m % size[a]) - (ptrdiff_t)pad[a];
        m /= size[a];
    }
}

static const size_t origin[GRID_AXES], ones[] = {1, 1, 1}, twos[] = {2, 2, 2}, threes[] = {3, 3, 3};

static double expected_patch(const struct input *t, size_t b, size_t n, size_t d)
{
    size_t M = size_of(t, "M");
    bool mean = !strcmp(problem_text(t->p, "kind"), "mean");
    double sum = at(t, "b", d);
    struct lookup names = {.problem = t->p};
    const size_t *size = lookup_sizes(&names, "size"), *stride = lookup_sizes(&names, "stride");
    const size_t *pad = lookup_sizes(&names, "pad");
    for (size_t m = 0; m < M; m++) {
        ptrdiff_t from[GRID_AXES] = {0};
        window_place(from, &t->out, n, m, size, stride[0] ? stride : size, pad);
        for (size_t c = 0; c < t->C; c++)
            sum += (mean ? at(t, "w", d * t->C + c) / (double)M : at(t, "w", (d * t->C + c) * M + m))
                   * x_at(t, b, from, c);
    }
    return sum;
}

static double expected_depthwise(const struct input *t, size_t b, size_t n, size_t c)
{
    size_t M = size_of(t, "M"), half[GRID_AXES] = {0};
    bool learned = problem_tensor(t->p, "w") != NULL;
    double sum = at(t, "b", c);
    struct lookup names = {.problem = t->p};
    const size_t *size = lookup_sizes(&names, "size");
    for (int a = 0; a < t->in.axes; a++) half[a] = size[a] / 2;
    for (size_t m = 0; m < M; m++) {
        ptrdiff_t from[GRID_AXES] = {0};
        window_place(from, &t->in, n, m, size, ones, half);
        sum += (learned ? at(t, "w", c * M + m) : 1 / (double)M) * x_at(t, b, from, c);
    }
    return sum;
}

/* sum_c w_kc x_c + b_k of a token; 0, without bias, outside the grid. */
static double mapped(const struct input *t, const char *w, const char *bias, size_t b, const ptrdiff_t place[GRID_AXES],
                     size_t k)
{
    double sum = at(t, bias, k);
    if (!inside(&t->in, place)) return 0;
    for (size_t c = 0; c < t->C; c++) sum += at(t, w, k * t->C + c) * x_at(t, b, place, c);
    return sum;
}

static double expected_mlp(const struct input *t, size_t b, size_t n, size_t c)
{
    size_t hidden = size_of(t, "r") * t->C;
    double sum = at(t, "b_2", c);
    ptrdiff_t from[GRID_AXES] = {0};
    for (size_t k = 0; k < hidden; k++) {
        window_place(from, &t->in, n, 0, ones, ones, origin);
        double value = mapped(t, "w_1", "b_1", b, from, k);
        if (problem_given(t->p, "depthwise")) value = at(t, "conv_b", k);
        for (size_t m = 0; m < 9 && problem_given(t->p, "depthwise"); m++) {
            window_place(from, &t->in, n, m, threes, ones, ones);
            value += at(t, "conv_w", k * 9 + m) * mapped(t, "w_1", "b_1", b, from, k);
        }
        sum += at(t, "w_2", c * hidden + k) * expected_gelu(value);
    }
    return sum;
}

static double expected_linear(const struct input *t, size_t b, size_t n, size_t d)
{
    ptrdiff_t place[GRID_AXES] = {0};
    window_place(place, &t->in, n, 0, ones, ones, origin);
    double value = mapped(t, "w", "b", b, place, d);
    return problem_given(t->p, "gelu") ? expected_gelu(value) : value;
}

/* Entry k of a normalised row. */
static double normalised(const double *row, size_t count, size_t k, double epsilon)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count; i++) mean += row[i] / (double)count;
    for (size_t i = 0; i < count; i++) variance += (row[i] - mean) * (row[i] - mean) / (double)count;
    return (row[k] - mean) / sqrt(variance + epsilon);
}

static double expected_norm(const struct input *t, size_t b, size_t n, size_t c)
{
    double row[64] = {0}, epsilon = problem_number(t->p, "epsilon");
    ck_assert_uint_le(t->C, COUNT(row));
    for (size_t i = 0; i < t->C; i++) row[i] = (double)t->x[(b * t->N + n) * t->C + i];
    double value = problem_tensor(t->p, "var") ? (row[c] - at(t, "mean", c)) / sqrt(at(t, "var", c) + epsilon)
                                               : normalised(row, t->C, c, epsilon);
    return value * at(t, "g", c) + at(t, "b", c);
}

static double expected_merge(const struct input *t, size_t b, size_t n, size_t d)
{
    static const size_t by_columns[] = {0, 2, 1, 3};
    double row[256], sum = 0;
    size_t four = 4 * t->C;
    ck_assert_uint_le(four, COUNT(row));
    for (size_t k = 0; k < four; k++) {
        ptrdiff_t from[GRID_AXES] = {0};
        window_place(from, &t->out, n, by_columns[k / t->C], twos, twos, origin);
        row[k] = x_at(t, b, from, k % t->C);
    }
    for (size_t k = 0; k < four; k++)
        sum += at(t, "w", d * four + k) * (normalised(row, four, k, 1e-5) * at(t, "norm_g", k) + at(t, "norm_b", k));
    return sum;
}

/* Bilinear interpolation of x: the sum over all tokens, each weighted by a tent of width 1. */
static double between(const struct input *t, size_t b, double y, double z, size_t c)
{
    double sum = 0;
    for (size_t i = 0; i < t->in.size[0]; i++)
        for (size_t j = 0; j < t->in.size[1]; j++) {
            const ptrdiff_t place[GRID_AXES] = {(ptrdiff_t)i, (ptrdiff_t)j, 0};
            sum += fmax(0, 1 - fabs(y - (double)i)) * fmax(0, 1 - fabs(z - (double)j)) * x_at(t, b, place, c);
        }
    return sum;
}

static double expected_deform(const struct input *t, size_t b, size_t n, size_t d)
{
    ptrdiff_t from[GRID_AXES] = {0};
    double sum = at(t, "b", d);
    for (size_t tap = 0; tap < 4; tap++) {
        double move[2];
        for (size_t o = 0; o < 2; o++) {
            move[o] = at(t, "offset_b", 2 * tap + o);
            for (size_t m = 0; m < 4; m++) {
                window_place(from, &t->out, n, m, twos, twos, origin);
                for (size_t c = 0; c < t->C; c++)
                    move[o] += at(t, "offset_w", ((2 * tap + o) * t->C + c) * 4 + m) * x_at(t, b, from, c);
            }
        }
        window_place(from, &t->out, n, tap, twos, twos, origin);
        for (size_t c = 0; c < t->C; c++)
            sum += at(t, "w", (d * t->C + c) * 4 + tap)
                 * between(t, b, (double)from[0] + move[0], (double)from[1] + move[1], c);
    }
    sum = (sum - at(t, "norm_mean", d)) / sqrt(at(t, "norm_var", d) + 1e-5);
    return expected_gelu(sum * at(t, "norm_g", d) + at(t, "norm_b", d));
}

static double expected_position(const struct input *t, size_t b, size_t n, size_t c)
{
    return (double)t->x[(b * t->N + n) * t->C + c] + at(t, "table", n * t->C + c);
}

static double expected_head(const struct input *t, size_t b, size_t n, size_t k)
{
    double sum = at(t, "b", k);
    (void)n;
    for (size_t m = 0; m < t->N; m++)
        for (size_t c = 0; c < t->C; c++)
            sum += at(t, "w", k * t->C + c) * (double)t->x[(b * t->N + m) * t->C + c] / (double)t->N;
    return sum;
}

/* ---- the cases ---------------------------------------------------------------- */

typedef double entry(const struct input *, size_t b, size_t n, size_t c);

static const struct { const struct declaration *layer; entry *expected; const char *options; size_t batch, channels;
                      const char *sizes, *without; } layer[] = {
    {&layer_patch, expected_patch, "--grid 8x12 --size 4 --channels 5", 2, 3, "", ""},
    {&layer_patch, expected_patch, "--grid 9x7 --size 3 --stride 2 --pad 1 --channels 6", 2, 5, "", "b"},
    {&layer_patch, expected_patch, "--grid 15x8 --size 7 --stride 4 --pad 3 --channels 4", 1, 3, "", ""},
    {&layer_patch, expected_patch, "--grid 7x9 --size 2x3 --stride 3x1 --pad 0x2 --channels 3", 1, 17, "", ""},
    {&layer_patch, expected_patch, "--grid 11 --size 4 --stride 3 --pad 2 --channels 2", 2, 3, "", ""},
    {&layer_patch, expected_patch, "--grid 5x6x4 --size 3x2x2 --stride 2x2x1 --pad 1x0x1 --channels 4", 2, 3, "", ""},
    {&layer_patch, expected_patch, "--grid 2x2 --size 5 --pad 3 --stride 2 --channels 3", 1, 2, "", ""},
    {&layer_patch, expected_patch, "--grid 40x44 --size 1 --channels 3", 1, 2, "", ""},
    {&layer_patch, expected_patch, "--grid 8x12 --size 4 --channels 5 --kind mean", 2, 3, "", ""},
    {&layer_patch, expected_patch, "--grid 9x7 --size 3x2 --stride 2 --pad 1 --channels 6 --kind mean", 2, 19, "", "b"},
    {&layer_depthwise, expected_depthwise, "--grid 6x7 --size 3x3", 2, 19, "", ""},
    {&layer_depthwise, expected_depthwise, "--grid 7x5 --size 5x5", 1, 32, "", "b"},
    {&layer_depthwise, expected_depthwise, "--grid 3x4x5 --size 3x1x5", 2, 7, "", ""},
    {&layer_depthwise, expected_depthwise, "--grid 2x2 --size 7x5", 1, 17, "", ""},
    {&layer_depthwise, expected_depthwise, "--grid 9 --size 3", 3, 1, "", ""},
    {&layer_depthwise, expected_depthwise, "--grid 6x5 --size 3x3 --kind mean", 2, 19, "", ""},
    {&layer_depthwise, expected_depthwise, "--grid 2x3x4 --size 1x5x3 --kind mean", 1, 5, "", ""},
    {&layer_mlp, expected_mlp, "--grid 5x6", 2, 7, "", ""},
    {&layer_mlp, expected_mlp, "--grid 4 --ratio 1", 1, 5, "", "b_1 b_2"},
    {&layer_mlp, expected_mlp, "--grid 24x24 --ratio 3", 1, 3, "", ""},
    {&layer_mlp, expected_mlp, "--grid 5x7 --depthwise", 2, 5, "", ""},
    {&layer_mlp, expected_mlp, "--grid 1x9 --depthwise --ratio 2", 3, 9, "", "b_1"},
    {&layer_mlp, expected_mlp, "--grid 23x24 --depthwise --ratio 2", 3, 2, "", "conv_b b_2"},
    {&layer_linear, expected_linear, "--channels 9", 2, 7, "N=13", ""},
    {&layer_linear, expected_linear, "--channels 1", 1, 20, "N=1", "b"},
    {&layer_linear, expected_linear, "--channels 19 --gelu", 2, 7, "N=13", ""},
    {&layer_linear, expected_linear, "--channels 513 --gelu", 3, 2, "N=300", "b"},
    {&layer_norm_of_tokens, expected_norm, "", 2, 19, "N=7", ""},
    {&layer_norm_of_tokens, expected_norm, "--epsilon 0.5", 1, 64, "N=3", ""},
    {&layer_norm_of_tokens, expected_norm, "--kind batch", 2, 18, "N=5", ""},
    {&layer_norm_of_tokens, expected_norm, "--kind batch --epsilon 0.1", 1, 1, "N=9", ""},
    {&layer_merge, expected_merge, "--grid 4x6", 2, 5, "", ""},
    {&layer_merge, expected_merge, "--grid 2x8", 1, 33, "", ""},
    {&layer_deform, expected_deform, "--grid 6x8", 2, 5, "", ""},
    {&layer_deform, expected_deform, "--grid 8x2", 1, 17, "", "b offset_b"},
    {&layer_position, expected_position, "", 3, 17, "N=6", ""},
    {&layer_head, expected_head, "--classes 10", 3, 17, "N=12", ""},
    {&layer_head, expected_head, "--classes 1", 1, 33, "N=1", "b"},
};

static struct fixture random_layer(int n)
{
    return fixture(layer[n].options, layer[n].layer, layer[n].batch, layer[n].channels, layer[n].sizes,
                   layer[n].without);
}

static real *expected_output(const struct fixture *t, entry *expected)
{
    const struct problem *p = &t->problem;
    int axes;
    size_t shape[TENSOR_AXES], i = 0;
    real *y = zeros(t->outputs);
    struct input in = {.p = p, .x = t->x, .B = problem_size(p, "B"), .N = problem_size(p, "N"),
                       .C = problem_size(p, "C"), .in = p->grid, .out = layer_grid(p)};
    succeeds(problem_output_shape(p, &axes, shape));
    size_t tokens = axes == 3 ? shape[1] : 1, channels = shape[axes - 1];
    for (size_t b = 0; b < in.B; b++)
        for (size_t n = 0; n < tokens; n++)
            for (size_t c = 0; c < channels; c++) y[i++] = (real)expected(&in, b, n, c);
    return y;
}

/* Tolerance: 32 sqrt(T) u, T multiply-adds per output (test_properties.c), for the largest error; roundoff.h for the
 * root mean square. */
static void holds(const struct fixture *t, const char *what, const real *expected, int threads)
{
    const struct problem *p = &t->problem;
    const struct form *form = operator_form_at(p->declaration, 0), *other = sizeof(real) == 8 ? form : NULL;
    double kappa = sensitivity(p, t->x, reference(p, t->x));
    double T = fmax(1, form_multiply_adds(form, p) / (double)t->outputs);
    alike(what, fixture_run(t, "layer", threads), expected, t->outputs, 32 * sqrt(T) * UNIT_ROUNDOFF,
          statistical_bound(p, kappa, form, other));
}

TESTS(layers_equal_their_equations, COUNT(layer))
{
    struct fixture t = random_layer(_i);
    char what[160];
    const real *expected = expected_output(&t, layer[_i].expected);
    for (int threads = 1; threads <= 2; threads++) {
        snprintf(what, sizeof what, "%s %s, %d thread%s", layer[_i].layer->name, layer[_i].options, threads,
                 threads == 1 ? "" : "s");
        holds(&t, what, expected, threads);
    }
    ck_assert(largest(expected, t.outputs) > 0);
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

/* Without offsets it is a patch layer with the norm folded into its weights, and GELU. */
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
    for (size_t i = 0; i < conv.outputs; i++) y[i] = (real)expected_gelu((double)y[i]);
    holds(&t, "no offsets", y, 2);
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
            const ptrdiff_t from[GRID_AXES] = {i % 48 / 8 + move[n].dy, i % 8 + move[n].dx};
            if (inside(&t.problem.grid, from))
                memcpy(x + i * 7, t.x + (i / 48 * 48 + from[0] * 8 + from[1]) * 7, 7 * sizeof *x);
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

int main(void) { return run_tests("layers"); }
