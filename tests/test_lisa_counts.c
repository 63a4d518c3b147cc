/* test_lisa_counts.c -- what LiSA and self-attention cost: counted, not estimated
 *
 * Multiplications are counted by compiling naive/ with a real that counts them
 * (counting.h), bytes by the allocator (memory.h), the operations of an FFT by
 * FFTW.  Counts are whole numbers and the same on every machine; the tolerance
 * is zero where none is given. */

#include <fftw3.h>
#include "lisa_case.h"
#include "published.h"
#include "../reference/msa.h"

/* Fig. 6's order, counted (counting.cc). */
void counted_lisa_fig6(real *y, real *KRa, real *RbV, const real *q, const real *k, const real *v,
                       const real *Ra, const real *Rb, const struct lisa_problem *p);

/* ---- single heads, counted ---------------------------------------------- */

enum heart { SELF_ATTENTION, EQ4, EQ5, EQ5_BIASED, FIG6, FIG6_BIASED, EQ7 };

/* Multiplications of one run of an operator's counted naive form, into y;
 * preparing it multiplies nothing. */
static double counted_run(const struct trial *t, real *y)
{
    struct plan plan;
    multiplications();
    succeeds(plan_create(&plan, &t->problem, counted_form(t->problem.declaration), 1));
    ck_assert_uint_eq(multiplications(), 0);
    succeeds(plan_run(&plan, y, t->x));
    plan_release(&plan);
    return (double)multiplications();
}

/* Multiplications of one head; projections are BLAS's, and not counted. */
static double counted(enum heart heart, size_t N, size_t c, size_t D)
{
    static const char *const options[] = {
        "", " --equation 4", " --equation 5", " --equation 5", " --equation 5", " --equation 5", " --equation 7",
    };
    char words[80], latents[24];
    bool biased = heart == EQ5_BIASED || heart == FIG6_BIASED;
    snprintf(words, sizeof words, "--grid %zu%s", N, options[heart]);
    snprintf(latents, sizeof latents, "D=%zu", D);
    struct trial t = trial(words, heart ? &lisa : &msa, 1, c, latents,
                           biased ? "b_qkv w_o b_o" : "rpe ba b_qkv w_o b_o");
    if (heart != FIG6 && heart != FIG6_BIASED) return counted_run(&t, zeros(t.outputs));

    /* What the arrays hold does not matter: zeros. */
    const struct lisa_problem p = resolved(&t.problem);
    real *qkv = zeros(N * c), *R = zeros(N * N * D);
    multiplications();
    counted_lisa_fig6(zeros(N * c), zeros(N * c * D), zeros(N * c * D), qkv, qkv, qkv, R, R, &p);
    return (double)multiplications();
}

/* Claim      The counter counts multiplications, and nothing else.
 * Measure    One token, one channel, one latent by hand: Fig. 6 multiplies key
 *            and value with their RPEs, the query with one, that with the other:
 *            four.  Then nothing has happened.  Eq. 4 on 5 tokens of one channel
 *            multiplies queries with keys, that with R and with the values, 25
 *            times each. */
START_TEST(the_counter_counts)
{
    ck_assert(counted(FIG6, 1, 1, 1) == 4);
    ck_assert_uint_eq(multiplications(), 0);
    ck_assert(counted(EQ4, 5, 1, 1) == 75);
}
END_TEST

static const struct sizes size[] = {
    {"1", 1, 1, 1, 1, true},    {"7", 3, 1, 2, 1, true},    {"5x4", 3, 2, 2, 2, false},
    {"2x3x4", 2, 3, 5, 1, true}, {"1x9", 16, 1, 3, 3, false}, {"8x8", 4, 2, 4, 1, true},
};

/* Claim      The formulas of multiply-adds are exact: every multiplication of
 *            every naive heart, all heads and images, beside the projections.
 *            Preparing multiplies nothing.
 * Paper      LiSA, Table 1; the formulas of reference/lisa.h.
 * Measure    A whole run of the counted naive form against its formula; and its
 *            y against that of the ordinary one, so that what was counted is
 *            what is meant. */
START_TEST(naive_forms_multiply_as_their_formulas_say)
{
    struct trial t = lisa_trial(&size[_i / EQUATIONS], equation_word[_i % EQUATIONS]);
    real *y = zeros(t.outputs);
    double hearts = counted_run(&t, y);
    printf("    Eq. %-2s on %-6s %12.0f multiplications\n",
           equation_word[_i % EQUATIONS], size[_i / EQUATIONS].grid, hearts);
    ck_assert(hearts > 0 && hearts == trial_hearts(&t, operator_form(&lisa, "naive")));
    double error = largest_difference(y, trial_run(&t, "naive", 1), t.outputs);
    within("the counted form's y", error, tolerance(&t.problem, t.x));
}
END_TEST

/* Claim      So are those of Fig. 6's order, 2 N^2 c D + 2 N c D, and of
 *            self-attention, N^2 (2 c + 1).  A bias B^a in Eq. 5 takes N c D more by
 *            its first line, and nothing in Fig. 6's order.
 * Paper      LiSA, Fig. 6; Eq. 1. */
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

/* Claim      A local window meets S of the N M pairs of a token and an entry: those that
 *            stay on the grid.  The naive form multiplies 2 S c D + 2 N c D times.
 * Paper      LiSA, Tab. 3c; the formula of reference/lisa.h.
 * Measure    The counted naive form, against S counted pair by pair; c = 2, D = 3.
 * Would it fail?  Windows reach beyond the grid on one side and on both; with all N M
 *            pairs it fails but where the window is one token. */
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

/* Claim      Self-attention and Eq. 4 take O(N^2 C) multiply-adds, Fig. 6's order
 *            of Eq. 5 O(N^2 C D), and neither less.
 * Paper      LiSA, Table 1, rows 1-3.
 * Measure    Counts over N^2 C, between 2 and 3; over N^2 C D, between 2 and 4,
 *            for N of 1 ... 64, C of 1 ... 32, D of 1 ... 16. */
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

/* Claim      Table 1's O(N^2 C D) for Eq. 5 is the order that Fig. 6 takes and Tab.
 *            3b counts.  The first line of the equation, with the N x N correlation,
 *            takes N^2 (2 c + 2 D) + N c D: O(N^2 (C + D)), within that bound.
 * Paper      LiSA, Eq. 5 and Table 1, row 3, which could have claimed less.
 * Measure    Counts of both orders of one function (both_orders_of_eq5_agree).
 * Holds      With C = D = n the first line's count over N^2 C D falls as 4/n + 1/N;
 *            over N^2 (C + D) it stays between 2 and 3 where D <= N. */
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

/* FLOPs of the model of Tab. 3 in G, a multiply-add counted as one: patches,
 * projections and MLP of 12 blocks, classes, and the hearts of 12 heads each. */
static double model_flops(double heart)
{
    double N = 196, C = 192, embedding = N * 16 * 16 * 3 * C, block = N * (4 + 8) * C * C, classes = C * 1000;
    return (embedding + classes + 12 * (block + 12 * heart)) / 1e9;
}

/* Claim      Tab. 3b's FLOPs follow from counted hearts: 1.25 G for self-attention
 *            and Eq. 4, 3.92 G for Eq. 5, in Fig. 6's order.  By the first line of
 *            Eq. 5 the same operator takes 1.43 G.
 * Paper      LiSA, Tab. 3b.
 * Measure    One head of 196 tokens, 16 channels, 16 latents, counted.
 * Tolerance  0.005 G, half of the last digit.
 * Would it fail?  The first line is beyond. */
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

/* Claim      Tab. 3c's FLOPs of local kernels follow from the operator: 1.22, 1.45 and
 *            1.80 G, with the zeros around the grid multiplied too, as a padded
 *            convolution does, and norms at five operations a number, as in Tab. 3a.
 * Paper      LiSA, Tab. 3c.
 * Measure    Counted hearts of one head, --kernel kxk on 14 x 14 tokens, and 2 c D for
 *            each pair off the grid.
 * Tolerance  0.005 G, half of the last digit.
 * Would it fail?  Without the zeros it does. */
START_TEST(flops_of_tab_3c_are_those_of_padded_windows)
{
    static const char *const row[] = {"Local 3x3", "Local 5x5", "Local 7x7"};
    size_t k = 3 + 2 * (size_t)_i;
    char options[80];
    snprintf(options, sizeof options, "--grid 14x14 --kernel %zux%zu", k, k);
    struct trial t = trial(options, &lisa, 1, 16, "D=16", "b_qkv w_o b_o");
    const struct lisa_problem p = resolved(&t.problem);
    double printed = published("lisa", "3c", row[_i], "flops"), norms = 5 * 25 * 196 * 192 / 1e9;
    double heart = counted_run(&t, zeros(t.outputs)), off = 196 * (double)p.M - lisa_pairs(&p);
    within(row[_i], fabs(model_flops(heart + 2 * 16 * 16 * off) + norms - printed), 0.005);
    beyond("    without zeros", fabs(model_flops(heart) + norms - printed), 0.005);
}
END_TEST

/* Reading    "This process does not require additional computation", said of the
 *            Hadamard correlation, holds in the order of Fig. 6, where an RPE meets
 *            every channel anyway.  Against the first line of Eq. 5 it takes
 *            c times as much to read the correlation.
 * Paper      LiSA, Sec. 4.2; Tab. 3b prints 3.92 G for both.
 * Measure    Counts of Eq. 7 against both orders of Eq. 5, 49 tokens, 16
 *            channels, 16 latents.
 * Holds      No more than Fig. 6's order; 4.5 times the first line. */
START_TEST(hadamard_correlation_is_free_in_the_order_of_fig6_only)
{
    double hadamard = counted(EQ7, 49, 16, 16);
    ck_assert(hadamard > 4.5 * counted(EQ5, 49, 16, 16));
    ck_assert(hadamard <= counted(FIG6, 49, 16, 16));
}
END_TEST

/* Claim      The FFT forms cost what circulant.h counts: 5 P log2 P operations a complex transform,
 *            two of them a multiply-add; 4 a complex product; and what tokens take to meet them.
 * Paper      LiSA, Sec. 4.3.
 * Measure    Formulas of both forms for 8 tokens, 2 heads of 4 channels and 2 latents.  Eq. 10 goes round
 *            8 points: 4 keys and 4 values there, 8 back; 8 times a product and two latents of each token.
 *            Eq. 4 goes round 15: for each of 2 pairs of the query's channels 4 values there and back, a
 *            product, and for each token a complex factor before and after, of 2.  Of 7 latents there are 4
 *            pairs, as of 8 channels of one head.  There the fast form projects its output with the
 *            value: N C^2 less.
 * Would it fail?  Seen with 4 + P for 4 P, and with threes for pairs. */
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

/* Claim      The cost of self-attention grows with the square of the tokens: twice the
 *            tokens, four times the count, whatever their number.  ("Exponentially", as
 *            the text also says, is loosely said: so the count would be squared.)
 * Paper      LiSA, Sec. 1 and 5.2; Table 1 of the paper itself says N^2.
 * Measure    Counts at N and 2 N. */
START_TEST(self_attention_grows_quadratically_not_exponentially)
{
    for (size_t n = 8; n <= 64; n *= 2) {
        double once = counted(SELF_ATTENTION, n, 16, 1), twice = counted(SELF_ATTENTION, 2 * n, 16, 1);
        ck_assert(twice == 4 * once);
        ck_assert(twice < once * once / 100);
    }
}
END_TEST

/* Operations that FFTW's own plan takes for a real transform of a square grid:
 * there, and back. */
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

/* Claim      LiSA takes O(N C D log N): Fig. 7 transforms C keys and C values, and
 *            2 C D products back; a product of spectra per latent, channel and kept
 *            bin; and the contraction with the query.
 * Paper      LiSA, Table 1, row 4.
 * Measure    Operations, as FFTW counts them for its plans, on 8 x 8 ... 128 x 128
 *            tokens, C = 96, D = 16, over N C D log2 N.  And the multiply-adds of
 *            the two forms of this program that use transforms, by their formula
 *            (fft_forms_cost_what_is_counted), two operations each.
 * Tolerance  No more than radix 2 takes: 5/2 N log2 N for each real transform
 *            (Cooley and Tukey), 6 for a complex product, 4 N C D to contract.  The
 *            forms transform complex numbers, twice as many operations: twice that.
 * Would it fail?  The count of Eq. 10's sums, 2 N^2 C D multiply-adds, is beyond. */
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
            within(forms[f], 2 * (form_multiply_adds(form, &p) - projections_multiply_adds(&p)) / unit, 2 * radix_2 / unit);
        }
    }
}
END_TEST

/* ---- Table 1, memory -------------------------------------------------------- */

/* Bytes that a form of LiSA takes at most, from prepare to the end of a run. */
static double bytes(const char *place, const char *word, size_t c, size_t D, const char *form)
{
    struct sizes z = {place, c, 1, D, 1, true};
    struct trial t = lisa_trial(&z, word);
    return trial_peak(&t, operator_form(&lisa, form));
}

/* Bytes of an array as a room asks for it: whole lines of 64. */
static size_t lines(size_t a, size_t b, size_t c, size_t d)
{
    return (a * b * c * d * sizeof(real) + 63) / 64 * 64;
}

/* Claim      The naive forms take what reference/lisa.h says, Eq. 4 two arrays of
 *            N^2 numbers and so on: the tensors that the paper draws, beside q, k, v as
 *            projected (3 N C) and as one head's dense copies with y (4 N c).
 * Paper      LiSA, Table 1, memory.
 * Measure    Peak bytes against the sum of these arrays, each rounded up to 64
 *            bytes, and of the plan itself: the resolved problem and the state.
 * Tolerance  Zero. */
START_TEST(naive_forms_take_the_memory_they_state)
{
    static const struct { const char *grid; size_t N, c, D; } z[] = {
        {"64", 64, 4, 2}, {"8x9", 72, 8, 3}, {"3x4x5", 60, 3, 5},
    };
    for (size_t s = 0; s < COUNT(z); s++) {
        size_t N = z[s].N, c = z[s].c, D = z[s].D;
        size_t both = lines(N, N, D, 1) + lines(N, D, 1, 1) + lines(N, N, 1, 1);      /* Rb, a, kernel */
        size_t five = both + lines(N, N, D, 1) + lines(N, N, 1, 1);
        size_t seven = both + lines(N, N, c, D) + lines(N, N, c, 1);
        size_t ten = 2 * lines(N, c, D, 1), tensors[] = {2 * lines(N, N, 1, 1), five, seven, seven, ten, five, ten};
        size_t plan = (lisa.resolved + 63) / 64 * 64 + (operator_form(&lisa, "naive")->state + 63) / 64 * 64;
        double stated = (double)(tensors[_i] + lines(N, c, 3, 1) + 4 * lines(N, c, 1, 1) + plan);
        char what[40];
        snprintf(what, sizeof what, "Eq. %s on %s, bytes", equation_word[_i], z[s].grid);
        within(what, fabs(bytes(z[s].grid, equation_word[_i], c, D, "naive") - stated), 0);
    }
}
END_TEST

/* Reading    Self-attention and Eq. 4 hold N x N numbers, so that memory is O(N^2 +
 *            N C); for self-attention that is a property of the order of work, and
 *            not of the operator: by tiles it is O(N C).
 * Paper      LiSA, Table 1, rows 1 and 2, memory.
 * Measure    Peak bytes on 8 x 8 and 16 x 16 tokens, 1 channel.
 * Holds      Naive: more than 12 times; N^2 + 7 N at least would be 14.5 times. Tiled
 *            (msa's fast form): at most 5 times the bytes. */
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

/* Reading    Table 1 gives Eq. 5 the memory O(N C D).  It is so if T(e) laid out is
 *            taken for parameters, which the table leaves out.  Fig. 6 builds both
 *            RPE tensors [N,N,D]: allocated, that is O(N^2 D + N C D), and N C D alone
 *            is reached by not building them.
 * Paper      LiSA, Table 1, row 3, memory.
 * Measure    Peak bytes of Eq. 5 on 8 x 8 and 16 x 16, C = 4, D = 4.
 * Holds      Naive: four times the tokens, more than 14 times the bytes; fast, by
 *            spectra of the tables: no more than 5 times. */
START_TEST(table_1_forgets_the_rpe_tensors_of_eq5)
{
    double naive = bytes("16x16", "5", 4, 4, "naive") / bytes("8x8", "5", 4, 4, "naive");
    double fast = bytes("16x16", "5", 4, 4, "fast") / bytes("8x8", "5", 4, 4, "fast");
    printf("    four times the tokens: naive %.1f times the bytes, fast %.1f times\n", naive, fast);
    ck_assert(naive > 14);
    ck_assert(fast > 1 && fast <= 5);
}
END_TEST

/* Claim      The memory of LiSA is linear in N, of every form.
 * Paper      LiSA, Table 1, row 4: O(N C D).
 * Measure    Peak bytes on 8 x 8 and 16 x 16 tokens: at most 5 times (padding of
 *            rows and columns of spectra included).
 * Would it fail?  The naive form of Eq. 4, O(N^2), takes more than 14 times. */
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

int main(void)
{
    Suite *suite = suite_create("LiSA, counts");
    TCase *formulas = add_case(suite, "formulas");
    tcase_add_test(formulas, the_counter_counts);
    tcase_add_loop_test(formulas, naive_forms_multiply_as_their_formulas_say, 0, EQUATIONS * (int)COUNT(size));
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
    tcase_add_loop_test(memory, naive_forms_take_the_memory_they_state, 0, EQUATIONS);
    tcase_add_test(memory, quadratic_memory_is_a_matter_of_order);
    tcase_add_test(memory, table_1_forgets_the_rpe_tensors_of_eq5);
    tcase_add_test(memory, memory_of_lisa_is_linear_in_tokens);
    return run_suite(suite);
}
