/* elsa.h -- declarations shared by the files of ELSA's fast form */

#pragma once
#include "../../../reference/elsa.h"
#include "planes.h"

/* The values in groups of channels; see apply.c for the layout. */
struct elsa_values {
    size_t groups;              /* of a head */
    size_t pad, columns;        /* zeros on each side of a row; tokens and zeros of a row */
    size_t taps;                /* neighbours of a row that share loaded values: K, or 1 */
    real *data;
    vec *matrices;              /* of the ghost head, or NULL */
};

struct elsa_fast {
    struct heads heads;         /* used fully by Eq. 4; the other equations use only the projections */

    /* Tables of the parameters. */
    vec_mask *on_grid;          /* [K][vectors of a row]: columns whose neighbour at this step is on the grid */
    real *maps;                 /* [2 h K^2][C]: rk, then rq; final: mix_w [h K^2][Q]; times log2(e) */
    struct ghost ghost;
    real *w_o;                  /* [C][C], only during load: columns head by head */

    /* One image, in strips of rows.  A strip has `plane` tokens, the last may have fewer. */
    size_t strip, strips;       /* rows of a strip; number of strips */
    size_t near;                /* strips on either side that contain neighbours */
    size_t plane, halves;       /* strip * W; planes of a slot: 2 h K^2, in the final variant h K^2 */
    size_t apart;               /* planes from slot to slot: `halves`, and spare ones that shifted vectors read */
    real *logits;               /* [slots][apart][plane] */
    struct elsa_values values;
    struct planes products;     /* final: z */

    /* Per thread: one strip. */
    size_t *slot;               /* [strips]: the slot of each strip */
    real *qkv;                  /* [plane][2Q + C]: the values head by head */
    real *panels;               /* z, or in Eq. 6 query or key, repacked */
    real *convolved;            /* final: [Q][plane] */
    real *out;                  /* [plane][C], head by head */

    /* Per thread: one chunk. */
    ptrdiff_t *neighbour;       /* [K]: index of each row of neighbours in the logits */
    vec *w;                     /* [K^2][ELSA_CHUNK]: the attention of one head */

    /* Eq. 4. */
    struct elsa_area area;
    real *rk, *rq;              /* [h][T][C] */
    real *filter;               /* per thread, [K^2] */
};
HEADS_FIRST(struct elsa_fast);

/* Transposes a table [C][maps] to rows [maps][C]. */
static inline void elsa_permute(real *rows, const real *table, size_t maps, size_t C)
{
    for (size_t at = 0; at < maps; at++)
        for (size_t c = 0; c < C; c++) rows[at * C + c] = table[c * maps + at];
}

/* ---- chunks: fast/tuned/elsa/chunk.c --------------------------------------------- */

#define ELSA_CHUNK ((size_t)4)          /* vectors of tokens in a chunk */

/* The rows or columns of a neighbourhood that are on the grid for at least one token. */
struct elsa_reach { size_t first, end; };
static inline bool elsa_meets(const struct elsa_reach *r, size_t k) { return r->first <= k && k < r->end; }

/* A chunk: up to ELSA_CHUNK vectors of tokens of one row. */
struct elsa_chunk {
    const struct elsa_problem *p;
    const struct elsa_fast *f;
    size_t row, x;              /* the first token */
    size_t tokens, vectors;     /* the last vector may be partial */
    struct elsa_reach down, across;
    size_t token;               /* index in f->logits of the first token, in plane 0 of its strip */
    const ptrdiff_t *neighbour; /* [K]: index in f->logits of column x, in each row of the neighbourhood */
    vec *w;                     /* this thread's f->w */
    real *out;                  /* [tokens][C] */
};

/* The number of chunks of a row; chunk number `item` of an image. */
size_t elsa_chunks(const struct elsa_problem *p);
struct elsa_chunk elsa_chunk_at(const struct team *t, size_t item);

/* The index in f->logits of the logits of a strip. */
size_t elsa_strip_at(const struct team *t, size_t strip);

/* Step number `at` of a neighbourhood, in rows or columns.  The largest step on the grid along a row (widest), and down
 * a column (farthest). */
ptrdiff_t elsa_step(const struct elsa_problem *p, size_t at);
size_t elsa_widest(const struct elsa_problem *p);
size_t elsa_farthest(const struct elsa_problem *p);

/* ---- the filters: fast/tuned/elsa/apply.c ----------------------------------------- */

void elsa_values_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p);
void elsa_values_load(struct elsa_fast *f, const struct elsa_problem *p);

/* Copies one row of values; its tokens are `v_step` reals apart. */
void elsa_values_fill(const struct elsa_fast *f, const struct elsa_problem *p, size_t row,
                      const real *v, size_t v_step);

/* Writes here->out of head a, from the attention in here->w. */
void elsa_apply(const struct elsa_chunk *here, size_t a);

/* ---- the final variant: fast/tuned/elsa/final.c ----------------------------------- */

void elsa_final_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p);

/* The logits of one strip.  All rows of the products must be filled. */
void elsa_final_logits(const struct team *t, size_t strip);

/* ---- Eq. 4: fast/tuned/elsa/unified.c ----------------------------------------------- */

void elsa_unified_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p);
void elsa_unified_load(struct elsa_fast *f, const struct elsa_problem *p);

/* All heads of token head->part. */
void elsa_unified(const struct head *head);
