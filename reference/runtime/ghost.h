/* ghost.h -- the ghost head: attention weights bent for every channel
 *
 * ELSA (Zhou et al. 2021, Sec. 5, Eq. 8, Algorithm 1; App. C for self-attention).
 * After the softmax, and before they meet the values, the weights h of the heads
 * become weights of channels,
 *
 *     filter_c(n, i) = ghost_mul_cn^lambda h_c'(n, i) + gamma ghost_add_cn
 *
 *     c   channels of the value      c'  the head of channel c: c mod h, or with
 *     n   offsets, n = j - i             --head-map block c div (C/h)
 *
 * Both matrices are there or neither is; where lambda is 0, and every power is 1,
 * ghost_add may stand alone.  What offsets there are, and what is done with the
 * filters, is the operator's (elsa.h, msa.h). */

#ifndef TWICETOLD_GHOST_H
#define TWICETOLD_GHOST_H

#include <float.h>
#include "lookup.h"
#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ghost_problem {
    size_t channels, heads, offsets;    /* C, h, and rows of the matrices are so long */
    bool by_block;              /* head of channel c: c div (C/h), else c mod h */
    double lambda, gamma;
    const real *mul, *add;      /* [C][offsets] or NULL; the second alone if lambda = 0 */
};

/* What the options and tensors of the table rows below say.  Refuses a ghost head
 * that is not whole. */
struct ghost_problem ghost_problem(struct lookup *names, size_t offsets);

/* Refuses powers without a value: a fractional lambda needs bases of at least 0, a
 * negative one bases other than 0.  0 to the power 0 is 1. */
status ghost_check(const struct ghost_problem *params);

/* c', the head of a channel; and channel number n = 0 ... C/h - 1 of a head. */
size_t ghost_head(const struct ghost_problem *params, size_t channel);
size_t ghost_channel(const struct ghost_problem *params, size_t head, size_t n);

/* Eq. 8's static matrices [C][offsets], NULL without a ghost head. */
struct ghost {
    real *factor;               /* ghost_mul^lambda; 1 where only ghost_add is there */
    real *summand;              /* gamma ghost_add */
};

void ghost_prepare(struct ghost *ghost, struct arena *arena, enum lifetime time, const struct ghost_problem *params);
void ghost_load(struct ghost *ghost, const struct ghost_problem *params);

/* ---- table rows --------------------------------------------------------------- */

#define OPTIONS_GHOST \
    {.name = "head-map", .kind = OPTION_CHOICE, .default_value = "modulo", .choices = "modulo|block", \
     .meaning = "head of channel c: c mod h, or c div (C/h)"}, \
    {.name = "lambda", .kind = OPTION_REAL, .default_value = "1", .low = -REAL_MAX, .high = REAL_MAX, \
     .meaning = "power of ghost_mul, which may be absent if 0"}, \
    {.name = "gamma", .kind = OPTION_REAL, .default_value = "1", .low = -REAL_MAX, .high = REAL_MAX, \
     .meaning = "factor of ghost_add"}

/* Their shape, the options they are there with, and those without which none is made
 * up (tensor_row.asked). */
#define TENSORS_GHOST(SHAPE, WHEN, ASKED) \
    {.name = "ghost_add", .shape = SHAPE, .when = WHEN, .optional = true, .only_if = ASKED, .fan_in = "1", \
     .meaning = "ghost head: summands of the filters"}, \
    {.name = "ghost_mul", .shape = SHAPE, .when = WHEN, .optional = true, .only_if = ASKED, .needs = "ghost_add", \
     .fan_in = "1", .meaning = "ghost head: their factors; lambda 0 does without"}

#ifdef __cplusplus
}
#endif

#endif
