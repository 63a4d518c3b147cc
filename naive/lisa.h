/* lisa.h -- the lines of LiSA's equations, one function each
 *
 *     Eq. 4      correlation, weigh, output
 *     Eq. 5      correlation, structure, kernel, output; or all of it in the order of Fig. 6
 *     Eq. 6, 7   hadamard, hadamard_structure, kernel, output
 *     Eq. 10     circular_key, circular_value, contraction
 *     Tab. 3c    local_key, local_value, contraction
 *
 * One head; q and k are normalised.  Arrays are dense and row-major; outputs overlap no inputs.
 *
 * Contract: reference/lisa.h. */

#pragma once
#include "../reference/lisa.h"

/* A_ij = sum_c q_ic k_jc.   A [N][N] */
void lisa_naive_correlation(real *A, const real *q, const real *k, size_t N, size_t c);

/* A_ij <- A_ij R_ij.   A, R [N][N] */
void lisa_naive_weigh(real *A, const real *R, size_t N);

/* The structure vectors.   a [N][D], A [N][N], Ra [N][N][D], ba [c][D] or NULL */
void lisa_naive_structure(real *a, const real *A, const real *Ra, const real *q, const real *ba,
                          size_t N, size_t c, size_t D);

/* A_inc = q_ic k_nc, the Hadamard correlation.   A [N][N][c] */
void lisa_naive_hadamard(real *A, const real *q, const real *k, size_t N, size_t c);

/* A [N][N][c], Ra [N][N][c][D], ba [c][D] or NULL */
void lisa_naive_hadamard_structure(real *a, const real *A, const real *Ra, const real *q, const real *ba,
                                   size_t N, size_t c, size_t D);

/* kernel_ij = sum_d a_id Rb_ijd.   kernel [N][N], Rb [N][N][D] */
void lisa_naive_kernel(real *kernel, const real *a, const real *Rb, size_t N, size_t D);

/* Eq. 4 passes D = 0.   y, v [N][c], bb [c][D] */
void lisa_naive_output(real *y, const real *kernel, const real *v, const real *a, const real *bb,
                       size_t N, size_t c, size_t D);

/* i - n wraps around the grid.   Ga [N][c][D], wa [N][c][D] */
void lisa_naive_circular_key(real *Ga, const real *k, const real *wa, const real *ba,
                             const grid *g, size_t c, size_t D);

/* Gb [N][c][D], wb [N][D] */
void lisa_naive_circular_value(real *Gb, const real *v, const real *wb, const real *bb,
                               const grid *g, size_t c, size_t D);

/* Keys and values off the grid are zero.   Ga, Gb [N][c][D], wa [M][c][D], wb [M][D] */
void lisa_naive_local_key(real *Ga, const real *k, const real *wa, const real *ba,
                          const grid *g, const grid *window, size_t c, size_t D);
void lisa_naive_local_value(real *Gb, const real *v, const real *wb, const real *bb,
                            const grid *g, const grid *window, size_t c, size_t D);

/* y_ik = sum_d (sum_c q_ic Ga_icd) Gb_ikd */
void lisa_naive_contraction(real *y, const real *q, const real *Ga, const real *Gb, size_t N, size_t c, size_t D);

/* Eq. 5, second line, in the order of Fig. 6: without the N x N correlation, but with the RPEs applied to every channel
 * of key and value.  No form calls it.  p gives N, c, D, bb and ba.  KRa, RbV [N][c][D]: K Ra (+ ba), and Rb V + bb. */
void lisa_naive_fig6(real *y, real *KRa, real *RbV, const real *q, const real *k, const real *v,
                     const real *Ra, const real *Rb, const struct lisa_problem *p);
