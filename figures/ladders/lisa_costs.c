/* lisa_costs.c -- the cost of each step of lisa.c, by formula; see lisa_costs.h */

#include <math.h>
#include "lisa_costs.h"
#include "../../fast/tuned/vec.h"

/* Multiplications of a transform along an axis of n points, and reals that it reads or writes, both per point. */
struct line_cost { double products, asked; };

static struct line_cost of_fft(size_t n)
{
    struct line_cost all = {0, 8};
    for (; n > 1; n /= factor(n)) {
        all.products += 4 * (double)(factor(n) - 1);
        all.asked += 4 * (double)factor(n) + 4;
    }
    return all;
}

static struct line_cost of_lanes(size_t n)
{
    struct line_cost all = {of_fft(n).products, 8};
    for (; n > 1; n /= factor(n)) all.asked += 8 + (double)(factor(n) - 1) * (2 + 2.0 / LANES);
    return all;
}

static struct line_cost of_registers(size_t n)
{
    struct line_cost all = {0, 4};
    for (size_t p; (p = radix(n)) > 0; n /= p) {
        double half = (double)(p / 2), butterfly_products = p % 2 ? 4 * half * half : p == 8 ? 8 : 0;
        all.products += (butterfly_products + (n > p ? 4 * (double)(p - 1) : 0)) / (double)p;
        all.asked += 4 + (n > p ? 2 * (double)(p - 1) / (double)p / LANES : 0);
    }
    if (n > 1) {
        all.products += of_lanes(n).products;
        all.asked += of_lanes(n).asked - 4;
    }
    return all;
}

static struct line_cost of_point(const struct lisa_problem *p, struct line_cost (*line)(size_t n))
{
    struct line_cost all = {0, 0};
    for (int a = 0; a < GRID_AXES; a++)
        if (p->grid.size[a] > 1) {
            all.products += line(p->grid.size[a]).products;
            all.asked += line(p->grid.size[a]).asked;
        }
    return all;
}

static double up(size_t count, size_t multiple) { return (double)((count + multiple - 1) / multiple * multiple); }
static double all_heads(const struct lisa_problem *p) { return (double)p->heads.B * (double)p->heads.h; }

/* Blocks of LANES channels of key and value are transformed forward, and each back for every two latents, with a
 * complex product before and two products after.  Lanes without a channel multiply too. */
static double by_blocks(const void *params, struct line_cost (*line)(size_t n))
{
    const struct lisa_problem *p = params;
    double N = (double)p->heads.N, transform = nearbyint(N * of_point(p, line).products), pairs = up(p->D, 2) / 2;
    return heads_multiply_adds(&p->heads) +
           all_heads(p) * 2 * up(p->heads.c, LANES) * (transform + pairs * (4 * N + transform + 2 * N));
}

double lisa_by_lanes(const void *params) { return by_blocks(params, of_lanes); }
double lisa_by_registers(const void *params) { return by_blocks(params, of_registers); }

/* Bytes of step `step`.  `field` and `loops` are reals per point of each channel. */
struct traffic lisa_traffic(const void *params, int step)
{
    const struct lisa_problem *p = params;
    double N = (double)p->heads.N, c = (double)p->heads.c, line = 64 / sizeof(real), L = LANES;
    double pairs = up(p->D, 2) / 2, axes = 0, filled = N * up(p->heads.c, LANES), field;
    double bytes = all_heads(p) * sizeof(real);
    for (int a = 0; a < GRID_AXES; a++) axes += p->grid.size[a] > 1;
    field = 4 * axes;           /* the points of a block are read and written for each axis */

    if (step == 0) {            /* the signal of a channel stays in L1; a query or output moves a whole cache line */
        double place = sizeof(size_t) / sizeof(real);
        double asked = 2 * N * c * ((pairs + 1) * of_point(p, of_fft).asked + pairs * (6 + 7.5 + place));
        return (struct traffic){bytes * asked, bytes * N * c * pairs * (2 + 2 + line + 2 + 2 * line)};
    }
    double loops = pairs * (6 + 3 + 4 / L + 4 + 2 / L + 4 + 2 / L);     /* the points of a block exceed L1 */
    double asked = 2 * (pairs + 1) * of_point(p, step == 1 ? of_lanes : of_registers).asked + loops;
    return (struct traffic){bytes * filled * asked, bytes * filled * (2 * (pairs + 1) * field + loops)};
}
