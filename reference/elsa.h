/* elsa.h -- enhanced local self-attention
 *
 * J. Zhou, P. Wang, F. Wang, Q. Liu, H. Li and R. Jin, "ELSA: Enhanced Local
 * Self-Attention for Vision Transformer", 2021, Sec. 4 and 5, Eq. 1-8,
 * Algorithms 1-4.  Read beside chapters/3-elsa.md.
 *
 * On a plane of N tokens, every token i has K^2 neighbours i + n (neighbours.h;
 * off the grid they are zero, and take part).  Query, key and value are
 * projected from x.  Then, with z the Hadamard product of query and key,
 *
 *     Eq. 7    l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an,   z_ic = scale q_ic k_ic
 *     Eq. 6    l_ani = sum_c scale q_ic rk_can + sum_c scale k_{i+n,c} rq_can + rb_an
 *     final    l_ani = sum_o mix_w_{an,o} GELU(g_io) + mix_b_an,
 *              g_io = sum_{c,n} conv_w_ocn z_{i+n,8 floor(o/8)+c} + conv_b_o
 *     h_ani = softmax_n l_ani
 *     Eq. 8    filter_cni = ghost_mul_cn^lambda h_{c',n,i} + gamma ghost_add_cn
 *     Eq. 5    f_ic = sum_n filter_cni v_{i+n,c}
 *
 *     a   heads, h of them; each has logits of its own from all C channels
 *     c'  the head of value channel c: c mod h (Eq. 8), or with --head-map
 *         block c div (C/h), as the authors' code has it
 *     n   neighbours, row-major over (dy, dx); K odd, steps `dilation` apart
 *     o   channels of the final variant's middle, Q of them, in groups of 8
 *
 * and the paradigm that unites convolution, dynamic filters and attention,
 *
 *     Eq. 4    f_ic = sum_{j in area(i)} Norm_j(qk_aij + qr_aij + rk_aij + b_aij) v_jc
 *              qk = scale q_i . k_j within head a's slice of C,  qr = sum_c q_ic rk_{c,a,j-i},
 *              rk = sum_c k_jc rq_{c,a,j-i},  b = rb_{a,j-i}
 *
 * whose terms, Norm (softmax, identity, filter) and area (neighbourhood,
 * window) are chosen by options.  A filter norm takes the mean off and divides
 * by the standard deviation.  In windows, K x K and not overlapping, offsets
 * are those of grid.h.  Values are dimensionless.
 *
 *     x      [B][N][C]                             y      [B][N][C]
 *     w_qkv  [3C][C], [2Q+C][C] in final; b_qkv    w_o    [C][C] or absent, b_o [C] or absent
 *     Eq. 6, 7   rk [C][h][K^2],  rq [C][h][K^2],  rb [h][K^2]
 *     Eq. 4      rk [C][h][T], rq [C][h][T], rb [h][T], those of the terms chosen;
 *                T = K^2, or (2K-1)^2 in windows
 *     final      conv_w [Q][8][K][K], conv_b [Q], mix_w [h K^2][Q], mix_b [h K^2]
 *     Eq. 6, 7, final   ghost_mul [C][K^2] and ghost_add [C][K^2], or neither
 *
 * Cost of one image beside the projections:
 *
 *                    multiply-adds                            extra memory (reals)
 *     naive 6, 7     N K^2 (2 h C + C), + N K^2 C ghosted     N K^2 (3 C + h)
 *     naive final    N K^2 (8 Q + h Q + C), + the same        N K^2 (Q + 2 C + h)
 *     naive 4        the terms of N K^2 pairs, + N^2 C        N^2
 *     fast 6, 7      as naive, without pairs off the grid     2 N h K^2 + N (C + pads)
 *     fast final     as naive, without pairs off the grid     N h K^2 + N (3 Q + C + pads)
 *     fast 4         the terms, + N K^2 C                     2 N K^2 ints
 *
 * told in naive/elsa.c and fast/elsa.c.
 *
 * Errors: heads that do not divide C; an even K; windows that do not divide
 * the grid; Q no multiple of 8; a power that has no value; memory; a file that
 * does not fit.
 *
 * Departs from the paper: v_j stands outside Norm in Eq. 4, where the print
 * has it inside; the dot product of Eq. 4 is taken within heads, the paper
 * leaves heads out of it; scale is free. */

#ifndef TWICETOLD_ELSA_H
#define TWICETOLD_ELSA_H

#include "neighbours.h"
#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct declaration elsa;

/* The forms: unfolded, to the letter; nothing unfolded. */
extern const struct form elsa_naive, elsa_fast;

/* ---- what both forms read off a problem -------------------------------- */

enum elsa_norm { ELSA_SOFTMAX, ELSA_IDENTITY, ELSA_FILTER };

/* Which tokens a token looks at, and which offset each of them has. */
struct elsa_area {
    size_t entries;             /* K^2 */
    int *token;                 /* [N][K^2], OFF_GRID where there is none */
    int *offset;                /* [N][K^2], below T */
};

struct elsa_sizes {
    size_t N, C, h, K, entries; /* entries = K^2 */
    size_t Q;                   /* channels of query and key: C, or Q in the final variant */
    int equation;               /* 4, 6, 7, or 0 for the final variant */
    bool by_block;              /* head of channel c: c div (C/h), else c mod h */
    real scale;
};

struct elsa_sizes elsa_sizes(const struct problem *p);
size_t elsa_head(const struct elsa_sizes *s, size_t c);

/* Eq. 4's choices, and its area.  The creation fails when memory is out; the
 * release accepts what a failed one left. */
bool elsa_term(const struct problem *p, const char *term);      /* "qk", "qr", "rk", "b" */
enum elsa_norm elsa_norm(const struct problem *p);
bool elsa_windows(const struct problem *p);
status elsa_area_create(struct elsa_area *area, const struct problem *p);
void elsa_area_release(struct elsa_area *area);

/* Multiply-adds of Eq. 4's terms, pair by pair, and how many pairs of a token
 * and one of its area are on the grid. */
double elsa_term_multiply_adds(const struct problem *p);
double elsa_pairs(const struct problem *p);

/* Norm of Eq. 4, in place; a filter norm of equal entries is zero. */
void elsa_normalise(real *filter, size_t entries, enum elsa_norm norm);

/* Eq. 8's static matrices [C][K^2]: Pow(ghost_mul, lambda) and gamma ghost_add. */
void elsa_ghost(real *factor, real *summand, const struct problem *p);

/* ---- the hearts of the naive form: naive/elsa.c ------------------------ */

/* One image, every tensor of Algorithm 2 by its name; dense, row-major.  The
 * first group is given, the second made by the hearts in their order. */
struct elsa_image {
    struct elsa_sizes sizes;
    const struct neighbours *around;            /* the K^2 neighbours of every token */
    const real *q, *k, *v;      /* [N][Q], [N][Q], [N][C] */
    const real *rk, *rq, *rb;                   /* Eq. 6, 7 */
    const real *conv_w, *conv_b, *mix_w, *mix_b;/* final */
    const real *factor, *summand;               /* Eq. 8, [C][K^2]; NULL without a ghost head */

    real *hp;                   /* [N][Q]        q o k; in Eq. 6 the query */
    real *kp;                   /* [N][Q]        the same; in Eq. 6 the key */
    real *unfolded;             /* [N][K^2][Q]   kp around every token */
    real *h;                    /* [h][K^2][N]   logits, then attention */
    real *row;                  /* [K^2]         the filter of one token and head */
    real *filters;              /* [C][K^2][N] */
    real *contexts;             /* [N][K^2][C]   values around every token */
    real *f;                    /* [N][C] */
};

bool elsa_image_reals(size_t *reals, const struct elsa_sizes *s);
void elsa_image_place(struct elsa_image *m, real *block);

void elsa_naive_product(struct elsa_image *m);          /* hp, kp */
void elsa_naive_logits(struct elsa_image *m);           /* unfolded, h:  Eq. 6, 7, Algorithm 2 */
void elsa_naive_final_logits(struct elsa_image *m);     /* unfolded, h:  the final variant */
void elsa_naive_softmax(struct elsa_image *m);          /* h */
void elsa_naive_filters(struct elsa_image *m);          /* filters:      Eq. 8, Algorithm 1 */
void elsa_naive_apply(struct elsa_image *m);            /* contexts, f:  Eq. 5 */

/* Eq. 4 for one head: weights [N][N] from q, k [N][c] of the head, query and
 * key of all channels [N][C], and the head's embeddings; y [N][c] = weights v.
 * NULL for a term that is not there; filter is room for K^2. */
struct elsa_unified {
    size_t N, C, c, h, T, head; /* c channels of this head, of C */
    const struct elsa_area *area;
    enum elsa_norm norm;
    real scale;
    const real *q, *k, *v;      /* [N][C], all heads' */
    const real *rk, *rq, *rb;   /* [C][h][T], [C][h][T], [h][T] */
    bool dot;                   /* the term q.k */
    real *weights;              /* [N][N] */
    real *filter;               /* [K^2] */
    real *y;                    /* [N][c] */
};

void elsa_naive_unified(struct elsa_unified *u);

#ifdef __cplusplus
}
#endif

#endif
