/* attention.h -- softmax attention of one head as Eq. 1-3 of LiSA read
 *
 *     Y_ik = sum_j softmax_j(A_ij + R_ij) V_jk,    A_ij = scale sum_c Q_ic K_jc
 *
 * Contract: reference/msa.h.  queries keys (2 c + 1) multiplications, and A itself. */

#ifndef TWICETOLD_NAIVE_ATTENTION_H
#define TWICETOLD_NAIVE_ATTENTION_H

#include "../reference/runtime/grid.h"
#include "../reference/runtime/heads.h"

/* y [queries][channels] from q [queries][channels], k and v [keys][channels]; a [queries][keys] is room for the
 * attention kernel, and holds it on return; r [queries][keys] is R, or NULL.  All dense. */
void attention_naive(real *y, real *a, const real *q, const real *k, const real *v, const real *r,
                     real scale, size_t queries, size_t keys, size_t channels);

/* Its first half: a [queries][keys], the weights. */
void attention_naive_weights(real *a, const real *q, const real *k, const real *r,
                             real scale, size_t queries, size_t keys, size_t channels);

/* Room for that, one for each thread: dense copies of a head, and its kernel. */
struct attention_copies { real *q, *k, *v, *y, *a; };

void attention_copies_prepare(struct attention_copies *copies, struct arena *arena,
                              size_t queries, size_t keys, size_t channels);

/* The same of a head whose rows lie apart: copied out, attended, and back. */
void attention_naive_head(const struct head *head, const struct attention_copies *copies, const real *r,
                          real scale, size_t queries, size_t keys, size_t channels);

/* Eq. 2, R = T(e) on a grid of N tokens: R_ij,d = e[j - i],d for d below `columns`; R is [N][N][columns], and the
 * g->offsets rows of e lie e_stride apart. */
void toeplitz(real *R, const real *e, size_t e_stride, const grid *g, size_t columns);

#endif
