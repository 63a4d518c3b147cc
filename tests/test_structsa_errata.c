/* test_structsa_errata.c -- equations of StructSA that do not hold as printed, or leave open how they are read */

#include "structsa_case.h"

/* y_i = sum_n c_in v_n, for weights c of one query. */
static void gather(real *y, const real *weights, const struct case_head *h)
{
    for (size_t n = 0; n < h->of.N; n++)
        for (size_t ch = 0; ch < h->of.c; ch++) y[ch] += weights[n] * h->v[n * h->of.c + ch];
}

/* Eq. 21 on a line, term by term: the kernel at j - floor(M/2) + m gives its
 * entry m (as printed) or M - 1 - m. */
static void eq21(real *weights, const struct case_head *h, bool printed)
{
    size_t N = h->of.N, M = h->of.Mv;
    for (size_t j = 0; j < N; j++) {
        weights[j] = 0;
        for (size_t m = 0; m < M; m++) {
            size_t centre = j + m;                      /* floor(M/2) more than it is */
            if (centre < M / 2 || centre - M / 2 >= N) continue;
            weights[j] += h->kernels[(centre - M / 2) * M + (printed ? m : M - 1 - m)];
        }
    }
}

/* y_i of the kernels on a line whose entry m lies at j + floor(M/2) - m. */
static void convolve(real *y, const struct case_head *h)
{
    size_t N = h->of.N, M = h->of.M, c = h->of.c;
    for (size_t jm = 0; jm < N * M; jm++) {
        size_t token = jm / M + M / 2 - jm % M;         /* wraps below 0, and is then beyond N */
        for (size_t ch = 0; ch < c && token < N; ch++) y[ch] += h->kernels[jm] * h->v[token * c + ch];
    }
}

/* Claim      The merged weight is c_ij = sum_{m=0}^{M-1} (kappa_{i, j-floor(M/2)+m})_{M-1-m}.
 * Paper      StructSA, Eq. 21.                    Left open: the order of a window's entries.
 * Measure    sum_j c_ij v_j against y_i, on a line of 9 tokens, M = 3 and 5, with whole
 *            weights in place of the softmax's.
 * Failure    As printed it takes entry m, but the kernel around j - floor(M/2) + m holds
 *            token j at M - 1 - m, if windows are in reading order as they are here.  Each
 *            kernel is read from its other end, and y is another.  (The sum as printed
 *            runs to m = M besides, a term that no kernel has and which is left out.)
 * Holds      With entry M - 1 - m it is y.  With the printed entry m it is the y of windows
 *            in the order of a convolution, entry m at j + floor(M/2) - m.  Aggregators that
 *            read the same from both ends do not care.
 * Tolerance  Zero: whole numbers. */
START_TEST(eq21_reads_kernels_reversed)
{
    const struct subject s = {"9", _i % 2 ? "5" : "3", "1", 3, 2, 1, ""};
    struct case_head h = whole_head(&s);
    size_t M = h.of.M;
    if (_i >= 2) {
        real *even = copy(h.hv, 2 * M);
        for (size_t dm = 0; dm < 2 * M; dm++) even[dm] += h.hv[dm / M * M + M - 1 - dm % M];
        h.hv = even;
    }
    memcpy(h.a, integers(6, 9 * 9 * 2, 2), 9 * 9 * 2 * sizeof *h.a);
    aggregate(&h);
    real *printed = zeros(27), *corrected = zeros(27), *convolved = zeros(27);
    real *weights = zeros(9), *merged = zeros(9);
    for (size_t i = 0; i < 9; i++) {
        kernels_of(&h, i);
        eq21(weights, &h, true);
        gather(printed + i * 3, weights, &h);
        eq21(weights, &h, false);
        gather(corrected + i * 3, weights, &h);
        structsa_naive_merge(merged, h.kernels, &h.values, &h.of);
        equal(weights, merged, 9);
        convolve(convolved + i * 3, &h);
    }
    ck_assert(largest(h.y, 27) > 4);
    equal(corrected, h.y, 27);
    equal(printed, convolved, 27);
    if (_i < 2) beyond("Eq. 21, printed", relative_difference(printed, h.y, 27), 0.1);
    else equal(printed, h.y, 27);
}
END_TEST

/* Claim      The channel-wise correlation of query i with the window K_j, of |M| rows and C
 *            columns, is diag(q_i) K_j.
 * Paper      StructSA, Eq. 13, 16 and 20; Eq. 11 likewise with K.      Does not hold.
 * Measure    Scores of Eq. 15 against those of Eq. 13 as printed, where its shapes fit at
 *            all: |M| = C = 3.
 * Failure    diag(q_i) on the left scales rows: neighbour m is weighed by channel m of the
 *            query. With |M| other than C there is no such product.
 * Correction K_j diag(q_i) scales columns, and gives the scores of Eq. 15.
 * Tolerance  Zero: whole numbers. */
START_TEST(eq13_scales_neighbours_where_it_means_channels)
{
    const struct subject s = {"9", "3", "1", 3, 2, 3, ""};
    struct case_head h = whole_head(&s);
    real *scores = scores_of_map(&h), *left = zeros(9 * 9 * 2), *right = zeros(9 * 9 * 2), *K_j = zeros(3 * 3);
    for (size_t ijd = 0; ijd < 9 * 9 * 2; ijd++) {
        const real *q_i = h.q + ijd / 18 * 3, *filter = h.hk + ijd % 2 * 9;
        neighbours_unfold(K_j, &h.keys, ijd / 2 % 9, h.k, 3, 3);
        for (size_t mc = 0; mc < 9; mc++) {
            left[ijd] += q_i[mc / 3] * K_j[mc] * filter[mc];
            right[ijd] += K_j[mc] * q_i[mc % 3] * filter[mc];
        }
    }
    equal(right, scores, 9 * 9 * 2);
    beyond("diag(q_i) K_j, as printed", relative_difference(left, scores, 9 * 9 * 2), 0.1);
}
END_TEST

/* Claim      "The same output regardless of the order of features" is true of the answer to
 *            a given query, which is Eq. 1's y_i, and of the mean over all outputs.  The
 *            outputs of all tokens are permuted as the tokens are: equivariant.
 * Paper      StructSA, Sec. 3.1.                  Left open: which output is meant.
 * Measure    |M| = 1, D = 1 on tokens in reverse order.
 * Failure    Outputs in place differ by more than a tenth.
 * Holds      Reversed they are the same, and so is their mean.
 * Tolerance  structsa_case.h. */
START_TEST(self_attention_is_equivariant_not_invariant)
{
    const struct subject s = {"12", "1", "1", 3, 1, 1, ""};
    struct case_head h = normal_head(&s), turned = normal_head(&s);
    real *part[3] = {zeros(36), zeros(36), zeros(36)}, *back = zeros(36), *mean = zeros(3), *mean_turned = zeros(3);
    const real *from[3] = {h.q, h.k, h.v};
    for (size_t n = 0; n < 12; n++)
        for (size_t p = 0; p < 3; p++) memcpy(part[p] + n * 3, from[p] + (11 - n) * 3, 3 * sizeof(real));
    turned.q = part[0], turned.k = part[1], turned.v = part[2];
    (void)tell(&h);
    (void)tell(&turned);
    for (size_t nc = 0; nc < 36; nc++) {
        back[nc] = turned.y[(11 - nc / 3) * 3 + nc % 3];
        mean[nc % 3] += h.y[nc];
        mean_turned[nc % 3] += turned.y[nc];
    }
    beyond("in place", relative_difference(turned.y, h.y, 36), 0.1);
    within("reversed", relative_difference(back, h.y, 36), head_tolerance(&h));
    within("on average", largest_difference(mean_turned, mean, 3), 12 * head_tolerance(&h) * largest(h.y, 36));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("StructSA, errata");
    TCase *equations = add_case(suite, "equations");
    tcase_add_loop_test(equations, eq21_reads_kernels_reversed, 0, 4);
    tcase_add_test(equations, eq13_scales_neighbours_where_it_means_channels);
    tcase_add_test(equations, self_attention_is_equivariant_not_invariant);
    return run_suite(suite);
}
