/* plane.h -- a depth-wise convolution as large as the plane, with a gate
 *
 *     out_nr = u3_nr u1_r sum_m u2_{m-n,r} z_mr
 *
 * Lanes hold components.  It is computed directly, or by transforms on a circle of twice the size (lisa/vec_grid.h),
 * whichever is estimated to be faster. */

#pragma once
#include "../lisa/vec_grid.h"
#include "../../../reference/runtime/batch.h"

struct plane {
    struct grid grid;
    size_t R, blocks;           /* blocks: of LANES components */
    bool transforms;
    struct vec_grid circle;     /* if transforms */
    real *u2;                   /* [blocks][P][L]; transforms: the spectra, [blocks][points] points */
    real *kernel;               /* transforms: a kernel on its circle, only during load */
    real *spectrum, *field, *line;      /* transforms: per thread, vec_grid.h */
};

/* R rounded up to whole vectors. */
static inline size_t plane_row(size_t R) { return (R + LANES - 1) / LANES * LANES; }

void plane_prepare(struct plane *p, struct arena *arena, const grid *g, size_t R);
void plane_load(struct plane *p, const real *u2);

/* One image; out [N][R], z [M][plane_row(R)], u1 [R] or NULL.  The threads divide blocks, or rows of blocks. */
void plane_run(const struct team *t, const struct plane *p, real *out, const real *z, const real *u3, const real *u1);

/* Of the sum over m, for one component. */
double plane_multiply_adds(const grid *g);
