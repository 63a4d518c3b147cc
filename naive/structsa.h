/* structsa.h -- StructSA's equations, one function each
 *
 * One head of one image; arrays are dense, row-major and named as in the paper.  E is p->columns.  Contract:
 * reference/structsa.h.
 *
 *     q, k, v    [N][c]           query, key, value
 *     hk, hv     [D][|M|][E], [D][M'][E]      the head's detectors and aggregators
 *     map        [N][N][E]        q_i K^T, in Eq. 16 K diag(q_i); map_i is query i's
 *     windows    [J][|M|][E]      map_i around every centre
 *     contexts   [J][M'][c]       v around every centre: V_j
 *     a          [N][J][D]        the attention; a_i is query i's
 *     kernels    [J][M'][E]       kappa_ij of one query
 *     y          [N][c] */

#pragma once
#include "../reference/structsa.h"

/* Eq. 2 and 11: the map. */
void structsa_naive_correlate(real *map, const real *q, const real *k, const struct structsa_problem *p);

/* Rows [N][columns] around every centre, zeros off the grid: the windows of map_i, the contexts of v. */
void structsa_naive_unfold(real *windows, const real *rows, size_t columns, const struct neighbours *n);

/* Eq. 3 and 13: the attention of one query. */
void structsa_naive_attend(real *a_i, const real *windows, const real *hk, const struct structsa_problem *p);

/* Eq. 4, 5 and 16: the dynamic kernels of one query, and its output. */
void structsa_naive_kernels(real *kernels, const real *a_i, const real *hv, const struct structsa_problem *p);
void structsa_naive_aggregate(real *y_i, const real *kernels, const real *contexts, const struct structsa_problem *p);

/* Eq. 21: merged [N][E], the weight c_ij of each value j in the output of query i. */
void structsa_naive_merge(real *merged, const real *kernels, const struct neighbours *values,
                          const struct structsa_problem *p);
