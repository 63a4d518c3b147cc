/* counting.h -- a real that counts its multiplications (C++)
 *
 * The sources of naive/, and the rungs of figures/rungs, are compiled a second time, as C++,
 * with this class in the place of real (reference/real.h asks for it; vectors are made of
 * it by plain_lanes.h) and nothing else changed but that all they define stands in a
 * namespace of its own (the Makefile wraps it around them).  So both builds are linked
 * together, and no name clashes.
 *
 * The class is laid out as the float or double that it stands for, so both
 * compilations share arrays and the functions of reference/.  It needs nothing
 * of the C++ library: a C compiler can link it.  One thread at a time. */

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

/* Counted as nothing: they are no products. */
inline real exp(real a) { return real(exp((double)a)); }
inline real exp2(real a) { return real(exp2((double)a)); }

#define restrict __restrict     /* which C++ has not */

/* The one function of reference/ that naive/ calls for a real.  Some machines (i386, s390x) return a
 * number in a register and a class in memory, so it has another name here, and counting.cc asks
 * C's for a number. */
#define gelu(x) counted_gelu(x)

#endif
