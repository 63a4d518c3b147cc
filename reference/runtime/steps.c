/* steps.c -- softmax, normalisation and GELU; see steps.h */

#include "steps.h"
#include <tgmath.h>

void softmax(real *x, size_t n)
{
    real largest = x[0], sum = 0;
    for (size_t j = 1; j < n; j++)
        if (x[j] > largest) largest = x[j];
    for (size_t j = 0; j < n; j++) {
        x[j] = exp(x[j] - largest);
        sum += x[j];
    }
    for (size_t j = 0; j < n; j++) x[j] /= sum;
}

void l2_normalise(real *x, size_t n)
{
    real squares = 0;
    for (size_t j = 0; j < n; j++) squares += x[j] * x[j];
    real norm = sqrt(squares), floor_norm = (real)1e-12;
    if (norm < floor_norm) norm = floor_norm;
    for (size_t j = 0; j < n; j++) x[j] /= norm;
}

real gelu(real x)
{
    real sqrt_half = (real)0.70710678118654752440;
    return x * (1 + erf(x * sqrt_half)) / 2;
}

void layer_norm(real *x, const real *gain, const real *bias, size_t n, double epsilon)
{
    real first = x[0], mean = 0, variance = 0;
    for (size_t j = 0; j < n; j++) mean += x[j] - first;
    mean = first + mean / (real)n;
    for (size_t j = 0; j < n; j++) variance += (x[j] - mean) * (x[j] - mean);
    real scale = 1 / sqrt(variance / (real)n + (real)epsilon);
    for (size_t j = 0; j < n; j++)
        x[j] = (x[j] - mean) * scale * (gain ? gain[j] : 1) + (bias ? bias[j] : 0);
}
