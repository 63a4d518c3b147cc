/* ghost.c -- the ghost head, which ELSA and self-attention share; see ghost.h */

#include "ghost.h"
#include <math.h>

struct ghost_problem ghost_problem(struct lookup *names, size_t offsets)
{
    struct ghost_problem params = {
        .channels = lookup_size(names, "C"), .heads = lookup_size(names, "h"), .offsets = offsets,
        .by_block = lookup_choice(names, "head-map") == 1,
        .lambda = lookup_number(names, "lambda"), .gamma = lookup_number(names, "gamma"),
        .mul = lookup_tensor(names, "ghost_mul"), .add = lookup_tensor(names, "ghost_add"),
    };
    if (!names->error.code && params.add && !params.mul && params.lambda != 0)
        names->error = bad_input("tensor ghost_add: found without ghost_mul, expected both or neither, "
                                   "or --lambda 0");
    return params;
}

status ghost_check(const struct ghost_problem *params)
{
    if (!params->mul) return status_ok();
    for (size_t i = 0; i < params->channels * params->offsets; i++) {
        double base = (double)params->mul[i];
        if (params->lambda != floor(params->lambda) && base < 0)
            return bad_input("tensor ghost_mul: found %g to the power %g, expected bases of at least 0 for a "
                             "fractional power", base, params->lambda);
        if (params->lambda < 0 && base == 0)
            return bad_input("tensor ghost_mul: found 0 to the power %g, expected other bases for a negative power",
                             params->lambda);
    }
    return status_ok();
}

size_t ghost_head(const struct ghost_problem *params, size_t channel)
{
    return params->by_block ? channel / (params->channels / params->heads) : channel % params->heads;
}

size_t ghost_channel(const struct ghost_problem *params, size_t head, size_t n)
{
    return params->by_block ? head * (params->channels / params->heads) + n : head + n * params->heads;
}

void ghost_prepare(struct ghost *ghost, struct arena *arena, enum lifetime time, const struct ghost_problem *params)
{
    size_t channels = params->add ? params->channels : 0;
    arena_reals(arena, time, &ghost->factor, "the ghost head's factors", channels, params->offsets);
    arena_reals(arena, time, &ghost->summand, "the ghost head's summands", channels, params->offsets);
}

void ghost_load(struct ghost *ghost, const struct ghost_problem *params)
{
    if (!params->add) return;
    for (size_t i = 0; i < params->channels * params->offsets; i++) {
        ghost->factor[i] = params->mul ? (real)pow(params->mul[i], params->lambda) : 1;
        ghost->summand[i] = (real)params->gamma * params->add[i];
    }
}
