/* msa.h -- multi-head self-attention, the common ancestor
 *
 * Vaswani et al., "Attention Is All You Need", 2017, as LiSA restates it
 * (Kwon et al. 2022, Sec. 3, Eq. 1-3).  For one head of c channels,
 *
 *     y_ik = sum_j softmax_j(s q_i . k_j + R_ij) v_jk
 *
 * with s = 1/sqrt(c) unless --scale says otherwise, and R = 0 or Toeplitz,
 * R_ij = rpe[j - i] (grid.h).  With --window s the sum over j runs over the
 * tokens of i's own s x s window only (Swin's windows, not shifted); R is
 * still indexed by the offset on the grid, so that inside a window only the
 * (2s-1)^2 entries around the middle are read.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     rpe    [P][1] (all heads) or [P][h], or absent
 *
 * y overlaps no input.  A NaN in a query, key, value or bias reaches every
 * output that depends on it.  A score of -inf is a weight of zero; a row with no
 * other scores is NaN, as is a row with a score of +inf.
 *
 * Cost beside the projections, all heads of one image: 2 N^2 C multiply-adds,
 * 2 N s^2 C with windows.  Extra memory per head in flight: naive N^2 reals;
 * fast a tile, and all weights once more in the order of use.
 *
 * Errors: heads that do not divide C; a window that does not divide the grid;
 * memory; a file that does not fit.
 *
 * Departs from the paper: Eq. 1 divides by sqrt(C); with heads that is
 * sqrt(c), the width of one head. */

#ifndef TWICETOLD_MSA_H
#define TWICETOLD_MSA_H

#include "heads.h"
#include "windows.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration msa;

struct msa_problem {
    struct heads_problem heads;
    size_t c;                   /* channels of a head */
    struct windows windows;     /* one, of all tokens, without --window */
    real scale;                 /* 1/sqrt(c), or what --scale says */
    const real *rpe;            /* [P][rpe_columns] or NULL */
    size_t rpe_columns;         /* 1 or h */
};

/* 2 N reach C for every image, and the projections; reach: the tokens that one
 * query meets. */
double msa_multiply_adds(const void *of);

#ifdef __cplusplus
}
#endif

#endif
