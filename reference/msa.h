/* msa.h -- multi-head self-attention, the common ancestor
 *
 * Vaswani et al., "Attention Is All You Need", 2017, as LiSA restates it
 * (Kwon et al. 2022, Sec. 3, Eq. 1-3).  For one head of c channels,
 *
 *     y_ik = sum_j softmax_j(s q_i . k_j + R_ij) v_jk
 *
 * with s = 1/sqrt(c) unless --scale says otherwise, and R = 0 or Toeplitz,
 * R_ij = rpe[j - i] (grid.h).  With --window s the sum over j runs over the
 * tokens of i's own s x s window only (Liu et al., "Swin Transformer", 2021,
 * Sec. 3.2); R is still indexed by the offset on the grid, so that inside a window
 * only the (2s-1)^2 entries around the middle are read.
 *
 * With --shift t, 0 <= t < s, the plane is rolled by -t on both axes, windows are
 * cut, pairs on different sides of the seam do not see each other, and the result
 * is rolled back (windows.h).  Two tokens on one side have both been carried round
 * the plane or neither, along each axis, so their offset in the window is their
 * offset on the grid, and R needs no other rule.
 *
 * With a ghost head (ELSA, App. C; ghost.h) the weights A_a,ij after the softmax
 * become weights of every channel before they meet the values,
 *
 *     y_ic = sum_j (ghost_mul_c[j - i]^lambda A_c'ij + gamma ghost_add_c[j - i]) v_jc
 *
 * with c' as --head-map says, c mod h unless it says block; without one each head
 * keeps its own channels, whatever --head-map says.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     rpe    [P][1] (all heads) or [P][h], or absent; entry j - i, key minus query, row-major
 *     ghost_mul, ghost_add  [C][P], both or neither; the second alone with --lambda 0
 *
 * y overlaps no input.  A NaN in a query, key, value or bias reaches every
 * output that depends on it.  A score of -inf is a weight of zero; a row with no
 * other scores is NaN, as is a row with a score of +inf.  The fast form takes exponentials
 * to the base 2: from 0.69 of the largest real on, scale, bias and scores are infinite to it.
 *
 * Cost beside the projections, all heads of one image: 2 N^2 C multiply-adds,
 * 2 N s^2 C with windows, 3 N^2 C with a ghost head; in shifted windows the plain and the
 * fast form leave out the pairs across the seam.  Extra memory per head of a chunk:
 * naive s^4 reals, s^2 being N without windows, and as many again for R or a shift; with a
 * ghost head h N^2 more and 2 C P for its matrices; plain 2 s^2 c reals for each thread, a
 * row of s^2 for R, and as many indices; with a ghost head a row of N and 2 C P; fast a
 * tile and a block of queries (less than a megabyte for each thread), all weights once more
 * in the order of use, and for small windows R of the pairs of one (of each kind of side,
 * where they are shifted); with a ghost head 16 N for each thread, 2 N C for keys and
 * values and 2 C P, twice that while loading, channels of a head filled up to vectors.
 *
 * Errors: heads that do not divide C; a window that does not divide the grid; a shift
 * without windows, or no smaller than they are; a ghost head in windows, or one that
 * is not whole, or powers without a value; memory; a file that does not fit.
 *
 * Departs from the paper: Eq. 1 divides by sqrt(C); with heads that is
 * sqrt(c), the width of one head.  Swin drops the shift where one window is the
 * whole grid; here it is kept.  Swin's public code stores a table of one window,
 * (2s-1)^2 entries by query minus key: reversed along both axes it is the middle of ours,
 * with anything around it (tests/pytorch/rename.py converts).  Its masks hold -100 where
 * pairs across the seam have a score of -inf here.  The difference is below the rounding
 * of float unless a score across the seam exceeds the largest one on the query's own side
 * by more than 83: such a key has the weight e^(excess - 100) there and none here.
 * ELSA's App. C doubles the heads and does not say how its matrices are indexed: here
 * every channel has rows of its own, over the offsets of the grid; heads are doubled if
 * the rows are equal over each half of a head's channels. */

#ifndef TWICETOLD_MSA_H
#define TWICETOLD_MSA_H

#include "runtime/ghost.h"
#include "runtime/heads.h"
#include "runtime/windows.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration msa;

struct msa_problem {
    struct heads_problem heads;
    struct windows windows;     /* one, of all tokens, without --window */
    real scale;                 /* 1/sqrt(c), or what --scale says */
    const real *rpe;            /* [P][rpe_columns] or NULL */
    size_t rpe_columns;         /* 1 or h */
    struct ghost_problem ghost; /* over the grid's offsets; its matrices NULL without a ghost head */
};
HEADS_FIRST(struct msa_problem);

/* The projections, and for every image 2 C times so many pairs of tokens, 3 C with a
 * ghost head. */
double msa_multiply_adds(const struct msa_problem *params, double pairs);

#ifdef __cplusplus
}
#endif

#endif
