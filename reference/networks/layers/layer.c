/* layer.c -- functions that the layers share; see layer.h */

#include "layer.h"
#include <tgmath.h>

void layer_adjust_gain(real *values, size_t count)
{
    for (size_t i = 0; i < count; i++) values[i] = 1 + values[i] / 4;
}

void layer_adjust_variance(real *values, size_t count)
{
    for (size_t i = 0; i < count; i++) values[i] = (real)0.5 + values[i] * values[i] / 2;
}

void layer_fold(real *factor, real *summand, const real *g, const real *b, const real *mean, const real *var,
                size_t channels, double epsilon)
{
    for (size_t c = 0; c < channels; c++) {
        double f = (double)g[c] / sqrt((double)var[c] + epsilon);
        factor[c] = (real)f;
        summand[c] = (real)((double)b[c] - f * (double)mean[c]);
    }
}

status layer_halve(struct problem *p)
{
    size_t H = p->grid.size[0], W = p->grid.size[1], C = problem_size(p, "C");
    if (H % 2 || W % 2)
        return bad_input("option --grid: found %zux%zu, expected even sides", H, W);
    if (C > INT_MAX / 8) return bad_input("tensor x: C is %zu, expected at most %d", C, INT_MAX / 8);
    return problem_set_size(p, "N'", H / 2 * (W / 2));
}
