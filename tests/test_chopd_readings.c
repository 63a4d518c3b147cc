/* test_chopd_readings.c -- what ChoP'D leaves open, and what follows from each reading
 *
 * Where no tolerance is given, numbers are whole and it is zero. */

#include "chopd_case.h"
#include "dfc_case.h"
#include "../reference/msa.h"
#include "../reference/steps.h"

void counted_chopd_larger(real *u13, const real *map, const struct chopd_problem *p);

/* N tokens in a row, with factors of whole numbers; u2 has this many rows. */
static struct dfc_problem whole_factors_on(size_t N, size_t rows)
{
    enum { B = 2, C = 3, D = 2, R = 4 };
    return (struct dfc_problem){
        .B = B, .M = N, .N = N, .C = C, .D = D, .R = R,
        .u1 = integers(1, B * R, 3), .u2 = integers(2, rows * R, 3), .u3 = integers(3, N * R, 3),
        .u4 = integers(4, C * R, 3), .u5 = integers(5, D * R, 3),
    };
}

static struct dfc_problem whole_factors(size_t rows)
{
    return whole_factors_on(6, rows);
}

/* Eq. 6 with the image repeated for each token out, X_imnc = X_imc: its second step sums over m for each n. */
static real *eq6_repeated(const struct dfc_problem *s, const real *x, struct steps *k)
{
    size_t M = s->M, N = s->N, C = s->C, D = s->D, R = s->R;
    real *y = zeros(s->B * N * D), *z = zeros(M * R);
    *k = (struct steps){0};
    for (size_t i = 0; i < s->B; i++) {
        memset(z, 0, M * R * sizeof *z);
        for (size_t mr = 0; mr < M * R; mr++)
            for (size_t c = 0; c < C; c++, k->u4++)
                z[mr] += x[(i * M + mr / R) * C + c] * s->u4[c * R + mr % R];
        for (size_t nr = 0; nr < N * R; nr++) {
            real sum = 0;
            for (size_t m = 0; m < M; m++, k->u2++) sum += z[m * R + nr % R] * s->u2[m * R + nr % R];
            sum *= s->u3[nr], sum *= s->u1[i * R + nr % R];
            k->u3++, k->u1++;
            for (size_t d = 0; d < D; d++, k->u5++) y[(i * N + nr / R) * D + d] += sum * s->u5[d * R + nr % R];
        }
    }
    return y;
}

/* ---- Eq. 5, 6 and the costs -------------------------------------------------- */

/* ChoP'D, Sec. 2.3, prints O(R), which is right for a token. u1 takes R for an image where token mixing gives one
 * number for all tokens, else N R. With the first token's u3 for all, all tokens out are equal: another layer. */
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

/* ChoP'D, Eq. 6, footnote 1. With u3 of ones all tokens out are equal in Eq. 5, whatever u2. With sliding patches
 * among zeros, where m is relative to n, they are not. */
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

/* Derived from Eq. 6: a^(m - n) = a^m a^-n, so the gate can take the share of n. Exact: powers of two. */
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

/* Derived from Eq. 5 and 6: one term for each component and token out. The matrix of a kernel, entries those of m - n,
 * has rank N, and rank one if the kernel is exponential. */
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

/* Claim      Centred patches of size N, with zeros around the tokens, are not global; patches of 2 N - 1 are.
 * Paper      ChoP'D, Eq. 6, "unfolding ... with a global receptive field of size N", and its footnote: one of the
 *            readings (unfolding_that_repeats_or_wraps_is_global has the others).
 * Measure    Pairs of tokens in and out that meet in patches of N positions around each token in a row of N,
 *            for N from 1 to 12.
 *            A centred patch reaches N / 2 tokens to a side: from N = 2 on some of the outermost tokens do not see
 *            each other, and a quarter of all pairs is missing in the limit.  2 N - 1 positions, from -(N - 1) to
 *            N - 1, are then the rows of U2. */
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

/* ChoP'D, Eq. 6, footnote 1. With the image repeated for each token out Eq. 6 is Eq. 5 in Eq. 3. */
START_TEST(unfolding_that_repeats_or_wraps_is_global)
{
    for (size_t N = 1; N <= 12; N++) {
        bool repeated[12][12] = {{0}}, wrapped[12][12] = {{0}}, centred[12][12] = {{0}}, wide[12][12] = {{0}};
        size_t met[4] = {0};
        for (size_t n = 0; n < N; n++) {
            for (size_t k = 0; k < N; k++) {
                size_t m = n + k - N / 2;               /* wraps below 0, and is no token */
                repeated[k][n] = true;
                wrapped[(n + k + N - N / 2) % N][n] = true;
                if (m < N) centred[m][n] = true;
            }
            for (size_t k = 0; k < 2 * N - 1; k++)
                if (n + k - (N - 1) < N) wide[n + k - (N - 1)][n] = true;
        }
        for (size_t mn = 0; mn < N * N; mn++) {
            met[0] += repeated[mn / N][mn % N], met[1] += wrapped[mn / N][mn % N];
            met[2] += centred[mn / N][mn % N], met[3] += wide[mn / N][mn % N];
        }
        ck_assert(met[0] == N * N && met[1] == N * N && met[3] == N * N);
        ck_assert(N == 1 ? met[2] == 1 : met[2] < N * N);
    }

    struct dfc_problem f = whole_factors(6);
    struct steps count;
    real *x = integers(9, 2 * 6 * 3, 3), *y = eq5_in_eq3(&f, x);
    ck_assert(largest(y, 2 * 6 * 2) > 2);
    equal(eq6_repeated(&f, x, &count), y, 2 * 6 * 2);
    ck_assert(count.u2 / 2 == 6 * 6 * 4);
}
END_TEST

/* ChoP'D, Sec. 2.3. */
START_TEST(total_of_eq6_is_of_the_printed_order)
{
    const double C = 3, D = 2, R = 4;
    for (size_t N = 6; N <= 600; N *= 10) {
        struct dfc_problem f = whole_factors_on(N, 2 * N - 1);
        struct steps count;
        double total[3], n = (double)N, printed = n * C * R + n * n * R + R + R + n * D * R;
        real *x = integers(9, 2 * N * 3, 3);
        (void)eq6(&f, x, ABSOLUTE, &count), total[0] = all_steps(&count) / 2;
        (void)eq6(&f, x, RELATIVE, &count), total[1] = all_steps(&count) / 2;
        (void)eq6_repeated(&f, x, &count), total[2] = all_steps(&count) / 2;
        for (int reading = 0; reading < 3; reading++) {
            ck_assert(total[reading] <= printed + 2 * n * R && total[reading] <= printed * (1 + 2 / D));
            ck_assert(reading == 0 ? total[reading] < printed : total[reading] > printed);
        }
        ck_assert(N != 6 || (printed == 272 && total[0] == 172 && total[1] == 312 && total[2] == 312));
    }
}
END_TEST

/* ChoP'D, Sec. 2.3. */
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

/* ChoP'D, Eq. 7, footnote 3: softmax(Q_imch K_inch) has queries at m and keys at n. Summed over m, with Q and K
 * exchanged, it is self-attention; over the keys it is not. Tolerance as for self-attention (test_chopd_layers.c). */
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

/* ChoP'D, Eq. 8 and 10: u2_mr = sum_g P_mrg E_rg, m one of 5 x 7 offsets on 3 x 4 tokens. If m counts tokens, all
 * tokens out are equal; with P moved by one offset the layer differs. Exact: sides are powers of two. */
START_TEST(eq8_needs_no_n_on_unfolded_tokens)
{
    enum { H = 3, W = 4, N = H * W, C = 2, D = 3, R = 2, G = 2, DOWN = 2 * H - 1, ACROSS = 2 * W - 1 };
    enum { AS_UNFOLDED, AS_TOKENS, MOVED, WAYS };
    static const real box[R * G][4] = {
        {-1.25, -1, .75, 3}, {-.5, -3.5, .5, .5}, {0, 0, 2, 2}, {-3.75, .25, .25, 1.25},
    };
    struct trial t = trial("--grid 3x4 --activation none", &chopd, 1, C, "R=2 D=3 G=2 S=1", "");
    const struct chopd_problem p = chopd_of(&t.problem);
    real *u2 = zeros(DOWN * ACROSS * R), *y[WAYS];
    make_whole(&t);
    memcpy(trial_tensor(&t, "boxes"), box, sizeof box);
    memset(trial_tensor(&t, "b"), 0, D * sizeof(real));
    open_gate(&t);

    for (size_t at = 0; at < DOWN * ACROSS; at++)
        for (size_t rg = 0; rg < R * G; rg++) {
            double down = (double)(at / ACROSS) - (H - 1), across = (double)(at % ACROSS) - (W - 1);
            const real *b = box[rg];
            double shared = fmax(0, fmin(down + 0.5, (double)b[2]) - fmax(down - 0.5, (double)b[0]))
                          * fmax(0, fmin(across + 0.5, (double)b[3]) - fmax(across - 0.5, (double)b[1]));
            double P = shared / (double)((b[2] - b[0]) * (b[3] - b[1]));
            u2[at * R + rg / G] += (real)P * p.mix[rg];
        }
    for (int way = 0; way < WAYS; way++) {
        y[way] = zeros(N * D);
        for (size_t nm = 0; nm < N * N; nm++) {
            size_t n = nm / N, m = nm % N, out = way == AS_TOKENS ? 0 : n;
            size_t offset = (m / W + H - 1 - out / W) * ACROSS + m % W + W - 1 - out % W;
            if (way == MOVED) offset = (offset + 1) % (DOWN * ACROSS);
            for (size_t cdr = 0; cdr < C * D * R; cdr++) {
                size_t c = cdr / (D * R), d = cdr / R % D, r = cdr % R;
                y[way][n * D + d] += t.x[m * C + c] * p.u4[c * R + r] * u2[offset * R + r] * p.u5[d * R + r];
            }
        }
    }
    equal(trial_run(&t, "naive", 1), y[AS_UNFOLDED], N * D);
    equal(trial_run(&t, "fast", 1), y[AS_UNFOLDED], N * D);
    for (size_t n = 1; n < N; n++) equal(y[AS_TOKENS] + n * D, y[AS_TOKENS], D);
    unequal(y[AS_UNFOLDED] + D, y[AS_UNFOLDED], D);
    unequal(y[MOVED], y[AS_UNFOLDED], N * D);
}
END_TEST

/* The largest minor of two images and two tokens of a gate [images][N][R], over its largest entry squared. */
static double largest_minor(const real *gate, size_t images, size_t N, size_t R)
{
    double most = 0, entry = largest(gate, images * N * R);
    for (size_t i = 0; i < images; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t m = 0; m < N; m++)
                for (size_t n = 0; n < m; n++)
                    for (size_t r = 0; r < R; r++) {
                        const real *a = gate + i * N * R + r, *b = gate + j * N * R + r;
                        worse(&most, fabs((double)a[m * R] * (double)b[n * R] - (double)a[n * R] * (double)b[m * R]));
                    }
    return most / (entry * entry);
}

/* ChoP'D, Eq. 9 and 10: a product u1_ir u3_nr has no minors but zeros. Without phi's last map the gate's minors are
 * within 16 u, the roundings of four entries. */
START_TEST(gate_is_no_product_of_image_and_token)
{
    enum { B = 3, N = 25, C = 3, R = 2 };
    real *product = zeros(B * N * R), *u1 = integers(51, B * R, 3), *u3 = integers(52, N * R, 3);
    for (int constant = 0; constant < 2; constant++) {
        struct trial t = trial("--grid 5x5 --gate-size 3", &chopd, B, C, "R=2 D=3 G=1 S=4", "");
        struct chopd_problem p = chopd_of(&t.problem);
        if (constant) memset(trial_tensor(&t, "phi_w2"), 0, R * p.S * sizeof(real));
        double minor = largest_minor(gates(&p, t.x), B, N, R);
        if (constant) within("    without phi's last map", minor, 16 * UNIT_ROUNDOFF);
        else beyond("a minor of the gate", minor, 1e-3);
    }
    for (size_t inr = 0; inr < B * N * R; inr++) product[inr] = u1[inr / (N * R) * R + inr % R] * u3[inr % (N * R)];
    ck_assert(largest(product, B * N * R) > 2 && largest_minor(product, B, N, R) == 0);
}
END_TEST

/* ChoP'D, Sec. 2.3, below Eq. 9. phi's cost is the paper's; interpolating takes 3 N R. */
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
    Suite *suite = suite_create("ChoP'D, readings");
    TCase *factors = add_case(suite, "factors");
    tcase_add_test(factors, gating_costs_n_r);
    tcase_add_test(factors, relative_reading_of_eq6_is_another_layer);
    tcase_add_test(factors, readings_of_eq6_meet_for_exponential_kernels);
    tcase_add_test(factors, relative_reading_is_absolute_with_r_n_terms);
    tcase_add_test(factors, window_of_n_does_not_reach_all_tokens);
    tcase_add_test(factors, unfolding_that_repeats_or_wraps_is_global);
    tcase_add_test(factors, total_cost_fits_neither_reading);
    tcase_add_test(factors, total_of_eq6_is_of_the_printed_order);
    tcase_add_test(factors, softmax_sums_over_the_tokens_in);
    TCase *pooling = add_case(suite, "pooling and gate");
    tcase_add_test(pooling, eq8_needs_no_n_on_unfolded_tokens);
    tcase_add_test(pooling, gate_is_no_product_of_image_and_token);
    tcase_add_test(pooling, gate_is_constant_in_n_but_its_use_is_not);
    return run_suite(suite);
}
