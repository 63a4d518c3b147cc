/* layer.h -- functions that the layers share */

#pragma once
#include <limits.h>
#include <string.h>
#include "../../runtime/batch.h"
#include "../../runtime/linear.h"
#include "../../runtime/lookup.h"
#include "../../../fast/tuned/gelu.h"
#include "../../../fast/tuned/packed_linear.h"
#include "layers.h"

#define LAYER_TOKENS {.name = "x", .shape = "B N C", .meaning = "the tokens"}

#define LAYER_GRID(lowest, highest, axes) \
    {.name = "grid", .kind = OPTION_GRID, .low = lowest, .high = highest, .meaning = "the token grid: " axes}

/* Tokens of a tile, of `reals` numbers each.  A tile has 512 KB in float, for the second-level cache, but at least 128
 * tokens, since each tile reads all weights, and at most 512. */
static inline size_t layer_tile(size_t reals)
{
    size_t tokens = 131072 / (reals ? reals : 1);
    return tokens < 128 ? 128 : tokens > 512 ? 512 : tokens;
}

/* Copies the sizes of a list of axes to the end of `aligned`.  The axes before them get size `missing`. */
static inline void align_axes(size_t aligned[GRID_AXES], const size_t *size, int axes, size_t missing)
{
    for (int a = 0; a < GRID_AXES; a++) aligned[a] = a < GRID_AXES - axes ? missing : size[a - (GRID_AXES - axes)];
}

/* y_c = b_c + sum_t w_tc x_tc over `taps` rows of x and of weights, or gelu of it. */
static inline void sum_taps(real *y, const real *const *x, const real *const *w, size_t taps, const real *b,
                            size_t channels, bool with_gelu)
{
    size_t c = 0;
    for (; c + LANES <= channels; c += LANES) {
        vec sum = b ? vec_loadu(b + c) : (vec){0};
        for (size_t t = 0; t < taps; t++) sum += vec_loadu(w[t] + c) * vec_loadu(x[t] + c);
        vec_storeu(y + c, with_gelu ? gelu_vec(sum) : sum);
    }
    if (c == channels) return;
    vec sum = b ? vec_load_partial(b + c, channels - c) : (vec){0};
    for (size_t t = 0; t < taps; t++)
        sum += vec_load_partial(w[t] + c, channels - c) * vec_load_partial(x[t] + c, channels - c);
    vec_store_partial(y + c, with_gelu ? gelu_vec(sum) : sum, channels - c);
}

static inline status layer_run(struct plan *plan, real *y, const real *x, void (*run_chunk)(const struct team *))
{
    const struct problem *p = plan->problem;
    size_t images = problem_size(p, "B");
    const struct batch batch = {.images = images, .x_image = problem_input_count(p) / images,
                                .y_image = problem_output_count(p) / images, .chunk = images};
    return batch_run(plan, y, x, &batch, run_chunk);
}

/* to[m][c] = from[c][m]: the weights of a window, with its entries as the first axis. */
static inline void entries_first(real *to, const real *from, size_t channels, size_t entries)
{
    for (size_t c = 0; c < channels; c++)
        for (size_t m = 0; m < entries; m++) to[m * channels + c] = from[c * entries + m];
}

/* Map normal numbers to gains around 1, and to positive variances. */
void layer_adjust_gain(real *values, size_t count);
void layer_adjust_variance(real *values, size_t count);

/* Folds a batch norm into a factor and a summand for each channel. */
void layer_fold(real *factor, real *summand, const real *g, const real *b, const real *mean, const real *var,
                size_t channels, double epsilon);

/* Binds N' = N/4, the number of 2 x 2 patches.  Bad input if a side of the plane is odd, or if C > INT_MAX / 8. */
status layer_halve(struct problem *p);
