/* test_lisa_counts.c -- the cost of LiSA and self-attention: Table 1 and the FLOPs of Tab. 3, counted */

#include "lisa_case.h"
#include "../support/published.h"
#include "../support/battery.h"
#include "../../reference/msa.h"
#include "../../reference/networks/network.h"

void counted_lisa_fig6(real *y, real *KRa, real *RbV, const real *q, const real *k, const real *v,
                       const real *Ra, const real *Rb, const struct lisa_problem *p);

enum core { SELF_ATTENTION, EQ4, EQ5, EQ5_BIASED, FIG6, FIG6_BIASED, EQ7 };

static double counted(enum core core, size_t N, size_t c, size_t D)
{
    static const char *const options[] = {
        "", " --equation 4", " --equation 5", " --equation 5", " --equation 5", " --equation 5", " --equation 7",
    };
    char words[80], latents[24];
    bool biased = core == EQ5_BIASED || core == FIG6_BIASED;
    snprintf(words, sizeof words, "--grid %zu%s", N, options[core]);
    snprintf(latents, sizeof latents, "D=%zu", D);
    struct fixture t = fixture(words, core ? &lisa : &msa, 1, c, latents,
                           biased ? "b_qkv w_o b_o" : "rpe ba b_qkv w_o b_o");
    if (core != FIG6 && core != FIG6_BIASED) return counted_run(&t, "naive", zeros(t.outputs));

    /* The count does not depend on the numbers. */
    const struct lisa_problem p = resolved(&t.problem);
    real *qkv = zeros(N * c), *R = zeros(N * N * D);
    multiplications();
    counted_lisa_fig6(zeros(N * c), zeros(N * c * D), zeros(N * c * D), qkv, qkv, qkv, R, R, &p);
    return (double)multiplications();
}

/* LiSA, Table 1, rows 1-3, without projections.  Self-attention and Eq. 4: N^2 (2 c + 1).  Fig. 6: 2 N^2 c D + 2 N c D,
 * with or without the bias of Eq. 5.  The first line of Eq. 5: N^2 (2 c + 2 D) + N c D, and N c D more with the bias.
 * Eq. 7 computes the Hadamard correlation too: N^2 (2 c + c D + D) + 2 N c D. */
static const struct { size_t N, c, D; } head_size[] = {
    {1, 1, 1}, {7, 3, 2}, {16, 8, 4}, {20, 1, 9}, {64, 32, 16}, {33, 5, 16}, {49, 16, 16},
};
TESTS(single_heads_multiply_as_their_formulas_say, COUNT(head_size))
{
    size_t n = head_size[_i].N, c = head_size[_i].c, D = head_size[_i].D;
    ck_assert(counted(FIG6, n, c, D) == (double)(2 * n * n * c * D + 2 * n * c * D));
    ck_assert(counted(SELF_ATTENTION, n, c, D) == (double)(n * n * (2 * c + 1)));
    ck_assert(counted(EQ4, n, c, D) == (double)(n * n * (2 * c + 1)));
    ck_assert(counted(EQ5, n, c, D) == (double)(n * n * (2 * c + 2 * D) + n * c * D));
    ck_assert(counted(EQ7, n, c, D) == (double)(n * n * (2 * c + c * D + D) + 2 * n * c * D));
    ck_assert(counted(EQ5_BIASED, n, c, D) == counted(EQ5, n, c, D) + (double)(n * c * D));
    ck_assert(counted(FIG6_BIASED, n, c, D) == counted(FIG6, n, c, D));
}

/* LiSA, Tab. 3c: S of the N M pairs of a token and an entry stay on the grid, and the naive form has 2 S c D + 2 N c D
 * multiplications. */
static const struct { const char *grid, *kernel; } window_size[] = {
    {"9", "3"}, {"4", "11"}, {"5x6", "1x1"}, {"5x6", "3x5"}, {"1x7", "3x3"}, {"14x14", "7x7"}, {"2x3x4", "3x5x3"},
};
TESTS(local_kernels_skip_pairs_off_the_grid, COUNT(window_size))
{
    char options[80];
    snprintf(options, sizeof options, "--grid %s --kernel %s", window_size[_i].grid, window_size[_i].kernel);
    struct fixture t = fixture(options, &lisa, 1, 2, "D=3", "b_qkv w_o b_o");
    const struct lisa_problem p = resolved(&t.problem);
    size_t N = p.heads.N, S = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) S += window_entry(&p.window, &p.grid, i, n) < p.M;
    ck_assert(counted_run(&t, "naive", zeros(t.outputs)) == (double)(2 * S * 6 + 2 * N * 6));
    ck_assert(lisa_pairs(&p) == (double)S);
    ck_assert(p.M == 1 ? S == N : S < N * p.M);
}

/* FLOPs of the model of Tab. 3 in G, one per multiply-add: patches, projections and MLP of 12 blocks, classes, and the
 * core of 12 heads per block. */
static double model_flops(double core)
{
    double N = 196, C = 192, embedding = N * 16 * 16 * 3 * C, block = N * (4 + 8) * C * C, classes = C * 1000;
    return (embedding + classes + 12 * (block + 12 * core)) / 1e9;
}

/* LiSA, Tab. 3b: the FLOPs of Eq. 5 are those of Fig. 6, with 196 tokens, 16 channels and 16 latents.  The first line
 * of Eq. 5 would give 1.43 G (reference/published/layers.tsv).  Tolerance: half the last digit. */
TEST(flops_of_tab_3b_are_those_of_fig_6)
{
    double five = model_flops(counted(FIG6, 196, 16, 16)), biased = model_flops(counted(FIG6_BIASED, 196, 16, 16));
    within("SA (Eq. 5), Fig. 6", fabs(five - published("lisa", "3b", "SA (Eq. 5)", "flops")), 0.005);
    within("+ bias term Ba, Fig. 6", fabs(biased - published("lisa", "3b", "+ bias term Ba", "flops")), 0.005);
}

/* LiSA, Tab. 3c: the FLOPs include products with the zero padding, 2 c D for each pair off the grid, and norms at five
 * operations per number, as in Tab. 3a.  Tolerance: half the last digit. */
TESTS(flops_of_tab_3c_are_those_of_padded_windows, 3)
{
    static const char *const row[] = {"Local 3x3", "Local 5x5", "Local 7x7"};
    size_t k = 3 + 2 * (size_t)_i;
    char options[80];
    snprintf(options, sizeof options, "--grid 14x14 --kernel %zux%zu", k, k);
    struct fixture t = fixture(options, &lisa, 1, 16, "D=16", "b_qkv w_o b_o");
    const struct lisa_problem p = resolved(&t.problem);
    double printed = published("lisa", "3c", row[_i], "flops"), norms = 5 * 25 * 196 * 192 / 1e9;
    double core = counted_run(&t, "naive", zeros(t.outputs)), off = 196 * (double)p.M - lisa_pairs(&p);
    within(row[_i], fabs(model_flops(core + 2 * 16 * 16 * off) + norms - printed), 0.005);
    beyond("    without zeros", fabs(model_flops(core) + norms - printed), 0.005);
}

/* LiSA, Sec. 4.3: multiply_adds of the FFT forms follow circulant.h, with 2.5 P log2 P multiply-adds per complex
 * transform and 4 per complex product.  Eq. 10 has circles of 8 points: 4 keys and 4 values forward, 8 back.  Eq. 4 has
 * 15: for each of 2 pairs of channels 4 values forward and back.  With one head the fast form merges the projections of
 * output and value, N C^2 less. */
TEST(fft_forms_cost_what_is_counted)
{
    static const char *const forms[] = {"fast", "fftw"};
    struct fixture eq10 = fixture("--grid 8 --heads 2", &lisa, 1, 8, "D=2", "");
    struct fixture eq4 = fixture("--grid 8 --heads 2 --equation 4", &lisa, 1, 8, "", "");
    struct fixture odd = fixture("--grid 8 --heads 2", &lisa, 1, 8, "D=7", "");
    struct fixture wide = fixture("--grid 8 --equation 4", &lisa, 1, 8, "", "w_o b_o");
    struct fixture one = fixture("--grid 8 --equation 4", &lisa, 1, 8, "", "");
    for (size_t f = 0; f < COUNT(forms); f++) {
        double seven = fixture_cores(&odd, operator_form(&lisa, forms[f])) / 2;
        double eight = fixture_cores(&wide, operator_form(&lisa, forms[f]));
        ck_assert_double_eq(seven, 40 * 2.5 * 8 * 3 + 32 * (4 * 8 + 2 * 8));
        within("Eq. 4, 8 channels", fabs(eight - (64 * 2.5 * 15 * log2(15) + 32 * (4 * 15 + 4 * 8))) / eight, 1e-12);
        double before = eight - fixture_cores(&one, operator_form(&lisa, forms[f]));
        ck_assert_double_eq(before, f ? 0 : 8 * 8 * 8);
        double ten = fixture_cores(&eq10, operator_form(&lisa, forms[f])) / 2;
        double four = fixture_cores(&eq4, operator_form(&lisa, forms[f])) / 2;
        ck_assert_double_eq(ten, 16 * 2.5 * 8 * 3 + 8 * (4 * 8 + 2 * 8));
        within("Eq. 4", fabs(four - (16 * 2.5 * 15 * log2(15) + 8 * (4 * 15 + 4 * 8))) / four, 1e-12);
    }
}

/* LiSA, Table 1, row 4: the plain form has O(N log N) multiplications.  A head has 2 c transforms forward and c D back:
 * two of the 2 c D convolutions share one.  For N = 2^m a transform has 4 N log2 N multiplications, on any axes;
 * products of spectra, q and a have 6 c D N.  A prime factor p costs p - 1 instead of log2 p; for p <= 7 that is at
 * most 6 / log2 7 times as much.  From 16 tokens on, the naive form has more. */
static const char *const counted_grid[] = {
    "2", "16", "64", "1024", "4x4", "8x8", "16x16", "32x32", "8x4", "4x4x4",
    "12", "35", "49", "14x14", "20x30", "5x6x7",
};
TESTS(lisa_takes_n_log_n, COUNT(counted_grid))
{
    char options[48];
    snprintf(options, sizeof options, "--grid %s", counted_grid[_i]);
    struct fixture t = fixture(options, &lisa, 1, 2, "D=4", "b_qkv w_o b_o");
    double N = (double)resolved(&t.problem).heads.N, c = 2, D = 4;
    double transforms = 4 * c * (D + 2) * N * log2(N), products = 6 * c * D * N;
    double plain = counted_run(&t, "plain", zeros(t.outputs)), naive = counted_run(&t, "naive", zeros(t.outputs));
    printf("    %-8s naive %10.0f, plain %10.0f multiplications\n", counted_grid[_i], naive, plain);
    if (exp2(nearbyint(log2(N))) == N) ck_assert(plain == transforms + products);
    else ck_assert(plain > transforms + products && plain <= 6 / log2(7) * transforms + products);
    ck_assert((plain < naive) == (N >= 16));
}

/* Memory with four times the tokens.  Row 3: O(N C D), if T(e) counts as parameters, which Table 1 leaves out; the fast
 * form keeps spectra of the tables.  Row 4: O(N C D), with padded spectra. */
static const struct battery_growth growth[] = {
    {"--equation 4", 8, 1, "", "b_qkv w_o b_o", "naive", 14, 17},
    {"--equation 5", 8, 4, "D=4", "ba b_qkv w_o b_o", "naive", 14, 17},
    {"--equation 5", 8, 4, "D=4", "ba b_qkv w_o b_o", "fast", 1, 5},
    {"", 8, 16, "D=4", "ba b_qkv w_o b_o", "naive", 1, 5},
    {"", 8, 16, "D=4", "ba b_qkv w_o b_o", "plain", 1, 5},
    {"", 8, 16, "D=4", "ba b_qkv w_o b_o", "fast", 1, 5},
    {"", 8, 16, "D=4", "ba b_qkv w_o b_o", "fftw", 1, 5},
    {0},
};

/* LiSA, App. A.1, on early stages, "the token size is larger": tokens are smaller, and there are more of them. */
TEST(early_stages_have_more_tokens)
{
    static const char *const name[] = {"lisanet-h-t", "lisanet-h-s", "lisanet-h-b"};
    for (size_t m = 0; m < COUNT(name); m++) {
        struct network_request request = {.grid = "224x224"};
        const struct network_table *table;
        struct network n;
        succeeds(network_named(&table, name[m]));
        succeeds(network_create(&n, table, &request));
        for (int s = 0; s < 4; s++) {
            size_t shape[3];
            network_stage_shape(&n, s, shape);
            ck_assert_uint_eq(shape[1], (size_t)3136 >> 2 * s);
            ck_assert_uint_eq(shape[2], n.stage[0].width << s);
            ck_assert_uint_eq(n.stage[s].width, 16 * n.stage[s].heads);
        }
        network_release(&n);
    }
}

int main(void)
{
    static const struct battery tables = {.operator = &lisa, .growth = growth};
    return run_battery("LiSA, counts", &tables);
}
