/* fc.c -- the fully connected layer as one linear map
 *
 * Tokens and channels in are one index of M C values, tokens and channels out
 * another of N D.  In w [M][N][C][D] they are interleaved; as a map of M C inputs
 * and N D outputs, repacked once (packed_linear.h), the layer of all images is
 * one product.  It is bound by memory where there are few images: every weight
 * is read for two operations each.  A BLAS, which repacks W in every call, took
 * twice as long for one image of 8 x 8 tokens of 96 channels.
 *
 * Contract: reference/dfc.h. */

#include "../../../reference/dfc.h"
#include "../../../reference/runtime/batch.h"
#include "../../forms.h"
#include "../packed_linear.h"

struct fc_fast {
    struct linear layer;
    real *row;                  /* [M][C]: what one output takes of each input */
};

static status prepare(struct plan *plan)
{
    const struct fc_problem *p = plan->of;
    struct fc_fast *f = plan->state;
    linear_prepare(&f->layer, &linear_packed, &plan->room, p->M * p->C, p->N * p->D);
    room_reals(&plan->room, WHILE_LOADING, &f->row, "a row of the layer", p->M, p->C, 1, 1);
    return room_status(&plan->room);
}

static status load(struct plan *plan)
{
    const struct fc_problem *p = plan->of;
    struct fc_fast *f = plan->state;
    for (size_t n = 0; n < p->N; n++)
        for (size_t d = 0; d < p->D; d++) {
            for (size_t m = 0; m < p->M; m++)
                for (size_t c = 0; c < p->C; c++) f->row[m * p->C + c] = p->w[((m * p->N + n) * p->C + c) * p->D + d];
            linear_load(&f->layer, n * p->D + d, 1, f->row, NULL);
        }
    return status_ok();
}

static void all_images(const struct flight *t)
{
    const struct fc_problem *p = t->plan->of;
    const struct fc_fast *f = t->plan->state;
    flight_linear(t, t->y, p->N * p->D, t->x, p->M * p->C, &f->layer, t->images);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->of;
    const struct batch batch = {.images = p->B, .x_image = p->M * p->C, .y_image = p->N * p->D, .in_flight = p->B};
    return flights_run(plan, y, x, &batch, all_images);
}

const struct form fc_fast = {"fast", sizeof(struct fc_fast), prepare, load, run, NULL, fc_multiply_adds};
