/* test_msa.c -- self-attention: windows, shifted windows, ghost heads, position embeddings, batch and threads
 *
 * The exact field compiles this file as it is.  Sizes, golden vectors and costs stand in test_msa_golden.c. */

#include <stdio.h>
#include <string.h>
#include "msa_case.h"

static const char *const forms[] = {"naive", "fast"};

/* A changed token changes the outputs of its own window and keeps every bit of the others. */
START_TEST(windows_do_not_see_each_other)
{
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

/* y of the definition, in doubles: token j sees token i if both lie in one window of the plane rolled by -t, and both
 * or neither were carried round it along each axis; R by the offset on the grid.  One image, no biases. */
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

/* Liu et al., "Swin Transformer", 2021, Sec. 3.2, Fig. 4: every shift, against a loop over all pairs of tokens.  A
 * shift of 0 changes no bit; any other is another function.  Tolerance: that of two forms, for each of the two. */
static const struct { size_t H, W, s; } plane[] = {{6, 9, 3}, {4, 4, 4}, {10, 5, 5}, {1, 3, 1}, {7, 14, 7},
                                               {9, 9, 3}, {12, 6, 3}};
START_TEST(shifted_windows_by_coordinates)
{
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
            within(options, relative_difference(shifted, y, u.outputs), 2 * msa_tolerance(&u.problem));
            if (!shift) equal(shifted, not, u.outputs);
            else beyond("    than not shifted", relative_difference(shifted, not, u.outputs), 0.01);
        }
    }
}
END_TEST

/* Liu et al., 2021, Fig. 4: where no seam runs, to the bit.  Where one does, the mask makes a difference. */
START_TEST(shifted_windows_are_windows_of_a_rolled_plane)
{
    enum { H = 9, W = 12, s = 3, C = 8 };
    size_t shift = (size_t)_i;
    char options[80];
    snprintf(options, sizeof options, "--grid 9x12 --heads 2 --window 3 --shift %zu", shift);
    struct trial t = trial("--grid 9x12 --heads 2 --window 3", &msa, 1, C, "", "");
    struct trial u = trial(options, &msa, 1, C, "", "");
    size_t from[H * W];
    for (size_t n = 0; n < H * W; n++) from[n] = (n / W + shift) % H * W + (n % W + shift) % W;
    real *rolled = rows_in_order(u.x, from, H * W, C);
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *plain = trial_run_on(&t, forms[f], 1, rolled);
        real *shifted = rows_in_order(trial_run(&u, forms[f], 1), from, H * W, C);
        size_t apart = 0, seam = 0;
        for (size_t n = 0; n < H * W; n++) {
            bool same = !memcmp(plain + n * C, shifted + n * C, C * sizeof *plain);
            bool cut = n / W >= H - s || n % W >= W - s;
            ck_assert(same || cut);
            seam += cut;
            apart += cut && !same;
        }
        ck_assert_uint_eq(apart, seam);
    }
}
END_TEST

/* ELSA, Eq. 8 and App. C: by block it is plain self-attention; modulo, channel a + 3 n is channel 2 a + n of plain
 * self-attention whose value rows of w_qkv are so exchanged.  Tolerance: two forms, in units of the larger. */
START_TEST(a_ghost_head_of_zeros_leaves_the_weights)
{
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
        double tolerance = 2 * msa_tolerance(&plain.problem);
        within("by block", relative_difference(trial_run(&block, forms[f], 1), y, N * C), tolerance);
        within("modulo", relative_difference(back, y, N * C), tolerance);
        beyond("    not in order", relative_difference(order, y, N * C), 0.01);
        beyond("    with powers", relative_difference(trial_run(&powers, forms[f], 1), y, N * C), 0.01);
        beyond("    with sums", relative_difference(trial_run(&sums, forms[f], 1), y, N * C), 0.01);
    }
}
END_TEST

/* ELSA, Eq. 8: without ghost_mul, lambda = 0.  Options ask for the tensors; a file may bring them without options. */
START_TEST(ghost_heads_are_asked_for)
{
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

/* R with one column is that column repeated for every head, to the bit. */
START_TEST(one_embedding_serves_all_heads)
{
    enum { P = 7 * 9, C = 8 };
    static const struct { const char *name; size_t axes, size[3]; } given[] = {
        {"x", 3, {1, 20, C}}, {"w_qkv", 2, {3 * C, C}}, {"rpe", 2, {P, 2}},
    };
    struct trial t = trial("--grid 4x5 --heads 2", &msa, 1, C, "", "b_qkv w_o b_o"), u = t;
    struct tensor list[COUNT(given)] = {{0}};
    struct tensors file = {COUNT(given), list};
    for (size_t n = 0; n < COUNT(given); n++)
        succeeds(tensor_create(&list[n], given[n].name, (int)given[n].axes, given[n].size));
    memcpy(list[1].data, trial_tensor(&t, "w_qkv"), 3 * C * C * sizeof(real));
    for (size_t p = 0; p < P; p++) list[2].data[2 * p] = list[2].data[2 * p + 1] = trial_tensor(&t, "rpe")[p];
    succeeds(problem_create(&u.problem, &msa, 4, LIST(const char *, "--grid", "4x5", "--heads", "2")));
    succeeds(problem_bind(&u.problem, &file));
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(!memcmp(trial_run(&t, forms[f], 1), trial_run(&u, forms[f], 1), t.outputs * sizeof(real)));
    list[2].data[P] += 1;       /* of the second head */
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(memcmp(trial_run(&t, forms[f], 1), trial_run(&u, forms[f], 1), t.outputs * sizeof(real)));
    for (size_t n = 0; n < COUNT(given); n++) tensor_release(&list[n]);
}
END_TEST

/* To the bit: one thread and two; the later images when the first one changes. */
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

int main(void)
{
    Suite *suite = suite_create("msa");
    TCase *theorems = add_case(suite, "theorems");
    tcase_add_test(theorems, windows_do_not_see_each_other);
    tcase_add_loop_test(theorems, shifted_windows_by_coordinates, 0, (int)COUNT(plane));
    tcase_add_loop_test(theorems, shifted_windows_are_windows_of_a_rolled_plane, 1, 3);
    tcase_add_test(theorems, a_ghost_head_of_zeros_leaves_the_weights);
    tcase_add_test(theorems, ghost_heads_are_asked_for);
    tcase_add_test(theorems, one_embedding_serves_all_heads);
    tcase_add_test(theorems, threads_and_batch_change_nothing);
    return run_suite(suite);
}
