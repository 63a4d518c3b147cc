/* layers.c -- the list of layers, and what several of them do; see layers.h */

#include "layer.h"
#include <tgmath.h>

extern const struct form layer_patch_form, layer_norm_form, layer_mlp_form, layer_depthwise_form, layer_linear_form,
    layer_merge_form, layer_deform_form, layer_position_form, layer_head_form;

const struct form_row layer_forms[] = {
    {&layer_patch, &layer_patch_form},
    {&layer_norm_of_tokens, &layer_norm_form},
    {&layer_mlp, &layer_mlp_form},
    {&layer_depthwise, &layer_depthwise_form},
    {&layer_linear, &layer_linear_form},
    {&layer_merge, &layer_merge_form},
    {&layer_deform, &layer_deform_form},
    {&layer_position, &layer_position_form},
    {&layer_head, &layer_head_form},
    {NULL, NULL}
};

const struct declaration *layer_at(int at)
{
    for (const struct form_row *row = layer_forms; row->declaration; row++)
        if (at-- == 0) return row->declaration;
    return NULL;
}

const struct declaration *layer_find(const char *name)
{
    const struct declaration *d;
    for (int l = 0; (d = layer_at(l)); l++)
        if (!strcmp(d->name, name)) return d;
    return NULL;
}

grid layer_grid(const struct problem *p)
{
    grid out = p->grid;
    if (p->declaration == &layer_patch && layer_patch_grid(&out, p).code) return p->grid;
    if (p->declaration == &layer_merge || p->declaration == &layer_deform) {
        size_t half[] = {out.size[0] / 2, out.size[1] / 2};
        if (grid_create(&out, 2, half).code) return p->grid;
    }
    return out;
}

void layer_adjust_gain(real *drawn, size_t count)
{
    for (size_t i = 0; i < count; i++) drawn[i] = 1 + drawn[i] / 4;
}

void layer_adjust_variance(real *drawn, size_t count)
{
    for (size_t i = 0; i < count; i++) drawn[i] = (real)0.5 + drawn[i] * drawn[i] / 2;
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
