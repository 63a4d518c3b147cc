/* test_msa.c -- self-attention: windows, shifted windows, ghost heads, position embeddings
 *
 * Also compiled over the exact field.  Sizes, golden vectors and costs are in test_msa_golden.c. */

#include "msa_case.h"

static const char *const forms[] = {"naive", "plain", "fast"};

/* y by the definition, in wide_real.  Tokens i and j meet if they lie in one window of the plane rolled by -t, and on
 * each axis both or neither wrapped around.  R is indexed by the offset on the grid.  One image, no biases. */
static real *by_coordinates(struct fixture *t, size_t H, size_t W, size_t h, size_t s, size_t shift)
{
    size_t N = H * W, C = problem_size(&t->problem, "C"), c = C / h;
    real *qkv = zeros(N * 3 * C), *y = zeros(N * C);
    const real *rpe = fixture_tensor(t, "rpe");
    linear_map(qkv, 3 * C, t->x, C, fixture_tensor(t, "w_qkv"), NULL, N, C, 3 * C);
    for (size_t a = 0; a < h; a++)
        for (size_t i = 0; i < N; i++) {
            wide_real sum = 0, total[64] = {0};
            size_t yi = i / W, xi = i % W;
            for (size_t j = 0; j < N; j++) {
                size_t yj = j / W, xj = j % W;
                bool window = (yi + H - shift) % H / s == (yj + H - shift) % H / s
                           && (xi + W - shift) % W / s == (xj + W - shift) % W / s;
                bool same_side = (yi < shift) == (yj < shift) && (xi < shift) == (xj < shift);
                if (!window || !same_side) continue;
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

/* Liu et al., "Swin Transformer", 2021, Sec. 3.2, Fig. 4: every shift equals a loop over all pairs of tokens.  A shift
 * of 0 changes no bit; any other changes the result.  Tolerance: twice that of two forms. */
static const struct { size_t H, W, s; } plane[] = {{6, 9, 3}, {4, 4, 4}, {10, 5, 5}, {1, 3, 1}, {7, 14, 7},
                                               {9, 9, 3}, {12, 6, 3}};
TESTS(shifted_windows_by_coordinates, COUNT(plane))
{
    size_t H = plane[_i].H, W = plane[_i].W, s = plane[_i].s;
    char options[120], plain[80];
    snprintf(plain, sizeof plain, "--grid %zux%zu --heads 2 --window %zu", H, W, s);
    struct fixture t = fixture(plain, &msa, 1, 8, "", "b_qkv w_o b_o");
    for (size_t shift = 0; shift < s; shift++) {
        snprintf(options, sizeof options, "%s --shift %zu", plain, shift);
        struct fixture u = fixture(options, &msa, 1, 8, "", "b_qkv w_o b_o");
        real *y = by_coordinates(&u, H, W, 2, s, shift);
        for (size_t f = 0; f < COUNT(forms); f++) {
            real *shifted = fixture_run(&u, forms[f], 1), *not = fixture_run(&t, forms[f], 1);
            within(options, relative_difference(shifted, y, u.outputs), 2 * property_tolerance(&u.problem));
            if (!shift) equal(shifted, not, u.outputs);
            else beyond("    than not shifted", relative_difference(shifted, not, u.outputs), 0.01);
        }
    }
}

/* ELSA, Eq. 8 and App. C, with factors 1 and summands 0: head map block is plain self-attention.  With modulo, channel
 * a + 3 n is channel 2 a + n of plain self-attention, if the value rows of w_qkv are permuted in the same way.
 * Tolerance: twice that of two forms. */
TEST(a_ghost_head_of_zeros_leaves_the_weights)
{
    enum { N = 15, C = 6, h = 3 };
    struct fixture plain = fixture("--grid 3x5 --heads 3", &msa, 1, C, "", "b_qkv w_o");
    const char *by_block = "--grid 3x5 --heads 3 --lambda 0 --gamma 0 --head-map block", *without = "b_qkv w_o";
    struct fixture block = fixture(by_block, &msa, 1, C, "", without);
    struct fixture modulo = fixture("--grid 3x5 --heads 3 --lambda 0 --gamma 0", &msa, 1, C, "", without);
    struct fixture powers = fixture("--grid 3x5 --heads 3 --gamma 0 --head-map block", &msa, 1, C, "", without);
    struct fixture sums = fixture("--grid 3x5 --heads 3 --lambda 0 --head-map block", &msa, 1, C, "", without);
    real *w = fixture_tensor(&plain, "w_qkv"), *exchanged = fixture_tensor(&modulo, "w_qkv");
    for (size_t ch = 0; ch < C; ch++)
        memcpy(exchanged + (2 * C + ch) * C, w + (2 * C + ch % h * (C / h) + ch / h) * C, C * sizeof *w);
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *y = fixture_run(&plain, forms[f], 1), *order = fixture_run(&modulo, forms[f], 1), *back = zeros(N * C);
        for (size_t i = 0; i < N; i++)
            for (size_t ch = 0; ch < C; ch++) back[i * C + ch % h * (C / h) + ch / h] = order[i * C + ch];
        double tolerance = 2 * property_tolerance(&plain.problem);
        within("by block", relative_difference(fixture_run(&block, forms[f], 1), y, N * C), tolerance);
        within("modulo", relative_difference(back, y, N * C), tolerance);
        beyond("    not in order", relative_difference(order, y, N * C), 0.01);
        beyond("    with powers", relative_difference(fixture_run(&powers, forms[f], 1), y, N * C), 0.01);
        beyond("    with sums", relative_difference(fixture_run(&sums, forms[f], 1), y, N * C), 0.01);
    }
}

/* ELSA, Eq. 8: with lambda = 0, ghost_mul may be absent and has no effect.  Random parameters include the tensors only
 * if an option asks for them; a file may have them without options. */
TEST(ghost_heads_are_optional)
{
    struct fixture both = fixture("--grid 3x5 --heads 2 --lambda 0", &msa, 1, 4, "", "");
    struct fixture alone = fixture("--grid 3x5 --heads 2 --lambda 0", &msa, 1, 4, "", "ghost_mul");
    struct problem plain = shaped("--grid 3x5 --heads 2", &msa, 1, 4, "", "");
    struct problem asked = shaped("--grid 3x5 --heads 2 --head-map block", &msa, 1, 4, "", "");
    for (size_t f = 0; f < COUNT(forms); f++)
        equal(fixture_run(&both, forms[f], 1), fixture_run(&alone, forms[f], 1), both.outputs);
    ck_assert(!plain.tensor[problem_row(&plain, "ghost_add")].present);
    ck_assert(asked.tensor[problem_row(&asked, "ghost_mul")].present);
    ck_assert_uint_eq(problem_parameters(&asked) - problem_parameters(&plain), 2 * 4 * 5 * 9);

    struct tensors file = file_of("x 1x15x4 w_qkv 12x4 ghost_add 4x45 ghost_mul 4x45", "");
    succeeds(bound_to(&plain, "--grid 3x5", &msa, &file));
    ck_assert(problem_tensor(&plain, "ghost_mul") != NULL);
    file.count = 3;
    rejected(bound_to(&plain, "--grid 3x5", &msa, &file), STATUS_BAD_INPUT,
             "tensor ghost_add: found without ghost_mul");
}

/* R with one column gives the same bits as that column repeated for every head. */
TEST(one_embedding_serves_all_heads)
{
    enum { P = 7 * 9, C = 8 };
    struct fixture t = fixture("--grid 4x5 --heads 2", &msa, 1, C, "", "b_qkv w_o b_o"), u = t;
    struct tensors file = file_of("x 1x20x8 w_qkv 24x8 rpe 63x2", "");
    struct tensor *list = file.tensor;
    memcpy(list[1].data, fixture_tensor(&t, "w_qkv"), 3 * C * C * sizeof(real));
    for (size_t p = 0; p < P; p++) list[2].data[2 * p] = list[2].data[2 * p + 1] = fixture_tensor(&t, "rpe")[p];
    succeeds(bound_to(&u.problem, "--grid 4x5 --heads 2", &msa, &file));
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(!memcmp(fixture_run(&t, forms[f], 1), fixture_run(&u, forms[f], 1), t.outputs * sizeof(real)));
    list[2].data[P] += 1;       /* of the second head */
    for (size_t f = 0; f < COUNT(forms); f++)
        ck_assert(memcmp(fixture_run(&t, forms[f], 1), fixture_run(&u, forms[f], 1), t.outputs * sizeof(real)));
}

int main(void) { return run_tests("msa"); }
