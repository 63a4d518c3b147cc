/* test_msa.c -- self-attention as an operator: projections, heads, windows,
 * position embeddings, batch and threads around the hearts that
 * test_attention.c proves equal; shifted windows, and the ghost head */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "roundoff.h"
#include "support.h"
#include "trial.h"
#include "../reference/msa.h"

static const struct { const char *options; size_t batch, channels; const char *without; } size[] = {
    {"--grid 1", 1, 1, ""},
    {"--grid 7 --heads 3", 2, 6, ""},
    {"--grid 1x5 --heads 1", 1, 3, "rpe b_qkv"},
    {"--grid 13x7 --heads 2", 2, 34, ""},
    {"--grid 14x14 --heads 12", 1, 192, "w_o"},
    {"--grid 2x3x4 --heads 2 --scale 0.3", 3, 8, "b_o"},
    {"--grid 6x4 --heads 2 --window 2", 2, 8, ""},
    {"--grid 14x14 --heads 3 --window 7", 2, 96, "b_qkv w_o"},
    {"--grid 11x11 --window 11", 1, 5, "rpe"},
    {"--grid 22x11 --window 11 --heads 2", 1, 4, ""},
    {"--grid 4x4 --window 1", 1, 4, ""},
    {"--grid 20x20 --heads 2", 5, 8, "b_o"},
    {"--grid 21x21 --window 7 --heads 2", 5, 8, "w_o"},
    {"--grid 4x6 --window 2 --shift 0 --heads 2", 2, 8, ""},
    {"--grid 4x6 --window 2 --shift 1 --heads 2", 2, 8, ""},
    {"--grid 3x9 --window 3 --shift 1", 1, 5, "b_o"},
    {"--grid 9x3 --window 3 --shift 2 --heads 2", 3, 8, "rpe"},
    {"--grid 10x5 --window 5 --shift 1 --heads 2", 2, 34, ""},
    {"--grid 5x10 --window 5 --shift 2 --heads 2", 2, 34, "w_o b_qkv"},
    {"--grid 10x15 --window 5 --shift 3 --heads 3", 1, 18, ""},
    {"--grid 5x5 --window 5 --shift 4", 1, 3, "rpe b_o"},
    {"--grid 14x14 --heads 3 --window 7 --shift 3", 2, 96, ""},
    {"--grid 7x7 --heads 3 --window 7 --shift 3 --scale 0.2", 2, 24, ""},
    {"--grid 11x22 --window 11 --shift 5", 1, 16, ""},
    {"--grid 1 --lambda 1", 1, 1, ""},
    {"--grid 7 --heads 3 --lambda 2", 2, 6, ""},
    {"--grid 1x5 --lambda 1", 1, 3, "rpe b_qkv"},
    {"--grid 13x7 --heads 2 --gamma 0.25", 2, 34, ""},
    {"--grid 5x3 --heads 2 --lambda 0 --gamma -1.5 --head-map block", 2, 8, "ghost_mul w_o"},
    {"--grid 14x14 --heads 3 --head-map block", 1, 48, ""},
    {"--grid 2x3x4 --heads 2 --scale 0.3 --lambda -2", 3, 8, "b_o"},
    {"--grid 33 --heads 2 --lambda 1", 1, 66, "rpe"},
};

/* Tokens that one query meets. */
static double reach(const struct problem *p)
{
    struct msa_problem m;
    succeeds(msa.resolve(&m, p));
    return (double)m.windows.entries;
}

/* The tolerance of the first claim. */
static double tolerance_of(const struct trial *t)
{
    double c = (double)problem_size(&t->problem, "c"), n = reach(&t->problem);
    return 8 * (sqrt(c) + 2 * sqrt(n) + 10) * UNIT_ROUNDOFF;
}

/* Claim      The tiled form computes what the equation says, with heads, batch,
 *            windows, shifted or not, embeddings, biases and a ghost head, for one
 *            thread and two.
 * Paper      LiSA, Eq. 1-3; ELSA, App. C.
 * Measure    Largest |fast - naive| over the largest |naive|; root mean square of the
 *            error over that of y.
 * Tolerance  The latter: roundoff.h.  The former, probabilistic: 8 (sqrt c + 2 sqrt n
 *            + 10) u, n keys of a query.  Both forms start from the same projections.
 *            A score sums c products, its exponential turns an absolute error into a
 *            relative one of the weight, and n weights and n products are summed;
 *            rounding errors of a sum of n terms grow like sqrt(n) u (Higham and Mary, SIAM
 *            J. Sci. Comput. 41, 2019: beyond lambda sqrt(n) u with probability
 *            2 exp(-lambda^2/2), so lambda = 8 leaves nothing to chance); 10 for the
 *            exponential, the scale and the division.
 *            The output projection passes the error on as it passes the values.
 * Would it fail?  Seen with a scale that is 128 machine epsilons too large.  Values off
 *            by a thousandth are noticed. */
START_TEST(tiled_attention_is_the_equation_with_everything_around_it)
{
    struct trial t = trial(size[_i].options, &msa, size[_i].batch, size[_i].channels, "", size[_i].without);
    double tolerance = tolerance_of(&t);
    trial_holds(&t, size[_i].options, "fast", 1, tolerance);
    trial_holds(&t, size[_i].options, "fast", 2, tolerance);

    /* It would fail: the value rows of w_qkv a little larger. */
    real *w = trial_tensor(&t, "w_qkv");
    size_t values = problem_size(&t.problem, "C") * problem_size(&t.problem, "C");
    for (size_t i = 0; i < values; i++) w[2 * values + i] *= (real)1.001;
    beyond("values a thousandth larger", trial_difference(&t, "fast", 1), tolerance);
}
END_TEST

/* Claim      A window attends to itself alone: changing a token changes the
 *            outputs of its own window and no other's, in both forms.
 * Measure    Exactly: outputs of other windows are the same to the bit. */
START_TEST(windows_do_not_see_each_other)
{
    static const char *const forms[] = {"naive", "fast"};
    struct trial t = trial("--grid 6x6 --window 3 --heads 2", &msa, 1, 8, "", "");
    real *moved = copy(t.x, t.inputs);
    size_t token = 2 * 6 + 4;
    for (size_t c = 0; c < 8; c++) moved[token * 8 + c] += 1;
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *before = trial_run(&t, forms[f], 1), *after = trial_run_on(&t, forms[f], 1, moved);
        for (size_t n = 0; n < 36; n++) {
            bool same_window = n / 6 < 3 && n % 6 >= 3;
            bool same = !memcmp(before + n * 8, after + n * 8, 8 * sizeof(real));
            ck_assert_msg(same != same_window, "%s: token %zu", forms[f], n);
        }
    }
}
END_TEST

/* y of the definition, in doubles: token j sees token i where both lie in one window of
 * the plane rolled by -t, and both or neither were carried round it, row for row and column
 * for column; R by the offset on the grid.  One image, no biases. */
static real *by_coordinates(struct trial *t, size_t H, size_t W, size_t h, size_t s, size_t shift)
{
    size_t N = H * W, C = problem_size(&t->problem, "C"), c = C / h;
    real *qkv = zeros(N * 3 * C), *y = zeros(N * C);
    const real *rpe = trial_tensor(t, "rpe");
    linear_map(qkv, 3 * C, t->x, C, trial_tensor(t, "w_qkv"), NULL, N, C, 3 * C);
    for (size_t a = 0; a < h; a++)
        for (size_t i = 0; i < N; i++) {
            wide_real sum = 0, total[64] = {0};
            size_t yi = i / W, xi = i % W;
            for (size_t j = 0; j < N; j++) {
                size_t yj = j / W, xj = j % W;
                bool window = (yi + H - shift) % H / s == (yj + H - shift) % H / s
                           && (xi + W - shift) % W / s == (xj + W - shift) % W / s;
                bool carried = (yi < shift) == (yj < shift) && (xi < shift) == (xj < shift);
                if (!window || !carried) continue;
                wide_real dot = 0, weight;
                for (size_t n = a * c; n < (a + 1) * c; n++)
                    dot += (wide_real)qkv[i * 3 * C + n] * (wide_real)qkv[j * 3 * C + C + n];
                size_t offset = (yj + H - 1 - yi) * (2 * W - 1) + xj + W - 1 - xi;
                weight = exp(dot / sqrt((double)c) + (wide_real)rpe[offset]);
                sum += weight;
                for (size_t n = 0; n < c; n++) total[n] += weight * (wide_real)qkv[j * 3 * C + 2 * C + a * c + n];
            }
            for (size_t n = 0; n < c; n++) y[i * C + a * c + n] = (real)(total[n] / sum);
        }
    return y;
}

/* Claim      Shifted windows are what their definition says by coordinates, for every shift;
 *            a shift of 0 is no shift, to the bit, and every other is another function.
 * Paper      Liu et al., "Swin Transformer", 2021, Sec. 3.2 and Fig. 4.
 * Measure    y of each form against a loop over all pairs of tokens in doubles.
 * Tolerance  That of the first claim, for each of the two.
 * Would it fail?  Seen with the seam one token further, with sides that see each other, and
 *            with the embeddings of a side read as if it were a window. */
static const struct { size_t H, W, s; } plane[] = {{6, 9, 3}, {4, 4, 4}, {10, 5, 5}, {1, 3, 1}, {7, 14, 7},
                                               {9, 9, 3}, {12, 6, 3}};
START_TEST(shifted_windows_by_coordinates)
{
    static const char *const forms[] = {"naive", "fast"};
    size_t H = plane[_i].H, W = plane[_i].W, s = plane[_i].s;
    char options[120], plain[80];
    snprintf(plain, sizeof plain, "--grid %zux%zu --heads 2 --window %zu", H, W, s);
    struct trial t = trial(plain, &msa, 1, 8, "", "b_qkv w_o b_o");
    for (size_t shift = 0; shift < s; shift++) {
        snprintf(options, sizeof options, "%s --shift %zu", plain, shift);
        struct trial u = trial(options, &msa, 1, 8, "", "b_qkv w_o b_o");
        real *y = by_coordinates(&u, H, W, 2, s, shift);
        for (size_t f = 0; f < COUNT(forms); f++) {
            real *shifted = trial_run(&u, forms[f], 1), *not = trial_run(&t, forms[f], 1);
            within(options, relative_difference(shifted, y, u.outputs), 2 * tolerance_of(&u));
            if (!shift) equal(shifted, not, u.outputs);
            else beyond("    than not shifted", relative_difference(shifted, not, u.outputs), 0.01);
        }
    }
}
END_TEST

/* Claim      Shifted windows of a plane are the windows of the rolled plane, rolled back, to the
 *            bit where no seam runs; where one does they are not: there the mask is at work.
 * Paper      Liu et al., "Swin Transformer", 2021, Fig. 4.
 * Measure    9 x 12 tokens, windows of 3, shifts 1 and 2, both forms.
 * Would it fail?  Seen with a plane that was rolled the other way. */
START_TEST(shifted_windows_are_windows_of_a_rolled_plane)
{
    static const char *const forms[] = {"naive", "fast"};
    enum { H = 9, W = 12, s = 3, C = 8 };
    size_t shift = (size_t)_i;
    char options[80];
    snprintf(options, sizeof options, "--grid 9x12 --heads 2 --window 3 --shift %zu", shift);
    struct trial t = trial("--grid 9x12 --heads 2 --window 3", &msa, 1, C, "", "");
    struct trial u = trial(options, &msa, 1, C, "", "");
    real *rolled = zeros(t.inputs);
    for (size_t n = 0; n < H * W; n++)
        memcpy(rolled + n * C, u.x + ((n / W + shift) % H * W + (n % W + shift) % W) * C, C * sizeof *rolled);
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *plain = trial_run_on(&t, forms[f], 1, rolled), *shifted = trial_run(&u, forms[f], 1);
        size_t apart = 0, seam = 0;
        for (size_t n = 0; n < H * W; n++) {
            bool same = !memcmp(plain + n * C, shifted + ((n / W + shift) % H * W + (n % W + shift) % W) * C,
                                C * sizeof *plain);
            bool cut = n / W >= H - s || n % W >= W - s;
            ck_assert(same || cut);
            seam += cut;
            apart += cut && !same;
        }
        ck_assert_uint_eq(apart, seam);
    }
}
END_TEST

/* Claim      Pairs across the seam cost nothing in the fast form: along an axis of n tokens it makes
 *            n s - 2 t (s - t) pairs, and the naive form n s.  A ghost head costs half as much again as
 *            what it bends: 3 N^2 C.
 * Paper      The table of reference/msa.h.
 * Measure    Formulas against pairs counted token by token; the naive form's against its own
 *            multiplications.        Tolerance  Zero: whole numbers. */
static const struct { const char *options; size_t batch, channels, pairs, masked; } costs[] = {
    {"--grid 6x9 --heads 2 --window 3 --shift 1", 2, 8, (6 * 3 - 4) * (9 * 3 - 4), 18 * 27},
    {"--grid 5x5 --heads 1 --window 5 --shift 2", 1, 3, 13 * 13, 25 * 25},
    {"--grid 6x4 --heads 2 --window 2", 1, 4, 12 * 8, 12 * 8},
    {"--grid 3x5 --heads 2", 1, 4, 225, 225},
    {"--grid 2x7 --heads 2 --lambda 2", 2, 6, 196, 196},
    {"--grid 5 --heads 3 --lambda 0 --gamma 0.5", 1, 6, 25, 25},
};
START_TEST(self_attention_multiplies_as_its_formulas_say)
{
    struct trial t = trial(costs[_i].options, &msa, costs[_i].batch, costs[_i].channels, "", "");
    struct msa_problem m;
    succeeds(msa.resolve(&m, &t.problem));
    size_t pairs = 0;
    for (size_t i = 0; i < m.heads.N; i++)
        for (size_t j = 0; j < m.heads.N; j++) {
            size_t window = windows_of(&m.windows, i);
            pairs += window == windows_of(&m.windows, j)
                  && windows_side_of(&m.windows, window, windows_entry(&m.windows, i))
                     == windows_side_of(&m.windows, window, windows_entry(&m.windows, j));
        }
    ck_assert_uint_eq(pairs, costs[_i].pairs);
    double products = (m.ghost.add ? 3 : 2) * (double)m.heads.B * (double)m.heads.C;
    double scales = (double)m.heads.B * (double)m.heads.h * (double)costs[_i].masked;
    ck_assert(trial_hearts(&t, operator_form(&msa, "fast")) == products * (double)pairs);
    ck_assert(trial_hearts(&t, operator_form(&msa, "naive")) == products * (double)costs[_i].masked + scales);

    struct plan plan;
    real *y = zeros(t.outputs);
    succeeds(plan_create(&plan, &t.problem, counted_form(&msa), 1));
    multiplications();
    succeeds(plan_run(&plan, y, t.x));
    double counted = (double)multiplications();
    plan_release(&plan);
    ck_assert(counted == trial_hearts(&t, operator_form(&msa, "naive")));
    within(costs[_i].options, relative_difference(y, trial_run(&t, "naive", 1), t.outputs), tolerance_of(&t));
}
END_TEST

/* Claim      The naive form takes the memory it states: the map of all pairs, as much again for R, and with a ghost
 *            head h maps more and its two matrices; beside q, k, v and what it copies of a head.
 * Paper      The table of reference/msa.h.
 * Measure    Peak bytes against the formula: one and two heads, with and without R and a ghost head.
 * Tolerance  1 KiB: the plan, and blocks rounded up.
 * Would it fail?  Seen with the copies of value, output and map taken for a ghost head, too. */
START_TEST(naive_self_attention_takes_the_memory_it_states)
{
    const bool bias = _i & 1, ghost = _i & 2;
    const double N = 16 * 20, C = 8, h = 1 + _i / 4, c = C / h, P = 31 * 39;
    char options[64], without[64];
    snprintf(options, sizeof options, "--grid 16x20 --heads %d%s", 1 + _i / 4, ghost ? " --gamma 1" : "");
    snprintf(without, sizeof without, "w_o b_o%s", bias ? "" : " rpe");
    struct trial t = trial(options, &msa, 1, 8, "", without);
    double reals = 3 * N * C + (bias ? 2 : 1) * N * N + (ghost ? h * N * N + 2 * C * P + 2 * N * c : 4 * N * c);
    within(options, fabs(trial_peak(&t, operator_form(&msa, "naive")) - reals * sizeof(real)), 1024);
}
END_TEST

/* ---- the ghost head -------------------------------------------------------------- */

/* Claim      With lambda = 0 and gamma = 0 a ghost head leaves the weights: by block it is plain
 *            self-attention, modulo it is so for values and outputs in the order of the heads.
 * Paper      ELSA, Eq. 8 and App. C.
 * Measure    3 x 5 tokens, 3 heads of 2 channels; y against that of msa without the tensors. Channel a + 3 n of
 *            the first is channel 2 a + n of the second, whose value rows of w_qkv are so exchanged.
 * Tolerance  That of the first claim, twice in units of the larger.
 * Would it fail?  Seen with the two maps exchanged; each alone, lambda = 1 or gamma = 1, is beyond. */
START_TEST(a_ghost_head_of_zeros_leaves_the_weights)
{
    static const char *const forms[] = {"naive", "fast"};
    enum { N = 15, C = 6, h = 3 };
    struct trial plain = trial("--grid 3x5 --heads 3", &msa, 1, C, "", "b_qkv w_o");
    const char *by_block = "--grid 3x5 --heads 3 --lambda 0 --gamma 0 --head-map block", *without = "b_qkv w_o";
    struct trial block = trial(by_block, &msa, 1, C, "", without);
    struct trial modulo = trial("--grid 3x5 --heads 3 --lambda 0 --gamma 0", &msa, 1, C, "", without);
    struct trial powers = trial("--grid 3x5 --heads 3 --gamma 0 --head-map block", &msa, 1, C, "", without);
    struct trial sums = trial("--grid 3x5 --heads 3 --lambda 0 --head-map block", &msa, 1, C, "", without);
    real *w = trial_tensor(&plain, "w_qkv"), *exchanged = trial_tensor(&modulo, "w_qkv");
    for (size_t ch = 0; ch < C; ch++)
        memcpy(exchanged + (2 * C + ch) * C, w + (2 * C + ch % h * (C / h) + ch / h) * C, C * sizeof *w);
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *y = trial_run(&plain, forms[f], 1), *order = trial_run(&modulo, forms[f], 1), *back = zeros(N * C);
        for (size_t i = 0; i < N; i++)
            for (size_t ch = 0; ch < C; ch++) back[i * C + ch % h * (C / h) + ch / h] = order[i * C + ch];
        within("by block", relative_difference(trial_run(&block, forms[f], 1), y, N * C), 2 * tolerance_of(&plain));
        within("modulo", relative_difference(back, y, N * C), 2 * tolerance_of(&plain));
        beyond("    not in order", relative_difference(order, y, N * C), 0.01);
        beyond("    with powers", relative_difference(trial_run(&powers, forms[f], 1), y, N * C), 0.01);
        beyond("    with sums", relative_difference(trial_run(&sums, forms[f], 1), y, N * C), 0.01);
    }
}
END_TEST

/* Claim      ghost_add alone is what both are with lambda = 0; the tensors are there or not as the
 *            options ask, and a file may bring them without any option.
 * Paper      ELSA, Eq. 8; the rows "asked" of reference/operator.h.
 * Measure    y to the bit; which tensors are shaped. */
START_TEST(ghost_heads_are_asked_for)
{
    static const char *const forms[] = {"naive", "fast"};
    struct trial both = trial("--grid 3x5 --heads 2 --lambda 0", &msa, 1, 4, "", "");
    struct trial alone = trial("--grid 3x5 --heads 2 --lambda 0", &msa, 1, 4, "", "ghost_mul");
    struct problem plain = shaped("--grid 3x5 --heads 2", &msa, 1, 4, "", "");
    struct problem asked = shaped("--grid 3x5 --heads 2 --head-map block", &msa, 1, 4, "", "");
    for (size_t f = 0; f < COUNT(forms); f++)
        equal(trial_run(&both, forms[f], 1), trial_run(&alone, forms[f], 1), both.outputs);
    ck_assert(!plain.tensor[problem_row(&plain, "ghost_add")].present);
    ck_assert(asked.tensor[problem_row(&asked, "ghost_mul")].present);
    ck_assert_uint_eq(problem_parameters(&asked) - problem_parameters(&plain), 2 * 4 * 5 * 9);

    struct tensor list[4] = {{0}};
    struct tensors file = {4, list};
    static const struct { const char *name; size_t axes, size[3]; } given[] = {
        {"x", 3, {1, 15, 4}}, {"w_qkv", 2, {12, 4}}, {"ghost_add", 2, {4, 45}}, {"ghost_mul", 2, {4, 45}},
    };
    for (size_t n = 0; n < COUNT(given); n++)
        succeeds(tensor_create(&list[n], given[n].name, (int)given[n].axes, given[n].size));
    succeeds(problem_create(&plain, &msa, 2, LIST(const char *, "--grid", "3x5")));
    succeeds(problem_bind(&plain, &file));
    ck_assert(problem_tensor(&plain, "ghost_mul") != NULL);
    file.count = 3;
    succeeds(problem_create(&plain, &msa, 2, LIST(const char *, "--grid", "3x5")));
    refused(problem_bind(&plain, &file), STATUS_BAD_INPUT, "tensor ghost_add: found without ghost_mul");
    for (size_t n = 0; n < COUNT(given); n++) tensor_release(&list[n]);
}
END_TEST

/* Claim      A shift without windows, or no smaller than they are, is refused; so is a ghost head in
 *            windows, as option and as tensor, and a power without a value.
 * Measure    Status and message. */
static const struct { const char *options, *text; } wrong[] = {
    {"--grid 4x4 --shift 1", "option --shift: found without --window, expected windows to shift"},
    {"--grid 4x4 --shift 0", "option --shift: found without --window"},
    {"--grid 4x4 --window 2 --shift 2", "option --shift: found 2, expected less than the window's edge, 2"},
    {"--grid 6x4 --window 4 --shift 1", "option --window: found 4, expected a divisor of 6 and 4"},
    {"--grid 4x4 --window 2 --lambda 1", "option --lambda: found with --window, expected no ghost head in windows"},
    {"--grid 4x4 --window 2 --gamma 0", "option --gamma: found with --window"},
    {"--grid 4x4 --window 2 --head-map block", "option --head-map: found with --window"},
    {"--grid 4x4 --head-map head", "option --head-map: found 'head', expected one of modulo|block"},
};
START_TEST(shifts_and_ghost_heads_are_refused_where_they_say_nothing)
{
    struct problem p;
    for (size_t n = 0; n < COUNT(wrong); n++)
        refused(shaped_openly(&p, wrong[n].options, &msa, 1, 4, "", "", 1), STATUS_BAD_INPUT, wrong[n].text);

    struct tensor list[3] = {{0}};
    struct tensors file = {3, list};
    succeeds(tensor_create(&list[0], "x", 3, LIST(size_t, 1, 16, 4)));
    succeeds(tensor_create(&list[1], "w_qkv", 2, LIST(size_t, 12, 4)));
    succeeds(tensor_create(&list[2], "ghost_add", 2, LIST(size_t, 4, 49)));
    succeeds(problem_create(&p, &msa, 4, LIST(const char *, "--grid", "4x4", "--window", "2")));
    refused(problem_bind(&p, &file), STATUS_BAD_INPUT, "tensor ghost_add: not of this operator with these options");
    for (size_t n = 0; n < COUNT(list); n++) tensor_release(&list[n]);

    struct trial t = trial("--grid 3x3 --lambda 2", &msa, 1, 4, "", "");
    real *bases = trial_tensor(&t, "ghost_mul"), *block;
    ck_assert(bases[0] != 0);
    p = shaped("--grid 3x3 --lambda 0.5", &msa, 1, 4, "", "");
    refused(problem_draw(&p, 1, &block), STATUS_BAD_INPUT, "to the power 0.5, expected bases of at least 0");
    memory_free(block);
}
END_TEST

/* Claim      An embedding with one column is the same as that column repeated
 *            for every head. */
START_TEST(one_embedding_serves_all_heads)
{
    struct trial t = trial("--grid 4x5 --heads 2", &msa, 1, 8, "", "");
    size_t P = problem_size(&t.problem, "P");
    real *one = trial_tensor(&t, "rpe"), *both = zeros(2 * P), *x = zeros(t.inputs);
    struct tensor tensor[8] = {{.name = "x", .axes = 3, .size = {1, 20, 8}, .count = 160, .data = x}};
    struct tensors file = {1, tensor};
    for (size_t p = 0; p < P; p++) both[2 * p] = both[2 * p + 1] = one[p];
    for (int r = 1; msa.tensors[r].name; r++) {
        if (!t.problem.tensor[r].data) continue;
        struct tensor *to = &tensor[file.count++];
        bool embedding = !strcmp(msa.tensors[r].name, "rpe");
        *to = (struct tensor){.axes = t.problem.tensor[r].axes, .count = t.problem.tensor[r].count,
                              .data = t.problem.tensor[r].data};
        to->name = strcpy(keep(strlen(msa.tensors[r].name) + 1, 1), msa.tensors[r].name);
        memcpy(to->size, t.problem.tensor[r].size, sizeof to->size);
        if (embedding) {
            to->size[1] = 2;
            to->count = 2 * P;
            to->data = both;
        }
    }
    struct trial u = t;
    succeeds(problem_create(&u.problem, &msa, 4, LIST(const char *, "--grid", "4x5", "--heads", "2")));
    succeeds(problem_bind(&u.problem, &file));
    static const char *const forms[] = {"naive", "fast"};
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(!memcmp(trial_run(&t, forms[f], 1), trial_run(&u, forms[f], 1), t.outputs * sizeof(real)));
    both[P] += 1;
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(memcmp(trial_run(&t, forms[f], 1), trial_run(&u, forms[f], 1), t.outputs * sizeof(real)));
}
END_TEST

/* Claim      The result does not depend on the threads, nor on the other images
 *            of the batch. */
START_TEST(threads_and_batch_change_nothing)
{
    struct trial t = trial("--grid 13x9 --heads 2", &msa, 3, 16, "", "");
    real *one = trial_run(&t, "fast", 1), *two = trial_run(&t, "fast", 2);
    ck_assert(!memcmp(one, two, t.outputs * sizeof(real)));
    real *moved = copy(t.x, t.inputs);
    for (size_t i = 0; i < t.inputs / 3; i++) moved[i] = -moved[i];
    real *other = trial_run_on(&t, "fast", 2, moved);
    within("later images, when the first one changes",
           relative_difference(other + t.outputs / 3, one + t.outputs / 3, t.outputs / 3 * 2), 0);
}
END_TEST

/* Claim      The fast form's memory does not hold N x N: doubling the grid's edge
 *            multiplies its peak by about 4, the naive form's by about 16. */
START_TEST(tiles_need_no_square)
{
    static const char *const forms[] = {"naive", "fast"}, *const grids[] = {"--grid 16x16", "--grid 32x32"};
    double peak[2][2];
    for (size_t g = 0; g < 2; g++) {
        struct trial t = trial(grids[g], &msa, 1, 8, "", "rpe");
        for (size_t f = 0; f < 2; f++) peak[f][g] = trial_peak(&t, operator_form(&msa, forms[f]));
    }
    ck_assert_double_gt(peak[0][1] / peak[0][0], 12);
    ck_assert_double_lt(peak[1][1] / peak[1][0], 4.1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("msa");
    TCase *equal = add_case(suite, "two forms, one result");
    tcase_add_loop_test(equal, tiled_attention_is_the_equation_with_everything_around_it, 0, (int)COUNT(size));
    TCase *theorems = add_case(suite, "around the heart");
    tcase_add_test(theorems, windows_do_not_see_each_other);
    tcase_add_loop_test(theorems, shifted_windows_by_coordinates, 0, (int)COUNT(plane));
    tcase_add_loop_test(theorems, shifted_windows_are_windows_of_a_rolled_plane, 1, 3);
    tcase_add_loop_test(theorems, self_attention_multiplies_as_its_formulas_say, 0, (int)COUNT(costs));
    tcase_add_loop_test(theorems, naive_self_attention_takes_the_memory_it_states, 0, 8);
    tcase_add_test(theorems, a_ghost_head_of_zeros_leaves_the_weights);
    tcase_add_test(theorems, ghost_heads_are_asked_for);
    tcase_add_test(theorems, shifts_and_ghost_heads_are_refused_where_they_say_nothing);
    tcase_add_test(theorems, one_embedding_serves_all_heads);
    tcase_add_test(theorems, threads_and_batch_change_nothing);
    tcase_add_test(theorems, tiles_need_no_square);
    return run_suite(suite);
}
