/* elsa.h -- what the files of ELSA's fast form share */

#ifndef TWICETOLD_FAST_ELSA_H
#define TWICETOLD_FAST_ELSA_H

#include "../../reference/elsa.h"
#include "planes.h"

struct elsa_fast {
    struct heads heads;

    /* Tables of the parameters. */
    lanes_mask *on_grid;        /* [K][vectors of a row]: columns with a neighbour so far away */
    real *maps;                 /* [2 h K^2][C]: rk, then rq */
    struct ghost ghost;

    /* One image. */
    real *own, *other;          /* [N][Q]: z; in Eq. 6 query and key */
    real *logits;               /* [2 h K^2][N], in the final variant [h K^2][N] */
    struct planes values;
    struct planes products;     /* final: z */
    real *convolved;            /* final: [Q][N], cut into one block for each thread */

    /* Of each thread. */
    struct elsa_reached *reached;       /* [K^2] */
    lanes *w;                   /* [K^2][ELSA_CHUNK]: the attention of one head */
    lanes *out;                 /* [C][ELSA_CHUNK] */

    /* Eq. 4. */
    struct elsa_area area;
    real *rk, *rq;              /* [h][T][C] */
    real *filter;               /* of each thread, [K^2] */
};

/* rows [maps][C] from a table [C][maps]. */
static inline void elsa_permute(real *rows, const real *table, size_t maps, size_t C)
{
    for (size_t at = 0; at < maps; at++)
        for (size_t c = 0; c < C; c++) rows[at * C + c] = table[c * maps + at];
}

/* ---- chunks: fast/elsa/chunk.c --------------------------------------------- */

#define ELSA_CHUNK ((size_t)4)          /* vectors of tokens of a row at a time */

/* A neighbour that some token of a row has on the grid. */
struct elsa_reached {
    size_t n;                   /* its number, below K^2 */
    ptrdiff_t offset, token;    /* where it stands from here: in planes, and among tokens */
};

/* Some tokens of a row, as one thread works on them. */
struct elsa_chunk {
    const struct elsa_problem *p;
    const struct elsa_fast *f;
    size_t row, x;              /* the first of them */
    size_t tokens, vectors;     /* the last vector may have fewer */
    const struct elsa_reached *reached; /* in the order of n */
    size_t count;
    lanes *w, *out;             /* this thread's, as in struct elsa_fast */
};

/* Chunks of a row; chunk number `item` of an image. */
size_t elsa_chunks(const struct elsa_problem *p);
struct elsa_chunk elsa_chunk_at(const struct flight *t, size_t item);

/* Step number `at` of a neighbourhood, in rows or columns; and the widest step
 * along a row that still meets the grid. */
ptrdiff_t elsa_step(const struct elsa_problem *p, size_t at);
size_t elsa_widest(const struct elsa_problem *p);

/* ---- the final variant: fast/elsa/final.c ----------------------------------- */

void elsa_final_prepare(struct elsa_fast *f, struct room *room, const struct elsa_problem *p);

/* The logits of rows from ... to - 1, where all rows of the products are filled. */
void elsa_final_logits(const struct flight *t, size_t from, size_t to);

/* ---- Eq. 4: fast/elsa/unified.c ----------------------------------------------- */

void elsa_unified_prepare(struct elsa_fast *f, struct room *room, const struct elsa_problem *p);
void elsa_unified_load(struct elsa_fast *f, const struct elsa_problem *p);

/* All heads of one token, which is the part. */
void elsa_unified(const struct head *one);

#endif
