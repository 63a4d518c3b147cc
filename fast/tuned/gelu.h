/* gelu.h -- GELU in every lane, to float accuracy
 *
 *     gelu(x) = x Phi(x),  Phi the normal distribution function
 *
 * With u = |x|, the exponent of the tail Phi(-u) is nearly a polynomial:
 *
 *     Phi(-u) = 2^-(1 + u q(u)),        gelu(x) = x Phi(-u) for x < 0, x (1 - Phi(-u)) else
 *
 * q has degree 7 (weighted least squares).  The error of Phi is at most 1.7e-8 for 0 <= u <= 6, and 4.3e-8 with the
 * rounding of Horner's rule (test_chopd.c).  For u > 6 Phi(-u) is below 1e-9, and the approximation still decreases.
 *
 * In double each lane calls the C library's erf. */

#pragma once
#include <stdbool.h>
#include "../../reference/runtime/steps.h"
#include "exponential.h"

static inline vec gelu_vec(vec x)
{
#ifdef TWICETOLD_DOUBLE
    for (size_t l = 0; l < LANES; l++) x[l] = gelu(x[l]);
    return x;
#else
    enum { TERMS = 8 };
    static const float coefficient[TERMS] = {
        1.151106218572853f, 0.4591955906136958f, 0.052546595752928804f, -0.00715465206690604f,
        0.00022148674752965305f, 0.00014481714923304665f, -2.9277786410314555e-05f, 1.8706911873610826e-06f};
    vec_mask negative = x < 0;
    vec u = vec_select(negative, -x, x), q = (vec){0} + coefficient[TERMS - 1];

    for (int t = TERMS - 2; t >= 0; t--) q = q * u + coefficient[t];
    vec tail = exp2_vec(-1 - q * u);
    return x * vec_select(negative, tail, 1 - tail);
#endif
}

/* y <- gelu(y), for `count` numbers. */
static inline void gelu_row(real *y, size_t count)
{
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) vec_storeu(y + at, gelu_vec(vec_loadu(y + at)));
    if (at < count) vec_store_partial(y + at, gelu_vec(vec_load_partial(y + at, count - at)), count - at);
}

/* y <- sigma(y + b), for `count` numbers; sigma is GELU or the identity. */
static inline void bias_and_gelu(real *y, const real *b, size_t count, bool with_gelu)
{
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        vec sum = vec_loadu(y + at) + vec_loadu(b + at);
        vec_storeu(y + at, with_gelu ? gelu_vec(sum) : sum);
    }
    if (at == count) return;
    vec sum = vec_load_partial(y + at, count - at) + vec_load_partial(b + at, count - at);
    vec_store_partial(y + at, with_gelu ? gelu_vec(sum) : sum, count - at);
}
