/* chopd.c -- the ChoP'D layer in plain C: one factor after another, and boxes by an integral image
 *
 * The naive form builds a tensor of N x N x C x D weights.  Two identities avoid it:
 *
 *   1. The factors are applied in order (Eq. 10).  Apart from I and phi's, no array has more than N R numbers.
 *   2. The sum over a box is read from the integral image I (Crow, "Summed-area tables", 1984).  I(Y, X) is the sum of
 *      the tokens above row Y and left of column X, so for rows y0 to y1 - 1 and columns x0 to x1 - 1
 *          box sum = strip(x1) - strip(x0)   with   strip(X) = I(y1, X) - I(y0, X).
 *      The cost does not depend on the size of the box.
 *
 * Form `direct` (chopd_direct.c) uses only identity 1: it sums over the tokens of each box.
 * An edge may lie inside a token.  The box then contains a fraction of that token: see sum_over.
 * Entries of I grow like N, and a small box is their difference, so I is double (wide_real) even if real is float.
 *
 *     n  tokens, N = H W     r  components     g  boxes of a component     c, d  channels in, out
 *
 * Contract: reference/chopd.h. */

#include "chopd.h"
#include <math.h>
#include "forms.h"
#include "../reference/runtime/resample.h"

/* ---- the core ------------------------------------------------------------ */

/* Step 1: phi's map, and z_nr = sum_c u4_cr x_nc. */
void chopd_layer_components(const struct chopd_layer *f, const real *x, const struct chopd_problem *p)
{
    chopd_gate(&f->gate, 0, x, p);
    for (size_t n = 0; n < p->N; n++) dfc_plain_components(f->z + n * p->R, x + n * p->C, p->u4, p->C, p->R);
}

/* The integral image I [H+1][W+1] of component r; row 0 and column 0 are zero. */
static void integrate(wide_real *I, const real *z, size_t r, const struct chopd_problem *p)
{
    size_t line = p->W + 1;

    for (size_t X = 0; X < line; X++) I[X] = 0;
    for (size_t y = 0; y < p->H; y++) {
        wide_real row = 0;
        I[(y + 1) * line] = 0;
        for (size_t x = 0; x < p->W; x++) {
            row += z[(y * p->W + x) * p->R + r];
            I[(y + 1) * line + x + 1] = I[y * line + x + 1] + row;
        }
    }
}

/* The token that contains an edge: token t reaches from t - 1/2 to t + 1/2. */
static double token_of(double edge)
{
    double token = floor(edge + 0.5);
    return token - 0.5 > edge ? token - 1 : token;      /* edge + 0.5 may have been rounded up */
}

/* The span from lo to hi on an axis of `size` tokens.  low and high are limited to size + 1, which lies
 * off the grid for every token.  An edge between two tokens belongs to the one inside the span. */
struct span chopd_plain_span(real lo, real hi, size_t size)
{
    double end = (double)size + 1, low = token_of((double)lo), high = -token_of(-(double)hi);
    struct span s = {.first = low + 0.5 - (wide_real)lo, .last = (wide_real)hi - (high - 0.5),
                     .length = (wide_real)hi - (wide_real)lo};
    if (low == high) s.first = s.last = s.length = 1;   /* inside one token: the mean is this token */
    s.low = (ptrdiff_t)fmax(-end, fmin(low, end));
    s.high = (ptrdiff_t)fmax(-end, fmin(high, end));
    return s;
}

/* The sum over a span around token t, from running sums T, `stride` apart: T_k is the sum of all tokens before k.
 * If low = high, first and last are 1, and the result is T_(low+1) - T_low. */
static wide_real sum_over(const struct span *s, size_t t, size_t size, const wide_real *T, size_t stride)
{
    ptrdiff_t low = (ptrdiff_t)t + s->low, high = (ptrdiff_t)t + s->high;
    wide_real T0 = T[chopd_plain_clamp(low, size) * stride], T1 = T[chopd_plain_clamp(low + 1, size) * stride];
    wide_real T2 = T[chopd_plain_clamp(high, size) * stride], T3 = T[chopd_plain_clamp(high + 1, size) * stride];
    return s->first * (T1 - T0) + (T2 - T1) + s->last * (T3 - T2);
}

/* Step 2, Eq. 8 for component r: z_nr <- sum_g E_rg (mean of z_r over box g around n). */
static void pool(real *z, const wide_real *I, wide_real *strip, size_t r, const struct chopd_problem *p)
{
    size_t H = p->H, W = p->W, R = p->R;

    for (size_t n = 0; n < p->N; n++) z[n * R + r] = 0;
    for (size_t g = 0; g < p->G; g++) {
        const real *box = p->boxes + (r * p->G + g) * 4;
        struct span down = chopd_plain_span(box[0], box[2], H), across = chopd_plain_span(box[1], box[3], W);
        wide_real weight = p->mix[r * p->G + g] / down.length / across.length;
        for (size_t y = 0; y < H; y++) {
            for (size_t X = 0; X <= W; X++) strip[X] = sum_over(&down, y, H, I + X, W + 1);
            for (size_t x = 0; x < W; x++)
                z[(y * W + x) * R + r] += (real)(weight * sum_over(&across, x, W, strip, 1));
        }
    }
}

/* Step 3: the gate (Eq. 9), bilinear between the cells of phi's map; y_nd = sigma(sum_r u5_dr u13_nr z_nr + b_d). */
void chopd_layer_channels(real *y, const struct chopd_layer *f, const struct chopd_problem *p)
{
    const struct small_map map = {f->gate.map, p->s, p->s, p->R};

    for (size_t n = 0; n < p->N; n++) {
        real *z_n = f->z + n * p->R, *u13_n = f->u13 + n % p->W * p->R;
        if (n % p->W == 0) bilinear_row(f->u13, p->R, p->W, &map, n / p->W, p->H, p->W);
        for (size_t r = 0; r < p->R; r++) z_n[r] *= u13_n[r];
        dfc_plain_channels(y + n * p->D, z_n, p->u5, p->b, p->R, p->D, p->gelu);
    }
}

/* ---- the form around it -------------------------------------------------- */

struct chopd_plain {
    struct chopd_layer layer;
    wide_real *I, *strip;       /* [H+1][W+1] and [W+1], of one component */
};

void chopd_layer_prepare(struct chopd_layer *f, struct arena *arena, const struct chopd_problem *p)
{
    chopd_gate_prepare(&f->gate, arena, p, 1);
    arena_reals(arena, PER_RUN, &f->z, "the components", p->N, p->R);
    arena_reals(arena, PER_RUN, &f->u13, "a row of the gate", p->W, p->R);
}

static status prepare(struct plan *plan)
{
    const struct chopd_problem *p = plan->params;
    struct chopd_plain *f = plan->state;

    chopd_layer_prepare(&f->layer, &plan->arena, p);
    arena_objects(&plan->arena, PER_RUN, &f->I, "the integral image", p->H + 1, p->W + 1, sizeof *f->I);
    arena_objects(&plan->arena, PER_RUN, &f->strip, "the rows of a box", p->W + 1, 1, sizeof *f->strip);
    return arena_status(&plan->arena);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct chopd_problem *p = plan->params;
    const struct chopd_plain *f = plan->state;

    for (size_t i = 0; i < p->B; i++) {
        chopd_layer_components(&f->layer, x + i * p->N * p->C, p);
        for (size_t r = 0; r < p->R; r++) {
            integrate(f->I, f->layer.z, r, p);
            pool(f->layer.z, f->I, f->strip, r, p);
        }
        chopd_layer_channels(y + i * p->N * p->D, &f->layer, p);
    }
    return status_ok();
}

/* For each box: 2 multiplications along each axis and the weight, per token; strips have W + 1 entries. */
static double multiply_adds(const void *params)
{
    const struct chopd_problem *p = params;
    double N = (double)p->N, H = (double)p->H, R = (double)p->R, G = (double)p->G;
    return (double)p->B * (N * R * ((double)p->C + (double)p->D + 5 * G + 4) + 2 * H * R * G
                           + chopd_gate_multiply_adds(p));
}

const struct form chopd_plain = {
    .name = "plain", .state = sizeof(struct chopd_plain), .prepare = prepare, .run = run,
    .multiply_adds = multiply_adds,
};
