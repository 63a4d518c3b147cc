/* library_stubs.h -- replaces machine-dependent headers in the exact build (C++)
 *
 * The exact build includes it before each source.  It defines the include guards of these headers and declares their
 * names for the field: vec.h and exponential.h (plain_vec.h), turns.h (circles of the field), cblas.h and fftw3.h (by
 * definition).  A tile of attention has 5 keys, so that few tokens fill several tiles. */

#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#include <initializer_list>
#include "field.h"

#define _Alignas alignas

/* stdatomic.h, for one thread. */
#define _STDATOMIC_H
#define __CLANG_STDATOMIC_H
typedef size_t atomic_size_t;
typedef long atomic_long;
typedef bool atomic_bool;
#define atomic_load(at) (*(at))
#define atomic_store(at, value) (*(at) = (value))
#define atomic_fetch_add(at, by) ((*(at) += (by)) - (by))
#define atomic_fetch_sub(at, by) ((*(at) -= (by)) + (by))
#define atomic_compare_exchange_weak(at, seen, value) (*(at) = (value), true)

#define ATTENTION_TILE 5
#include "../support/plain_vec.h"

#define TWICETOLD_TURNS_H

inline real turn_cosine(size_t k, size_t n) { return circle_cosine(k, n); }
inline real turn_sine(size_t k, size_t n) { return circle_sine(k, n); }

/* cos and sin of 2 pi m / p at [p][m]. */
struct prime_turns {
    real at[8][7];
    prime_turns(real (*function)(size_t, size_t))
    {
        for (size_t p = 0; p < 8; p++)
            for (size_t m = 0; m < 7; m++) at[p][m] = (p == 3 || p == 5 || p == 7) && m < p ? function(m, p) : real(0);
    }
    const real *operator[](size_t p) const { return at[p]; }
};
extern const prime_turns cosine, sine;
extern const real eighth, sixteenth[2];

#define CBLAS_H

enum CBLAS_ORDER { CblasRowMajor = 101 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };

void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns,
                 int terms, real alpha, const real *a, int a_stride, const real *b, int b_stride, real beta, real *c,
                 int c_stride);

#define FFTW3_H

typedef real fftw_complex[2];
typedef struct fftw_transform *fftw_plan;
enum { FFTW_FORWARD = -1, FFTW_BACKWARD = 1, FFTW_ESTIMATE = 64, FFTW_UNALIGNED = 2 };

fftw_plan fftw_plan_many_dft(int axes, const int *size, int signals, fftw_complex *in, const int *in_embed,
                             int in_stride, int in_distance, fftw_complex *out, const int *out_embed, int out_stride,
                             int out_distance, int sign, unsigned flags);
void fftw_execute_dft(fftw_plan plan, fftw_complex *in, fftw_complex *out);
void fftw_destroy_plan(fftw_plan plan);
