/* elsa.h -- enhanced local self-attention
 *
 * J. Zhou, P. Wang, F. Wang, Q. Liu, H. Li and R. Jin, "ELSA: Enhanced Local Self-Attention for Vision Transformer",
 * 2021, Sec. 4 and 5, Eq. 1-8, Algorithms 1-4.  Chapter: chapters/3-elsa.md.
 *
 * Every token i of a plane of N tokens has K^2 neighbours i + n (neighbours.h).  Neighbours off the grid are zero and
 * take part in the softmax.  Query, key and value are projected from x.  With z, the Hadamard product of query and key,
 *
 *     Eq. 7    l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an,   z_ic = scale q_ic k_ic
 *     Eq. 6    l_ani = sum_c scale q_ic rk_can + sum_c scale k_{i+n,c} rq_can + rb_an
 *     final    l_ani = sum_o mix_w_{an,o} GELU(g_io) + mix_b_an,
 *              g_io = sum_{c,n} conv_w_ocn z_{i+n, g floor(o/g)+c} + conv_b_o
 *     h_ani = softmax_n l_ani
 *     Eq. 8    filter_cni = ghost_mul_cn^lambda h_{c',n,i} + gamma ghost_add_cn
 *     Eq. 5    f_ic = sum_n filter_cni v_{i+n,c}
 *
 *     a   heads, h of them; each computes its logits from all C channels
 *     c'  the head of value channel c: c mod h (Eq. 8), or with --head-map
 *         block c div (C/h), as in the authors' code
 *     n   neighbours, row-major over (dy, dx); K odd, steps `dilation` apart
 *     o   the Q channels of the final variant's convolution, in groups of g
 *         (--group-width: 4 in the authors' Swin-T, 8 in S and B)
 *
 * The paper's common form of convolution, dynamic filters and attention is
 *
 *     Eq. 4    f_ic = sum_{j in area(i)} Norm_j(qk_aij + qr_aij + rk_aij + b_aij) v_jc
 *              qk = scale q_i . k_j within head a's slice of C,  qr = sum_c q_ic rk_{c,a,j-i},
 *              rk = sum_c k_jc rq_{c,a,j-i},  b = rb_{a,j-i}
 *
 * Options choose its terms, Norm (softmax, identity, filter) and area (neighbourhood, window).  The filter norm
 * subtracts the mean and divides by the standard deviation.  Windows are K x K tokens and do not overlap; their offsets
 * are those of grid.h.  Values are dimensionless.
 *
 *     x      [B][N][C]                             y      [B][N][C]
 *     w_qkv  [3C][C], [2Q+C][C] in final; b_qkv    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 6, 7   rk [C][h][K^2],  rq [C][h][K^2],  rb [h][K^2]
 *     Eq. 4      rk [C][h][T], rq [C][h][T], rb [h][T], those of the chosen terms;
 *                T = K^2, or (2K-1)^2 in windows
 *     final      conv_w [Q][g][K][K], conv_b [Q], mix_w [h K^2][Q], mix_b [h K^2]
 *     Eq. 6, 7, final   ghost_mul [C][K^2] and ghost_add [C][K^2], or neither; if
 *                lambda = 0, every power is 1 and ghost_add may be given alone
 *
 * Cost of one image without the projections:
 *
 *                    multiply-adds                            extra memory (reals)
 *     naive 6, 7     N K^2 (2 h C + C), + N K^2 C ghosted     N K^2 (3 C + h)
 *     naive final    N K^2 (g Q + h Q + C), + the same        N K^2 (Q + 2 C + h)
 *     naive 4        the terms of N K^2 pairs, + N^2 C        N^2, and 2 N K^2 ints
 *     plain 6, 7     as naive, without values off the grid    2 N h K^2 + 2 N C
 *     plain final    as naive, without pairs off the grid     2 N Q
 *     plain 4        the terms, + N K^2 C                     h K^2, and 2 N K^2 ints
 *     fast 6, 7      as naive, without pairs off the grid     2 M h K^2 + N (C + pads), M <= N tokens in work
 *     fast final     as naive, without pairs off the grid     N h K^2 + N (Q + C + pads)
 *     fast 4         the terms, + N K^2 C                     2 N K^2 ints
 *
 * The naive and the plain form of Eq. 6, 7 and final also hold N K^2 ints.  Pads are zeros between rows.  The table
 * leaves out the matrices of the ghost head.  Where the fast form multiplies by zeros off the grid, its count leaves
 * these products out.
 *
 * Implemented in naive/elsa.c, fast/elsa.c, fast/tuned/elsa/elsa.c and fast/cuda/elsa.cu.
 *
 * Errors: heads that do not divide C; an even K; windows that do not divide the grid; Q that is not a multiple of g; a
 * power without a value; ghost_add alone unless lambda = 0; memory; a file that does not match.
 *
 * Departs from the paper: in Eq. 4, v_j stands outside Norm; the print has it inside.  The dot product of Eq. 4 is
 * taken within heads; the paper does not mention heads there.  The filter norm divides by the deviation over n; the
 * code that it comes from divides by that over n - 1, then scales and shifts.  scale is a free parameter. */

#pragma once
#include "runtime/ghost.h"
#include "runtime/heads.h"
#include "runtime/neighbours.h"
#include "runtime/windows.h"

BEGIN_C_DECLS

extern const struct declaration elsa;

enum elsa_norm { ELSA_SOFTMAX, ELSA_IDENTITY, ELSA_FILTER };

struct elsa_problem {
    struct heads_problem heads; /* Q, the channels of query and key, is C except in final */
    struct grid grid;
    size_t K, entries;          /* entries = K^2 */
    size_t dilation;
    size_t g;                   /* channels of a group in final */
    int equation;               /* 4, 6, 7, or 0 for the final variant */
    real scale;

    struct { bool qk, qr, rk, b; } terms;       /* Eq. 4 */
    size_t T;                   /* offsets in an area: K^2, in windows (2K-1)^2 */
    enum elsa_norm norm;
    bool windows;               /* areas are windows, else neighbourhoods */

    struct ghost_problem ghost; /* Eq. 8, and the map from channels to heads */

    const real *rk, *rq, *rb;   /* [C][h][K^2], [C][h][K^2], [h][K^2]; in Eq. 4 with T for K^2; or NULL */
    const real *conv_w, *conv_b, *mix_w, *mix_b;        /* final */
};
HEADS_FIRST(struct elsa_problem);

/* Norm of Eq. 4, in place.  The filter norm of equal entries is zero. */
void elsa_normalise(real *filter, size_t entries, enum elsa_norm norm);

/* The area of each token, and in Eq. 4 the offset of each token in it. */
struct elsa_area {
    struct neighbours around;   /* its table [N][K^2] holds the area, a neighbourhood or a window */
    struct windows windows;
    int *offset;                /* [N][K^2], less than T; NULL except in Eq. 4 */
};

void elsa_area_prepare(struct elsa_area *area, struct arena *arena, const struct elsa_problem *p);
void elsa_area_load(struct elsa_area *area, const struct elsa_problem *p);

/* Inline, so that the counting build counts their multiplications. */

/* hp and kp [N][Q]: both scale q o k; in Eq. 6 scale q and scale k. */
static inline void elsa_product(real *hp, real *kp, const real *q, const real *k, const struct elsa_problem *p)
{
    size_t count = p->heads.N * p->heads.Q;
    if (p->equation == 6)
        for (size_t i = 0; i < count; i++) {
            hp[i] = p->scale * q[i];
            kp[i] = p->scale * k[i];
        }
    else
        for (size_t i = 0; i < count; i++) hp[i] = kp[i] = p->scale * (q[i] * k[i]);
}

/* filter [K^2]: the sum of the terms of Eq. 4, before Norm, for head a, token i and every token j in its area.  q and k
 * are [N][C].  Off the grid the key is zero. */
static inline void elsa_terms(real *filter, const real *q, const real *k, const struct elsa_area *area,
                              size_t a, size_t i, const struct elsa_problem *p)
{
    size_t C = p->heads.C, c = p->heads.c, h = p->heads.h, T = p->T, entries = p->entries;
    for (size_t n = 0; n < entries; n++) {
        int j = area->around.token[i * entries + n];
        size_t t = (size_t)area->offset[i * entries + n];
        const real *q_i = q + i * C, *k_j = j == OFF_GRID ? NULL : k + (size_t)j * C;
        real dot = 0, sum = 0;

        if (p->terms.qk && k_j)
            for (size_t ch = a * c; ch < (a + 1) * c; ch++) dot += q_i[ch] * k_j[ch];
        if (p->terms.qk)
            sum = p->scale * dot;
        if (p->terms.qr)
            for (size_t ch = 0; ch < C; ch++) sum += q_i[ch] * p->rk[(ch * h + a) * T + t];
        if (p->terms.rk && k_j)
            for (size_t ch = 0; ch < C; ch++) sum += k_j[ch] * p->rq[(ch * h + a) * T + t];
        if (p->terms.b)
            sum += p->rb[a * T + t];
        filter[n] = sum;
    }
}

/* Pairs of a token and a token of its area, both on the grid. */
double elsa_pairs(const struct elsa_problem *p);

/* Multiply-adds of all images with projections, for a form that applies weights to this many pairs of tokens. */
double elsa_multiply_adds(const struct elsa_problem *p, double pairs);

END_C_DECLS
