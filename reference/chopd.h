/* chopd.h -- the ChoP'D Former's layer: gated pooling over learnable boxes, in factors
 *
 * "Chopping Formers is what you need in vision" (anonymous, under review), Sec. 2.3, Eq. 8-10.
 * Chapter: chapters/4-chopd.md.
 *
 *     Eq. 8    u2_mnr   = sum_g P_mnrg E_rg
 *     Eq. 9    u13_inr  = phi(x_i)_nr
 *     Eq. 10   y_ind    = sigma(sum_r u5_dr u13_inr sum_m u2_mnr sum_c u4_cr x_imc + b_d)
 *
 *     i  images, B of them     m, n  tokens in and out, N = H W     r  components, R of them
 *     c  channels in, C        d     channels out, D                g  boxes of a component, G of them
 *
 * P_mnrg is the weight of token m in the mean over a box.  Token m is the unit square centred on its grid point.  Box g
 * of component r is (y0, x0, y1, x1), in tokens, relative to the centre of token n.  P is the area that the square and
 * the box share, divided by the area of the box.  Outside the grid x is zero, so a box at the border averages zeros
 * too.  Edges may lie anywhere: P is continuous in them.
 *
 * phi is a small convolutional network on a map of fixed size: x averaged to s x s cells (resample.h), a 3 x 3
 * convolution with zero padding, GELU, a 1 x 1 convolution and the logistic function.  The map is then interpolated
 * bilinearly to H x W.
 *
 *     x       [B][N][C]        u4      [C][R]        u5  [D][R]      y  [B][N][D]
 *     boxes   [R][G][4]        mix     [R][G], the paper's E         b  [D]
 *     phi_w1  [S][C][3][3]     phi_b1  [S]           phi_w2 [R][S]   phi_b2 [R]
 *
 * All values except the boxes are dimensionless.  Cost of one image:
 *
 *             multiply-adds                                  extra memory (reals)
 *     naive   N^2 (C D (3 R + 1) + 2 R G) + 3 N R + phi      N^2 (C D + R G + R) + N R + phi
 *     direct  N R (C + D + (2 N + 1) G + 4) + phi, at most   (N + W) R + N + phi
 *     plain   N R (C + D + 5 G + 4) + 2 H R G + phi          (N + W) R + phi, and (H + 2) (W + 1) wide_real
 *     fast    N R (C + D + 6 G + 2) + s W R + phi            N R + phi for each image in work
 *     phi     s^2 (9 C S + S R)                              s^2 (10 C + S + R)
 *
 * The naive form computes P and u2 (2 N^2 R G multiply-adds) once for all images.  direct sums over the tokens of each
 * box, so its count depends on the boxes; the table has the upper bound.  The cost of plain and fast does not depend on
 * the size of the boxes; per token it does not depend on N.  The fast form works on one image, or on one per thread if
 * there are at least as many images as threads.  Each of its threads also keeps the running sums of a plane
 * (fast/tuned/chopd/box_pool.h) and s W reals.  The form keeps u4 and u5 repacked.
 *
 * Implemented in naive/chopd.c, fast/chopd_direct.c, fast/chopd.c, fast/tuned/chopd/chopd.c and fast/cuda/chopd.cu.
 *
 * Errors: an empty box or an edge that is not finite; 9 C beyond INT_MAX; memory; a file that does not
 * match.
 *
 * Departs from the paper: m counts tokens, so P has the index n; Eq. 8, where m is relative to n, does not need it.  b
 * has one number per channel, because B_nd of Eq. 10 would fix N.  The layers of phi are our choice: the paper says
 * only that phi is small and may work on a smaller map. */

#pragma once
#include "runtime/lookup.h"
#include "runtime/arena.h"

BEGIN_C_DECLS

extern const struct declaration chopd;

struct chopd_problem {
    size_t B, H, W, N, C, D, R, G;
    size_t S, s;                /* phi's channels, and cells a side */
    bool gelu;                  /* sigma is GELU, else the identity */
    const real *u4, *u5;        /* [C][R], [D][R] */
    const real *boxes, *mix;    /* [R][G][4], [R][G] */
    const real *phi_w1, *phi_b1, *phi_w2, *phi_b2;
    const real *b;              /* [D] */
};

/* phi before the interpolation to H x W, for all forms except the CUDA versions.  map is [slots][s][s][R]; the other
 * arrays hold intermediate results.  A call computes one image, x [N][C], in one slot, on the calling thread. */
struct chopd_gate { real *map, *mean, *patches, *hidden; };

void chopd_gate_prepare(struct chopd_gate *gate, struct arena *arena, const struct chopd_problem *p, size_t slots);
void chopd_gate(const struct chopd_gate *gate, size_t slot, const real *x, const struct chopd_problem *p);

double chopd_gate_multiply_adds(const struct chopd_problem *p);

END_C_DECLS
