/* activation.h -- y <- sigma(y + b) in place, a thread for each number
 *
 * y[at] gets the bias b[at / each % count]: `each` is 1 if the channels of y are adjacent, and the size of a plane if y
 * has a plane for each channel. */

#pragma once
#include "device.h"

enum activation { IDENTITY, GELU, LOGISTIC };

/* GELU with the exact normal distribution function. */
template <int A> __device__ inline real activated(real v)
{
    if (A == GELU) return v * (1 + erf(v * (real)0.70710678118654752440)) / 2;
    if (A == LOGISTIC) return 1 / (1 + exp(-v));
    return v;
}

template <int A>
__global__ void bias_and_activation(array<real> y, reals b, size_t numbers, size_t each, size_t count)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= numbers) return;
    real v = y[at] + b[at / each % count];
    y[at] = activated<A>(v);
}

static inline void activate(struct device *d, enum activation a, array<real> y, reals b, size_t numbers,
                            size_t each, size_t count)
{
    unsigned blocks = device_blocks(numbers, 256);
    if (a == GELU) LAUNCH(d, bias_and_activation<GELU>, blocks, 256, 0, y, b, numbers, each, count);
    else if (a == LOGISTIC) LAUNCH(d, bias_and_activation<LOGISTIC>, blocks, 256, 0, y, b, numbers, each, count);
    else LAUNCH(d, bias_and_activation<IDENTITY>, blocks, 256, 0, y, b, numbers, each, count);
}
