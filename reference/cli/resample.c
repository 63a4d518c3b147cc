/* resample.c -- the command that fits kernels and tables to another grid */

#include <stdio.h>
#include <string.h>
#include "../runtime/bytes.h"
#include "regrid.h"
#include "../networks/layers/layers.h"
#include "../lisa.h"
#include "../runtime/lookup.h"
#include "command.h"

/* Meaning of the entries of a tensor: any, a circular kernel, one for each token, one for each offset. */
enum kind { COPIED, CIRCULAR, PLACES, OFFSETS };

struct resampled {
    enum kind kind;
    int axis, axes;             /* which axis of the tensor, of how many */
};

/* Index of the axis that is this letter, or -1; sets the number of axes. */
static int axis_of(const char *shape, const char *letter, int *axes)
{
    int found = -1;
    *axes = 0;
    for (const char *at = shape; *at && *at != '|'; at += strspn(at, " "), ++*axes) {
        size_t length = strcspn(at, " ");
        if (length == strlen(letter) && !strncmp(at, letter, length)) found = *axes;
        at += length;
    }
    return found;
}

/* Position tables and circular kernels have an entry for each token; RPEs and msa's ghost matrices, for each offset. */
static struct resampled meaning(const struct problem *p, const char *name)
{
    struct resampled r = {.kind = COPIED};
    int row = problem_row(p, name);
    if (row < 1) return r;
    const char *shape = p->declaration->tensors[row].shape;
    bool circular = p->declaration == &lisa && !problem_given(p, "kernel");
    if ((r.axis = axis_of(shape, "P", &r.axes)) >= 0) r.kind = OFFSETS;
    else if (circular && (r.axis = axis_of(shape, "M", &r.axes)) >= 0) r.kind = CIRCULAR;
    else if (p->declaration == &layer_position && (r.axis = axis_of(shape, "N", &r.axes)) >= 0) r.kind = PLACES;
    return r;
}

/* The sizes of a table's axes on a grid. */
static size_t table_sizes(size_t size[GRID_AXES], const grid *g, enum kind kind)
{
    for (int a = 0; a < GRID_AXES; a++) size[a] = kind == OFFSETS ? 2 * g->size[a] - 1 : g->size[a];
    return kind == OFFSETS ? g->offsets : g->tokens;
}

/* The caller releases *out. */
static status resampled(struct tensor *out, const struct tensor *in, const struct resampled *r, const grid *from,
                        const grid *to, enum regrid_rule rule)
{
    char found[120];
    size_t old[GRID_AXES], new[GRID_AXES], size[TENSOR_AXES], outer = 1, inner = 1;
    size_t entries = table_sizes(old, from, r->kind), expected = table_sizes(new, to, r->kind);
    if (in->axes != r->axes || in->size[r->axis] != entries)
        return bad_input("found %s, expected %zu entries along axis %d of %d",
                         shape_text(found, sizeof found, in->axes, in->size), entries, r->axis + 1, r->axes);
    if (r->kind == CIRCULAR && rule == REGRID_BICUBIC)
        return bad_input("found --by bicubic, expected zeros or spectrum: it is a circular kernel");
    if (r->kind != CIRCULAR && rule != REGRID_BICUBIC)
        return bad_input("found --by %s, expected bicubic: it is a table", rule == REGRID_ZEROS ? "zeros" : "spectrum");
    for (int a = 0; a < in->axes; a++) {
        size[a] = a == r->axis ? expected : in->size[a];
        if (a < r->axis) outer *= in->size[a];
        if (a > r->axis) inner *= in->size[a];
    }
    status s = tensor_create(out, in->name, in->axes, size);
    return s.code ? s : regrid(out->data, in->data, outer, old, new, inner, rule);
}

static status operator_on(struct problem *p, const struct call *c, const char *grid_text)
{
    const char *word[2 * PROBLEM_OPTIONS];
    int words = 0;
    if (c->words > 2 * PROBLEM_OPTIONS - 2)
        return bad_input("found %d words of options, expected at most %d", c->words, 2 * PROBLEM_OPTIONS - 2);
    for (int w = 0; w < c->words; w++) {
        if (!strcmp(c->word[w], "--grid")) return bad_input("option --grid: found, expected --from and --to");
        word[words++] = c->word[w];
    }
    if (declaration_option(c->operator, "grid") >= 0) {
        word[words++] = "--grid";
        word[words++] = grid_text;
    }
    status s = problem_create(p, c->operator, words, word);
    return s.code || c->operator != &lisa || problem_given(p, "kernel") ? s
           : problem_set_size(p, "M", problem_size(p, "N"));
}

static status resample(const struct call *c)
{
    struct problem p;
    struct tensors file = {0}, out = {0};
    grid from, to;
    const char *from_text = option_text(c, "from", "");
    struct lookup names = {.problem = &c->options};
    enum regrid_rule rule = (enum regrid_rule)lookup_choice(&names, "by");     /* choices are in the enum's order */
    size_t changed = 0, allowed;

    status s = status_at(grid_parse(&from, from_text), "option --from");
    if (!s.code) s = status_at(grid_parse(&to, option_text(c, "to", "")), "option --to");
    if (!s.code && from.axes != to.axes)
        s = bad_input("option --to: found %d axes, expected %d as --from has", to.axes, from.axes);
    if (!s.code) s = operator_on(&p, c, from_text);
    if (!s.code) s = bytes_allowed(&allowed, NULL);
    if (!s.code) memory_set_limit(allowed);
    if (s.code || (s = tensor_file_read(&file, c->input[0], NULL)).code) return s;
    out.tensor = memory_get(file.count + 1, sizeof *out.tensor);
    if (!out.tensor) s = out_of_memory("the tensors");
    for (; !s.code && out.count < file.count; out.count++) {
        const struct tensor *in = &file.tensor[out.count];
        struct tensor *made = &out.tensor[out.count];
        struct resampled r = meaning(&p, in->name);
        char where[80];
        snprintf(where, sizeof where, "tensor %.60s", in->name);
        *made = (struct tensor){0};
        if (problem_row(&p, in->name) < 0)
            s = bad_input("not of %s ('twicetold help %s')", c->operator->name, c->operator->name);
        else if (r.kind != COPIED)
            s = resampled(made, in, &r, &from, &to, rule);
        else if (!(s = tensor_create(made, in->name, in->axes, in->size)).code)
            memcpy(made->data, in->data, in->count * sizeof *in->data);
        s = status_at(s, where);
        changed += r.kind != COPIED;
    }
    if (!s.code && !changed) s = bad_input("found no tensor with an entry for each token or offset, expected one");
    if (!s.code) s = tensor_file_write(c->output, out.tensor, out.count);
    tensors_release(&out);
    tensors_release(&file);
    return s;
}

static const struct option options[] = {
    {.name = "from", .kind = OPTION_CHOICE, .value = "GRID", .meaning = "the grid that the file is for"},
    {.name = "to", .kind = OPTION_CHOICE, .value = "GRID", .meaning = "the new grid, with as many axes"},
    {.name = "by", .kind = OPTION_CHOICE, .choices = "zeros|spectrum|bicubic",
     .meaning = "kernels of LiSA: zeros or spectrum; tables: bicubic"},
    {0}
};

const struct command resample_command = {
    .declaration = {.name = "resample", .summary = "fit kernels and position tables to another grid",
                    .options = options},
    .what = "Resamples LiSA's kernels wa and wb, RPEs, ghost matrices of msa and position tables.  All other tensors\n"
            "are copied, x as well.\n"
            "  zeros     zeros at new, higher frequencies: a kernel is stretched with the image\n"
            "  spectrum  the spectrum is interpolated along its bins: a kernel keeps its width in tokens\n"
            "            (the public code of GFNet does this)\n"
            "  bicubic   a table is interpolated over tokens, or over offsets\n"
            "Takes the operator's options, except --grid.",
    .operator = true,
    .inputs = {"INPUT.safetensors"},
    .output = true,
    .run = resample,
};
