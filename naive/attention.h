/* attention.h -- softmax attention of one head as Eq. 1-3 of LiSA read
 *
 *     Y_ik = sum_j softmax_j(A_ij + R_ij) V_jk,    A_ij = scale sum_c Q_ic K_jc
 *
 * Cost: queries * keys * (2 c + 1) multiplications, and memory for all of A.  Contract: reference/msa.h. */

#pragma once
#include "../reference/runtime/grid.h"
#include "../reference/runtime/heads.h"

/* y [queries][channels] from q [queries][channels], k and v [keys][channels], all dense.  r [queries][keys] is R, or
 * NULL.  On return a [queries][keys] holds the softmax weights. */
void attention_naive(real *y, real *a, const real *q, const real *k, const real *v, const real *r,
                     real scale, size_t queries, size_t keys, size_t channels);

/* Only the weights a. */
void attention_naive_weights(real *a, const real *q, const real *k, const real *r,
                             real scale, size_t queries, size_t keys, size_t channels);

/* Scratch arrays of each thread: dense copies of one head, and its weights. */
struct attention_copies { real *q, *k, *v, *y, *a; };

void attention_copies_prepare(struct attention_copies *copies, struct arena *arena,
                              size_t queries, size_t keys, size_t channels);

/* attention_naive of a head whose rows are not dense: copies the rows in, and the output back. */
void attention_naive_head(const struct head *head, const struct attention_copies *copies, const real *r,
                          real scale, size_t queries, size_t keys, size_t channels);

/* Eq. 2, R = T(e) on a grid of N tokens: R_ij,d = e[j - i],d for d < columns.  R is [N][N][columns].  e has one row
 * per offset, g->offsets of them, e_stride reals apart. */
void toeplitz(real *R, const real *e, size_t e_stride, const grid *g, size_t columns);
