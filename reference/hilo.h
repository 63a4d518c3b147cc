/* hilo.h -- HiLo attention: local heads (Hi-Fi) and pooled global heads (Lo-Fi)
 *
 * Z. Pan, J. Cai and B. Zhuang, "Fast Vision Transformers with HiLo Attention", NeurIPS 2022, Sec. 4.1, Eq. 6 and
 * appendices A.2, A.4.  Chapter: chapters/5-hilo.md.
 *
 * A plane of tokens is cut into windows of s x s.  If they do not tile the plane, it is padded with zero tokens at the
 * bottom and on the right, and the outputs of the padding are dropped.  Each of the h heads has c = C/h channels.
 * Lo-Fi has ld/c = floor(alpha h) heads, computed in double; Hi-Fi has the other hd/c.  If s = 1, Lo-Fi has all heads
 * and alpha is ignored.
 *
 *     Hi-Fi    q, k, v = h_qkv x + h_qkv_b;   a token attends to the s^2 tokens of its window
 *              z_i = sum_{j in window(i)} softmax_j(q_i . k_j / sqrt(c)) v_j
 *              high_i = h_proj z_i + h_proj_b
 *     Lo-Fi    x~_w = sum_{i in window w} x_i / s^2;   a token attends to all windows
 *              q = l_q x + l_q_b,   k, v = l_kv x~ + l_kv_b
 *              z_i = sum_w softmax_w(q_i . k_w / sqrt(c)) v_w
 *              low_i = l_proj z_i + l_proj_b
 *     Eq. 6    y_i = [high_i; low_i]
 *
 * The rows of h_qkv make query, key and value, those of l_kv key and value.  With --pooled-queries (A.4), q is made
 * from x~ too; low then has one row per window and is interpolated bilinearly to the tokens (align_corners = false).
 * Values are dimensionless.
 *
 *     x       [B][N][C]                            y        [B][N][C]
 *     h_qkv   [3hd][C],  h_qkv_b [3hd] or absent   h_proj   [hd][hd], h_proj_b [hd] or absent
 *     l_q     [ld][C],   l_q_b   [ld] or absent    l_proj   [ld][ld], l_proj_b [ld] or absent
 *     l_kv    [2ld][C],  l_kv_b  [2ld] or absent
 *
 * A branch without channels (hd = 0 or ld = 0) has no tensors.
 *
 * Cost of one image, with M tokens including the padding, n = M/s^2 windows, and R queries of Lo-Fi: N (M in the naive
 * form), or n with --pooled-queries.
 *
 *                      multiply-adds, naive                  plain and fast
 *     projections      M hd (3C + hd) + R ld (C + ld)        the same, N for M
 *                      + 2 n C ld
 *     Hi-Fi            M^2 (2 hd + hd/c)                     2 M s^2 hd
 *     Lo-Fi            R M (2 ld + ld/c)                     2 R n ld
 *     interpolation    3 M ld                                3 N ld
 *
 * Only --pooled-queries interpolates.  The plain form has N s^2 pairs in Hi-Fi, as it computes no queries of padding
 * tokens, and a few more multiplications for each pair and tile (fast/attention.h).
 *
 *     extra memory (reals)
 *         naive, each image    M (C + 5 hd + 2 ld) + 3 R ld + n (C + 2 ld); once M^2 for
 *         of the batch         the mask; each thread has M (M + 4c)
 *         plain, each image    4 N hd + 2 R ld + n (C + 2 ld); each thread has 2 s^2 c
 *         of the batch
 *         fast, each image     4 N hd + 2 R ld + n (C + 2 ld); each thread has a tile of
 *         of a chunk           attention, and s^2 (3c + s^2) vectors for small windows or
 *                              4 s^2 c reals for a large one; the repacked parameters
 *
 * With --pooled-queries, the interpolation needs M ld (naive) or n ld more for each image.  A chunk of the fast form is
 * one image per thread, or one image if there are fewer images than threads.
 *
 * Implemented in naive/hilo.c, fast/hilo.c, fast/tuned/hilo/hilo.c and fast/cuda/hilo.cu.
 *
 * Errors: heads that do not divide C; a batch whose padded tokens exceed INT_MAX; memory; a file that does not match.
 *
 * Departs from the paper: alpha h is rounded down to a whole number of heads.  A grid that windows do not tile is
 * padded first, as in the authors' detection code, so the softmax counts the padding, with or without biases.  A.4 does
 * not say how to interpolate; we choose bilinear. */

#pragma once
#include "runtime/linear.h"
#include "runtime/lookup.h"
#include "runtime/windows.h"

BEGIN_C_DECLS

extern const struct declaration hilo;

struct hilo_problem {
    size_t B, H, W, N, C, c;    /* images; the plane of tokens; all channels; channels of a head */
    size_t s, n, M;             /* edge of a window; windows; tokens with the padding, n s^2 */
    size_t hd, ld;              /* channels of Hi-Fi and of Lo-Fi */
    struct windows windows;     /* of the plane */
    struct windows padded;      /* of the padded plane, which they tile */
    bool pooled_queries;
    real scale;                 /* 1/sqrt(c) */
    const real *h_qkv, *h_qkv_b, *h_proj, *h_proj_b;    /* as above, or NULL */
    const real *l_q, *l_q_b, *l_kv, *l_kv_b, *l_proj, *l_proj_b;
};

/* The projections of the naive and the plain form.  Weights are not repacked. */
struct hilo_maps { struct linear h_qkv, h_proj, l_q, l_kv, l_proj; };

void hilo_maps_prepare(struct hilo_maps *maps, struct arena *arena, const struct hilo_problem *p);
void hilo_maps_load(struct hilo_maps *maps, const struct hilo_problem *p);

/* Multiply-adds of the projections of the whole batch, if a form projects this many tokens of an image: N or M. */
double hilo_projections(const struct hilo_problem *p, size_t tokens);

END_C_DECLS
