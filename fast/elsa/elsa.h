/* elsa.h -- what the files of ELSA's fast form share */

#ifndef TWICETOLD_FAST_ELSA_H
#define TWICETOLD_FAST_ELSA_H

#include "../../reference/elsa.h"
#include "planes.h"

/* The values in groups of channels, for fast/elsa/apply.c, which has the layout. */
struct elsa_values {
    size_t vectors, groups;     /* of a group; of a head */
    size_t pad, columns;        /* zeros on each side of a row; those and its tokens */
    real *data;
    lanes *bend;                /* the ghost head's matrices; NULL without */
};

struct elsa_fast {
    struct heads heads;         /* Eq. 4: all of them; the others: the projections alone */

    /* Tables of the parameters. */
    lanes_mask *on_grid;        /* [K][vectors of a row]: columns with a neighbour so far away */
    real *maps;                 /* [2 h K^2][C]: rk, then rq */
    struct ghost ghost;
    real *w_o;                  /* [C][C], while it is loaded: columns head by head */

    /* One image, in strips of rows.  A strip has `plane` tokens, the last may have fewer. */
    size_t strip, strips;       /* rows of one; how many */
    size_t plane, halves;       /* strip W; 2 h K^2, in the final variant h K^2 */
    real *logits;               /* [strips][halves][plane] */
    struct elsa_values values;
    struct planes products;     /* final: z */

    /* Of each thread, one strip. */
    real *qkv;                  /* [plane][2Q + C]: the values head by head */
    real *own, *other;          /* [plane][Q]: z; in Eq. 6 query and key */
    real *convolved;            /* final: [Q][plane] */
    real *out;                  /* [plane][C], head by head */

    /* Of each thread, one chunk. */
    struct elsa_reached *reached;       /* [K^2] */
    lanes *w;                   /* [K^2][ELSA_CHUNK]: the attention of one head */

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
    ptrdiff_t dy, dx;           /* where it stands from here */
    ptrdiff_t token;            /* ... and among the logits */
};

/* Some tokens of a row, as one thread works on them. */
struct elsa_chunk {
    const struct elsa_problem *p;
    const struct elsa_fast *f;
    size_t row, x;              /* the first of them */
    size_t tokens, vectors;     /* the last vector may have fewer */
    const struct elsa_reached *reached; /* in the order of n */
    size_t count;
    size_t token;               /* where the first stands in plane 0 of its strip, from the first logit on */
    lanes *w;                   /* this thread's, as in struct elsa_fast */
    real *out;                  /* [tokens][C] */
};

/* Chunks of a row; chunk number `item` of an image. */
size_t elsa_chunks(const struct elsa_problem *p);
struct elsa_chunk elsa_chunk_at(const struct flight *t, size_t item);

/* Where token 0 of a row stands in plane 0 of its strip, from the first logit on. */
static inline size_t elsa_row_at(const struct elsa_fast *f, size_t row, size_t W)
{
    return row / f->strip * f->halves * f->plane + row % f->strip * W;
}

/* Step number `at` of a neighbourhood, in rows or columns; and the widest step
 * along a row that still meets the grid. */
ptrdiff_t elsa_step(const struct elsa_problem *p, size_t at);
size_t elsa_widest(const struct elsa_problem *p);

/* The farthest row on the grid that a token looks at. */
size_t elsa_farthest(const struct elsa_problem *p);

/* ---- the filters applied: fast/elsa/apply.c --------------------------------- */

void elsa_values_prepare(struct elsa_fast *f, struct room *room, const struct elsa_problem *p);
void elsa_values_load(struct elsa_fast *f, const struct elsa_problem *p);

/* One row, from its first value on, `v_step` reals from token to token. */
void elsa_values_fill(const struct elsa_fast *f, const struct elsa_problem *p, size_t row,
                      const real *v, size_t v_step);

/* out of head a, by the attention in w. */
void elsa_apply(const struct elsa_chunk *here, size_t a);

/* ---- the final variant: fast/elsa/final.c ----------------------------------- */

void elsa_final_prepare(struct elsa_fast *f, struct room *room, const struct elsa_problem *p);

/* The logits of one strip, where all rows of the products are filled. */
void elsa_final_logits(const struct flight *t, size_t strip);

/* ---- Eq. 4: fast/elsa/unified.c ----------------------------------------------- */

void elsa_unified_prepare(struct elsa_fast *f, struct room *room, const struct elsa_problem *p);
void elsa_unified_load(struct elsa_fast *f, const struct elsa_problem *p);

/* All heads of one token, which is the part. */
void elsa_unified(const struct head *one);

#endif
