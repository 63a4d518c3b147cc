/* test_structsa_errata.c -- where StructSA does not hold as printed, and what does */

#include "structsa_case.h"

/* y_i = sum_n c_in v_n, for weights c of one query. */
static void gather(real *y, const real *weights, const struct structsa_head *h)
{
    for (size_t n = 0; n < h->N; n++)
        for (size_t ch = 0; ch < h->c; ch++) y[ch] += weights[n] * h->v[n * h->c + ch];
}

/* Eq. 21 on a line, term by term: the kernel at j - floor(M/2) + m gives its
 * entry m (as printed) or M - 1 - m. */
static void eq21(real *weights, const struct structsa_head *h, bool printed)
{
    size_t N = h->N, M = h->values->entries;
    for (size_t j = 0; j < N; j++) {
        weights[j] = 0;
        for (size_t m = 0; m < M; m++) {
            size_t centre = j + m;                      /* floor(M/2) more than it is */
            if (centre < M / 2 || centre - M / 2 >= N) continue;
            weights[j] += h->kernels[(centre - M / 2) * M + (printed ? m : M - 1 - m)];
        }
    }
}

/* Claim      The merged weight is c_ij = sum_{m=0}^{M-1} (kappa_{i, j-floor(M/2)+m})_{M-1-m}.
 * Paper      StructSA, Eq. 21.                    Erratum.
 * Measure    sum_j c_ij v_j against y_i, on a line of 9 tokens, M = 3 and 5.
 * Failure    As printed the sum runs to m = M, where the kernel has no entry, and takes
 *            entry m: the kernel around j - floor(M/2) + m holds token j at M - 1 - m.
 *            Each kernel is read from its other end, and y is another.
 * Correction With entry M - 1 - m it is y.  Aggregators that read the same from both
 *            ends do not care.
 * Tolerance  structsa_case.h. */
START_TEST(eq21_reads_kernels_reversed)
{
    const struct subject s = {"9", _i % 2 ? "5" : "3", 1, 3, 2, 1, false};
    struct structsa_head h = normal_head(&s);
    size_t M = h.keys->entries;
    if (_i >= 2) {
        real *even = copy(h.hv, 2 * M);
        for (size_t dm = 0; dm < 2 * M; dm++) even[dm] += h.hv[dm / M * M + M - 1 - dm % M];
        h.hv = even;
    }
    (void)tell(&h);
    real *printed = zeros(27), *corrected = zeros(27), *weights = zeros(9), *merged = zeros(9);
    for (size_t i = 0; i < 9; i++) {
        structsa_naive_kernels(&h, i);
        eq21(weights, &h, true);
        gather(printed + i * 3, weights, &h);
        eq21(weights, &h, false);
        gather(corrected + i * 3, weights, &h);
        structsa_naive_merge(merged, &h);
        within("structsa_naive_merge", relative_difference(weights, merged, 9), head_tolerance(&h));
    }
    within("Eq. 21, corrected", relative_difference(corrected, h.y, 27), head_tolerance(&h));
    if (_i < 2) beyond("Eq. 21, printed", relative_difference(printed, h.y, 27), 0.1);
    else within("Eq. 21, printed, symmetric kernels", relative_difference(printed, h.y, 27), head_tolerance(&h));
}
END_TEST

/* Claim      The window of values in Eq. 5 is that of the key, V_j = X_(j) W^V.
 * Paper      StructSA, Eq. 5, second line.        Erratum.
 * Measure    y of the whole operator against the sum with V_i, as printed.
 * Failure    With V_i every query would gather around itself: y_i = (sum_j kappa_ij) V_i
 *            sees values no farther than the window reaches. On a line of 9 tokens a value
 *            three steps away changes nothing.
 * Correction With V_j it does, in every output. */
START_TEST(eq5_gathers_around_the_key)
{
    const struct subject s = {"9", "3", 1, 2, 2, 1, false};
    struct structsa_head h = normal_head(&s);
    real *y = zeros(18), *far = copy(h.v, 18);
    (void)tell(&h);
    for (size_t i = 0; i < 9; i++) {
        structsa_naive_kernels(&h, i);
        for (size_t j = 0; j < 9; j++)
            for (size_t m = 0; m < 3; m++)
                for (size_t ch = 0; ch < 2; ch++) y[i * 2 + ch] += h.kernels[j * 3 + m] * h.contexts[(i * 3 + m) * 2 + ch];
    }
    beyond("V_i, as printed", relative_difference(y, h.y, 18), 0.1);

    real *before = copy(h.y, 18);
    far[8 * 2] += 1;
    h.v = far;
    (void)tell(&h);
    for (size_t i = 0; i < 9; i++) ck_assert(h.y[i * 2] != before[i * 2]);
}
END_TEST

/* Claim      Self-attention does not give the same output regardless of the order of
 *            its tokens: its outputs are permuted as the tokens are. It is equivariant,
 *            not invariant; only a mean over its outputs is invariant.
 * Paper      StructSA, Sec. 3.1.                  Erratum.
 * Measure    |M| = 1, D = 1 on tokens in reverse order.
 * Failure    Outputs in place differ by more than a tenth.
 * Correction Reversed they are the same, and so is their mean.
 * Tolerance  structsa_case.h. */
START_TEST(self_attention_is_equivariant_not_invariant)
{
    const struct subject s = {"12", "1", 1, 3, 1, 1, false};
    struct structsa_head h = normal_head(&s), turned = normal_head(&s);
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
    TCase *errata = add_case(suite, "errata");
    tcase_add_loop_test(errata, eq21_reads_kernels_reversed, 0, 4);
    tcase_add_test(errata, eq5_gathers_around_the_key);
    tcase_add_test(errata, self_attention_is_equivariant_not_invariant);
    return run_suite(suite, "test_structsa_errata");
}
