/* test_structsa_theorems.c -- what StructSA promises, whoever computes it
 *
 * The identities that the chapter is built on, its relatives, and what its
 * kernels can and cannot be.  Where only the order of exact sums changes the
 * numbers are whole and the tolerance is zero. */

#include <stdlib.h>
#include "structsa_case.h"
#include "../reference/instruments/images.h"
#include "../reference/steps.h"
#include "../reference/instruments/tokens.h"

/* Dot-product and channel-wise, on lines, planes and blocks, with strides, with windows of two sizes. */
static const struct subject subjects[] = {
    {"7", "3", "1", 3, 2, 1, ""},      {"7", "3", "1", 3, 2, 3, ""},
    {"5x4", "3x3", "1", 4, 3, 1, ""},  {"5x4", "3x3", "1", 4, 3, 4, ""},
    {"6x5", "5x3", "2", 2, 4, 1, ""},  {"6x5", "5x3", "2", 2, 4, 2, ""},
    {"2x3x4", "3x3x3", "1", 3, 2, 1, ""}, {"2x3x4", "3x3x3", "1", 3, 2, 3, ""},
    {"4x4", "3x3", "1", 3, 3, 1, "1x1"},   {"9", "5", "3", 1, 1, 1, ""},
    {"3x5x4", "3x3x3", "1x2x2", 2, 2, 2, ""}, {"6x5", "3x3", "9x2", 3, 2, 1, "1x5"},
    {"5x4", "1x3", "1", 3, 3, 3, "3x3"},
};
#define SUBJECTS ((int)COUNT(subjects))

static wide_real dot(const real *a, const real *b, size_t n)
{
    wide_real sum = 0;
    for (size_t i = 0; i < n; i++) sum += (wide_real)a[i] * (wide_real)b[i];
    return sum;
}

/* ---- the identities -------------------------------------------------- */

/* Claim      Convolving the correlation map is correlating with convolved keys:
 *            conv(q_i K^T, U) = q_i conv(K, U), and channel by channel
 *            conv(diag(q_i) K, H) = q_i (K * H).
 * Paper      StructSA, Eq. 2 = 3 and 13 = 15.
 * Measure    Scores by windows of the map, and by products with virtual keys.
 * Tolerance  Zero: whole numbers, sums below 2^24. */
START_TEST(convolving_the_map_is_convolving_the_keys)
{
    struct case_head h = whole_head(&subjects[_i]);
    size_t keys = h.of.J * h.of.D;
    real *scores = scores_of_map(&h), *key = virtual_tokens(&h, &h.keys, h.hk, h.k), *other = zeros(h.of.N * keys);
    for (size_t i = 0; i < h.of.N; i++)
        for (size_t t = 0; t < keys; t++) other[i * keys + t] = (real)dot(h.q + i * h.of.c, key + t * h.of.c, h.of.c);
    ck_assert(largest(scores, h.of.N * keys) > 4);
    equal(other, scores, h.of.N * keys);
}
END_TEST

/* Claim      Gathering windows under dynamic kernels is gathering convolved values:
 *            sum_jm (sum_d a_ijd h_dm) v_{j+m} = sum_jd a_ijd (sum_m h_dm v_{j+m}).
 * Paper      StructSA, Eq. 5 and 16, rearranged.
 * Measure    y by the hearts with whole attention put in place of the softmax's,
 *            against the sum over virtual values.
 * Tolerance  Zero: whole numbers. */
START_TEST(dynamic_kernels_need_not_be_made)
{
    struct case_head h = whole_head(&subjects[_i]);
    size_t keys = h.of.J * h.of.D;
    real *weights = integers(6, h.of.N * keys, 2), *y = zeros(h.of.N * h.of.c);
    real *value = virtual_tokens(&h, &h.values, h.hv, h.v);
    memcpy(h.a, weights, h.of.N * keys * sizeof *weights);
    aggregate(&h);
    for (size_t i = 0; i < h.of.N; i++)
        for (size_t t = 0; t < keys; t++)
            for (size_t ch = 0; ch < h.of.c; ch++) y[i * h.of.c + ch] += weights[i * keys + t] * value[t * h.of.c + ch];
    ck_assert(largest(y, h.of.N * h.of.c) > 4);
    equal(h.y, y, h.of.N * h.of.c);
}
END_TEST

/* Claim      StructSA is the softmax attention of N queries over J D virtual tokens.
 * Paper      StructSA, Eq. 15.
 * Measure    y of the hearts against attention_naive on virtual keys and values.
 * Tolerance  structsa_case.h. */
START_TEST(structsa_is_attention_over_virtual_tokens)
{
    struct case_head h = normal_head(&subjects[_i]);
    size_t keys = h.of.J * h.of.D;
    const real *y = tell(&h);
    real *attention = zeros(h.of.N * h.of.c), *a = zeros(h.of.N * keys);
    attention_naive(attention, a, h.q, virtual_tokens(&h, &h.keys, h.hk, h.k), virtual_tokens(&h, &h.values, h.hv, h.v),
                    NULL, 1, h.of.N, keys, h.of.c);
    within("attention over virtual tokens", relative_difference(attention, y, h.of.N * h.of.c), head_tolerance(&h));
    within("    and its weights", relative_difference(a, h.a, h.of.N * keys), head_tolerance(&h));
}
END_TEST

/* ---- relatives ------------------------------------------------------- */

/* Tokens, and the tensors that both have of one size, from one trial to another. */
static void give(struct trial *to, const struct trial *from)
{
    memcpy(to->x, from->x, to->inputs * sizeof *to->x);
    for (int r = 1; structsa.tensors[r].name; r++)
        if (to->problem.tensor[r].data && from->problem.tensor[r].data
            && to->problem.tensor[r].count == from->problem.tensor[r].count)
            memcpy(to->problem.tensor[r].data, from->problem.tensor[r].data,
                   to->problem.tensor[r].count * sizeof(real));
}

/* To the bit. */
static void same_in_every_form(const struct trial *one, const struct trial *other)
{
    for (int f = 0; operator_form_at(&structsa, f); f++) {
        const char *form = operator_form_at(&structsa, f)->name;
        equal(trial_run(one, form, 1), trial_run(other, form, 1), one->outputs);
    }
}

/* Claim      With windows of one token and one pattern of 1 it is self-attention.
 * Paper      StructSA, Eq. 1; Table 1a, D = 0.
 * Measure    y against attention_naive.      Tolerance  structsa_case.h. */
START_TEST(self_attention_is_one_token_and_one_pattern)
{
    const struct subject s = {_i % 2 ? "4x5" : "7", _i % 2 ? "1x1" : "1", "1", 3, 1, _i < 2 ? 1 : 3, ""};
    struct case_head h = normal_head(&s);
    real *ones = zeros(3), *y = zeros(h.of.N * h.of.c), *a = zeros(h.of.N * h.of.N);
    for (size_t i = 0; i < 3; i++) ones[i] = 1;
    h.hk = h.hv = ones;
    attention_naive(y, a, h.q, h.k, h.v, NULL, 1, h.of.N, h.of.N, h.of.c);
    within("y", relative_difference(tell(&h), y, h.of.N * h.of.c), head_tolerance(&h));
}
END_TEST

/* Claim      With windows of one token D patterns leave D temperatures: y_i is the sum of
 *            self-attentions whose scores are multiplied by each detector, each counted
 *            with its aggregator and its share of the query's weight.
 * Paper      StructSA, Tab. 1b, 1 x 1, which gains 0.1 and 0.2 points over self-attention.
 * Measure    y against sum_d uv_d p_id attention(uk_d q_i, k, v), with p_id summed here.
 * Tolerance  structsa_case.h. */
START_TEST(windows_of_one_token_leave_temperatures)
{
    const struct subject s = {"4x5", "1x1", "1", 3, 4, 1, ""};
    struct case_head h = normal_head(&s);
    const real *y = tell(&h);
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
END_TEST

/* Claim      With one pattern it is ConvSA: attention whose keys and values come out
 *            of a depth-wise convolution, with weights shared by the channels or not.
 * Paper      StructSA, Eq. 8-10 and 18-20.
 * Measure    y against attention_naive with the convolved keys and values that Eq. 8
 *            and 9, or 18 and 19, make, summed here by coordinates.
 * Tolerance  structsa_case.h.
 * Would it fail?  With the kernel turned around it does. */
START_TEST(convsa_is_one_pattern)
{
    const struct subject s = {"5x4", "3x3", "1", 4, 1, _i ? 4 : 1, ""};
    struct case_head h = normal_head(&s);
    const real *y = tell(&h);
    for (int turned = 0; turned < 2; turned++) {
        real *k = zeros(20 * 4), *v = zeros(20 * 4), *conv = zeros(20 * 4), *a = zeros(20 * 20);
        for (int r = 0; r < 5; r++)
            for (int c = 0; c < 4; c++)
                for (int dr = -1; dr <= 1; dr++)
                    for (int dc = -1; dc <= 1; dc++) {
                        if (r + dr < 0 || r + dr >= 5 || c + dc < 0 || c + dc >= 4) continue;
                        size_t to = (size_t)(r * 4 + c) * 4, from = (size_t)((r + dr) * 4 + c + dc) * 4;
                        size_t m = (size_t)((dr + 1) * 3 + dc + 1);
                        if (turned) m = 8 - m;
                        for (size_t ch = 0; ch < 4; ch++) {
                            k[to + ch] += h.hk[m * h.of.columns + (_i ? ch : 0)] * h.k[from + ch];
                            v[to + ch] += h.hv[m * h.of.columns + (_i ? ch : 0)] * h.v[from + ch];
                        }
                    }
        attention_naive(conv, a, h.q, k, v, NULL, 1, 20, 20, 4);
        if (turned) beyond("    with the kernels turned around", relative_difference(conv, y, 80), head_tolerance(&h));
        else within("ConvSA", relative_difference(conv, y, 80), head_tolerance(&h));
    }
}
END_TEST

/* Claim      Element aggregation is context aggregation whose aggregators are zero
 *            but in the middle.
 * Paper      StructSA, Eq. 4 and 5; Tab. 1c's element row is Tab. 6b's row of 3 x 3 and 1 x 1.
 * Measure    y of both; and of Eq. 5 with --value-kernel 1x1, in every form.
 * Tolerance  Zero: what is added beside is zero, and one token is the same sum. */
START_TEST(an_element_is_a_window_of_one_token)
{
    const struct subject one = {"4x5", "3x3", _i ? "2" : "1", 3, 3, 1, "1x1"};
    const struct subject all = {"4x5", "3x3", _i ? "2" : "1", 3, 3, 1, ""};
    struct case_head element = normal_head(&one), context = normal_head(&all);
    real *middle = zeros(3 * 9);
    for (size_t d = 0; d < 3; d++) middle[d * 9 + 4] = element.hv[d];
    context.hv = middle;
    equal(tell(&context), tell(&element), element.of.N * element.of.c);

    const char *options = _i ? "--grid 4x5 --kernel 3x3 --stride 2x1 --heads 2" : "--grid 4x5 --kernel 3x3 --heads 2";
    char by_eq5[96], by_eq4[96];
    snprintf(by_eq4, sizeof by_eq4, "%s --equation 4", options);
    snprintf(by_eq5, sizeof by_eq5, "%s --equation 5 --value-kernel 1x1", options);
    struct trial four = trial(by_eq4, &structsa, 2, 6, "D=3", ""), five = trial(by_eq5, &structsa, 2, 6, "D=3", "");
    give(&five, &four);
    memcpy(trial_tensor(&five, "uv"), trial_tensor(&four, "uv"), 3 * sizeof(real));
    same_in_every_form(&five, &four);
}
END_TEST

/* Claim      With the same filters for all channels Eq. 16 is Eq. 5: the Hadamard
 *            correlation, summed over channels, is the dot product.
 * Paper      StructSA, Sec. A.1.
 * Measure    y of both.             Tolerance  Zero: whole scores, then the same operations. */
START_TEST(shared_filters_make_eq16_eq5)
{
    const struct subject shared = {"5x4", "3x3", "1", 4, 3, 1, ""}, own = {"5x4", "3x3", "1", 4, 3, 4, ""};
    struct case_head eq5 = whole_head(&shared), eq16 = whole_head(&own);
    real *hk = zeros(3 * 9 * 4), *hv = zeros(3 * 9 * 4);
    for (size_t i = 0; i < 3 * 9 * 4; i++) {
        hk[i] = eq5.hk[i / 4];
        hv[i] = eq5.hv[i / 4];
    }
    eq16.hk = hk;
    eq16.hv = hv;
    equal(tell(&eq16), tell(&eq5), eq5.of.N * eq5.of.c);
}
END_TEST

/* Claim      A dense convolution with W_m = u_m w, M x C x C weights, is a point-wise map and
 *            then a channel-wise convolution.
 * Paper      StructSA, Eq. 6 to 9 (keys and values alike), Sec. 3.3.
 * Measure    Both on 5 x 4 tokens with zeros off the grid, from 3 channels to 4.
 * Tolerance  Zero: whole numbers.
 * Would it fail?  With the weights of one entry moved by 1 it does: dense is more. */
START_TEST(separable_convolution_is_a_case_of_the_dense_one)
{
    const struct subject s = {"5x4", "3x3", "1", 4, 1, 1, ""};
    struct case_head h = empty_head(&s);
    real *x = integers(1, 20 * 3, 2), *w = integers(2, 3 * 4, 2), *u = integers(3, 9, 2);
    real *W = zeros(9 * 3 * 4), *xw = zeros(20 * 4), *dense = zeros(20 * 4);
    for (size_t mce = 0; mce < 9 * 12; mce++) W[mce] = u[mce / 12] * w[mce % 12] + (_i && mce / 12 == 4);
    for (size_t n = 0; n < 20; n++)
        for (size_t ce = 0; ce < 12; ce++) xw[n * 4 + ce % 4] += x[n * 3 + ce / 4] * w[ce];
    for (size_t jm = 0; jm < 20 * 9; jm++)
        for (size_t ce = 0; ce < 12 && h.keys.token[jm] != OFF_GRID; ce++)
            dense[jm / 9 * 4 + ce % 4] += x[(size_t)h.keys.token[jm] * 3 + ce / 4] * W[jm % 9 * 12 + ce];
    real *separable = virtual_tokens(&h, &h.keys, u, xw);
    if (_i) unequal(dense, separable, 20 * 4);
    else equal(dense, separable, 20 * 4);
}
END_TEST

/* Claim      Channel-wise detectors may come with aggregators that the channels share:
 *            Eq. 13 with Eq. 5, which is Eq. 16 with hv_dmc = uv_dm.
 * Paper      StructSA, Tab. 6a, second row.
 * Measure    y of Eq. 16 so, against sum_jm (sum_d a_ijd uv_dm) v_{j+m} from the same a.
 * Tolerance  structsa_case.h.
 * Would it fail?  With one channel of hv doubled it does. */
START_TEST(channel_wise_detectors_may_share_their_aggregators)
{
    const struct subject s = {"5x4", "3x3", "1", 4, 3, 4, ""};
    struct case_head h = normal_head(&s);
    real *uv = normal(6, 3 * 9), *hv = zeros(3 * 9 * 4), *y = zeros(20 * 4);
    for (size_t dmc = 0; dmc < 3 * 9 * 4; dmc++) hv[dmc] = uv[dmc / 4] * (_i && dmc % 4 == 2 ? 2 : 1);
    h.hv = hv;
    (void)tell(&h);
    for (size_t ijm = 0; ijm < 20 * 20 * 9; ijm++) {
        size_t i = ijm / 180, m = ijm % 9;
        int token = h.values.token[ijm % 180];
        wide_real kernel = 0;
        for (size_t d = 0; d < 3; d++) kernel += (wide_real)h.a[ijm / 9 * 3 + d] * (wide_real)uv[d * 9 + m];
        for (size_t ch = 0; ch < 4 && token != OFF_GRID; ch++)
            y[i * 4 + ch] += (real)kernel * h.v[(size_t)token * 4 + ch];
    }
    if (_i) beyond("a channel doubled", relative_difference(h.y, y, 80), 0.1);
    else within("y", relative_difference(h.y, y, 80), head_tolerance(&h));
}
END_TEST

/* Filters [D][3 x 3][E] in the middle of zeros: [D][5 x 5][E]. */
static real *widened(const real *filters, size_t D, size_t E)
{
    real *wide = zeros(D * 25 * E);
    for (size_t dm = 0; dm < D * 9; dm++) {
        size_t row = dm % 9 / 3 + 1, column = dm % 3 + 1;
        memcpy(wide + (dm / 9 * 25 + row * 5 + column) * E, filters + dm * E, E * sizeof *wide);
    }
    return wide;
}

/* Claim      With windows of two sizes, one for detectors and one for aggregators, the smaller
 *            is the larger with zeros around it.
 * Paper      StructSA, Tab. 6b.
 * Measure    A head with 3 x 3 for the keys and 5 x 5 for the values, and the other way
 *            around, against 5 x 5 on both sides; Eq. 5 and 16.
 * Tolerance  Zero for scores and weights: whole numbers.  structsa_case.h for y.
 * Would it fail?  With one of the zeros made 1 it does. */
START_TEST(detectors_and_aggregators_may_have_windows_of_their_own)
{
    const struct subject s = {"7x6", "5x5", "1", 3, 2, _i % 2 ? 3 : 1, ""};
    struct case_head own = whole_head(&s), wide = whole_head(&s);
    real *small = integers(6, 2 * 9 * s.columns, 2), *large = widened(small, 2, s.columns);
    grid window;
    succeeds(grid_parse(&window, "3x3"));
    struct neighbours narrow = windows_around(&own.keys.tokens, &window, NULL);
    if (_i < 2) own.keys = narrow, own.of.M = 9, own.hk = small, wide.hk = large;
    else own.values = narrow, own.of.Mv = 9, own.hv = small, wide.hv = large;
    equal(scores_of_map(&own), scores_of_map(&wide), 42 * 42 * 2);
    (void)tell(&own);
    (void)tell(&wide);
    equal(own.a, wide.a, 42 * 42 * 2);
    within("y", relative_difference(own.y, wide.y, 42 * 3), head_tolerance(&wide));
    large[0] = 1;
    beyond("    not zeros alone", relative_difference(tell(&wide), own.y, 42 * 3), 0.01);
}
END_TEST

/* Claim      So it is in the whole operator: --value-kernel 3x3 beside --kernel 5x5 is 5 x 5 on both
 *            sides with zeros around the aggregators, and the other way around.
 * Paper      StructSA, Tab. 6b.
 * Measure    Every form with windows of two sizes against the naive form with one, two heads; Eq. 16.
 * Tolerance  structsa_case.h.
 * Would it fail?  With one of the zeros made 1 it does. */
START_TEST(a_value_kernel_is_a_larger_one_with_zeros_around)
{
    struct trial own = trial(_i ? "--grid 7x6 --kernel 3x3 --heads 2 --stride 1x2 --value-kernel 5x5"
                             : "--grid 7x6 --kernel 5x5 --heads 2 --stride 1x2 --value-kernel 3x3", &structsa, 2, 6,
                             "D=2", "");
    struct trial wide = trial("--grid 7x6 --kernel 5x5 --heads 2 --stride 1x2", &structsa, 2, 6, "D=2", "");
    const char *small = _i ? "hk" : "hv";
    give(&wide, &own);
    real *padded = widened(trial_tensor(&own, small), 2, 6);
    memcpy(trial_tensor(&wide, small), padded, 2 * 25 * 6 * sizeof(real));
    real *y = trial_run(&wide, "naive", 1);
    for (int f = 0; operator_form_at(&structsa, f); f++) {
        const char *form = operator_form_at(&structsa, f)->name;
        within(form, relative_difference(trial_run(&own, form, 1), y, wide.outputs),
               2 * problem_tolerance(&wide.problem));
    }
    trial_tensor(&wide, small)[0] = 1;
    beyond("    not zeros alone", relative_difference(trial_run(&wide, "naive", 1), y, wide.outputs), 0.01);
}
END_TEST

/* ---- one softmax ----------------------------------------------------- */

/* Claim      Weights are positive and sum to one over all J D entries of a query. A
 *            key's own D weights, which Eq. 3 calls a softmax, do not.
 * Paper      StructSA, Eq. 2 and 3.
 * Tolerance  8 sqrt(J D) u for a sum of J D positive terms. */
START_TEST(weights_sum_to_one_over_all_patterns)
{
    struct case_head h = normal_head(&subjects[_i]);
    size_t keys = h.of.J * h.of.D;
    (void)tell(&h);
    for (size_t i = 0; i < h.of.N; i++) {
        double sum = 0, own = 0;
        for (size_t t = 0; t < keys; t++) {
            ck_assert(h.a[i * keys + t] > 0);
            sum += (double)h.a[i * keys + t];
            if (t < h.of.D) own += (double)h.a[i * keys + t];
        }
        ck_assert(fabs(sum - 1) <= 8 * sqrt((double)keys) * UNIT_ROUNDOFF);
        ck_assert(own < 0.999);
    }
}
END_TEST

/* Claim      One softmax over N D entries is not D softmaxes over N: it also weighs
 *            the patterns. a_ijd = p_id softmax_j(s_ijd), where p_id is pattern d's
 *            share of the query's weight; D softmaxes would give each 1/D.
 * Paper      StructSA, below Eq. 2.
 * Measure    a against the product of both; and the largest share p_id on 196 tokens of
 *            real images, D = 4, normal detectors, and four times as strong ones; how many
 *            patterns of equal shares would be as uneven, 1 / sum_d p_id^2; and how much of
 *            the weight D softmaxes over N, each counted 1/D, would place elsewhere,
 *            sum_d |p_id - 1/D| / 2.
 * Tolerance  structsa_case.h for the product, where partial sums of a score are at most as
 *            large as the largest score of the draw.  The shares must leave 1/D behind by
 *            more than a half. */
START_TEST(one_softmax_is_not_many)
{
    const struct subject s = {"14x14", "3x3", "1", 16, 4, 1, ""};
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
    (void)tell(&h);
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
END_TEST

/* ---- dynamic kernels ------------------------------------------------- */

/* Claim      The kernels kappa_ij of one query, over all j, are one pattern up to
 *            scale with ConvSA (rank 1); with D patterns their rank is min(D, |M|).
 * Paper      StructSA, Sec. 3.3, "Limitation".
 * Measure    Numerical rank of [J][|M|] for every query, D = 1, 2, 4, 8, 9, 12, |M| = 9 on
 *            7 x 9 tokens: columns of which more than 1e3 u of the largest is left. The
 *            products of a kernel are rounded to u, so what should vanish is near u.
 * Would it fail?  rank() of a matrix of two patterns is not one: D = 2. */
START_TEST(rank_of_dynamic_kernels_is_the_number_of_patterns)
{
    static const size_t patterns[] = {1, 2, 4, 8, 9, 12};
    size_t D = patterns[_i];
    const struct subject s = {"7x9", "3x3", "1", 8, D, 1, ""};
    struct case_head h = normal_head(&s);
    (void)tell(&h);
    for (size_t i = 0; i < h.of.N; i++) {
        kernels_of(&h, i);
        size_t rank = matrix_rank(h.kernels, 63, 9, 1e3 * UNIT_ROUNDOFF * largest(h.kernels, 63 * 9));
        ck_assert_uint_eq(rank, D < 9 ? D : 9);

        /* One pattern up to scale, said directly: every kernel is a_ij u. */
        for (size_t jm = 0; D == 1 && jm < 63 * 9; jm++)
            ck_assert(h.kernels[jm] == h.a[i * 63 + jm / 9] * h.hv[jm % 9]);
    }
}
END_TEST

/* Claim      Merging the kernels that overlap at a token gives the weight of its value:
 *            y_i = sum_n c_in v_n, c_in the sum of kappa_ijm over all j + m = n. What a
 *            kernel has off the grid is in none of them.
 * Paper      StructSA, Eq. 21, corrected (eq21_reads_kernels_reversed).
 * Measure    y against the merged sum, for every query, on lines, planes and blocks; and
 *            the sum of all c_in against the kernels' sum less their border mass.
 * Tolerance  structsa_case.h; for the masses 8 sqrt(J |M|) u of the kernels' absolute sum. */
START_TEST(merged_kernels_reproduce_the_output)
{
    struct case_head h = normal_head(&subjects[_i]);
    real *merged = zeros(h.of.N * h.of.columns), *y = zeros(h.of.N * h.of.c);
    size_t entries = h.of.J * h.of.Mv;
    double border = 0;
    (void)tell(&h);
    for (size_t i = 0; i < h.of.N; i++) {
        wide_real inside = 0, outside = 0, all = 0;
        double lost = 0, absolute = 0;
        kernels_of(&h, i);
        structsa_naive_merge(merged, h.kernels, &h.values, &h.of);
        for (size_t n = 0; n < h.of.N; n++)
            for (size_t ch = 0; ch < h.of.c; ch++)
                y[i * h.of.c + ch] += merged[n * h.of.columns + (h.of.columns == 1 ? 0 : ch)] * h.v[n * h.of.c + ch];
        for (size_t ne = 0; ne < h.of.N * h.of.columns; ne++) inside += (wide_real)merged[ne];
        for (size_t jme = 0; jme < entries * h.of.columns; jme++) {
            if (h.values.token[jme / h.of.columns] == OFF_GRID) {
                outside += (wide_real)h.kernels[jme];
                lost += fabs((double)h.kernels[jme]);
            }
            all += (wide_real)h.kernels[jme];
            absolute += fabs((double)h.kernels[jme]);
        }
        ck_assert(fabs((double)(all - outside - inside)) <= 8 * sqrt((double)entries) * UNIT_ROUNDOFF * absolute);
        border = fmax(border, lost / absolute);
    }
    within("y from merged kernels", relative_difference(y, h.y, h.of.N * h.of.c), head_tolerance(&h));
    printf("    border mass: up to %.0f %% of what a query's kernels weigh\n", 100 * border);
    ck_assert((border > 0) == (h.of.Mv > 1));
}
END_TEST

/* Claim      Values are gathered around the key j, wherever the query stands: every value
 *            counts in every output.
 * Paper      StructSA, Eq. 5. Its second line defines V_i for any token; a reader who takes
 *            that i for the query's has another operator, y_i = (sum_j kappa_ij) V_i.
 * Measure    y against that sum, and y with a value changed at the end of a line of 9 tokens.
 * Would it fail?  Around the query no value beyond the window would count. */
START_TEST(eq5_gathers_around_the_key)
{
    const struct subject s = {"9", "3", "1", 2, 2, 1, ""};
    struct case_head h = normal_head(&s);
    real *y = zeros(18), *far = copy(h.v, 18);
    (void)tell(&h);
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
    (void)tell(&h);
    for (size_t i = 0; i < 9; i++) ck_assert(h.y[i * 2] != before[i * 2]);
}
END_TEST

/* Claim      At i = j the scores read local self-similarity: they are the filters laid
 *            on the products of the query with its own neighbours, and no token
 *            outside the window changes them.
 * Paper      StructSA, Sec. 3.2.
 * Measure    Scores s_iid of whole numbers against sums by coordinates; and again with
 *            a key three steps away changed.       Tolerance  Zero. */
START_TEST(at_the_query_scores_are_self_similarity)
{
    const struct subject s = {"7x8", "3x3", "1", 3, 2, _i ? 3 : 1, ""};
    struct case_head h = whole_head(&s);
    real *changed = copy(h.k, 56 * 3), *scores = scores_of_map(&h);
    for (size_t ch = 0; ch < 3; ch++) changed[(3 * 8 + 6) * 3 + ch] += 1;       /* row 3, column 6 */
    h.k = changed;
    real *others = scores_of_map(&h);
    h.k = whole_head(&s).k;
    for (int r = 0; r < 7; r++)
        for (int c = 0; c < 8; c++)
            for (size_t d = 0; d < 2; d++) {
                size_t i = (size_t)(r * 8 + c), at = (i * 56 + i) * 2 + d;
                wide_real sum = 0;
                for (int dr = -1; dr <= 1; dr++)
                    for (int dc = -1; dc <= 1; dc++)
                        for (size_t ch = 0; ch < 3; ch++) {
                            if (r + dr < 0 || r + dr >= 7 || c + dc < 0 || c + dc >= 8) continue;
                            size_t n = (size_t)((r + dr) * 8 + c + dc), m = (size_t)((dr + 1) * 3 + dc + 1);
                            sum += (wide_real)(h.q[i * 3 + ch] * h.k[n * 3 + ch])
                                 * (wide_real)h.hk[(d * 9 + m) * h.of.columns + (_i ? ch : 0)];
                        }
                ck_assert((wide_real)scores[at] == sum);
                if (abs(r - 3) > 1 || abs(c - 6) > 1) ck_assert(others[at] == scores[at]);
            }
    unequal(others, scores, 56 * 56 * 2);
}
END_TEST

/* ---- where things stand ---------------------------------------------- */

/* Tokens of an object of 2 x 2, its corner at (r, c) of an 9 x 9 grid of zeros. */
static real *object_at(size_t r, size_t c, uint64_t seed)
{
    real *rows = zeros(81 * 3), *object = normal(seed, 4 * 3);
    for (size_t p = 0; p < 4; p++)
        memcpy(rows + ((r + p / 2) * 9 + c + p % 2) * 3, object + p * 3, 3 * sizeof *rows);
    return rows;
}

/* Claim      Shifting the image shifts the output away from borders: an object on an
 *            empty background gives the same at every place where all centres whose
 *            windows touch it are on the grid, be it half a window from the border. In
 *            the corner, where centres are missing, it does not.
 * Paper      StructSA, Sec. 3.1 (what self-attention has too, and keeps here).
 * Measure    The four outputs of the object at (2, 2), at (5, 4), at (1, 1), where windows
 *            reach over the border, and in the corner (0, 0). Empty tokens have keys of
 *            zero, as what is off the grid has: their scores are 0 wherever they are, and
 *            there are as many of them.
 * Tolerance  structsa_case.h: sums in another order. In the corner a hundredth and more. */
START_TEST(away_from_borders_an_object_may_stand_anywhere)
{
    const struct subject s = {"9x9", "3x3", "1", 3, 3, _i ? 3 : 1, ""};
    static const size_t place[4][2] = {{2, 2}, {5, 4}, {1, 1}, {0, 0}};
    real *seen[4];
    struct case_head h;
    for (size_t p = 0; p < 4; p++) {
        h = normal_head(&s);
        h.q = object_at(place[p][0], place[p][1], 11);
        h.k = object_at(place[p][0], place[p][1], 12);
        h.v = object_at(place[p][0], place[p][1], 13);
        (void)tell(&h);
        seen[p] = zeros(4 * 3);
        for (size_t t = 0; t < 4; t++)
            memcpy(seen[p] + t * 3, h.y + ((place[p][0] + t / 2) * 9 + place[p][1] + t % 2) * 3, 3 * sizeof(real));
    }
    within("three rows down, two columns right", relative_difference(seen[1], seen[0], 12), head_tolerance(&h));
    within("half a window from the border", relative_difference(seen[2], seen[0], 12), head_tolerance(&h));
    beyond("    in the corner", relative_difference(seen[3], seen[0], 12), 0.01);
}
END_TEST

/* Claim      The border is seen even where nothing else is to be seen: on an image of
 *            one colour a score counts the tokens of its window, so that a query whose
 *            product with the keys is positive attends least to corners, a negative one most.
 * Paper      StructSA, Eq. 3: keys off the grid are zero, and their scores take part.
 * Measure    Scores of whole numbers, detectors of ones, against c times the tokens on the
 *            grid; and the order of the weights in the corner, at the edge and within.
 * Tolerance  Zero. */
START_TEST(the_border_is_seen_on_a_uniform_image)
{
    const struct subject s = {"4x5", "3x3", "1", 2, 1, _i ? 2 : 1, ""};
    struct case_head h = empty_head(&s);
    real *q = zeros(20 * 2), *ones = zeros(20 * 2);
    for (size_t n = 0; n < 20 * 2; n++) ones[n] = 1, q[n] = n < 10 * 2 ? 1 : -1;      /* the lower half negative */
    h.q = q, h.k = h.v = h.hk = h.hv = ones;
    real *scores = scores_of_map(&h);
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 20; j++) {
            size_t rows = j / 5 % 3 ? 3 : 2, columns = j % 5 % 4 ? 3 : 2;
            ck_assert((double)scores[i * 20 + j] == (double)q[i * 2] * 2 * (double)(rows * columns));
        }
    (void)tell(&h);
    const real *positive = h.a, *negative = h.a + 19 * 20;
    ck_assert(positive[0] < positive[1] && positive[1] < positive[6]);
    ck_assert(negative[0] > negative[1] && negative[1] > negative[6]);
}
END_TEST

/* Claim      With windows of one token the order of tokens is not seen: permuting them
 *            permutes the outputs. Wider windows see it.
 * Paper      StructSA, Sec. 3.1 and 3.2.
 * Measure    y of tokens in reverse order, against y reversed; |M| = 1 and 3 x 3.
 * Tolerance  structsa_case.h; beyond it for 3 x 3. */
START_TEST(windows_see_the_order_of_tokens)
{
    const struct subject s = {"4x5", _i < 2 ? "1x1" : "3x3", "1", 3, 3, _i % 2 ? 3 : 1, ""};
    struct case_head h = normal_head(&s), turned = normal_head(&s);
    real *part[3] = {zeros(60), zeros(60), zeros(60)}, *y = zeros(60);
    const real *from[3] = {h.q, h.k, h.v};
    for (size_t n = 0; n < 20; n++)
        for (size_t p = 0; p < 3; p++) memcpy(part[p] + n * 3, from[p] + (19 - n) * 3, 3 * sizeof(real));
    turned.q = part[0];
    turned.k = part[1];
    turned.v = part[2];
    (void)tell(&h);
    (void)tell(&turned);
    for (size_t n = 0; n < 20; n++) memcpy(y + n * 3, h.y + (19 - n) * 3, 3 * sizeof(real));
    if (_i < 2) within("windows of one token", relative_difference(turned.y, y, 60), head_tolerance(&h));
    else beyond("windows of 3 x 3", relative_difference(turned.y, y, 60), 0.01);
}
END_TEST

/* Claim      A stride keeps the centres whose every coordinate is a multiple of its axis's stride,
 *            and the softmax is over those: a is a of stride 1, the other centres left out and the
 *            rest brought to a sum of one.
 * Paper      StructSA, Sec. 4.3.1; Tab. 4 and 5a for one stride of each axis.
 * Measure    a with strides on 4 x 5 x 6 tokens, centres kept by hand, against a of stride 1: alike, in
 *            space only as in the paper's videos, all unlike, and longer than an axis.
 * Tolerance  structsa_case.h.
 * Would it fail?  With the strides of two axes exchanged. */
static const struct { const char *text; size_t step[3], J; } strides[] = {
    {"2", {2, 2, 2}, 18}, {"1x2x2", {1, 2, 2}, 36}, {"2x1x3", {2, 1, 3}, 20}, {"9x4x1", {9, 4, 1}, 12},
};
START_TEST(a_stride_leaves_centres_out)
{
    const struct subject every = {"4x5x6", "3x3x3", "1", 3, 2, 3, ""};
    const struct subject some = {"4x5x6", "3x3x3", strides[_i].text, 3, 2, 3, ""};
    const size_t *step = strides[_i].step;
    struct case_head h = normal_head(&every), coarse = normal_head(&some);
    (void)tell(&h);
    (void)tell(&coarse);
    ck_assert_uint_eq(coarse.of.J, strides[_i].J);
    real *a = zeros(120 * coarse.of.J * 2), *to = a;
    for (size_t i = 0; i < 120; i++, to += coarse.of.J * 2) {
        size_t t = 0;
        wide_real sum = 0;
        for (size_t j = 0; j < 120; j++) {
            if (j / 30 % step[0] || j / 6 % 5 % step[1] || j % 6 % step[2]) continue;
            for (size_t d = 0; d < 2; d++, t++) sum += (wide_real)(to[t] = h.a[(i * 120 + j) * 2 + d]);
        }
        ck_assert_uint_eq(t, coarse.of.J * 2);
        while (t-- > 0) to[t] = (real)((wide_real)to[t] / sum);
    }
    within(strides[_i].text, relative_difference(coarse.a, a, 120 * coarse.of.J * 2), head_tolerance(&h));
}
END_TEST

/* Claim      One number is the stride of all axes; and where a stride leaves one token of an axis, a
 *            longer one does too.
 * Measure    Every form with --stride 2 and 2x2x2, and with 1x5x2 and 1x9x2, on 3 x 5 x 4 tokens.
 * Tolerance  Zero. */
START_TEST(one_stride_is_that_of_all_axes)
{
    static const char *const pair[][2] = {{"2", "2x2x2"}, {"1x5x2", "1x9x2"}};
    struct trial t[2];
    for (int n = 0; n < 2; n++) {
        char options[80];
        snprintf(options, sizeof options, "--grid 3x5x4 --kernel 3x3x3 --heads 2 --stride %s", pair[_i][n]);
        t[n] = trial(options, &structsa, 1, 6, "D=3", "");
    }
    same_in_every_form(&t[0], &t[1]);
}
END_TEST

/* ---- patterns, heads, scales ----------------------------------------- */

/* Claim      Patterns have no order; and a pattern told twice counts once, since its
 *            weight is shared between the two.
 * Paper      StructSA, Eq. 5, 16.
 * Measure    y with patterns in reverse order, and with every pattern twice.
 * Tolerance  structsa_case.h, for twice as many entries. */
START_TEST(patterns_have_no_order_and_no_number)
{
    const struct subject s = {"5x4", "3x3", "1", 4, 3, _i ? 4 : 1, ""};
    const struct subject twice = {"5x4", "3x3", "1", 4, 6, _i ? 4 : 1, ""};
    struct case_head h = normal_head(&s), turned = normal_head(&s), doubled = normal_head(&twice);
    size_t t = taps(&h);
    real *hk = zeros(3 * t), *hv = zeros(3 * t), *hk2 = zeros(6 * t), *hv2 = zeros(6 * t);
    for (size_t d = 0; d < 6; d++) {
        if (d < 3) memcpy(hk + d * t, h.hk + (2 - d) * t, t * sizeof *hk);
        if (d < 3) memcpy(hv + d * t, h.hv + (2 - d) * t, t * sizeof *hv);
        memcpy(hk2 + d * t, h.hk + d / 2 * t, t * sizeof *hk);
        memcpy(hv2 + d * t, h.hv + d / 2 * t, t * sizeof *hv);
    }
    turned.hk = hk, turned.hv = hv, doubled.hk = hk2, doubled.hv = hv2;
    (void)tell(&h);
    within("in reverse order", relative_difference(tell(&turned), h.y, 80), head_tolerance(&doubled));
    within("each twice", relative_difference(tell(&doubled), h.y, 80), head_tolerance(&doubled));
}
END_TEST

/* Claim      A detector of zeros does not look: its weight is the same at every key, and
 *            its part of y is the mean of its virtual values, as loud as the others let it.
 * Paper      StructSA, Eq. 3.
 * Measure    a_ijd for that pattern over all j, and its sum over j, the share, over i.
 * Tolerance  Zero: the same exponential over the same sum.  Shares differ by a fiftieth of
 *            the weight at least. */
START_TEST(a_detector_of_zeros_weighs_all_keys_alike)
{
    const struct subject s = {"5x4", "3x3", "1", 4, 3, _i ? 4 : 1, ""};
    struct case_head h = normal_head(&s);
    size_t t = taps(&h);
    real *hk = copy(h.hk, 3 * t);
    double least = 1, most = 0;
    for (size_t me = 0; me < t; me++) hk[t + me] = 0;
    h.hk = hk;
    (void)tell(&h);
    for (size_t i = 0; i < 20; i++) {
        const real *a_i = h.a + i * 20 * 3;
        for (size_t j = 1; j < 20; j++) ck_assert(a_i[j * 3 + 1] == a_i[1]);
        for (size_t d = 0; d < 3; d += 2) ck_assert(a_i[3 + d] != a_i[d]);
        least = fmin(least, 20 * (double)a_i[1]);
        most = fmax(most, 20 * (double)a_i[1]);
    }
    printf("    its share: %.2f to %.2f of a query's weight\n", least, most);
    ck_assert(most - least > 0.02);
}
END_TEST

/* Claim      y is linear in the value: the values choose no weight.
 * Paper      StructSA, Eq. 4, 5, 16.
 * Measure    y of v + 2 v' against y + 2 y', all whole, so that the sums of values are
 *            exact.                        Tolerance  structsa_case.h. */
START_TEST(structsa_is_linear_in_the_value)
{
    struct case_head a = normal_head(&subjects[_i]), b = normal_head(&subjects[_i]);
    struct case_head sum = normal_head(&subjects[_i]);
    size_t n = a.of.N * a.of.c;
    real *v = integers(7, n, 2), *w = integers(8, n, 2), *both = zeros(n), *y = zeros(n);
    for (size_t i = 0; i < n; i++) both[i] = v[i] + 2 * w[i];
    a.v = v, b.v = w, sum.v = both;
    (void)tell(&a);
    (void)tell(&b);
    for (size_t i = 0; i < n; i++) y[i] = a.y[i] + 2 * b.y[i];
    within("y of v + 2 v'", relative_difference(tell(&sum), y, n), head_tolerance(&a));
}
END_TEST

/* Claim      The scale multiplies the scores: twice the scale is twice the query.
 * Paper      Not in it: Eq. 2 has no 1/sqrt(C), the contract has --scale.
 * Measure    y of every form with --scale 2, against --scale 1 with the rows of w_qkv and
 *            b_qkv doubled that make the query; and it is another with one half.
 * Tolerance  Zero: a factor of two does not round. */
START_TEST(scale_multiplies_the_scores)
{
    struct trial scaled = trial("--grid 5x4 --kernel 3x3 --heads 2 --scale 2", &structsa, 1, 8, "D=3", "");
    struct trial doubled = trial("--grid 5x4 --kernel 3x3 --heads 2 --scale 1", &structsa, 1, 8, "D=3", "");
    struct trial halved = trial("--grid 5x4 --kernel 3x3 --heads 2 --scale 0.5", &structsa, 1, 8, "D=3", "");
    for (size_t n = 0; n < 8 * 8; n++) trial_tensor(&doubled, "w_qkv")[n] *= 2;
    for (size_t n = 0; n < 8; n++) trial_tensor(&doubled, "b_qkv")[n] *= 2;
    for (int f = 0; operator_form_at(&structsa, f); f++) {
        const char *form = operator_form_at(&structsa, f)->name;
        real *y = trial_run(&scaled, form, 1);
        equal(trial_run(&doubled, form, 1), y, 20 * 8);
        unequal(trial_run(&halved, form, 1), y, 20 * 8);
    }
}
END_TEST

/* Claim      With a scale of 0 all scores are equal, and y is the mean of the virtual
 *            values, for every query.
 * Measure    y of the whole operator against the mean.     Tolerance  structsa_case.h. */
START_TEST(scale_zero_is_the_mean_of_virtual_values)
{
    const struct subject s = {"5x4", "3x3", "1", 4, 3, 4, ""};
    struct case_head h = normal_head(&s);
    real *value = virtual_tokens(&h, &h.values, h.hv, h.v), *mean = zeros(80);
    h.q = zeros(80);
    for (size_t i = 0; i < 20; i++)
        for (size_t ch = 0; ch < 4; ch++) {
            wide_real sum = 0;
            for (size_t t = 0; t < 60; t++) sum += (wide_real)value[t * 4 + ch];
            mean[i * 4 + ch] = (real)(sum / 60);
        }
    within("y", relative_difference(tell(&h), mean, 80), head_tolerance(&h));

    struct trial t = trial("--grid 5x4 --kernel 3x3 --heads 2 --scale 0", &structsa, 1, 8, "D=3", "");
    for (int f = 0; operator_form_at(&structsa, f); f++) {
        const char *form = operator_form_at(&structsa, f)->name;
        real *y = trial_run(&t, form, 1);
        for (size_t n = 1; n < 20; n++)
            within(form, largest_difference(y + n * 8, y, 8),
                   problem_tolerance(&t.problem) * largest(y, 160));
    }
}
END_TEST

/* Claim      In Eq. 16 a head has its own slice of the filters; in Eq. 4 and 5 heads
 *            share them.
 * Paper      StructSA, Sec. 4.3.1, "do not share weights across channels".
 * Measure    Outputs of the other head, to the bit, when the filters' last channel is
 *            changed (Eq. 16); and both heads' when a shared one is (Eq. 5). */
START_TEST(heads_have_their_own_filters_in_eq16)
{
    struct trial t = trial(_i ? "--grid 5x4 --kernel 3x3 --heads 2 --equation 5" : "--grid 5x4 --kernel 3x3 --heads 2",
                           &structsa, 1, 8, "D=3", "w_o b_o");
    for (int f = 0; operator_form_at(&structsa, f); f++) {
        const char *form = operator_form_at(&structsa, f)->name;
        real *y = trial_run(&t, form, 1), *h = trial_tensor(&t, _i ? "uk" : "hk");
        h[_i ? 4 : 4 * 8 + 7] += 1;                 /* Eq. 16: pattern 0, the middle, channel 7 */
        real *other = trial_run(&t, form, 1);
        h[_i ? 4 : 4 * 8 + 7] -= 1;
        for (size_t n = 0; n < 20; n++) {
            if (_i) unequal(y + n * 8, other + n * 8, 4);
            else equal(y + n * 8, other + n * 8, 4);
            unequal(y + n * 8 + 4, other + n * 8 + 4, 4);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("StructSA, theorems");
    TCase *identities = add_case(suite, "identities");
    tcase_add_loop_test(identities, convolving_the_map_is_convolving_the_keys, 0, SUBJECTS);
    tcase_add_loop_test(identities, dynamic_kernels_need_not_be_made, 0, SUBJECTS);
    tcase_add_loop_test(identities, structsa_is_attention_over_virtual_tokens, 0, SUBJECTS);
    TCase *relatives = add_case(suite, "relatives");
    tcase_add_loop_test(relatives, self_attention_is_one_token_and_one_pattern, 0, 4);
    tcase_add_test(relatives, windows_of_one_token_leave_temperatures);
    tcase_add_loop_test(relatives, convsa_is_one_pattern, 0, 2);
    tcase_add_loop_test(relatives, an_element_is_a_window_of_one_token, 0, 2);
    tcase_add_test(relatives, shared_filters_make_eq16_eq5);
    tcase_add_loop_test(relatives, separable_convolution_is_a_case_of_the_dense_one, 0, 2);
    tcase_add_loop_test(relatives, channel_wise_detectors_may_share_their_aggregators, 0, 2);
    tcase_add_loop_test(relatives, detectors_and_aggregators_may_have_windows_of_their_own, 0, 4);
    tcase_add_loop_test(relatives, a_value_kernel_is_a_larger_one_with_zeros_around, 0, 2);
    TCase *weights = add_case(suite, "one softmax");
    tcase_add_loop_test(weights, weights_sum_to_one_over_all_patterns, 0, SUBJECTS);
    tcase_add_loop_test(weights, one_softmax_is_not_many, 0, 2);
    TCase *kernels = add_case(suite, "dynamic kernels");
    tcase_add_loop_test(kernels, rank_of_dynamic_kernels_is_the_number_of_patterns, 0, 6);
    tcase_add_loop_test(kernels, merged_kernels_reproduce_the_output, 0, SUBJECTS);
    tcase_add_test(kernels, eq5_gathers_around_the_key);
    tcase_add_loop_test(kernels, at_the_query_scores_are_self_similarity, 0, 2);
    TCase *places = add_case(suite, "where things stand");
    tcase_add_loop_test(places, away_from_borders_an_object_may_stand_anywhere, 0, 2);
    tcase_add_loop_test(places, the_border_is_seen_on_a_uniform_image, 0, 2);
    tcase_add_loop_test(places, windows_see_the_order_of_tokens, 0, 4);
    tcase_add_loop_test(places, a_stride_leaves_centres_out, 0, (int)COUNT(strides));
    tcase_add_loop_test(places, one_stride_is_that_of_all_axes, 0, 2);
    TCase *patterns = add_case(suite, "patterns, heads, scales");
    tcase_add_loop_test(patterns, patterns_have_no_order_and_no_number, 0, 2);
    tcase_add_loop_test(patterns, a_detector_of_zeros_weighs_all_keys_alike, 0, 2);
    tcase_add_loop_test(patterns, structsa_is_linear_in_the_value, 0, SUBJECTS);
    tcase_add_test(patterns, scale_multiplies_the_scores);
    tcase_add_test(patterns, scale_zero_is_the_mean_of_virtual_values);
    tcase_add_loop_test(patterns, heads_have_their_own_filters_in_eq16, 0, 2);
    return run_suite(suite);
}
