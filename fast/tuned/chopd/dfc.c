/* dfc.c -- a fully connected layer for each image, in the order of its weights
 *
 * Each weight is read once, so memory limits it, and repacking would cost more than the product.  A task is a strip of
 * channels of one output token; its sums stay in the first cache.
 *
 * Contract: reference/dfc.h. */

#include "../../../reference/dfc.h"
#include "../../../reference/runtime/batch.h"
#include "../forms.h"
#include "../gelu.h"
#include <string.h>

#define STRIP ((size_t)256)     /* channels */

static void one_image(const struct team *t)
{
    const struct fc_problem *p = t->plan->params;
    size_t M = p->M, N = p->N, C = p->C, D = p->D, strips = (D + STRIP - 1) / STRIP;
    const real *w = p->w + t->first * M * N * C * D;

    for (size_t task; team_next(t, N * strips, &task);) {
        size_t n = task / strips, first = task % strips * STRIP, width = D - first < STRIP ? D - first : STRIP;
        real sum[STRIP] = {0};
        for (size_t m = 0; m < M; m++)
            for (size_t c = 0; c < C; c++) {
                const real x_mc = t->x[m * C + c], *w_mnc = w + ((m * N + n) * C + c) * D + first;
                for (size_t d = 0; d < width; d++) sum[d] += x_mc * w_mnc[d];
            }
        for (size_t d = 0; p->b && d < width; d++) sum[d] += p->b[n * D + first + d];
        if (p->gelu) gelu_row(sum, width);
        memcpy(t->y + n * D + first, sum, width * sizeof *sum);
    }
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->M * p->C, .y_image = p->N * p->D, .per_thread = true};
    return batch_run(plan, y, x, &batch, one_image);
}

const struct form dfc_fast = {.name = "fast", .run = run, .multiply_adds = fc_multiply_adds};
