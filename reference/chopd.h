/* chopd.h -- the ChoP'D Former's layer: pooling over boxes, gated, in factors
 *
 * "Chopping Formers is what you need in vision" (anonymous, under review),
 * Sec. 2.3, Eq. 8-10.  Read beside chapters/4-chopd.md.
 *
 *     Eq. 8    u2_mnr   = sum_g P_mnrg E_rg
 *     Eq. 9    u13_inr  = phi(x_i)_nr
 *     Eq. 10   y_ind    = sigma(sum_r u5_dr u13_inr sum_m u2_mnr sum_c u4_cr x_imc + b_d)
 *
 *     i  images, B of them     m, n  tokens of one plane, in and out, N = H W
 *     c  channels in, C        d     channels out, D       r  components, R of them
 *     g  boxes of a component, G of them
 *
 * P_mnrg is the mean over a box: tokens are unit squares around their grid
 * points, box g of component r is (y0, x0, y1, x1) from the middle of token n,
 * in tokens, and P is the area that square m and the box share, over the area
 * of the box.  Off the grid there is nothing, so boxes at the border average
 * zeros too.  Edges may be anywhere: P is continuous in them.
 *
 * phi is a small convolutional network on a map of fixed size: x averaged to s
 * x s cells (resample.h), a 3 x 3 convolution with zeros around, GELU, a 1 x 1
 * convolution, the logistic function; then bilinear to H x W.
 *
 *     x       [B][N][C]        u4      [C][R]        u5  [D][R]      y  [B][N][D]
 *     boxes   [R][G][4]        mix     [R][G], the paper's E         b  [D]
 *     phi_w1  [S][C][3][3]     phi_b1  [S]           phi_w2 [R][S]   phi_b2 [R]
 *
 * All but the boxes are dimensionless.  Cost of one image:
 *
 *             multiply-adds                                  extra memory (reals)
 *     naive   N^2 (C D (3 R + 1) + 2 R G) + 3 N R + phi      N^2 (C D + R G + R) + N R + phi
 *     direct  N R (C + D + (2 N + 1) G + 4) + phi, at most   (N + W) R + N + phi
 *     plain   N R (C + D + 5 G + 4) + 2 H R G + phi          (N + W) R + phi, and (H + 2) (W + 1) wide_real
 *     fast    N R (C + D + 6 G + 2) + s W R + phi            N R + phi, once or for each thread
 *     phi     s^2 (9 C S + S R)                              s^2 (10 C + S + R)
 *
 * implemented in naive/chopd.c, fast/chopd_direct.c, fast/chopd.c and
 * fast/tuned/chopd/chopd.c, and for a device in fast/cuda/chopd.cu.  direct sums
 * over the tokens of each box, so its count depends on the boxes.  The costs of
 * plain and fast depend neither on the size of the boxes nor, for a token, on N.
 * If there are as many images as threads, each thread of the fast form has one
 * image; each also has the running sums of a plane
 * (fast/tuned/chopd/box_pool.h) and s W numbers.
 *
 * Errors: a box without an inside, or with an edge that is not finite; memory;
 * a file that does not fit.
 *
 * Departs from the paper: m counts tokens, so P has the index n, which Eq. 8 with
 * m relative to n does not need; b is one number for each channel, since B_nd of
 * Eq. 10 would fix N; phi's shape is ours, the paper says that it is small and
 * may work on a smaller map. */

#ifndef TWICETOLD_CHOPD_H
#define TWICETOLD_CHOPD_H

#include "runtime/lookup.h"
#include "runtime/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration chopd;

struct chopd_problem {
    size_t B, H, W, N, C, D, R, G;
    size_t S, s;                /* phi's channels, and cells a side */
    bool gelu;                  /* sigma: GELU, or nothing */
    const real *u4, *u5;        /* [C][R], [D][R] */
    const real *boxes, *mix;    /* [R][G][4], [R][G] */
    const real *phi_w1, *phi_b1, *phi_w2, *phi_b2;
    const real *b;              /* [D] */
};

/* phi before it is made larger, implemented once for both forms, with room for
 * so many images at once: map [slots][s][s][R], and what it is made of.  One
 * image x [N][C] fills one slot, on the calling thread. */
struct chopd_gate { real *map, *mean, *patches, *hidden; };

void chopd_gate_prepare(struct chopd_gate *gate, struct arena *arena, const struct chopd_problem *p, size_t slots);
void chopd_gate(const struct chopd_gate *gate, size_t slot, const real *x, const struct chopd_problem *p);

/* Multiply-adds of phi. */
double chopd_gate_multiply_adds(const struct chopd_problem *p);

#ifdef __cplusplus
}
#endif

#endif
