/* hilo.h -- HiLo attention: some heads look near, the others far
 *
 * Z. Pan, J. Cai and B. Zhuang, "Fast Vision Transformers with HiLo
 * Attention", NeurIPS 2022, Sec. 4.1, Eq. 6 and appendices A.2, A.4.  Read
 * beside chapters/5-hilo.md.
 *
 * A plane of tokens is cut into windows of s x s; a plane that they do not
 * tile is padded with tokens of zeros at the bottom and on the right, and the
 * outputs of those are dropped.  The h heads, each of c = C/h channels, are
 * shared out: ld/c = floor(alpha h) of them, computed in double, to Lo-Fi, the
 * other hd/c to Hi-Fi.  With s = 1 all heads are Lo-Fi's, and alpha is not
 * looked at.
 *
 *     Hi-Fi    q, k, v = h_qkv x + h_qkv_b;   a token meets the s^2 of its own window
 *              z_i = sum_{j in window(i)} softmax_j(q_i . k_j / sqrt(c)) v_j
 *              high_i = h_proj z_i + h_proj_b
 *     Lo-Fi    x~_w = sum_{i in window w} x_i / s^2;   every token meets every window
 *              q = l_q x + l_q_b,   k, v = l_kv x~ + l_kv_b
 *              z_i = sum_w softmax_w(q_i . k_w / sqrt(c)) v_w
 *              low_i = l_proj z_i + l_proj_b
 *     Eq. 6    y_i = [high_i; low_i]
 *
 * heads by heads, h_qkv's rows making query, key, value, and l_kv's key and
 * value.  With --pooled-queries (A.4) q is made of x~ too; low, one row for each
 * window, is then spread over the tokens bilinearly (align_corners = false).
 * Values are dimensionless.
 *
 *     x       [B][N][C]                            y        [B][N][C]
 *     h_qkv   [3hd][C],  h_qkv_b [3hd] or absent   h_proj   [hd][hd], h_proj_b [hd] or absent
 *     l_q     [ld][C],   l_q_b   [ld] or absent    l_proj   [ld][ld], l_proj_b [ld] or absent
 *     l_kv    [2ld][C],  l_kv_b  [2ld] or absent
 *
 * A branch without channels has no tensors: hd = 0 or ld = 0.
 *
 * Cost of one image.  M tokens with the padding, n = M/s^2 windows, R queries
 * of Lo-Fi: N (M in the naive form), or n with --pooled-queries.
 *
 *                      multiply-adds, naive                  plain and fast
 *     projections      M hd (3C + hd) + R ld (C + ld)        the same, N for M
 *                      + 2 n C ld
 *     Hi-Fi            M^2 (2 hd + hd/c)                     2 M s^2 hd
 *     Lo-Fi            R M (2 ld + ld/c)                     2 R n ld
 *     spreading        3 M ld                                3 N ld
 *
 * The plain form has N s^2 pairs in Hi-Fi, without the queries of padding tokens, and a few
 * multiplications more for each pair and tile (fast/attention.h).
 *
 *     extra memory (reals)
 *         naive, all images    M (C + 5 hd + 5 ld) + n (C + 2 ld), + M^2 for the mask and
 *                              M (M + 4c) for each thread
 *         plain, all images    N (4 hd + 2 ld) + n (C + 2 ld), + 2 s^2 c for each thread
 *         fast, for each       N (4 hd + 2 ld) + n (C + 2 ld); for each thread a tile of
 *         image of a chunk      attention, and s^2 (3c + s^2) vectors for small windows or
 *                              4 s^2 c reals for a large one; once the parameters, repacked
 *
 * with --pooled-queries n rows of Lo-Fi's q and z, not N, and M or n rows more to
 * spread.  The fast form has one image of a chunk for each thread.
 *
 * Errors: heads that do not divide C; a padded grid beyond INT_MAX tokens;
 * memory; a file that does not fit.
 *
 * Departs from the paper: alpha h is rounded down, as it must be whole; grids
 * that windows do not tile are padded before anything else, as the authors'
 * detection code does it, so that the softmax counts the padding, with biases
 * or without; A.4 leaves open how to interpolate. */

#ifndef TWICETOLD_HILO_H
#define TWICETOLD_HILO_H

#include "runtime/lookup.h"
#include "runtime/windows.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration hilo;

struct hilo_problem {
    size_t B, H, W, N, C, c;    /* images; the plane of tokens; channels of all and of a head */
    size_t s, n, M;             /* edge of a window; windows; tokens with the padding, n s^2 */
    size_t hd, ld;              /* channels of Hi-Fi and of Lo-Fi */
    struct windows windows;     /* of the plane, */
    struct windows padded;      /* and of the plane with the padding, which they tile */
    bool pooled_queries;
    real scale;                 /* 1/sqrt(c) */
    const real *h_qkv, *h_qkv_b, *h_proj, *h_proj_b;    /* as above, or NULL */
    const real *l_q, *l_q_b, *l_kv, *l_kv_b, *l_proj, *l_proj_b;
};

/* Multiply-adds of the projections of the whole batch, where so many tokens of
 * an image are projected: N, or M. */
double hilo_projections(const struct hilo_problem *p, size_t tokens);

#ifdef __cplusplus
}
#endif

#endif
