/* chopd.h -- functions that the plain forms of dfc-cp and ChoP'D share: dfc_cp.c, chopd.c, chopd_direct.c */

#pragma once
#include "../reference/chopd.h"

/* ---- dfc_cp.c: the first and the last sum of Eq. 6 and 10, for one token ---- */

/* z_r = sum_c u4_cr x_c. */
void dfc_plain_components(real *z, const real *x, const real *u4, size_t C, size_t R);

/* y_d = sigma(sum_r u5_dr z_r + b_d). */
void dfc_plain_channels(real *y, const real *z, const real *u5, const real *b, size_t R, size_t D, bool with_gelu);

/* ---- chopd.c: all of Eq. 10 except the pooling ------------------------------ */

struct chopd_layer {
    struct chopd_gate gate;
    real *z;                    /* [N][R], the components, and then their means */
    real *u13;                  /* [W][R], one row of the gate */
};

void chopd_layer_prepare(struct chopd_layer *f, struct arena *arena, const struct chopd_problem *p);

/* One image: x to phi's map and f->z; then, after the pooling, f->z to y. */
void chopd_layer_components(const struct chopd_layer *f, const real *x, const struct chopd_problem *p);
void chopd_layer_channels(real *y, const struct chopd_layer *f, const struct chopd_problem *p);

/* A box along one axis: the fraction `first` of token `low`, the fraction `last` of token `high`, and all tokens
 * between.  low and high are relative to the box's token.  The mean divides by `length`.  A span inside one token has
 * first = last = length = 1: its mean is that token. */
struct span { ptrdiff_t low, high; wide_real first, last, length; };

struct span chopd_plain_span(real lo, real hi, size_t size);

/* Limits a token index to 0 ... size. */
static inline size_t chopd_plain_clamp(ptrdiff_t token, size_t size)
{
    return token < 0 ? 0 : token < (ptrdiff_t)size ? (size_t)token : size;
}
