/* point.h -- complex numbers on the device, [re, im] in one access
 *
 *     point z = point_of(load<2>(p, 2 * i));
 *     store(p, 2 * i, both_of(z)); */

#ifndef TWICETOLD_FAST_CUDA_POINT_H
#define TWICETOLD_FAST_CUDA_POINT_H

#include "device.h"

struct point { real re, im; };

__device__ inline point operator+(point a, point b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline point operator-(point a, point b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline point operator*(point a, point b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline point operator*(real a, point b) { return {a * b.re, a * b.im}; }

__device__ inline point point_of(const pack<real, 2> &both) { return {both[0], both[1]}; }
__device__ inline pack<real, 2> both_of(point z)
{
    pack<real, 2> both;
    both[0] = z.re;
    both[1] = z.im;
    return both;
}

#endif
