/* test_chopd_errata.c -- where ChoP'D does not hold as printed, and what does
 *
 * Numbers are whole and the tolerance is zero where none is given. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../naive/chopd.h"
#include "../reference/msa.h"
#include "../reference/steps.h"

void counted_chopd_larger(real *u13, const real *map, const struct chopd_problem *p);

/* 6 tokens in a row, with factors of whole numbers; u2 has so many rows of them. */
static struct dfc_problem whole_factors(size_t rows)
{
    enum { B = 2, N = 6, C = 3, D = 2, R = 4 };
    return (struct dfc_problem){
        .B = B, .M = N, .N = N, .C = C, .D = D, .R = R,
        .u1 = integers(1, B * R, 3), .u2 = integers(2, rows * R, 3), .u3 = integers(3, N * R, 3),
        .u4 = integers(4, C * R, 3), .u5 = integers(5, D * R, 3),
    };
}

/* ---- Eq. 5, 6 and the costs -------------------------------------------------- */

/* Claim      The two gates cost O(R) each.
 * Paper      ChoP'D, Sec. 2.3, the total complexity.                 Erratum.
 * Measure    Products of u3 and u1 in Eq. 6, counted, for an image, in both readings of the unfolding.
 * Failure    u3 takes N R: a number for each token out and component.  With R numbers, the first
 *            token's for all, another layer is computed, in which all tokens out are equal.
 * Correction O(N R) for u3.  u1 takes R where the token mixing gives one number for all tokens (absolute
 *            positions), else N R. */
START_TEST(gating_costs_n_r)
{
    struct dfc_problem f = whole_factors(11), g = f;
    real *x = integers(9, 2 * 6 * 3, 3);
    struct steps absolute, relative, count;
    real *y = eq6(&f, x, ABSOLUTE, &absolute);
    (void)eq6(&f, x, RELATIVE, &relative);
    ck_assert(absolute.u3 / 2 == 6 * 4 && relative.u3 / 2 == 6 * 4);
    ck_assert(absolute.u1 / 2 == 4 && relative.u1 / 2 == 6 * 4);

    real *first = copy(f.u3, 6 * 4);
    for (size_t at = 0; at < 6 * 4; at++) first[at] = f.u3[at % 4];
    g.u3 = first;
    real *same = eq6(&g, x, ABSOLUTE, &count);
    unequal(same, y, 2 * 6 * 2);
    for (size_t n = 1; n < 6; n++) equal(same + n * 2, same, 2);
    unequal(y + 2, y, 2);
}
END_TEST

/* Claim      Eq. 6 follows from Eq. 4 and 5 by rearranging terms, with x unfolded and u2 a depth-wise convolution.
 * Paper      ChoP'D, Eq. 6 and its first footnote.                   Erratum.
 * Measure    Eq. 6 in both readings against Eq. 5 in Eq. 3; 6 tokens in a row, u3 of ones.
 * Failure    Unfolded, m counts positions relative to n.  Then tokens out differ, which in Eq. 5 with such u3
 *            they cannot, whatever u2: it is another layer.
 * Correction With m the tokens of Eq. 3 and 5, Eq. 6 is what the rearranging gives.  dfc-cp reads it so. */
START_TEST(relative_reading_of_eq6_is_another_layer)
{
    struct dfc_problem f = whole_factors(11);
    real *x = integers(9, 2 * 6 * 3, 3), *ones = zeros(6 * 4);
    struct steps count;
    for (size_t at = 0; at < 6 * 4; at++) ones[at] = 1;
    f.u3 = ones;
    real *dense = eq5_in_eq3(&f, x);
    equal(eq6(&f, x, ABSOLUTE, &count), dense, 2 * 6 * 2);
    for (size_t n = 1; n < 6; n++) equal(dense + n * 2, dense, 2);
    real *relative = eq6(&f, x, RELATIVE, &count);
    unequal(relative + 2, relative, 2);
    unequal(relative, dense, 2 * 6 * 2);
}
END_TEST

/* Claim      Both readings meet where the kernel is exponential in the offset, a^(m - n) = a^m a^-n for each
 *            component, so that the gate can take the share of n; and for one token.
 * Paper      ChoP'D, Eq. 6; derived.
 * Measure    Relative positions with kernels of 2, 1/2, -1 and 1 to the power of the offset against absolute
 *            ones with u2 = a^m and u3 a^-n; and any kernel with N = 1.
 * Tolerance  Zero: powers of two.
 * Would it fail?  With one number of the kernel changed they part. */
START_TEST(readings_of_eq6_meet_for_exponential_kernels)
{
    static const double base[] = {2, 0.5, -1, 1};
    struct dfc_problem relative = whole_factors(11), absolute = relative;
    real *x = integers(9, 2 * 6 * 3, 3), *kernel = zeros(11 * 4), *u2 = zeros(6 * 4), *u3 = zeros(6 * 4);
    struct steps count;
    for (size_t r = 0; r < 4; r++) {
        for (size_t o = 0; o < 11; o++) kernel[o * 4 + r] = (real)pow(base[r], (double)o - 5);
        for (size_t n = 0; n < 6; n++) {
            u2[n * 4 + r] = (real)pow(base[r], (double)n);
            u3[n * 4 + r] = relative.u3[n * 4 + r] * (real)pow(base[r], -(double)n);
        }
    }
    relative.u2 = kernel, absolute.u2 = u2, absolute.u3 = u3;
    real *y = eq6(&relative, x, RELATIVE, &count);
    equal(y, eq6(&absolute, x, ABSOLUTE, &count), 2 * 6 * 2);
    kernel[7 * 4] += 1;
    unequal(eq6(&relative, x, RELATIVE, &count), y, 2 * 6 * 2);

    struct dfc_problem one = whole_factors(1);
    one.M = one.N = 1;
    equal(eq6(&one, x, RELATIVE, &count), eq6(&one, x, ABSOLUTE, &count), 2 * 2);
}
END_TEST

/* The rank of a matrix of small whole numbers, by elimination with the largest pivot. */
static size_t rank_of(double *a, size_t n)
{
    size_t rank = 0;
    for (size_t column = 0; column < n; column++) {
        size_t pivot = rank;
        for (size_t i = rank; i < n; i++)
            if (fabs(a[i * n + column]) > fabs(a[pivot * n + column])) pivot = i;
        if (rank == n || fabs(a[pivot * n + column]) < 1e-9) continue;
        for (size_t j = 0; j < n; j++) {
            double kept = a[rank * n + j];
            a[rank * n + j] = a[pivot * n + j];
            a[pivot * n + j] = kept;
        }
        for (size_t i = rank + 1; i < n; i++) {
            double factor = a[i * n + column] / a[rank * n + column];
            for (size_t j = column; j < n; j++) a[i * n + j] -= factor * a[rank * n + j];
        }
        rank++;
    }
    return rank;
}

/* Claim      The relative reading with R components is an absolute CP with R N: a term for each component and
 *            token out.  N for each are needed in general, as the matrix of a kernel, its entries those of m - n,
 *            has rank N.
 * Paper      ChoP'D, Eq. 5 and 6; derived.
 * Measure    Both forms of dfc-cp with R N terms against Eq. 6 read relatively; the rank of the kernels'
 *            matrices, by elimination; that of an exponential kernel's, one.
 * Tolerance  Zero; 1e-9 for a pivot of small whole numbers. */
START_TEST(relative_reading_is_absolute_with_r_n_terms)
{
    enum { B = 2, N = 6, C = 3, D = 2, R = 4, MANY = R * N };
    struct dfc_problem f = whole_factors(2 * N - 1);
    struct steps count;
    struct trial t = trial("--activation none", &dfc_cp, B, C, "M=6 N=6 D=2 R=24", "");
    real *u1 = trial_tensor(&t, "u1"), *u2 = trial_tensor(&t, "u2"), *u3 = trial_tensor(&t, "u3");
    real *u4 = trial_tensor(&t, "u4"), *u5 = trial_tensor(&t, "u5");
    t.x = integers(9, B * N * C, 3);
    memset(trial_tensor(&t, "b"), 0, N * D * sizeof(real));
    for (size_t term = 0; term < MANY; term++) {
        size_t r = term / N, at = term % N;
        for (size_t i = 0; i < B; i++) u1[i * MANY + term] = f.u1[i * R + r];
        for (size_t m = 0; m < N; m++) u2[m * MANY + term] = f.u2[(m + N - 1 - at) * R + r];
        for (size_t n = 0; n < N; n++) u3[n * MANY + term] = n == at ? f.u3[n * R + r] : 0;
        for (size_t c = 0; c < C; c++) u4[c * MANY + term] = f.u4[c * R + r];
        for (size_t d = 0; d < D; d++) u5[d * MANY + term] = f.u5[d * R + r];
    }
    real *y = eq6(&f, t.x, RELATIVE, &count);
    ck_assert(largest(y, t.outputs) > 2);
    equal(trial_run(&t, "naive", 1), y, t.outputs);
    equal(trial_run(&t, "fast", 1), y, t.outputs);

    for (size_t r = 0; r <= R; r++) {
        double toeplitz[N * N];
        for (size_t mn = 0; mn < N * N; mn++) {
            size_t offset = mn / N + N - 1 - mn % N;
            toeplitz[mn] = r < R ? (double)f.u2[offset * R + r] : pow(2, (double)offset);
        }
        ck_assert_uint_eq(rank_of(toeplitz, N), r < R ? N : 1);
    }
}
END_TEST

/* Claim      A receptive field of size N around every one of N tokens is global.
 * Paper      ChoP'D, Eq. 6, "unfolding ... with a global receptive field of size N", and its footnote.   Erratum.
 * Measure    Pairs of tokens in and out that meet in patches of N positions around each token in a row of N,
 *            for N from 1 to 12.
 * Failure    A patch that is centred reaches N / 2 tokens to a side: from N = 3 on the outermost tokens do not
 *            see each other, and a quarter of all pairs is missing in the limit.
 * Correction 2 N - 1 positions, from -(N - 1) to N - 1, which the matrices U2 then have as rows. */
START_TEST(window_of_n_does_not_reach_all_tokens)
{
    for (long N = 1; N <= 12; N++) {
        long met = 0, all = 0;
        for (long n = 0; n < N; n++)
            for (long m = 0; m < N; m++) {
                met += m - n >= -(N / 2) && m - n < N - N / 2;
                all += m - n >= -(N - 1) && m - n <= N - 1;
            }
        ck_assert((met == N * N) == (N <= 1) && all == N * N);
        ck_assert(N < 12 || (met < N * N * 0.8 && met >= N * N * 0.75));
    }
}
END_TEST

/* Claim      Eq. 6 costs M C R + M N R + R + R + N D R.
 * Paper      ChoP'D, Sec. 2.3.                                      Erratum.
 * Measure    The five steps counted, for an image, in both readings; M = N = 6, C = 3, D = 2, R = 4.
 * Failure    The second term is that of the relative reading, the fourth that of the absolute one, the third that
 *            of neither; the total is neither's.
 * Correction M C R + M R + R + N R + N D R with absolute positions, M C R + M N R + 2 N R + N D R with
 *            relative ones. */
START_TEST(total_cost_fits_neither_reading)
{
    const double M = 6, N = 6, C = 3, D = 2, R = 4;
    struct dfc_problem f = whole_factors(11);
    struct steps absolute, relative;
    real *x = integers(9, 2 * 6 * 3, 3);
    (void)eq6(&f, x, ABSOLUTE, &absolute);
    (void)eq6(&f, x, RELATIVE, &relative);
    double printed = M * C * R + M * N * R + R + R + N * D * R;
    ck_assert(all_steps(&absolute) / 2 == M * C * R + M * R + R + N * R + N * D * R);
    ck_assert(all_steps(&relative) / 2 == M * C * R + M * N * R + 2 * N * R + N * D * R);
    ck_assert(all_steps(&absolute) / 2 < printed && printed < all_steps(&relative) / 2);
    ck_assert(relative.u2 / 2 == M * N * R && absolute.u1 / 2 == R && absolute.u3 / 2 != R && relative.u3 / 2 != R);
}
END_TEST

/* Claim      U123_imnh = softmax(Q_imch K_inch): the queries at the tokens m that are summed, the keys at n.
 * Paper      ChoP'D, Eq. 7, footnote 3.                              Erratum, or names changed about.
 * Measure    sum_m U123_mn x_m with these scores, normalised over the keys n, as softmax attention does, and over
 *            m, against msa; 9 tokens, 4 channels, one head.
 * Failure    Over the keys the weights of a token out do not sum to one, and y is not self-attention.
 * Correction Over m, with the names of Q and K exchanged, it is.
 * Tolerance  As for self-attention (test_chopd_layers.c): (M C + C + 3 M + 200) u sum |x| |W|, twice. */
START_TEST(softmax_sums_over_the_tokens_in)
{
    enum { M = 9, C = 4 };
    struct dfc_problem s = {.B = 1, .M = M, .N = M, .C = C, .D = C};
    struct trial t = trial("--grid 9 --scale 0.5", &msa, 1, C, "", "rpe b_qkv w_o b_o");
    real *qkv = trial_tensor(&t, "w_qkv"), *y;
    for (size_t at = 0; at < C * C; at++) qkv[2 * C * C + at] = at / C == at % C;
    y = trial_run(&t, "naive", 1);
    for (int over_m = 0; over_m < 2; over_m++) {
        real *w = zeros(M * M * C * C), score[M][M], q[M][C] = {{0}}, k[M][C] = {{0}};
        const real *w_q = over_m ? qkv + C * C : qkv, *w_k = over_m ? qkv : qkv + C * C;
        for (size_t m = 0; m < M; m++)
            for (size_t ec = 0; ec < C * C; ec++) {
                q[m][ec / C] += w_q[ec] * t.x[m * C + ec % C];
                k[m][ec / C] += w_k[ec] * t.x[m * C + ec % C];
            }
        for (size_t mn = 0; mn < M * M; mn++) {
            real sum = 0, *at = over_m ? &score[mn % M][mn / M] : &score[mn / M][mn % M];
            for (size_t e = 0; e < C; e++) sum += q[mn / M][e] * k[mn % M][e];
            *at = (real)0.5 * sum;
        }
        for (size_t a = 0; a < M; a++) softmax(score[a], M);
        for (size_t mn = 0; mn < M * M; mn++)
            for (size_t c = 0; c < C; c++)
                w[place(&s, 0, mn / M, mn % M, c, c)] = over_m ? score[mn % M][mn / M] : score[mn / M][mn % M];
        double difference = largest_difference(layer(&s, w, t.x), y, M * C);
        if (over_m) within("over m", difference, 2 * layer_bound(&s, w, t.x, C + 3 * M + 200));
        else beyond("over the keys", difference, 0.01);
    }
}
END_TEST

/* ---- ChoP'D -------------------------------------------------------------------- */

/* Claim      u2_mr = sum_g P_mrg E_rg.
 * Paper      ChoP'D, Eq. 8.                                         Erratum.
 * Measure    The layer of a grid of 3 x 4 tokens with gates of one, from the boxes around the first token for all
 *            tokens out, and from those around each.
 * Failure    Without n the boxes do not follow the token: every token out is the same.
 * Correction P_mnrg; then the tokens differ, and fast chopd gives them.
 * Tolerance  Zero: sides powers of two. */
START_TEST(pooling_without_n_makes_all_tokens_equal)
{
    enum { N = 12, C = 2, D = 3, R = 2, G = 2 };
    static const real box[] = {-1.25, -1, .75, 3, -.5, -3.5, .5, .5, 0, 0, 2, 2, -3.75, .25, .25, 1.25};
    struct trial t = trial("--grid 3x4 --activation none", &chopd, 1, C, "R=2 D=3 G=2 S=1", "");
    const struct chopd_problem former = chopd_of(&t.problem);
    real *P = zeros(N * N * R * G), *u2 = zeros(N * N * R), *ones = zeros(N * R);
    real *w = zeros(N * N * C * D), *y = zeros(N * D);
    make_whole(&t);
    memcpy(trial_tensor(&t, "boxes"), box, sizeof box);
    memset(trial_tensor(&t, "phi_w2"), 0, R * sizeof(real));
    memset(trial_tensor(&t, "b"), 0, D * sizeof(real));
    for (size_t at = 0; at < N * R; at++) ones[at] = 1;
    for (size_t r = 0; r < R; r++) trial_tensor(&t, "phi_b2")[r] = 100;      /* the logistic of which is 1 */

    for (int printed = 0; printed < 2; printed++) {
        chopd_naive_pooling(P, box, 3, 4, R, G);
        for (size_t at = 0; printed && at < N * N * R * G; at++)
            P[at] = P[at / (N * R * G) * N * R * G + at % (R * G)];
        chopd_naive_mixing(u2, P, former.mix, N, R, G);
        chopd_naive_tensor(w, u2, ones, &former);
        fc_naive_apply(y, t.x, w, N, N, C, D);
        if (printed) for (size_t n = 1; n < N; n++) equal(y + n * D, y, D);
        else {
            for (size_t n = 1; n < N; n++) unequal(y + n * D, y, D);
            equal(trial_run(&t, "fast", 1), y, N * D);
        }
    }
}
END_TEST

/* Claim      The complexity of the gate u13 is constant with respect to N.
 * Paper      ChoP'D, Sec. 2.3, below Eq. 9.                          Holds in part.
 * Measure    phi's multiply-adds, and the counted ones of making its map larger, on 7 x 7 and 14 x 14 tokens,
 *            the map of 4 x 4.
 * Failure    phi is constant; the interpolation takes 3 N R, and applying the gate N R.
 * What fits  Constant for a token, as all else in Eq. 10. */
START_TEST(gate_is_constant_in_n_but_its_use_is_not)
{
    double phi[2], larger[2];
    for (size_t k = 0; k < 2; k++) {
        const char *options = k ? "--grid 14x14 --gate-size 4" : "--grid 7x7 --gate-size 4";
        struct trial t = trial(options, &chopd, 1, 3, "R=5 D=3 G=2 S=2", "");
        struct chopd_problem p = chopd_of(&t.problem);
        phi[k] = chopd_gate_multiply_adds(&p);
        multiplications();
        counted_chopd_larger(zeros(p.N * p.R), normal(1, 16 * p.R), &p);
        larger[k] = (double)multiplications();
        ck_assert(larger[k] == 3 * (double)(p.N * p.R));
    }
    ck_assert(phi[0] == phi[1] && phi[0] == 16 * (9 * 3 * 2 + 2 * 5) && larger[1] == 4 * larger[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ChoP'D, errata");
    TCase *factors = add_case(suite, "factors");
    tcase_add_test(factors, gating_costs_n_r);
    tcase_add_test(factors, relative_reading_of_eq6_is_another_layer);
    tcase_add_test(factors, readings_of_eq6_meet_for_exponential_kernels);
    tcase_add_test(factors, relative_reading_is_absolute_with_r_n_terms);
    tcase_add_test(factors, window_of_n_does_not_reach_all_tokens);
    tcase_add_test(factors, total_cost_fits_neither_reading);
    tcase_add_test(factors, softmax_sums_over_the_tokens_in);
    TCase *pooling = add_case(suite, "pooling and gate");
    tcase_add_test(pooling, pooling_without_n_makes_all_tokens_equal);
    tcase_add_test(pooling, gate_is_constant_in_n_but_its_use_is_not);
    return run_suite(suite, "test_chopd_errata");
}
