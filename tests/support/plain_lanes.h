/* plain_lanes.h -- replaces fast/tuned/vec.h and fast/tuned/exponential.h for a real that is a class (C++)
 *
 * Included first, it defines their include guards and the same names.  A vector is an array, an operation a loop, and
 * 2^x the class's exp2. */

#ifndef TWICETOLD_TESTS_PLAIN_LANES_H
#define TWICETOLD_TESTS_PLAIN_LANES_H

#define TWICETOLD_LANES_H
#define TWICETOLD_EXPONENTIAL_H

#include <string.h>
#include "../../fast/tuned/registers.h"

#define LANES 4
#define LANE_BYTES 64
#define INLINED static inline

struct __attribute__((may_alias)) lanes {
    real lane[LANES];
    real &operator[](size_t l) { return lane[l]; }
    const real &operator[](size_t l) const { return lane[l]; }
};

struct lanes_mask {
    bool lane[LANES];
    struct bit {                /* assigned -1 or 0 */
        bool *at;
        void operator=(int set) { *at = set != 0; }
    };
    bit operator[](size_t l) { return {lane + l}; }
};

struct __attribute__((may_alias)) point { lanes re, im; };
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

inline lanes lanes_held(const lanes &a) { return a; }

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

/* Lanes 0 to 3 are of a, 4 to 7 of b. */
inline lanes lanes_shuffle(const lanes &a, const lanes &b, int first, int second, int third, int fourth)
{
    const int from[LANES] = {first, second, third, fourth};
    lanes result;
    for (size_t l = 0; l < LANES; l++) result[l] = from[l] < LANES ? a[(size_t)from[l]] : b[(size_t)from[l] - LANES];
    return result;
}
#define __builtin_shufflevector lanes_shuffle

#define LOG2_E ((real)1.44269504088896340736)

inline lanes exp2_lanes(const lanes &x)
{
    lanes result;
    for (size_t l = 0; l < LANES; l++) result[l] = exp2(x[l]);
    return result;
}

#endif
