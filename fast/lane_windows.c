/* lane_windows.c -- attention within small windows; see lane_windows.h
 *
 *     t, u  tokens of a window, T = s^2 of them     ch  channels
 *
 * With one number of LANES windows in a vector, both products are small dense
 * ones whose entries are vectors: blocks of them stay in registers. */

#include "lane_windows.h"
#include "../reference/memory.h"
#include "exponential.h"
#include "transpose.h"

#define LOG2_E ((real)1.44269504088896340736)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Channels of y that are summed at a time. */
enum { STRIP = 4 };

/* One token of all windows into lanes, a square at a time, times `scale`. */
static void pack(lanes *to, const real *const *row, size_t offset, size_t channels, real scale)
{
    size_t whole = channels - channels % LANES;

    for (size_t ch = 0; ch < whole; ch += LANES) {
        lanes square[LANES];
        for (size_t l = 0; l < LANES; l++) square[l] = lanes_load_anywhere(row[l] + offset + ch) * scale;
        lanes_transpose(square);
        for (size_t l = 0; l < LANES; l++) to[ch + l] = square[l];
    }
    for (size_t ch = whole; ch < channels; ch++)
        for (size_t l = 0; l < LANES; l++) to[ch][l] = row[l][offset + ch] * scale;
}

/* And back. */
static void unpack(real *const *y, const lanes *from, size_t channels)
{
    size_t whole = channels - channels % LANES;

    for (size_t ch = 0; ch < whole; ch += LANES) {
        lanes square[LANES];
        for (size_t l = 0; l < LANES; l++) square[l] = from[ch + l];
        lanes_transpose(square);
        for (size_t l = 0; l < LANES; l++)
            if (y[l]) lanes_store_anywhere(y[l] + ch, square[l]);
    }
    for (size_t ch = whole; ch < channels; ch++)
        for (size_t l = 0; l < LANES; l++)
            if (y[l]) y[l][ch] = from[ch][l];
}

/* s_tu = q_t . k_u, `block` by `block` of them in registers. */
ALWAYS_INLINE void scores(lanes *s, const lanes *q, const lanes *k, size_t T, size_t channels, size_t block)
{
    for (size_t t = 0; t < T; t += block)
        for (size_t u = 0; u < T; u += block) {
            lanes sum[4][4] = {{{0}}};
            for (size_t ch = 0; ch < channels; ch++)
                for (size_t i = 0; i < block; i++)
                    for (size_t j = 0; j < block; j++)
                        sum[i][j] += q[(t + i) * channels + ch] * k[(u + j) * channels + ch];
            for (size_t i = 0; i < block; i++)
                for (size_t j = 0; j < block; j++) s[(t + i) * T + u + j] = sum[i][j];
        }
}

/* Scores in powers of two to weights whose sum is 1. */
ALWAYS_INLINE void weights(lanes *s, size_t T)
{
    lanes top = s[0], sum = {0};
    for (size_t u = 1; u < T; u++) top = lanes_larger(s[u], top);
    for (size_t u = 0; u < T; u++) {
        s[u] = exp2_lanes(s[u] - top);
        sum += s[u];
    }
    lanes share = 1 / sum;
    for (size_t u = 0; u < T; u++) s[u] *= share;
}

/* o_t,ch = sum_u s_tu v_u,ch for `block` tokens and `strip` channels. */
ALWAYS_INLINE void means_at(lanes *o, const lanes *s, const lanes *v, size_t T, size_t channels,
                            size_t block, size_t strip)
{
    lanes sum[4][STRIP] = {{{0}}};
    for (size_t u = 0; u < T; u++)
        for (size_t i = 0; i < block; i++)
            for (size_t n = 0; n < strip; n++) sum[i][n] += s[i * T + u] * v[u * channels + n];
    for (size_t i = 0; i < block; i++)
        for (size_t n = 0; n < strip; n++) o[i * channels + n] = sum[i][n];
}

ALWAYS_INLINE void attend(const struct lane_windows *w, lanes *q, size_t T, size_t block)
{
    size_t c = w->channels, ch;
    lanes *k = q + T * c, *v = k + T * c, *s = v + T * c;

    /* Step 1: rows into lanes; log2(e) in the scale makes exp a power of two. */
    for (size_t t = 0; t < T; t++) {
        const real *const *row = (const real *const *)w->row + t * LANES;
        pack(q + t * c, row, 0, c, w->scale * LOG2_E);
        pack(k + t * c, row, w->apart, c, 1);
        pack(v + t * c, row, 2 * w->apart, c, 1);
    }

    /* Step 2: the weights of every pair. */
    scores(s, q, k, T, c, block);
    for (size_t t = 0; t < T; t++) weights(s + t * T, T);

    /* Step 3: the means, where the queries were. */
    for (size_t t = 0; t < T; t += block) {
        for (ch = 0; ch + STRIP <= c; ch += STRIP) means_at(q + t * c + ch, s + t * T, v + ch, T, c, block, STRIP);
        for (; ch < c; ch++) means_at(q + t * c + ch, s + t * T, v + ch, T, c, block, 1);
    }

    /* Step 4: into the rows of y. */
    for (size_t t = 0; t < T; t++) unpack(w->y + t * LANES, q + t * c, c);
}

void lane_windows_attend(const struct lane_windows *w, real *workspace)
{
    if (w->s == 2) attend(w, (lanes *)workspace, 4, 4);
    else attend(w, (lanes *)workspace, 9, 3);
}

bool lane_windows_workspace(size_t *reals, size_t s, size_t channels)
{
    size_t T = s * s, vectors;
    if (!size_multiply(&vectors, 3 * T, channels) || !size_multiply(&vectors, vectors + T * T, LANES)) return false;
    *reals = vectors;
    return true;
}
