/* test_sra.c -- spatial-reduction attention: its forms agree; what is special to it; what it costs */

#include <math.h>
#include <string.h>
#include "../support/published.h"
#include "../support/battery.h"
#include "../../fast/tuned/attention.h"
#include "../../naive/sra.h"
#include "../../reference/msa.h"

static const char *const forms[] = {"naive", "fast"};

static struct sra_problem resolved(const struct problem *p)
{
    struct sra_problem z;
    succeeds(sra.resolve(&z, p));
    return z;
}

/* Probabilistic bound of the largest error over the largest entry of y (roundoff.h).  A number of the reduced plane
 * sums s^2 C products, the norm C squares, a key C products, a score c products; the absolute error of a score is the
 * relative error of its weight; M weights and M products with values are summed; 10 for the exponential, the scale
 * and the divisions: 8 (s sqrt(C) + 2 sqrt(C) + sqrt(c) + 2 sqrt(M) + 10) u. */
static double tolerance(const struct problem *p)
{
    struct sra_problem z = resolved(p);
    double C = sqrt((double)z.C), convolution = z.s > 1 ? (double)(z.s + 1) * C : 0;
    return 8 * (convolution + C + sqrt((double)z.c) + 2 * sqrt((double)z.M) + 10) * UNIT_ROUNDOFF;
}

static double projections(const struct problem *p)
{
    struct sra_problem z = resolved(p);
    return (double)(z.B * (z.N + 2 * z.M + (z.w_o ? z.N : 0)) * z.C * z.C);
}

/* One token, one patch, planes one patch wide, more queries than a block, channels that fill no vector, every kind of
 * reduction, more images than one chunk. */
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

/* Without b_kv: its first half does not change y (bias_of_the_keys_says_nothing). */
static const struct battery_case kinds[] = {
    {"--grid 6x8 --heads 3", 2, 12, "", "b_kv"},
    {"--grid 5x7 --reduction 1 --heads 3", 2, 12, "", "b_kv"},
    {0},
};

static const struct battery_nan nan_cases[] = {
    {{"--grid 6x8 --heads 3", 2, 12, "", ""}, 13 * 12 + 5, NULL},
    {{"--grid 5x7 --reduction 1 --heads 3", 2, 12, "", ""}, 13 * 12 + 5, NULL},
    {{0}, 0, NULL},
};

/* N C^2 for the convolution, whatever s; 2 N M c + N M for a head. */
static const struct battery_case counted[] = {
    {"--grid 2x2", 1, 1, "", ""},
    {"--grid 4x6 --heads 2", 2, 4, "", "w_o b_o"},
    {"--grid 6x9 --reduction 3 --heads 3 --scale 2", 1, 6, "", "sr_b"},
    {"--grid 3x5 --reduction 1 --heads 2", 2, 4, "", ""},
    {0},
};

static const struct battery_case memory[] = {{"--grid 16x18 --heads 2", 1, 16, "", ""}, {0}};

static const struct battery_case too_large[] = {
    {"--grid 16384x16384", 1, BY_ADDRESSES(1 << 20, 8), "", ""},
    {0},
};

/* The table of reference/sra.h for one image: 2 N C + 3 M C reals in both forms; in the naive form N M + 2 (N + M) c
 * more; in the fast form all weights once more and a tile. */
static double stated(const struct problem *p, const struct form *form)
{
    struct sra_problem z = resolved(p);
    double N = (double)z.N, M = (double)z.M, C = (double)z.C, c = (double)z.c, reals = 2 * N * C + 3 * M * C;
    size_t tile;
    if (!strcmp(form->name, "naive")) return (reals + N * M + 2 * (N + M) * c) * sizeof(real);
    ck_assert(attention_fast_workspace(&tile, z.c, ATTENTION_BLOCK));
    return (reals + (double)problem_parameters(p) - 2 * C + (double)tile) * sizeof(real);
}

static const char *const golden[] = {"sra_plane", "sra_three", "sra_patch", "sra_none", "sra_paper", NULL};

static const struct battery_error errors[] = {
    {"--grid 6x4 --reduction 3", "option --reduction: found 3, expected a divisor of 6 and 4", 8},
    {"--grid 4x6 --reduction 3", "option --reduction: found 3, expected a divisor of 4 and 6", 8},
    {"--grid 5x4", "option --reduction: found 2, expected a divisor of 5 and 4", 8},
    {"--grid 4x4 --reduction 0", "--reduction: found '0'", 8},
    {"--grid 4x4 --heads 3", "--heads: found 3, expected a divisor of C = 8", 8},
    {"--grid 16", "found '16', a grid of 1 axes", 8},
    {"--grid 2x2x4", "a grid of 3 axes", 8},
    {"--grid 16384x16384 --reduction 16384", "option --reduction: found 16384, expected at most 2147483647 numbers", 8},
    {0},
};

/* Whole numbers in the place of a tensor. */
static void whole(struct trial *t, const char *name, uint64_t seed, int bound)
{
    real *data = trial_tensor(t, name);
    size_t count = t->problem.tensor[problem_row(&t->problem, name)].count;
    memcpy(data, integers(seed, count, bound), count * sizeof(real));
}

/* PVT, Sec. 3.3: with R = 1 it is self-attention whose w_qkv is w_q above w_kv.  Exact: whole numbers. */
START_TEST(no_reduction_is_self_attention)
{
    struct trial t = trial("--grid 10x11 --heads 2 --reduction 1", &sra, 2, 8, "", "w_o b_o");
    struct trial u = trial("--grid 10x11 --heads 2", &msa, 2, 8, "", "w_o b_o rpe");
    real *x = integers(1, t.inputs, 2), *w_qkv = trial_tensor(&u, "w_qkv"), *b_qkv = trial_tensor(&u, "b_qkv");
    whole(&t, "w_q", 2, 2);
    whole(&t, "w_kv", 3, 2);
    whole(&t, "b_q", 4, 2);
    whole(&t, "b_kv", 5, 2);
    memcpy(w_qkv, trial_tensor(&t, "w_q"), 64 * sizeof(real));
    memcpy(w_qkv + 64, trial_tensor(&t, "w_kv"), 128 * sizeof(real));
    memcpy(b_qkv, trial_tensor(&t, "b_q"), 8 * sizeof(real));
    memcpy(b_qkv + 8, trial_tensor(&t, "b_kv"), 16 * sizeof(real));
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *y = trial_run_on(&u, forms[f], 2, x);
        within(forms[f], largest_difference(trial_run_on(&t, forms[f], 2, x), y, t.outputs), 0);
        ck_assert(largest(y, t.outputs) > 0);
    }

    struct trial reduced = trial("--grid 10x10 --heads 2", &sra, 1, 8, "", "w_o b_o");
    struct trial other = trial("--grid 10x10 --heads 2", &msa, 1, 8, "", "w_o b_o rpe");
    real *w = trial_tensor(&other, "w_qkv");
    memcpy(w, trial_tensor(&reduced, "w_q"), 64 * sizeof(real));
    memcpy(w + 64, trial_tensor(&reduced, "w_kv"), 128 * sizeof(real));
    real *y = trial_run(&other, "fast", 1);
    beyond("with a reduction", relative_difference(trial_run(&reduced, "fast", 1), y, 800), 0.1);
}
END_TEST

/* A kernel of one tap picks that token of each patch; a kernel of ones sums all; the bias is added.  Exact. */
START_TEST(convolution_sees_patches)
{
    enum { rows = 2, columns = 3, s = 2, C = 3, W = columns * s };
    struct problem p = shaped("--grid 4x6", &sra, 1, C, "", "");
    struct sra_problem z = resolved(&p);
    real *x = integers(1, z.N * C, 9), *w = zeros(C * C * s * s), *b = integers(2, C, 9), *reduced = zeros(z.M * C);
    z.sr_w = w;
    z.sr_b = b;
    ck_assert(z.s == s && z.M == rows * columns && z.N == rows * s * W);
    for (size_t tap = 0; tap <= s * s; tap++) {             /* tap s * s stands for all of them */
        for (size_t o = 0; o < C; o++)
            for (size_t c = 0; c < C; c++)
                for (size_t t = 0; t < s * s; t++)
                    w[(o * C + c) * s * s + t] = c == (o + 1) % C && (tap == s * s || tap == t);
        sra_naive_convolve(reduced, x, &z);
        for (size_t m = 0; m < z.M; m++)
            for (size_t o = 0; o < C; o++) {
                real sum = b[o];
                for (size_t t = 0; t < s * s; t++) {
                    size_t token = (m / columns * s + t / s) * W + m % columns * s + t % s;
                    if (tap == s * s || tap == t) sum += x[token * C + (o + 1) % C];
                }
                ck_assert(reduced[m * C + o] == sum);
            }
    }
}
END_TEST

/* If one patch covers the plane there is one key, and every token gets its value: a softmax of one score is 1. */
START_TEST(one_patch_answers_every_token)
{
    for (size_t f = 0; f < COUNT(forms); f++)
        for (int patches = 1; patches <= 4; patches += 3) {
            const char *options = patches == 1 ? "--grid 4x4 --reduction 4 --heads 2" : "--grid 4x4 --heads 2";
            struct trial t = trial(options, &sra, 1, 8, "", "w_o b_o");
            real *y = trial_run(&t, forms[f], 1);
            double apart = 0;
            for (size_t n = 1; n < 16; n++) worse(&apart, largest_difference(y + n * 8, y, 8));
            if (patches == 1) within("rows apart, one patch", apart, 0);
            else beyond("rows apart, four patches", apart, 0);
        }
}
END_TEST

/* The keys' bias adds the same to all scores of a query, so y does not change; the values' bias is added to y.
 * Tolerance: four times the operator's, since scores and values are that much larger. */
START_TEST(bias_of_the_keys_says_nothing)
{
    for (size_t f = 0; f < COUNT(forms); f++) {
        struct trial t = trial("--grid 6x6 --heads 2", &sra, 1, 8, "", "w_o b_o");
        real *b_kv = trial_tensor(&t, "b_kv"), *b_q = trial_tensor(&t, "b_q");
        memset(b_kv, 0, 16 * sizeof *b_kv);
        real *expected = trial_run(&t, forms[f], 1);
        memcpy(b_kv, normal(7, 16), 16 * sizeof *b_kv);
        for (size_t i = 0; i < t.outputs; i++) expected[i] += b_kv[8 + i % 8];
        double apart = relative_difference(trial_run(&t, forms[f], 1), expected, t.outputs);
        within(forms[f], apart, 4 * tolerance(&t.problem));
        b_q[0] += 1;
        double moved = relative_difference(trial_run(&t, forms[f], 1), expected, t.outputs);
        beyond("    a bias of the query", moved, 4 * tolerance(&t.problem));
    }
}
END_TEST

/* A file must hold convolution and norm if there is a reduction, and must not if there is none. */
static const struct { const char *reduction, *missing, *complaint; } files[] = {
    {"2", NULL, NULL},
    {"2", "sr_b", NULL},
    {"2", "sr_w", "tensor sr_w: missing, expected [R, C, s, s] = [2, 2, 2, 2]"},
    {"2", "norm_g", "tensor norm_g: missing"},
    {"2", "norm_b", "tensor norm_b: missing"},
    {"2", "w_o", "tensor b_o: found without w_o"},
    {"1", NULL, "tensor sr_w: found one, expected none"},
    {"1", "sr_w", "tensor sr_b: found one, expected none"},
};
START_TEST(convolution_is_there_where_something_is_reduced)
{
    static const struct { const char *name; int axes; size_t size[4]; } all[] = {
        {"x", 3, {1, 8, 2, 0}}, {"w_q", 2, {2, 2, 0, 0}}, {"sr_w", 4, {2, 2, 2, 2}}, {"sr_b", 1, {2, 0, 0, 0}},
        {"norm_g", 1, {2, 0, 0, 0}}, {"norm_b", 1, {2, 0, 0, 0}}, {"w_kv", 2, {4, 2, 0, 0}},
        {"w_o", 2, {2, 2, 0, 0}}, {"b_o", 1, {2, 0, 0, 0}},
    };
    struct tensor tensor[COUNT(all)];
    struct tensors file = {.tensor = tensor};
    struct problem p;
    for (size_t t = 0; t < COUNT(all); t++)
        if (!files[_i].missing || strcmp(files[_i].missing, all[t].name))
            succeeds(tensor_create(&tensor[file.count++], all[t].name, all[t].axes, all[t].size));
    succeeds(problem_create(&p, &sra, 4, LIST(const char *, "--grid", "2x4", "--reduction", files[_i].reduction)));
    if (files[_i].complaint) refused(problem_bind(&p, &file), STATUS_BAD_INPUT, files[_i].complaint);
    else succeeds(problem_bind(&p, &file));
    for (size_t t = 0; t < file.count; t++) tensor_release(&tensor[t]);
}
END_TEST

/* HiLo, Table 10, 14 x 14 tokens, 12 heads of 64: 4.72 M parameters; 419.6 M multiply-adds = 419.4 M of maps and
 * attention, and five operations per number of the norm (fvcore).  MSA's row has maps and attention only. */
START_TEST(table_10_row_of_sra)
{
    struct trial t = trial("--grid 14x14 --heads 12", &sra, 1, 768, "", "b_q b_kv sr_b b_o");
    struct trial biased = trial("--grid 14x14 --heads 12", &sra, 1, 768, "", "");
    struct trial plain = trial("--grid 14x14 --heads 12", &msa, 1, 768, "", "rpe b_qkv b_o");
    double flops = published("hilo", "10", "SRA", "flops"), parameters = published("hilo", "10", "SRA", "parameters");
    double msa_flops = published("hilo", "10", "MSA", "flops"),
           msa_maps = form_multiply_adds(operator_form(&msa, "fast"), &plain.problem) / 1e6;
    double maps = form_multiply_adds(operator_form(&sra, "fast"), &t.problem) / 1e6, normed = 49 * 768 / 1e6;
    printf("    linear maps %.2f M, the norm %.2f M at five operations a number\n", maps, 5 * normed);
    ck_assert(prints((double)problem_parameters(&t.problem) / 1e6, parameters, 0.01));
    ck_assert(prints((double)problem_parameters(&biased.problem) / 1e6, parameters, 0.01));
    ck_assert(prints(msa_maps, msa_flops, 0.1) && !prints(msa_maps + 196 * 768 / 1e6, msa_flops, 0.1));
    ck_assert(prints(maps, 419.4, 0.1) && !prints(maps, flops, 0.1));
    ck_assert(prints(maps + 5 * normed, flops, 0.1) && !prints(maps + 4 * normed, flops, 0.1));
}
END_TEST

/* The fast form takes the memory of one chunk of images, the naive form that of all. */
START_TEST(fast_form_holds_one_chunk_of_images)
{
    const struct form *naive = operator_form(&sra, "naive"), *fast = operator_form(&sra, "fast");
    struct trial four = trial("--grid 16x16 --heads 2", &sra, 4, 8, "", "");
    struct trial nine = trial("--grid 16x16 --heads 2", &sra, 9, 8, "", "");
    ck_assert(trial_peak(&four, fast) == trial_peak(&nine, fast));
    ck_assert(trial_peak(&nine, naive) > 1.5 * trial_peak(&four, naive));
}
END_TEST

int main(void)
{
    static const struct battery tables = {
        .operator = &sra, .tolerance = tolerance, .golden_tolerance = 2, .sizes = sizes, .kinds = kinds,
        .nan = nan_cases, .golden = golden, .errors = errors, .too_large = too_large, .counted = counted,
        .projections = projections, .memory = memory, .stated = stated, .slack = 1024,
    };
    Suite *suite = suite_create("SRA");
    add_battery(suite, &tables);
    TCase *own = add_case(suite, "SRA alone");
    tcase_add_test(own, no_reduction_is_self_attention);
    tcase_add_test(own, convolution_sees_patches);
    tcase_add_test(own, one_patch_answers_every_token);
    tcase_add_test(own, bias_of_the_keys_says_nothing);
    tcase_add_loop_test(own, convolution_is_there_where_something_is_reduced, 0, (int)COUNT(files));
    tcase_add_test(own, table_10_row_of_sra);
    tcase_add_test(own, fast_form_holds_one_chunk_of_images);
    return run_suite(suite);
}
