/* test_lisa_counts.c -- what LiSA and self-attention cost: Table 1 and the FLOPs of Tab. 3, counted
 *
 * Naive forms are compiled with a real that counts multiplications (counting.h), the allocator counts bytes
 * (memory.h), FFTW counts the operations of its plans.  Counts are exact where no tolerance is given. */

#include <fftw3.h>
#include <stdio.h>
#include "lisa_case.h"
#include "../support/published.h"
#include "../support/battery.h"
#include "../../reference/hilo.h"
#include "../../reference/msa.h"
#include "../../reference/networks/network.h"

/* Fig. 6's order, counted (counting.cc). */
void counted_lisa_fig6(real *y, real *KRa, real *RbV, const real *q, const real *k, const real *v,
                       const real *Ra, const real *Rb, const struct lisa_problem *p);

/* ---- single heads, counted ---------------------------------------------- */

enum core { SELF_ATTENTION, EQ4, EQ5, EQ5_BIASED, FIG6, FIG6_BIASED, EQ7 };

/* Multiplications of one head; projections are BLAS's, and not counted. */
static double counted(enum core core, size_t N, size_t c, size_t D)
{
    static const char *const options[] = {
        "", " --equation 4", " --equation 5", " --equation 5", " --equation 5", " --equation 5", " --equation 7",
    };
    char words[80], latents[24];
    bool biased = core == EQ5_BIASED || core == FIG6_BIASED;
    snprintf(words, sizeof words, "--grid %zu%s", N, options[core]);
    snprintf(latents, sizeof latents, "D=%zu", D);
    struct trial t = trial(words, core ? &lisa : &msa, 1, c, latents,
                           biased ? "b_qkv w_o b_o" : "rpe ba b_qkv w_o b_o");
    if (core != FIG6 && core != FIG6_BIASED) return counted_run(&t, zeros(t.outputs));

    /* What the arrays hold does not matter: zeros. */
    const struct lisa_problem p = resolved(&t.problem);
    real *qkv = zeros(N * c), *R = zeros(N * N * D);
    multiplications();
    counted_lisa_fig6(zeros(N * c), zeros(N * c * D), zeros(N * c * D), qkv, qkv, qkv, R, R, &p);
    return (double)multiplications();
}

/* By hand.  One token, channel and latent: Fig. 6 multiplies key and value by their RPEs, the query by one, that by the
 * other.  Eq. 4 on 5 tokens of one channel: queries by keys, that by R and by the values, 25 times each. */
START_TEST(the_counter_counts)
{
    ck_assert(counted(FIG6, 1, 1, 1) == 4);
    ck_assert_uint_eq(multiplications(), 0);
    ck_assert(counted(EQ4, 5, 1, 1) == 75);
}
END_TEST

/* LiSA, Fig. 6: 2 N^2 c D + 2 N c D, whether Eq. 5 has a bias or not; its first line takes N c D more for the bias.
 * Eq. 1, self-attention: N^2 (2 c + 1). */
static const struct { size_t N, c, D; } head_size[] = {
    {1, 1, 1}, {7, 3, 2}, {16, 8, 4}, {20, 1, 9}, {64, 32, 16}, {33, 5, 16},
};
START_TEST(single_heads_multiply_as_their_formulas_say)
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
END_TEST

/* LiSA, Tab. 3c: a window meets S of the N M pairs of a token and an entry, those that stay on the grid, and the naive
 * form multiplies 2 S c D + 2 N c D times.  S is counted pair by pair. */
static const struct { const char *grid, *kernel; } window_size[] = {
    {"9", "3"}, {"4", "11"}, {"5x6", "1x1"}, {"5x6", "3x5"}, {"1x7", "3x3"}, {"14x14", "7x7"}, {"2x3x4", "3x5x3"},
};
START_TEST(local_kernels_multiply_where_they_meet_the_grid)
{
    char options[80];
    snprintf(options, sizeof options, "--grid %s --kernel %s", window_size[_i].grid, window_size[_i].kernel);
    struct trial t = trial(options, &lisa, 1, 2, "D=3", "b_qkv w_o b_o");
    const struct lisa_problem p = resolved(&t.problem);
    size_t N = p.heads.N, S = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) S += window_entry(&p.window, &p.g, i, n) < p.M;
    ck_assert(counted_run(&t, zeros(t.outputs)) == (double)(2 * S * 6 + 2 * N * 6));
    ck_assert(lisa_pairs(&p) == (double)S);
    ck_assert(p.M == 1 ? S == N : S < N * p.M);
}
END_TEST

/* ---- Table 1, computation -------------------------------------------------- */

/* LiSA, Table 1, rows 1-3: O(N^2 C), and O(N^2 C D) for Fig. 6's order of Eq. 5. */
START_TEST(table_1_holds_for_quadratic_operators)
{
    double N = (double)head_size[_i].N, c = (double)head_size[_i].c, D = (double)head_size[_i].D;
    double attention = counted(SELF_ATTENTION, head_size[_i].N, head_size[_i].c, 1) / (N * N * c);
    double four = counted(EQ4, head_size[_i].N, head_size[_i].c, 1) / (N * N * c);
    double five = counted(FIG6, head_size[_i].N, head_size[_i].c, head_size[_i].D) / (N * N * c * D);
    ck_assert(attention >= 2 && attention <= 3);
    ck_assert(four >= 2 && four <= 3);
    ck_assert(five >= 2 && five <= 4);
}
END_TEST

/* LiSA, Eq. 5 and Table 1, row 3, which counts the order of Fig. 6: the first line takes N^2 (2 c + 2 D) + N c D.  With
 * C = D = n this falls as 4/n + 1/N over N^2 C D, and stays between 2 and 3 over N^2 (C + D). */
START_TEST(first_line_of_eq5_costs_less_than_table_1_says)
{
    double before = 5;
    for (size_t n = 2; n <= 32; n *= 2) {
        double N = 64, d = (double)n, first = counted(EQ5, 64, n, n);
        ck_assert(first / (N * N * d * d) == 4 / d + 1 / N);
        ck_assert(first / (N * N * d * d) < before);
        before = first / (N * N * d * d);
        ck_assert(first / (N * N * 2 * d) >= 2 && first / (N * N * 2 * d) <= 3);
    }
    ck_assert(counted(FIG6, 49, 16, 16) > 7.5 * counted(EQ5, 49, 16, 16));
}
END_TEST

/* FLOPs of the model of Tab. 3 in G, a multiply-add counted as one: patches, projections and MLP of 12 blocks, classes,
 * and the core of 12 heads each. */
static double model_flops(double core)
{
    double N = 196, C = 192, embedding = N * 16 * 16 * 3 * C, block = N * (4 + 8) * C * C, classes = C * 1000;
    return (embedding + classes + 12 * (block + 12 * core)) / 1e9;
}

/* LiSA, Tab. 3b: one head of 196 tokens, 16 channels and 16 latents; Eq. 5 in the order of Fig. 6.  By its first line
 * it takes 1.43 G.  Tolerance: half of the last digit. */
START_TEST(flops_of_tab_3b_are_those_of_fig_6)
{
    double attention = model_flops(counted(SELF_ATTENTION, 196, 16, 1)), four = model_flops(counted(EQ4, 196, 16, 1));
    double five = model_flops(counted(FIG6, 196, 16, 16)), biased = model_flops(counted(FIG6_BIASED, 196, 16, 16));
    double first_line = model_flops(counted(EQ5, 196, 16, 16));
    within("Self-attn", fabs(attention - published("lisa", "3b", "Self-attn", "flops")), 0.005);
    within("SA (Eq. 4)", fabs(four - published("lisa", "3b", "SA (Eq. 4)", "flops")), 0.005);
    within("SA (Eq. 5), Fig. 6", fabs(five - published("lisa", "3b", "SA (Eq. 5)", "flops")), 0.005);
    within("+ bias term Ba, Fig. 6", fabs(biased - published("lisa", "3b", "+ bias term Ba", "flops")), 0.005);
    beyond("SA (Eq. 5), first line", fabs(first_line - published("lisa", "3b", "SA (Eq. 5)", "flops")), 0.005);
    within("    which is 1.43 G", fabs(first_line - 1.43), 0.005);
}
END_TEST

/* LiSA, Tab. 3c: zeros around the grid are multiplied too, 2 c D for each pair off the grid, as a padded convolution
 * does; norms at five operations a number, as in Tab. 3a.  Tolerance: half of the last digit. */
START_TEST(flops_of_tab_3c_are_those_of_padded_windows)
{
    static const char *const row[] = {"Local 3x3", "Local 5x5", "Local 7x7"};
    size_t k = 3 + 2 * (size_t)_i;
    char options[80];
    snprintf(options, sizeof options, "--grid 14x14 --kernel %zux%zu", k, k);
    struct trial t = trial(options, &lisa, 1, 16, "D=16", "b_qkv w_o b_o");
    const struct lisa_problem p = resolved(&t.problem);
    double printed = published("lisa", "3c", row[_i], "flops"), norms = 5 * 25 * 196 * 192 / 1e9;
    double core = counted_run(&t, zeros(t.outputs)), off = 196 * (double)p.M - lisa_pairs(&p);
    within(row[_i], fabs(model_flops(core + 2 * 16 * 16 * off) + norms - printed), 0.005);
    beyond("    without zeros", fabs(model_flops(core) + norms - printed), 0.005);
}
END_TEST

/* LiSA, Sec. 4.2, "this process does not require additional computation": true in the order of Fig. 6, where an RPE
 * meets every channel anyway; against the first line of Eq. 5 it takes 4.5 times as much.  Tab. 3b: 3.92 G for both. */
START_TEST(hadamard_correlation_is_free_in_the_order_of_fig6_only)
{
    double hadamard = counted(EQ7, 49, 16, 16);
    ck_assert(hadamard > 4.5 * counted(EQ5, 49, 16, 16));
    ck_assert(hadamard <= counted(FIG6, 49, 16, 16));
}
END_TEST

/* LiSA, Sec. 4.3; circulant.h: 5 P log2 P operations a complex transform, two of them a multiply-add; 4 a complex
 * product.  Eq. 10 goes round 8 points: 4 keys and 4 values there, 8 back.  Eq. 4 goes round 15: for each of 2 pairs
 * of channels 4 values there and back; of one head the fast form projects its output with the value, N C^2 less. */
START_TEST(fft_forms_cost_what_is_counted)
{
    static const char *const forms[] = {"fast", "fftw"};
    struct trial eq10 = trial("--grid 8 --heads 2", &lisa, 1, 8, "D=2", "");
    struct trial eq4 = trial("--grid 8 --heads 2 --equation 4", &lisa, 1, 8, "", "");
    struct trial odd = trial("--grid 8 --heads 2", &lisa, 1, 8, "D=7", "");
    struct trial wide = trial("--grid 8 --equation 4", &lisa, 1, 8, "", "w_o b_o");
    struct trial one = trial("--grid 8 --equation 4", &lisa, 1, 8, "", "");
    for (size_t f = 0; f < COUNT(forms); f++) {
        double seven = trial_hearts(&odd, operator_form(&lisa, forms[f])) / 2;
        double eight = trial_hearts(&wide, operator_form(&lisa, forms[f]));
        ck_assert_double_eq(seven, 40 * 2.5 * 8 * 3 + 32 * (4 * 8 + 2 * 8));
        within("Eq. 4, 8 channels", fabs(eight - (64 * 2.5 * 15 * log2(15) + 32 * (4 * 15 + 4 * 8))) / eight, 1e-12);
        double before = eight - trial_hearts(&one, operator_form(&lisa, forms[f]));
        ck_assert_double_eq(before, f ? 0 : 8 * 8 * 8);
        double ten = trial_hearts(&eq10, operator_form(&lisa, forms[f])) / 2;
        double four = trial_hearts(&eq4, operator_form(&lisa, forms[f])) / 2;
        ck_assert_double_eq(ten, 16 * 2.5 * 8 * 3 + 8 * (4 * 8 + 2 * 8));
        within("Eq. 4", fabs(four - (16 * 2.5 * 15 * log2(15) + 8 * (4 * 15 + 4 * 8))) / four, 1e-12);
    }
}
END_TEST

/* LiSA, Sec. 1 and 5.2, "exponentially": twice the tokens, four times the count, as Table 1 says, not its square. */
START_TEST(self_attention_grows_quadratically_not_exponentially)
{
    for (size_t n = 8; n <= 64; n *= 2) {
        double once = counted(SELF_ATTENTION, n, 16, 1), twice = counted(SELF_ATTENTION, 2 * n, 16, 1);
        ck_assert(twice == 4 * once);
        ck_assert(twice < once * once / 100);
    }
}
END_TEST

/* Operations that FFTW's plan takes for a real transform of a square grid, there or back. */
static double fft_operations(int side, bool back)
{
    int n[2] = {side, side};
    double adds, products, both;
    real *a = zeros((size_t)(side * side)), *f = zeros((size_t)(2 * side * (side / 2 + 1)));
    FFTW(plan) plan = back ? FFTW(plan_dft_c2r)(2, n, (void *)f, a, FFTW_ESTIMATE | FFTW_UNALIGNED)
                           : FFTW(plan_dft_r2c)(2, n, a, (void *)f, FFTW_ESTIMATE | FFTW_UNALIGNED);
    FFTW(flops)(plan, &adds, &products, &both);
    FFTW(destroy_plan)(plan);
    return adds + products + 2 * both;
}

/* LiSA, Table 1, row 4; Fig. 7 transforms C keys and C values, and 2 C D products back.  Bound: radix 2 (Cooley and
 * Tukey), 5/2 N log2 N for each real transform, 6 for a complex product, 4 N C D to contract; twice that for our
 * forms, which transform complex numbers. */
START_TEST(lisa_takes_n_log_n)
{
    double C = 96, D = 16;
    for (int side = 8; side <= 128; side *= 2) {
        double N = (double)side * side, bins = (double)side * (side / 2 + 1), unit = N * C * D * log2(N);
        double products = 2 * C * D * bins * 6 + 4 * N * C * D;
        double forth = 2 * C * fft_operations(side, false), back = 2 * C * D * fft_operations(side, true);
        double radix_2 = (2 * C + 2 * C * D) * 2.5 * N * log2(N) + products;
        char what[64];
        snprintf(what, sizeof what, "%dx%d, over N C D log2 N", side, side);
        within(what, (forth + back + products) / unit, radix_2 / unit);
        beyond("    the sums of Eq. 10", 4 * N * N * C * D / unit, radix_2 / unit);

        char options[48];
        snprintf(options, sizeof options, "--grid %dx%d --heads 6", side, side);
        struct problem p = shaped(options, &lisa, 1, 96, "D=16", "b_qkv w_o b_o");
        static const char *const forms[] = {"fast", "fftw"};
        for (size_t f = 0; f < COUNT(forms); f++) {
            const struct form *form = operator_form(&lisa, forms[f]);
            double core = form_multiply_adds(form, &p) - projections_multiply_adds(&p);
            within(forms[f], 2 * core / unit, 2 * radix_2 / unit);
        }
    }
}
END_TEST

/* ---- Table 1, memory -------------------------------------------------------- */

/* Peak bytes of a form of LiSA with one head. */
static double bytes(const char *place, const char *word, size_t c, size_t D, const char *form)
{
    struct sizes z = {place, c, 1, D, 1, true};
    struct trial t = lisa_trial(&z, word);
    return trial_peak(&t, operator_form(&lisa, form));
}

/* LiSA, Table 1, rows 1 and 2: memory O(N^2 + N C).  For self-attention that is a property of the order of work: in
 * tiles it is O(N C).  Four times the tokens, one channel; N^2 + 7 N would be 14.5 times the bytes. */
START_TEST(quadratic_memory_is_a_matter_of_order)
{
    double peak[2][2];
    for (int s = 0; s < 2; s++) {
        struct trial t = trial(s ? "--grid 16x16" : "--grid 8x8", &msa, 1, 1, "", "rpe b_qkv w_o b_o");
        peak[s][0] = trial_peak(&t, operator_form(&msa, "naive"));
        peak[s][1] = trial_peak(&t, operator_form(&msa, "fast"));
    }
    double naive = peak[1][0] / peak[0][0], tiled = peak[1][1] / peak[0][1];
    double four = bytes("16x16", "4", 1, 1, "naive") / bytes("8x8", "4", 1, 1, "naive");
    printf("    four times the tokens: self-attention %.1f times the bytes, tiled %.1f, Eq. 4 %.1f\n",
           naive, tiled, four);
    ck_assert(naive > 12 && four > 12);
    ck_assert(tiled > 0 && tiled <= 5);
}
END_TEST

/* LiSA, Table 1, row 3: memory O(N C D), if T(e) laid out counts as parameters, which the table leaves out.  Fig. 6
 * builds both RPE tensors, [N,N,D].  Four times the tokens: the fast form holds spectra of the tables. */
START_TEST(table_1_forgets_the_rpe_tensors_of_eq5)
{
    double naive = bytes("16x16", "5", 4, 4, "naive") / bytes("8x8", "5", 4, 4, "naive");
    double fast = bytes("16x16", "5", 4, 4, "fast") / bytes("8x8", "5", 4, 4, "fast");
    printf("    four times the tokens: naive %.1f times the bytes, fast %.1f times\n", naive, fast);
    ck_assert(naive > 14);
    ck_assert(fast > 1 && fast <= 5);
}
END_TEST

/* LiSA, Table 1, row 4: O(N C D).  Four times the tokens: at most 5 times the bytes, with padded spectra. */
START_TEST(memory_of_lisa_is_linear_in_tokens)
{
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&lisa, f)); f++) {
        double growth = bytes("16x16", "10", 16, 4, form->name) / bytes("8x8", "10", 16, 4, form->name);
        printf("    %s: four times the tokens, %.2f times the bytes\n", form->name, growth);
        ck_assert(growth > 1 && growth <= 5);
    }
    ck_assert(bytes("16x16", "4", 1, 1, "naive") > 14 * bytes("8x8", "4", 1, 1, "naive"));
}
END_TEST

/* App. A.1 says of early stages that "the token size is larger": it is smaller, and tokens are more. */
START_TEST(early_stages_have_more_tokens)
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
END_TEST

/* Multiply-adds without the projections of self-attention, or of attention to keys and values pooled by 2 x 2. */
static double attention_products(const char *options)
{
    struct problem p = shaped(options, &msa, 1, 96, "", "rpe b_qkv w_o b_o");
    return form_multiply_adds(operator_form(&msa, "naive"), &p) - projections_multiply_adds(&p);
}

static double pooled_products(const char *options)
{
    struct problem p = shaped(options, &hilo, 1, 96, "", "l_q_b l_kv_b l_proj_b");
    double N = (double)problem_size(&p, "N");
    return form_multiply_adds(operator_form(&hilo, "fast"), &p) - 2.5 * N * 96 * 96;
}

/* Sec. 5.2 and Fig. 4: attention in four windows, or to pooled keys, multiplies a quarter and stays quadratic.
 * Windows of 4 x 4 on either grid are linear. */
START_TEST(windows_and_pooling_take_a_quarter_of_the_products)
{
    double eight = attention_products("--grid 8x8"), sixteen = attention_products("--grid 16x16");
    double windows = attention_products("--grid 8x8 --window 4");
    ck_assert(eight > 0 && sixteen == 16 * eight);
    ck_assert(windows == eight / 4 && attention_products("--grid 16x16 --window 8") == sixteen / 4);
    ck_assert(attention_products("--grid 16x16 --window 4") == 4 * windows);
    ck_assert(pooled_products("--grid 8x8 --alpha 1 --window 2") == 2.0 * 64 * 64 / 4 * 96);
    ck_assert(pooled_products("--grid 16x16 --alpha 1 --window 2") == 2.0 * 256 * 256 / 4 * 96);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("LiSA, counts");
    TCase *formulas = add_case(suite, "formulas");
    tcase_add_test(formulas, the_counter_counts);
    tcase_add_loop_test(formulas, local_kernels_multiply_where_they_meet_the_grid, 0, (int)COUNT(window_size));
    tcase_add_loop_test(formulas, single_heads_multiply_as_their_formulas_say, 0, (int)COUNT(head_size));
    TCase *computation = add_case(suite, "Table 1, computation");
    tcase_add_loop_test(computation, table_1_holds_for_quadratic_operators, 0, (int)COUNT(head_size));
    tcase_add_test(computation, first_line_of_eq5_costs_less_than_table_1_says);
    tcase_add_test(computation, flops_of_tab_3b_are_those_of_fig_6);
    tcase_add_loop_test(computation, flops_of_tab_3c_are_those_of_padded_windows, 0, 3);
    tcase_add_test(computation, hadamard_correlation_is_free_in_the_order_of_fig6_only);
    tcase_add_test(computation, fft_forms_cost_what_is_counted);
    tcase_add_test(computation, self_attention_grows_quadratically_not_exponentially);
    tcase_add_test(computation, lisa_takes_n_log_n);
    TCase *memory = add_case(suite, "Table 1, memory");
    tcase_add_test(memory, quadratic_memory_is_a_matter_of_order);
    tcase_add_test(memory, table_1_forgets_the_rpe_tensors_of_eq5);
    tcase_add_test(memory, memory_of_lisa_is_linear_in_tokens);
    TCase *costs = add_case(suite, "Sec. 5.2, App. A.1");
    tcase_add_test(costs, early_stages_have_more_tokens);
    tcase_add_test(costs, windows_and_pooling_take_a_quarter_of_the_products);
    return run_suite(suite);
}
