/* random.c -- random numbers without state; see random.h */

#include "random.h"
#include <math.h>
#include <stdbool.h>
#include "bytes.h"

/* Philox4x32-10: ten rounds of two 32 x 32 -> 64 bit products, on a counter of four words with a key of two.  Here n,
 * stream and draw make the counter; the seed is the key. */
static void philox(uint32_t word[4], uint64_t seed)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * word[0], p1 = (uint64_t)0xCD9E8D57u * word[2];
        uint32_t next0 = (uint32_t)(p1 >> 32) ^ word[1] ^ key0;
        uint32_t next2 = (uint32_t)(p0 >> 32) ^ word[3] ^ key1;
        word[0] = next0;
        word[1] = (uint32_t)p1;
        word[2] = next2;
        word[3] = (uint32_t)p0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* Bits number `draw` (below 2^16) for number n of a stream (below 2^48). */
static uint64_t bits_at(uint64_t seed, uint64_t stream, uint64_t n, uint32_t draw)
{
    uint32_t word[4] = {(uint32_t)n, (uint32_t)(n >> 32), (uint32_t)stream,
                        draw ^ (uint32_t)(stream >> 32) << 16};
    philox(word, seed);
    return (uint64_t)word[1] << 32 | word[0];
}

static double unit_interval(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t n)
{
    return bits_at(seed, stream, n, 0);
}

double random_uniform(uint64_t seed, uint64_t stream, uint64_t n)
{
    return unit_interval(bits_at(seed, stream, n, 0));
}

/* The uniforms for one normal number, in order. */
struct draws {
    uint64_t seed, stream, n;
    uint32_t used;
};

static double next(struct draws *d)
{
    return unit_interval(bits_at(d->seed, d->stream, d->n, d->used++));
}

/* True with probability exp(-p), 0 <= p < 1 (von Neumann).  With this probability the longest decreasing sequence p >
 * u1 > u2 > ... has an even number of uniforms u: the alternating series of exp. */
static bool happens(struct draws *d, double p)
{
    for (double bound = p;;) {
        double u = next(d);
        if (u >= bound) return true;
        bound = next(d);
        if (bound >= u) return false;
    }
}

double random_normal(uint64_t seed, uint64_t stream, uint64_t n)
{
    struct draws d = {seed, stream, n, 0};

    for (;;) {
        /* Step 1: an integer k with probability proportional to exp(-k/2), accepted with exp(-k(k-1)/2): together
         * exp(-k^2/2). */
        int k = 0;
        while (happens(&d, 0.5)) k++;
        bool keep = true;
        for (int i = k * (k - 1); i > 0 && keep; i--) keep = happens(&d, 0.5);
        if (!keep) continue;

        /* Step 2: a fraction x, accepted with exp(-x(2k+x)/2): k+1 equal factors, each with an exponent below 1. */
        double x = next(&d), share = x * (2 * k + x) / (2 * (k + 1));
        for (int i = 0; i <= k && keep; i++) keep = happens(&d, share);
        if (!keep) continue;

        /* Step 3: a random sign.  The density of k + x is proportional to exp(-(k+x)^2/2). */
        return next(&d) < 0.5 ? k + x : -(k + x);
    }
}

void random_fill_uniform(real *a, size_t count, uint64_t seed, uint64_t stream, double low, double high)
{
    for (size_t n = 0; n < count; n++)
        a[n] = (real)fma(high - low, random_uniform(seed, stream, n), low);     /* fma: the same bits everywhere */
}

void random_fill_normal(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation)
{
    #pragma omp parallel for num_threads(count > 65536 ? default_threads() : 1) schedule(static)
    for (size_t n = 0; n < count; n++)
        a[n] = (real)(deviation * random_normal(seed, stream, n));
}

void random_fill_sums(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation)
{
    double scale = deviation * sqrt(3 / (0x1p32 - 1));      /* the variance of a sum is (2^32 - 1) / 3 */
    #pragma omp parallel for num_threads(count > 65536 ? default_threads() : 1) schedule(static)
    for (size_t n = 0; n < count; n++) {
        uint64_t bits = random_bits(seed, stream, n);
        uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        a[n] = (real)(((double)sum - 2 * 65535) * scale);
    }
}

void random_fill_integers(real *a, size_t count, uint64_t seed, uint64_t stream, int bound)
{
    uint64_t values = 2 * (uint64_t)bound + 1;
    for (size_t n = 0; n < count; n++)
        a[n] = (real)((double)(random_bits(seed, stream, n) % values) - bound);
}
