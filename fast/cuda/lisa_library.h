/* lisa_library.h -- LiSA's second rung: what stands between the library's transforms
 *
 * Signals lie side by side on their circles, [points][B C][re, im], as tokens do.  Each
 * kernel takes a thread for each number that it writes.  See lisa.cu. */

#ifndef TWICETOLD_FAST_CUDA_LISA_LIBRARY_H
#define TWICETOLD_FAST_CUDA_LISA_LIBRARY_H

#include "lisa.h"

/* Kernels side by side, `rows` of each pair, from the column `first` of z on. */
__global__ void lay_kernels(problem_of_lisa p, array<real> z, array<const real> table, int rows, int columns, int each,
                            int kernels, int first, int width)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (size_t)p.points * kernels) return;
    int f = (int)(at / kernels), k = (int)(at % kernels);
    point w = kernel_point(p, table, rows, columns, each, k % rows, k / rows, f);
    store(z, 2 * ((size_t)f * width + first + k), both_of(w));
}

/* Keys or values on their circles, 0 off the tokens.  In Eq. 4 the values times two
 * channels of the key, j and j + 1. */
__global__ void lay_tokens(problem_of_lisa p, array<real> z, array<const real> qkv, int third, int j, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= signals * p.points) return;
    size_t signal = at % signals, image = signal / p.C;
    int channel = (int)(signal % p.C), token = circle_token(p, (int)(at / signals));
    point laid = {0, 0};
    if (token >= 0) {
        size_t row = (image * p.N + token) * 3 * p.C, k = row + p.C + channel / p.c * p.c + j;
        real x = qkv[row + third * p.C + channel];
        laid = {x, 0};
        if (p.tables) {
            laid = {qkv[k] * x, 0};
            if (j + 1 < p.c) laid.im = qkv[k + 1] * x;
        }
    }
    store(z, 2 * at, both_of(laid));
}

/* G = z times the kernels from `first` on, `rows` of them or one for all; and two columns
 * of the bias everywhere: a constant is one number at frequency 0. */
__global__ void multiply(problem_of_lisa p, array<real> G, array<const real> z, array<const real> kernels, int first,
                         int rows, int width, array<const real> bias, int d, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= signals * p.points) return;
    int ch = (int)(at % signals % p.c), head = (int)(at % signals % p.C) / p.c;
    size_t f = at / signals;
    int kernel = first + (rows > 1 ? ch : p.tables > 1 ? head : 0);
    point product = point_of(load<2>(z, 2 * at)) * point_of(load<2>(kernels, 2 * (f * width + kernel)));
    if (bias && f == 0) {
        product.re += bias[ch * p.D + d];
        if (d + 1 < p.D) product.im += bias[ch * p.D + d + 1];
    }
    store(G, 2 * at, both_of(product));
}

/* a_id, a_i,d+1 = sum_c q_ic G_ic: a thread for each token and head. */
__global__ void contract(problem_of_lisa p, array<real> a, array<const real> G, array<const real> qkv, int pair,
                         size_t count, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    int head = (int)(at % p.h), i = (int)(at / p.h % p.N);
    size_t image = at / p.h / p.N, q = (image * p.N + i) * 3 * p.C + head * p.c;
    size_t from = circle_point(p, i) * signals + image * p.C + head * p.c;
    point sum = {0, 0};
    for (int ch = 0; ch < p.c; ch++) {
        real q_ic = qkv[q + ch];
        sum = sum + q_ic * point_of(load<2>(G, 2 * (from + ch)));
    }
    store(a, 2 * (((image * p.h + head) * p.pairs + pair) * p.N + i), both_of(sum));
}

/* y_ik += a_id Re G_ik + a_i,d+1 Im G_ik, and in Eq. 4 two channels of the query for a. */
__global__ void weigh(problem_of_lisa p, array<real> y, array<const real> G, array<const real> a, array<const real> qkv,
                      int pair, size_t outputs, size_t signals)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int channel = (int)(at % p.C), head = channel / p.c, i = (int)(at / p.C % p.N);
    size_t image = at / p.C / p.N;
    point by, G_ik = point_of(load<2>(G, 2 * (circle_point(p, i) * signals + image * p.C + channel)));
    if (p.tables) {
        size_t q = (image * p.N + i) * 3 * p.C + head * p.c + 2 * pair;
        by = {qkv[q], 0};
        if (2 * pair + 1 < p.c) by.im = qkv[q + 1];
    } else {
        by = point_of(load<2>(a, 2 * (((image * p.h + head) * p.pairs + pair) * p.N + i)));
    }
    real sum = by.re * G_ik.re + by.im * G_ik.im;
    if (pair) sum += y[at];
    y[at] = sum;
}

#endif
