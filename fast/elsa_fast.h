/* elsa_fast.h -- what the files of ELSA's fast form share */

#ifndef TWICETOLD_ELSA_FAST_H
#define TWICETOLD_ELSA_FAST_H

#include <omp.h>
#include "../reference/elsa.h"
#include "../reference/heads.h"
#include "exponential.h"
#include "planes.h"

#define ELSA_CHUNK ((size_t)4)          /* vectors of tokens of a row at a time */

struct elsa_fast {
    struct heads heads;
    struct elsa_sizes sizes;
    size_t dilation, rows, columns, vectors;    /* vectors of a row */

    /* Tables of the parameters. */
    lanes_mask *on_grid;        /* [K][vectors]: columns with a neighbour so far away */
    real *maps;                 /* [2 h K^2][C] */
    const real *bias;           /* [h K^2] */
    real *factor, *summand;     /* [C][K^2], or NULL without a ghost head */

    /* One image. */
    real *own, *other;          /* [N][Q]: z; in Eq. 6 query and key */
    size_t halves;              /* of the logits: 2, and 1 in the final variant */
    real *logits, *logits_block;/* [halves][h K^2][N] */
    struct planes values;

    /* The final variant. */
    struct planes products;     /* z */
    real *convolved;            /* [Q][N] */

    struct elsa_area area;      /* Eq. 4 */
};

/* A neighbour that some token of a row has on the grid. */
struct elsa_reached {
    size_t n;                   /* its number, below K^2 */
    ptrdiff_t offset, token;    /* where it stands from here: in planes, and among tokens */
};

/* Those of a row, in the order of n; returns how many. */
size_t elsa_reach(struct elsa_reached *reached, const struct elsa_fast *f, const struct planes *p, size_t row);

/* The calling thread's workspace. */
static inline lanes *elsa_workspace(const struct elsa_fast *f)
{
    return (lanes *)(f->heads.workspace + (size_t)omp_get_thread_num() * f->heads.workspace_reals);
}

/* The final variant: fast/elsa_final.c. */
status elsa_final_create(struct elsa_fast *f, const struct problem *p, size_t pad);
void elsa_final_release(struct elsa_fast *f);
void elsa_final_logits(const struct elsa_fast *f, const struct plan *plan);

/* Eq. 4: fast/elsa_unified.c. */
status elsa_unified_prepare(struct elsa_fast *f, struct plan *plan);
status elsa_unified_run(const struct elsa_fast *f, struct plan *plan, real *y, const real *x);

#endif
