/* vec_pass.h -- runs a transform of vec_fft.h, reading and writing through functions of the caller
 *
 * The first stage reads a line through `load`, the last writes it through `store`; the stages between work in a buffer
 * in the first cache.  `load` and `store` are inlined, so a product with a kernel or a contraction needs no additional
 * pass over memory. */

#pragma once
#include <stdbool.h>
#include "vec_fft.h"
#include "../../turns.h"

/* With a sanitizer, inlining these functions takes minutes. */
#ifdef __SANITIZE_ADDRESS__
#undef INLINED
#define INLINED static inline
#endif

/* Loads or stores the point of a line at `place`, a multiple of POINT (vec_fft.h). */
typedef point lane_load(void *line, size_t place);
typedef void lane_store(void *line, size_t place, point z);

/* Takes the `count` results of a butterfly: numbers first, first + 1, ... in the order of the stage (of the last
 * stage: lane_fft_order). */
typedef void lane_take(void *sink, size_t first, const point *z, size_t count);

/* A contiguous line of points. */
INLINED point line_load(void *line, size_t place)
{
    const real *at = (const real *)line + place;
    return (point){vec_load(at), vec_load(at + LANES)};
}

INLINED void line_store(void *line, size_t place, point z)
{
    real *at = (real *)line + place;
    vec_store(at, z.re);
    vec_store(at + LANES, z.im);
}

INLINED point add(point a, point b) { return (point){a.re + b.re, a.im + b.im}; }
INLINED point subtract(point a, point b) { return (point){a.re - b.re, a.im - b.im}; }
INLINED point minus_i(point a) { return (point){a.im, -a.re}; }

INLINED void butterfly_2(point z[2])
{
    point even = z[0], odd = z[1];
    z[0] = add(even, odd);
    z[1] = subtract(even, odd);
}

INLINED void butterfly_4(point z[4])
{
    point even[2] = {z[0], z[2]}, odd[2] = {z[1], z[3]};
    butterfly_2(even);
    butterfly_2(odd);
    odd[1] = minus_i(odd[1]);
    for (size_t k = 0; k < 2; k++) {
        z[k] = add(even[k], odd[k]);
        z[k + 2] = subtract(even[k], odd[k]);
    }
}

/* Rotates the odd half by eighths of a turn, whose sines are 0, 1 or sqrt(1/2). */
INLINED void butterfly_8(point z[8])
{
    const real r = eighth;
    point even[4] = {z[0], z[2], z[4], z[6]}, odd[4] = {z[1], z[3], z[5], z[7]};
    butterfly_4(even);
    butterfly_4(odd);
    odd[1] = (point){odd[1].re + odd[1].im, odd[1].im - odd[1].re};
    odd[2] = minus_i(odd[2]);
    odd[3] = (point){odd[3].im - odd[3].re, -odd[3].re - odd[3].im};
    z[0] = add(even[0], odd[0]);
    z[4] = subtract(even[0], odd[0]);
    z[2] = add(even[2], odd[2]);
    z[6] = subtract(even[2], odd[2]);
    for (size_t k = 1; k < 4; k += 2) {
        z[k] = (point){even[k].re + r * odd[k].re, even[k].im + r * odd[k].im};
        z[k + 4] = (point){even[k].re - r * odd[k].re, even[k].im - r * odd[k].im};
    }
}

/* The first half of a transform of 4 by 4: butterflies of points j, j + 4, j + 8, j + 12; result k is rotated by j k
 * sixteenths of a turn.  The second half, a butterfly of points 4 k ... 4 k + 3 for each k, gives results k, k + 4,
 * k + 8, k + 12 (lane_fft_result). */
INLINED void first_half_16(point z[16])
{
    const real c = sixteenth[0], s = sixteenth[1], r = eighth;
    const real cosines[] = {1, c, r, s, 0, 0, -r, 0, 0, -c}, sines[] = {0, s, r, c, 1, 0, r, 0, 0, -s};
    point rotated[16];
    for (size_t j = 0; j < 4; j++) {
        point four[4] = {z[j], z[j + 4], z[j + 8], z[j + 12]};
        butterfly_4(four);
        for (size_t k = 0; k < 4; k++) {
            const real co = cosines[j * k], si = sines[j * k];
            const point y = four[k];
            if (j * k == 0) rotated[4 * k + j] = y;
            else if (j * k == 4) rotated[4 * k + j] = minus_i(y);
            else rotated[4 * k + j] = (point){co * y.re + si * y.im, co * y.im - si * y.re};
        }
    }
    for (size_t n = 0; n < 16; n++) z[n] = rotated[n];
}

/* Butterflies of odd primes p use sums and differences of mirrored points, which overwrite z[j] and z[p-j]:
 *
 *     Z[k], Z[p-k] = z[0] + sum_j cos(2 pi j k/p) (z[j] + z[p-j]) -+ sqrt(-1) sum_j sin(2 pi j k/p) (z[j] - z[p-j]) */
INLINED void mirrored_odd(point *z, const size_t p)
{
    for (size_t j = 1; 2 * j < p; j++) {
        const point sum = add(z[j], z[p - j]), difference = subtract(z[j], z[p - j]);
        z[j] = sum;
        z[p - j] = difference;
    }
}

/* Result 0. */
INLINED point first_odd(const point *z, const size_t p)
{
    point all = z[0];
    for (size_t j = 1; 2 * j < p; j++) all = add(all, z[j]);
    return all;
}

/* Results k and p - k, 0 < 2 k < p. */
INLINED void pair_odd(point pair[2], const point *z, const size_t p, const size_t k)
{
    const real sin_k = sine[p][k];
    point c = z[0], s = {sin_k * z[p - 1].re, sin_k * z[p - 1].im};
    for (size_t j = 1; 2 * j < p; j++) {
        const real cos_jk = cosine[p][j * k % p], sin_jk = sine[p][j * k % p];
        c = (point){c.re + cos_jk * z[j].re, c.im + cos_jk * z[j].im};
        if (j > 1) s = (point){s.re + sin_jk * z[p - j].re, s.im + sin_jk * z[p - j].im};
    }
    pair[0] = (point){c.re + s.im, c.im - s.re};
    pair[1] = (point){c.re - s.im, c.im + s.re};
}

/* All butterflies of one stage.  Callers pass constants for radix and twiddled, so that the points are in registers.
 * Results are stored one by one, or if `store` is NULL, passed to `take` together.  An odd butterfly stores each pair
 * before it computes the next, which saves registers. */
INLINED void stage_of(const size_t radix, const bool twiddled, const struct lane_stage *stage,
                      lane_load load, void *source, lane_store store, lane_take take, void *sink)
{
    const size_t *from = stage->from, *to = stage->to;
    const real *twiddle = stage->twiddle;

    for (size_t b = 0; b < stage->butterflies; b++, from += radix, to += radix) {
        point z[16], pair[2], result[16];
#pragma GCC unroll 16
        for (size_t k = 0; k < radix; k++) z[k] = load(source, from[k]);
        if (radix == 2) butterfly_2(z);
        if (radix == 4) butterfly_4(z);
        if (radix == 8) butterfly_8(z);
        if (radix == 16) first_half_16(z);
        if (radix % 2) mirrored_odd(z, radix);
#pragma GCC unroll 16
        for (size_t n = 0; n < radix; n++) {
            const size_t k = lane_fft_result(radix, n);
            point y;
            if (radix % 2 && n % 2) pair_odd(pair, z, radix, k);
            if (radix == 16 && n % 4 == 0) butterfly_4(z + n);
            if (radix == 16) y = z[n];
            else if (radix % 2 == 0) y = z[k];
            else if (n == 0) y = first_odd(z, radix);
            else y = pair[1 - n % 2];
            if (twiddled && n) {
                const real *t = twiddle + 2 * (n - 1);
                y = (point){y.re * t[0] - y.im * t[1], y.re * t[1] + y.im * t[0]};
            }
            if (store) store(sink, to[n], y);
            else result[n] = y;
        }
        if (!store) take(sink, b * radix, result, radix);
        if (twiddled) twiddle += 2 * (radix - 1);
    }
}

INLINED void stage_of_any(const bool twiddled, const struct lane_stage *stage,
                          lane_load load, void *source, lane_store store, lane_take take, void *sink)
{
    switch (stage->radix) {
#define CASE(n) case n: stage_of(n, twiddled, stage, load, source, store, take, sink); break;
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(7) CASE(8) CASE(16)
#undef CASE
    }
}

/* One stage, from `load` to `store`, or to `take`. */
INLINED void lane_stage_through(const struct lane_stage *stage,
                                lane_load load, void *source, lane_store store, void *sink)
{
    if (stage->twiddle) stage_of_any(true, stage, load, source, store, NULL, sink);
    else stage_of_any(false, stage, load, source, store, NULL, sink);
}

INLINED void lane_stage_taken(const struct lane_stage *stage, lane_load load, void *source, lane_take take, void *sink)
{
    stage_of_any(false, stage, load, source, NULL, take, sink);
}

/* One stage, with its load and store functions compiled in. */
typedef void lane_part(const struct lane_stage *stage, void *source, void *sink);

/* Define parts for vec_pass that load from a struct of the caller, or store to one.  They copy the struct, so that its
 * members stay in registers: a vector store may alias any memory whose address has escaped. */
#define LANE_ENTER(name, type, load) \
    static void name(const struct lane_stage *stage, void *source, void *line) \
    { \
        type local = *(type *)source; \
        lane_stage_through(stage, load, &local, line_store, line); \
    }
#define LANE_LEAVE(name, type, store) \
    static void name(const struct lane_stage *stage, void *line, void *sink) \
    { \
        type local = *(type *)sink; \
        lane_stage_through(stage, line_load, line, store, &local); \
    }

/* From a contiguous line to a contiguous line. */
lane_part lane_line;

/* Runs all stages: `enter` is the first, `leave` the last; `line` is scratch for n points.  Reads all of source before
 * it writes to sink. */
void vec_pass(const struct vec_fft *fft, lane_part *enter, void *source, lane_part *leave, void *sink, real *line);
