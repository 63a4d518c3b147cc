/* test_chopd.c -- the layers of chapter 4: the forms of fc, dfc, dfc-cp and chopd agree; boxes, GELU, errors */

#include "chopd_case.h"
#include "../support/properties.h"
#include "../support/roundoff.h"
#include "../support/battery.h"
#include "../../fast/tuned/chopd/box_pool.h"
#include "../../fast/tuned/gelu.h"

static const struct battery_case fc_sizes[] = {
    {"", 1, 1, "M=1 N=1 D=1", ""},
    {"", 3, 5, "M=4 N=7 D=2", ""},
    {"", 2, 3, "M=9 N=1 D=17", ""},
    {0},
};

static const struct battery_case dfc_sizes[] = {
    {"", 1, 1, "M=1 N=1 D=1", ""},
    {"", 3, 5, "M=4 N=7 D=2", ""},
    {"--activation none", 2, 3, "M=9 N=1 D=17", "b"},
    {"", 1, 2, "M=3 N=2 D=259", ""},            /* more channels than a strip */
    {"", 513, 2, "M=2 N=3 D=2", ""},
    {0},
};

/* 513 images: both threads surely take some, and one is left over. */
static const struct battery_case cp_sizes[] = {
    {"", 1, 1, "M=1 N=1 D=1 R=1", ""},
    {"", 3, 5, "M=4 N=7 D=2 R=11", ""},
    {"--activation none", 2, 7, "M=5 N=3 D=18 R=2", ""},
    {"", 1, 16, "M=6 N=6 D=16 R=40", ""},
    {"", 513, 8, "M=8 N=9 D=8 R=64", ""},
    {"--positions relative --grid 1x1", 1, 1, "D=1 R=1", ""},
    {"--positions relative --grid 3x5", 2, 3, "D=4 R=11", ""},
    {"--positions relative --grid 5x3 --activation none", 513, 2, "D=3 R=8", "u1"},
    {"--positions relative --grid 4x9", 1, 2, "D=2 R=40", ""},
    {"--positions relative --grid 14x14", 2, 3, "D=2 R=9", ""},        /* by transforms, as all below */
    {"--positions relative --grid 1x150", 3, 2, "D=2 R=17", "u1"},
    {"--positions relative --grid 40x7", 1, 1, "D=3 R=8", ""},
    {0},
};

static const struct battery_error cp_errors[] = {
    {"--grid 4x4", "option --grid: found, expected only with --positions relative", 2},
    {"--positions relative", "option --grid: found 0 axes, expected HxW with --positions relative", 2},
    {"--positions relative --grid 16", "option --grid: found '16', a grid of 1 axes, expected two, HxW", 2},
    {0},
};

static const struct battery_file cp_files[] = {
    {"--positions relative --grid 1x2", "x 1x2x3 u1 1x2 u2 3x2 u3 2x2 u4 3x2 u5 2x2 b 2x2", "", NULL},
    {"--positions relative --grid 1x2", "x 1x2x3 u1 1x2 u2 2x2 u3 2x2 u4 3x2 u5 2x2 b 2x2", "",
     "tensor u2: found [2, 2], expected [P, R] = [3, 2]"},
    {"--positions relative --grid 1x2", "x 1x4x3 u2 3x2 u3 2x2 u4 3x2 u5 2x2 b 2x2", "",
     "tensor x: found [1, 4, 3], expected [B, M, C] = [B, 2, C]"},
    {0},
};

static const struct battery_case fc_counted[] = {
    {"", 1, 1, "M=1 N=1 D=1", ""},
    {"", 2, 3, "M=5 N=4 D=2", ""},
    {0},
};

static const struct battery_case cp_counted[] = {
    {"", 1, 1, "M=1 N=1 D=1 R=1", ""},
    {"", 2, 3, "M=5 N=4 D=2 R=6", ""},
    {"--activation none", 3, 4, "M=2 N=7 D=5 R=2", ""},
    {"--positions relative --grid 3x2", 2, 4, "D=5 R=2", ""},
    {"--positions relative --grid 1x4", 1, 2, "D=3 R=5", "u1"},
    {0},
};

static double none(const struct problem *p, const struct form *form)
{
    (void)p, (void)form;
    return 0;
}

static const struct battery_case fc_memory[] = {{"", 2, 6, "M=20 N=15 D=7", ""}, {0}};
static const struct battery_case cp_memory[] = {
    {"", 3, 6, "M=20 N=15 D=7 R=64", ""},
    {"--positions relative --grid 4x5", 3, 6, "D=7 R=64", ""},
    {0},
};

/* The memory stated in reference/dfc.h and chopd.h.  fc's fast form repacks W: M C weights and a bias for each output,
 * padded to whole vectors of outputs (packed_linear.h), and a row of M C while loading. */
static double stated(const struct problem *p, const struct form *form)
{
    double M = (double)problem_size(p, "M"), N = (double)problem_size(p, "N"), C = (double)problem_size(p, "C");
    double D = (double)problem_size(p, "D"), R = (double)problem_size(p, "R"), B = (double)problem_size(p, "B");
    bool naive = !strcmp(form->name, "naive"), plain = !strcmp(form->name, "plain");
    bool relative = p->declaration == &dfc_cp && !strcmp(problem_text(p, "positions"), "relative");
    double packed = ceil(N * D / LANES) * LANES * (M * C + 1) + M * C;
    if (p->declaration == &fc) return (naive || plain ? 0 : packed) * sizeof(real);
    if (p->declaration == &dfc_cp)
        return (naive ? B * M * N * C * D : plain ? (relative ? M + 1 : 2) * R
                : relative ? (M + N + (double)p->grid.offsets) * R : (M + N + 1) * R) * sizeof(real)
             + (double)form->state;
    if (p->declaration == &dfc) return 0;
    if (!strcmp(form->name, "fast")) return -1;
    struct chopd_problem z = chopd_of(p);
    double cells = (double)(z.s * z.s), G = (double)z.G, S = (double)z.S, H = (double)z.H, W = (double)z.W;
    double own = naive ? N * N * (C * D + R * G + R) + N * R : (N + W) * R + (plain ? 0 : N);
    return (own + cells * (10 * C + S + R)) * sizeof(real) + (plain ? (H + 2) * (W + 1) * sizeof(wide_real) : 0);
}

static const struct battery_case sizes[] = {
    {"--grid 1x1", 1, 1, "D=1 R=1 G=1 S=1", ""},
    {"--grid 1x7 --gate-size 3", 2, 5, "D=3 R=4 G=2 S=2", ""},
    {"--grid 9x1", 1, 2, "D=5 R=3 G=3 S=4", ""},
    {"--grid 13x7 --gate-size 1", 2, 4, "D=6 R=5 G=1 S=3", ""},
    {"--grid 3x17 --activation none", 1, 3, "D=2 R=2 G=4 S=1", ""},
    {"--grid 4x32 --gate-size 4", 1, 3, "D=2 R=3 G=2 S=2", ""},
    {"--grid 5x47", 1, 2, "D=3 R=6 G=3 S=2", ""},
    {"--grid 2x70 --gate-size 9", 1, 2, "D=2 R=4 G=2 S=2", ""},
    {"--grid 40x3 --gate-size 2", 3, 2, "D=18 R=3 G=5 S=2", ""},
    {"--grid 14x14", 1, 8, "D=8 R=8 G=4 S=4", ""},
    {"--grid 2x130", 1, 1, "D=1 R=9 G=9 S=1", ""},
    {"--grid 1x3", 1, 1, "D=1 R=40 G=9 S=1", ""},
    {"--grid 6x5 --gate-size 3", 513, 4, "D=4 R=16 G=2 S=4", ""},
    {0},
};

static const struct battery_case counted[] = {
    {"--grid 1x1 --gate-size 1", 1, 1, "R=1 D=1 G=1 S=1", ""},
    {"--grid 3x4", 2, 3, "R=5 D=2 G=3 S=2", ""},
    {"--grid 5x2 --gate-size 3 --activation none", 1, 2, "R=2 D=4 G=1 S=6", ""},
    {0},
};

static double gate(const struct problem *p, const struct form *form)
{
    (void)form;
    struct chopd_problem z = chopd_of(p);
    return (double)z.B * chopd_gate_multiply_adds(&z);
}

static const struct battery_case memory[] = {{"--grid 6x7 --gate-size 5", 1, 5, "R=8 D=6 G=3 S=4", ""}, {0}};

/* The naive form divides by one side and then by the other, since the area may underflow.  Tolerance: that of two
 * forms. */
TEST(smallest_boxes_are_accepted)
{
    static const double side[][2] = {{1e-20, 1e-20}, {1e-40, 1}, {1, 1e-40}, {1e-45, 1e-45}, {1e-200, 1e-200}};
    struct fixture t = fixture("--grid 5x7", &chopd, 1, 3, "D=2 R=5 G=1 S=2", "");
    real *box = fixture_tensor(&t, "boxes");
    for (size_t r = 0; r < COUNT(side); r++)
        for (int axis = 0; axis < 2; axis++) {
            real least = sizeof(real) == 4 ? (real)1e-45 : (real)5e-324, length = (real)side[r][axis];
            box[4 * r + (size_t)axis] = 0;
            box[4 * r + 2 + (size_t)axis] = length > least ? length : least;
        }
    property_one_function(&t, "small boxes", property_tolerance(&t.problem));
}

/* Rounds a number from 1 to 10 to three digits. */
static double three_digits(double value)
{
    return round(100 * value) / 100;
}

/* The numbers of chapter 4, "By hand".  Tolerance 16 u: a sum of at most nine tokens, two shares, two products and a
 * division. */
TEST(chopd_by_hand)
{
    /* Around the token in the middle: whole tokens; half of the row above too; a thousandth of the token itself. */
    static const struct box box[] = {{-0.5, -0.5, 1.5, 1.5}, {-1, -0.5, 1.5, 1.5}, {-0.0005, -0.5, 0.0005, 0.5}};
    static const double mean[] = {7, 6.1, 5}, I[2][2] = {{1, 3}, {5, 12}};
    static const real tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, x[] = {1, 1, 2}, w[] = {4, 5, 8, 10, 12, 15};
    struct fixture means = pooling(3, 3, box, COUNT(box)), layer = pooling(3, 3, box, COUNT(box));
    fixture_fill(&layer, "phi_b2", 0);                    /* a gate of 1/2 */
    for (size_t r = 0; r < COUNT(box); r++) fixture_tensor(&layer, "u5")[r * COUNT(box) + r] = 2;
    fixture_fill(&layer, "b", 1);
    for (int f = 0; operator_form_at(&chopd, f); f++) {
        const char *form = operator_form_at(&chopd, f)->name;
        const real *pooled = fixture_run_on(&means, form, 1, tokens) + 4 * COUNT(box);
        const real *y = fixture_run_on(&layer, form, 1, tokens) + 4 * COUNT(box);
        printf("    %s: means %g %g %g; y %g %g %g\n", form, (double)pooled[0], (double)pooled[1], (double)pooled[2],
               (double)y[0], (double)y[1], (double)y[2]);
        for (size_t r = 0; r < COUNT(box); r++) {
            within("mean", fabs((double)pooled[r] - mean[r]), 16 * mean[r] * UNIT_ROUNDOFF);
            within("y", fabs((double)y[r] - (mean[r] + 1)), 16 * (mean[r] + 1) * UNIT_ROUNDOFF);
        }
    }

    /* The thousandth of a token, read from an integral image of three digits at interpolated corners. */
    double sum = 0;
    for (int column = 0; column < 2; column++)
        for (int row = 0; row < 2; row++)
            sum += (column ? 1 : -1) * (row ? 1 : -1)
                 * three_digits(I[0][column] + (row ? 0.5005 : 0.4995) * (I[1][column] - I[0][column]));
    ck_assert(sum == 0);

    /* One term: the matrix (1, 2, 3) times (4, 5), of three tokens in and two out. */
    struct fixture dense = fixture("", &fc, 1, 1, "M=3 N=2 D=1", "");
    struct fixture term = fixture("--activation none", &dfc_cp, 1, 1, "M=3 N=2 D=1 R=1", "");
    fixture_put(&dense, "w", w);
    fixture_put(&term, "u2", (real[]){1, 2, 3});
    fixture_put(&term, "u3", (real[]){4, 5});
    for (int i = 0; i < 3; i++) fixture_fill(&term, (const char *[]){"u1", "u4", "u5"}[i], 1);
    fixture_fill(&term, "b", 0);
    for (int i = 0; i < 2; i++)
        for (int f = 0; operator_form_at(i ? &dfc_cp : &fc, f); f++) {
            const struct form *form = operator_form_at(i ? &dfc_cp : &fc, f);
            const real *y = fixture_run_on(i ? &term : &dense, form->name, 1, x);
            printf("    %s, %s: %g %g\n", i ? "dfc-cp" : "fc", form->name, (double)y[0], (double)y[1]);
            ck_assert(y[0] == 36 && y[1] == 45);
        }
}

/* Tolerance in float: Phi errs by at most 1.7e-8, Horner's rule adds less than u, 1 - Phi and the product round once:
 * 3 u.  In double: half an ulp of the C library's erf, and three roundings: 4 u. */
TEST(gelu_in_lanes_is_gelu)
{
    double worst = 0;
    real zero[2 * LANES] = {0};
    for (int start = -1000000; start <= 1000000; start += 2 * (int)LANES) {
        real y[2 * LANES], x[2 * LANES];
        for (int l = 0; l < 2 * (int)LANES; l++) x[l] = y[l] = (real)((double)(start + l) * 2e-5);
        bias_and_gelu(y, zero, 2 * LANES - 1, true);
        for (size_t l = 0; l < 2 * LANES - 1; l++) {
            double exact = (double)x[l] * erfc(-(double)x[l] * sqrt(0.5)) / 2, error = fabs((double)y[l] - exact);
            worse(&worst, error == 0 ? 0 : error / fabs((double)x[l]));
        }
        ck_assert(y[2 * LANES - 1] == x[2 * LANES - 1]);
    }
    within("GELU", worst, (sizeof(real) == sizeof(float) ? 3 : 4) * UNIT_ROUNDOFF);

    real ends[] = {0, (real)NAN, (real)INFINITY, sizeof(real) == sizeof(float) ? (real)-3e38 : (real)-1e300};
    bias_and_gelu(ends, zero, 4, true);
    ck_assert(ends[0] == 0);
    ck_assert(isnan(ends[1]));
    ck_assert(isinf(ends[2]) && ends[2] > 0);
    ck_assert(ends[3] == 0);
}

/* ChoP'D, Eq. 8: boxes must have an inside and finite edges. */
static const struct { double box[4]; const char *text; } bad_box[] = {
    {{1, -1, 1, 1}, "tensor boxes: found (1, -1, 1, 1) at [1, 0], expected finite y0 < y1 and x0 < x1"},
    {{-1, 2, 1, 1}, "tensor boxes: found (-1, 2, 1, 1) at [1, 0]"},
    {{-1, -1, NAN, 1}, "tensor boxes"},
    {{-1, -INFINITY, 1, 1}, "tensor boxes"},
    {{-INFINITY, -1, 1, 1}, "tensor boxes"},
    {{-1, -1, INFINITY, 1}, "tensor boxes"},
    {{-1, -1, 1, INFINITY}, "tensor boxes"},
    {{-1, -1, 1, 1}, NULL},
};
TESTS(boxes_without_an_inside_are_rejected, COUNT(bad_box))
{
    struct tensors file = file_of("x 1x4x2 u4 2x3 boxes 3x1x4 mix 3x1 phi_w1 2x2x3x3 phi_b1 2 phi_w2 3x2 phi_b2 3 "
                                  "u5 2x3 b 2", "");
    struct problem p;
    for (size_t i = 0; i < 12; i++)
        tensors_find(&file, "boxes")->data[i] = (real)(i / 4 == 1 ? bad_box[_i].box[i % 4] : i % 4 < 2 ? -1 : 1);
    status s = bound_to(&p, "--grid 2x2", &chopd, &file);
    if (bad_box[_i].text) rejected(s, STATUS_BAD_INPUT, bad_box[_i].text);
    else succeeds(s);
}

/* Boxes of h x w tokens, both odd, centred on the token. */
static const struct { size_t edge, h, w; } pooled[] = {{56, 1, 1}, {56, 3, 1}, {64, 1, 5}, {96, 3, 3}};

/* ChoP'D, Sec. 2.3: means over boxes have the error of running sums along one axis, not that of an integral image.  A
 * running sum of X tokens errs by X u / sqrt(3); the mean of X^2 is W^2 / 3.  Squares: 2 W^2 / 9 over w^2 for the two
 * ends of a row, h times H^2 / 9 over h^2 for the columns; times the factor of chance() (roundoff.h). */
TESTS(pooling_error_is_that_of_running_sums, COUNT(pooled))
{
    size_t H = pooled[_i].edge, W = H, h = pooled[_i].h, w = pooled[_i].w, entries = 0;
    const real box[4] = {-(real)h / 2, -(real)w / 2, (real)h / 2, (real)w / 2}, one = 1;
    real *plane = uniform(1, H * W, 1, 2), *out = zeros(H * W);
    double squares = 0, mean = 0;
    struct arena arena = arena_open(1);
    struct box_pool pool;
    box_pool_prepare(&pool, &arena, H, W, 1, 1);
    succeeds(arena_allocate(&arena, NULL));
    box_pool_load(&pool, box, &one);
    box_pool_clear(&pool, &arena, 0);
    box_pool_plane(&pool, 0, out, plane, NULL, &arena, 0);
    for (size_t y = h / 2; y + h / 2 < H; y++)
        for (size_t x = w / 2; x + w / 2 < W; x++, entries++) {
            long double sum = 0;
            for (size_t dy = 0; dy < h; dy++)
                for (size_t dx = 0; dx < w; dx++) sum += (long double)plane[(y + dy - h / 2) * W + x + dx - w / 2];
            sum /= (long double)(h * w);
            squares += pow((double)((long double)out[y * W + x] - sum), 2);
            mean += (double)sum;
        }
    double along = (double)(W * W) / (double)(w * w), down = (double)(H * H) / (double)h;
    within("root mean square", sqrt(squares * (double)entries) / mean,
           chance(entries) * sqrt(2 * along / 9 + down / 9) * UNIT_ROUNDOFF);
    arena_release(&arena);
}

/* Random boxes: centres are 3 z for normal z, half a side is 1/4 + 3 |z|.  Tolerance: five standard errors of the mean
 * and variance of n normal z, and of the mean of |z|, which is sqrt(2 / pi) with variance 1 - 2 / pi. */
TEST(random_boxes_lie_around_their_token)
{
    struct fixture t = fixture("--grid 3x3", &chopd, 1, 4, "D=4 R=512 G=2 S=2", "");
    const real *box = problem_tensor(&t.problem, "boxes");
    double n = 512 * 2, sum[2] = {0}, squares[2] = {0}, half[2] = {0};
    for (size_t b = 0; b < 1024; b++, box += 4)
        for (int a = 0; a < 2; a++) {
            double centre = ((double)box[a] + (double)box[a + 2]) / 2;
            ck_assert((double)box[a + 2] - (double)box[a] > 0.4999);
            half[a] += ((double)box[a + 2] - (double)box[a]) / 2;
            sum[a] += centre;
            squares[a] += centre * centre;
        }
    for (int a = 0; a < 2; a++) {
        within("mean of the centres", fabs(sum[a] / n), 5 * 3 / sqrt(n));
        within("variance of the centres, from 9", fabs(squares[a] / n - 9), 9 * 5 * sqrt(2 / n));
        within("mean of half a side", fabs(half[a] / n - 0.25 - 3 * 0.79788456), 5 * 3 * sqrt(0.36338023 / n));
    }
}

int main(void)
{
    static const struct battery fc_tables = {
        .operator = &fc, .golden = true, .sizes = fc_sizes,
        .counted = fc_counted, .projections = none,
        .memory = fc_memory, .stated = stated, .slack = 1024,
    };
    static const struct battery dfc_tables = {
        .operator = &dfc, .golden = true, .sizes = dfc_sizes,
        .counted = fc_counted, .projections = none, .memory = fc_memory, .stated = stated, .slack = 1024,
    };
    static const struct battery cp_tables = {
        .operator = &dfc_cp, .golden = true, .sizes = cp_sizes,
        .errors = cp_errors, .files = cp_files, .counted = cp_counted, .projections = none,
        .memory = cp_memory, .stated = stated, .slack = 1024,
    };
    static const struct battery tables = {
        .operator = &chopd, .golden = true, .sizes = sizes,
        .counted = counted, .projections = gate,
        .memory = memory, .stated = stated, .slack = 1024,
    };
    Suite *suite = suite_of_tests("ChoP'D");
    add_battery(suite, &fc_tables);
    add_battery(suite, &dfc_tables);
    add_battery(suite, &cp_tables);
    add_battery(suite, &tables);
    return run_suite(suite);
}
