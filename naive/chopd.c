/* chopd.c -- the ChoP'D layer as the dense tensor that its factors define; never optimised
 *
 * Builds the N x N x C x D weights by Eq. 8-10 and applies them by Eq. 3.  Each image has its own tensor, because the
 * gate depends on the image.  For 56 x 56 tokens of 96 channels it would take 362 GB.
 *
 *     m, n  tokens in and out     c, d  channels in and out     r  components     g  boxes of a component
 *
 * Contract: reference/chopd.h. */

#include "chopd.h"
#include "dfc.h"
#include "forms.h"
#include "../reference/runtime/resample.h"

/* ---- the cores ---------------------------------------------------------- */

/* Length of the part of token d between lo and hi, along one axis; d counts from the box's token. */
static real overlap(ptrdiff_t d, real lo, real hi)
{
    real low = (real)d - (real)0.5, high = (real)d + (real)0.5;
    if (low < lo) low = lo;
    if (high > hi) high = hi;
    return low < high ? high - low : (real)0;
}

/* P_mnrg: the share of box g of component r around token n that lies in token m. */
void chopd_naive_pooling(real *P, const real *boxes, size_t H, size_t W, size_t R, size_t G)
{
    size_t N = H * W;

    for (size_t m = 0; m < N; m++)
        for (size_t n = 0; n < N; n++) {
            ptrdiff_t dy = (ptrdiff_t)(m / W) - (ptrdiff_t)(n / W), dx = (ptrdiff_t)(m % W) - (ptrdiff_t)(n % W);
            real *P_mn = P + (m * N + n) * R * G;
            for (size_t rg = 0; rg < R * G; rg++) {
                const real *box = boxes + 4 * rg;
                real down = overlap(dy, box[0], box[2]), across = overlap(dx, box[1], box[3]);
                P_mn[rg] = down / (box[2] - box[0]) * (across / (box[3] - box[1]));
            }
        }
}

/* Eq. 8: u2_mnr = sum_g P_mnrg E_rg. */
void chopd_naive_mixing(real *u2, const real *P, const real *E, size_t N, size_t R, size_t G)
{
    for (size_t mn = 0; mn < N * N; mn++)
        for (size_t r = 0; r < R; r++) {
            const real *P_mnr = P + (mn * R + r) * G, *E_r = E + r * G;
            real sum = 0;
            for (size_t g = 0; g < G; g++) sum += P_mnr[g] * E_r[g];
            u2[mn * R + r] = sum;
        }
}

/* Eq. 9: phi's small map, interpolated to every token. */
void chopd_naive_larger(real *u13, const real *map, size_t s, size_t H, size_t W, size_t R)
{
    const struct small_map small = {map, s, s, R};
    for (size_t y = 0; y < H; y++) bilinear_row(u13 + y * W * R, R, W, &small, y, H, W);
}

/* W_mncd = sum_r u4_cr u2_mnr u13_nr u5_dr, for one image. */
void chopd_naive_tensor(real *w, const real *u2, const real *u13, const struct chopd_problem *p)
{
    size_t N = p->N, C = p->C, D = p->D, R = p->R;

    for (size_t m = 0; m < N; m++)
        for (size_t n = 0; n < N; n++)
            for (size_t c = 0; c < C; c++)
                for (size_t d = 0; d < D; d++) {
                    const real *u2_mn = u2 + (m * N + n) * R, *u13_n = u13 + n * R;
                    const real *u4_c = p->u4 + c * R, *u5_d = p->u5 + d * R;
                    real sum = 0;
                    for (size_t r = 0; r < R; r++) sum += u4_c[r] * u2_mn[r] * u13_n[r] * u5_d[r];
                    w[((m * N + n) * C + c) * D + d] = sum;
                }
}

/* ---- the form ------------------------------------------------------------ */

struct chopd_naive {
    struct chopd_gate gate;
    real *P, *u2, *u13, *w;     /* [N][N][R][G], [N][N][R], [N][R], [N][N][C][D] */
};

static status prepare(struct plan *plan)
{
    const struct chopd_problem *p = plan->params;
    struct chopd_naive *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->N, R = p->R;

    chopd_gate_prepare(&f->gate, arena, p, 1);
    arena_reals(arena, PER_RUN, &f->P, "the shares of boxes P", N, N, R, p->G);
    arena_reals(arena, PER_RUN, &f->u2, "the factor u2", N, N, R);
    arena_reals(arena, PER_RUN, &f->u13, "the gate u13", N, R);
    arena_reals(arena, PER_RUN, &f->w, "the tensor W", N, N, p->C, p->D);
    return arena_status(arena);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct chopd_problem *p = plan->params;
    const struct chopd_naive *f = plan->state;
    size_t N = p->N, C = p->C, D = p->D;

    /* Step 1: Eq. 8, the same for all images. */
    chopd_naive_pooling(f->P, p->boxes, p->H, p->W, p->R, p->G);
    chopd_naive_mixing(f->u2, f->P, p->mix, N, p->R, p->G);

    /* Step 2: gate, tensor and Eq. 3 of each image. */
    for (size_t i = 0; i < p->B; i++, x += N * C, y += N * D) {
        chopd_gate(&f->gate, 0, x, p);
        chopd_naive_larger(f->u13, f->gate.map, p->s, p->H, p->W, p->R);
        chopd_naive_tensor(f->w, f->u2, f->u13, p);
        fc_naive_apply(y, x, f->w, N, N, C, D);
        dfc_naive_finish(y, p->b, 0, N, D, p->gelu);
    }
    return status_ok();
}

/* The boxes count once, the rest for each image. */
static double multiply_adds(const void *params)
{
    const struct chopd_problem *p = params;
    double pairs = (double)p->N * (double)p->N, R = (double)p->R, G = (double)p->G, CD = (double)p->C * (double)p->D;
    return pairs * R * G * 2
         + (double)p->B * (pairs * CD * (3 * R + 1) + 3 * (double)p->N * R + chopd_gate_multiply_adds(p));
}

const struct form chopd_naive = {
    .name = "naive", .state = sizeof(struct chopd_naive), .prepare = prepare, .run = run,
    .multiply_adds = multiply_adds,
};
