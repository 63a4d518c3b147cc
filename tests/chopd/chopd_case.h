/* chopd_case.h -- shared by the tests of ChoP'D: gates, pooling alone */

#pragma once
#include "../support/fixture.h"
#include "../../naive/chopd.h"
#include "../../reference/dfc.h"

static inline struct chopd_problem chopd_of(const struct problem *p)
{
    struct chopd_problem params;
    succeeds(chopd.resolve(&params, p));
    return params;
}

/* The gates u13 [B][N][R] of all images, Eq. 9. */
static inline real *gates(const struct chopd_problem *p, const real *x)
{
    size_t cells = p->s * p->s;
    const struct chopd_gate phi = {
        zeros(cells * p->R), zeros(cells * p->C), zeros(cells * 9 * p->C), zeros(cells * p->S),
    };
    real *u13 = zeros(p->B * p->N * p->R);
    for (size_t i = 0; i < p->B; i++) {
        chopd_gate(&phi, 0, x + i * p->N * p->C, p);
        chopd_naive_larger(u13 + i * p->N * p->R, phi.map, p->s, p->H, p->W, p->R);
    }
    return u13;
}

struct box { double y0, x0, y1, x1; };

/* A chopd whose y [N][boxes] is the mean over every box around every token of a plane: one channel, one component per
 * box, gates of 1. */
static inline struct fixture pooling(size_t H, size_t W, const struct box *box, size_t boxes)
{
    char options[80], sizes[64];
    snprintf(options, sizeof options, "--grid %zux%zu --gate-size 1 --activation none", H, W);
    snprintf(sizes, sizeof sizes, "R=%zu D=%zu G=1 S=1", boxes, boxes);
    struct fixture t = fixture(options, &chopd, 1, 1, sizes, "");
    for (size_t r = 0; r < boxes; r++) {
        const double edge[4] = {box[r].y0, box[r].x0, box[r].y1, box[r].x1};
        for (size_t e = 0; e < 4; e++) fixture_tensor(&t, "boxes")[4 * r + e] = (real)edge[e];
    }
    fixture_fill(&t, "u4", 1);
    fixture_fill(&t, "mix", 1);
    fixture_fill(&t, "phi_w2", 0);
    fixture_fill(&t, "phi_b2", 100);                      /* its logistic is 1 */
    fixture_fill(&t, "b", 0);
    fixture_put_identity(&t, "u5", boxes);
    return t;
}

/* The length of the unit interval around `at` that lies between lo and hi. */
static inline double overlap(double at, double lo, double hi)
{
    return fmax(0, fmin(at + 0.5, hi) - fmax(at - 0.5, lo));
}

/* The mean over a box that reaches only token n and its eight neighbours. */
static inline double direct_near(const struct box *b, const real *plane, size_t H, size_t W, size_t n)
{
    double sum = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) {
            size_t row = n / W + (size_t)y, column = n % W + (size_t)x;             /* wraps below 0 */
            if (row < H && column < W)
                sum += (double)plane[row * W + column] * overlap(y, b->y0, b->y1) * overlap(x, b->x0, b->x1);
        }
    return sum / ((b->y1 - b->y0) * (b->x1 - b->x0));
}
