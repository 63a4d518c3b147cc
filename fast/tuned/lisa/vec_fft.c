/* vec_fft.c -- the plan of a vec_fft.h transform
 *
 * n is split into prime powers, n = P_1 P_2 ...  The transform over Z_n is then one over Z_P1 x Z_P2 x ..., without
 * twiddle factors (Good 1958; Thomas 1963).  A power P = r_1 r_2 ... uses decimation in frequency, with twiddle factors
 * between its stages (Cooley and Tukey 1965): 56 = 8 * 7 has none, 64 = 8 * 8 has them once.
 *
 * Stage s transforms digit s, 0 <= digit_s < r_s.  Before it the digit is part of the input index i, after it part of
 * the output index o:
 *
 *     i = sum_s digit_s in_weight_s mod n,   o = sum_s digit_s out_weight_s mod n.
 *
 * Between stages the place of a point is its digits, as a mixed radix number.  The first stage reads by i and the last
 * writes by o, so no additional pass reorders points. */

#include "vec_fft.h"
#include "../../circulant.h"
#include "../../turns.h"

struct digit {
    size_t radix, power;        /* r_s, and the P that it divides */
    size_t rest;                /* P / (r_1 ... r_s): the part left for later stages */
    size_t in_weight, out_weight, place;
};

/* 2 comes last: lisa.c sums LANES products over the lanes together, which fits butterflies of 8 and 16. */
static const size_t prime[] = {7, 5, 3, 2};

/* The radix of the next stage of a power of p, which divides n.  For p = 2: the fewest stages of at most 16, as equal
 * as possible; but 16 points by themselves are 4 * 4, because there are two stages anyway. */
static size_t next_radix(size_t p, size_t power, size_t n)
{
    size_t exponent = 0;
    if (p != 2) return p;
    while (power >> (exponent + 1)) exponent++;
    size_t stages = n == 16 ? exponent / 2 : (exponent + 3) / 4;
    return (size_t)1 << (exponent + stages - 1) / stages;
}

/* Computes the digits of n; returns their number. */
static size_t split(struct digit digit[LANE_FFT_STAGES], size_t n)
{
    size_t digits = 0, place = 1;
    for (size_t p = 0; p < sizeof prime / sizeof *prime; p++) {
        size_t power = 1, idempotent = 0, out_weight = 1;
        while (n / power % prime[p] == 0) power *= prime[p];

        /* Step 1: the number that is 1 modulo this power and 0 modulo the others. */
        while (power > 1 && idempotent % power != 1) idempotent += n / power;

        /* Step 2: one digit after another. */
        for (size_t left = power; left > 1;) {
            size_t radix = next_radix(prime[p], left, n);
            left /= radix;
            digit[digits++] = (struct digit){
                .radix = radix, .power = power, .rest = left,
                .in_weight = n / power * left % n,
                .out_weight = idempotent * out_weight % n,
                .place = place,
            };
            out_weight *= radix;
            place *= radix;
        }
    }

    /* Step 3: at least two stages, since the first must load and the last must store; radix 1 copies. */
    while (digits < 2) digit[digits++] = (struct digit){.radix = 1, .power = 1, .rest = 1, .place = place};
    return digits;
}

static size_t value(const struct digit *d, size_t at) { return at / d->place % d->radix; }

void lane_fft_prepare(struct vec_fft *fft, struct arena *arena, size_t n)
{
    struct digit digit[LANE_FFT_STAGES];
    if (!smooth(n)) {
        arena_fail(arena, bad_input("transform of %zu points, expected a product of 2, 3, 5 and 7", n));
        return;
    }
    fft->n = n;
    fft->stages = split(digit, n);
    arena_objects(arena, PERSISTENT, &fft->places, "the places of a transform", fft->stages, 2 * n,
                  sizeof *fft->places);
    arena_reals(arena, PERSISTENT, &fft->twiddles, "the twiddle factors", fft->stages, n, 2);
}

/* Fills stage s: its places at `from`, its twiddle factors at `twiddle`; returns the end of the twiddle factors. */
static real *load_stage(struct vec_fft *fft, const struct digit digit[], size_t s, size_t *from, real *twiddle)
{
    const struct digit *d = &digit[s];
    size_t n = fft->n;
    size_t *to = from + n;

    fft->stage[s] = (struct lane_stage){
        .radix = d->radix, .butterflies = n / d->radix, .from = from, .to = to, .twiddle = d->rest > 1 ? twiddle : NULL,
    };

    /* Step 1: one butterfly for each place whose digit s is 0. */
    for (size_t at = 0; at < n; at++) {
        if (value(d, at) != 0) continue;

        /* Step 2: the indices i and o of its first point, and the input index of the later stages. */
        size_t i = 0, o = 0, later = 0;
        for (size_t t = 0; t < fft->stages; t++) {
            i += value(&digit[t], at) * digit[t].in_weight;
            o += value(&digit[t], at) * digit[t].out_weight;
            if (t > s && digit[t].power == d->power) later += value(&digit[t], at) * digit[t].rest;
        }

        /* Step 3: the places of its points and results. */
        for (size_t k = 0; k < d->radix; k++) {
            size_t result = lane_fft_result(d->radix, k);
            *from++ = (s == 0 ? (i + k * d->in_weight) % n : at + k * d->place) * POINT;
            *to++ = (s == fft->stages - 1 ? (o + result * d->out_weight) % n : at + result * d->place) * POINT;
        }

        /* Step 4: its twiddle factors, if later stages of this power follow. */
        for (size_t k = 1; k < d->radix && d->rest > 1; k++) {
            size_t size = d->radix * d->rest, turn = later * lane_fft_result(d->radix, k) % size;
            *twiddle++ = turn_cosine(turn, size);
            *twiddle++ = -turn_sine(turn, size);
        }
    }
    return twiddle;
}

void lane_fft_load(struct vec_fft *fft)
{
    struct digit digit[LANE_FFT_STAGES];
    real *twiddle = fft->twiddles;
    split(digit, fft->n);
    for (size_t s = 0; s < fft->stages; s++)
        twiddle = load_stage(fft, digit, s, fft->places + 2 * s * fft->n, twiddle);
}
