/* chopd.c -- the ChoP'D layer as the dense tensor that its factors define
 *
 * Eq. 8-10 of reference/chopd.h, and then Eq. 3: a weight for every token and
 * channel in and out, N x N x C x D for each image, because the gate depends on
 * the image.  Never optimised, and out of memory early: 56 x 56 tokens of 96
 * channels would take 362 GB.
 *
 *     m, n  tokens in and out      r  components      g  boxes
 *     c, d  channels in and out */

#include "../reference/chopd.h"
#include "../reference/dfc.h"
#include "../reference/memory.h"
#include "../reference/resample.h"

/* ---- the hearts ------------------------------------------------------ */

real chopd_naive_overlap(ptrdiff_t d, real lo, real hi)
{
    real low = (real)d - (real)0.5, high = (real)d + (real)0.5;
    if (low < lo) low = lo;
    if (high > hi) high = hi;
    return low < high ? high - low : (real)0;
}

/* P_mnrg: the share of box g of component r at token n that token m fills. */
void chopd_naive_pooling(real *P, const real *boxes, const struct chopd_sizes *s)
{
    for (size_t m = 0; m < s->N; m++)
        for (size_t n = 0; n < s->N; n++)
            for (size_t rg = 0; rg < s->R * s->G; rg++) {
                const real *box = boxes + 4 * rg;
                ptrdiff_t dy = (ptrdiff_t)(m / s->W) - (ptrdiff_t)(n / s->W);
                ptrdiff_t dx = (ptrdiff_t)(m % s->W) - (ptrdiff_t)(n % s->W);
                real down = chopd_naive_overlap(dy, box[0], box[2]), across = chopd_naive_overlap(dx, box[1], box[3]);
                P[(m * s->N + n) * s->R * s->G + rg] = down / (box[2] - box[0]) * (across / (box[3] - box[1]));
            }
}

/* Eq. 8: u2_mnr = sum_g P_mnrg E_rg. */
void chopd_naive_mixing(real *u2, const real *P, const real *E, const struct chopd_sizes *s)
{
    for (size_t mn = 0; mn < s->N * s->N; mn++)
        for (size_t r = 0; r < s->R; r++) {
            u2[mn * s->R + r] = 0;
            for (size_t g = 0; g < s->G; g++) u2[mn * s->R + r] += P[(mn * s->R + r) * s->G + g] * E[r * s->G + g];
        }
}

/* Eq. 9: phi's small map, bilinearly at every token. */
void chopd_naive_larger(real *u13, const real *map, const struct chopd_sizes *s)
{
    for (size_t n = 0; n < s->N; n++)
        for (size_t r = 0; r < s->R; r++) {
            struct tap down = bilinear_tap(n / s->W, s->s, s->H), across = bilinear_tap(n % s->W, s->s, s->W);
            real upper_left = map[(down.low * s->s + across.low) * s->R + r];
            real upper_right = map[(down.low * s->s + across.high) * s->R + r];
            real lower_left = map[(down.high * s->s + across.low) * s->R + r];
            real lower_right = map[(down.high * s->s + across.high) * s->R + r];
            real upper = (1 - across.weight) * upper_left + across.weight * upper_right;
            real lower = (1 - across.weight) * lower_left + across.weight * lower_right;
            u13[n * s->R + r] = (1 - down.weight) * upper + down.weight * lower;
        }
}

/* W_mncd = sum_r u4_cr u2_mnr u13_nr u5_dr, for one image. */
void chopd_naive_tensor(real *w, const real *u2, const real *u13, const real *u4, const real *u5,
                        const struct chopd_sizes *s)
{
    size_t R = s->R, at = 0;
    for (size_t m = 0; m < s->N; m++)
        for (size_t n = 0; n < s->N; n++)
            for (size_t c = 0; c < s->C; c++)
                for (size_t d = 0; d < s->D; d++, at++) {
                    w[at] = 0;
                    for (size_t r = 0; r < R; r++)
                        w[at] += u4[c * R + r] * u2[(m * s->N + n) * R + r] * u13[n * R + r] * u5[d * R + r];
                }
}

/* ---- the form ---------------------------------------------------------- */

struct naive_state {
    real *P;                    /* [N][N][R][G] */
    real *u2;                   /* [N][N][R] */
    real *map, *u13;            /* [s][s][R], [N][R] */
    real *w;                    /* [N][N][C][D] */
    real *room;                 /* phi's */
};

static status prepare(struct plan *plan)
{
    struct chopd_sizes s = chopd_sizes(plan->problem);
    size_t pairs, gate;

    struct naive_state *state = (struct naive_state *)memory_get(1, sizeof *state);
    if (!state) return out_of_memory("a plan");
    *state = (struct naive_state){0};
    plan->state = state;
    if (!size_multiply(&pairs, s.N, s.N) || !chopd_gate_reals(&gate, &s)) return out_of_memory("the tensor W");
    state->P = memory_reals(pairs, s.R, s.G, 1);
    state->u2 = memory_reals(pairs, s.R, 1, 1);
    state->map = memory_reals(s.s, s.s, s.R, 1);
    state->u13 = memory_reals(s.N, s.R, 1, 1);
    state->w = memory_reals(pairs, s.C, s.D, 1);
    state->room = memory_reals(gate, 1, 1, 1);
    if (state->P && state->u2 && state->map && state->u13 && state->w && state->room) return status_ok();
    return out_of_memory("the tensor W");
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    const struct naive_state *state = (const struct naive_state *)plan->state;
    struct chopd_sizes s = chopd_sizes(p);

    /* Step 1: Eq. 8, the same for all images. */
    chopd_naive_pooling(state->P, problem_tensor(p, "boxes"), &s);
    chopd_naive_mixing(state->u2, state->P, problem_tensor(p, "mix"), &s);

    /* Step 2: for each image its gate, its tensor, and Eq. 3. */
    for (size_t i = 0; i < s.B; i++, x += s.N * s.C, y += s.N * s.D) {
        chopd_gate(state->map, x, p, state->room);
        chopd_naive_larger(state->u13, state->map, &s);
        chopd_naive_tensor(state->w, state->u2, state->u13, problem_tensor(p, "u4"), problem_tensor(p, "u5"), &s);
        fc_naive_apply(y, x, state->w, s.N, s.N, s.C, s.D);
        dfc_finish(y, problem_tensor(p, "b"), 0, s.N, s.D, dfc_gelu(p));
    }
    return status_ok();
}

static void release(struct plan *plan)
{
    struct naive_state *state = (struct naive_state *)plan->state;
    if (!state) return;
    memory_free(state->P);
    memory_free(state->u2);
    memory_free(state->map);
    memory_free(state->u13);
    memory_free(state->w);
    memory_free(state->room);
    memory_free(state);
}

/* The boxes once, all else for each image. */
static double multiply_adds(const struct problem *p)
{
    struct chopd_sizes s = chopd_sizes(p);
    double pairs = (double)s.N * (double)s.N, R = (double)s.R, G = (double)s.G, CD = (double)s.C * (double)s.D;
    return pairs * R * G * 2
         + (double)s.B * (pairs * CD * (3 * R + 1) + 6 * (double)s.N * R + chopd_gate_multiply_adds(&s));
}

const struct form chopd_naive = {"naive", prepare, run, release, multiply_adds};
