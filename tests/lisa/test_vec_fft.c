/* test_vec_fft.c -- the transform with a signal in each SIMD lane, against FFTW
 *
 * Errors are Euclidean norms, relative to that of the spectrum.  A butterfly of radix r makes r sums of r terms, whose
 * factors are rounded once: an error of (r + 3) sqrt(r) u.  A twiddle factor adds 4 u.  Errors of unitary stages add,
 * so the prime factors of n bound larger radices too.  FFTW counts 7 log2 n (Higham 2002, Theorem 24.2). */

#include "../support/roundoff.h"
#include "../../fast/circulant.h"
#include "../../fast/tuned/lisa/fft.h"
#include "../../fast/tuned/lisa/vec_grid.h"
#include "../../fast/tuned/lisa/vec_pass.h"

#define LONGEST 256

static double bound(size_t n)
{
    static const size_t prime[] = {2, 3, 5, 7};
    double sum = 1;
    for (size_t p = 0; p < COUNT(prime); p++)
        for (size_t left = n; left % prime[p] == 0; left /= prime[p])
            sum += ((double)prime[p] + 3) * sqrt((double)prime[p]) + 4;
    return sum * UNIT_ROUNDOFF;
}

static double oracle_bound(size_t n) { return bound(n) + 7 * log2((double)n) * UNIT_ROUNDOFF; }

/* Statistical bound of roundoff.h for the difference of two transforms of n points.  The squared error of one, in u^2,
 * is 1 / 3 before the first stage.  Each prime factor r of n adds r / 6 for sums of r terms of either sign, 1 / 3 for
 * their rounded factors, 1 / 3 for a rounded twiddle factor, and 1 / 2 for its product and the sum of two products. */
static double statistical(size_t n)
{
    double squares = 1.0 / 3;
    for (size_t r = 2, left = n; r <= left; r++)
        for (; left % r == 0; left /= r) squares += (double)r / 6 + 7.0 / 6;
    return chance(n * POINT) * sqrt(2 * squares) * UNIT_ROUNDOFF;
}

/* Points [n][re L][im L], zero or random, aligned for the transform; free_points frees all. */
static real *allocated[64];
static size_t allocations;

static real *points(size_t n)
{
    real *a = memory_reals(n, POINT, 1, 1);
    ck_assert(a && allocations < COUNT(allocated));
    allocated[allocations++] = a;
    return memset(a, 0, n * POINT * sizeof *a);
}

static real *random_points(uint64_t seed, size_t n)
{
    return memcpy(points(n), normal(seed, n * POINT), n * POINT * sizeof(real));
}

static void free_points(void)
{
    while (allocations) memory_free(allocated[--allocations]);
}

static real *interleaved(const real *a, size_t n)
{
    real *z = points(n);
    for (size_t i = 0; i < n; i++)
        for (size_t l = 0; l < LANES; l++)
            for (size_t part = 0; part < 2; part++)
                z[i * POINT + 2 * l + part] = a[i * POINT + part * LANES + l];
    return z;
}

/* |a - b| / |b|, Euclidean. */
static double relative_length(const real *a, const real *b, size_t n)
{
    double difference = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        length += (double)b[i] * (double)b[i];
    }
    return sqrt(difference) / sqrt(length);
}

/* Prepares and loads a transform of n points; the arena owns its tables. */
static struct arena ready(struct vec_fft *fft, size_t n)
{
    struct arena arena = arena_open(1);
    lane_fft_prepare(fft, &arena, n);
    succeeds(arena_allocate(&arena, NULL));
    lane_fft_load(fft);
    return arena;
}

/* A line whose points are `stride` reals apart.  For the inverse transform, re and im are exchanged. */
struct strided { real *re, *im; size_t stride; };

static point load_strided(void *line, size_t place)
{
    const struct strided *s = line;
    size_t i = place / POINT;
    return (point){vec_load(s->re + i * s->stride), vec_load(s->im + i * s->stride)};
}

static void store_strided(void *line, size_t place, point z)
{
    const struct strided *s = line;
    size_t i = place / POINT;
    vec_store(s->re + i * s->stride, z.re);
    vec_store(s->im + i * s->stride, z.im);
}

static void enter_strided(const struct lane_stage *stage, void *source, void *line)
{
    lane_stage_through(stage, load_strided, source, line_store, line);
}

static void leave_strided(const struct lane_stage *stage, void *line, void *sink)
{
    lane_stage_through(stage, line_load, line, store_strided, sink);
}

/* Transforms a line of n points, in place or out of place.  Strides are in points.  The inverse is not divided by n. */
static void transform(const struct vec_fft *fft, real *to, size_t to_stride,
                      real *from, size_t from_stride, bool inverse, real *line)
{
    size_t re = inverse ? LANES : 0, im = LANES - re;
    struct strided source = {from + re, from + im, from_stride * POINT}, sink = {to + re, to + im, to_stride * POINT};
    vec_pass(fft, enter_strided, &source, leave_strided, &sink, line);
}

/* Equal to FFTW for every n up to 256 without a prime factor beyond 7, both directions, in place and, with a stride,
 * out of place.  Tolerance: both bounds above; an input off by 1e-3 exceeds the first one for each n. */
TEST(every_lane_equals_fftw)
{
    double share = 0, usual = 0, noticed = INFINITY;
    for (size_t n = 1; n <= LONGEST; n++) {
        if (!smooth(n)) continue;
        struct vec_fft lane;
        struct arena arena = ready(&lane, n);
        real *a = random_points(n, n), *line = points(n), *wide = points(3 * n), *b = points(n);
        for (int inverse = 0; inverse < 2; inverse++) {
            real *z = interleaved(a, n);
            struct fft fft = {0};
            succeeds(fft_load(&fft, 1, &n, LANES, z));
            fft_run(&fft, z, inverse);

            transform(&lane, wide, 3, a, 1, inverse, line);
            for (size_t i = 0; i < n; i++) memcpy(b + i * POINT, wide + 3 * i * POINT, POINT * sizeof *b);
            real *y = interleaved(b, n);
            worse(&share, relative_length(y, z, n * POINT) / oracle_bound(n));
            worse(&usual, relative_length(y, z, n * POINT) / statistical(n));

            memcpy(b, a, n * POINT * sizeof *b);
            transform(&lane, b, 1, b, 1, inverse, line);
            for (size_t i = 0; i < n; i++)
                ck_assert_mem_eq(b + i * POINT, wide + 3 * i * POINT, POINT * sizeof *b);

            memcpy(b, a, n * POINT * sizeof *b);
            for (size_t l = 0; l < POINT; l++) b[(n - 1) * POINT + l] *= (real)1.001;
            transform(&lane, b, 1, b, 1, inverse, line);
            noticed = fmin(noticed, relative_length(interleaved(b, n), z, n * POINT) / oracle_bound(n));
            fft_release(&fft);
        }
        free_points();
        arena_release(&arena);
    }
    within("lanes - FFTW, all n <= 256, share of the bound", share, 1);
    within("    share of the statistical bound", usual, 1);
    beyond("with one input off by 1e-3", noticed, 1);
}

/* Half spectra, multiplied and transformed back, give the circular sum with two real kernels or, with the padding of
 * circulant.h, the sum that does not wrap.  Tolerance: three transforms and two roundings of a spectrum of norm sqrt(P)
 * |signal|; by Cauchy-Schwarz (3 bound(P) + 2 u) |k| |f| of a lane.  The sums are exact. */
static const struct { const char *grid; bool wraps, one_for_all; } convolution[] = {
    {"8x8", true, false}, {"8x8", false, true}, {"5x6", true, true}, {"7x3", false, false}, {"9", true, false},
    {"9", false, true}, {"3x4x5", true, false}, {"2x5x3", false, false}, {"11x13", true, false}, {"1x1", true, true},
    {"6x1", false, false}, {"1x13", true, true}, {"2x3x11", true, false},
};

TESTS(grid_convolution_is_the_sum_over_tokens, COUNT(convolution))
{
    bool wraps = convolution[_i].wraps, one_for_all = convolution[_i].one_for_all;
    struct arena arena = arena_open(1);
    struct vec_grid g;
    grid tokens;
    succeeds(grid_parse(&tokens, convolution[_i].grid));
    lane_grid_prepare(&g, &arena, &tokens, &(grid){0}, wraps);
    succeeds(arena_allocate(&arena, NULL));
    lane_grid_load(&g);
    ck_assert_uint_eq(g.half, g.points / g.size[2] * (g.size[2] / 2 + 1));
    size_t N = tokens.tokens, entries = wraps ? N : tokens.offsets;
    real *k = integers(1, N * LANES, 3), *f = integers(2, entries * POINT, 3);
    for (size_t e = 0; one_for_all && e < entries; e++)
        for (size_t l = 0; l < POINT; l++) f[e * POINT + l] = f[e * POINT + l / LANES * LANES];

    /* The kernel on the circle, and its spectrum; the spectrum of the block; the product, transformed back except the
     * rows. */
    real *whole = points(g.whole), *kernel = points(g.points), *line = points(2 * g.line);
    real *field = points(g.field), *half = points(g.half), *row = points(g.line);
    for (size_t i = 0; i < g.points; i++) {
        size_t e = circulant_entry(&g.circle, i), fast = g.size[2];
        if (e != NO_ENTRY) memcpy(whole + (i / fast * g.row + i % fast) * POINT, f + e * POINT, POINT * sizeof *f);
    }
    lane_grid_kernel(&g, kernel, whole, line);
    for (size_t i = 0; one_for_all && i < g.points; i++) {
        kernel[2 * i] = kernel[i * POINT];
        kernel[2 * i + 1] = kernel[i * POINT + LANES];
    }
    lane_grid_spectrum(&g, half, k, LANES, LANES, field, line);
    lane_grid_multiply(&g, field, half, kernel, one_for_all, line);

    double error = 0, flipped = 0, lengths = 0;
    for (size_t l = 0; l < LANES; l++) {
        double of_k = 0, of_f = 0;
        for (size_t i = 0; i < N; i++) of_k += (double)k[i * LANES + l] * (double)k[i * LANES + l];
        for (size_t i = l; i < entries * POINT; i += LANES) of_f += (double)f[i] * (double)f[i];
        lengths = fmax(lengths, sqrt(of_k * of_f));
    }
    for (size_t i = 0; i < N; i++) {
        size_t t = i / (g.tokens[1] * g.tokens[2]), m = i / g.tokens[2] % g.tokens[1], x = i % g.tokens[2];
        if (x == 0) transform(&g.fft[2], row, 1, field + (t * g.size[1] + m) * g.row * POINT, 1, false, line);
        for (size_t l = 0; l < POINT; l++) {
            double sum = 0, other = 0;
            for (size_t n = 0; n < N; n++) {
                size_t e = wraps ? grid_circular(&tokens, i, n) : grid_offset(&tokens, i, n);
                size_t flip = wraps ? grid_circular(&tokens, n, i) : grid_offset(&tokens, n, i);
                sum += (double)k[n * LANES + l % LANES] * (double)f[e * POINT + l];
                other += (double)k[n * LANES + l % LANES] * (double)f[flip * POINT + l];
            }
            double got = (double)row[x * POINT + (l + LANES) % POINT];
            ck_assert(!isnan(got));
            error = fmax(error, fabs(got - sum));
            flipped = fmax(flipped, fabs(got - other));
        }
    }
    double tolerance = (3 * bound(g.points) + 2 * UNIT_ROUNDOFF) * lengths;
    within(convolution[_i].grid, error, tolerance);
    if (N > 2) beyond("with the kernel flipped", flipped, tolerance);
    free_points();
    arena_release(&arena);
}

/* A size of 0, or with a prime factor beyond 7, is an error, and so is a lack of memory. */
TEST(other_sizes_are_rejected)
{
    static const size_t size[] = {0, 11, 13, 22, 121, 143, 257};
    struct vec_fft fft;
    for (size_t s = 0; s < COUNT(size); s++) {
        struct arena arena = arena_open(1);
        lane_fft_prepare(&fft, &arena, size[s]);
        rejected(arena_allocate(&arena, NULL), STATUS_BAD_INPUT, "product of 2, 3, 5 and 7");
    }

    size_t before = memory_in_use();
    struct arena arena = arena_open(1);
    lane_fft_prepare(&fft, &arena, 56);
    memory_fail_after(0);
    status s = arena_allocate(&arena, NULL);
    memory_fail_after(-1);
    rejected(s, STATUS_FAILURE, "memory");
    ck_assert_uint_eq(memory_in_use(), before);
}

int main(void) { return run_tests("vec_fft"); }
