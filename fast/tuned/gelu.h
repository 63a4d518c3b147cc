/* gelu.h -- GELU in every lane, exact to float
 *
 *     gelu(x) = x Phi(x),  Phi the normal distribution function
 *
 * The tail below -u, u = |x|, falls nearly as a power of two whose exponent is
 * a polynomial:
 *
 *     Phi(-u) = 2^-(1 + u q(u)),        gelu(x) = x Phi(-u) for x < 0, x (1 - Phi(-u)) else
 *
 * q has degree 7 and spreads the error of Phi over 0 <= u <= 6 evenly (weighted
 * least squares, weights moved until the error was even): at most 1.7e-8, a
 * quarter of a rounding of numbers near 1, and 4.3e-8 with the roundings of
 * Horner's rule (swept in test_chopd.c).  Beyond 6 Phi(-u) is below 1e-9 and the
 * polynomial goes on growing, so the tail goes on falling.  No branch; a dozen
 * operations beside those of 2^x, where the C library's erf costs a call per
 * number: 0.11 ms in place of 3.5 for the 301 056 numbers of 56 x 56 tokens of
 * 96 channels.
 *
 * In double the C library's erf is called for each lane. */

#ifndef TWICETOLD_GELU_H
#define TWICETOLD_GELU_H

#include <stdbool.h>
#include "../../reference/runtime/steps.h"
#include "exponential.h"

static inline lanes gelu_lanes(lanes x)
{
#ifdef TWICETOLD_DOUBLE
    for (size_t l = 0; l < LANES; l++) x[l] = gelu(x[l]);
    return x;
#else
    enum { TERMS = 8 };
    static const float coefficient[TERMS] = {
        1.151106218572853f, 0.4591955906136958f, 0.052546595752928804f, -0.00715465206690604f,
        0.00022148674752965305f, 0.00014481714923304665f, -2.9277786410314555e-05f, 1.8706911873610826e-06f};
    lanes_mask negative = x < 0;
    lanes u = lanes_pick(negative, -x, x), q = (lanes){0} + coefficient[TERMS - 1];

    for (int t = TERMS - 2; t >= 0; t--) q = q * u + coefficient[t];
    lanes tail = exp2_lanes(-1 - q * u);
    return x * lanes_pick(negative, tail, 1 - tail);
#endif
}

/* y <- gelu(y), so many numbers. */
static inline void gelu_row(real *y, size_t count)
{
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) lanes_store_anywhere(y + at, gelu_lanes(lanes_load_anywhere(y + at)));
    if (at < count) lanes_store_part(y + at, gelu_lanes(lanes_load_part(y + at, count - at)), count - at);
}

/* y <- sigma(y + b), a row of so many numbers; sigma is GELU, or nothing. */
static inline void bias_and_gelu(real *y, const real *b, size_t count, bool with_gelu)
{
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        lanes sum = lanes_load_anywhere(y + at) + lanes_load_anywhere(b + at);
        lanes_store_anywhere(y + at, with_gelu ? gelu_lanes(sum) : sum);
    }
    if (at == count) return;
    lanes sum = lanes_load_part(y + at, count - at) + lanes_load_part(b + at, count - at);
    lanes_store_part(y + at, with_gelu ? gelu_lanes(sum) : sum, count - at);
}

#endif
