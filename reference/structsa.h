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
 *     j        centres of windows: all tokens, or with --stride those whose every
 *              coordinate is a multiple of its axis's stride; J of them
 *     m        entries of a window, row-major, |M| of them (neighbours.h); of the
 *              window under y_i, which --value-kernel may choose, M'
 *     d        patterns, D of them: the paper's structure dimension
 *     c        channels of the head
 *
 * The softmax is one, over all J D entries of a query.  Keys and values off
 * the grid are zero; their scores take part.  Values are dimensionless.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 4        uk [|M|][D],     uv [D]
 *     Eq. 5        uk [|M|][D],     uv [M'][D]             shared by all heads
 *     Eq. 16       hk [D][|M|][C],  hv [D][M'][C]          each head its slice of C
 *
 * --scale multiplies q (default 1).  --value-kernel is that of the keys where
 * nothing is said; Eq. 4 has none.
 *
 * Cost of one head of one image beside the projections, without what is linear
 * in N; E, the columns of a filter, is 1 in Eq. 4 and 5 and c in Eq. 16, and M'
 * is 1 in Eq. 4:
 *
 *                 multiply-adds                            extra memory (reals)
 *     naive       N^2 c + N J (D |M| E + D M' E + M' c)    N^2 E + N J D + J (M' (E + c) + |M| E)
 *     plain 4, 5  2 N^2 c + N J D (|M| + M')               2 N + J D + max(|M|, M')
 *     plain 16    N J D (2 c + 1) + J D (|M| + M') c,      2 J D c + max(|M|, M') c
 *                 + c + 1 for each 32 keys of a query
 *     fast        2 N J D c + blocks of queries            O(c) for each query of a block:
 *                 times J D (|M| + M') c                   O(N c) at most, whatever D
 *
 * implemented in naive/structsa.c, fast/structsa.c and fast/tuned/structsa/structsa.c.
 * All keep the filters once more, the last one the weights of the projections too,
 * in the order in which they are read.
 *
 * Errors: heads that do not divide C; a kernel, or strides, with other axes than
 * the grid; a kernel of even size; a value kernel with Eq. 4; memory; a file that
 * does not fit.
 *
 * Departs from the paper: the projections have optional biases and the output
 * projection is optional; a window may have another shape than a cube, and any
 * axis a stride of its own (the paper's videos stride in space alone); Eq. 4 and 5
 * share their detectors and aggregators between heads, which the paper
 * leaves open. */

#ifndef TWICETOLD_STRUCTSA_H
#define TWICETOLD_STRUCTSA_H

#include "runtime/heads.h"
#include "runtime/neighbours.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration structsa;

struct structsa_problem {
    struct heads_problem heads;
    int equation;                       /* 4, 5 or 16 */
    real scale;                         /* multiplies q */
    size_t D;                           /* patterns */
    size_t J;                           /* centres of windows */
    size_t M, Mv;                       /* |M| entries of a key's window, M' of a value's: 1 in Eq. 4 */
    size_t columns;                     /* E: 1 (Eq. 4, 5) or c (Eq. 16) */
    size_t sets;                        /* of filters: 1, shared by the heads (Eq. 4, 5), or h */
    size_t stride[GRID_AXES];           /* of the centres, along each axis */
    struct grid grid, key_window, value_window;
    const real *uk, *uv;                /* Eq. 4 and 5: [|M|][D], [M'][D] */
    const real *hk, *hv;                /* Eq. 16: [D][|M|][C], [D][M'][C] */
};
HEADS_FIRST(struct structsa_problem);

/* Multiply-adds of attention over virtual tokens, with the projections: the
 * products with each of them, and the making of each once. */
double structsa_multiply_adds(const void *params);

/* What every form reads: the windows of both sides, and the filters in one
 * layout, whatever the equation. */
struct structsa_windows {
    struct neighbours keys, values;
    real *hk, *hv;                      /* [sets][D][|M|][columns], [sets][D][M'][columns] */
};

/* prepare asks for all of it, the filters for the time that the form needs
 * them: PERSISTENT or LOAD_SCRATCH. */
void structsa_windows_prepare(struct structsa_windows *w, struct arena *arena, enum lifetime filters,
                              const struct structsa_problem *p);
void structsa_windows_load(struct structsa_windows *w, const struct structsa_problem *p);

#ifdef __cplusplus
}
#endif

#endif
