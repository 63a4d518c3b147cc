/* elsa.h -- the cores of ELSA's naive form, one for each line of its equations
 *
 * Contract: reference/elsa.h.  One image at a time; all arrays are dense and
 * row-major, and outputs overlap no inputs. */

#ifndef TWICETOLD_NAIVE_ELSA_H
#define TWICETOLD_NAIVE_ELSA_H

#include "../reference/elsa.h"

/* ---- Hadamard attention and the ghost head -------------------------------- */

/* unfolded [N][K^2][columns]: rows [N][columns] around every token. */
void elsa_naive_unfold(real *unfolded, const real *rows, const struct neighbours *around, size_t columns);

/* The logits [h][K^2][N] of Eq. 6 and 7, from hp and from kp unfolded; and those
 * of the final variant, from z unfolded: g [N][Q] is made on the way. */
void elsa_naive_logits(real *l, const real *hp, const real *unfolded, const struct elsa_problem *p);
void elsa_naive_final_logits(real *l, real *g, const real *unfolded, const struct elsa_problem *p);

/* attention [h][K^2][N], logits before and weights after; row [K^2] is room for one filter. */
void elsa_naive_softmax(real *attention, real *row, const struct elsa_problem *p);

/* filters [C][K^2][N] from attention and Eq. 8's static matrices, NULL without a ghost head. */
void elsa_naive_filters(real *filters, const real *attention, const real *factor, const real *summand,
                        const struct elsa_problem *p);

/* f [N][C] from the filters and from the values unfolded. */
void elsa_naive_apply(real *f, const real *filters, const real *contexts, const struct elsa_problem *p);

/* ---- the paradigm of Eq. 4 -------------------------------------------------- */

/* weights [N][N]: the filters of head a, laid out for all tokens against all; filter [K^2] is room for one. */
void elsa_naive_weights(real *weights, real *filter, const real *q, const real *k, const struct elsa_area *area,
                        size_t a, const struct elsa_problem *p);

/* The channels of head a of f [N][C], from its weights and v [N][C]. */
void elsa_naive_weigh(real *f, const real *weights, const real *v, size_t a, const struct elsa_problem *p);

#endif
