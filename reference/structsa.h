/* structsa.h -- structural self-attention
 *
 * M. Kim, P. H. Seo, C. Schmid and M. Cho, "Learning Correlation Structures for Vision Transformers", CVPR 2024, Sec. 3
 * and appendix A, Eq. 1-5, 8-21.  Chapter: chapters/2-structsa.md.
 *
 * Query, key and value are projected from x and cut into heads.  The window around key j has |M| tokens, j + m.  For
 * one head,
 *
 *     Eq. 4    y_i  = sum_j kappa_ij v_j,            kappa_ij  = sum_d a_ijd uv_d
 *     Eq. 5    y_i  = sum_jm kappa_ijm v_{j+m},      kappa_ijm = sum_d a_ijd uv_md
 *              with a_ijd = softmax_jd (sum_m (q_i . k_{j+m}) uk_md)          (Eq. 2, 3)
 *     Eq. 16   y_ic = sum_jm kappa_ijmc v_{j+m,c},   kappa_ijmc = sum_d a_ijd hv_dmc
 *              with a_ijd = softmax_jd (sum_mc q_ic k_{j+m,c} hk_dmc)         (Eq. 11-13)
 *
 *     i        queries, the N tokens of the grid
 *     j        centres of windows, J of them: all tokens, or with --stride those
 *              whose every coordinate is a multiple of its axis's stride
 *     m        entries of a window, row-major (neighbours.h): |M| in the key's
 *              window, M' in the value's, which --value-kernel may choose
 *     d        patterns, D of them: the paper's structure dimension
 *     c        channels of the head
 *
 * One softmax runs over all J D entries of a query.  Keys and values off the grid are zero, and their scores take part.
 * Values are dimensionless.
 *
 *     x      [B][N][C]     C = h c                 y      [B][N][C]
 *     w_qkv  [3C][C]       b_qkv [3C] or absent    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 4        uk [|M|][D],     uv [D]
 *     Eq. 5        uk [|M|][D],     uv [M'][D]             shared by all heads
 *     Eq. 16       hk [D][|M|][C],  hv [D][M'][C]          each head has its slice of C
 *
 * --scale multiplies q (default 1).  --value-kernel defaults to the key's window; Eq. 4 has none.
 *
 * Cost of one head of one image without the projections and without terms linear in N.  E, the columns of a filter, is
 * 1 in Eq. 4 and 5 and c in Eq. 16; M' is 1 in Eq. 4:
 *
 *                 multiply-adds                            extra memory (reals)
 *     naive       N^2 c + N J (D |M| E + D M' E + M' c)    N^2 E + N J D + J (M' (E + c) + |M| E)
 *     plain 4, 5  2 N^2 c + N J D (|M| + M')               2 N + J D + max(|M|, M')
 *     plain 16    N J D (2 c + 1) + J D (|M| + M') c,      2 J D c + max(|M|, M') c
 *                 + c + 1 for each 32 keys of a query
 *     fast 4, 5   2 N^2 c + N J D (|M| + M'), or as        2 N for each query of a group
 *                 in Eq. 16 if that is less
 *     fast 16     2 N J D c + blocks of queries            O(c) for each query of a block:
 *                 times J D (|M| + M') c                   O(N c) at most, whatever D
 *
 * Implemented in naive/structsa.c, fast/structsa.c, fast/tuned/structsa/structsa.c and fast/cuda/structsa.cu.  Each
 * form keeps a repacked copy of the filters; the tuned form also repacks the weights of the projections.
 *
 * Errors: heads that do not divide C; a kernel or strides with other axes than the grid; a kernel of even size; a value
 * kernel with Eq. 4; memory; a file that does not match.
 *
 * Departs from the paper: the projections have optional biases, and the output projection is optional.  A window need
 * not be a cube, and every axis has its own stride (the paper's videos stride in space only).  In Eq. 4 and 5 all heads
 * share the detectors and aggregators; the paper leaves this open. */

#pragma once
#include "runtime/heads.h"
#include "runtime/neighbours.h"

BEGIN_C_DECLS

extern const struct declaration structsa;

struct structsa_problem {
    struct heads_problem heads;
    int equation;                       /* 4, 5 or 16 */
    real scale;                         /* multiplies q */
    size_t D;                           /* patterns */
    size_t J;                           /* centres of windows */
    size_t M, Mv;                       /* |M| entries of a key's window, M' of a value's: 1 in Eq. 4 */
    size_t columns;                     /* E: 1 (Eq. 4, 5) or c (Eq. 16) */
    size_t sets;                        /* sets of filters: 1, shared by all heads (Eq. 4, 5), or h (Eq. 16) */
    size_t stride[GRID_AXES];           /* of the centres, per axis */
    struct grid grid, key_window, value_window;
    const real *uk, *uv;                /* Eq. 4 and 5: [|M|][D], [M'][D] */
    const real *hk, *hv;                /* Eq. 16: [D][|M|][C], [D][M'][C] */
};
HEADS_FIRST(struct structsa_problem);

/* Multiply-adds of attention over virtual tokens, with the projections.  Each virtual token is computed once. */
double structsa_multiply_adds(const void *params);

/* Input of every form for the processor: the windows of keys and values, and filters in one layout for all
 * equations. */
struct structsa_windows {
    struct neighbours keys, values;
    real *hk, *hv;                      /* [sets][D][|M|][columns], [sets][D][M'][columns] */
};

/* `filters` is the lifetime of hk and hv: PERSISTENT or LOAD_SCRATCH. */
void structsa_windows_prepare(struct structsa_windows *w, struct arena *arena, enum lifetime filters,
                              const struct structsa_problem *p);
void structsa_windows_load(struct structsa_windows *w, const struct structsa_problem *p);

END_C_DECLS
