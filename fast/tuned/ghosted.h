/* ghosted.h -- self-attention whose weights a ghost head changes for every channel
 *
 *     y_ic = sum_j (factor_c[j - i] A_c'ij + summand_c[j - i]) v_jc,   A = softmax_j(scores)
 *
 * Contract: reference/msa.h, reference/runtime/ghost.h. */

#ifndef TWICETOLD_FAST_GHOSTED_H
#define TWICETOLD_FAST_GHOSTED_H

#include "../../reference/msa.h"
#include "vec.h"

/* Queries of a share. */
enum { GHOSTED_BLOCK = 16 };

struct ghosted {
    size_t vectors;             /* of a head's channels; lanes beyond the last hold zeros */
    size_t *place;              /* [N]: entry of i and j is centre + place_j - place_i */
    real *rpe;                  /* [tables][P], in powers of two */
    struct ghost ghost;         /* while loading */
    vec *factor, *summand;    /* [h][vectors][P] */
    real *keys;                 /* [h][N][c] of one image, scaled */
    vec *values;              /* [h][vectors][N] of one image */
    real *map;                  /* of each thread, [GHOSTED_BLOCK][N] */
};

void ghosted_prepare(struct ghosted *ghosted, struct arena *arena, const struct msa_problem *p);
void ghosted_load(struct ghosted *ghosted, const struct msa_problem *p);

/* Keys and values of the calling thread's share of the tokens of one image, from rows q, k, v side by side [N][3C]. */
void ghosted_gather(const struct ghosted *ghosted, const struct msa_problem *p, const struct team *t, const real *qkv);

/* Block number `block` of y [N][C], all heads. */
void ghosted_block(const struct ghosted *ghosted, const struct msa_problem *p, real *y, const real *qkv, size_t block,
                   real *map);

static inline size_t ghosted_blocks(size_t N) { return (N - 1) / GHOSTED_BLOCK + 1; }

#endif
