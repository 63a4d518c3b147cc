/* seams.h -- what the sources reach the machine through, in the field (C++)
 *
 * Read before each source of the exact build.  It takes the include guards of five
 * headers and says in their place what they say, for real as field.h has it:
 *
 *     fast/lanes.h            a vector is an array, an operation a loop over it
 *     fast/exponential.h      2^x is exp2 of the field
 *     fast/lisa/turns.h       cos and sin of 2 pi k / n are those of the field's circles
 *     cblas.h                 the products of matrices that reference/linear.c asks for
 *     fftw3.h                 the transform by its definition, over a + b i
 *
 * Nothing else is changed, and nothing of it knows an operator. */

#ifndef TWICETOLD_TESTS_SEAMS_H
#define TWICETOLD_TESTS_SEAMS_H

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#include <initializer_list>
#include "field.h"

/* ---- what C has and C++ spells otherwise -------------------------------- */

#define _Alignas alignas

/* reference/memory.c, on one thread. */
#define _STDATOMIC_H
#define __CLANG_STDATOMIC_H
typedef size_t atomic_size_t;
typedef long atomic_long;
typedef bool atomic_bool;
#define atomic_load(at) (*(at))
#define atomic_store(at, value) (*(at) = (value))
#define atomic_fetch_add(at, by) ((*(at) += (by)) - (by))
#define atomic_fetch_sub(at, by) ((*(at) -= (by)) + (by))
#define atomic_compare_exchange_weak(at, seen, value) (*(at) = (value), true)

/* ---- fast/lanes.h ------------------------------------------------------- */

#define TWICETOLD_LANES_H

#define LANES 4
#define LANE_BYTES 64
#define INLINED static inline

struct lanes {
    real lane[LANES];
    real &operator[](size_t l) { return lane[l]; }
    const real &operator[](size_t l) const { return lane[l]; }
};

struct lanes_mask {
    bool lane[LANES];
    struct bit {                /* all bits of a lane, or none: -1 or 0 */
        bool *at;
        void operator=(int set) { *at = set != 0; }
    };
    bit operator[](size_t l) { return {lane + l}; }
};

struct point { lanes re, im; };
#define POINT ((size_t)2 * LANES)

#define LANE_BY_LANE(type, name, left, right, a, b) \
    inline lanes operator name(left a_, right b_) \
    { \
        lanes result; \
        for (size_t l = 0; l < LANES; l++) result[l] = a name b; \
        return result; \
    }
#define LANES_OPERATOR(name) \
    LANE_BY_LANE(lanes, name, const lanes &, const lanes &, a_[l], b_[l]) \
    LANE_BY_LANE(lanes, name, const real &, const lanes &, a_, b_[l]) \
    LANE_BY_LANE(lanes, name, const lanes &, const real &, a_[l], b_) \
    inline lanes &operator name##=(lanes &a, const lanes &b) { return a = a name b; } \
    inline lanes &operator name##=(lanes &a, const real &b) { return a = a name b; }
LANES_OPERATOR(+)
LANES_OPERATOR(-)
LANES_OPERATOR(*)
LANES_OPERATOR(/)
#undef LANES_OPERATOR
#undef LANE_BY_LANE

inline lanes operator-(const lanes &a) { return real(0) - a; }

inline lanes lanes_load_anywhere(const real *from)
{
    lanes a;
    memcpy((void *)&a, (const void *)from, sizeof a);
    return a;
}
inline lanes lanes_load(const real *from) { return lanes_load_anywhere(from); }

inline void lanes_store_anywhere(real *to, const lanes &a) { memcpy((void *)to, (const void *)&a, sizeof a); }
inline void lanes_store(real *to, const lanes &a) { lanes_store_anywhere(to, a); }

inline lanes lanes_load_part(const real *from, size_t count)
{
    lanes a = {};
    for (size_t l = 0; l < count; l++) a[l] = from[l];
    return a;
}

inline void lanes_store_part(real *to, const lanes &a, size_t count)
{
    for (size_t l = 0; l < count; l++) to[l] = a[l];
}

inline lanes_mask operator>(const lanes &a, const lanes &b)
{
    lanes_mask mask;
    for (size_t l = 0; l < LANES; l++) mask.lane[l] = a[l] > b[l];
    return mask;
}

inline lanes_mask &operator|=(lanes_mask &a, const lanes_mask &b)
{
    for (size_t l = 0; l < LANES; l++) a.lane[l] |= b.lane[l];
    return a;
}

inline lanes lanes_pick(const lanes_mask &mask, const lanes &a, const lanes &b)
{
    lanes result;
    for (size_t l = 0; l < LANES; l++) result[l] = mask.lane[l] ? a[l] : b[l];
    return result;
}

inline lanes lanes_larger(const lanes &a, const lanes &b) { return lanes_pick(a > b, a, b); }

inline int lanes_any(const lanes_mask &mask)
{
    int seen = 0;
    for (size_t l = 0; l < LANES; l++) seen |= mask.lane[l];
    return seen;
}

inline real lanes_sum(const lanes &a)
{
    real sum = 0;
    for (size_t l = 0; l < LANES; l++) sum += a[l];
    return sum;
}

inline lanes lanes_add_neighbours(const lanes &a, const lanes &b)
{
    return {{a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]}};
}

/* Lanes of a and then of b, by their numbers. */
inline lanes lanes_shuffle(const lanes &a, const lanes &b, int first, int second, int third, int fourth)
{
    const int from[LANES] = {first, second, third, fourth};
    lanes result;
    for (size_t l = 0; l < LANES; l++) result[l] = from[l] < LANES ? a[(size_t)from[l]] : b[(size_t)from[l] - LANES];
    return result;
}
#define __builtin_shufflevector lanes_shuffle

/* ---- fast/exponential.h ------------------------------------------------- */

#define TWICETOLD_EXPONENTIAL_H

#define LOG2_E ((real)1.44269504088896340736)

inline lanes exp2_lanes(const lanes &x)
{
    lanes result;
    for (size_t l = 0; l < LANES; l++) result[l] = exp2(x[l]);
    return result;
}

/* ---- fast/lisa/turns.h -------------------------------------------------- */

#define TWICETOLD_TURNS_H

inline real turn_cosine(size_t k, size_t n) { return circle_cosine(k, n); }
inline real turn_sine(size_t k, size_t n) { return circle_sine(k, n); }

/* cos and sin of 2 pi m / p at [p][m]. */
struct prime_turns {
    real at[8][7];
    prime_turns(real (*function)(size_t, size_t))
    {
        for (size_t p = 0; p < 8; p++)
            for (size_t m = 0; m < 7; m++) at[p][m] = (p == 3 || p == 5 || p == 7) && m < p ? function(m, p) : real(0);
    }
    const real *operator[](size_t p) const { return at[p]; }
};
extern const prime_turns cosine, sine;
extern const real eighth;

/* ---- cblas.h ------------------------------------------------------------ */

#define CBLAS_H

enum CBLAS_ORDER { CblasRowMajor = 101 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };

void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns,
                 int terms, real alpha, const real *a, int a_stride, const real *b, int b_stride, real beta, real *c,
                 int c_stride);

/* ---- fftw3.h ------------------------------------------------------------ */

#define FFTW3_H

typedef real fftw_complex[2];
typedef struct fftw_transform *fftw_plan;
enum { FFTW_FORWARD = -1, FFTW_BACKWARD = 1, FFTW_ESTIMATE = 64, FFTW_UNALIGNED = 2 };

/* Many signals side by side, in place; or one signal, complex or real. */
fftw_plan fftw_plan_many_dft(int axes, const int *size, int signals, fftw_complex *in, const int *in_embed,
                             int in_stride, int in_distance, fftw_complex *out, const int *out_embed, int out_stride,
                             int out_distance, int sign, unsigned flags);
fftw_plan fftw_plan_dft(int axes, const int *size, fftw_complex *in, fftw_complex *out, int sign, unsigned flags);
fftw_plan fftw_plan_dft_r2c(int axes, const int *size, real *in, fftw_complex *out, unsigned flags);
fftw_plan fftw_plan_dft_r2c_1d(int size, real *in, fftw_complex *out, unsigned flags);
fftw_plan fftw_plan_dft_c2r_1d(int size, fftw_complex *in, real *out, unsigned flags);
void fftw_execute_dft(fftw_plan plan, fftw_complex *in, fftw_complex *out);
void fftw_execute(fftw_plan plan);
void fftw_destroy_plan(fftw_plan plan);

#endif
