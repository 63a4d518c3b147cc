/* vec.h -- a vector of LANES reals
 *
 * The widest vector of the machine that the compiler was told to build for:
 * 64 bytes with AVX-512, 32 with AVX, 16 anywhere else (SSE2, NEON, or plain
 * registers).  The arithmetic is that of the vector extension which GCC and
 * clang share: + - * on whole vectors, and a scalar operand is repeated.  No
 * intrinsics, and nothing here knows what the lanes stand for.
 *
 * L is LANES throughout fast/. */

#ifndef TWICETOLD_LANES_H
#define TWICETOLD_LANES_H

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

typedef real lanes __attribute__((vector_size(LANE_BYTES), may_alias));
typedef real lanes_anywhere __attribute__((vector_size(LANE_BYTES), may_alias, aligned(sizeof(real))));

/* A complex number per lane.  In memory, L real parts and then L imaginary
 * parts, aligned to a vector: a point is POINT reals. */
typedef struct point { lanes re, im; } point;
#define POINT ((size_t)2 * LANES)

/* The vector at `from`, which is aligned to a vector, or only to a real. */
static inline lanes lanes_load(const real *from) { return *(const lanes *)from; }
static inline lanes lanes_load_anywhere(const real *from) { return *(const lanes_anywhere *)from; }

/* `a`, in a register from here on, and loaded once.  Of 16 registers sums leave hardly one to spare, and GCC would
 * rather load a vector again for every multiply-add that wants it, for which two loads a cycle are too few:
 * self-attention took 1.3 times as long on a Zen 3.  Of 32 it keeps most unasked; but vectors that lie across cache
 * lines it loaded twice, where two shuffles want them: ChoP'D's layer took 1.04 times as long on a Zen 4. */
static inline lanes lanes_held(lanes a)
{
#if defined __x86_64__ && (LANE_BYTES < 64 || defined __AVX512F__)
    __asm__("" : "+v"(a));
#endif
    return a;
}

static inline void lanes_store(real *to, lanes a) { *(lanes *)to = a; }
static inline void lanes_store_anywhere(real *to, lanes a) { *(lanes_anywhere *)to = a; }

/* The first `count` reals at `from`, zeros behind them; and the way back. */
static inline lanes lanes_load_part(const real *from, size_t count)
{
    lanes a = {0};
    for (size_t l = 0; l < count; l++) a[l] = from[l];
    return a;
}

static inline void lanes_store_part(real *to, lanes a, size_t count)
{
    for (size_t l = 0; l < count; l++) to[l] = a[l];
}

/* ---- comparisons --------------------------------------------------------- */

/* A comparison of two vectors gives a mask: all bits of a lane, or none. */
typedef int64_t lanes_words __attribute__((vector_size(LANE_BYTES), may_alias));
#ifdef TWICETOLD_DOUBLE
typedef int64_t lanes_mask __attribute__((vector_size(LANE_BYTES), may_alias));
typedef uint64_t lanes_bits __attribute__((vector_size(LANE_BYTES), may_alias));
#else
typedef int32_t lanes_mask __attribute__((vector_size(LANE_BYTES), may_alias));
typedef uint32_t lanes_bits __attribute__((vector_size(LANE_BYTES), may_alias));
#endif

/* Lane by lane: a where the mask is set, b elsewhere. */
static inline lanes lanes_pick(lanes_mask mask, lanes a, lanes b)
{
    return (lanes)(((lanes_mask)a & mask) | ((lanes_mask)b & ~mask));
}

/* The larger of two; b where either is NaN. */
static inline lanes lanes_larger(lanes a, lanes b)
{
    return lanes_pick(a > b, a, b);
}

/* Whether the mask is set in any lane. */
static inline int lanes_any(lanes_mask mask)
{
    int64_t seen = 0;
    lanes_words words = (lanes_words)mask;
    for (size_t w = 0; w < LANE_BYTES / sizeof seen; w++) seen |= words[w];
    return seen != 0;
}

/* ---- across lanes --------------------------------------------------------- */

static inline real lanes_sum(lanes a)
{
    real sum = 0;
    for (size_t l = 0; l < LANES; l++) sum += a[l];
    return sum;
}

#endif
