/* chopd.c -- the ChoP'D layer one factor at a time
 *
 *     z_rn   = sum_c u4_cr x_nc               a product that leaves planes, one a component
 *     z_rn  <- gate_rn sum_g E_rg mean of z_r over box g around n       box_pool.h
 *     y_nd   = sigma(sum_r u5_dr z_rn + b_d)  a product that takes planes, and gelu.h
 *
 * No tensor of more than N R numbers is there.  Turning tokens into planes and
 * back costs nothing: BLAS reads either operand in either order.
 *
 * The gate is bilinear between the s x s values of phi: first along every row
 * of the small map, once for a plane, then between two of those for each row of
 * tokens.
 *
 * 56 x 56 tokens, R = C = D = 96, G = 4, one core, in ms: the products 0.58, the
 * pooling 0.35, GELU 0.09, phi and what is between them 0.2.
 *
 * Contract: reference/chopd.h. */

#include <omp.h>
#include "../reference/chopd.h"
#include "../reference/dfc.h"
#include "../reference/linear.h"
#include "../reference/memory.h"
#include "../reference/resample.h"
#include "box_pool.h"
#include "gelu.h"

struct chopd_fast {
    struct chopd_sizes sizes;
    struct box_pool pool;
    real *u4_rc;                /* [R][C] */
    real *z;                    /* [R][N] */
    real *map, *room;           /* phi's, [s][s][R] */
    struct tap *down, *across;  /* where a token lies on phi's map, [H], [W] */
    real *workspace;            /* [threads][workspace_reals] */
    size_t workspace_reals, pool_reals;
};

/* phi's rows for one component, made W long: [s][W]. */
static void gate_rows(real *rows, const struct chopd_fast *f, size_t r)
{
    const struct chopd_sizes *z = &f->sizes;
    for (size_t i = 0; i < z->s; i++)
        for (size_t x = 0; x < z->W; x++) {
            struct tap t = f->across[x];
            real low = f->map[(i * z->s + t.low) * z->R + r], high = f->map[(i * z->s + t.high) * z->R + r];
            rows[i * z->W + x] = low + t.weight * (high - low);
        }
}

static void one_image(const struct chopd_fast *f, const struct plan *plan, real *y, const real *x)
{
    const struct problem *p = plan->problem;
    const struct chopd_sizes *z = &f->sizes;
    const real *b = problem_tensor(p, "b");
    bool with_gelu = dfc_gelu(p);

    /* Step 1: what the gate will be, and channels to components. */
    chopd_gate(f->map, x, p, f->room);
    linear_map(f->z, z->N, f->u4_rc, z->C, x, NULL, z->R, z->C, z->N);

    /* Step 2: every component pools over its boxes. */
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t r = 0; r < z->R; r++) {
        real *workspace = f->workspace + (size_t)omp_get_thread_num() * f->workspace_reals;
        real *rows = workspace + f->pool_reals, *plane = f->z + r * z->N;
        gate_rows(rows, f, r);
        box_pool_plane(&f->pool, r, plane, plane, &(struct box_pool_factor){rows, z->W, f->down}, workspace);
    }

    /* Step 3: components to channels. */
    linear_from_planes(y, z->D, f->z, problem_tensor(p, "u5"), z->N, z->R, z->D);
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t n = 0; n < z->N; n++) bias_and_gelu(y + n * z->D, b, z->D, with_gelu);
}

/* ---- the form ------------------------------------------------------------ */

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    const real *u4 = problem_tensor(p, "u4");
    struct chopd_sizes z = chopd_sizes(p);
    size_t gate, rows;
    status s;

    struct chopd_fast *f = memory_get(1, sizeof *f);
    if (!f) return out_of_memory("a plan");
    *f = (struct chopd_fast){.sizes = z};
    plan->state = f;

    /* Step 1: tables of the parameters. */
    s = box_pool_create(&f->pool, z.H, z.W, z.R, z.G, problem_tensor(p, "boxes"), problem_tensor(p, "mix"));
    if (s.code) return s;
    f->u4_rc = memory_reals(z.R, z.C, 1, 1);
    f->down = memory_get(z.H, sizeof *f->down);
    f->across = memory_get(z.W, sizeof *f->across);
    if (!f->u4_rc || !f->down || !f->across) return out_of_memory("the factors");
    for (size_t c = 0; c < z.C; c++)
        for (size_t r = 0; r < z.R; r++) f->u4_rc[r * z.C + c] = u4[c * z.R + r];
    for (size_t y = 0; y < z.H; y++) f->down[y] = bilinear_tap(y, z.s, z.H);
    for (size_t x = 0; x < z.W; x++) f->across[x] = bilinear_tap(x, z.s, z.W);

    /* Step 2: room for an image, and for every thread. */
    f->z = memory_reals(z.R, z.N, 1, 1);
    f->map = memory_reals(z.s, z.s, z.R, 1);
    if (!chopd_gate_reals(&gate, &z)) return out_of_memory("phi's maps");
    f->room = memory_reals(gate, 1, 1, 1);
    if (!f->z || !f->map || !f->room) return out_of_memory("an image's components");
    if (!box_pool_reals(&f->pool_reals, &f->pool) || !size_multiply(&rows, z.s, z.W)) return out_of_memory("a table");
    f->workspace_reals = f->pool_reals + (rows + 15) / 16 * 16;
    if (f->workspace_reals < rows) return out_of_memory("a table");
    f->workspace = memory_reals((size_t)plan->threads, f->workspace_reals, 1, 1);
    if (!f->workspace) return out_of_memory("a table");
    for (int t = 0; t < plan->threads; t++)
        box_pool_clear(&f->pool, f->workspace + (size_t)t * f->workspace_reals);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct chopd_fast *f = plan->state;
    const struct chopd_sizes *z = &f->sizes;
    for (size_t i = 0; i < z->B; i++) one_image(f, plan, y + i * z->N * z->D, x + i * z->N * z->C);
    return status_ok();
}

static void release(struct plan *plan)
{
    struct chopd_fast *f = plan->state;
    if (!f) return;
    box_pool_release(&f->pool);
    memory_free(f->u4_rc);
    memory_free(f->down);
    memory_free(f->across);
    memory_free(f->z);
    memory_free(f->map);
    memory_free(f->room);
    memory_free(f->workspace);
    memory_free(f);
}

static double multiply_adds(const struct problem *p)
{
    struct chopd_sizes s = chopd_sizes(p);
    double N = (double)s.N, R = (double)s.R;
    return (double)s.B * (N * R * ((double)s.C + (double)s.D + 6 * (double)s.G + 2)
                          + (double)s.s * (double)s.W * R + chopd_gate_multiply_adds(&s));
}

const struct form chopd_fast = {"fast", prepare, run, release, multiply_adds};
