/* msa.h -- multi-head self-attention, the common ancestor
 *
 * Vaswani et al., "Attention Is All You Need", 2017, as restated by LiSA (Kwon et al. 2022, Sec. 3, Eq. 1-3).  For one
 * head of c channels,
 *
 *     y_ik = sum_j softmax_j(s q_i . k_j + R_ij) v_jk
 *
 * with s = 1/sqrt(c) unless --scale is given.  R is 0 or Toeplitz, R_ij = rpe[j - i] (grid.h).
 *
 * With --window s, j runs over the tokens of i's own s x s window (Liu et al., "Swin Transformer", 2021, Sec. 3.2).
 * Then rpe is the table of one window, or that of the grid: windows read its (2s-1)^2 entries around the middle.
 *
 * With --shift t, 0 <= t < s, the plane is rolled by -t on both axes and cut into windows (windows.h).  Pairs on
 * different sides of the seam are masked, and the result is rolled back.  The offset of two tokens on one side of the
 * seam is the same in the window and on the grid, so R needs no other rule.
 *
 * With a ghost head (ELSA, App. C; ghost.h) each channel has weights of its own, made from the softmax weights A_a,ij,
 *
 *     y_ic = sum_j (ghost_mul_c[j - i]^lambda A_c'ij + gamma ghost_add_c[j - i]) v_jc
 *
 * where c' is the head of channel c: c mod h, or with --head-map block c div (C/h).  Without a ghost head --head-map
 * has no effect; with windows it is an error.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     rpe    [P][1] (all heads) or [P][h], or absent; entry j - i, key minus query, row-major; with windows P may be
 *            (2s-1)^2
 *     ghost_mul, ghost_add  [C][P], both or neither; ghost_add alone with --lambda 0
 *
 * y must not overlap an input.  A NaN in a query, key, value or bias reaches every output that depends on it.  A score
 * of -inf gives weight zero.  A row of scores that are all -inf gives NaN, and so does a row with a score of +inf.  The
 * fast form computes exponentials to base 2: it treats a scale, bias or score beyond 0.69 of the largest real as
 * infinite.
 *
 * Cost of all heads of one image without the projections: 2 N^2 C multiply-adds; 2 N s^2 C with windows; 3 N^2 C with a
 * ghost head.  In shifted windows the plain and the fast form skip the pairs across the seam.  Without windows read s^2
 * as N.  Extra memory, in reals:
 *
 *                each thread                                with a ghost head
 *     naive      s^4 + 4 s^2 c, s^4 more for R or a shift   h N^2 more, 2 N c less; once 2 C P
 *     plain      2 s^2 c, a row of s^2 for R, s^2 indices   a row of N, N indices; once 2 C P
 *     fast       a tile and a block of queries (< 1 MB)     16 N; once 2 N C for keys and values, and 2 C P
 *
 * The fast form also keeps all weights repacked and, for small windows, R of all pairs of a window: one copy, or nine
 * if windows are shifted.  With a ghost head it pads the channels of a head to whole vectors, and needs 2 C P more
 * while loading.
 *
 * Implemented in naive/msa.c, fast/msa.c, fast/tuned/msa.c and fast/cuda/msa.cu.
 *
 * Errors: heads that do not divide C; a window that does not divide the grid; a shift without windows or not smaller
 * than the window; a ghost head with windows; ghost_mul without ghost_add, or the reverse unless lambda = 0; powers
 * without a value; memory; a file that does not match.
 *
 * Departs from the paper: Eq. 1 divides by sqrt(C); with heads that is sqrt(c), the width of one head.
 *
 * Swin drops the shift if a window covers the shorter side of the grid; here it is kept, and networks drop it.  Swin's
 * public code stores the table of one window by query minus key; reversed along both axes it is ours
 * (tests/pytorch/rename.py).  Swin masks pairs across the seam with -100, we with -inf.  The difference is below the
 * rounding of float unless a score across the seam exceeds the largest one on the query's own side by more than 83:
 * such a key has the weight e^(excess - 100) there and none here.
 *
 * ELSA's App. C doubles the heads and does not say how its matrices are indexed.  Here every channel has rows of its
 * own, over the offsets of the grid; this equals doubled heads if the rows are equal over each half of a head's
 * channels. */

#pragma once
#include "runtime/ghost.h"
#include "runtime/heads.h"
#include "runtime/windows.h"

BEGIN_C_DECLS

extern const struct declaration msa;

struct msa_problem {
    struct heads_problem heads;
    struct windows windows;     /* without --window one window of all tokens */
    real scale;                 /* 1/sqrt(c), or --scale */
    const real *rpe;            /* [table.offsets][rpe_columns] or NULL */
    size_t rpe_columns;         /* 1 or h; 0 without rpe */
    grid table;                 /* whose offsets rpe has: the whole grid, or one window */
    struct ghost_problem ghost; /* over the grid's offsets; its matrices NULL without a ghost head */
};
HEADS_FIRST(struct msa_problem);

/* The entry of rpe for query i and key j of one window, on the same side of its seam. */
size_t msa_offset(const struct msa_problem *params, size_t i, size_t j);

/* Multiply-adds of all images with projections.  `pairs` of tokens in an image cost 2 C each, 3 C with a ghost head. */
double msa_multiply_adds(const struct msa_problem *params, double pairs);

END_C_DECLS
