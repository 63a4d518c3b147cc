/* window_attention.c -- attention within small windows; see window_attention.h
 *
 *     t, u  tokens of a window, T = s^2 of them     ch  channels
 *
 * Both products are small and dense.  Their entries are vectors; blocks of sums stay in registers. */

#include "window_attention.h"
#include "../exponential.h"
#include "../transpose.h"

/* Channels of y in a block of sums; tokens of the largest window. */
enum { STRIP = 4, TOKENS = WINDOW_ATTENTION_EDGE * WINDOW_ATTENTION_EDGE };

/* Query and output row of token t of window l, at [t LANES + l]; y is NULL for padding. */
struct rows {
    const real *q[TOKENS * LANES];
    real *y[TOKENS * LANES];
    size_t key, value;          /* reals from a query to its key and its value */
};

static void place(struct rows *rows, const struct head *head, const struct windows *w, const real *padding)
{
    rows->key = (size_t)(head->k - head->q);
    rows->value = (size_t)(head->v - head->q);
    for (size_t t = 0; t < w->entries; t++)
        for (size_t l = 0; l < LANES; l++) {
            size_t token = windows_token(w, head->part * LANES + l, t);
            bool there = token != WINDOW_PADDING;
            rows->q[t * LANES + l] = there ? head->q + token * head->q_stride : padding;
            rows->y[t * LANES + l] = there ? head->y + token * head->y_stride : NULL;
        }
}

/* Transposes one token of all windows into lanes, times `scale`. */
static void pack(vec *to, const real *const *row, size_t offset, size_t channels, real scale)
{
    size_t whole = channels - channels % LANES;

    for (size_t ch = 0; ch < whole; ch += LANES) {
        vec square[LANES];
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a window has a token at least */
        for (size_t l = 0; l < LANES; l++) square[l] = vec_loadu(row[l] + offset + ch) * scale;
        vec_transpose(square);
        for (size_t l = 0; l < LANES; l++) to[ch + l] = square[l];
    }
    for (size_t ch = whole; ch < channels; ch++)
        for (size_t l = 0; l < LANES; l++) to[ch][l] = row[l][offset + ch] * scale;
}

/* Transposes one token of all windows back into rows of y. */
static void unpack(real *const *y, const vec *from, size_t channels)
{
    size_t whole = channels - channels % LANES;

    for (size_t ch = 0; ch < whole; ch += LANES) {
        vec square[LANES];
        for (size_t l = 0; l < LANES; l++) square[l] = from[ch + l];
        vec_transpose(square);
        for (size_t l = 0; l < LANES; l++)
            if (y[l]) vec_storeu(y[l] + ch, square[l]);
    }
    for (size_t ch = whole; ch < channels; ch++)
        for (size_t l = 0; l < LANES; l++)
            if (y[l]) y[l][ch] = from[ch][l];
}

/* s_tu = q_t . k_u, in blocks of `block` by `block` sums. */
INLINED void scores(vec *s, const vec *q, const vec *k, size_t T, size_t channels, size_t block)
{
    for (size_t t = 0; t < T; t += block)
        for (size_t u = 0; u < T; u += block) {
            vec sum[4][4] = {{{0}}};
            for (size_t ch = 0; ch < channels; ch++)
                for (size_t i = 0; i < block; i++)
                    for (size_t j = 0; j < block; j++)
                        sum[i][j] += q[(t + i) * channels + ch] * k[(u + j) * channels + ch];
            for (size_t i = 0; i < block; i++)
                for (size_t j = 0; j < block; j++) s[(t + i) * T + u + j] = sum[i][j];
        }
}

/* Softmax of scores that include the factor log2(e). */
INLINED void weights(vec *s, size_t T)
{
    vec top = s[0], sum = {0};
    for (size_t u = 1; u < T; u++) top = vec_max(s[u], top);
    for (size_t u = 0; u < T; u++) {
        s[u] = exp2_vec(s[u] - top);
        sum += s[u];
    }
    vec share = 1 / sum;
    for (size_t u = 0; u < T; u++) s[u] *= share;
}

/* o_t,ch = sum_u s_tu v_u,ch for `block` tokens and `strip` channels. */
INLINED void means_at(vec *o, const vec *s, const vec *v, size_t T, size_t channels, size_t block, size_t strip)
{
    vec sum[4][STRIP] = {{{0}}};
    for (size_t u = 0; u < T; u++)
        for (size_t i = 0; i < block; i++)
            for (size_t n = 0; n < strip; n++) sum[i][n] += s[i * T + u] * v[u * channels + n];
    for (size_t i = 0; i < block; i++)
        for (size_t n = 0; n < strip; n++) o[i * channels + n] = sum[i][n];
}

INLINED void attend(const struct rows *rows, real scale, size_t c, vec *q, size_t T, size_t block)
{
    vec *k = q + T * c, *v = k + T * c, *s = v + T * c;

    /* Step 1: rows into lanes; log2(e) in the scale turns exp into 2^x. */
    for (size_t t = 0; t < T; t++) {
        const real *const *row = rows->q + t * LANES;
        pack(q + t * c, row, 0, c, scale * LOG2_E);
        pack(k + t * c, row, rows->key, c, 1);
        pack(v + t * c, row, rows->value, c, 1);
    }

    /* Step 2: the weights of all pairs. */
    scores(s, q, k, T, c, block);
    for (size_t t = 0; t < T; t++) weights(s + t * T, T);

    /* Step 3: the output, which overwrites the queries. */
    for (size_t t = 0; t < T; t += block) {
        size_t ch = 0;
        for (; ch + STRIP <= c; ch += STRIP) means_at(q + t * c + ch, s + t * T, v + ch, T, c, block, STRIP);
        for (; ch < c; ch++) means_at(q + t * c + ch, s + t * T, v + ch, T, c, block, 1);
    }

    /* Step 4: back into the rows of y. */
    for (size_t t = 0; t < T; t++) unpack(rows->y + t * LANES, q + t * c, c);
}

void window_attention_prepare(struct arena *arena, real **workspace, size_t s, size_t channels)
{
    arena_reals(arena, PER_THREAD, workspace, "small windows", s * s, 3 * channels + s * s, LANES);
}

void window_attention(const struct head *head, const struct windows *windows, const real *padding,
                      real scale, size_t channels, real *workspace)
{
    struct rows rows;
    vec *q = (vec *)head_thread(head, workspace);

    place(&rows, head, windows, padding);
    if (windows->edge == 2) attend(&rows, scale, channels, q, 4, 4);
    else attend(&rows, scale, channels, q, 9, 3);
}
