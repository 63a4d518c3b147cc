/* test_field.cc -- the laws of field.h's arithmetic, exp and circles, without tolerance */

#include "exact.h"
#include "../support/support.h"

enum { TRIES = 1000 };

static real element(int n) { return field_number(1000, (uint64_t)n); }

static void same(const real &a, const real &b)
{
    ck_assert(a.p == b.p);
    if (a.q < Q && b.q < Q) ck_assert_uint_eq(a.q, b.q);
}

static uint64_t times(uint64_t a, uint64_t b, uint64_t n) { return (uint64_t)((twice)a * b % n); }

static uint64_t power(uint64_t a, uint64_t k, uint64_t n)
{
    uint64_t result = 1;
    for (; k; k >>= 1, a = times(a, a, n))
        if (k & 1) result = times(result, a, n);
    return result;
}

/* Miller's test with the first twelve primes is exact below 2^64. */
static bool prime(uint64_t n)
{
    uint64_t odd = (n - 1) / ((n - 1) & -(n - 1));
    for (uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
        uint64_t x = power(base, odd, n);
        bool passes = x == 1;
        for (uint64_t k = odd; k < n - 1; k *= 2, x = times(x, x, n)) passes = passes || x == n - 1;
        if (!passes) return false;
    }
    return true;
}

/* Q divides P - 1, CIRCLES divides P + 1, and all primes are 3 modulo 4, for both values of P. */
TEST(both_moduli_are_prime_and_fit_each_other)
{
    const uint64_t step = CIRCLES * Q, other = FIELD_PRIME == 1 ? P + step : P - step;
    ck_assert(prime(Q) && Q % 4 == 3 && !prime(P + 6));
    for (uint64_t p : {P, other}) {
        ck_assert(prime(p) && p % 4 == 3);
        ck_assert_uint_eq((p - 1) % Q, 0);
        ck_assert_uint_eq((p + 1) % CIRCLES, 0);
    }
}

/* Products by Barrett reduction equal those by 128-bit division. */
TEST(sums_and_products_obey_the_laws)
{
    for (int n = 0; n < TRIES; n++) {
        real a = element(3 * n), b = element(3 * n + 1), c = element(3 * n + 2);
        ck_assert_uint_eq((a * b).p, times(a.p, b.p, P));
        ck_assert_uint_eq((a * b).q, times(a.q, b.q, Q));
        same((a + b) + c, a + (b + c));
        same((a * b) * c, a * (b * c));
        same(a * (b + c), a * b + a * c);
        same(a - a, real(0));
        same(a / b * b, a);
        same(-(-a), a);
    }
    uint64_t edge[] = {0, 1, 2, P / 2, P - 2, P - 1};
    for (uint64_t a : edge)
        for (uint64_t b : edge) ck_assert_uint_eq(multiply_p(a, b), times(a, b, P));
}

/* A double converts to the field and back; sums and products agree if they are exact in double. */
TEST(doubles_convert_exactly)
{
    static const double some[] = {0, 1, -1, 0.5, -0.375, 0.1, 1024.0625, 1.44269504088896340736, -3e9};
    for (double a : some) {
        ck_assert((double)real(a) == a);
        for (double b : {0.5, -3.0, 0.0625}) {
            if (fma(a, b, -(a * b)) == 0) same(real(a) * real(b), real(a * b));
            same(real(0.25) + real(b), real(0.25 + b));
        }
        if (a < 100) ck_assert(real(a) < real(101));
    }
    same(real(7) / real(2), real(3.5));
    ck_assert(real(-INFINITY) < real(-1e300) && !isfinite(real(-INFINITY)) && isnan(real(NAN)));
}

TEST(exp_turns_sums_into_products)
{
    for (int n = 0; n < TRIES; n++) {
        real a = element(2 * n), b = element(2 * n + 1);
        same(exp(a + b), exp(a) * exp(b));
        same(exp(a) * exp(-a), real(1));
        same(exp2(a * LOG2_E), exp(a));
        ck_assert(exp(a) != real(1));
    }
    same(exp(real(0)), real(1));
    same(exp(real(-INFINITY) + element(1)), real(0));
}

/* cos and sin of 2 pi k / n obey the addition theorems, and equal the real values at 1/4, 1/3 and 1/6. */
TEST(circles_obey_the_addition_theorems)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 25, 28, 32, 49, 60, 64, 128};
    for (size_t n : sizes) {
        real sum = 0;
        for (size_t k = 0; k < n; k++) {
            real c = circle_cosine(k, n), s = circle_sine(k, n), c1 = circle_cosine(1, n), s1 = circle_sine(1, n);
            same(c * c + s * s, real(1));
            same(circle_cosine(k + 1, n), c * c1 - s * s1);
            same(circle_sine(k + 1, n), s * c1 + c * s1);
            same(circle_cosine(n - k, n), c);
            same(circle_sine(n - k, n), -s);
            if (2 * n <= 128) same(circle_cosine(2 * k, 2 * n), c);
            sum += c;
        }
        same(sum, n == 1 ? real(1) : real(0));
    }
    same(circle_sine(1, 4), real(1));
    same(circle_cosine(1, 3), real(-0.5));
    same(circle_cosine(1, 6), real(0.5));
    same(circle_cosine(1, 8), circle_sine(1, 8));
    same(eighth * eighth, real(0.5));
}

/* sqrt up to the sign, but exactly for squares of 1 to 16; erf is odd. */
TEST(sqrt_is_a_root_up_to_sign)
{
    for (int n = 0; n < TRIES; n++) {
        real a = element(2 * n), b = element(2 * n + 1), root = sqrt(a), other = sqrt(a * a * b);
        ck_assert(root * root == a || root * root == -a);
        ck_assert(other == a * sqrt(b) || other == -(a * sqrt(b)));
        same(erf(-a), -erf(a));
    }
    for (int n = 1; n <= 16; n++) ck_assert(sqrt(real(n * n)) == real(n));
}

/* A comparison is random, antisymmetric and fixed for a seed.  Tolerance: 5 standard deviations of 1000 fair coins,
 * 79. */
TEST(comparisons_are_random_and_antisymmetric)
{
    int heads[3] = {0, 0, 0};           /* less; in the order of p; changed by the seed */
    for (int n = 0; n < TRIES; n++) {
        real a = element(2 * n), b = element(2 * n + 1);
        bool first = a < b;
        ck_assert((a < b) == first && (b < a) != first && !(a < a));
        field_seed++;
        bool other = a < b;
        field_seed--;
        heads[0] += first;
        heads[1] += first == (a.p < b.p);
        heads[2] += first != other;
    }
    for (int count : heads) ck_assert_int_le(abs(count - TRIES / 2), 79);
}

/* The bound equals the degree of a polynomial, and is at least that of a quotient. */
TEST(degrees_are_bounds)
{
    real x = element(1), y = element(2), z = element(3), w = element(4);
    ck_assert_uint_eq(degree(x * y + z), 2);
    ck_assert_uint_eq(degree((x * y + z) * x), 3);
    ck_assert_uint_eq(degree((x * y + z) * x / w), 4);
    ck_assert_uint_eq(degree(x / w + y / z), 4);
    ck_assert_uint_eq(degree(x * real(3) + real(1)), 1);
    ck_assert_uint_eq(degree(exp(x * y)), 1);
}

int main(void)
{
    exact_begin();
    field_seed = 1;
    return run_tests("field");
}
