/* counting.h -- a real that counts its multiplications (C++)
 *
 * The Makefile compiles naive/, most of fast/*.c and figures/ladders a second time, as C++, with this class as `real`
 * and vectors of plain_vec.h.  A namespace around all definitions lets both builds link into one program.  The class
 * has the layout of a float or double: both builds share arrays and the functions of reference/.  For one thread. */

#ifndef TWICETOLD_TESTS_COUNTING_H
#define TWICETOLD_TESTS_COUNTING_H

#include <math.h>

#ifdef TWICETOLD_DOUBLE
typedef double plain_real;
#else
typedef float plain_real;
#endif

struct real {
    plain_real number;

    static unsigned long long multiplications;

    real() = default;                               /* uninitialised, as in C */
    real(double value) : number((plain_real)value) {}
    explicit operator double() const { return number; }

    real operator-() const { return real(-(double)number); }
    real &operator+=(real b) { number += b.number; return *this; }
    real &operator-=(real b) { number -= b.number; return *this; }
    real &operator*=(real b) { multiplications++; number *= b.number; return *this; }
    real &operator/=(real b) { number /= b.number; return *this; }
};

static_assert(sizeof(real) == sizeof(plain_real) && alignof(real) == alignof(plain_real), "same layout");

inline real operator+(real a, real b) { a += b; return a; }
inline real operator-(real a, real b) { a -= b; return a; }
inline real operator*(real a, real b) { a *= b; return a; }
inline real operator/(real a, real b) { a /= b; return a; }
inline bool operator<(real a, real b) { return a.number < b.number; }
inline bool operator>(real a, real b) { return a.number > b.number; }

/* Not counted. */
inline real exp(real a) { return real(exp((double)a)); }
inline real exp2(real a) { return real(exp2((double)a)); }

#define restrict __restrict

/* gelu is the only function of reference/ that returns a real to counted sources.  counting.cc converts its result,
 * since i386 and s390x return a number in a register but a class in memory. */
#define gelu(x) counted_gelu(x)

#endif
