/* vec.h -- a vector of LANES reals
 *
 * The widest vector of the machine that the compiler was told to build for: 64 bytes with AVX-512, 32 with AVX, 16
 * anywhere else (SSE2, NEON, or plain registers).  Arithmetic is the vector extension of GCC and clang, without
 * intrinsics: + - * on whole vectors, and a scalar operand is repeated.  L is LANES throughout fast/. */

#ifndef TWICETOLD_VEC_H
#define TWICETOLD_VEC_H

#include <stdint.h>
#include "../../reference/runtime/real.h"
#include "registers.h"

#ifndef LANE_BYTES              /* make cross MACHINE=wide asks for more than the machine has */
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

/* Functions whose arguments are constants where they are called: every loop over
 * such an argument is unrolled, and small arrays of lanes become registers. */
#define INLINED static inline __attribute__((always_inline))

typedef real vec __attribute__((vector_size(LANE_BYTES), may_alias));
typedef real vec_unaligned __attribute__((vector_size(LANE_BYTES), may_alias, aligned(sizeof(real))));

/* A complex number per lane.  In memory, L real parts and then L imaginary
 * parts, aligned to a vector: a point is POINT reals. */
typedef struct point { vec re, im; } point;
#define POINT ((size_t)2 * LANES)

/* The vector at `from`, which is aligned to a vector, or only to a real. */
static inline vec vec_load(const real *from) { return *(const vec *)from; }
static inline vec vec_loadu(const real *from) { return *(const vec_unaligned *)from; }

/* `a`, in a register from here on, loaded once.  GCC would load a vector again for every multiply-add that uses it, if
 * 16 registers leave few to spare, and unaligned ones for each shuffle. */
static inline vec vec_in_register(vec a)
{
#if defined __x86_64__ && (LANE_BYTES < 64 || defined __AVX512F__)
    __asm__("" : "+v"(a));
#endif
    return a;
}

static inline void vec_store(real *to, vec a) { *(vec *)to = a; }
static inline void vec_storeu(real *to, vec a) { *(vec_unaligned *)to = a; }

/* The first `count` reals at `from`, zeros behind them; and the way back. */
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

/* A comparison of two vectors gives a mask: all bits of a lane, or none. */
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

/* Whether the mask is set in any lane. */
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
