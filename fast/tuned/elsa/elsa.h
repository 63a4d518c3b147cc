/* elsa.h -- what the files of ELSA's fast form share */

#ifndef TWICETOLD_FAST_ELSA_H
#define TWICETOLD_FAST_ELSA_H

#include "../../../reference/elsa.h"
#include "planes.h"

/* The values in groups of channels, for fast/tuned/elsa/apply.c, which has the layout. */
struct elsa_values {
    size_t groups;              /* of a head */
    size_t pad, columns;        /* zeros on each side of a row; those and its tokens */
    size_t beside;              /* neighbours of a row that are taken at once: K, or 1 */
    real *data;
    vec *bend;                /* the ghost head's matrices; NULL without */
};

struct elsa_fast {
    struct heads heads;         /* Eq. 4: all of them; the others: the projections alone */

    /* Tables of the parameters. */
    vec_mask *on_grid;        /* [K][vectors of a row]: columns with a neighbour so far away */
    real *maps;                 /* [2 h K^2][C]: rk, then rq; final: mix_w [h K^2][Q]; for powers of two */
    struct ghost ghost;
    real *w_o;                  /* [C][C], while it is loaded: columns head by head */

    /* One image, in strips of rows.  A strip has `plane` tokens, the last may have fewer. */
    size_t strip, strips;       /* rows of one; how many */
    size_t near;                /* strips on either side that tokens of one look at */
    size_t plane, halves;       /* strip W; 2 h K^2, in the final variant h K^2 */
    size_t apart;               /* planes from slot to slot: halves, and what a shifted vector reads behind them */
    real *logits;               /* [slots][apart][plane] */
    struct elsa_values values;
    struct planes products;     /* final: z */

    /* Of each thread, one strip. */
    size_t *slot;               /* [strips]: where the logits of each lie */
    real *qkv;                  /* [plane][2Q + C]: the values head by head */
    real *panels;               /* z, or in Eq. 6 query or key, repacked */
    real *convolved;            /* final: [Q][plane] */
    real *out;                  /* [plane][C], head by head */

    /* Of each thread, one chunk. */
    ptrdiff_t *there;           /* [K]: where rows of neighbours stand among the logits */
    vec *w;                   /* [K^2][ELSA_CHUNK]: the attention of one head */

    /* Eq. 4. */
    struct elsa_area area;
    real *rk, *rq;              /* [h][T][C] */
    real *filter;               /* of each thread, [K^2] */
};
HEADS_FIRST(struct elsa_fast);

/* rows [maps][C] from a table [C][maps]. */
static inline void elsa_permute(real *rows, const real *table, size_t maps, size_t C)
{
    for (size_t at = 0; at < maps; at++)
        for (size_t c = 0; c < C; c++) rows[at * C + c] = table[c * maps + at];
}

/* ---- chunks: fast/tuned/elsa/chunk.c --------------------------------------------- */

#define ELSA_CHUNK ((size_t)4)          /* vectors of tokens of a row at a time */

/* Rows or columns of a neighbourhood that some token has on the grid. */
struct elsa_reach { size_t first, end; };
static inline bool elsa_meets(const struct elsa_reach *r, size_t k) { return r->first <= k && k < r->end; }

/* Some tokens of a row, as one thread works on them. */
struct elsa_chunk {
    const struct elsa_problem *p;
    const struct elsa_fast *f;
    size_t row, x;              /* the first of them */
    size_t tokens, vectors;     /* the last vector may have fewer */
    struct elsa_reach down, across;
    size_t token;               /* where the first stands in plane 0 of its strip, from the first logit on */
    const ptrdiff_t *there;     /* [K]: its column in every row of its neighbourhood, likewise */
    vec *w;                   /* this thread's, as in struct elsa_fast */
    real *out;                  /* [tokens][C] */
};

/* Chunks of a row; chunk number `item` of an image. */
size_t elsa_chunks(const struct elsa_problem *p);
struct elsa_chunk elsa_chunk_at(const struct team *t, size_t item);

/* Where the logits of a strip lie, from the first logit on. */
size_t elsa_strip_at(const struct team *t, size_t strip);

/* Step number `at` of a neighbourhood, in rows or columns; and the widest step
 * along a row that still meets the grid. */
ptrdiff_t elsa_step(const struct elsa_problem *p, size_t at);
size_t elsa_widest(const struct elsa_problem *p);

/* The farthest row on the grid that a token looks at. */
size_t elsa_farthest(const struct elsa_problem *p);

/* ---- the filters applied: fast/tuned/elsa/apply.c --------------------------------- */

void elsa_values_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p);
void elsa_values_load(struct elsa_fast *f, const struct elsa_problem *p);

/* One row, from its first value on, `v_step` reals from token to token. */
void elsa_values_fill(const struct elsa_fast *f, const struct elsa_problem *p, size_t row,
                      const real *v, size_t v_step);

/* out of head a, by the attention in w. */
void elsa_apply(const struct elsa_chunk *here, size_t a);

/* ---- the final variant: fast/tuned/elsa/final.c ----------------------------------- */

void elsa_final_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p);

/* The logits of one strip, where all rows of the products are filled. */
void elsa_final_logits(const struct team *t, size_t strip);

/* ---- Eq. 4: fast/tuned/elsa/unified.c ----------------------------------------------- */

void elsa_unified_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p);
void elsa_unified_load(struct elsa_fast *f, const struct elsa_problem *p);

/* All heads of one token, which is the part. */
void elsa_unified(const struct head *head);

#endif
