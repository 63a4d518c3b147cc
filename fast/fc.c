/* fc.c -- fully connected layers in plain C: fc fetches each weight once for all images; dfc has a layer for each
 *
 * The naive form computes one output after another.  w is [M][N][C][D], so consecutive weights of an output are D
 * numbers apart, and each image reads all of w again.  Here tokens in and out are the outer loops, and each pair is one
 * small product for all images:
 *
 *     y_in = sum_m x_im W_mn          W_mn [C][D] is contiguous
 *
 *     i  images     m, n  tokens in, out     c, d  channels in, out
 *
 * Contract: reference/dfc.h. */

#include "forms.h"
#include "../reference/dfc.h"
#include "../reference/runtime/steps.h"

/* Applies one layer to B images. */
static void layer(real *y, const real *x, const real *w, size_t B, const struct fc_problem *p)
{
    size_t M = p->M, N = p->N, C = p->C, D = p->D;

    for (size_t ind = 0; ind < B * N * D; ind++) y[ind] = 0;
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++)
            for (size_t i = 0; i < B; i++) {
                const real *x_im = x + (i * M + m) * C, *W_mn = w + (m * N + n) * C * D;
                real *y_in = y + (i * N + n) * D;
                for (size_t c = 0; c < C; c++)
                    for (size_t d = 0; d < D; d++) y_in[d] += x_im[c] * W_mn[c * D + d];
            }
}

static status fc_run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->params;
    layer(y, x, p->w, p->B, p);
    return status_ok();
}

static status dfc_run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->params;
    size_t inputs = p->M * p->C, outputs = p->N * p->D;
    for (size_t i = 0; i < p->B; i++, y += outputs) {
        layer(y, x + i * inputs, p->w + i * inputs * outputs, 1, p);
        for (size_t nd = 0; nd < outputs; nd++) {
            real sum = p->b ? y[nd] + p->b[nd] : y[nd];
            y[nd] = p->gelu ? gelu(sum) : sum;
        }
    }
    return status_ok();
}

const struct form fc_plain = {.name = "plain", .run = fc_run, .multiply_adds = fc_multiply_adds};
const struct form dfc_plain = {.name = "plain", .run = dfc_run, .multiply_adds = fc_multiply_adds};
