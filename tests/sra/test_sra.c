/* test_sra.c -- spatial-reduction attention: its forms agree; its properties; its costs */

#include "../support/battery.h"
#include "../../fast/tuned/attention.h"
#include "../../reference/msa.h"
#include "../../reference/sra.h"

static const char *const forms[] = {"naive", "plain", "fast"};

static struct sra_problem resolved(const struct problem *p)
{
    struct sra_problem z;
    succeeds(sra.resolve(&z, p));
    return z;
}

/* The convolution of the plain form counts as a projection. */
static double projections(const struct problem *p, const struct form *form)
{
    struct sra_problem z = resolved(p);
    size_t convolution = z.s > 1 && !strcmp(form->name, "plain") ? z.N : 0;
    return (double)(z.B * (z.N + 2 * z.M + convolution + (z.w_o ? z.N : 0)) * z.C * z.C);
}

static const struct battery_case sizes[] = {
    {"--grid 1x1 --reduction 1", 1, 1, "", ""},
    {"--grid 2x2", 2, 1, "", ""},
    {"--grid 3x3 --reduction 3 --heads 3", 2, 6, "", "sr_b"},
    {"--grid 2x14 --heads 2", 1, 34, "", "b_q w_o b_o"},
    {"--grid 12x2 --heads 5 --scale -0.3", 3, 15, "", "b_kv"},
    {"--grid 14x14 --heads 12", 1, 192, "", "b_q b_kv sr_b b_o"},
    {"--grid 9x21 --reduction 3 --heads 1", 1, 17, "", "b_o"},
    {"--grid 13x7 --reduction 1 --heads 2", 2, 34, "", ""},
    {"--grid 16x24 --reduction 8 --heads 4", 1, 16, "", ""},
    {"--grid 22x22 --heads 2", 1, 8, "", ""},
    {"--grid 16x24 --heads 2", 5, 8, "", "sr_b"},
    {"--grid 12x12 --reduction 1 --heads 2", 9, 8, "", "w_o b_o"},
    {0},
};

/* N C^2 for the convolution, for any s > 1; 2 N M c + N M for a head. */
static const struct battery_case counted[] = {
    {"--grid 2x2", 1, 1, "", ""},
    {"--grid 4x6 --heads 2", 2, 4, "", "w_o b_o"},
    {"--grid 6x9 --reduction 3 --heads 3 --scale 2", 1, 6, "", "sr_b"},
    {"--grid 3x5 --reduction 1 --heads 2", 2, 4, "", ""},
    {0},
};

static const struct battery_case memory[] = {{"--grid 16x18 --heads 2", 1, 16, "", ""}, {0}};

static double stated(const struct problem *p, const struct form *form)
{
    struct sra_problem z = resolved(p);
    double N = (double)z.N, M = (double)z.M, C = (double)z.C, c = (double)z.c, reals = 2 * N * C + 3 * M * C;
    size_t tile;
    if (!strcmp(form->name, "naive")) return (reals + N * M + 2 * (N + M) * c) * sizeof(real);
    if (!strcmp(form->name, "plain")) return (reals + N * C) * sizeof(real);
    ck_assert(attention_fast_workspace(&tile, z.c, ATTENTION_BLOCK));
    return (reals + (double)problem_parameters(p) - 2 * C + (double)tile) * sizeof(real);
}

static const struct battery_error errors[] = {
    {"--grid 6x4 --reduction 3", "option --reduction: found 3, expected a divisor of 6 and 4", 8},
    {"--grid 4x6 --reduction 3", "option --reduction: found 3, expected a divisor of 4 and 6", 8},
    {"--grid 5x4", "option --reduction: found 2, expected a divisor of 5 and 4", 8},
    {"--grid 4x4 --reduction 0", "--reduction: found '0'", 8},
    {"--grid 4x4 --heads 3", "--heads: found 3, expected a divisor of C = 8", 8},
    {"--grid 16", "found '16', a grid of 1 axes", 8},
    {"--grid 16384x16384 --reduction 16384", "option --reduction: found 16384, expected at most 2147483647 numbers", 8},
    {0},
};

#define FITTING "x 1x8x2 w_q 2x2 sr_w 2x2x2x2 sr_b 2 norm_g 2 norm_b 2 w_kv 4x2 w_o 2x2 b_o 2"
static const struct battery_file files[] = {
    {"--grid 2x4 --reduction 2", FITTING, "", NULL},
    {"--grid 2x4 --reduction 2", FITTING, "sr_b", NULL},
    {"--grid 2x4 --reduction 2", FITTING, "sr_w", "tensor sr_w: missing, expected [R, C, s, s] = [2, 2, 2, 2]"},
    {"--grid 2x4 --reduction 2", FITTING, "norm_g", "tensor norm_g: missing"},
    {"--grid 2x4 --reduction 2", FITTING, "norm_b", "tensor norm_b: missing"},
    {"--grid 2x4 --reduction 2", FITTING, "w_o", "tensor b_o: found without w_o"},
    {"--grid 2x4 --reduction 1", FITTING, "", "tensor sr_w: found one, expected none"},
    {"--grid 2x4 --reduction 1", FITTING, "sr_w", "tensor sr_b: found one, expected none"},
    {0},
};

/* PVT, Sec. 3.3: w_qkv stacks w_q and w_kv.  Exact: integers. */
TEST(no_reduction_is_self_attention)
{
    struct fixture t = fixture("--grid 10x11 --heads 2 --reduction 1", &sra, 2, 8, "", "w_o b_o");
    struct fixture u = fixture("--grid 10x11 --heads 2", &msa, 2, 8, "", "w_o b_o rpe");
    real *x = integers(1, t.inputs, 2), *w_qkv = fixture_tensor(&u, "w_qkv"), *b_qkv = fixture_tensor(&u, "b_qkv");
    fixture_put(&t, "w_q", integers(2, 64, 2));
    fixture_put(&t, "w_kv", integers(3, 128, 2));
    fixture_put(&t, "b_q", integers(4, 8, 2));
    fixture_put(&t, "b_kv", integers(5, 16, 2));
    memcpy(w_qkv, fixture_tensor(&t, "w_q"), 64 * sizeof(real));
    memcpy(w_qkv + 64, fixture_tensor(&t, "w_kv"), 128 * sizeof(real));
    memcpy(b_qkv, fixture_tensor(&t, "b_q"), 8 * sizeof(real));
    memcpy(b_qkv + 8, fixture_tensor(&t, "b_kv"), 16 * sizeof(real));
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *y = fixture_run_on(&u, forms[f], 2, x);
        within(forms[f], largest_difference(fixture_run_on(&t, forms[f], 2, x), y, t.outputs), 0);
        ck_assert(largest(y, t.outputs) > 0);
    }
}

/* If one patch covers the plane, there is one key with weight 1, and every token gets its value. */
TEST(one_patch_answers_every_token)
{
    for (size_t f = 0; f < COUNT(forms); f++)
        for (int patches = 1; patches <= 4; patches += 3) {
            const char *options = patches == 1 ? "--grid 4x4 --reduction 4 --heads 2" : "--grid 4x4 --heads 2";
            struct fixture t = fixture(options, &sra, 1, 8, "", "w_o b_o");
            real *y = fixture_run(&t, forms[f], 1);
            double apart = 0;
            for (size_t n = 1; n < 16; n++) worse(&apart, largest_difference(y + n * 8, y, 8));
            if (patches == 1) within("rows apart, one patch", apart, 0);
            else beyond("rows apart, four patches", apart, 0);
        }
}

/* The bias of the keys adds the same to all scores of a query, so y does not change; the bias of the values is added to
 * y.  Tolerance: four times the operator's, as scores and values are that much larger. */
TEST(bias_of_the_keys_has_no_effect)
{
    for (size_t f = 0; f < COUNT(forms); f++) {
        struct fixture t = fixture("--grid 6x6 --heads 2", &sra, 1, 8, "", "w_o b_o");
        real *b_kv = fixture_tensor(&t, "b_kv"), *b_q = fixture_tensor(&t, "b_q");
        memset(b_kv, 0, 16 * sizeof *b_kv);
        real *expected = fixture_run(&t, forms[f], 1);
        memcpy(b_kv, normal(7, 16), 16 * sizeof *b_kv);
        for (size_t i = 0; i < t.outputs; i++) expected[i] += b_kv[8 + i % 8];
        double apart = relative_difference(fixture_run(&t, forms[f], 1), expected, t.outputs);
        within(forms[f], apart, 4 * property_tolerance(&t.problem));
        b_q[0] += 1;
        double moved = relative_difference(fixture_run(&t, forms[f], 1), expected, t.outputs);
        beyond("    a bias of the query", moved, 4 * property_tolerance(&t.problem));
    }
}

TEST(fast_form_holds_one_chunk_of_images)
{
    const struct form *naive = operator_form(&sra, "naive"), *fast = operator_form(&sra, "fast");
    struct fixture four = fixture("--grid 16x16 --heads 2", &sra, 4, 8, "", "");
    struct fixture nine = fixture("--grid 16x16 --heads 2", &sra, 9, 8, "", "");
    ck_assert(fixture_peak(&four, fast) == fixture_peak(&nine, fast));
    ck_assert(fixture_peak(&nine, naive) > 1.5 * fixture_peak(&four, naive));
}

int main(void)
{
    static const struct battery tables = {
        .operator = &sra, .golden = true, .sizes = sizes,
        .errors = errors, .files = files, .counted = counted, .projections = projections,
        .memory = memory, .stated = stated, .slack = 1024,
    };
    return run_battery("SRA", &tables);
}
