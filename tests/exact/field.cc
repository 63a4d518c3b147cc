/* field.cc -- functions of field.h that are not inline */

#include "field.h"
#include <initializer_list>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool field_random_doubles, field_constants_are_low;
uint64_t field_seed, highest_exponent, highest_argument;

void field_stops(const char *why)
{
    fprintf(stderr, "field: %s\n", why);
    abort();
}

/* ---- random numbers ----------------------------------------------------- */

/* The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t field_bits(uint64_t stream, uint64_t n)
{
    return mix(mix(mix(field_seed + 0x9e3779b97f4a7c15u) ^ stream) + n * 0x9e3779b97f4a7c15u);
}

real field_number(uint64_t stream, uint64_t n)
{
    return real(field_bits(stream, 2 * n) % P, (uint32_t)(field_bits(stream, 2 * n + 1) % Q), height_of(1, 0));
}

/* ---- both fields -------------------------------------------------------- */

static uint64_t power_p(uint64_t a, uint64_t n)
{
    uint64_t power = 1;
    for (; n; n >>= 1, a = multiply_p(a, a))
        if (n & 1) power = multiply_p(power, a);
    return power;
}

static uint32_t power_q(uint32_t a, uint64_t n)
{
    uint32_t power = 1;
    for (; n; n >>= 1, a = multiply_q(a, a))
        if (n & 1) power = multiply_q(power, a);
    return power;
}

real inverse(const real &a)
{
    if (a.p == 0) field_stops("division by zero");
    if (a.q == BELOW_ALL) field_stops("division by minus infinity");
    uint32_t q = a.q & NO_EXPONENT ? a.q : a.q ? power_q(a.q, Q - 2) : NO_EXPONENT, divided = degree(a) ? 1 : 0;
    return real(power_p(a.p, P - 2), q, a.height | divided);
}

/* ---- dyadic rationals ------------------------------------------------------- */

real real::dyadic(double a)
{
    if (a == -INFINITY) return real(0, BELOW_ALL, 0);
    if (isnan(a)) return real(1, NOWHERE, 0);
    if (isinf(a)) field_stops("there is no plus infinity");
    int exponent;
    long mantissa = (long)ldexp(frexp(a, &exponent), 53);
    exponent -= 53;
    real number(mantissa);
    uint64_t two_p = exponent < 0 ? (P + 1) / 2 : 2, two_q = exponent < 0 ? (Q + 1u) / 2 : 2;
    unsigned steps = (unsigned)abs(exponent);
    return real(multiply_p(number.p, power_p(two_p, steps)),
                multiply_q(number.q, power_q((uint32_t)two_q, steps % 31)), 0);
}

/* True if a number is n / 2^k in both fields, with |n| < 2^53 and k <= 60; without an element of Q, with |n| < 2^24 and
 * k <= 16.  A random number passes with probability below 2^-30. */
static bool is_dyadic(double *value, const real &a)
{
    bool alone = a.q == NO_EXPONENT;
    const uint64_t bound = (uint64_t)1 << (alone ? 24 : 53);
    if (a.q == NOWHERE) return false;
    if (a.q == BELOW_ALL) {
        *value = -INFINITY;
        return true;
    }
    uint64_t n = a.p;
    uint32_t q = a.q;
    for (int k = 0; k <= (alone ? 16 : 60); k++) {
        bool negative = P - n < bound;
        if (n < bound || negative) {
            uint64_t size = negative ? P - n : n;
            uint32_t rest = (uint32_t)(size % Q);
            if (alone || q == (negative && rest ? Q - rest : rest)) {
                *value = ldexp(negative ? -(double)size : (double)size, -k);
                return true;
            }
        }
        n = n + n >= P ? n + n - P : n + n;
        q = alone ? q : multiply_q(q, 2);
    }
    return false;
}

real::operator double() const
{
    double value;
    if (is_dyadic(&value, *this)) return value;
    if (q == NOWHERE) return NAN;
    if (!field_random_doubles) field_stops("a number that is no dyadic rational was converted to double");
    bool negative = p > P / 2;
    value = ldexp((double)(field_bits(negative ? P - p : p, 0x706c) >> 12) + 1, -52);
    return negative ? -value : value;
}

/* Other numbers compare by the lowest bit of a hash of the pair, inverted if the pair is exchanged. */
bool operator<(const real &a, const real &b)
{
    double left, right;
    if (a == b) return false;
    if (is_dyadic(&left, a) && is_dyadic(&right, b)) return left < right;
    if (a.q == BELOW_ALL || b.q == BELOW_ALL) return a.q == BELOW_ALL;
    if (field_constants_are_low && !degree(a) != !degree(b)) return !degree(a);
    bool first = a.p < b.p;
    return (field_bits(first ? a.p : b.p, first ? b.p : a.p) & 1) == first;
}

/* ---- functions ---------------------------------------------------------- */

static void see_argument(const real &a)
{
    if (degree(a) > highest_argument) highest_argument = degree(a);
}

/* From tables of g^(n 2^8k), n < 256. */
real exp(const real &a)
{
    static uint64_t table[4][256];
    if (!table[0][0]) {
        uint64_t g = power_p(5, (P - 1) / Q);
        for (int k = 0; k < 4; k++) {
            for (int n = 0; n < 256; n++) table[k][n] = n ? multiply_p(table[k][n - 1], g) : 1;
            g = multiply_p(table[k][255], g);
        }
    }
    if (degree(a) > highest_exponent) highest_exponent = degree(a);
    if (a.q == BELOW_ALL) return real(0);
    if (a.q == NOWHERE) return a;
    if (a.q == NO_EXPONENT) field_stops("exp of a result of exp");
    uint64_t low = multiply_p(table[0][a.q & 255], table[1][a.q >> 8 & 255]);
    uint64_t high = multiply_p(table[2][a.q >> 16 & 255], table[3][a.q >> 24]);
    return real(multiply_p(low, high), NO_EXPONENT, height_of(degree(a) ? 1 : 0, 0));
}

real exp2(const real &a)
{
    static const real unit = inverse(real(1.44269504088896340736));
    return exp(a * unit);
}

/* Both primes p are 3 mod 4, so a^((p+1)/4) is a root of a or of -a. */
real sqrt(const real &a)
{
    see_argument(a);
    if (a.q == BELOW_ALL) field_stops("root of minus infinity");
    uint32_t q = a.q & NO_EXPONENT ? a.q : power_q(a.q, (Q + 1u) / 4);
    return real(power_p(a.p, (P + 1) / 4), q, height_of(degree(a) ? 1 : 0, 0));
}

real erf(const real &a)
{
    see_argument(a);
    if (a.q == BELOW_ALL) field_stops("erf of minus infinity");
    if (a.q == NOWHERE) return a;
    bool negative = a.p > P / 2;
    uint64_t from = negative ? P - a.p : a.p;
    real value(field_bits(from, 0x657266) % P, (uint32_t)(field_bits(from, 0x657267) % Q), height_of(1, 0));
    if (a.p == 0) return real(0);
    return negative ? -value : value;
}

/* A random function unless the exponent is an integer from -64 to 64. */
real pow(const real &a, double exponent)
{
    if (exponent != floor(exponent) || ::fabs(exponent) > 64) {
        see_argument(a);
        uint64_t both = a.p ^ real(exponent).p;
        return real(field_bits(both, 0x706f77) % P, (uint32_t)(field_bits(both, 0x706f78) % Q), height_of(1, 0));
    }
    real power = 1;
    for (int n = 0; n < (int)::fabs(exponent); n++) power *= a;
    return exponent < 0 ? inverse(power) : power;
}

real fabs(const real &a) { return a < real(0) ? -a : a; }

/* ---- circles ------------------------------------------------------------ */

/* a + b i with i^2 = -1, which is no square modulo P, since P mod 4 = 3. */
struct pair { uint64_t re, im; };

static pair product(pair a, pair b)
{
    uint64_t re = multiply_p(a.re, b.re) + P - multiply_p(a.im, b.im);
    uint64_t im = multiply_p(a.re, b.im) + multiply_p(a.im, b.re);
    return {re % P, im % P};
}

static pair power(pair a, uint64_t n)
{
    pair result = {1, 0};
    for (; n; n >>= 1, a = product(a, a))
        if (n & 1) result = product(result, a);
    return result;
}

/* A root of unity of order CIRCLES with root^(CIRCLES / 4) = i.  The order of z / conj(z) divides P + 1. */
static pair find_root()
{
    for (uint64_t z = 2;; z++) {
        uint64_t norm = (multiply_p(z, z) + 1) % P, over = power_p(norm, P - 2);
        pair unit = product(product({z, 1}, {z, 1}), {over, 0}), root = power(unit, (P + 1) / CIRCLES);
        bool whole = true;
        for (uint64_t prime : {2, 3, 5, 7, 11, 13}) {
            pair part = power(root, CIRCLES / prime);
            whole = whole && !(part.re == 1 && part.im == 0);
        }
        if (!whole) continue;
        if (power(root, CIRCLES / 4).im != 1) root.im = P - root.im;
        return root;
    }
}

static pair on_circle(size_t k, size_t n)
{
    static const pair root = find_root();
    if (n == 0 || CIRCLES % n) field_stops("a circle whose size does not divide p + 1");
    return power(root, CIRCLES / n * (k % n));
}

real circle_cosine(size_t k, size_t n)
{
    return real(on_circle(k, n).re, NO_EXPONENT, 0);
}

real circle_sine(size_t k, size_t n)
{
    return real(on_circle(k, n).im, NO_EXPONENT, 0);
}
