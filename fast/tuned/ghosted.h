/* ghosted.h -- self-attention with a ghost head: each channel has different weights
 *
 *     y_ic = sum_j (factor_c[j - i] A_c'ij + summand_c[j - i]) v_jc,   A = softmax_j(scores)
 *
 * Contract: reference/msa.h, reference/runtime/ghost.h. */

#pragma once
#include "../../reference/msa.h"
#include "vec.h"

enum { GHOSTED_BLOCK = 16 };    /* queries in a block */

struct ghosted {
    size_t vectors;             /* of the channels of a head; unused lanes are zero */
    size_t *place;              /* [N]: the offset of i and j has index centre + place_j - place_i */
    real *rpe;                  /* [tables][P], times log2(e) */
    struct ghost ghost;         /* only during load */
    vec *factor, *summand;      /* [h][vectors][P] */
    real *keys;                 /* [h][N][c] of one image, times scale log2(e) */
    vec *values;                /* [h][vectors][N] of one image */
    real *map;                  /* per thread, [GHOSTED_BLOCK][N] */
};

void ghosted_prepare(struct ghosted *ghosted, struct arena *arena, const struct msa_problem *p);
void ghosted_load(struct ghosted *ghosted, const struct msa_problem *p);

/* Keys and values of the calling thread's tokens of one image, from qkv [N][3C]. */
void ghosted_gather(const struct ghosted *ghosted, const struct msa_problem *p, const struct team *t, const real *qkv);

/* Block number `block` of y [N][C], all heads; map is scratch. */
void ghosted_block(const struct ghosted *ghosted, const struct msa_problem *p, real *y, const real *qkv, size_t block,
                   real *map);

static inline size_t ghosted_blocks(size_t N) { return (N - 1) / GHOSTED_BLOCK + 1; }
