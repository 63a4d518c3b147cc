/* test_elsa.c -- the forms of ELSA agree; borders, groups, ghost head; costs.  Theorems: test_elsa_theorems.c */

#include "elsa_case.h"
#include "../support/battery.h"
#include "../../fast/tuned/vec.h"

static const struct battery_case sizes[] = {
    {"--grid 1x1 --kernel 1", 1, 1, "", "ghost_mul ghost_add"},
    {"--grid 1x7 --kernel 3 --heads 3", 2, 6, "", ""},
    {"--grid 5x1 --kernel 5 --heads 2 --head-map block", 1, 6, "", "w_o b_o"},
    {"--grid 13x7 --kernel 7 --heads 2", 2, 34, "", "b_qkv"},
    {"--grid 4x5 --kernel 7 --dilation 2 --heads 3 --lambda 2 --gamma -0.5", 1, 9, "", "b_o"},
    {"--grid 6x8 --kernel 3 --dilation 50 --heads 2 --lambda 0", 2, 8, "", ""},
    {"--grid 14x14 --kernel 7 --heads 3", 1, 96, "", ""},
    {"--grid 3x150 --kernel 5 --heads 2 --scale -0.7", 1, 10, "", ""},
    {"--grid 28x71 --kernel 5 --heads 2", 1, 6, "", ""},
    {"--grid 9x33 --kernel 3 --heads 5 --head-map block --gamma 0", 1, 15, "", "ghost_mul ghost_add b_qkv"},
    {"--grid 8x6 --kernel 3 --heads 2 --equation 6 --scale 1.5", 3, 12, "", ""},
    {"--grid 5x40 --kernel 5 --heads 1 --equation 6", 1, 17, "", "ghost_mul ghost_add w_o b_o"},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final", 2, 6, "Q=16", ""},
    {"--grid 1x11 --kernel 3 --heads 2 --variant final", 2, 6, "Q=16", ""},
    {"--grid 7x70 --kernel 5 --dilation 2 --heads 3 --variant final --head-map block --scale 0.5", 1, 9,
     "Q=8", "ghost_mul ghost_add"},
    {"--grid 1x1 --kernel 3 --variant final", 1, 1, "Q=24", "w_o b_o b_qkv"},
    {"--grid 6x7 --kernel 3 --heads 2 --scale 40", 1, 12, "", ""},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final --group-width 1", 2, 6, "Q=5", ""},
    {"--grid 5x19 --kernel 3 --heads 2 --variant final --group-width 2", 1, 6, "Q=6", "b_qkv"},
    {"--grid 9x66 --kernel 5 --heads 3 --variant final --group-width 4 --lambda 0", 1, 9, "Q=12", "ghost_mul"},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final --group-width 6", 1, 6, "Q=12", ""},
    {"--grid 6x7 --kernel 3 --heads 2 --variant final --group-width 16 --dilation 2", 1, 6, "Q=32", "w_o b_o"},
    {"--grid 4x5 --kernel 3 --heads 3 --lambda 0 --gamma -0.5", 2, 9, "", "ghost_mul"},
    {"--grid 4x5 --kernel 3 --heads 3 --lambda 0 --equation 6 --head-map block", 1, 9, "", "ghost_mul"},
    {"--grid 6x7 --kernel 3 --heads 2 --equation 4", 2, 10, "", ""},
    {"--grid 5x6 --kernel 5 --dilation 2 --heads 3 --equation 4 --norm filter --scale 0.5", 1, 9, "", "b_o"},
    {"--grid 6x9 --kernel 3 --heads 2 --equation 4 --area window", 2, 10, "", ""},
    {"--grid 14x7 --kernel 7 --heads 2 --equation 4 --area window --terms qk+b", 1, 34, "", "b_qkv"},
    {"--grid 7x5 --kernel 3 --heads 4 --equation 4 --norm identity --terms b", 1, 4, "", "w_o b_o"},
    {"--grid 4x6 --kernel 3 --heads 2 --equation 4 --norm identity --terms qr+rk", 2, 6, "", ""},
    {0},
};

static const struct battery_error errors[] = {
    {"--grid 4x4 --kernel 4", "option --kernel: found 4, expected an odd number", 6},
    {"--grid 4x4 --kernel 3x3", "option --kernel: found '3x3'", 6},
    {"--grid 4x4 --kernel 3 --heads 4", "option --heads: found 4, expected a divisor of C = 6", 6},
    {"--grid 4x4 --kernel 3 --variant final --equation 7", "option --equation: found beside --variant final", 6},
    {"--grid 4x4 --kernel 3 --group-width 8", "option --group-width: found, expected only with --variant final", 6},
    {"--grid 4x4 --kernel 3 --norm softmax", "option --norm: found, expected only with --equation 4", 6},
    {"--grid 4x4 --kernel 3 --equation 4 --lambda 1", "option --lambda: found with --equation 4", 6},
    {"--grid 4x4 --kernel 3 --equation 4 --head-map modulo",
     "option --head-map: found with --equation 4, which has no ghost head", 6},
    {"--grid 4x4 --kernel 3 --equation 4 --terms qk+qq", "option --terms: found 'qk+qq'", 6},
    {"--grid 4x4 --kernel 3 --equation 4 --terms b+b", "option --terms: found 'b+b'", 6},
    {"--grid 4x4 --kernel 3 --equation 4 --area window", "expected a divisor of 4 and 4", 6},
    {"--grid 6x6 --kernel 3 --equation 4 --area window --dilation 2", "option --dilation: found with --area window", 6},
    {0},
};

/* ELSA, Eq. 8: a ghost head has both matrices or neither; if lambda is 0, as in the public models, ghost_add may be
 * given alone. */
#define FITTING "x 1x12x2 w_qkv 6x2 rk 2x1x9 rq 2x1x9 rb 1x9 ghost_mul 2x9 ghost_add 2x9"
#define PLANE "--grid 3x4 --kernel 3 --lambda "
static const struct battery_file files[] = {
    {PLANE "1", FITTING, "ghost_mul",
     "tensor ghost_add: found without ghost_mul, expected both or neither, or --lambda 0"},
    {PLANE "0.5", FITTING, "ghost_mul", "tensor ghost_add: found without ghost_mul"},
    {PLANE "1", FITTING, "ghost_add", "tensor ghost_mul: found without ghost_add, expected both or neither"},
    {PLANE "0", FITTING, "ghost_add", "tensor ghost_mul: found without ghost_add, expected both or neither"},
    {PLANE "0", FITTING, "ghost_mul", NULL},
    {PLANE "-0.0", FITTING, "ghost_mul", NULL},
    {PLANE "0", FITTING, "ghost_mul ghost_add", NULL},
    {0},
};

/* Each equation; a ghost head adds C K^2 N. */
static const struct battery_case counted[] = {
    {"--grid 1x1 --kernel 1", 1, 1, "", ""},
    {"--grid 4x5 --kernel 3 --heads 3", 2, 6, "", ""},
    {"--grid 3x7 --kernel 5 --heads 2 --dilation 2", 1, 4, "", "ghost_mul ghost_add w_o b_o"},
    {"--grid 4x3 --kernel 3 --heads 2 --equation 6", 1, 4, "", "b_qkv"},
    {"--grid 4x5 --kernel 3 --heads 2 --variant final", 2, 4, "Q=8", ""},
    {"--grid 4x5 --kernel 3 --heads 2 --variant final --group-width 2 --lambda 0", 2, 4, "Q=6", "ghost_mul"},
    {"--grid 4x5 --kernel 3 --heads 2 --equation 4", 2, 4, "", ""},
    {"--grid 5x6 --kernel 5 --heads 1 --equation 4 --dilation 2 --terms qk", 1, 3, "", ""},
    {"--grid 6x3 --kernel 3 --heads 2 --equation 4 --area window --terms qr+rk", 1, 4, "", ""},
    {0},
};

static const struct battery_case memory[] = {
    {"--grid 6x7 --kernel 3 --heads 2", 1, 8, "", "w_o b_o"},
    {"--grid 6x7 --kernel 3 --heads 2 --equation 4", 1, 8, "", "w_o b_o"},
    {0},
};

/* The memory stated in reference/elsa.h for one image, and what it leaves out: q, k and v as projected, dense copies,
 * the tables of tokens and offsets, the ghost matrices. */
static double stated(const struct problem *p, const struct form *form)
{
    struct elsa_problem z;
    succeeds(elsa.resolve(&z, p));
    double N = (double)z.heads.N, C = (double)z.heads.C, h = (double)z.heads.h, n = (double)z.entries;
    bool naive = !strcmp(form->name, "naive"), plain = !strcmp(form->name, "plain");
    double bytes = plan_bytes(&elsa, form) + real_bytes(3 * N * C) + 4 * real_bytes(N * C) + int_bytes(N * n);
    bytes += z.equation == 4 ? int_bytes(N * n) : 2 * real_bytes(N * C) + 2 * real_bytes(C * n);
    if (plain) return bytes + real_bytes(h * n) + (z.equation == 4 ? 0 : 2 * real_bytes(N * h * n));
    if (!naive) return -1;
    if (z.equation == 4) return bytes + real_bytes(n) + real_bytes(N * N);
    return bytes + real_bytes(n) + 2 * real_bytes(N * n * C) + real_bytes(h * n * N) + real_bytes(C * n * N);
}

/* ELSA, Eq. 7, Algorithm 2: neighbours off the grid take part in the softmax, but have no value.  With z = (2, 3) the
 * logits of token 0 are 2, 2 + 3 and seven zeros, those of token 1 are 3, 3 and seven zeros.
 * Tolerance: nine exponentials and their sum. */
TEST(neighbours_off_the_grid_take_part)
{
    const struct scene_shape s = {"1x2", 1, 1, 3, 1, 7};
    struct scene m = empty_scene(&s);
    real rk[9] = {0}, rq[9] = {0}, rb[9] = {0};
    rk[4] = rk[5] = rq[5] = 1;
    m.q = copy((const real[]){2, 3}, 2), m.k = filled(2, 1), m.v = copy((const real[]){10, 20}, 2);
    m.params.rk = rk, m.params.rq = rq, m.params.rb = rb;
    const real *f = run_cores(&m);
    double first = (exp(2.0) * 10 + exp(5.0) * 20) / (exp(2.0) + exp(5.0) + 7), second = exp(3.0) * 20 + 10;
    second /= 2 * exp(3.0) + 7;
    within("token 0", fabs((double)f[0] - first) / first, 10 * UNIT_ROUNDOFF);
    within("token 1", fabs((double)f[1] - second) / second, 10 * UNIT_ROUNDOFF);
}

/* ELSA, Eq. 5, 7 and 8, by hand (chapter 3): four tokens on a line, one head, one channel.  q = (1, 2, 1, 2) and k =
 * (1, 1, 3, 2), so z = (1, 2, 3, 4); the scale ln 2 makes each weight a power of two.  The rows above and below, which
 * a line does not have, get a bias of -1000.  x holds q, k and v = (6, 4, 15, 3) as three channels.  Tolerance: twice
 * that of two forms, as ghosted weights are up to 2, times the largest y, 22. */
static const struct { const char *ghost, *without; double y[4]; } by_hand[] = {
    {"", "w_o b_o b_qkv ghost_mul ghost_add", {4, 7, 7, 3}},
    {"--lambda 0", "w_o b_o b_qkv", {10, 11, 22, 6}},
    {"--lambda 1", "w_o b_o b_qkv", {7, 23 / 5.0, 92 / 7.0, 1 / 7.0}},
    {"--lambda 2", "w_o b_o b_qkv", {7, 47 / 5.0, 124 / 7.0, 41 / 7.0}},
};
TEST(elsa_by_hand)
{
    static const double q[] = {1, 2, 1, 2}, k[] = {1, 1, 3, 2}, v[] = {6, 4, 15, 3}, step[] = {-1, 0, 1};
    static const double rq[] = {2, 0, -1}, logit[] = {-1, 0, 1, 2, 0, 0, 0, 0, -1, -1, -1, 4};
    const struct scene_shape s = {"1x4", 1, 1, 3, 1, 7};
    struct scene m = empty_scene(&s);
    real *x = zeros(12), *rows[] = {zeros(4), zeros(4), zeros(9), zeros(9), zeros(9)};
    for (size_t i = 0; i < 4; i++) {
        x[3 * i] = rows[0][i] = (real)q[i], x[3 * i + 1] = rows[1][i] = (real)k[i];
        x[3 * i + 2] = (real)v[i];
    }
    for (size_t n = 0; n < 3; n++) rows[2][3 + n] = (real)step[n], rows[3][3 + n] = (real)rq[n];
    m.q = rows[0], m.k = rows[1], m.params.rk = rows[2], m.params.rq = rows[3], m.params.rb = rows[4];
    make_logits(&m);
    for (size_t n = 0; n < 12; n++) {
        printf("%s%4g", n % 4 ? "" : "\n    logits:", (double)m.h[12 + n]);
        ck_assert(m.h[12 + n] == (real)logit[n]);
    }
    for (size_t g = 0; g < COUNT(by_hand); g++) {
        char options[100];
        snprintf(options, sizeof options, "--grid 1x4 --kernel 3 --scale %.17g %s", log(2), by_hand[g].ghost);
        struct fixture t = fixture(options, &elsa, 1, 3, "", by_hand[g].without);
        for (size_t r = 1; r < PROBLEM_TENSORS; r++)
            for (size_t n = 0; t.problem.tensor[r].data && n < t.problem.tensor[r].count; n++)
                t.problem.tensor[r].data[n] = 0;
        for (size_t n = 0; n < 9; n++) fixture_tensor(&t, "rb")[n] = n / 3 == 1 ? 0 : -1000;
        for (size_t n = 0; n < 3; n++) {        /* q, k and v have channel n of x as their channel 0 */
            fixture_tensor(&t, "w_qkv")[10 * n] = 1;
            fixture_tensor(&t, "rk")[3 + n] = (real)step[n], fixture_tensor(&t, "rq")[3 + n] = (real)rq[n];
            if (g) fixture_tensor(&t, "ghost_mul")[3 + n] = (real)step[n], fixture_tensor(&t, "ghost_add")[4] = 1;
        }
        const struct form *form;
        for (int f = 0; (form = operator_form_at(&elsa, f)); f++) {
            real *y = fixture_run_on(&t, form->name, 1, x);
            double error = 0;
            printf("\n    %-10s %s:", by_hand[g].ghost, form->name);
            for (size_t i = 0; i < 4; i++) {
                printf(" %.4f", (double)y[3 * i]);
                worse(&error, fabs((double)y[3 * i] - by_hand[g].y[i]));
            }
            printf("\n");
            within(form->name, error, 22 * 2 * property_tolerance(&t.problem));
        }
    }
    printf("\n");
}

/* ELSA, App. D: a group convolution equals one of wider groups with zeros between the narrow kernels.  Exact in the
 * naive form, which adds zeros.  Tolerance of the fast form: twice that of two forms. */
static const size_t width[] = {1, 2, 4, 8};
TESTS(narrow_groups_are_wide_ones_with_zeros, COUNT(width))
{
    size_t g = width[_i];
    char options[100];
    snprintf(options, sizeof options, "--grid 5x7 --kernel 3 --heads 2 --variant final --group-width %zu", g);
    struct fixture narrow = fixture(options, &elsa, 1, 6, "Q=16", "");
    struct fixture wide = fixture("--grid 5x7 --kernel 3 --heads 2 --variant final --group-width 16", &elsa, 1, 6,
                              "Q=16", "");
    fixture_take(&wide, &narrow, "w_qkv b_qkv conv_b mix_w mix_b ghost_mul ghost_add w_o b_o");
    real *kernels = fixture_tensor(&wide, "conv_w"), *own = fixture_tensor(&narrow, "conv_w");
    memset(kernels, 0, 16 * 16 * 9 * sizeof *kernels);
    for (size_t o = 0; o < 16; o++) memcpy(kernels + (o * 16 + o / g * g) * 9, own + o * g * 9, g * 9 * sizeof *own);
    double allowed = 2 * property_tolerance(&wide.problem);
    real *y = fixture_run(&wide, "naive", 1);
    equal(fixture_run(&narrow, "naive", 1), y, wide.outputs);
    within("fast, narrow", relative_difference(fixture_run(&narrow, "fast", 1), y, wide.outputs), allowed);
    within("fast, wide", relative_difference(fixture_run(&wide, "fast", 1), y, wide.outputs), allowed);
    memset(kernels, 0, 16 * 16 * 9 * sizeof *kernels);
    for (size_t o = 0; o < 16; o++)
        memcpy(kernels + (o * 16 + (o / g + 1) % (16 / g) * g) * 9, own + o * g * 9, g * 9 * sizeof *own);
    beyond("    the next group's", relative_difference(fixture_run(&wide, "naive", 1), y, wide.outputs), 0.01);
}

/* ELSA, Eq. 8: if lambda is 0, ghost_mul has no effect; if gamma is 0 too, there is no ghost head.  Exact. */
TESTS(ghost_mul_has_no_effect_if_lambda_is_zero, 2)
{
    const char *kind_of = _i ? "--variant final --group-width 4" : "--equation 7";
    const char *Q = _i ? "Q=8" : "";
    char options[120], none[120];
    snprintf(options, sizeof options, "--grid 4x5 --kernel 3 --heads 3 --lambda 0 --gamma 1.5 %s", kind_of);
    snprintf(none, sizeof none, "--grid 4x5 --kernel 3 --heads 3 --lambda 0 --gamma 0 %s", kind_of);
    struct fixture both = fixture(options, &elsa, 1, 6, Q, ""), alone = fixture(options, &elsa, 1, 6, Q, "ghost_mul");
    struct fixture zero = fixture(none, &elsa, 1, 6, Q, "ghost_mul");
    struct fixture without = fixture(none, &elsa, 1, 6, Q, "ghost_mul ghost_add");
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&elsa, f)); f++) {
        real *y = fixture_run(&both, form->name, 1);
        equal(fixture_run(&alone, form->name, 1), y, both.outputs);
        equal(fixture_run(&zero, form->name, 1), fixture_run(&without, form->name, 1), both.outputs);
        unequal(fixture_run(&zero, form->name, 1), y, both.outputs);
    }
}

/* ELSA, Eq. 8: a fractional lambda with a base below 0, or a negative lambda with a base of 0, is an error.  0 to the
 * power 0 is 1: with lambda = 0 a ghost_mul of zeros equals one of ones. */
static const struct { const char *lambda; double base; const char *text; } power[] = {
    {"0.5", -1, "tensor ghost_mul: found -1 to the power 0.5, expected bases of at least 0"},
    {"-1.5", -1, "tensor ghost_mul: found -1 to the power -1.5"},
    {"-1", 0, "tensor ghost_mul: found 0 to the power -1, expected other bases"},
    {"2", -1, NULL}, {"-2", -1, NULL}, {"0", 0, NULL}, {"0.5", 0, NULL},
};
TESTS(powers_without_a_value_are_rejected, COUNT(power))
{
    struct tensors file = file_of(FITTING, "");
    struct problem p;
    real *last = &tensors_find(&file, "ghost_mul")->data[17], *x = tensors_find(&file, "x")->data;
    char options[64];
    *last = (real)power[_i].base;
    snprintf(options, sizeof options, PLANE "%s", power[_i].lambda);
    status s = bound_to(&p, options, &elsa, &file);
    if (power[_i].text) rejected(s, STATUS_BAD_INPUT, power[_i].text);
    else succeeds(s);
    if (!strcmp(power[_i].lambda, "0")) {
        const struct form *fast = operator_form(&elsa, "fast");
        real *y = run_form(&p, fast, 1, x);
        *last = 1;
        equal(run_form(&p, fast, 1, x), y, 24);
    }
}

TEST(groups_divide_the_channels)
{
    real *block;
    struct problem p = shaped("--grid 3x4 --kernel 3 --variant final --group-width 4", &elsa, 1, 2, "Q=6", "");
    rejected(problem_draw(&p, 1, &block), STATUS_BAD_INPUT,
            "tensor conv_w: found 6 output channels, expected a multiple of 4");
    memory_free(block);
}

static double core_multiply_adds(const char *options, const char *form, size_t channels, const char *without)
{
    struct fixture t = fixture(options, &elsa, 1, channels, "", without);
    return fixture_cores(&t, operator_form(&elsa, form));
}

static double peak(const char *options, const char *form, size_t channels, const char *without)
{
    struct fixture t = fixture(options, &elsa, 1, channels, "", without);
    return fixture_peak(&t, operator_form(&elsa, form));
}

/* ELSA, Sec. 4.3 and 5: Net7-N (Eq. 4, all terms, neighbourhoods) also multiplies query and key for each pair.  This
 * adds less than an eighth of the cost of Eq. 7.  Unfolding needs more than 7 times the memory. */
TEST(hadamard_attention_saves_memory_rather_than_arithmetic)
{
    const char *small = "--grid 14x14 --kernel 7 --heads 3";
    double ratio = core_multiply_adds("--grid 56x56 --kernel 7 --heads 3 --equation 4", "fast", 96, "w_o b_o")
                 / core_multiply_adds("--grid 56x56 --kernel 7 --heads 3", "fast", 96, "w_o b_o ghost_mul ghost_add");
    double unfolded = peak(small, "naive", 96, "w_o b_o"), not = peak(small, "fast", 96, "w_o b_o");
    ck_assert(ratio > 1 && ratio < 1.125);
    ck_assert(unfolded > 7 * not);
}

/* ELSA, Sec. 4.3, "memory-consuming": from K = 3 to 7 the fast form needs 2 h (49 - 9) N logits more, their maps,
 * padding, masks and tables of a chunk.  It has no array of C K^2 N numbers; the naive form has three.  Tolerance: six
 * rounded arrays. */
TEST(fast_elsa_unfolds_nothing)
{
    const char *seven = "--grid 16x16 --kernel 7 --heads 2", *three = "--grid 16x16 --kernel 3 --heads 2";
    const char *without = "w_o b_o ghost_mul ghost_add";
    double logits = 2 * 2 * 40 * 256.0, maps = 2 * 2 * 40 * 32.0, padding = 32 * 16 * 4.0, masks = 4 * 16;
    double chunk = 40 * 4.0 * LANES, rows = 4.0 * sizeof(size_t);
    double more = peak(seven, "fast", 32, without) - peak(three, "fast", 32, without);
    double expected = (logits + maps + padding + masks + chunk) * sizeof(real) + rows;
    within("fast, bytes", fabs(more - expected), 6 * 64);
    more = peak(seven, "naive", 32, without) - peak(three, "naive", 32, without);
    ck_assert(more > 2 * 32 * 40 * 256.0 * sizeof(real));
}

int main(void)
{
    static const struct battery tables = {
        .operator = &elsa, .golden = true, .sizes = sizes,
        .errors = errors, .files = files, .counted = counted, .memory = memory, .stated = stated,
    };
    return run_battery("ELSA", &tables);
}
