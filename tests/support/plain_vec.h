/* plain_vec.h -- replaces fast/tuned/vec.h and fast/tuned/exponential.h if real is a class (C++)
 *
 * Included first, it defines their include guards and the same names: a vector is an array, an operation a loop. */

#pragma once

#define TWICETOLD_VEC_H
#define TWICETOLD_EXPONENTIAL_H

#include <string.h>
#include "../../fast/tuned/registers.h"

#define LANES 4
#define LANE_BYTES 64
#define INLINED static inline

struct __attribute__((may_alias)) vec {
    real lane[LANES];
    real &operator[](size_t l) { return lane[l]; }
    const real &operator[](size_t l) const { return lane[l]; }
};

struct vec_mask {
    bool lane[LANES];
    struct bit {                /* assigned -1 or 0 */
        bool *at;
        void operator=(int set) { *at = set != 0; }
    };
    bit operator[](size_t l) { return {lane + l}; }
};

struct __attribute__((may_alias)) point { vec re, im; };
#define POINT ((size_t)2 * LANES)

#define LANE_BY_LANE(type, name, left, right, a, b) \
    inline vec operator name(left a_, right b_) \
    { \
        vec result; \
        for (size_t l = 0; l < LANES; l++) result[l] = a name b; \
        return result; \
    }
#define LANES_OPERATOR(name) \
    LANE_BY_LANE(vec, name, const vec &, const vec &, a_[l], b_[l]) \
    LANE_BY_LANE(vec, name, const real &, const vec &, a_, b_[l]) \
    LANE_BY_LANE(vec, name, const vec &, const real &, a_[l], b_) \
    inline vec &operator name##=(vec &a, const vec &b) { return a = a name b; } \
    inline vec &operator name##=(vec &a, const real &b) { return a = a name b; }
LANES_OPERATOR(+)
LANES_OPERATOR(-)
LANES_OPERATOR(*)
LANES_OPERATOR(/)
#undef LANES_OPERATOR
#undef LANE_BY_LANE

inline vec operator-(const vec &a) { return real(0) - a; }

inline vec vec_in_register(const vec &a) { return a; }

inline vec vec_loadu(const real *from)
{
    vec a;
    memcpy((void *)&a, (const void *)from, sizeof a);
    return a;
}
inline vec vec_load(const real *from) { return vec_loadu(from); }

inline void vec_storeu(real *to, const vec &a) { memcpy((void *)to, (const void *)&a, sizeof a); }
inline void vec_store(real *to, const vec &a) { vec_storeu(to, a); }

inline vec vec_load_partial(const real *from, size_t count)
{
    vec a = {};
    for (size_t l = 0; l < count; l++) a[l] = from[l];
    return a;
}

inline void vec_store_partial(real *to, const vec &a, size_t count)
{
    for (size_t l = 0; l < count; l++) to[l] = a[l];
}

inline vec_mask operator>(const vec &a, const vec &b)
{
    vec_mask mask;
    for (size_t l = 0; l < LANES; l++) mask.lane[l] = a[l] > b[l];
    return mask;
}

inline vec_mask &operator|=(vec_mask &a, const vec_mask &b)
{
    for (size_t l = 0; l < LANES; l++) a.lane[l] |= b.lane[l];
    return a;
}

inline vec vec_select(const vec_mask &mask, const vec &a, const vec &b)
{
    vec result;
    for (size_t l = 0; l < LANES; l++) result[l] = mask.lane[l] ? a[l] : b[l];
    return result;
}

inline vec vec_max(const vec &a, const vec &b) { return vec_select(a > b, a, b); }

inline int vec_any(const vec_mask &mask)
{
    int seen = 0;
    for (size_t l = 0; l < LANES; l++) seen |= mask.lane[l];
    return seen;
}

inline real vec_sum(const vec &a)
{
    real sum = 0;
    for (size_t l = 0; l < LANES; l++) sum += a[l];
    return sum;
}

/* Lanes 0 to 3 are of a, 4 to 7 of b. */
inline vec vec_shuffle(const vec &a, const vec &b, int first, int second, int third, int fourth)
{
    const int from[LANES] = {first, second, third, fourth};
    vec result;
    for (size_t l = 0; l < LANES; l++) result[l] = from[l] < LANES ? a[(size_t)from[l]] : b[(size_t)from[l] - LANES];
    return result;
}
#define __builtin_shufflevector vec_shuffle

#define LOG2_E ((real)1.44269504088896340736)

inline vec exp2_vec(const vec &x)
{
    vec result;
    for (size_t l = 0; l < LANES; l++) result[l] = exp2(x[l]);
    return result;
}
