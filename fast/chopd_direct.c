/* chopd_direct.c -- a step between naive and plain: the factors in order, boxes summed token by token
 *
 * Like chopd.c, but without the integral image, so that each of its two identities can be counted and timed alone:
 * naive against direct is the factorisation, direct against plain the integral image.
 *
 * The cost of a box is its area, which depends on the parameters.  multiply_adds knows only the sizes, so it counts
 * each box as if it covered the grid: an upper bound.
 *
 *     n  tokens, N = H W     r  components     g  boxes of a component
 *
 * Contract: reference/chopd.h. */

#include "chopd.h"
#include "forms.h"

/* ---- the core ------------------------------------------------------------ */

/* The fraction of a token that a span covers; 1 if the span lies inside it.  `token` is relative to the box's token. */
static wide_real share_of(const struct span *s, ptrdiff_t token)
{
    return token == s->low ? s->first : token == s->high ? s->last : (wide_real)1;
}

/* The sum over a box around token (y, x) of a plane [H][W]. */
static wide_real box_sum(const real *plane, const struct span *down, const struct span *across, ptrdiff_t y,
                         ptrdiff_t x, const struct chopd_problem *p)
{
    size_t bottom = chopd_plain_clamp(y + down->high + 1, p->H), right = chopd_plain_clamp(x + across->high + 1, p->W);
    wide_real sum = 0;
    for (size_t i = chopd_plain_clamp(y + down->low, p->H); i < bottom; i++)
        for (size_t j = chopd_plain_clamp(x + across->low, p->W); j < right; j++)
            sum += share_of(down, (ptrdiff_t)i - y) * share_of(across, (ptrdiff_t)j - x) * plane[i * p->W + j];
    return sum;
}

/* Step 2, Eq. 8 for component r: z_nr <- sum_g E_rg (mean of z_r over box g around n). */
static void pool(real *z, real *plane, size_t r, const struct chopd_problem *p)
{
    size_t W = p->W, R = p->R;

    for (size_t n = 0; n < p->N; n++) plane[n] = z[n * R + r], z[n * R + r] = 0;
    for (size_t g = 0; g < p->G; g++) {
        const real *box = p->boxes + (r * p->G + g) * 4;
        struct span down = chopd_plain_span(box[0], box[2], p->H), across = chopd_plain_span(box[1], box[3], W);
        wide_real weight = p->mix[r * p->G + g] / down.length / across.length;
        for (size_t n = 0; n < p->N; n++)
            z[n * R + r] += (real)(weight * box_sum(plane, &down, &across, (ptrdiff_t)(n / W), (ptrdiff_t)(n % W), p));
    }
}

/* ---- the form around it -------------------------------------------------- */

struct chopd_direct {
    struct chopd_layer layer;
    real *plane;                /* [H][W], one component */
};

static status prepare(struct plan *plan)
{
    const struct chopd_problem *p = plan->params;
    struct chopd_direct *f = plan->state;
    chopd_layer_prepare(&f->layer, &plan->arena, p);
    arena_reals(&plan->arena, PER_RUN, &f->plane, "a component", p->N);
    return arena_status(&plan->arena);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct chopd_problem *p = plan->params;
    const struct chopd_direct *f = plan->state;

    for (size_t i = 0; i < p->B; i++) {
        chopd_layer_components(&f->layer, x + i * p->N * p->C, p);
        for (size_t r = 0; r < p->R; r++) pool(f->layer.z, f->plane, r, p);
        chopd_layer_channels(y + i * p->N * p->D, &f->layer, p);
    }
    return status_ok();
}

/* Two multiplications for each token of a box, at most N tokens. */
static double multiply_adds(const void *params)
{
    const struct chopd_problem *p = params;
    double N = (double)p->N, R = (double)p->R, G = (double)p->G;
    return (double)p->B * (N * R * ((double)p->C + (double)p->D + (2 * N + 1) * G + 4) + chopd_gate_multiply_adds(p));
}

const struct form chopd_direct = {
    .name = "direct", .state = sizeof(struct chopd_direct), .prepare = prepare, .run = run,
    .multiply_adds = multiply_adds,
};
