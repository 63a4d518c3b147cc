/* lisa.c -- LiSA's fast forms, and what they cost by formula
 *
 * Variant 1, lisa_fftw.c, is the one to read first.  Variant 2, lisa_lanes.c, is
 * the fast form, on every grid: where an axis is not a product of 2, 3, 5 and 7
 * it moves to a larger circle.  There it is level with FFTW on the axis itself
 * at worst (13x13), and eight times ahead where FFTW has no codelets (31x37).
 *
 * Contract: reference/lisa.h. */

#include <math.h>
#include "circulant.h"
#include "lisa_fftw.h"
#include "lisa_lanes.h"
#include "../reference/heads.h"
#include "../reference/lisa.h"

/* A complex transform of P points is counted as the usual 5 P log2 P operations,
 * two of them a multiply-add; a complex product as 4.  A head transforms its c
 * keys and c values there and, for every two latents, back; in Eq. 4 its c
 * values there and back for every two channels of the query. */
static double multiply_adds(const struct problem *p, bool smooth_only)
{
    bool rpe = problem_number(p, "equation") == 4;
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c"), D = (double)problem_size(p, "D");
    double heads = (double)problem_size(p, "B") * (double)problem_size(p, "h");
    struct circulant circle;

    if (circulant_create(&circle, &p->grid, problem_number(p, "equation") == 10, smooth_only).code) return NAN;
    double P = (double)circle.points, pairs = ceil((rpe ? c : D) / 2);
    double transforms = rpe ? 2 * c * pairs : 2 * c * (1 + pairs);
    double products = rpe ? c * pairs * (4 * P + 4 * N) : 2 * c * pairs * (4 * P + 2 * N);
    return heads_multiply_adds(p) + heads * (transforms * 2.5 * P * log2(P) + products);
}

static double lanes_multiply_adds(const struct problem *p) { return multiply_adds(p, true); }
static double fftw_multiply_adds(const struct problem *p) { return multiply_adds(p, false); }

const struct form lisa_fast = {"fast", lisa_lanes_prepare, lisa_lanes_run, lisa_lanes_release, lanes_multiply_adds};
const struct form lisa_fftw = {"fftw", lisa_fftw_prepare, lisa_fftw_run, lisa_fftw_release, fftw_multiply_adds};
