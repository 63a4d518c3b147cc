/* norm.c -- layer norm, or the batch norm of a trained network
 *
 *     layer   y_nc = (x_nc - mean_c x_n) / sqrt(var_c x_n + epsilon) g_c + b_c
 *     batch   y_nc = (x_nc - mean_c) / sqrt(var_c + epsilon) g_c + b_c
 *
 * The variance of a token has the divisor C.  load folds a batch norm into one factor and one summand for each channel.
 *
 * Cost: B N C multiply-adds, 3 times that (square, factor, gain) for a layer norm. */

#include "layer.h"
#include "../../../fast/tuned/activations.h"

struct norm {
    size_t B, N, C;
    bool batch;
    double epsilon;
    const real *g, *b, *mean, *var;
};

struct norm_form { real *factor, *summand; };

static const struct option options[] = {
    {.name = "kind", .kind = OPTION_CHOICE, .default_value = "layer", .choices = "layer|batch",
     .meaning = "over the channels of a token, or with a kept mean and variance of each channel"},
    {.name = "epsilon", .kind = OPTION_REAL, .default_value = "1e-5", .low = 0, .high = 1,
     .meaning = "added to the variance"},
    {0}
};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "g", .shape = "C", .fan_in = "1", .adjust = layer_adjust_gain, .meaning = "gain"},
    {.name = "b", .shape = "C", .fan_in = "C", .meaning = "bias"},
    {.name = "mean", .shape = "C", .when = "kind=batch", .fan_in = "C", .running_statistic = true,
     .meaning = "kept mean of each channel"},
    {.name = "var", .shape = "C", .when = "kind=batch", .fan_in = "1", .adjust = layer_adjust_variance,
     .running_statistic = true, .meaning = "kept variance of each channel"},
    {0}
};

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct norm *)params = (struct norm){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .batch = lookup_choice(&names, "kind") == 1, .epsilon = lookup_number(&names, "epsilon"),
        .g = lookup_tensor(&names, "g"), .b = lookup_tensor(&names, "b"),
        .mean = lookup_tensor(&names, "mean"), .var = lookup_tensor(&names, "var"),
    };
    return names.error;
}

static void run_chunk(const struct team *t)
{
    const struct norm *p = t->plan->params;
    const struct norm_form *f = t->plan->state;
    size_t C = p->C, items = t->images * p->N;
    for (size_t n, end; team_next_range(t, items, layer_tile(C), &n, &end);)
        for (; n < end; n++) {
            const real *x = t->x + n * C;
            real *y = t->y + n * C;
            if (p->batch) {
                for (size_t c = 0; c < C; c++) y[c] = x[c] * f->factor[c] + f->summand[c];
            } else {
                memcpy(y, x, C * sizeof *y);
                norm_row(y, p->g, p->b, C, p->epsilon);
            }
        }
}

static status prepare(struct plan *plan)
{
    const struct norm *p = plan->params;
    struct norm_form *f = plan->state;
    arena_reals(&plan->arena, PERSISTENT, &f->factor, "factors of the channels", p->batch ? p->C : 0);
    arena_reals(&plan->arena, PERSISTENT, &f->summand, "summands of the channels", p->batch ? p->C : 0);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct norm *p = plan->params;
    struct norm_form *f = plan->state;
    if (p->batch) layer_fold(f->factor, f->summand, p->g, p->b, p->mean, p->var, p->C, p->epsilon);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct norm *p = params;
    return (p->batch ? 1 : 3) * (double)p->B * (double)p->N * (double)p->C;
}

const struct form layer_norm_form = {
    .name = "layer", .state = sizeof(struct norm_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_norm_of_tokens = {
    .name = "norm",
    .summary = "layer norm, or batch norm with a kept mean and variance",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .resolved = sizeof(struct norm),
    .resolve = resolve,
};
