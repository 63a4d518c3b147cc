/* exponential.h -- 2^x in every lane, without branches, tables or integer conversions
 *
 * For a softmax, whose arguments are differences to (nearly) the largest score: x <= 127 (float) or 1023 (double).
 *
 *     2^x = 2^n 2^f,  n the integer nearest to x,  -1/2 <= f <= 1/2
 *
 * 2^f is a minimax polynomial 1 + f g(f) (Remez exchange, in 50 digits), with relative error at most 2.0e-9 at degree 6
 * for float and 3.4e-18 at degree 11 for double.  With the rounding of Horner's rule the result is within 1.5 ulp
 * (test_attention.c).  2^0 is exactly 1.  For x < -126.5 (double: -1022.5) the result is 0.  NaN gives NaN. */

#ifndef TWICETOLD_EXPONENTIAL_H    /* a guard: tests/support/plain_vec.h replaces this file */
#define TWICETOLD_EXPONENTIAL_H

#include "vec.h"

/* exp(x) = 2^(x LOG2_E).  Callers multiply the factor into the scale of the scores. */
#define LOG2_E ((real)1.44269504088896340736)

static inline vec exp2_vec(vec x)
{
#ifdef TWICETOLD_DOUBLE
    enum { DEGREE = 11, MANTISSA = 52 };
    static const double coefficient[DEGREE] = {
        0.6931471805599453258052, 0.2402265069591013126010, 0.05550410866482008322746,
        0.009618129107594120089631, 0.001333355814677462051700, 0.0001540353045711209086048,
        1.525273349312748934741e-5, 1.321543528230848799859e-6, 1.017819957184213797429e-7,
        7.073783248503133299053e-9, 4.434771298200376708276e-10};
    const double round = 0x1.8p52 + 1023, lowest = -1023;
#else
    enum { DEGREE = 6, MANTISSA = 23 };
    static const float coefficient[DEGREE] = {
        0.6931472028550316476265f, 0.2402264791363685212683f, 0.05550332471190857169744f,
        0.009618437356957420558746f, 0.001339887439398139006078f, 0.0001535336206885848903378f};
    const float round = 0x1.8p23f + 127, lowest = -127;
#endif

    /* Step 1: n.  The last bit of `round` is worth 1, so the low bits of the sum are n plus the exponent's offset. */
    vec_mask keep = ~(x <= lowest);
    vec sum = x + round;

    /* Step 2: 2^n: shift these bits into the exponent; n = -127 (double: -1023) gives 0. */
    vec power = (vec)((vec_bits)sum << MANTISSA);

    /* Step 3: 2^f by Horner's rule. */
    vec f = x - (sum - round), series = (vec){0} + coefficient[DEGREE - 1];
    for (int d = DEGREE - 2; d >= 0; d--) series = series * f + coefficient[d];
    series = series * f + 1;

    /* Step 4: the product; far below the range n and f are meaningless, so the mask clears the lane. */
    return (vec)((vec_mask)(series * power) & keep);
}

#endif
