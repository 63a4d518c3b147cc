/* lisa_costs.c -- what each step of lisa.c costs, by formula; see lisa_costs.h */

#include <math.h>
#include "lisa_costs.h"
#include "../../fast/tuned/vec.h"

/* Multiplications of a transform along an axis of n points, and reals that it asks for, both a point. */
struct line_cost { double products, asked; };

static struct line_cost of_dft(size_t n) { return (struct line_cost){4 * (double)(n - 1), 4 * (double)n + 4}; }

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

/* All heads, each with `pairs` multiply-adds for a pair of tokens and 2 c D for a token. */
static double by_pairs_of_tokens(const struct lisa_problem *p, double pairs)
{
    double N = (double)p->heads.N, c = (double)p->heads.c, D = (double)p->D;
    return heads_multiply_adds(&p->heads) + all_heads(p) * (N * N * pairs + 2 * N * c * D);
}

double lisa_by_equation(const void *params)
{
    const struct lisa_problem *p = params;
    return by_pairs_of_tokens(p, 2 * (double)p->heads.c * (double)p->D);
}

double lisa_by_order(const void *params)
{
    const struct lisa_problem *p = params;
    double c = (double)p->heads.c, D = (double)p->D;
    return by_pairs_of_tokens(p, c * D + 2 * c + D);
}

/* Key and value there, a signal for each channel; each of them back for each kernel of `latents`, with a complex
 * product before and `latents` products after.  Lanes without a channel multiply too. */
static double by_spectra(const void *params, size_t together, size_t latents, struct line_cost (*line)(size_t n))
{
    const struct lisa_problem *p = params;
    double N = (double)p->heads.N, transform = nearbyint(N * of_point(p, line).products), each = (double)latents;
    double kernels = up(p->D, latents) / each, channels = up(p->heads.c, together);
    return heads_multiply_adds(&p->heads) +
           all_heads(p) * 2 * channels * (transform + kernels * (4 * N + transform + each * N));
}

double lisa_by_identity(const void *params) { return by_spectra(params, 1, 1, of_dft); }
double lisa_by_fft(const void *params) { return by_spectra(params, 1, 1, of_fft); }
double lisa_by_pairs(const void *params) { return by_spectra(params, 1, 2, of_fft); }
double lisa_by_lanes(const void *params) { return by_spectra(params, LANES, 2, of_lanes); }
double lisa_by_registers(const void *params) { return by_spectra(params, LANES, 2, of_registers); }

/* Step `rung`, by each pair of tokens or each point of each channel. */
struct traffic lisa_traffic(const void *params, int step)
{
    const struct lisa_problem *p = params;
    double N = (double)p->heads.N, c = (double)p->heads.c, D = (double)p->D, line = 64 / sizeof(real), L = LANES;
    double pairs = up(p->D, 2) / 2, axes = 0, filled = N * up(p->heads.c, LANES), field;
    struct traffic of_head = {0, 0};
    for (int a = 0; a < GRID_AXES; a++) axes += p->grid.size[a] > 1;
    field = 4 * axes;           /* a block's points come and go for each axis */

    switch (step) {
    case 0:                     /* a sum is read and written for each product, beside a kernel's number */
        of_head = (struct traffic){N * N * 6 * c * D, N * N * (c * D + 2 * c + D)};
        break;
    case 1:
        of_head = (struct traffic){N * N * (3 * c * D + 5 * c + 2 * D), N * N * (c * D + 2 * c + D)};
        break;
    case 2:                     /* a signal stays near; queries and outputs come alone, with their lines */
    case 3:
        of_head.asked = 2 * N * c * ((D + 1) * of_point(p, step == 2 ? of_dft : of_fft).asked + D * (6 + 4));
        of_head.moved = N * c * D * (2 + 2 + line + 2 + 1 + 2 * line);
        break;
    case 4:
        of_head.asked = 2 * N * c * ((pairs + 1) * of_point(p, of_fft).asked + pairs * (6 + 6.5));
        of_head.moved = N * c * pairs * (2 + 4 + line + 2 + 2 + 2 * line);
        break;
    default:                    /* the points of a block are too many to stay */
        of_head.asked = filled * (2 * (pairs + 1) * of_point(p, step == 5 ? of_lanes : of_registers).asked +
                                  pairs * (6 + 3 + 4 / L + 4 + 2 / L + 4 + 2 / L));
        of_head.moved = filled * (2 * (pairs + 1) * field + pairs * (6 + 3 + 4 / L + 4 + 2 / L + 4 + 2 / L));
    }
    double bytes = all_heads(p) * sizeof(real);
    return (struct traffic){bytes * of_head.asked, bytes * of_head.moved};
}
