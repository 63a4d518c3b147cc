/* attention_group.h -- the steps of the tiled attention for one group of queries
 *
 * attention.c repeats them for each tile.  StructSA's Eq. 4 and 5 have their own steps between scores and values. */

#pragma once
#include <stdbool.h>
#include "vec.h"

/* Vectors of queries in a group; the last few queries make groups of one. */
#define WIDE 3

/* A group of queries and their running results.  Each entry of an array is `vectors` vectors: one number per query. */
struct group {
    vec *q, *o;                 /* [channels]; q is zero in lanes without a query */
    vec *sum, *top;             /* [1]; sum follows o */
    size_t sums;                /* 2 if o and sum of the earlier stretches follow, else 1 */
    size_t first, queries;      /* the first query, counted within the call, and how many */
    size_t vectors;             /* WIDE or 1 */
};

struct tile {
    const real *k, *v;
    size_t k_stride, v_stride, keys;
};

/* Vectors of a group's arrays per vector of queries. */
size_t group_entries(size_t channels);

/* The group that starts at query `first` of `count`; first is a multiple of LANES. */
struct group group_at(vec *groups, size_t first, size_t count, size_t channels, size_t sums);

/* Transposes the queries, times `scale`, into lanes, in squares of LANES channels; resets the running results.  Lanes
 * without a query are zero. */
void group_open(const struct group *g, const real *q, size_t stride, size_t channels, real scale);

/* s_j = q . k_j, or with `add` s_j += q . k_j. */
void group_scores(const struct group *g, vec *s, const struct tile *tile, size_t channels, bool add);

/* Replaces scores by weights 2^(s - top), and adds them to sum.  A larger top rescales o, sum and `rows` entries of
 * `more`. */
void group_softmax(const struct group *g, vec *s, size_t keys, size_t channels, vec *more, size_t rows);

/* o += the sum of s_j v_j over the tile. */
void group_values(const struct group *g, const vec *s, const struct tile *tile, size_t channels);

/* At the end of a stretch, adds o and sum to those of the earlier stretches. */
void group_fold(const struct group *g, size_t channels);

/* Tiles in a stretch: about the root of their number, but at least 8, so that few keys need no second sum. */
size_t group_stretch(size_t tiles);

/* y = o / sum of all stretches, transposed back. */
void group_close(const struct group *g, real *y, size_t stride, size_t channels);
