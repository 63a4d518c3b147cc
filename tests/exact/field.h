/* field.h -- real as a number without rounding (C++)
 *
 * The sources of reference/, naive/ and fast/ are compiled a third time, as C++,
 * with this class in the place of real (reference/real.h asks for it).  A number is
 * a pair: what it is in the field of P elements, and what it is in that of Q.  Sums,
 * products and quotients are exact in both.  The second part is what exponents live in:
 *
 *     P = 692986173953673599      prime, P - 1 divisible by Q, P + 1 by CIRCLES; or the next
 *                                 such prime, P + CIRCLES Q, where the build says FIELD_PRIME=2
 *     Q = 2^31 - 1                prime
 *     exp(a) = g^(a mod Q) mod P, g of order Q, so that exp(a + b) = exp(a) exp(b)
 *
 * In the place of the second part a number may have a mark.  What exp returns has no
 * part in the field of Q: nothing here takes exp of an exp, and what does is stopped.
 * Minus infinity, which is added to a logit that shall not count: a sum with it is it,
 * and exp makes 0 of it.  NaN, for what must not be read.
 *
 * cos and sin of 2 pi k / n are numbers for every n that divides CIRCLES.  sqrt is a
 * root where there is one, and erf any odd function.  A field has no order: a
 * comparison is a coin, the same for the same two numbers as long as the seed is the
 * same, but for numbers that a program writes down, whole multiples of powers of two:
 * those have their place on the line.
 *
 * Each number also says how high its degree may be, in the inputs and in what exp,
 * sqrt and erf return; see degree().
 *
 * This file refuses to be a float: nothing is rounded, and nothing overflows. */

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
constexpr int BITS = P >> 60 ? 60 : 59;         /* P has so many, and one */
static_assert(P >> BITS == 1, "Barrett's quotient is for these two primes");
constexpr uint32_t NO_EXPONENT = 0x80000000u, BELOW_ALL = 0x80000001u, NOWHERE = 0x80000002u;

/* a b mod P by Barrett's quotient: no division. */
inline uint64_t multiply_p(uint64_t a, uint64_t b)
{
    constexpr uint64_t reciprocal = (uint64_t)(((twice)1 << (2 * BITS + 2)) / P);
    twice x = (twice)a * b;
    uint64_t quotient = (uint64_t)((twice)(uint64_t)(x >> BITS) * reciprocal >> (BITS + 2));
    uint64_t rest = (uint64_t)x - quotient * P;
    while (rest >= P) rest -= P;
    return rest;
}

/* a b mod Q: 2^31 is 1. */
inline uint32_t multiply_q(uint32_t a, uint32_t b)
{
    uint64_t x = (uint64_t)a * b;
    uint32_t sum = (uint32_t)(x & Q) + (uint32_t)(x >> 31);
    return sum >= Q ? sum - Q : sum;
}

struct real {
    uint64_t p;
    uint32_t q;                 /* below Q, or a mark */
    uint32_t height;            /* degree, twice; and 1 where something was divided */

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
    explicit operator double() const;                   /* its place on the line; see field_lends_places */
    explicit operator long double() const { return (double)*this; }
};

static_assert(sizeof(real) == 16 && alignof(real) == 8, "four to a cache line");

/* ---- degrees ------------------------------------------------------------
 *
 * A number is a quotient of two polynomials; its degree is the larger of theirs, or a
 * bound of it: of a product, the sum; of a sum, the larger one where nothing was
 * divided, and else the sum. */

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

/* The highest degree of anything that exp was asked for, and of what sqrt or erf was, since
 * they were set to 0. */
extern uint64_t highest_exponent, highest_argument;

/* ---- arithmetic --------------------------------------------------------- */

[[noreturn]] void field_stops(const char *why);

/* Of two numbers one of which has a mark: the stronger mark, as they are ordered. */
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

real inverse(const real &a);                            /* of 0 there is none: stops */
inline real operator/(const real &a, const real &b) { return a * inverse(b); }

inline real &operator+=(real &a, const real &b) { return a = a + b; }
inline real &operator-=(real &a, const real &b) { return a = a - b; }
inline real &operator*=(real &a, const real &b) { return a = a * b; }
inline real &operator/=(real &a, const real &b) { return a = a / b; }

/* Equal where it counts: in the field of P, neither being NaN or one minus infinity. */
inline bool operator==(const real &a, const real &b)
{
    return a.p == b.p && (a.q == BELOW_ALL) == (b.q == BELOW_ALL) && a.q != NOWHERE && b.q != NOWHERE;
}
inline bool operator!=(const real &a, const real &b) { return !(a == b); }

/* Whether a < b: for two numbers that have a place on the line, that; else a coin. */
bool operator<(const real &a, const real &b);
inline bool operator>(const real &a, const real &b) { return b < a; }
inline bool operator<=(const real &a, const real &b) { return a == b || a < b; }
inline bool operator>=(const real &a, const real &b) { return a == b || b < a; }

/* ---- functions ---------------------------------------------------------- */

real exp(const real &a);
real exp2(const real &a);                               /* exp(a / log2(e)) for the number that exponential.h has */
real sqrt(const real &a);
real erf(const real &a);
real pow(const real &a, double exponent);
real fabs(const real &a);
inline bool isfinite(const real &a) { return a.q < BELOW_ALL || a.q == NO_EXPONENT; }

inline real nearbyint(const real &a) { return a; }      /* all are whole: nothing is between them */
inline bool isnan(const real &a) { return a.q == NOWHERE; }

/* cos and sin of 2 pi k / n. */
real circle_cosine(size_t k, size_t n);
real circle_sine(size_t k, size_t n);

/* ---- what a proof may ask for -------------------------------------------- */

/* A number without a place on the line that is made a double stops the program.  Or it is
 * lent one, between -1 and 1: that of -a is opposite to that of a, and no others are equal,
 * so that proofs which compare doubles compare numbers. */
extern bool field_lends_places;

/* No coin for a constant beside what depends on inputs: the constant is the smaller one,
 * as the floor of a norm is. */
extern bool field_constants_are_low;

/* ---- draws -------------------------------------------------------------- */

/* All that is drawn by chance hangs on the seed: numbers, coins, what erf is. */
extern uint64_t field_seed;

uint64_t field_bits(uint64_t stream, uint64_t n);
real field_number(uint64_t stream, uint64_t n);         /* any element, of degree 1 */

#endif
