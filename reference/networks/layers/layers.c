/* layers.c -- the list of layers; see layers.h */

#include "layers.h"
#include "../../runtime/lookup.h"

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
        if (same_letters(d->name, name)) return d;
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
