/* head.c -- the end of a network: the mean over the tokens, and a linear map to classes
 *
 *     y = W (1/N sum_n x_n) + b
 *
 * Cost: B (N C + C K) multiply-adds; B C reals for the means.  Threads share the channels and the classes, because
 * there may be only one image. */

#include "layer.h"

struct classes_head {
    size_t B, N, C, K;
    const real *w, *b;
};

struct head_form { real *means; };      /* [B][C] */

static const struct option options[] = {
    {.name = "classes", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = 1e9, .letter = "K",
     .meaning = "outputs (those of the weights)"},
    {0}
};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "w", .shape = "K C", .fan_in = "C", .meaning = "a row for each class"},
    {.name = "b", .shape = "K", .optional = true, .fan_in = "C", .meaning = "its bias"},
    {0}
};

static const struct letter letters[] = {{"K", "classes"}, {0}};

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    *(struct classes_head *)params = (struct classes_head){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .K = lookup_size(&names, "K"), .w = lookup_tensor(&names, "w"), .b = lookup_tensor(&names, "b"),
    };
    return names.error;
}

static void run_chunk(const struct team *t)
{
    const struct classes_head *p = t->plan->params;
    const struct head_form *f = t->plan->state;
    size_t C = p->C;

    /* Step 1: the means; an item is a channel of all images. */
    for (size_t from, end; team_next_range(t, C, C, &from, &end);)
        for (size_t b = 0; b < t->images; b++) {
            real *mean = f->means + b * C;
            for (size_t c = from; c < end; c++) mean[c] = 0;
            for (size_t n = 0; n < p->N; n++)
                for (size_t c = from; c < end; c++) mean[c] += t->x[(b * p->N + n) * C + c];
            for (size_t c = from; c < end; c++) mean[c] /= (real)p->N;
        }
    team_barrier(t);

    /* Step 2: the linear map; an item is a class. */
    for (size_t from, end; team_next_range(t, p->K, p->K, &from, &end);)
        linear_map(t->y + from, p->K, f->means, C, p->w + from * C, p->b ? p->b + from : NULL, t->images, C,
                   end - from);
}

static status prepare(struct plan *plan)
{
    const struct classes_head *p = plan->params;
    struct head_form *f = plan->state;
    arena_reals(&plan->arena, PER_RUN, &f->means, "the means over the tokens", p->B, p->C);
    return arena_status(&plan->arena);
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct classes_head *p = params;
    return (double)p->B * (double)p->C * ((double)p->N + (double)p->K);
}

const struct form layer_head_form = {
    .name = "layer", .state = sizeof(struct head_form), .prepare = prepare, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_head = {
    .name = "head",
    .summary = "the mean over the tokens, and a linear map to classes",
    .letters = letters,
    .output = "B K",
    .options = options,
    .tensors = tensors,
    .resolved = sizeof(struct classes_head),
    .resolve = resolve,
};
