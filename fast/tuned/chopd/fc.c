/* fc.c -- the fully connected layer as one linear map
 *
 * w [M][N][C][D] maps M C inputs to N D outputs.  Its weights are repacked once (packed_linear.h), so the layer of all
 * images is one product.  With few images memory limits it: each weight is read for two operations per image.
 *
 * Contract: reference/dfc.h. */

#include "../../../reference/dfc.h"
#include "../../../reference/runtime/batch.h"
#include "../forms.h"
#include "../packed_linear.h"

struct fc_fast {
    struct linear layer;
    real *row;                  /* [M][C]: the weights of one output, only during load */
};

static status prepare(struct plan *plan)
{
    const struct fc_problem *p = plan->params;
    struct fc_fast *f = plan->state;
    linear_prepare(&f->layer, &linear_packed, &plan->arena, p->M * p->C, p->N * p->D);
    arena_reals(&plan->arena, LOAD_SCRATCH, &f->row, "a row of the layer", p->M, p->C);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct fc_problem *p = plan->params;
    struct fc_fast *f = plan->state;
    for (size_t n = 0; n < p->N; n++)
        for (size_t d = 0; d < p->D; d++) {
            for (size_t m = 0; m < p->M; m++)
                for (size_t c = 0; c < p->C; c++) f->row[m * p->C + c] = p->w[((m * p->N + n) * p->C + c) * p->D + d];
            linear_load(&f->layer, n * p->D + d, 1, f->row, NULL);
        }
    return status_ok();
}

static void all_images(const struct team *t)
{
    const struct fc_problem *p = t->plan->params;
    const struct fc_fast *f = t->plan->state;
    team_linear(t, t->y, p->N * p->D, t->x, p->M * p->C, &f->layer, t->images);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct fc_problem *p = plan->params;
    const struct batch batch = {.images = p->B, .x_image = p->M * p->C, .y_image = p->N * p->D, .chunk = p->B};
    return batch_run(plan, y, x, &batch, all_images);
}

const struct form fc_fast = {
    .name = "fast", .state = sizeof(struct fc_fast), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = fc_multiply_adds,
};
