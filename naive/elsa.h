/* elsa.h -- the cores of ELSA's naive form, one for each line of its equations
 *
 * One image; arrays are dense and row-major; outputs overlap no inputs.  Contract: reference/elsa.h. */

#pragma once
#include "../reference/elsa.h"

/* ---- Hadamard attention and the ghost head -------------------------------- */

/* unfolded [N][K^2][columns]: rows [N][columns] around every token. */
void elsa_naive_unfold(real *unfolded, const real *rows, const struct neighbours *around, size_t columns);

/* The logits [h][K^2][N] of Eq. 6 and 7, from hp and the unfolded kp; those of the final variant, from the unfolded z,
 * with g [N][Q] as scratch. */
void elsa_naive_logits(real *l, const real *hp, const real *unfolded, const struct elsa_problem *p);
void elsa_naive_final_logits(real *l, real *g, const real *unfolded, const struct elsa_problem *p);

/* attention [h][K^2][N]: logits become weights; row [K^2] is scratch. */
void elsa_naive_softmax(real *attention, real *row, const struct elsa_problem *p);

/* filters [C][K^2][N] from attention and the static matrices of Eq. 8, NULL without a ghost head. */
void elsa_naive_filters(real *filters, const real *attention, const real *factor, const real *summand,
                        const struct elsa_problem *p);

/* f [N][C] from the filters and the unfolded values. */
void elsa_naive_apply(real *f, const real *filters, const real *contexts, const struct elsa_problem *p);

/* ---- Eq. 4 ------------------------------------------------------------------ */

/* weights [N][N] of head a: zero outside the area of a token; filter [K^2] is scratch. */
void elsa_naive_weights(real *weights, real *filter, const real *q, const real *k, const struct elsa_area *area,
                        size_t a, const struct elsa_problem *p);

/* Writes the channels of head a in f [N][C], from its weights and v [N][C]. */
void elsa_naive_weigh(real *f, const real *weights, const real *v, size_t a, const struct elsa_problem *p);
