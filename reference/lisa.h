/* lisa.h -- lightweight structure-aware attention
 *
 * H. Kwon, F. M. Castro, M. J. Marin-Jimenez, N. Guil and K. Alahari,
 * "Lightweight Structure-Aware Attention for Visual Understanding", 2022,
 * Sec. 4, Eq. 4-10 and Fig. 6, 7.  Read beside chapters/1-lisa.md.
 *
 * Query, key and value are projected from x and cut into heads; query and key
 * are L2-normalised per token and head.  Then, for one head,
 *
 *     Eq. 4    y_ik = sum_j  (q_i . k_j) R_ij v_jk
 *     Eq. 5    y_ik = sum_d  a_id (sum_j Rb_ijd v_jk + Bb_kd),
 *              a_id = sum_n  (q_i . k_n) Ra_ind
 *     Eq. 6    the same with a_id = sum_nc  q_ic k_nc Ra_incd
 *     Eq. 7    the same with a_id = sum_c   q_ic (sum_n k_nc Ra_incd + Ba_cd)
 *     Eq. 10   y_ik = sum_d  a_id (Gb_ikd + Bb_kd),
 *              a_id = sum_c  q_ic (Ga_icd + Ba_cd),
 *              Ga_icd = sum_n k_nc wa_{i-n,c,d},  Gb_ikd = sum_n v_nk wb_{i-n,d}
 *
 *     i, j, n  tokens of the grid, N of them         d  latent, D of them
 *     c        channel of query and key, c of them   k  channel of value, c of them
 *
 * R is Toeplitz: R_ij = e[j - i], one entry per offset (grid.h); i - n in
 * Eq. 10 is taken modulo the grid on every axis.  Values are dimensionless.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 4        e  [P][1] or [P][h]
 *     Eq. 5        ea [P][D],      eb [P][D],  bb [c][D]
 *     Eq. 6, 7     ea [P][c][D],   eb [P][D],  bb [c][D],  and ba [c][D] in Eq. 7
 *     Eq. 10       wa [N][c][D],   wb [N][D],  ba [c][D],  bb [c][D]
 *
 * Cost of one head of one image beside the projections:
 *
 *                   multiply-adds             extra memory (reals)      told in
 *     naive 4       N^2 (2c + 1)              2 N^2                     naive/lisa.c
 *     naive 5       N^2 (2c + 2D) + N c D     N^2 (2D + 2)
 *     naive 6, 7    N^2 (2c + c D + D)        N^2 (c D + c + D + 1)
 *     naive 10      2 N^2 c D                 2 N c D
 *     fast          O(N c D log N)            O(N c) per thread, and    fast/lisa.c
 *                                             the kernels' spectra
 *
 * (naive 6, 7 and 10: terms linear in N left out; lisa_naive.multiply_adds has
 * them, and a test counts them.)
 *
 * Errors: heads that do not divide C; memory; a file that does not fit.
 *
 * Departs from the paper: the biases are added once, after the sum over
 * tokens, as Fig. 6 and 7 do; the printed equations hold them inside the sum
 * and so count them N times.  The tables of Eq. 5-7 and the kernels of Eq. 10
 * are shared by all heads, which gives the parameter counts that Tab. 3b
 * prints.  Eq. 10 convolves on the grid's own axes, not along the flattened
 * tokens as Fig. 7 reads. */

#ifndef TWICETOLD_LISA_H
#define TWICETOLD_LISA_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration lisa;

/* The forms: the equations; FFTs with the channels in the SIMD lanes; FFTW. */
extern const struct form lisa_naive, lisa_fast, lisa_fftw;

/* The hearts of the naive form, for one head; q and k are normalised already.
 * Arrays are dense and row-major, y overlaps nothing, and the last array before
 * the sizes is workspace that the caller provides. */

/* R_ij = e[j - i] for every pair: Toeplitz [N][N][columns] from e [P][columns]. */
void lisa_toeplitz(real *R, const real *e, const grid *g, size_t columns);

/* Eq. 4.  R [N][N]; A [N][N] workspace. */
void lisa_naive_eq4(real *y, const real *q, const real *k, const real *v, const real *R,
                    real *A, size_t N, size_t c);

/* Eq. 5, first line.  Ra, Rb [N][N][D]; Bb [c][D]; A, kernel [N][N] and a [N][D]
 * workspace. */
void lisa_naive_eq5(real *y, const real *q, const real *k, const real *v,
                    const real *Ra, const real *Rb, const real *Bb,
                    real *A, real *a, real *kernel, size_t N, size_t c, size_t D);

/* Eq. 5, second line, in the order of Fig. 6: K Ra and Rb V + Bb first, both
 * [N][c][D] workspace. */
void lisa_naive_fig6(real *y, const real *q, const real *k, const real *v,
                     const real *Ra, const real *Rb, const real *Bb,
                     real *KRa, real *RbV, size_t N, size_t c, size_t D);

/* Eq. 6 (Ba = NULL) and Eq. 7 with the Hadamard correlation A_inc = q_ic k_nc
 * written out.  Ra [N][N][c][D]; Rb [N][N][D]; Ba, Bb [c][D]; workspace A
 * [N][N][c], a [N][D], kernel [N][N]. */
void lisa_naive_eq7(real *y, const real *q, const real *k, const real *v,
                    const real *Ra, const real *Rb, const real *Ba, const real *Bb,
                    real *A, real *a, real *kernel, size_t N, size_t c, size_t D);

/* Eq. 10.  wa [N][c][D], wb [N][D]; workspace Ga, Gb [N][c][D]. */
void lisa_naive_eq10(real *y, const real *q, const real *k, const real *v,
                     const real *wa, const real *wb, const real *Ba, const real *Bb,
                     real *Ga, real *Gb, const grid *g, size_t c, size_t D);

#ifdef __cplusplus
}
#endif

#endif
