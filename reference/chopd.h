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
 *     naive   N^2 (C D (3 R + 1) + 2 R G) + 6 N R + phi      N^2 (C D + R G + R) + N R
 *     fast    N R (C + D + 6 G + 2) + s W R + phi            R N, and (G + 2) N a thread
 *     phi     s^2 (9 C S + S R)                              s^2 (10 C + S + R)
 *
 * told in naive/chopd.c and fast/chopd.c.  The fast form's cost depends neither
 * on the size of the boxes nor, for a token, on N.
 *
 * Errors: a box without an inside, or with an edge that is not finite; memory;
 * a file that does not fit.
 *
 * Departs from the paper: P has the index n, which Eq. 8 leaves out; b is one
 * number for each channel, since B_nd of Eq. 10 would fix N; phi's shape is
 * ours, the paper says that it is small and may work on a smaller map. */

#ifndef TWICETOLD_CHOPD_H
#define TWICETOLD_CHOPD_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration chopd;
extern const struct form chopd_naive, chopd_fast;

struct chopd_sizes { size_t B, H, W, N, C, D, R, G, S, s; };

struct chopd_sizes chopd_sizes(const struct problem *p);

/* phi before it is made larger: map [s][s][R] of one image x [N][C].  Told once,
 * for both forms; room is chopd_gate_reals. */
void chopd_gate(real *map, const real *x, const struct problem *p, real *room);
bool chopd_gate_reals(size_t *reals, const struct chopd_sizes *s);

/* Multiply-adds of phi. */
double chopd_gate_multiply_adds(const struct chopd_sizes *s);

/* ---- the hearts of the naive form: naive/chopd.c ----------------------- */

/* How much of token d, counted from the token in the middle, lies between lo
 * and hi along an axis. */
real chopd_naive_overlap(ptrdiff_t d, real lo, real hi);

void chopd_naive_pooling(real *P, const real *boxes, const struct chopd_sizes *s);              /* [N][N][R][G] */
void chopd_naive_mixing(real *u2, const real *P, const real *E, const struct chopd_sizes *s);   /* [N][N][R], Eq. 8 */
void chopd_naive_larger(real *u13, const real *map, const struct chopd_sizes *s);               /* [N][R], Eq. 9 */
void chopd_naive_tensor(real *w, const real *u2, const real *u13, const real *u4, const real *u5,
                        const struct chopd_sizes *s);                                           /* [N][N][C][D] */

#ifdef __cplusplus
}
#endif

#endif
