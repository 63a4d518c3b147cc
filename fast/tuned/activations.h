/* activations.h -- norms and softmax of reference/runtime/steps.h, with vectors */

#pragma once
#include <tgmath.h>
#include "exponential.h"

static inline real dot(const real *a, const real *b, size_t n)
{
    vec sums = {0};
    real sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) sums += vec_loadu(a + i) * vec_loadu(b + i);
    for (; i < n; i++) sum += a[i] * b[i];
    return sum + vec_sum(sums);
}

/* 1 / max(|x|, 1e-12). */
static inline real normaliser(const real *x, size_t n)
{
    real norm = sqrt(dot(x, x, n)), least = (real)1e-12;
    return 1 / (norm < least ? least : norm);
}

/* l2_normalise. */
static inline void normalise_row(real *x, size_t n)
{
    real scale = normaliser(x, n);
    for (size_t i = 0; i < n; i++) x[i] *= scale;
}

/* layer_norm: (x - mean) / sqrt(variance + epsilon) gain + bias. */
static inline void norm_row(real *x, const real *gain, const real *bias, size_t n, double epsilon)
{
    vec sums = {0}, squares = {0};
    real first = x[0], mean = 0, variance = 0;
    size_t whole = n - n % LANES, i;

    for (i = 0; i < whole; i += LANES) sums += vec_loadu(x + i) - first;
    for (mean = vec_sum(sums); i < n; i++) mean += x[i] - first;
    mean = first + mean / (real)n;
    for (i = 0; i < whole; i += LANES) {
        vec off = vec_loadu(x + i) - mean;
        squares += off * off;
    }
    for (variance = vec_sum(squares); i < n; i++) variance += (x[i] - mean) * (x[i] - mean);
    real scale = (real)(1 / sqrt((wide_real)variance / (wide_real)n + epsilon));
    for (i = 0; i < n; i++) x[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

/* Softmax of scores that include the factor log2(e): x <- 2^x / sum 2^x; the largest is subtracted first. */
static inline void softmax_row(real *x, size_t n)
{
    vec top = (vec){0} + x[0], sums = {0};
    real largest = x[0], total = 0;
    size_t whole = n - n % LANES, i;

    for (i = 0; i < whole; i += LANES) top = vec_max(vec_loadu(x + i), top);
    for (; i < n; i++) top = vec_max((vec){0} + x[i], top);
    for (size_t l = 0; l < LANES; l++) largest = top[l] > largest ? top[l] : largest;

    for (i = 0; i < whole; i += LANES) {
        vec power = exp2_vec(vec_loadu(x + i) - largest);
        vec_storeu(x + i, power);
        sums += power;
    }
    if (whole < n) vec_store_partial(x + whole, exp2_vec(vec_load_partial(x + whole, n - whole) - largest), n - whole);
    for (i = whole; i < n; i++) total += x[i];
    total += vec_sum(sums);

    for (i = 0; i < n; i++) x[i] *= 1 / total;
}
