/* test_elsa_counts.c -- what ELSA costs: counted, not estimated
 *
 * Multiplications are counted by compiling naive/ with a real that counts them
 * (counting.h), bytes by the allocator (memory.h).  Counts are whole numbers;
 * the tolerance is zero where none is given. */

#include "elsa_case.h"
#include "promises.h"
#include "../fast/lanes.h"

static const struct form *naive(void) { return operator_form(&elsa, "naive"); }
static const struct form *fast(void) { return operator_form(&elsa, "fast"); }

static const struct { const char *options; size_t batch, channels; const char *sizes, *without; } size[] = {
    {"--grid 1x1 --kernel 1", 1, 1, "", ""},
    {"--grid 4x5 --kernel 3 --heads 3", 2, 6, "", ""},
    {"--grid 3x7 --kernel 5 --heads 2 --dilation 2", 1, 4, "", "ghost_mul ghost_add w_o b_o"},
    {"--grid 4x3 --kernel 3 --heads 2 --equation 6", 1, 4, "", "b_qkv"},
    {"--grid 4x5 --kernel 3 --heads 2 --variant final", 2, 4, "Q=8", ""},
    {"--grid 4x5 --kernel 3 --heads 2 --variant final --group-width 2 --lambda 0", 2, 4, "Q=6", "ghost_mul"},
    {"--grid 4x5 --kernel 3 --heads 2 --equation 4", 2, 4, "", ""},
    {"--grid 5x6 --kernel 5 --heads 1 --equation 4 --dilation 2 --terms qk", 1, 3, "", ""},
    {"--grid 6x3 --kernel 3 --heads 2 --equation 4 --area window --terms qr+rk", 1, 4, "", ""},
};

/* Claim      The naive form's multiply-adds are those of its formula, Eq. 4, 6, 7 and the final
 *            variant; a ghost head adds C K^2 N.  (GELU and the norms are left out.)
 * Paper      ELSA, Sec. 5, "Its overhead is only"; the table of reference/elsa.h.
 * Measure    A whole run of the counted naive form against the formula; and its y against the
 *            ordinary one's, so that what was counted is what is meant. */
START_TEST(naive_elsa_multiplies_as_its_formula_says)
{
    struct trial t = trial(size[_i].options, &elsa, size[_i].batch, size[_i].channels, size[_i].sizes,
                           size[_i].without);
    real *y = zeros(t.outputs);
    struct plan plan;
    multiplications();
    succeeds(plan_create(&plan, &t.problem, counted_form(&elsa), 1));
    ck_assert_uint_eq(multiplications(), 0);
    succeeds(plan_run(&plan, y, t.x));
    double counted = (double)multiplications();
    plan_release(&plan);
    printf("    %-60s %10.0f multiplications\n", size[_i].options, counted);
    ck_assert(counted > 0 && counted == trial_hearts(&t, naive()));
    within("the counted form's y", relative_difference(y, trial_run(&t, "naive", 1), t.outputs),
           elsa_tolerance(&t.problem));
}
END_TEST

START_TEST(ghost_head_costs_a_product_for_each_channel_and_neighbour)
{
    struct trial with = trial("--grid 8x9 --kernel 5 --heads 3", &elsa, 1, 12, "", "");
    struct trial without = trial("--grid 8x9 --kernel 5 --heads 3", &elsa, 1, 12, "", "ghost_mul ghost_add");
    ck_assert(trial_hearts(&with, naive()) - trial_hearts(&without, naive()) == 12 * 25 * 72);
}
END_TEST

/* Claim      Hadamard attention has the third order without the dot product of query and key. Net7-N,
 *            which has it, makes the pairs one by one; and unfolded it holds K^2 keys for every token.
 * Paper      ELSA, Sec. 4.3 and 5.
 * Measure    Multiply-adds of Eq. 4 (all terms, neighbourhoods) and of Eq. 7 by the fast forms'
 *            formulas, 56 x 56 tokens, 96 channels, 3 heads, K = 7: what q.k adds is less than an eighth of Eq. 7;
 *            and the bytes of both forms of Eq. 7 on 14 x 14 tokens. */
START_TEST(hadamard_attention_saves_memory_rather_than_arithmetic)
{
    struct trial four = trial("--grid 56x56 --kernel 7 --heads 3 --equation 4", &elsa, 1, 96, "", "w_o b_o");
    struct trial seven = trial("--grid 56x56 --kernel 7 --heads 3", &elsa, 1, 96, "", "w_o b_o ghost_mul ghost_add");
    double ratio = trial_hearts(&four, fast()) / trial_hearts(&seven, fast());
    printf("    Net7-N multiplies %.2f times as often as Eq. 7\n", ratio);
    ck_assert(ratio > 1 && ratio < 1.125);

    struct trial small = trial("--grid 14x14 --kernel 7 --heads 3", &elsa, 1, 96, "", "w_o b_o");
    double unfolded = trial_peak(&small, naive()), not = trial_peak(&small, fast());
    printf("    Eq. 7 on 196 tokens: unfolded %.1f MiB, not unfolded %.2f MiB\n", unfolded / 1048576, not / 1048576);
    ck_assert(unfolded > 7 * not);
}
END_TEST

/* Bytes of arrays of so many reals or ints: whole lines of 64 bytes. */
static double lines(double bytes) { return ceil(bytes / 64) * 64; }
static double reals(double count) { return lines(count * sizeof(real)); }
static double ints(double count) { return lines(count * sizeof(int)); }

/* Claim      The naive form takes what it unfolds: z twice, its neighbourhoods, the attention, a filter,
 *            the filters of all channels and neighbourhoods of values, beside q, k, v as projected, dense
 *            copies of them and of f, the table of neighbours and the ghost matrices; Eq. 4 the map of
 *            one head, a filter, and tables of tokens and of offsets.
 * Paper      The table of reference/elsa.h.
 * Measure    Peak bytes against the formula, each array in lines of 64 bytes; the plan itself is the
 *            resolved problem and the form's state.
 * Tolerance  Zero. */
START_TEST(naive_elsa_takes_the_memory_it_states)
{
    const char *options = _i ? "--grid 6x7 --kernel 3 --heads 2 --equation 4" : "--grid 6x7 --kernel 3 --heads 2";
    struct trial t = trial(options, &elsa, 1, 8, "", "w_o b_o");
    double N = 6 * 7, C = 8, h = 2, n = 9;
    double expected = lines(lines(sizeof(struct elsa_problem)) + (double)naive()->state);

    expected += reals(3 * N * C) + 4 * reals(N * C) + reals(n) + ints(N * n);
    if (_i) expected += reals(N * N) + ints(N * n);
    else expected += 2 * reals(N * C) + 2 * reals(N * n * C) + reals(h * n * N) + reals(C * n * N) + 2 * reals(C * n);
    within(options, fabs(trial_peak(&t, naive()) - expected), 0);
}
END_TEST

/* Claim      Nothing unfolded: the fast form's memory grows with h K^2 for each token of the strips at hand, here of
 *            the only one, and not with C K^2.
 * Paper      ELSA, Sec. 4.3, "memory-consuming".
 * Measure    Peak bytes with K = 7 less those with K = 3, against 2 h (49 - 9) N logits, the maps of
 *            that size, two zeros more behind each row of the values, K masks, and of a chunk the
 *            attention, and where K rows of neighbours stand.
 * Tolerance  64 bytes for each of the six arrays, as they are rounded up.
 * Failure    The naive form's difference is more than C (49 - 9) N reals, twice over. */
START_TEST(fast_elsa_unfolds_nothing)
{
    struct trial seven = trial("--grid 16x16 --kernel 7 --heads 2", &elsa, 1, 32, "", "w_o b_o ghost_mul ghost_add");
    struct trial three = trial("--grid 16x16 --kernel 3 --heads 2", &elsa, 1, 32, "", "w_o b_o ghost_mul ghost_add");
    double logits = 2 * 2 * 40 * 256.0, maps = 2 * 2 * 40 * 32.0, padding = 32 * 16 * 4.0, masks = 4 * 16;
    double chunk = 40 * 4.0 * LANES, rows = 4.0 * sizeof(size_t);
    double more = trial_peak(&seven, fast()) - trial_peak(&three, fast());
    double expected = (logits + maps + padding + masks + chunk) * sizeof(real) + rows;
    within("fast, bytes", fabs(more - expected), 6 * 64);
    ck_assert(trial_peak(&seven, naive()) - trial_peak(&three, naive()) > 2 * 32 * 40 * 256.0 * sizeof(real));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ELSA, counts");
    TCase *arithmetic = add_case(suite, "arithmetic");
    tcase_add_loop_test(arithmetic, naive_elsa_multiplies_as_its_formula_says, 0, (int)COUNT(size));
    tcase_add_test(arithmetic, ghost_head_costs_a_product_for_each_channel_and_neighbour);
    TCase *memory = add_case(suite, "memory");
    tcase_add_test(memory, hadamard_attention_saves_memory_rather_than_arithmetic);
    tcase_add_loop_test(memory, naive_elsa_takes_the_memory_it_states, 0, 2);
    tcase_add_test(memory, fast_elsa_unfolds_nothing);
    return run_suite(suite);
}
