/* test_spectrum.c -- the mean spectrum of HiLo's Algorithm 1 (log_spectrum.h)
 *
 * P = H W points, F(u,v) the transform, |y| the norm of a plane.  Errors are relative to the transform's norm, sqrt(P)
 * |y|.  An FFT errs by at most 7 u log2 P (Higham 2002, thm 24.2).  FFTW's sum over a prime axis of n points adds
 * (n + 4) u; the explicit sum errs by P u.  An error d of |F| changes its logarithm by at most -log(1 - d/|F|). */

#include "../support/support.h"
#include "../../reference/cli/log_spectrum.h"

#define PI 3.14159265358979323846264338327950288L

/* Grids of width 1, odd, prime and not square. */
static const struct { size_t H, W; } size[] = {
    {1, 1}, {1, 2}, {1, 7}, {7, 1}, {2, 1}, {2, 2}, {4, 4}, {5, 6}, {6, 5}, {3, 11}, {8, 12}, {13, 13},
};

/* |F(u,v)| of channel c of image b by the sum of log_spectrum.h, with integer reduction of angles. */
static double magnitude(const real *y, size_t b, size_t c, size_t u, size_t v, size_t H, size_t W, size_t C)
{
    long double re = 0, im = 0;
    for (size_t j = 0; j < H; j++)
    for (size_t k = 0; k < W; k++) {
        long double turn = (long double)(u * j % H) / (long double)H + (long double)(v * k % W) / (long double)W;
        long double value = y[((b * H + j) * W + k) * C + c];
        re += value * cosl(2 * PI * turn);
        im -= value * sinl(2 * PI * turn);
    }
    return (double)hypotl(re, im);
}

/* sqrt(P) |y|, which bounds |F|. */
static double most(const real *y, size_t b, size_t c, size_t P, size_t C)
{
    double squares = 0;
    for (size_t i = 0; i < P; i++) squares += pow((double)y[(b * P + i) * C + c], 2);
    return sqrt((double)P * squares);
}

static double bound(size_t H, size_t W)
{
    double P = (double)(H * W);
    return (7 * log2(P) + (double)(H + W) + 8 + P) * UNIT_ROUNDOFF;
}

/* HiLo, Algorithm 1: the mean over the batch of log |F|, the zero frequency at (H/2, W/2). Tolerance: the mean of
 * -log(1 - d/|F|), d = bound(H, W) sqrt(P) |y|, and (B + 4) u (|log| + 1). */
TESTS(spectrum_is_the_explicit_sum, COUNT(size))
{
    size_t B = 3, H = size[_i].H, W = size[_i].W, C = 2, P = H * W;
    real *y = normal(1, B * P * C), *out = zeros(C * P), *changed = zeros(C * P);
    double worst = 0, noticed = 0;

    succeeds(spectrum(out, y, B, H, W, C));
    real *brighter = copy(y, B * P * C);
    brighter[P * C + 1] += (real)0.01;
    succeeds(spectrum(changed, brighter, B, H, W, C));

    for (size_t c = 0; c < C; c++)
    for (size_t u = 0; u < H; u++)
    for (size_t v = 0; v < W; v++) {
        double mean = 0, allowed = 0;
        for (size_t b = 0; b < B; b++) {
            double F = magnitude(y, b, c, u, v, H, W, C);
            mean += log(F) / (double)B;
            allowed += -log1p(-bound(H, W) * most(y, b, c, P, C) / F) / (double)B
                     + (double)(B + 4) * UNIT_ROUNDOFF * (fabs(log(F)) + 1);
        }
        size_t at = (c * H + (u + H / 2) % H) * W + (v + W / 2) % W;
        worse(&worst, fabs((double)out[at] - mean) / allowed);
        worse(&noticed, fabs((double)changed[at] - mean) / allowed);
    }
    within("spectrum against the explicit sum", worst, 1);
    beyond("... with one pixel brighter by a hundredth", noticed, 1);
    ck_assert_double_eq(largest_difference(out, changed, P), 0);
}

/* HiLo, Algorithm 1, log before mean: amplitudes 1 and 4 give log 2, not log 2.5; a zero image gives -infinity.
 * Tolerance: 4 u, for a few roundings. */
TEST(logarithms_are_averaged)
{
    size_t H = 3, W = 4, P = H * W, C = 3;
    real *y = zeros(2 * P * C), *out = zeros(C * P);
    y[0] = 1;                           /* image 0, channel 0 */
    y[P * C] = 4;                       /* image 1, channel 0 */
    y[1] = 1;                           /* image 0, channel 1; zero in image 1 */
    y[2] = (real)NAN;
    succeeds(spectrum(out, y, 2, H, W, C));

    within("mean of log 1 and log 4", largest_difference(out, filled(P, log(2.0)), P), 4 * UNIT_ROUNDOFF);
    for (size_t i = 0; i < P; i++) {
        ck_assert(isinf((double)out[P + i]) && out[P + i] < 0);
        ck_assert(isnan((double)out[2 * P + i]));
    }
}

TEST(bad_sizes_are_rejected)
{
    static const struct { size_t B, H, W, C; const char *text; } wrong[] = {
        {0, 3, 4, 1, "[0, 3, 4, 1]"}, {1, 0, 4, 1, "at least 1"}, {1, 3, 0, 1, "at least 1"},
        {1, 3, 4, 0, "at least 1"}, {1, (size_t)1 << 16, (size_t)1 << 16, 1, "at most"},
    };
    real *y = normal(3, 12), *out = zeros(12);
    for (size_t n = 0; n < COUNT(wrong); n++)
        rejected(spectrum(out, y, wrong[n].B, wrong[n].H, wrong[n].W, wrong[n].C), STATUS_BAD_INPUT, wrong[n].text);
}

int main(void) { return run_tests("spectrum"); }
