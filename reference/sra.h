/* sra.h -- spatial-reduction attention, a baseline of HiLo
 *
 * W. Wang, E. Xie, X. Li, D.-P. Fan, K. Song, D. Liang, T. Lu, P. Luo and L. Shao, "Pyramid Vision Transformer", ICCV
 * 2021, Sec. 3.3, Eq. 1-4; a row of Tables 4 and 10 of Pan et al., "Fast Vision Transformers with HiLo Attention",
 * 2022.
 *
 * On a plane of N tokens, keys and values come from a plane of M = N/s^2 tokens, one per s x s patch.  Every query
 * attends to all M.  With LN, the layer norm over channels (epsilon 1e-5),
 *
 *     r_mo = LN_o(sum_{e,dy,dx} sr_w[o,e,dy,dx] x[token (dy,dx) of patch m, e] + sr_b_o) norm_g_o + norm_b_o
 *     q = x w_q^T + b_q,   [k v] = r w_kv^T + b_kv
 *     y_ik = sum_m softmax_m(scale q_i . k_m) v_mk        one head of c channels
 *
 * and the concatenated heads are projected with w_o, b_o.  scale is 1/sqrt(c) unless --scale is given.  If s = 1, then
 * r = x, without convolution and norm, and this is msa.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_q    [C][C]        b_q  [C] or absent      w_o    [C][C] or absent, b_o [C] or absent
 *     w_kv   [2C][C]       b_kv [2C] or absent
 *     sr_w   [R][C][s][s]  sr_b [R] or absent      norm_g [R],  norm_b [R]
 *
 * R, the output channels of the convolution, is C.  If s = 1, R is 0 and the tensors of the last line must be absent.
 *
 * Cost of one image: N C^2 + 2 M C^2 multiply-adds for the projections, N C^2 more with w_o; N C^2 for the
 * convolution, for any s > 1; 2 N M C for attention.  Extra memory, in reals:
 *
 *     naive   2 B N C + 3 B M C, and N M + 2 (N + M) c for each thread
 *     plain   3 B N C + 3 B M C
 *     fast    2 N C + 3 M C for each of the few images of a chunk, all weights repacked, and a tile for each thread
 *
 * Implemented in naive/sra.c, fast/sra.c, fast/tuned/hilo/sra.c and fast/cuda/sra.cu.
 *
 * Errors: heads that do not divide C; a reduction that does not divide the sides of the grid, or with s^2 C beyond
 * INT_MAX; memory; a file that does not match.
 *
 * Departs from the paper: Eq. 3 lays out each patch as a row of s^2 C numbers and multiplies it by W^S.  We use the
 * same matrix as a convolution with stride s and a bias, as in the authors' code.  Norm is the layer norm with gain and
 * bias. */

#pragma once
#include "runtime/linear.h"
#include "runtime/lookup.h"
#include "runtime/windows.h"

BEGIN_C_DECLS

extern const struct declaration sra;

#define SRA_EPSILON 1e-5

struct sra_problem {
    size_t B, N, M, C, h, c;    /* c channels of a head */
    size_t s;
    struct windows patches;     /* M of them, which tile the plane */
    real scale;                 /* 1/sqrt(c), or --scale */
    const real *w_q, *b_q, *sr_w, *sr_b, *norm_g, *norm_b, *w_kv, *b_kv, *w_o, *b_o;    /* as above, or NULL */
};

/* The projections of the naive and the plain form.  Weights are not repacked. */
struct sra_maps { struct linear query, key_value, output; };

void sra_maps_prepare(struct sra_maps *maps, struct arena *arena, const struct sra_problem *p);
void sra_maps_load(struct sra_maps *maps, const struct sra_problem *p);

/* Multiply-adds of projections, convolution and attention, without the norm. */
double sra_multiply_adds(const void *params);

END_C_DECLS
