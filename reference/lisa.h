/* lisa.h -- lightweight structure-aware attention
 *
 * H. Kwon, F. M. Castro, M. J. Marin-Jimenez, N. Guil and K. Alahari, "Lightweight Structure-Aware Attention for Visual
 * Understanding", 2022, Sec. 4, Eq. 4-10 and Fig. 6, 7.  Chapter: chapters/1-lisa.md.
 *
 * Query, key and value are projected from x and cut into heads.  Query and key are L2-normalised per token and head.
 * For one head,
 *
 *     Eq. 4    y_ik = sum_j  (q_i . k_j) R_ij v_jk
 *     Eq. 5    y_ik = sum_d  a_id (sum_j Rb_ijd v_jk + bb_kd),
 *              a_id = sum_n  (q_i . k_n) Ra_ind
 *     Eq. 6    the same with a_id = sum_nc  q_ic k_nc Ra_incd
 *     Eq. 7    the same with a_id = sum_c   q_ic (sum_n k_nc Ra_incd + ba_cd)
 *     Eq. 10   y_ik = sum_d  a_id (Gb_ikd + bb_kd),
 *              a_id = sum_c  q_ic (Ga_icd + ba_cd),
 *              Ga_icd = sum_n k_nc wa_{i-n,c,d},  Gb_ikd = sum_n v_nk wb_{i-n,d}
 *
 *     i, j, n  tokens of the grid, N of them         d  latent, D of them
 *     c        channel of query and key, c of them   k  channel of value, c of them
 *
 * If ba is given in Eq. 5, a_id has the further term sum_c q_ic ba_cd (a row of Tab. 3b).
 *
 * R is Toeplitz: R_ij = e[j - i], one entry per offset (grid.h).  In Eq. 10, i - n is taken modulo the grid on every
 * axis.  With --kernel, Eq. 10 has local kernels (Tab. 3c): a centred window of odd sizes, row-major.  Entry m stands
 * at the offset i - n = step(m), from -(size/2) to size/2 on every axis.  Key and value off the grid are zero; nothing
 * wraps.  The window may be larger than the grid; entries that no pair of tokens reaches have no effect.  Values are
 * dimensionless.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 4        e  [P][1] or [P][h]
 *     Eq. 5        ea [P][D],      eb [P][D],  bb [c][D],  and ba [c][D] or absent
 *     Eq. 6, 7     ea [P][c][D],   eb [P][D],  bb [c][D],  and ba [c][D] in Eq. 7
 *     Eq. 10       wa [M][c][D],   wb [M][D],  ba [c][D],  bb [c][D]
 *                  M = N, or the entries of the local window
 *
 * Cost of one head of one image without the projections:
 *
 *                   multiply-adds             extra memory (reals)      implemented in
 *     naive 4       N^2 (2c + 1)              2 N^2                     naive/lisa.c
 *     naive 5       N^2 (2c + 2D) + N c D     N^2 (2D + 2)
 *                   and N c D more with ba
 *     naive 6, 7    N^2 (2c + c D + D)        N^2 (c D + c + D + 1)
 *     naive 10      2 N^2 c D                 2 N c D
 *     plain 5-10    c (D + 2) F               m D (c + 1), and 4 m c    fast/lisa.c
 *                   + (4 m + 2 N) c D         for each thread (Eq. 5: 2 m D, and 4 m c)
 *     plain 4       c^2 (F + 2 m + 2 N)       2 m (1 or h)
 *     fast          O(N c D log N)            N (D + c), O(N c) per     fast/tuned/lisa/lisa.c
 *                                             thread, kernels' spectra
 *     fftw          the same                  as plain                  fast/tuned/lisa/fftw.c
 *   local kernels; S <= N M pairs of a token and an entry lie on the grid:
 *     naive 10      2 S c D                   2 N c D                   naive/lisa.c
 *     fast          N M (c D + D) + 2 S c     48 tokens' M (c + 1)      fast/tuned/lisa/local.c
 *                   or as above               or as above
 *
 * m is the number of points of the circles (fast/circulant.h).  F is the number of multiplications of one transform
 * (fast/fourier.h), 4 m log2 m if the sizes are powers of 2.  c and D are assumed even.  The table leaves out terms
 * linear in N (naive 6, 7, 10 and both forms of local kernels) and a few m reals of the plain form.  multiply_adds of
 * each form has all terms, and a test counts those of naive and plain.  fast/cuda/lisa.cu is the form for a GPU.
 *
 * Errors: heads that do not divide C; a kernel of even sizes, with other axes than the grid, or with another equation
 * than 10; memory; a file that does not match.
 *
 * Departs from the paper: the biases are added once, after the sum over tokens, as in Fig. 6 and 7; the printed
 * equations have them inside the sum and so count them N times.  All heads share the tables of Eq. 5-7 and the kernels
 * of Eq. 10, which gives the parameter counts printed in Tab. 3b.  Eq. 10 convolves along the axes of the grid; Fig. 7
 * can be read as a convolution along the flattened tokens.  The paper gives only the size of the local kernels of Tab.
 * 3c; zero padding off the grid is our choice. */

#pragma once
#include "runtime/heads.h"

BEGIN_C_DECLS

extern const struct declaration lisa;

/* Tensors that the equation does not have are NULL.  D is 0 in Eq. 4. */
struct lisa_problem {
    struct heads_problem heads;
    struct grid grid;           /* of the tokens */
    struct grid window;         /* of local kernels; no axes if kernels span the grid */
    bool wraps;                 /* offsets are taken modulo the grid: Eq. 10 with kernels that span it */
    size_t M;                   /* entries of a kernel of Eq. 10 */
    int equation;               /* 4, 5, 6, 7 or 10 */
    size_t D;
    const real *e;              /* [P][e_columns] */
    size_t e_columns;           /* 1 or h; 0 except in Eq. 4 */
    const real *ea, *eb;        /* [P][D], in Eq. 6 and 7 [P][c][D]; [P][D] */
    const real *wa, *wb;        /* [M][c][D]; [M][D] */
    const real *ba, *bb;        /* [c][D] */
};
HEADS_FIRST(struct lisa_problem);

/* The number of pairs of a token and a kernel's entry (Eq. 10) whose offset leads to a token.  It is N^2 if kernels
 * span the grid; a local window leads off the grid at the border. */
double lisa_pairs(const struct lisa_problem *p);

END_C_DECLS
