/* test_structsa_errata.c -- equations of StructSA that do not hold as printed, or allow several readings */

#include "structsa_case.h"

/* Eq. 21 on a line: the kernel at j - floor(M/2) + m gives its entry m (as printed) or M - 1 - m. */
static void eq21(real *weights, const struct case_head *h, bool printed)
{
    size_t N = h->params.heads.N, M = h->params.Mv;
    for (size_t j = 0; j < N; j++) {
        weights[j] = 0;
        for (size_t m = 0; m < M; m++) {
            size_t centre = j + m;                      /* floor(M/2) too large, so as not to wrap */
            if (centre < M / 2 || centre - M / 2 >= N) continue;
            weights[j] += h->kernels[(centre - M / 2) * M + (printed ? m : M - 1 - m)];
        }
    }
}

/* y_i on a line if entry m of a kernel lies at j + floor(M/2) - m. */
static void convolve(real *y, const struct case_head *h)
{
    size_t N = h->params.heads.N, M = h->params.M, c = h->params.heads.c;
    for (size_t jm = 0; jm < N * M; jm++) {
        size_t token = jm / M + M / 2 - jm % M;         /* below 0 it wraps and exceeds N */
        for (size_t ch = 0; ch < c && token < N; ch++) y[ch] += h->kernels[jm] * h->v[token * c + ch];
    }
}

/* StructSA, Eq. 21: the kernel around j - floor(M/2) + m has token j at entry M - 1 - m.  The printed entry m is right
 * if windows are in the order of a convolution.  Symmetric aggregators (_i >= 2) give the same either way. */
TESTS(eq21_reads_kernels_reversed, 4)
{
    const struct head_shape s = {"9", _i % 2 ? "5" : "3", "1", 3, 2, 1, ""};
    struct case_head h = integer_head(&s);
    size_t M = h.params.M;
    if (_i >= 2) {
        real *even = copy(h.hv, 2 * M);
        for (size_t dm = 0; dm < 2 * M; dm++) even[dm] += h.hv[dm / M * M + M - 1 - dm % M];
        h.hv = even;
    }
    memcpy(h.a, integers(6, 9 * 9 * 2, 2), 9 * 9 * 2 * sizeof *h.a);
    aggregate(&h);
    real *as_printed = zeros(9 * 9), *weights = zeros(9 * 9), *convolved = zeros(27), *merged = zeros(9);
    for (size_t i = 0; i < 9; i++) {
        kernels_of(&h, i);
        eq21(as_printed + i * 9, &h, true);
        eq21(weights + i * 9, &h, false);
        structsa_naive_merge(merged, h.kernels, &h.values, &h.params);
        equal(weights + i * 9, merged, 9);
        convolve(convolved + i * 3, &h);
    }
    real *printed = matrix_product(as_printed, h.v, 9, 9, 3), *corrected = matrix_product(weights, h.v, 9, 9, 3);
    ck_assert(largest(h.y, 27) > 4);
    equal(corrected, h.y, 27);
    equal(printed, convolved, 27);
    if (_i < 2) beyond("Eq. 21, printed", relative_difference(printed, h.y, 27), 0.1);
    else equal(printed, h.y, 27);
}

/* StructSA, Eq. 11, 13, 16, 20: diag(q_i) K_j scales rows, which are neighbours, and exists only for |M| = C.
 * K_j diag(q_i) scales channels, and gives the scores of Eq. 15. */
TEST(eq13_scales_neighbours_where_it_means_channels)
{
    const struct head_shape s = {"9", "3", "1", 3, 2, 3, ""};
    struct case_head h = integer_head(&s);
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

/* StructSA, Sec. 3.1, "the same output regardless of the order of features": true only of the mean of all outputs; the
 * outputs are permuted as the tokens are. */
TEST(self_attention_is_equivariant_not_invariant)
{
    const struct head_shape s = {"12", "1", "1", 3, 1, 1, ""};
    struct case_head h = normal_head(&s), turned = normal_head(&s);
    real *ones = filled(12, 1);
    reverse_tokens(&turned);
    beyond("in place", relative_difference(run_head(&turned), run_head(&h), 36), 0.1);
    within("reversed", relative_difference(rows_reversed(turned.y, 12, 3), h.y, 36), head_tolerance(&h));
    real *sum = matrix_product(ones, h.y, 1, 12, 3), *sum_turned = matrix_product(ones, turned.y, 1, 12, 3);
    within("on average", largest_difference(sum_turned, sum, 3), 12 * head_tolerance(&h) * largest(h.y, 36));
}

int main(void) { return run_tests("StructSA, errata"); }
