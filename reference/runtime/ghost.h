/* ghost.h -- the ghost head: separate attention weights for every channel
 *
 * ELSA (Zhou et al. 2021, Sec. 5, Eq. 8, Algorithm 1; App. C for self-attention).  After the softmax, the weights h of
 * the heads become weights of channels, which then multiply the values:
 *
 *     filter_c(n, i) = ghost_mul_cn^lambda h_c'(n, i) + gamma ghost_add_cn
 *
 *     c    channels of the value
 *     c'   the head of channel c: c mod h, or c div (C/h) with --head-map block
 *     n    offsets, n = j - i
 *
 * Both matrices are given, or neither.  With lambda 0 all powers are 1, and ghost_add may be given alone.  The operator
 * defines the offsets and applies the filters (elsa.h, msa.h). */

#pragma once
#include <float.h>
#include "lookup.h"
#include "arena.h"

BEGIN_C_DECLS

struct ghost_problem {
    size_t channels, heads, offsets;    /* C, h, and the columns of the matrices */
    bool by_block;              /* head of channel c: c div (C/h), else c mod h */
    double lambda, gamma;
    const real *mul, *add;      /* [C][offsets] or NULL */
};

/* Reads the options and tensors of the table rows below.  Sets names->error if ghost_add lacks ghost_mul and lambda is
 * not 0. */
struct ghost_problem ghost_problem(struct lookup *names, size_t offsets);

/* Bad input if a power is undefined: a fractional lambda needs bases of at least 0, a negative one bases other than 0.
 * 0 to the power 0 is 1. */
status ghost_check(const struct ghost_problem *params);

/* The head c' of a channel, and channel number n = 0 ... C/h - 1 of a head. */
size_t ghost_head(const struct ghost_problem *params, size_t channel);
size_t ghost_channel(const struct ghost_problem *params, size_t head, size_t n);

/* Matrices [C][offsets] of Eq. 8, NULL without a ghost head. */
struct ghost {
    real *factor;               /* ghost_mul^lambda, or 1 without ghost_mul */
    real *summand;              /* gamma ghost_add */
};

void ghost_prepare(struct ghost *ghost, struct arena *arena, enum lifetime time, const struct ghost_problem *params);
void ghost_load(struct ghost *ghost, const struct ghost_problem *params);

#define OPTIONS_GHOST \
    {.name = "head-map", .kind = OPTION_CHOICE, .default_value = "modulo", .choices = "modulo|block", \
     .meaning = "head of channel c: c mod h, or c div (C/h)"}, \
    {.name = "lambda", .kind = OPTION_REAL, .default_value = "1", .low = -REAL_MAX, .high = REAL_MAX, \
     .meaning = "power of ghost_mul, which may be absent if 0"}, \
    {.name = "gamma", .kind = OPTION_REAL, .default_value = "1", .low = -REAL_MAX, .high = REAL_MAX, \
     .meaning = "factor of ghost_add"}

/* SHAPE, WHEN, ASKED: shape, when and only_if of struct tensor_row. */
#define TENSORS_GHOST(SHAPE, WHEN, ASKED) \
    {.name = "ghost_add", .shape = SHAPE, .when = WHEN, .optional = true, .only_if = ASKED, .fan_in = "1", \
     .meaning = "ghost head: summands of the filters"}, \
    {.name = "ghost_mul", .shape = SHAPE, .when = WHEN, .optional = true, .only_if = ASKED, .needs = "ghost_add", \
     .fan_in = "1", .meaning = "ghost head: their factors; lambda 0 does without"}

END_C_DECLS
