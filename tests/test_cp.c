/* test_cp.c -- reference/instruments/cp.h
 *
 * u = 2^-53: cp.h is double in both builds.  cp_als computes the error from the entries' differences, each wrong by at
 * most (rank + 1) u of sum_r |terms|; for normal draws of a few terms that is some 1e-15 of the norm.  EXACT is 1e-12:
 * the normal equations square the condition of their factors, at most some hundreds for normal draws and a rank below
 * the sizes. */

#include "support.h"
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "../reference/bytes.h"
#include "../reference/instruments/cp.h"
#include "../reference/random.h"

#define EXACT 1e-12

/* Sizes, and a rank at which random terms are recovered. */
static const struct { int axes; size_t size[CP_AXES], rank; } shape[] = {
    {3, {4, 5, 6}, 1},      {3, {4, 5, 6}, 3},        {3, {8, 7, 6}, 5},         {3, {6, 6, 6}, 7},
    {4, {3, 4, 5, 6}, 4},   {4, {3, 4, 5, 6}, 8},     {5, {3, 4, 3, 4, 5}, 4},   {5, {4, 9, 9, 5, 5}, 12},
};

static double *room(size_t n)
{
    double *a = calloc(n, sizeof *a);
    ck_assert_ptr_nonnull(a);
    return a;
}

static size_t entries(int axes, const size_t size[])
{
    size_t n = 1;
    for (int a = 0; a < axes; a++) n *= size[a];
    return n;
}

static double *gaussian(uint64_t seed, size_t n)
{
    double *a = room(n);
    for (size_t i = 0; i < n; i++) a[i] = random_normal(seed, 0, i);
    return a;
}

/* Terms of normal draws; `forget` frees them. */
static struct cp known_terms(uint64_t seed, int axes, const size_t size[], size_t rank)
{
    struct cp cp = {.axes = axes, .rank = rank};
    for (int a = 0; a < axes; a++) {
        cp.size[a] = size[a];
        cp.factor[a] = gaussian(seed + 1000 * (uint64_t)a, size[a] * rank);
    }
    return cp;
}

static void forget(struct cp *cp)
{
    for (int a = 0; a < cp->axes; a++) free(cp->factor[a]);
}

/* The sum of the terms by its definition. */
static double *entries_of(const struct cp *cp)
{
    size_t n = entries(cp->axes, cp->size);
    double *t = room(n);
    for (size_t k = 0; k < n; k++)
        for (size_t r = 0; r < cp->rank; r++) {
            double term = 1;
            size_t rest = k;
            for (int a = cp->axes; a-- > 0; rest /= cp->size[a])
                term *= cp->factor[a][rest % cp->size[a] * cp->rank + r];
            t[k] += term;
        }
    return t;
}

/* ||a - b|| / ||b||. */
static double away(const double *a, const double *b, size_t n)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(difference / norm);
}

static double *normal_terms(uint64_t seed, int axes, const size_t size[], size_t rank)
{
    struct cp cp = known_terms(seed, axes, size, rank);
    double *t = entries_of(&cp);
    forget(&cp);
    return t;
}

/* ---- what a decomposition is ------------------------------------------ */

/* ChoP'D, Sec. 2.1; Kolda and Bader (2009).  Exact: factors are odd whole numbers from -3 to 3, sums below 2^53. */
START_TEST(terms_add_up)
{
    struct cp cp = known_terms(1, shape[_i].axes, shape[_i].size, shape[_i].rank);
    for (int a = 0; a < cp.axes; a++)
        for (size_t i = 0; i < cp.size[a] * cp.rank; i++)
            cp.factor[a][i] = 2 * (double)(random_bits(2, (uint64_t)a, i) % 4) - 3;
    size_t n = entries(cp.axes, cp.size);
    double *t = room(n), *by_definition = entries_of(&cp);
    succeeds(cp_reconstruct(t, &cp));
    ck_assert_int_eq(memcmp(t, by_definition, n * sizeof *t), 0);

    cp.factor[cp.axes - 1][0] += 1;
    succeeds(cp_reconstruct(t, &cp));
    ck_assert(away(t, by_definition, n) > 0);
    free(t);
    free(by_definition);
    forget(&cp);
}
END_TEST

/* 1e-13 of the error: sums of at most 5 000 squares, differences of terms of normal size. */
START_TEST(reported_error_is_the_distance)
{
    size_t n = entries(shape[_i].axes, shape[_i].size);
    double *t = gaussian(3, n), error, norm = 0;
    struct cp cp;
    struct cp_options few = {.starts = 1, .sweeps = 20};
    succeeds(cp_als(&cp, t, shape[_i].axes, shape[_i].size, shape[_i].rank, &few));
    double *sum = entries_of(&cp);
    double plain = away(sum, t, n);
    ck_assert(plain > 0.01);
    within("cp_als", fabs(cp.error - plain) / plain, 1e-13);
    succeeds(cp_error(&error, &cp, t));
    within("cp_error", fabs(error - plain) / plain, 1e-13);

    for (size_t i = 0; i < n; i++) norm += t[i] * t[i];
    t[0] += 0.001 * sqrt(norm);
    succeeds(cp_error(&error, &cp, t));
    beyond("... of another tensor", fabs(error - plain) / plain, 1e-13);
    cp_release(&cp);
    free(sum);
    free(t);
}
END_TEST

/* A term's columns have the same length in all axes.  1e-13: two sums of squares and a scaling. */
START_TEST(weights_are_shared_by_the_axes)
{
    size_t size[] = {4, 5, 6, 3};
    double *t = normal_terms(5, 4, size, 4), worst = 0;
    struct cp cp;
    succeeds(cp_als(&cp, t, 4, size, 4, NULL));
    for (size_t r = 0; r < 4; r++) {
        double length[4] = {0};
        for (int a = 0; a < 4; a++)
            for (size_t i = 0; i < size[a]; i++) length[a] = hypot(length[a], cp.factor[a][i * 4 + r]);
        for (int a = 1; a < 4; a++) worse(&worst, fabs(length[a] / length[0] - 1));
    }
    within("lengths", worst, 1e-13);
    cp_release(&cp);
    free(t);
}
END_TEST

/* ---- exactness ----------------------------------------------------------- */

/* ChoP'D, Sec. 2.3: no error is left if R >= rank(W).  With a term too many 1e-9: two terms that nearly cancel cost
 * digits, and the last of them converge slowly. */
START_TEST(true_rank_is_exact)
{
    struct cp_options patient = {.seed = 1, .starts = 16, .tolerance = 1e-7};
    for (uint64_t seed = 10; seed < 15; seed++) {
        double *t = normal_terms(seed, shape[_i].axes, shape[_i].size, shape[_i].rank);
        for (size_t rank = shape[_i].rank; rank <= shape[_i].rank + 1; rank++) {
            struct cp cp;
            succeeds(cp_als(&cp, t, shape[_i].axes, shape[_i].size, rank, &patient));
            if (rank == shape[_i].rank) within("at its rank", cp.error, EXACT);
            else within("one term more", cp.error, 1e-9);
            cp_release(&cp);
        }
        if (shape[_i].rank > 1) {
            struct cp cp;
            succeeds(cp_als(&cp, t, shape[_i].axes, shape[_i].size, shape[_i].rank - 1, NULL));
            beyond("one term less", cp.error, 0.01);
            cp_release(&cp);
        }
        free(t);
    }
}
END_TEST

/* The largest over the terms of 1 - product of the columns' cosines.  Each term of a is matched with the term of b that
 * gives the largest product, and none twice. */
static double unlike(const struct cp *a, const struct cp *b)
{
    bool taken[64] = {false};
    double worst = 0;
    for (size_t r = 0; r < a->rank; r++) {
        double most = -1;
        size_t with = 0;
        for (size_t q = 0; q < b->rank; q++) {
            double alike = 1;
            for (int axis = 0; axis < a->axes; axis++) {
                double ab = 0, aa = 0, bb = 0;
                for (size_t i = 0; i < a->size[axis]; i++) {
                    double x = a->factor[axis][i * a->rank + r], y = b->factor[axis][i * b->rank + q];
                    ab += x * y, aa += x * x, bb += y * y;
                }
                alike *= ab / sqrt(aa * bb);
            }
            if (!taken[q] && alike > most) most = alike, with = q;
        }
        taken[with] = true;
        worst = isnan(most) || 1 - most > worst ? 1 - most : worst;
    }
    return worst;
}

/* Kruskal (1977): CP is unique if the k-ranks, here 4 + 4 + 4, add to at least 2 R + axes - 1 = 2 * 4 + 2; a matrix's
 * is not.  1e-12: 1 - cosine is half the angle squared, the angle about EXACT times the terms' condition; rounding
 * leaves some 20 u. */
START_TEST(terms_are_found_up_to_order_and_scale)
{
    size_t size[] = {4, 5, 6}, flat[] = {4, 30, 1};
    for (uint64_t seed = 20; seed < 25; seed++) {
        struct cp made = known_terms(seed, 3, size, 4), found;
        double *t = entries_of(&made);
        succeeds(cp_als(&found, t, 3, size, 4, &(struct cp_options){.starts = 16}));
        within("exact", found.error, EXACT);
        within("terms", unlike(&made, &found), 1e-12);
        cp_release(&found);

        struct cp matrix = known_terms(seed, 3, flat, 4);
        double *m = entries_of(&matrix);
        succeeds(cp_als(&found, m, 3, flat, 4, NULL));
        within("a matrix, exact", found.error, EXACT);
        beyond("    and not unique", unlike(&matrix, &found), 0.01);
        cp_release(&found);
        free(t);
        free(m);
        forget(&made);
        forget(&matrix);
    }
}
END_TEST

/* Squares of the singular values of a [rows][columns], largest first, by one-sided Jacobi rotations of pairs of rows
 * (Hestenes).  Overwrites a. */
static void singular_squares(double *square, double *a, size_t rows, size_t columns)
{
    for (int round = 0; round < 60; round++)
        for (size_t p = 0; p < rows; p++)
            for (size_t q = p + 1; q < rows; q++) {
                double pp = 0, qq = 0, pq = 0;
                for (size_t j = 0; j < columns; j++) {
                    double x = a[p * columns + j], y = a[q * columns + j];
                    pp += x * x, qq += y * y, pq += x * y;
                }
                double angle = 0.5 * atan2(2 * pq, pp - qq), c = cos(angle), s = sin(angle);
                for (size_t j = 0; j < columns; j++) {
                    double x = a[p * columns + j], y = a[q * columns + j];
                    a[p * columns + j] = c * x + s * y;
                    a[q * columns + j] = c * y - s * x;
                }
            }
    for (size_t p = 0; p < rows; p++) {
        square[p] = 0;
        for (size_t j = 0; j < columns; j++) square[p] += a[p * columns + j] * a[p * columns + j];
    }
}

/* Eckart and Young (1936); ChoP'D, Sec. 2.1: CP "generalizes ... SVD to tensors".  1e-6: a start ends after three gains
 * below 1e-9 of the error; ALS converges by (s_{R+1}/s_R)^2 < 0.998 a sweep: 3e-9/(1 - 0.998) = 1.5e-6, halved as the
 * gain ends, not begins. */
START_TEST(matrices_reach_their_singular_values)
{
    enum { ROWS = 7, COLUMNS = 10 };
    static const size_t size[3][3] = {{1, ROWS, COLUMNS}, {ROWS, 1, COLUMNS}, {ROWS, COLUMNS, 1}};
    static const size_t ranks[] = {1, 2, 4, 7};
    double *t = gaussian(30, ROWS * COLUMNS), *a = room(ROWS * COLUMNS), square[ROWS], all = 0;
    memcpy(a, t, ROWS * COLUMNS * sizeof *a);
    singular_squares(square, a, ROWS, COLUMNS);
    for (size_t p = 0; p < ROWS; p++) all += square[p];

    for (size_t k = 0; k < COUNT(ranks); k++) {
        double tail = 0;
        struct cp cp;
        for (size_t p = ranks[k]; p < ROWS; p++) tail += square[p];
        succeeds(cp_als(&cp, t, 3, size[_i], ranks[k], &(struct cp_options){.tolerance = 1e-9, .sweeps = 5000}));
        double best = sqrt(tail / all);
        if (ranks[k] == ROWS) within("full rank", cp.error, EXACT);
        else {
            within("error against singular values", fabs(cp.error / best - 1), 1e-6);
            beyond("    one term less", fabs(cp.error / sqrt((tail + square[ranks[k] - 1]) / all) - 1), 1e-6);
        }
        cp_release(&cp);
    }
    free(t);
    free(a);
}
END_TEST

/* ---- convergence ------------------------------------------------------------ */

START_TEST(no_sweep_raises_the_error)
{
    enum { SWEEPS = 300 };
    size_t n = entries(shape[_i].axes, shape[_i].size);
    for (int noise = 0; noise < 2; noise++) {
        double history[SWEEPS];
        struct cp_options o = {.sweeps = SWEEPS, .history = history};
        double *t = noise ? gaussian(40, n) : normal_terms(41, shape[_i].axes, shape[_i].size, shape[_i].rank);
        struct cp cp;
        succeeds(cp_als(&cp, t, shape[_i].axes, shape[_i].size, shape[_i].rank + 1, &o));
        ck_assert_uint_ge(cp.sweeps, 1);
        ck_assert_double_eq(history[cp.sweeps - 1], cp.error);
        for (size_t k = 1; k < cp.sweeps; k++) ck_assert_double_le(history[k], history[k - 1]);
        if (cp.sweeps > 1) ck_assert_double_lt(cp.error, history[0]);
        cp_release(&cp);
        free(t);
    }
}
END_TEST

/* ChoP'D, Sec. 2.3: "lower R implies larger errors".  4 * 5 terms suffice for any 4 x 5 x 6 tensor: 1e-8 is left, as
 * terms are too many. */
START_TEST(error_falls_with_rank)
{
    size_t size[] = {4, 5, 6};
    double *t = gaussian(50, 120), last = 1;
    struct cp before = {0}, cp;
    for (size_t rank = 1; rank <= 20; rank++) {
        struct cp_options o = {.from = rank > 1 ? &before : NULL, .starts = 2};
        succeeds(cp_als(&cp, t, 3, size, rank, &o));
        if (last > 1e-8) ck_assert_double_lt(cp.error, last);
        if (rank == 1) ck_assert_double_gt(cp.error, 0.5);
        last = cp.error;
        cp_release(&before);
        before = cp;
    }
    within("20 terms", cp.error, 1e-8);
    cp_release(&cp);
    free(t);
}
END_TEST

START_TEST(terms_to_start_from_are_kept)
{
    size_t size[] = {6, 7, 8};
    double *t = gaussian(55, 6 * 7 * 8);
    struct cp five, six, fresh;
    succeeds(cp_als(&five, t, 3, size, 5, NULL));
    succeeds(cp_als(&six, t, 3, size, 6, &(struct cp_options){.from = &five, .starts = 1, .sweeps = 1}));
    succeeds(cp_als(&fresh, t, 3, size, 6, &(struct cp_options){.starts = 1, .sweeps = 1}));
    ck_assert_double_lt(six.error, five.error);
    ck_assert_double_gt(fresh.error, five.error);
    cp_release(&five);
    cp_release(&six);
    cp_release(&fresh);
    free(t);
}
END_TEST

/* Rank 9 of a 2 x 2 x 9 tensor of one term; then a start from two equal terms and one of zeros, whose singular G and
 * superfluous terms leave 1e-9. */
START_TEST(singular_systems_are_solved)
{
    size_t size[] = {2, 2, 9};
    struct cp from = known_terms(60, 3, size, 3), cp;
    double *t = normal_terms(61, 3, size, 1);
    for (int a = 0; a < 3; a++)
        for (size_t i = 0; i < size[a]; i++) {
            from.factor[a][i * 3 + 1] = from.factor[a][i * 3];
            from.factor[a][i * 3 + 2] = 0;
        }
    succeeds(cp_als(&cp, t, 3, size, 9, &(struct cp_options){.from = &from}));
    within("9 terms for one", cp.error, EXACT);
    cp_release(&cp);
    succeeds(cp_als(&cp, t, 3, size, 3, &(struct cp_options){.from = &from, .starts = 1}));
    within("alike and vanished terms", cp.error, 1e-9);
    cp_release(&cp);
    forget(&from);
    free(t);
}
END_TEST

/* de Silva and Lim (2008), a a b + a b a + b a a has rank 3: with rank 2 the terms grow and nearly cancel, and the
 * error falls for as long as one waits.  ChoP'D does not mention it.  Rank 3 reaches 1e-6. */
START_TEST(some_tensors_have_no_best_approximation)
{
    size_t size[] = {2, 2, 2};
    double t[8] = {0, 1, 1, 0, 1, 0, 0, 0}, error[2], length[2];       /* 001, 010 and 100 */
    for (int k = 0; k < 2; k++) {
        struct cp cp;
        struct cp_options o = {.starts = 1, .sweeps = k ? 5000 : 50, .tolerance = 1e-12};
        succeeds(cp_als(&cp, t, 3, size, 2, &o));
        error[k] = cp.error;
        length[k] = 0;
        for (size_t i = 0; i < 4; i++) worse(&length[k], fabs(cp.factor[0][i]));
        cp_release(&cp);
    }
    within("5 000 sweeps against 50", error[1] / error[0], 0.5);
    beyond("    longest column against that of 50 sweeps", length[1] / length[0], 1.05);
    ck_assert(error[1] > 1e-6);

    struct cp three;
    succeeds(cp_als(&three, t, 3, size, 3, NULL));
    within("three terms", three.error, 1e-6);
    cp_release(&three);
}
END_TEST

/* ---- layers ------------------------------------------------------------------- */

/* ChoP'D, Sec. 2.3: O(L R), L = max(M, N, C, D).  Past R = M N C D / (M + N + C + D) the factors are larger than the
 * tensor, which the O hides. */
START_TEST(storage_is_that_of_the_factors)
{
    struct cp cp = {.axes = 4, .size = {196, 196, 96, 48}, .rank = 64};
    ck_assert_uint_eq(cp_storage(&cp), 64 * (196 + 196 + 96 + 48));
    ck_assert_uint_eq(cp_dense_storage(&cp), (size_t)196 * 196 * 96 * 48);
    ck_assert_uint_le(cp_storage(&cp), 4 * 196 * cp.rank);
    cp.rank = (size_t)196 * 196 * 96 * 48 / 536;
    ck_assert_uint_le(cp_storage(&cp), cp_dense_storage(&cp));
    cp.rank++;
    ck_assert_uint_gt(cp_storage(&cp), cp_dense_storage(&cp));
    cp.size[0] = SIZE_MAX / 2;
    ck_assert_uint_eq(cp_storage(&cp), SIZE_MAX);
    ck_assert_uint_eq(cp_dense_storage(&cp), SIZE_MAX);
}
END_TEST

/* ChoP'D, Sec. 2.2 and 2.3.  Pooling has rank min(C, D), a point-wise convolution M min(C, D), since the matrix
 * [m c][n d] has that rank: sharing weights is not low rank. */
START_TEST(ranks_of_pooling_and_pointwise_convolution)
{
    enum { M = 4, C = 3 };
    size_t size[] = {M, M, C, C};
    double *w = gaussian(70, C * C), *t = room(M * M * C * C);
    for (int pointwise = 0; pointwise < 2; pointwise++) {
        size_t rank = pointwise ? M * C : C;
        for (size_t k = 0; k < M * M * C * C; k++) {
            size_t m = k / (M * C * C), n = k / (C * C) % M;
            t[k] = w[k % (C * C)] * (pointwise ? m == n : 1.0 / M);
        }
        struct cp cp;
        succeeds(cp_als(&cp, t, 4, size, rank, &(struct cp_options){.starts = 64}));
        within(pointwise ? "point-wise convolution" : "pooling", cp.error, EXACT);
        cp_release(&cp);
        succeeds(cp_als(&cp, t, 4, size, rank - 1, NULL));
        beyond("    one term less", cp.error, 0.01);
        cp_release(&cp);
    }
    free(t);
    free(w);
}
END_TEST

/* Winograd (1980), F(4, 3): 3 taps on 4 zero-padded tokens take 6 products instead of 10; ChoP'D, Sec. 2.2 and 2.3,
 * does not mention it.  At rank 5 the error falls for as long as one waits. */
START_TEST(winograd_convolution_has_six_terms)
{
    size_t size[] = {4, 4, 3};
    double t[4 * 4 * 3] = {0};
    for (size_t m = 0; m < 4; m++)
        for (size_t n = 0; n < 4; n++)
            if (m + 1 >= n && m + 1 - n < 3) t[(m * 4 + n) * 3 + m + 1 - n] = 1;
    struct cp cp;
    struct cp_options patient = {.starts = 64, .sweeps = 5000, .tolerance = 1e-8};
    succeeds(cp_als(&cp, t, 3, size, 6, &patient));
    within("6 terms", cp.error, EXACT);
    cp_release(&cp);
    succeeds(cp_als(&cp, t, 3, size, 4, NULL));
    beyond("4 terms", cp.error, 0.1);
    cp_release(&cp);
}
END_TEST

/* ---- errors, memory, threads ------------------------------------------------------ */

START_TEST(nothing_is_made_of_nothing)
{
    size_t size[] = {3, 4, 5};
    double *t = room(60), error = NAN;
    struct cp cp;
    succeeds(cp_als(&cp, t, 3, size, 2, NULL));
    ck_assert_double_eq(cp.error, 0);
    for (int a = 0; a < 3; a++)
        for (size_t i = 0; i < 2 * size[a]; i++) ck_assert_double_eq(cp.factor[a][i], 0);
    succeeds(cp_error(&error, &cp, t));
    ck_assert_double_eq(error, 0);
    for (int a = 0; a < 3; a++) cp.factor[a][0] = 1;
    succeeds(cp_error(&error, &cp, t));
    ck_assert(isinf(error));
    cp.factor[1][0] = NAN;
    succeeds(cp_error(&error, &cp, t));
    ck_assert(isnan(error));
    cp_release(&cp);
    cp_release(&cp);
    free(t);
}
END_TEST

START_TEST(what_is_no_tensor_is_refused)
{
    size_t size[] = {2, 3, 4, 1, 1}, none[] = {2, 0, 4}, huge[] = {SIZE_MAX / 4, 8, 8};
    size_t wide[] = {2, 3, (size_t)INT_MAX + 1};
    double *t = gaussian(80, 24);
    size_t before = memory_in_use();
    struct cp cp, from = known_terms(81, 3, size, 2);
    refused(cp_als(&cp, t, 2, size, 1, NULL), STATUS_BAD_INPUT, "2 axes");
    refused(cp_als(&cp, t, 6, size, 1, NULL), STATUS_BAD_INPUT, "6 axes");
    refused(cp_als(&cp, t, 3, none, 1, NULL), STATUS_BAD_INPUT, "axis 1 of size 0");
    refused(cp_als(&cp, t, 3, size, 0, NULL), STATUS_BAD_INPUT, "rank 0");
    refused(cp_als(&cp, t, 3, size, SIZE_MAX, NULL), STATUS_BAD_INPUT, "rank");
    refused(cp_als(&cp, t, 3, huge, 1, NULL), STATUS_BAD_INPUT, "addressed");
    refused(cp_als(&cp, t, 3, wide, 1, NULL), STATUS_BAD_INPUT,
            sizeof(size_t) > 4 ? "half of the axes" : "addressed");
    struct cp_options start_from = {.from = &from};
    refused(cp_als(&cp, t, 3, size, 1, &start_from), STATUS_BAD_INPUT, "at most 1");
    refused(cp_als(&cp, t, 3, (size_t[]){3, 2, 4}, 2, &start_from), STATUS_BAD_INPUT, "in axis 0");
    from.factor[2][1] = NAN;
    refused(cp_als(&cp, t, 3, size, 2, &start_from), STATUS_BAD_INPUT, "not finite");
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < COUNT(odd); k++) {
        double kept = t[17];
        t[17] = odd[k];
        refused(cp_als(&cp, t, 3, size, 2, NULL), STATUS_BAD_INPUT, "entry 17");
        t[17] = kept;
    }
    for (int tiny = 0; tiny < 2; tiny++) {
        double extreme[24] = {tiny ? 1e-200 : 1e200};
        refused(cp_als(&cp, extreme, 3, size, 2, NULL), STATUS_BAD_INPUT, "norm");
    }
    ck_assert_uint_eq(memory_in_use(), before);
    cp_release(&cp);
    forget(&from);
    free(t);
}
END_TEST

START_TEST(decomposition_survives_want_of_memory)
{
    size_t size[] = {3, 4, 5}, before = memory_in_use();
    double *t = normal_terms(90, 3, size, 2), *sum = room(60), error;
    struct cp cp, known = known_terms(91, 3, size, 2);
    long enough[3] = {0};
    for (int f = 0; f < 3; f++)
        for (long n = 0;; n++) {
            memory_fail_after(n);
            status s = f == 0 ? cp_als(&cp, t, 3, size, 2, NULL)
                     : f == 1 ? cp_reconstruct(sum, &known) : cp_error(&error, &known, t);
            memory_fail_after(-1);
            if (!s.code) {
                enough[f] = n;
                if (f == 0) cp_release(&cp);
                ck_assert_uint_eq(memory_in_use(), before);
                break;
            }
            refused(s, STATUS_FAILURE, "memory");
            ck_assert_uint_eq(memory_in_use(), before);
        }
    ck_assert(enough[0] >= 10 && enough[1] == 2 && enough[2] == 3);
    forget(&known);
    free(sum);
    free(t);
}
END_TEST

/* With 1, 2 and 3 threads.  The tensor has many blocks. */
START_TEST(decomposition_is_repeatable)
{
    enum { RUNS = 5 };
    size_t size[] = {4, 30, 31, 9, 8}, rank = 21;
    double *t = gaussian(95, entries(5, size));
    int threads = omp_get_max_threads();
    struct cp cp[RUNS];
    default_threads_here();
    for (int run = 0; run < RUNS; run++) {
        omp_set_num_threads(run < 3 ? run + 1 : 2);
        struct cp_options o = {.seed = run == 4, .starts = 2, .sweeps = 6};
        succeeds(cp_als(&cp[run], t, 5, size, rank, &o));
    }
    omp_set_num_threads(threads);
    for (int run = 1; run < RUNS; run++) ck_assert_int_eq(cp[0].error == cp[run].error, run < 4);
    for (int run = 1; run < RUNS; run++)
        for (int a = 0; a < 5; a++)
            ck_assert_int_eq(!memcmp(cp[0].factor[a], cp[run].factor[a], size[a] * rank * sizeof(double)), run < 4);
    for (int run = 0; run < RUNS; run++) cp_release(&cp[run]);
    free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("CP decomposition");

    TCase *terms = add_case(suite, "what a decomposition is");
    tcase_add_loop_test(terms, terms_add_up, 0, COUNT(shape));
    tcase_add_loop_test(terms, reported_error_is_the_distance, 0, COUNT(shape));
    tcase_add_test(terms, weights_are_shared_by_the_axes);

    TCase *exactness = add_case(suite, "exactness");
    tcase_add_loop_test(exactness, true_rank_is_exact, 0, COUNT(shape));
    tcase_add_test(exactness, terms_are_found_up_to_order_and_scale);
    tcase_add_loop_test(exactness, matrices_reach_their_singular_values, 0, 3);

    TCase *way = add_case(suite, "the way there");
    tcase_add_loop_test(way, no_sweep_raises_the_error, 0, COUNT(shape));
    tcase_add_test(way, error_falls_with_rank);
    tcase_add_test(way, terms_to_start_from_are_kept);
    tcase_add_test(way, singular_systems_are_solved);
    tcase_add_test(way, some_tensors_have_no_best_approximation);

    TCase *layers = add_case(suite, "layers");
    tcase_add_test(layers, storage_is_that_of_the_factors);
    tcase_add_test(layers, winograd_convolution_has_six_terms);
    tcase_add_test(layers, ranks_of_pooling_and_pointwise_convolution);

    TCase *manners = add_case(suite, "manners");
    tcase_add_test(manners, nothing_is_made_of_nothing);
    tcase_add_test(manners, what_is_no_tensor_is_refused);
    tcase_add_test(manners, decomposition_survives_want_of_memory);
    tcase_add_test(manners, decomposition_is_repeatable);
    return run_suite(suite);
}
