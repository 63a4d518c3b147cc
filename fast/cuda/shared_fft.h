/* shared_fft.h -- Fourier transforms of whole grids in the shared memory of a block
 *
 * The layout is [points][lanes][re, im]; the number of lanes (signals) is a power of two.  Axes are factored into 8, 4,
 * 2, 3, 5 and 7; for other factors the caller uses a larger circle (fast/circulant.h).  Each factor R is a pass over
 * the grid: a thread loads R points, transforms them in registers and stores them in place.  A pass needs one barrier
 * and no second grid.
 *
 * Frequencies are in digit-reversed order; frequency 0 is first.  Products of two spectra do not depend on the order.
 * The inverse runs the passes backwards and so restores the order of the tokens.
 *
 * Adjacent threads are adjacent lanes, then adjacent points.  So a warp's 32 numbers are in different banks, except in
 * the last pass of the last axis, where points are a factor apart.  Odd factors come last: with fewer than 16 lanes,
 * powers of two conflict there and odd factors do not. */

#pragma once
#include "../../reference/runtime/grid.h"
#include "device.h"

/* ---- complex numbers, [re, im] in one access ----------------------------------------- */

/* point z = point_of(load<2>(p, 2 * i)); store(p, 2 * i, both_of(z)); */
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

constexpr int PASSES = 24;

/* The passes of a grid.  Points that are transformed together are `step` apart; neighbours on the axis are `stride`
 * apart.  Twiddle factors are every `turn`th entry of the axis's table, which starts at `table`. */
struct shared_fft {
    int points, turns, passes;
    struct { int radix, step, stride, turn, table; } pass[PASSES];
};

/* Plans a grid; false if it has other factors, or too many points or passes. */
static inline bool shared_fft_of(struct shared_fft *t, const size_t size[GRID_AXES])
{
    static const int radix[] = {8, 4, 2, 3, 5, 7};
    size_t stride = 1;
    *t = {};
    for (int a = GRID_AXES - 1; a >= 0; a--) stride *= size[a];
    if (stride > 1 << 20) return false;
    t->points = (int)stride;
    for (int a = 0; a < GRID_AXES; a++) {
        int n = (int)size[a], left = n;
        stride /= size[a];
        for (int r : radix)
            for (; left % r == 0; left /= r) {
                if (t->passes == PASSES) return false;
                t->pass[t->passes++] = {r, left / r * (int)stride, (int)stride, n / left, t->turns};
            }
        if (left > 1) return false;
        t->turns += n;
    }
    return true;
}

/* ---- transforms of a few points -------------------------------------------------------- */

/* Multiplies by -i, or by i in the inverse. */
template <bool INVERSE> __device__ inline point quarter(point a)
{
    return INVERSE ? point{-a.im, a.re} : point{a.im, -a.re};
}

/* cos and sin of 2 pi k / R for R = 3, 5, 7 at compile time, by symmetry from k <= R / 2. */
__device__ constexpr real cosine(int R, int k)
{
    int m = k > R - k ? R - k : k;
    return m == 0 ? (real)1 : R == 3 ? (real)-0.5 :
           R == 5 ? (m == 1 ? (real)0.30901699437494742410 : (real)-0.80901699437494742410) :
           m == 1 ? (real)0.62348980185873353053 :
           m == 2 ? (real)-0.22252093395631440429 : (real)-0.90096886790241912624;
}
__device__ constexpr real sine(int R, int k)
{
    int m = k > R - k ? R - k : k;
    real s = m == 0 ? (real)0 : R == 3 ? (real)0.86602540378443864676 :
             R == 5 ? (m == 1 ? (real)0.95105651629515357212 : (real)0.58778525229247312917) :
             m == 1 ? (real)0.78183148246802980871 :
             m == 2 ? (real)0.97492791218182360702 : (real)0.43388373911755812048;
    return m == k ? s : -s;
}

/* R odd: z_t and z_(R-t) have the same cosine and opposite sines. */
template <int R, bool INVERSE> __device__ inline void odd_butterfly(point *z)
{
    point sum[R / 2 + 1], difference[R / 2 + 1], all = z[0];
    #pragma unroll
    for (int t = 1; t <= R / 2; t++) {
        sum[t] = z[t] + z[R - t];
        difference[t] = quarter<INVERSE>(z[t] - z[R - t]);
        all = all + sum[t];
    }
    #pragma unroll
    for (int k = 1; k <= R / 2; k++) {
        point even = z[0], odd = {0, 0};
        #pragma unroll
        for (int t = 1; t <= R / 2; t++) {
            const real c = cosine(R, t * k % R), s = sine(R, t * k % R);
            even = even + c * sum[t];
            odd = odd + s * difference[t];
        }
        z[k] = even + odd;
        z[R - k] = even - odd;
    }
    z[0] = all;
}

/* R = 2, 4, 8: transforms of even and odd points, combined by twiddle factors. */
template <int R, bool INVERSE> __device__ inline void butterfly(point *z)
{
    if constexpr (R == 2) {
        point first = z[0];
        z[0] = first + z[1];
        z[1] = first - z[1];
    } else if constexpr (R % 2) {
        odd_butterfly<R, INVERSE>(z);
    } else {
        const real r = (real)0.70710678118654752440;
        point even[R / 2], odd[R / 2];
        #pragma unroll
        for (int k = 0; k < R / 2; k++) {
            even[k] = z[2 * k];
            odd[k] = z[2 * k + 1];
        }
        butterfly<R / 2, INVERSE>(even);
        butterfly<R / 2, INVERSE>(odd);
        odd[R / 4] = quarter<INVERSE>(odd[R / 4]);
        if constexpr (R == 8) {
            odd[1] = odd[1] * point{r, INVERSE ? r : -r};
            odd[3] = odd[3] * point{-r, INVERSE ? r : -r};
        }
        #pragma unroll
        for (int k = 0; k < R / 2; k++) {
            z[k] = even[k] + odd[k];
            z[k + R / 2] = even[k] - odd[k];
        }
    }
}

/* ---- the passes -------------------------------------------------------------------- */

/* A pass over 2^shift lanes.  Twiddle factors multiply after the butterfly, in the inverse before it. */
template <int R, bool INVERSE>
__device__ inline void shared_fft_pass(int points, int step, int stride, int turn, shared<real> grid,
                                       shared<const real> turns, int shift)
{
    for (int e = threadIdx.x; e < points / R << shift; e += blockDim.x) {
        int b = e >> shift, lane = e & ((1 << shift) - 1), inner = b % step, by = inner / stride * turn;
        int first = ((b / step * R * step + inner) << shift) + lane;
        point z[R];
        #pragma unroll
        for (int t = 0; t < R; t++) {
            z[t] = point_of(load<2>(grid, 2 * (first + (t * step << shift))));
            if (INVERSE && t && step > stride) {
                point w = point_of(load<2>(turns, 2 * (t * by)));
                z[t] = z[t] * point{w.re, -w.im};
            }
        }
        butterfly<R, INVERSE>(z);
        #pragma unroll
        for (int t = 0; t < R; t++) {
            if (!INVERSE && t && step > stride) z[t] = z[t] * point_of(load<2>(turns, 2 * (t * by)));
            store(grid, 2 * (first + (t * step << shift)), both_of(z[t]));
        }
    }
}

/* Transforms the grid.  It must be complete (a barrier before), and is complete after. */
template <bool INVERSE>
__device__ inline void shared_fft_run(const shared_fft &f, shared<real> grid, shared<const real> turns, int shift)
{
    for (int n = 0; n < f.passes; n++) {
        const auto &s = f.pass[INVERSE ? f.passes - 1 - n : n];
        shared<const real> table = turns + 2 * s.table;
        switch (s.radix) {
        case 2: shared_fft_pass<2, INVERSE>(f.points, s.step, s.stride, s.turn, grid, table, shift); break;
        case 3: shared_fft_pass<3, INVERSE>(f.points, s.step, s.stride, s.turn, grid, table, shift); break;
        case 4: shared_fft_pass<4, INVERSE>(f.points, s.step, s.stride, s.turn, grid, table, shift); break;
        case 5: shared_fft_pass<5, INVERSE>(f.points, s.step, s.stride, s.turn, grid, table, shift); break;
        case 7: shared_fft_pass<7, INVERSE>(f.points, s.step, s.stride, s.turn, grid, table, shift); break;
        default: shared_fft_pass<8, INVERSE>(f.points, s.step, s.stride, s.turn, grid, table, shift);
        }
        __syncthreads();
    }
}

/* The table of an axis of n points: exp(-2 pi i k / n), a thread for each k < n. */
__global__ void shared_fft_turns(array<real> turns, int table, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    double angle = -6.28318530717958647693 * k / n;
    turns[2 * (table + k)] = (real)cos(angle);
    turns[2 * (table + k) + 1] = (real)sin(angle);
}

/* Copies the tables to shared memory; a barrier must follow. */
__device__ inline void shared_fft_fetch(const shared_fft &f, shared<real> to, reals turns)
{
    for (int k = threadIdx.x; k < 2 * f.turns; k += blockDim.x) to[k] = turns[k];
}
