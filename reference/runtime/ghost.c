/* ghost.c -- the ghost head, as ELSA and self-attention share it; see ghost.h */

#include "ghost.h"
#include <math.h>

struct ghost_problem ghost_problem(struct lookup *names, size_t offsets)
{
    struct ghost_problem of = {
        .channels = lookup_size(names, "C"), .heads = lookup_size(names, "h"), .offsets = offsets,
        .by_block = lookup_choice(names, "head-map") == 1,
        .lambda = lookup_number(names, "lambda"), .gamma = lookup_number(names, "gamma"),
        .mul = lookup_tensor(names, "ghost_mul"), .add = lookup_tensor(names, "ghost_add"),
    };
    if (!names->error.code && of.add && !of.mul && of.lambda != 0)
        names->error = bad_input("tensor ghost_add: found without ghost_mul, expected both or neither, "
                                   "or --lambda 0");
    return of;
}

status ghost_check(const struct ghost_problem *of)
{
    if (!of->mul) return status_ok();
    for (size_t i = 0; i < of->channels * of->offsets; i++) {
        double base = (double)of->mul[i];
        if (of->lambda != floor(of->lambda) && base < 0)
            return bad_input("tensor ghost_mul: found %g to the power %g, expected bases of at least 0 for a "
                             "fractional power", base, of->lambda);
        if (of->lambda < 0 && base == 0)
            return bad_input("tensor ghost_mul: found 0 to the power %g, expected other bases for a negative power",
                             of->lambda);
    }
    return status_ok();
}

size_t ghost_head(const struct ghost_problem *of, size_t channel)
{
    return of->by_block ? channel / (of->channels / of->heads) : channel % of->heads;
}

size_t ghost_channel(const struct ghost_problem *of, size_t head, size_t n)
{
    return of->by_block ? head * (of->channels / of->heads) + n : head + n * of->heads;
}

void ghost_prepare(struct ghost *ghost, struct arena *arena, enum lifetime time, const struct ghost_problem *of)
{
    size_t channels = of->add ? of->channels : 0;
    arena_reals(arena, time, &ghost->factor, "the ghost head's factors", channels, of->offsets, 1, 1);
    arena_reals(arena, time, &ghost->summand, "the ghost head's summands", channels, of->offsets, 1, 1);
}

void ghost_load(struct ghost *ghost, const struct ghost_problem *of)
{
    if (!of->add) return;
    for (size_t i = 0; i < of->channels * of->offsets; i++) {
        ghost->factor[i] = of->mul ? (real)pow(of->mul[i], of->lambda) : 1;
        ghost->summand[i] = (real)of->gamma * of->add[i];
    }
}
