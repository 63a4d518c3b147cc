/* test_structsa_theorems.c -- identities of StructSA, its special cases, and properties of its kernels
 *
 * Tolerances: zero for integers, whose sums are exact; otherwise that of structsa_case.h. */

#include "structsa_case.h"
#include "../../reference/io/images.h"
#include "../../reference/runtime/steps.h"
#include "../../reference/io/tokens.h"

static const struct head_shape shapes[] = {
    {"7", "3", "1", 3, 2, 1, ""},      {"7", "3", "1", 3, 2, 3, ""},
    {"5x4", "3x3", "1", 4, 3, 1, ""},  {"5x4", "3x3", "1", 4, 3, 4, ""},
    {"6x5", "5x3", "2", 2, 4, 1, ""},  {"6x5", "5x3", "2", 2, 4, 2, ""},
    {"2x3x4", "3x3x3", "1", 3, 2, 1, ""}, {"2x3x4", "3x3x3", "1", 3, 2, 3, ""},
    {"4x4", "3x3", "1", 3, 3, 1, "1x1"},   {"9", "5", "3", 1, 1, 1, ""},
    {"3x5x4", "3x3x3", "1x2x2", 2, 2, 2, ""}, {"6x5", "3x3", "9x2", 3, 2, 1, "1x5"},
    {"5x4", "1x3", "1", 3, 3, 3, "3x3"},
};
#define SHAPES ((int)COUNT(shapes))

static wide_real dot(const real *a, const real *b, size_t n)
{
    wide_real sum = 0;
    for (size_t i = 0; i < n; i++) sum += (wide_real)a[i] * (wide_real)b[i];
    return sum;
}

/* ---- the identities -------------------------------------------------- */

/* StructSA, Eq. 2 equals 3, and 13 equals 15: conv(q_i K^T, U) = q_i conv(K, U), and per channel conv(diag(q_i) K, H) =
 * q_i (K * H). */
TESTS(convolving_the_map_is_convolving_the_keys, SHAPES)
{
    struct case_head h = integer_head(&shapes[_i]);
    size_t N = h.params.heads.N, c = h.params.heads.c, keys = h.params.J * h.params.D;
    real *scores = scores_of_map(&h), *key = virtual_tokens(&h, &h.keys, h.hk, h.k), *other = zeros(N * keys);
    for (size_t i = 0; i < N; i++)
        for (size_t t = 0; t < keys; t++) other[i * keys + t] = (real)dot(h.q + i * c, key + t * c, c);
    ck_assert(largest(scores, N * keys) > 4);
    equal(other, scores, N * keys);
}

/* StructSA, Eq. 5 and 16, rearranged: sum_jm (sum_d a_ijd h_dm) v_{j+m} = sum_jd a_ijd (sum_m h_dm v_{j+m}).  Integers
 * replace the weights of the softmax. */
TESTS(dynamic_kernels_equal_virtual_values, SHAPES)
{
    struct case_head h = integer_head(&shapes[_i]);
    size_t N = h.params.heads.N, c = h.params.heads.c, keys = h.params.J * h.params.D;
    real *weights = integers(6, N * keys, 2), *y = zeros(N * c);
    real *value = virtual_tokens(&h, &h.values, h.hv, h.v);
    memcpy(h.a, weights, N * keys * sizeof *weights);
    aggregate(&h);
    for (size_t i = 0; i < N; i++)
        for (size_t t = 0; t < keys; t++)
            for (size_t ch = 0; ch < c; ch++) y[i * c + ch] += weights[i * keys + t] * value[t * c + ch];
    ck_assert(largest(y, N * c) > 4);
    equal(h.y, y, N * c);
}

/* StructSA, Eq. 15: StructSA is softmax attention of N queries over J D virtual tokens. */
TESTS(structsa_is_attention_over_virtual_tokens, SHAPES)
{
    struct case_head h = normal_head(&shapes[_i]);
    size_t N = h.params.heads.N, c = h.params.heads.c, keys = h.params.J * h.params.D;
    const real *y = run_head(&h);
    real *attention = zeros(N * c), *a = zeros(N * keys);
    attention_naive(attention, a, h.q, virtual_tokens(&h, &h.keys, h.hk, h.k), virtual_tokens(&h, &h.values, h.hv, h.v),
                    NULL, 1, N, keys, c);
    within("attention over virtual tokens", relative_difference(attention, y, N * c), head_tolerance(&h));
    within("    and its weights", relative_difference(a, h.a, N * keys), head_tolerance(&h));
}

/* ---- special cases --------------------------------------------------- */

static void same_in_every_form(const struct fixture *one, const struct fixture *other)
{
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&structsa, f)); f++)
        equal(fixture_run(one, form->name, 1), fixture_run(other, form->name, 1), one->outputs);
}

/* StructSA, Eq. 1; Table 1a, D = 0: with windows of one token and one pattern, equal to 1, it is self-attention. */
TESTS(self_attention_is_one_token_and_one_pattern, 4)
{
    const struct head_shape s = {_i % 2 ? "4x5" : "7", _i % 2 ? "1x1" : "1", "1", 3, 1, _i < 2 ? 1 : 3, ""};
    struct case_head h = normal_head(&s);
    real *y = zeros(h.params.heads.N * h.params.heads.c), *a = zeros(h.params.heads.N * h.params.heads.N);
    h.hk = h.hv = filled(3, 1);
    attention_naive(y, a, h.q, h.k, h.v, NULL, 1, h.params.heads.N, h.params.heads.N, h.params.heads.c);
    within("y", relative_difference(run_head(&h), y, h.params.heads.N * h.params.heads.c), head_tolerance(&h));
}

/* StructSA, Tab. 1b, 1 x 1: y_i = sum_d uv_d p_id attention(uk_d q_i, k, v), where p_id is the share of pattern d in
 * the weights of query i. */
TEST(windows_of_one_token_mix_temperatures)
{
    const struct head_shape s = {"4x5", "1x1", "1", 3, 4, 1, ""};
    struct case_head h = normal_head(&s);
    const real *y = run_head(&h);
    real *sum = zeros(20 * 3), *hot = zeros(20 * 3), *part = zeros(20 * 3), *a = zeros(20 * 20);
    for (size_t d = 0; d < 4; d++) {
        for (size_t ic = 0; ic < 20 * 3; ic++) hot[ic] = h.hk[d] * h.q[ic];
        attention_naive(part, a, hot, h.k, h.v, NULL, 1, 20, 20, 3);
        for (size_t i = 0; i < 20; i++) {
            wide_real share = 0, all = 0;
            for (size_t j = 0; j < 20; j++)
                for (size_t e = 0; e < 4; e++) {
                    wide_real weight = exp((wide_real)h.hk[e] * dot(h.q + i * 3, h.k + j * 3, 3));
                    all += weight;
                    if (e == d) share += weight;
                }
            for (size_t ch = 0; ch < 3; ch++) sum[i * 3 + ch] += (real)(share / all) * h.hv[d] * part[i * 3 + ch];
        }
    }
    within("y", relative_difference(sum, y, 20 * 3), head_tolerance(&h));
}

/* StructSA, Eq. 8-10 and 18-20: with one pattern it is ConvSA, attention to keys and values from a depth-wise
 * convolution. */
TESTS(convsa_is_one_pattern, 2)
{
    const struct head_shape s = {"5x4", "3x3", "1", 4, 1, _i ? 4 : 1, ""};
    struct case_head h = normal_head(&s);
    const real *y = run_head(&h), *hk = h.hk, *hv = h.hv;
    for (int reversed = 0; reversed < 2; reversed++) {
        real *k = virtual_tokens(&h, &h.keys, hk, h.k), *v = virtual_tokens(&h, &h.values, hv, h.v), *conv = zeros(80);
        attention_naive(conv, zeros(20 * 20), h.q, k, v, NULL, 1, 20, 20, 4);
        if (reversed) beyond("    with reversed kernels", relative_difference(conv, y, 80), head_tolerance(&h));
        else within("ConvSA", relative_difference(conv, y, 80), head_tolerance(&h));
        hk = rows_reversed(hk, 9, h.params.columns);
        hv = rows_reversed(hv, 9, h.params.columns);
    }
}

/* StructSA, Eq. 4 and 5; Tab. 1c, 6b: Eq. 4 is Eq. 5 with --value-kernel 1x1.  Exact: the sums are the same. */
TESTS(an_element_is_a_window_of_one_token, 2)
{
    const char *options = _i ? "--grid 4x5 --kernel 3x3 --stride 2x1 --heads 2" : "--grid 4x5 --kernel 3x3 --heads 2";
    char by_eq5[96], by_eq4[96];
    snprintf(by_eq4, sizeof by_eq4, "%s --equation 4", options);
    snprintf(by_eq5, sizeof by_eq5, "%s --equation 5 --value-kernel 1x1", options);
    struct fixture four = fixture(by_eq4, &structsa, 2, 6, "D=3", "");
    struct fixture five = fixture(by_eq5, &structsa, 2, 6, "D=3", "");
    fixture_take(&five, &four, "w_qkv b_qkv uk uv w_o b_o");
    same_in_every_form(&five, &four);
}

/* StructSA, Sec. A.1: if all channels share the filters, Eq. 16 is Eq. 5.  Exact: integer scores, then the same
 * operations. */
TEST(shared_filters_make_eq16_eq5)
{
    const struct head_shape shared = {"5x4", "3x3", "1", 4, 3, 1, ""}, own = {"5x4", "3x3", "1", 4, 3, 4, ""};
    struct case_head eq5 = integer_head(&shared), eq16 = integer_head(&own);
    real *hk = zeros(3 * 9 * 4), *hv = zeros(3 * 9 * 4);
    for (size_t i = 0; i < 3 * 9 * 4; i++) {
        hk[i] = eq5.hk[i / 4];
        hv[i] = eq5.hv[i / 4];
    }
    eq16.hk = hk;
    eq16.hv = hv;
    equal(run_head(&eq16), run_head(&eq5), eq5.params.heads.N * eq5.params.heads.c);
}

/* StructSA, Eq. 6-9 and Sec. 3.3: a dense convolution with W_m = u_m w is a point-wise map followed by a channel-wise
 * convolution. */
TESTS(separable_convolution_is_a_case_of_the_dense_one, 2)
{
    const struct head_shape s = {"5x4", "3x3", "1", 4, 1, 1, ""};
    struct case_head h = empty_head(&s);
    real *x = integers(1, 20 * 3, 2), *w = integers(2, 3 * 4, 2), *u = integers(3, 9, 2);
    real *W = zeros(9 * 3 * 4), *windows = zeros(20 * 9 * 3);
    for (size_t mce = 0; mce < 9 * 12; mce++) W[mce] = u[mce / 12] * w[mce % 12] + (_i && mce / 12 == 4);
    structsa_naive_unfold(windows, x, 3, &h.keys);
    real *dense = matrix_product(windows, W, 20, 9 * 3, 4);
    real *separable = virtual_tokens(&h, &h.keys, u, matrix_product(x, w, 20, 3, 4));
    if (_i) unequal(dense, separable, 20 * 4);
    else equal(dense, separable, 20 * 4);
}

/* Filters [D][3 x 3][E], zero-padded to [D][5 x 5][E]. */
static real *widened(const real *filters, size_t D, size_t E)
{
    real *wide = zeros(D * 25 * E);
    for (size_t dm = 0; dm < D * 9; dm++) {
        size_t row = dm % 9 / 3 + 1, column = dm % 3 + 1;
        memcpy(wide + (dm / 9 * 25 + row * 5 + column) * E, filters + dm * E, E * sizeof *wide);
    }
    return wide;
}

/* StructSA, Tab. 6b: windows of two sizes equal one size with the smaller filters zero-padded, in every form. */
TESTS(a_value_kernel_is_a_larger_one_with_zeros_around, 2)
{
    struct fixture own = fixture(_i ? "--grid 7x6 --kernel 3x3 --heads 2 --stride 1x2 --value-kernel 5x5"
                             : "--grid 7x6 --kernel 5x5 --heads 2 --stride 1x2 --value-kernel 3x3", &structsa, 2, 6,
                             "D=2", "");
    struct fixture wide = fixture("--grid 7x6 --kernel 5x5 --heads 2 --stride 1x2", &structsa, 2, 6, "D=2", "");
    const char *small = _i ? "hk" : "hv";
    fixture_take(&wide, &own, _i ? "w_qkv b_qkv hv w_o b_o" : "w_qkv b_qkv hk w_o b_o");
    fixture_put(&wide, small, widened(fixture_tensor(&own, small), 2, 6));
    real *y = fixture_run(&wide, "naive", 1);
    forms_within(&own, y, 2 * property_tolerance(&wide.problem));
    fixture_tensor(&wide, small)[0] = 1;
    beyond("    padded with a 1", relative_difference(fixture_run(&wide, "naive", 1), y, wide.outputs), 0.01);
}

/* ---- one softmax ----------------------------------------------------- */

/* StructSA, Eq. 2 and 3: the J D weights of a query sum to 1, the D weights of one key do not.  Tolerance: J D positive
 * terms, 8 sqrt(J D) u. */
TESTS(weights_sum_to_one_over_all_patterns, SHAPES)
{
    struct case_head h = normal_head(&shapes[_i]);
    size_t keys = h.params.J * h.params.D;
    (void)run_head(&h);
    for (size_t i = 0; i < h.params.heads.N; i++) {
        double sum = 0, own = 0;
        for (size_t t = 0; t < keys; t++) {
            ck_assert(h.a[i * keys + t] > 0);
            sum += (double)h.a[i * keys + t];
            if (t < h.params.D) own += (double)h.a[i * keys + t];
        }
        ck_assert(fabs(sum - 1) <= 8 * sqrt((double)keys) * UNIT_ROUNDOFF);
        ck_assert(own < 0.999);
    }
}

/* StructSA, below Eq. 2: a_ijd = p_id softmax_j(s_ijd); D separate softmaxes would have p_id = 1/D.  On 196 tokens of
 * images a share exceeds 1/D by more than half, with random detectors and with four times these. */
TESTS(one_softmax_is_not_many, 2)
{
    const struct head_shape s = {"14x14", "3x3", "1", 16, 4, 1, ""};
    struct case_head h = normal_head(&s);
    struct token_source source = {0};
    char origin[160];
    grid g;
    real *x = zeros(196 * 16), *hk = copy(h.hk, 4 * 9);
    succeeds(grid_parse(&g, "14x14"));
    succeeds(tokens_make(x, 1, &g, 16, &source, origin, sizeof origin));
    for (size_t i = 0; i < 4 * 9; i++) hk[i] *= _i ? 4 : 1;
    h.q = h.k = h.v = x;
    h.hk = hk;
    (void)run_head(&h);
    real *scores = scores_of_map(&h), *product = zeros(196 * 784), *column = zeros(196);
    double most = 0, squares = 0, elsewhere = 0;
    for (size_t i = 0; i < 196; i++)
        for (size_t d = 0; d < 4; d++) {
            wide_real share = 0;
            for (size_t j = 0; j < 196; j++) {
                column[j] = scores[(i * 196 + j) * 4 + d];
                share += (wide_real)h.a[(i * 196 + j) * 4 + d];
            }
            softmax(column, 196);
            for (size_t j = 0; j < 196; j++) product[(i * 196 + j) * 4 + d] = (real)(share * (wide_real)column[j]);
            most = fmax(most, (double)share);
            squares += (double)share * (double)share / 196;
            elsewhere += fabs((double)share - 0.25) / 2 / 196;
        }
    printf("    %s: the largest share is %.3f; as uneven as %.1f equal patterns; %.0f %% of the weight elsewhere\n",
           origin, most, 1 / squares, 100 * elsewhere);
    within("a = share x softmax", relative_difference(h.a, product, 196 * 784),
           structsa_tolerance(9, 9, 16, 784, largest(scores, 196 * 784) / 2));
    if (images_there("the shares of images in one_softmax_is_not_many"))
        beyond("    the largest share", most, 0.375);
}

/* ---- dynamic kernels ------------------------------------------------- */

/* StructSA, Sec. 3.3, "Limitation": the kernels kappa_ij of a query have rank min(D, |M|) over j, 1 for ConvSA.
 * Tolerance: kernels are rounded to u; pivots of at most 1e3 u of the largest entry count as 0. */
TESTS(rank_of_dynamic_kernels_is_the_number_of_patterns, 6)
{
    static const size_t patterns[] = {1, 2, 4, 8, 9, 12};
    size_t D = patterns[_i];
    const struct head_shape s = {"7x9", "3x3", "1", 8, D, 1, ""};
    struct case_head h = normal_head(&s);
    (void)run_head(&h);
    for (size_t i = 0; i < h.params.heads.N; i++) {
        kernels_of(&h, i);
        size_t rank = matrix_rank(h.kernels, 63, 9, 1e3 * UNIT_ROUNDOFF * largest(h.kernels, 63 * 9));
        ck_assert_uint_eq(rank, D < 9 ? D : 9);

        for (size_t jm = 0; D == 1 && jm < 63 * 9; jm++)
            ck_assert(h.kernels[jm] == h.a[i * 63 + jm / 9] * h.hv[jm % 9]);
    }
}

/* StructSA, Eq. 21, corrected as in eq21_reads_kernels_reversed: y_i = sum_n c_in v_n. */
TESTS(merged_kernels_reproduce_the_output, SHAPES)
{
    struct case_head h = normal_head(&shapes[_i]);
    size_t N = h.params.heads.N, c = h.params.heads.c, E = h.params.columns;
    real *merged = zeros(N * E), *y = zeros(N * c);
    (void)run_head(&h);
    for (size_t i = 0; i < N; i++) {
        kernels_of(&h, i);
        structsa_naive_merge(merged, h.kernels, &h.values, &h.params);
        for (size_t n = 0; n < N; n++)
            for (size_t ch = 0; ch < c; ch++) y[i * c + ch] += merged[n * E + (E == 1 ? 0 : ch)] * h.v[n * c + ch];
    }
    within("y from merged kernels", relative_difference(y, h.y, N * c), head_tolerance(&h));
}

/* StructSA, Eq. 5: V_j is the window of key j, so every value reaches every output. */
TEST(eq5_gathers_around_the_key)
{
    const struct head_shape s = {"9", "3", "1", 2, 2, 1, ""};
    struct case_head h = normal_head(&s);
    real *y = zeros(18), *far = copy(h.v, 18);
    (void)run_head(&h);
    for (size_t i = 0; i < 9; i++) {
        kernels_of(&h, i);
        for (size_t j = 0; j < 9; j++)
            for (size_t m = 0; m < 3; m++)
                for (size_t ch = 0; ch < 2; ch++)
                    y[i * 2 + ch] += h.kernels[j * 3 + m] * h.contexts[(i * 3 + m) * 2 + ch];
    }
    beyond("V_i of the query", relative_difference(y, h.y, 18), 0.1);

    real *before = copy(h.y, 18);
    far[8 * 2] += 1;
    h.v = far;
    (void)run_head(&h);
    for (size_t i = 0; i < 9; i++) ck_assert(h.y[i * 2] != before[i * 2]);
}

/* ---- positions ------------------------------------------------------- */

/* A 9 x 9 grid of zeros with an object of 2 x 2 tokens, its corner at (r, c). */
static real *object_at(size_t r, size_t c, uint64_t seed)
{
    real *rows = zeros(81 * 3), *object = normal(seed, 4 * 3);
    for (size_t p = 0; p < 4; p++)
        memcpy(rows + ((r + p / 2) * 9 + c + p % 2) * 3, object + p * 3, 3 * sizeof *rows);
    return rows;
}

/* StructSA, Sec. 3.1: an object on an empty background gives the same y wherever all windows that touch it have centres
 * on the grid.  Empty tokens have keys of zero, like those off the grid.  In the corner, centres are missing. */
TESTS(output_follows_an_object_away_from_borders, 2)
{
    const struct head_shape s = {"9x9", "3x3", "1", 3, 3, _i ? 3 : 1, ""};
    static const size_t place[4][2] = {{2, 2}, {5, 4}, {1, 1}, {0, 0}};
    real *seen[4];
    struct case_head h;
    for (size_t p = 0; p < 4; p++) {
        h = normal_head(&s);
        h.q = object_at(place[p][0], place[p][1], 11);
        h.k = object_at(place[p][0], place[p][1], 12);
        h.v = object_at(place[p][0], place[p][1], 13);
        (void)run_head(&h);
        seen[p] = zeros(4 * 3);
        for (size_t t = 0; t < 4; t++)
            memcpy(seen[p] + t * 3, h.y + ((place[p][0] + t / 2) * 9 + place[p][1] + t % 2) * 3, 3 * sizeof(real));
    }
    within("three rows down, two columns right", relative_difference(seen[1], seen[0], 12), head_tolerance(&h));
    within("half a window from the border", relative_difference(seen[2], seen[0], 12), head_tolerance(&h));
    beyond("    in the corner", relative_difference(seen[3], seen[0], 12), 0.01);
}

/* StructSA, Eq. 3: keys off the grid are zero, and their scores take part.  With equal tokens a score is proportional
 * to the number of tokens in its window, so positive queries attend least to corners, negative ones most. */
TESTS(border_is_visible_on_a_uniform_image, 2)
{
    const struct head_shape s = {"4x5", "3x3", "1", 2, 1, _i ? 2 : 1, ""};
    struct case_head h = empty_head(&s);
    real *q = filled(20 * 2, 1);
    for (size_t n = 10 * 2; n < 20 * 2; n++) q[n] = -1;
    h.q = q, h.k = h.v = h.hk = h.hv = filled(20 * 2, 1);
    real *scores = scores_of_map(&h);
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 20; j++) {
            size_t rows = j / 5 % 3 ? 3 : 2, columns = j % 5 % 4 ? 3 : 2;
            ck_assert((double)scores[i * 20 + j] == (double)q[i * 2] * 2 * (double)(rows * columns));
        }
    (void)run_head(&h);
    const real *positive = h.a, *negative = h.a + 19 * 20;
    ck_assert(positive[0] < positive[1] && positive[1] < positive[6]);
    ck_assert(negative[0] > negative[1] && negative[1] > negative[6]);
}

/* StructSA, Sec. 3.1 and 3.2: y depends on the order of tokens for windows of 3 x 3, not for windows of one token. */
TESTS(windows_see_the_order_of_tokens, 4)
{
    const struct head_shape s = {"4x5", _i < 2 ? "1x1" : "3x3", "1", 3, 3, _i % 2 ? 3 : 1, ""};
    struct case_head h = normal_head(&s), reversed = normal_head(&s);
    reverse_tokens(&reversed);
    real *y = rows_reversed(run_head(&h), 20, 3);
    if (_i < 2) within("windows of one token", relative_difference(run_head(&reversed), y, 60), head_tolerance(&h));
    else beyond("windows of 3 x 3", relative_difference(run_head(&reversed), y, 60), 0.01);
}

/* StructSA, Sec. 4.3.1; Tab. 4 and 5a: only centres whose coordinates are multiples of the strides remain.  Their
 * weights are those of stride 1, normalised again. */
static const struct { const char *text; size_t step[3], J; } strides[] = {
    {"2", {2, 2, 2}, 18}, {"1x2x2", {1, 2, 2}, 36}, {"2x1x3", {2, 1, 3}, 20}, {"9x4x1", {9, 4, 1}, 12},
};
TESTS(stride_removes_centres, COUNT(strides))
{
    const struct head_shape every = {"4x5x6", "3x3x3", "1", 3, 2, 3, ""};
    const struct head_shape some = {"4x5x6", "3x3x3", strides[_i].text, 3, 2, 3, ""};
    const size_t *step = strides[_i].step;
    struct case_head h = normal_head(&every), coarse = normal_head(&some);
    (void)run_head(&h);
    (void)run_head(&coarse);
    ck_assert_uint_eq(coarse.params.J, strides[_i].J);
    real *a = zeros(120 * coarse.params.J * 2), *to = a;
    for (size_t i = 0; i < 120; i++, to += coarse.params.J * 2) {
        size_t t = 0;
        wide_real sum = 0;
        for (size_t j = 0; j < 120; j++) {
            if (j / 30 % step[0] || j / 6 % 5 % step[1] || j % 6 % step[2]) continue;
            for (size_t d = 0; d < 2; d++, t++) sum += (wide_real)(to[t] = h.a[(i * 120 + j) * 2 + d]);
        }
        ck_assert_uint_eq(t, coarse.params.J * 2);
        while (t-- > 0) to[t] = (real)((wide_real)to[t] / sum);
    }
    within(strides[_i].text, relative_difference(coarse.a, a, 120 * coarse.params.J * 2), head_tolerance(&h));
}

/* --stride 2 is 2x2x2.  A stride that leaves one centre on an axis equals any longer one. */
TESTS(one_stride_applies_to_all_axes, 2)
{
    static const char *const pair[][2] = {{"2", "2x2x2"}, {"1x5x2", "1x9x2"}};
    struct fixture t[2];
    for (int n = 0; n < 2; n++) {
        char options[80];
        snprintf(options, sizeof options, "--grid 3x5x4 --kernel 3x3x3 --heads 2 --stride %s", pair[_i][n]);
        t[n] = fixture(options, &structsa, 1, 6, "D=3", "");
    }
    same_in_every_form(&t[0], &t[1]);
}

/* ---- patterns, heads, scales ----------------------------------------- */

/* StructSA, Eq. 5, 16: reversing the patterns, or giving each twice, does not change y.  Tolerance: that of twice as
 * many entries. */
TESTS(order_and_copies_of_patterns_have_no_effect, 2)
{
    const struct head_shape s = {"5x4", "3x3", "1", 4, 3, _i ? 4 : 1, ""};
    const struct head_shape twice = {"5x4", "3x3", "1", 4, 6, _i ? 4 : 1, ""};
    struct case_head h = normal_head(&s), reversed = normal_head(&s), doubled = normal_head(&twice);
    static const size_t each_twice[] = {0, 0, 1, 1, 2, 2};
    size_t t = taps(&h);
    reversed.hk = rows_reversed(h.hk, 3, t), doubled.hk = rows_in_order(h.hk, each_twice, 6, t);
    reversed.hv = rows_reversed(h.hv, 3, t), doubled.hv = rows_in_order(h.hv, each_twice, 6, t);
    (void)run_head(&h);
    within("in reverse order", relative_difference(run_head(&reversed), h.y, 80), head_tolerance(&doubled));
    within("each twice", relative_difference(run_head(&doubled), h.y, 80), head_tolerance(&doubled));
}

/* StructSA, Eq. 3: a detector of zeros has the same weight at every key; its share depends on the query.  Exact: the
 * same exponential over the same sum. */
TESTS(a_detector_of_zeros_weighs_all_keys_equally, 2)
{
    const struct head_shape s = {"5x4", "3x3", "1", 4, 3, _i ? 4 : 1, ""};
    struct case_head h = normal_head(&s);
    size_t t = taps(&h);
    real *hk = copy(h.hk, 3 * t);
    double least = 1, most = 0;
    memset(hk + t, 0, t * sizeof *hk);
    h.hk = hk;
    (void)run_head(&h);
    for (size_t i = 0; i < 20; i++) {
        const real *a_i = h.a + i * 20 * 3;
        for (size_t j = 1; j < 20; j++) ck_assert(a_i[j * 3 + 1] == a_i[1]);
        for (size_t d = 0; d < 3; d += 2) ck_assert(a_i[3 + d] != a_i[d]);
        least = fmin(least, 20 * (double)a_i[1]);
        most = fmax(most, 20 * (double)a_i[1]);
    }
    ck_assert(most - least > 0.02);
}

/* --scale 2 equals a doubled query, which does not round.  The paper has no scale: Eq. 2 has no 1/sqrt(C). */
TEST(scale_multiplies_the_scores)
{
    struct fixture scaled = fixture("--grid 5x4 --kernel 3x3 --heads 2 --scale 2", &structsa, 1, 8, "D=3", "");
    struct fixture doubled = fixture("--grid 5x4 --kernel 3x3 --heads 2 --scale 1", &structsa, 1, 8, "D=3", "");
    struct fixture halved = fixture("--grid 5x4 --kernel 3x3 --heads 2 --scale 0.5", &structsa, 1, 8, "D=3", "");
    for (size_t n = 0; n < 8 * 8; n++) fixture_tensor(&doubled, "w_qkv")[n] *= 2;
    for (size_t n = 0; n < 8; n++) fixture_tensor(&doubled, "b_qkv")[n] *= 2;
    same_in_every_form(&scaled, &doubled);
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&structsa, f)); f++)
        unequal(fixture_run(&halved, form->name, 1), fixture_run(&scaled, form->name, 1), 20 * 8);
}

/* StructSA, Sec. 4.3.1, "do not share weights across channels": in Eq. 16 each head has its slice of the filters; in
 * Eq. 5 all heads share them. */
TESTS(heads_have_their_own_filters_in_eq16, 2)
{
    const char *options = _i ? "--grid 5x4 --kernel 3x3 --heads 2 --equation 5" : "--grid 5x4 --kernel 3x3 --heads 2";
    struct fixture t = fixture(options, &structsa, 1, 8, "D=3", "w_o b_o");
    for (int f = 0; operator_form_at(&structsa, f); f++) {
        const char *form = operator_form_at(&structsa, f)->name;
        real *y = fixture_run(&t, form, 1), *h = fixture_tensor(&t, _i ? "uk" : "hk");
        h[_i ? 4 : 4 * 8 + 7] += 1;                 /* Eq. 16: pattern 0, middle entry, channel 7 */
        real *other = fixture_run(&t, form, 1);
        h[_i ? 4 : 4 * 8 + 7] -= 1;
        for (size_t n = 0; n < 20; n++) {
            if (_i) unequal(y + n * 8, other + n * 8, 4);
            else equal(y + n * 8, other + n * 8, 4);
            unequal(y + n * 8 + 4, other + n * 8 + 4, 4);
        }
    }
}

int main(void) { return run_tests("StructSA, theorems"); }
