/* vec.h -- a vector of LANES reals
 *
 * The widest vector of the target machine: 64 bytes with AVX-512, 32 with AVX, otherwise 16 (SSE2, NEON, or scalar
 * registers).  Arithmetic uses the vector extension of GCC and clang, without intrinsics: + - * / on whole vectors; a
 * scalar operand is repeated in every lane.  Comments in fast/tuned/ write L for LANES. */

#ifndef TWICETOLD_VEC_H    /* a guard: tests/support/plain_vec.h replaces this file */
#define TWICETOLD_VEC_H

#include <stdint.h>
#include "../../reference/runtime/real.h"
#include "registers.h"

#ifndef LANE_BYTES              /* `make wide` sets it to 64 */
#if defined __AVX512F__
#define LANE_BYTES 64
#elif defined __AVX__
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif
#endif

#ifdef TWICETOLD_DOUBLE
#define LANES (LANE_BYTES / 8)
#else
#define LANES (LANE_BYTES / 4)
#endif

/* For functions that are called with constant arguments: the compiler unrolls loops over such an argument, and keeps
 * small arrays of vectors in registers. */
#define INLINED static inline __attribute__((always_inline))

typedef real vec __attribute__((vector_size(LANE_BYTES), may_alias));
typedef real vec_unaligned __attribute__((vector_size(LANE_BYTES), may_alias, aligned(sizeof(real))));

/* A complex number per lane.  In memory, L real parts, then L imaginary parts, aligned to a vector. */
typedef struct point { vec re, im; } point;
#define POINT ((size_t)2 * LANES)

/* The vector at `from`, aligned to a vector; loadu: aligned to a real. */
static inline vec vec_load(const real *from) { return *(const vec *)from; }
static inline vec vec_loadu(const real *from) { return *(const vec_unaligned *)from; }

/* On x86-64, loads `a` once and keeps it in a register.  Without this, GCC loads a vector again for every multiply-add
 * if registers are scarce, and an unaligned vector for every shuffle. */
static inline vec vec_in_register(vec a)
{
#if defined __x86_64__ && (LANE_BYTES < 64 || defined __AVX512F__)
    __asm__("" : "+v"(a));
#endif
    return a;
}

static inline void vec_store(real *to, vec a) { *(vec *)to = a; }
static inline void vec_storeu(real *to, vec a) { *(vec_unaligned *)to = a; }

/* Loads or stores only the first `count` lanes; the loaded vector is zero in the others. */
static inline vec vec_load_partial(const real *from, size_t count)
{
    vec a = {0};
    for (size_t l = 0; l < count; l++) a[l] = from[l];
    return a;
}

static inline void vec_store_partial(real *to, vec a, size_t count)
{
    for (size_t l = 0; l < count; l++) to[l] = a[l];
}

/* ---- comparisons --------------------------------------------------------- */

/* A comparison of two vectors gives a mask: each lane has all bits set, or none. */
typedef int64_t vec_words __attribute__((vector_size(LANE_BYTES), may_alias));
#ifdef TWICETOLD_DOUBLE
typedef int64_t vec_mask __attribute__((vector_size(LANE_BYTES), may_alias));
typedef uint64_t vec_bits __attribute__((vector_size(LANE_BYTES), may_alias));
#else
typedef int32_t vec_mask __attribute__((vector_size(LANE_BYTES), may_alias));
typedef uint32_t vec_bits __attribute__((vector_size(LANE_BYTES), may_alias));
#endif

/* Lane by lane: a where the mask is set, b elsewhere. */
static inline vec vec_select(vec_mask mask, vec a, vec b)
{
    return (vec)(((vec_mask)a & mask) | ((vec_mask)b & ~mask));
}

/* The larger of two; b where either is NaN. */
static inline vec vec_max(vec a, vec b)
{
    return vec_select(a > b, a, b);
}

/* True if the mask is set in any lane. */
static inline int vec_any(vec_mask mask)
{
    int64_t seen = 0;
    vec_words words = (vec_words)mask;
    for (size_t w = 0; w < LANE_BYTES / sizeof seen; w++) seen |= words[w];
    return seen != 0;
}

/* ---- across lanes --------------------------------------------------------- */

static inline real vec_sum(vec a)
{
    real sum = 0;
    for (size_t l = 0; l < LANES; l++) sum += a[l];
    return sum;
}

#endif
