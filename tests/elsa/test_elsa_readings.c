/* test_elsa_readings.c -- layers that ELSA mentions, against the operators
 *
 * Tests on integers are exact: their tolerance is zero. */

#include "elsa_case.h"
#include "../../naive/attention.h"
#include "../../reference/msa.h"

/* ELSA, Eq. 2 and 4: an outlooker is nine layers of Eq. 4, shifted and added.  Each token makes nine filters, one per
 * neighbour: y_i = sum_m f^m_(i - m), where f^m has the term qr and a softmax. */
TEST(outlooker_is_nine_filters_moved_and_added)
{
    struct fixture t = fixture("--grid 5x5 --kernel 3 --equation 4 --terms qr --norm softmax", &elsa, 1, 1, "",
                           "w_o b_o b_qkv");
    real *w = normal(3, 81), *y = zeros(25);
    pass_x(&t, true);
    for (int c = 0; c < 25; c++)
        for (int m = 0; m < 9; m++) {
            int i = neighbour(c, 5, 5, m / 3 - 1, m % 3 - 1);
            real filter[9];
            for (int n = 0; n < 9; n++) filter[n] = w[m * 9 + n] * t.x[c];
            elsa_normalise(filter, 9, ELSA_SOFTMAX);
            for (int n = 0; n < 9; n++) {
                int j = neighbour(c, 5, 5, n / 3 - 1, n % 3 - 1);
                if (i >= 0 && j >= 0) y[i] += filter[n] * t.x[j];
            }
        }
    for (int f = 0; f < 2; f++) {
        real *sum = zeros(25), *reversed = zeros(25);
        for (int m = 0; m < 9; m++) {
            memcpy(fixture_tensor(&t, "rk"), w + 9 * m, 9 * sizeof *w);
            real *answer = fixture_run(&t, f ? "fast" : "naive", 1);
            for (int c = 0; c < 25; c++) {
                int i = neighbour(c, 5, 5, m / 3 - 1, m % 3 - 1), other = neighbour(c, 5, 5, 1 - m / 3, 1 - m % 3);
                if (i >= 0) sum[i] += answer[c];
                if (other >= 0) reversed[other] += answer[c];
            }
        }
        within(f ? "fast" : "naive", relative_difference(sum, y, 25), 9 * property_tolerance(&t.problem));
        beyond("    shifted the other way", relative_difference(reversed, y, 25), 0.01);
    }
}

/* ELSA, App. A, leaves the divisor of the filter norm open; the code has n - 1, we have n, which is a constant factor.
 * Tolerance as in filter_norm_ignores_scale_and_offset; 1e-10 under our root and after theirs make 1.5e-10 of an
 * entry. */
TESTS(filter_norm_of_the_code_is_a_constant_times_ours, 3)
{
    static const size_t entries[] = {9, 25, 49};
    size_t n = entries[_i];
    real *w = normal(1, n), *ours = copy(w, n);
    double mean = 0, square = 0, worst = 0, without = 0;
    elsa_normalise(ours, n, ELSA_FILTER);
    for (size_t i = 0; i < n; i++) mean += (double)w[i] / (double)n;
    for (size_t i = 0; i < n; i++) square += pow((double)w[i] - mean, 2) / (double)(n - 1);
    double factor = sqrt((double)(n - 1) / (double)n);
    for (size_t i = 0; i < n; i++) {
        double theirs = ((double)w[i] - mean) / (sqrt(square) + 1e-10);
        worse(&worst, fabs(theirs - factor * (double)ours[i]));
        worse(&without, fabs(theirs - (double)ours[i]));
    }
    printf("    %zu entries: %.4f\n", n, factor);
    within("times the root", worst, 16 * 7 * UNIT_ROUNDOFF * 8 + 3e-10 * largest(ours, n));
    beyond("    without", without, 0.01);
}

/* ELSA, Sec. 5, on the terms without a softmax: y(2x) = 2^o y(x) for each term, o its order, and the third difference
 * of their sum is 6 times y of qk alone. */
TEST(net7_is_of_third_order)
{
    static const struct { const char *terms; int factor; } term[] = {
        {"qk", 8}, {"qr", 4}, {"rk", 4}, {"b", 2}, {"qr+rk+b", 0}, {"qk+qr+rk+b", 0},
    };
    for (int f = 0; f < 2; f++) {
        const char *form = f ? "fast" : "naive";
        real *cubic = NULL;
        for (size_t k = 0; k < COUNT(term); k++) {
            char options[120];
            snprintf(options, sizeof options, "--grid 4x5 --kernel 3 --heads 2 --equation 4 --norm identity --terms %s",
                     term[k].terms);
            struct fixture t = fixture(options, &elsa, 1, 4, "", "w_o b_o b_qkv");
            make_integer(&t, false);
            real *one = fixture_run(&t, form, 1), *two = fixture_run_on(&t, form, 1, sum_of(t.x, 1, t.x, t.inputs));
            real *three = fixture_run_on(&t, form, 1, sum_of(t.x, 2, t.x, t.inputs));
            if (!k) cubic = one;
            ck_assert(largest(one, t.outputs) > 4);
            for (size_t i = 0; i < t.outputs; i++) {
                real third = three[i] - 3 * two[i] + 3 * one[i];
                if (term[k].factor) ck_assert(two[i] == (real)term[k].factor * one[i]);
                else ck_assert(third == (k == 4 ? 0 : 6 * cubic[i]));
            }
        }
        ck_assert(largest(cubic, 80) > 4);
    }
}

/* ELSA, App. C, leaves open how its matrices are indexed; we index by offsets.  msa then equals Eq. 8 and 5 of ELSA's
 * naive form with 7 x 7 neighbours, the whole image.  Tolerance: 32 sqrt(24) u, sums of 12 products. */
TEST(ghost_head_doubles_the_heads_of_self_attention)
{
    const struct scene_shape s = {"3x4", 8, 2, 7, 1, 7};
    struct fixture t = fixture("--grid 3x4 --heads 2 --lambda 2 --gamma 0.5 --head-map block", &msa, 1, 8, "",
                           "rpe w_o b_o b_qkv");
    struct scene m = empty_scene(&s);
    real *qkv = zeros(12 * 24), *q = zeros(12 * 4), *k = zeros(12 * 4), *v = zeros(12 * 8), *A = zeros(12 * 12);
    real *factor = zeros(8 * 49), *summand = zeros(8 * 49);
    real *o = fixture_tensor(&t, "ghost_mul"), *added = fixture_tensor(&t, "ghost_add");
    double tolerance = 32 * sqrt(24) * UNIT_ROUNDOFF;

    linear_map(qkv, 24, t.x, 8, fixture_tensor(&t, "w_qkv"), NULL, 12, 8, 24);
    head_gather(v, qkv + 16, 24, 12, 8);
    for (int a = 0; a < 2; a++) {
        head_gather(q, qkv + 4 * a, 24, 12, 4);
        head_gather(k, qkv + 8 + 4 * a, 24, 12, 4);
        attention_naive_weights(A, q, k, NULL, (real)0.5, 12, 12, 4);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12; j++)
                m.h[(a * 49 + (j / 4 - i / 4 + 3) * 7 + j % 4 - i % 4 + 3) * 12 + i] = A[i * 12 + j];
    }

    for (int c = 0; c < 8; c++)
        for (int n = 0; n < 35; n++) {
            o[c * 35 + n] = o[c / 2 * 70 + n];
            added[c * 35 + n] = added[c / 2 * 70 + n];
            factor[c * 49 + n + 7] = o[c * 35 + n] * o[c * 35 + n];
            summand[c * 49 + n + 7] = (real)0.5 * added[c * 35 + n];
        }
    m.v = v;
    m.params.ghost.by_block = true;
    m.factor = factor, m.summand = summand;
    apply_filters(&m);
    forms_within(&t, m.f, tolerance);

    real *tables = copy(o, 3 * 35);
    memcpy(o + 35, tables + 70, 35 * sizeof *o);
    memcpy(o + 70, tables + 35, 35 * sizeof *o);
    beyond("    tables exchanged", relative_difference(fixture_run(&t, "naive", 1), m.f, 96), 0.01);
    beyond("    tables exchanged, fast", relative_difference(fixture_run(&t, "fast", 1), m.f, 96), 0.01);
}

int main(void) { return run_tests("ELSA, readings"); }
