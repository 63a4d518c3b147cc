/* structsa.h -- structural self-attention
 *
 * M. Kim, P. H. Seo, C. Schmid and M. Cho, "Learning Correlation Structures
 * for Vision Transformers", CVPR 2024, Sec. 3 and appendix A, Eq. 1-5, 8-21.
 * Read beside chapters/2-structsa.md.
 *
 * Query, key and value are projected from x and cut into heads.  Around every
 * key j lies a window of |M| tokens, j + m.  Then, for one head,
 *
 *     Eq. 4    y_i  = sum_j kappa_ij v_j,            kappa_ij  = sum_d a_ijd uv_d
 *     Eq. 5    y_i  = sum_jm kappa_ijm v_{j+m},      kappa_ijm = sum_d a_ijd uv_md
 *              with a_ijd = softmax_jd (sum_m (q_i . k_{j+m}) uk_md)          (Eq. 2, 3)
 *     Eq. 16   y_ic = sum_jm kappa_ijmc v_{j+m,c},   kappa_ijmc = sum_d a_ijd hv_dmc
 *              with a_ijd = softmax_jd (sum_mc q_ic k_{j+m,c} hk_dmc)         (Eq. 11-13)
 *
 *     i        queries, the N tokens of the grid
 *     j        centres of windows: all tokens, or with a stride s those whose
 *              coordinates are multiples of s; J of them
 *     m        entries of a window, row-major, |M| of them (neighbours.h)
 *     d        patterns, D of them: the paper's structure dimension
 *     c        channels of the head
 *
 * The softmax is one, over all J D entries of a query.  Keys and values off
 * the grid are zero; their scores take part.  Values are dimensionless.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 4        uk [|M|][D],     uv [D]
 *     Eq. 5        uk [|M|][D],     uv [|M|][D]            shared by all heads
 *     Eq. 16       hk [D][|M|][C],  hv [D][|M|][C]         each head its slice of C
 *
 * --scale multiplies q (default 1).
 *
 * Cost of one head of one image beside the projections, without what is linear
 * in N; x is 1 in Eq. 4 and 5, c in Eq. 16, and M' is 1 in Eq. 4, |M| else:
 *
 *                 multiply-adds                      extra memory (reals)
 *     naive       N^2 c + N J (D |M| x + D M' x + M' c)    N^2 x + N J D + J (M' (x + c) + |M| x)
 *     permuted    2 N J D c + J D (|M| + M') c       N J D + 2 J D c
 *     fast        2 N J D c + blocks of queries      O(c) for each query of a block:
 *                 times J D (|M| + M') c             O(N c) at most, whatever D
 *
 * told in naive/structsa.c, fast/structsa_permuted.c and fast/structsa.c.
 *
 * Errors: heads that do not divide C; a kernel with other axes than the grid
 * or of even size; memory; a file that does not fit.
 *
 * Departs from the paper: the projections have optional biases and the output
 * projection is optional; a window may have another shape than a cube; Eq. 4
 * and 5 share their detectors and aggregators between heads, which the paper
 * leaves open. */

#ifndef TWICETOLD_STRUCTSA_H
#define TWICETOLD_STRUCTSA_H

#include "neighbours.h"
#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration structsa;

/* The forms: the equations; virtual keys in tiles; virtual keys and the map of
 * all queries against all of them written out. */
extern const struct form structsa_naive, structsa_fast, structsa_permuted;

/* ---- what all forms read off a problem --------------------------------- */

/* The windows of either side, and the filters of one head in one layout,
 * whatever the equation: hk [D][|M|][columns], hv [D][M'][columns]. */
struct structsa_sides {
    struct neighbours keys, values;     /* in Eq. 4 the window of a value is one token */
    size_t D, columns;                  /* columns: 1 (Eq. 4, 5) or c (Eq. 16) */
    size_t heads;                       /* filters of so many heads: 1 (Eq. 4, 5) or h */
    real *hk, *hv;                      /* [heads][D][entries][columns] */
};

/* Fails when memory is out; the release accepts what a failed creation left. */
status structsa_sides_create(struct structsa_sides *s, const struct problem *p);
void structsa_sides_release(struct structsa_sides *s);
const real *structsa_hk(const struct structsa_sides *s, size_t head);
const real *structsa_hv(const struct structsa_sides *s, size_t head);

/* ---- the hearts of the naive form: naive/structsa.c -------------------- */

/* One head of one image, every tensor by the paper's name; dense, row-major.
 * The first group is given, the second is made by the hearts in their order. */
struct structsa_head {
    size_t N, c, D, columns;
    const struct neighbours *keys, *values;     /* J centres each; |M| and M' entries */
    const real *q, *k, *v;      /* [N][c] */
    const real *hk, *hv;        /* [D][|M|][columns], [D][M'][columns] */

    real *map;                  /* [N][N][columns]   q_i K^T, or diag(q_i) K */
    real *windows;              /* [J][|M|][columns] the map of one query, unfolded */
    real *a;                    /* [N][J][D]         the attention */
    real *contexts;             /* [J][M'][c]        the values, unfolded: V_j */
    real *kernels;              /* [J][M'][columns]  kappa_ij of one query */
    real *y;                    /* [N][c] */
};

/* *reals = what the second group holds; false where that overflows.  Then the
 * second group points into a block of that size. */
bool structsa_head_reals(size_t *reals, const struct structsa_head *h);
void structsa_head_place(struct structsa_head *h, real *block);

void structsa_naive_correlate(struct structsa_head *h);             /* map:     Eq. 2, 11 */
void structsa_naive_attend(struct structsa_head *h);                /* a:       Eq. 3, 13 */
void structsa_naive_kernels(struct structsa_head *h, size_t i);     /* kernels: Eq. 4, 5, 16 */
void structsa_naive_aggregate(struct structsa_head *h);             /* y:       Eq. 4, 5, 16 */

/* merged [N][columns], c_ij of Eq. 21: what value j counts in the output of the
 * query whose kernels are there. */
void structsa_naive_merge(real *merged, const struct structsa_head *h);

#ifdef __cplusplus
}
#endif

#endif
