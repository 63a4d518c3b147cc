/* field.h -- a `real` without rounding (C++), with which the sources are compiled a third time
 *
 * A number has an element modulo P, one modulo Q (for exponents), and a bound on its degree as a rational function of
 * the random inputs.
 *
 *     P = 692986173953673599      prime, P - 1 divisible by Q, P + 1 by CIRCLES; or that + CIRCLES Q (FIELD_PRIME=2)
 *     Q = 2^31 - 1                prime
 *     exp(a) = g^(a mod Q) mod P, g of order Q, so that exp(a + b) = exp(a) exp(b)
 *
 * Instead of an element of Q the second part may be a mark: NO_EXPONENT (such as a result of exp, which has no exp),
 * BELOW_ALL (minus infinity: absorbs sums, exp is 0), NOWHERE (NaN).  cos and sin of 2 pi k / n exist if n divides
 * CIRCLES.  sqrt is a root if one exists; erf is a random odd function.  Dyadic rationals, such as constants, compare
 * as usual; other comparisons are random but fixed for a seed. */

#ifndef TWICETOLD_TESTS_FIELD_H
#define TWICETOLD_TESTS_FIELD_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 twice;

#ifndef FIELD_PRIME
#define FIELD_PRIME 1
#endif

constexpr uint32_t Q = 0x7fffffffu;
constexpr uint64_t CIRCLES = 605404800u;        /* 2^7 3^3 5^2 7^2 11 13 */
constexpr uint64_t P = 692986173953673599u + (FIELD_PRIME - 1) * CIRCLES * Q;
constexpr int BITS = P >> 60 ? 60 : 59;         /* of P, less one */
static_assert(P >> BITS == 1, "Barrett's quotient needs one of these two primes");
constexpr uint32_t NO_EXPONENT = 0x80000000u, BELOW_ALL = 0x80000001u, NOWHERE = 0x80000002u;

/* a b mod P, by Barrett reduction. */
inline uint64_t multiply_p(uint64_t a, uint64_t b)
{
    constexpr uint64_t reciprocal = (uint64_t)(((twice)1 << (2 * BITS + 2)) / P);
    twice x = (twice)a * b;
    uint64_t quotient = (uint64_t)((twice)(uint64_t)(x >> BITS) * reciprocal >> (BITS + 2));
    uint64_t rest = (uint64_t)x - quotient * P;
    while (rest >= P) rest -= P;
    return rest;
}

/* a b mod Q; 2^31 = 1 mod Q. */
inline uint32_t multiply_q(uint32_t a, uint32_t b)
{
    uint64_t x = (uint64_t)a * b;
    uint32_t sum = (uint32_t)(x & Q) + (uint32_t)(x >> 31);
    return sum >= Q ? sum - Q : sum;
}

struct real {
    uint64_t p;
    uint32_t q;                 /* below Q, or a mark */
    uint32_t height;            /* twice the degree bound, plus 1 after a division */

    real() = default;                                   /* uninitialised, as in C; all bytes zero are 0 */
    real(int a) : real((long)a) {}
    real(unsigned a) : real((unsigned long)a) {}
    real(long a) : p(a < 0 ? P - (uint64_t)-a % P : (uint64_t)a % P), q(), height(0)
    {
        q = a < 0 ? (uint32_t)((Q - (uint64_t)-a % Q) % Q) : (uint32_t)((uint64_t)a % Q);
        if (p == P) p = 0;
    }
    real(unsigned long a) : p(a % P), q((uint32_t)(a % Q)), height(0) {}
    real(double a) { *this = dyadic(a); }               /* every double is a dyadic rational */
    real(long double a) : real((double)a) {}
    real(uint64_t p_, uint32_t q_, uint32_t height_) : p(p_), q(q_), height(height_) {}

    static real dyadic(double a);
    explicit operator double() const;                   /* of a dyadic rational; see field_random_doubles */
    explicit operator long double() const { return (double)*this; }
};

static_assert(sizeof(real) == 16 && alignof(real) == 8, "four to a cache line");

/* ---- degrees: bounds on the larger degree of numerator and denominator --------
 *
 * Of a product: the sum of the factors' degrees.  Of a sum: the larger degree, or their sum after a division. */

inline uint64_t degree(const real &a) { return a.height >> 1; }

inline uint32_t height_of(uint64_t degrees, uint32_t divided)
{
    return degrees > 0x7fffffffu ? 0xfffffffeu | divided : (uint32_t)degrees << 1 | divided;
}

inline uint32_t height_of_sum(uint32_t a, uint32_t b)
{
    if ((a | b) & 1) return height_of((uint64_t)(a >> 1) + (b >> 1), 1);
    return a > b ? a : b;
}

inline uint32_t height_of_product(uint32_t a, uint32_t b)
{
    return height_of((uint64_t)(a >> 1) + (b >> 1), (a | b) & 1);
}

/* The largest degree of an argument of exp, and of one of sqrt, erf or pow, since they were set to 0. */
extern uint64_t highest_exponent, highest_argument;

/* ---- arithmetic --------------------------------------------------------- */

[[noreturn]] void field_stops(const char *why);

/* The stronger of two marks. */
inline uint32_t marked(uint32_t a, uint32_t b) { return a > b ? a : b; }

inline real operator+(const real &a, const real &b)
{
    uint64_t p = a.p + b.p;
    uint32_t q = a.q + b.q;
    if (p >= P) p -= P;
    if ((a.q | b.q) & NO_EXPONENT) q = marked(a.q, b.q);
    else if (q >= Q) q -= Q;
    return real(p, q, height_of_sum(a.height, b.height));
}

inline real operator-(const real &a)
{
    if (a.q == BELOW_ALL) field_stops("there is no plus infinity");
    return real(a.p ? P - a.p : 0, a.q & NO_EXPONENT ? a.q : a.q ? Q - a.q : 0, a.height);
}

inline real operator-(const real &a, const real &b) { return a + -b; }

inline real operator*(const real &a, const real &b)
{
    uint32_t q = (a.q | b.q) & NO_EXPONENT ? marked(a.q, b.q) : multiply_q(a.q, b.q);
    return real(multiply_p(a.p, b.p), q, height_of_product(a.height, b.height));
}

real inverse(const real &a);                            /* aborts for 0 and BELOW_ALL */
inline real operator/(const real &a, const real &b) { return a * inverse(b); }

inline real &operator+=(real &a, const real &b) { return a = a + b; }
inline real &operator-=(real &a, const real &b) { return a = a - b; }
inline real &operator*=(real &a, const real &b) { return a = a * b; }
inline real &operator/=(real &a, const real &b) { return a = a / b; }

/* Equal in the field of P, neither is NaN, and both or neither are minus infinity. */
inline bool operator==(const real &a, const real &b)
{
    return a.p == b.p && (a.q == BELOW_ALL) == (b.q == BELOW_ALL) && a.q != NOWHERE && b.q != NOWHERE;
}
inline bool operator!=(const real &a, const real &b) { return !(a == b); }

/* As usual for dyadic rationals, else random. */
bool operator<(const real &a, const real &b);
inline bool operator>(const real &a, const real &b) { return b < a; }
inline bool operator<=(const real &a, const real &b) { return a == b || a < b; }
inline bool operator>=(const real &a, const real &b) { return a == b || b < a; }

/* ---- functions ---------------------------------------------------------- */

real exp(const real &a);
real exp2(const real &a);                               /* exp(a / LOG2_E) */
real sqrt(const real &a);
real erf(const real &a);
real pow(const real &a, double exponent);
real fabs(const real &a);
inline bool isfinite(const real &a) { return a.q < BELOW_ALL || a.q == NO_EXPONENT; }

inline real nearbyint(const real &a) { return a; }      /* every element is an integer */
inline bool isnan(const real &a) { return a.q == NOWHERE; }

/* cos and sin of 2 pi k / n. */
real circle_cosine(size_t k, size_t n);
real circle_sine(size_t k, size_t n);

/* ---- options of a test ---------------------------------------------------- */

/* If true, a number that is no dyadic rational becomes, as a double, a random odd function of it in [-1, 1].  If false,
 * this conversion aborts. */
extern bool field_random_doubles;

/* If true, a constant, such as the floor of a norm, compares as smaller than any number that depends on inputs. */
extern bool field_constants_are_low;

/* ---- random numbers ------------------------------------------------------ */

/* The seed of all random numbers, comparisons and erf. */
extern uint64_t field_seed;

uint64_t field_bits(uint64_t stream, uint64_t n);
real field_number(uint64_t stream, uint64_t n);         /* a random element, of degree 1 */

#endif
