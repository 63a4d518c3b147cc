/* problem.c -- a declaration with sizes and tensors; see operator.h */

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decimal.h"
#include "lookup.h"
#include "operator.h"
#include "random.h"
#include "shape.h"

/* ---- letters --------------------------------------------------------- */

size_t problem_size(const struct problem *p, const char *letter)
{
    for (int l = 0; l < p->letters; l++)
        if (!strcmp(p->letter[l].name, letter)) return p->letter[l].size;
    return 0;
}

status problem_set_size(struct problem *p, const char *letter, size_t size)
{
    if (strlen(letter) > 3) return bad_input("size %.20s: expected a letter of the operator's table", letter);
    for (int l = 0; l < p->letters; l++)
        if (!strcmp(p->letter[l].name, letter)) {
            if (p->letter[l].size == size) return status_ok();
            return bad_input("size %s: found %zu, expected %zu", letter, size, p->letter[l].size);
        }
    if (size > INT_MAX) return bad_input("size %s: found %zu, expected at most %d", letter, size, INT_MAX);
    if (p->letters == PROBLEM_LETTERS) return failure("more than %d sizes", PROBLEM_LETTERS);
    memcpy(p->letter[p->letters].name, letter, strlen(letter) + 1);
    p->letter[p->letters++].size = size;
    return status_ok();
}

status derive_head_channels(struct problem *p)
{
    size_t C = problem_size(p, "C"), h = problem_size(p, "h");
    if (C % h) return bad_input("option --heads: found %zu, expected a divisor of C = %zu", h, C);
    return problem_set_size(p, "c", C / h);
}

/* ---- options --------------------------------------------------------- */

static status set_grid(struct problem *p, const struct option *o, const char *text)
{
    status s = grid_parse(&p->grid, text);
    if (s.code) return s;
    if (p->grid.axes < o->low || p->grid.axes > o->high)
        return bad_input("found '%.40s', a grid of %d axes, expected %s", text, p->grid.axes,
                         o->low < 2 ? "from one to three" : o->high > 2 ? "two, HxW, or three, TxHxW" : "two, HxW");
    if ((s = problem_set_size(p, "N", p->grid.tokens)).code) return s;
    if (o->letter && (s = problem_set_size(p, o->letter, p->grid.tokens)).code) return s;
    return problem_set_size(p, "P", p->grid.offsets);
}

static status set_kernel(struct problem *p, int at, const struct option *o, const char *text)
{
    grid kernel;
    status s = grid_parse(&kernel, text);
    if (s.code) return s;
    for (int a = 0; a < kernel.axes; a++)
        if (kernel.size[a] % 2 == 0) return bad_input("found '%.40s', expected odd sizes", text);
    p->option[at].axes = kernel.axes;
    memcpy(p->option[at].size, kernel.size, sizeof kernel.size);
    return o->letter ? problem_set_size(p, o->letter, kernel.tokens) : status_ok();
}

static status set_steps(struct problem *p, int at, const struct option *o, const char *text)
{
    int *axes = &p->option[at].axes;
    size_t *size = p->option[at].size;
    status s = grid_numbers(axes, size, text);
    if (s.code) return s;
    for (int a = 0; a < *axes; a++)
        if ((double)size[a] < o->low || (double)size[a] > o->high)
            return bad_input("found '%.40s', expected whole numbers from %.15g to %.15g", text, o->low, o->high);
    return s;
}

/* Whole numbers are plain digits; reals are finite and in decimal notation. */
static status set_number(struct problem *p, int at, const struct option *o, const char *text)
{
    bool whole = o->kind == OPTION_INTEGER;
    const char *digits = whole ? "0123456789" : "0123456789+-.eE";
    char *end = NULL;
    double number = decimal_read(text, &end);
    if (!*text || strspn(text, digits) != strlen(text) || *end || !isfinite(number)
        || number < o->low || number > o->high)
        return bad_input("found '%.40s', expected a %s from %.15g to %.15g", text,
                         whole ? "whole number" : "finite number", o->low, o->high);
    p->option[at].number = number;
    return o->letter ? problem_set_size(p, o->letter, (size_t)number) : status_ok();
}

static status set_option(struct problem *p, int at, const char *text)
{
    const struct option *o = &p->declaration->options[at];
    status s = status_ok();
    p->option[at].text = text;
    switch (o->kind) {
    case OPTION_FLAG: break;
    case OPTION_GRID: s = set_grid(p, o, text); break;
    case OPTION_KERNEL: s = set_kernel(p, at, o, text); break;
    case OPTION_STEPS: s = set_steps(p, at, o, text); break;
    case OPTION_CHOICE:
        if (o->choices && word_place(o->choices, text) < 0)
            s = bad_input("found '%.40s', expected one of %s", text, o->choices);
        else if (!*text)
            s = bad_input("found '', expected a value");
        p->option[at].number = decimal_read(text, NULL);
        break;
    case OPTION_INTEGER:
    case OPTION_REAL: s = set_number(p, at, o, text); break;
    }
    if (!s.code) return s;
    char where[40];
    snprintf(where, sizeof where, "option --%.28s", o->name);
    return status_at(s, where);
}

/* A kernel must have the axes of the grid, and so must steps; a single step is for all axes. */
static status match_axes(struct problem *p, int at)
{
    const struct option *o = &p->declaration->options[at];
    int *axes = &p->option[at].axes;
    size_t *size = p->option[at].size;
    if (o->kind == OPTION_STEPS && *axes == 1)
        for (; *axes < p->grid.axes; ++*axes) size[*axes] = size[0];
    if (!*axes || *axes == p->grid.axes) return status_ok();
    return bad_input("option --%s: found %d axes, expected %d as the grid has%s", o->name, *axes, p->grid.axes,
                     o->kind == OPTION_STEPS && p->grid.axes > 1 ? ", or one number for all" : "");
}

static status within_limits(const struct declaration *d)
{
    size_t options = 0, tensors = 0;
    while (d->options[options].name) options++;
    while (d->tensors && d->tensors[tensors].name) tensors++;
    if (options <= PROBLEM_OPTIONS && tensors <= PROBLEM_TENSORS && d->resolved <= PROBLEM_RESOLVED) return status_ok();
    return failure("%s: %zu options, %zu tensors and %zu bytes resolved, expected at most %d, %d and %d", d->name,
                   options, tensors, d->resolved, PROBLEM_OPTIONS, PROBLEM_TENSORS, PROBLEM_RESOLVED);
}

status problem_create(struct problem *p, const struct declaration *d, int words, const char *const *word)
{
    status s = within_limits(d);
    if (s.code) return s;
    *p = (struct problem){.declaration = d};
    for (int w = 0; w < words; w++) {
        int o = strncmp(word[w], "--", 2) ? -1 : declaration_option(d, word[w] + 2);
        if (o < 0) return unknown_option(word[w], d, d);
        if (p->option[o].given) return bad_input("option %s: given twice, expected once", word[w]);
        p->option[o].given = true;
        if (d->options[o].kind == OPTION_FLAG) {
            p->option[o].text = "given";
            continue;
        }
        if (w + 1 == words || !word_is_value(word[w + 1]))
            return bad_input("option %s: found no value, expected one", word[w]);
        w++;
        if ((s = set_option(p, o, word[w])).code) return s;
    }
    for (int o = 0; d->options[o].name; o++) {
        if (p->option[o].given || d->options[o].kind == OPTION_FLAG) continue;
        if (!d->options[o].default_value)
            return bad_input("option --%s: missing, expected %s", d->options[o].name, d->options[o].meaning);
        if (*d->options[o].default_value && (s = set_option(p, o, d->options[o].default_value)).code) return s;
    }
    for (int o = 0; d->options[o].name; o++)
        if ((s = match_axes(p, o)).code) return s;
    return status_ok();
}

/* ---- tensors --------------------------------------------------------- */

/* One condition of a row, `length` characters: OPTION=a|b or OPTION~word. */
static bool condition(const struct problem *p, const char *when, size_t length)
{
    char option[24], list[48];
    size_t n = strcspn(when, "=~");
    snprintf(option, sizeof option, "%.*s", (int)n, when);
    snprintf(list, sizeof list, "%.*s", (int)(length - n - 1), when + n + 1);
    int o = declaration_option(p->declaration, option);
    const char *text = o < 0 || !p->option[o].text ? "" : p->option[o].text;
    return when[n] == '~' ? words_have(text, list, strlen(list)) : word_place(list, text) >= 0;
}

static bool in_force(const struct problem *p, const struct tensor_row *row)
{
    for (const char *when = row->when; when;) {
        size_t length = strcspn(when, " ");
        if (!condition(p, when, length)) return false;
        when = when[length] ? when + length + 3 : NULL;      /* skip " & " */
    }
    return true;
}

int problem_row(const struct problem *p, const char *name)
{
    const struct tensor_row *rows = p->declaration->tensors;
    for (int r = 0; rows[r].name; r++)
        if (!strcmp(rows[r].name, name) && in_force(p, &rows[r])) return r;
    return -1;
}

size_t problem_parameters(const struct problem *p)
{
    size_t sum = 0;
    for (int r = 1; p->declaration->tensors[r].name; r++) size_add(&sum, p->tensor[r].count, 1);
    return sum;
}

size_t problem_list(struct tensor all[PROBLEM_TENSORS], const struct problem *p)
{
    size_t count = 0;
    for (int r = 0; p->declaration->tensors[r].name; r++) {
        if (!p->tensor[r].present) continue;
        struct tensor *t = &all[count++];
        *t = (struct tensor){.name = (char *)(size_t)p->declaration->tensors[r].name, .axes = p->tensor[r].axes,
                             .count = p->tensor[r].count, .data = p->tensor[r].data};
        for (int a = 0; a < t->axes; a++) t->size[a] = p->tensor[r].size[a];
    }
    return count;
}

size_t problem_input_count(const struct problem *p)
{
    return p->tensor[0].count;
}

size_t problem_output_count(const struct problem *p)
{
    int axes;
    size_t size[TENSOR_AXES], count = 1;
    if (problem_output_shape(p, &axes, size).code) return 0;
    for (int a = 0; a < axes; a++)
        if (!size_multiply(&count, count, size[a])) return SIZE_MAX;
    return count;
}

status problem_output_shape(const struct problem *p, int *axes, size_t size[TENSOR_AXES])
{
    return shape_sizes(axes, size, p, p->declaration->output);
}

/* True if the tensor has this shape.  Then its free letters are bound, else none is. */
static bool fits(struct problem *p, const char *shape, const struct tensor *t)
{
    int letters = p->letters, axes = 0;
    const char *axis;
    bool fit = true;
    for (size_t length; fit && (length = shape_next_axis(&shape, &axis)) > 0; axes++) {
        size_t size = 0;
        char letter[4];
        enum axis_kind kind = shape_axis(&size, letter, p, axis, length);
        if (axes >= t->axes) fit = false;
        else if (kind == AXIS_FREE) fit = !problem_set_size(p, letter, t->size[axes]).code;
        else fit = kind == AXIS_KNOWN && size == t->size[axes];
    }
    if (fit && axes == t->axes) return true;
    p->letters = letters;
    return false;
}

/* True if the first alternative has an axis of size 0: then the tensor must be absent. */
static bool empty(const struct problem *p, const char *shape)
{
    const char *axis;
    for (size_t length; (length = shape_next_axis(&shape, &axis)) > 0;) {
        size_t size = 1;
        char letter[4];
        if (shape_axis(&size, letter, p, axis, length) == AXIS_KNOWN && size == 0) return true;
    }
    return false;
}

/* Binds the letters that follow from x, and checks the number of tokens: sizes of BLAS are int. */
static status derive(struct problem *p)
{
    size_t tokens;
    status s = p->declaration->derive ? p->declaration->derive(p) : status_ok();
    if (s.code) return s;
    if (!size_multiply(&tokens, problem_size(p, "B"), problem_size(p, "N")) || tokens > INT_MAX)
        return bad_input("tensor x: B N is too large, expected at most %d", INT_MAX);
    return s;
}

static status bind_row(struct problem *p, int r, const struct tensors *file)
{
    const struct tensor_row *row = &p->declaration->tensors[r];
    struct tensor *t = tensors_find(file, row->name);
    char expected[120], found[120];
    if (empty(p, row->shape)) {
        if (t) return bad_input("tensor %s: found one, expected none as a size of its shape is 0", row->name);
        return status_ok();
    }
    shape_describe(expected, sizeof expected, p, row->shape);
    if (!t && row->optional) return status_ok();
    if (!t) return tensor_missing(row->name, expected, file);
    const char *shape = row->shape;
    while (shape && !fits(p, shape, t)) shape = shape_next_alternative(shape);
    if (!shape)
        return bad_input("tensor %s: found %s, expected %s", row->name,
                         shape_text(found, sizeof found, t->axes, t->size), expected);
    if (row->needs && !tensors_find(file, row->needs))
        return bad_input("tensor %s: found without %s, expected both or neither", row->name, row->needs);
    p->tensor[r].present = true;
    p->tensor[r].axes = t->axes;
    memcpy(p->tensor[r].size, t->size, sizeof t->size);
    p->tensor[r].count = t->count;
    p->tensor[r].data = t->data;
    return status_ok();
}

/* The names of the rows in force, for a message: "x, w_qkv, b_qkv, ..." */
static void list_names(char *text, size_t size, const struct problem *p)
{
    size_t at = 0;
    for (int r = 0; p->declaration->tensors[r].name && at < size; r++)
        if (in_force(p, &p->declaration->tensors[r]))
            at += (size_t)snprintf(text + at, size - at, r ? ", %s" : "%s", p->declaration->tensors[r].name);
}

static status check(const struct problem *p)
{
    return p->declaration->check ? p->declaration->check(p) : status_ok();
}

status problem_bind(struct problem *p, const struct tensors *file)
{
    status s;
    for (int r = 0; p->declaration->tensors[r].name; r++) {
        if (!in_force(p, &p->declaration->tensors[r])) continue;
        if ((s = bind_row(p, r, file)).code) return s;
        if (r == 0 && (s = derive(p)).code) return s;
    }
    for (size_t t = 0; t < file->count; t++)
        if (problem_row(p, file->tensor[t].name) < 0) {
            char names[140];
            list_names(names, sizeof names, p);
            struct nearest n = {.found = file->tensor[t].name};
            for (int r = 0; p->declaration->tensors[r].name; r++)
                if (in_force(p, &p->declaration->tensors[r])) nearest_try(&n, p->declaration->tensors[r].name);
            return nearest_suggest(bad_input("tensor %.40s: not of this operator with these options, expected %s",
                                             n.found, names), &n);
        }
    return problem_loaded(p).code ? status_ok() : check(p);
}

static bool included(const struct problem *p, const struct tensor_row *row)
{
    for (int o = 0; row->only_if && p->declaration->options[o].name; o++)
        if (p->option[o].given && word_place(row->only_if, p->declaration->options[o].name) >= 0) return true;
    return !row->only_if;
}

status problem_shape(struct problem *p, bool (*without)(const char *name, void *params), void *params)
{
    status s;
    for (int r = 0; p->declaration->tensors[r].name; r++) {
        const struct tensor_row *row = &p->declaration->tensors[r];
        bool absent = !in_force(p, row) || !included(p, row) || (row->optional && without && without(row->name, params))
                   || (row->needs && problem_row(p, row->needs) < r && !p->tensor[problem_row(p, row->needs)].present);
        if (absent || empty(p, row->shape)) continue;
        if ((s = shape_sizes(&p->tensor[r].axes, p->tensor[r].size, p, row->shape)).code)
            return status_at(s, row->name);
        p->tensor[r].present = true;
        p->tensor[r].count = 1;
        for (int a = 0; a < p->tensor[r].axes; a++)
            if (!size_multiply(&p->tensor[r].count, p->tensor[r].count, p->tensor[r].size[a]))
                return bad_input("tensor %s: its size overflows", row->name);
        if (r == 0 && (s = derive(p)).code) return s;
    }
    return status_ok();
}

status problem_loaded(const struct problem *p)
{
    for (int r = 1; p->declaration->tensors[r].name; r++)
        if (p->tensor[r].present && !p->tensor[r].data)
            return failure("tensor %s: has no data yet", p->declaration->tensors[r].name);
    return status_ok();
}

status problem_draw(struct problem *p, uint64_t seed, real **block)
{
    *block = memory_reals(problem_parameters(p), 1, 1, 1);
    return *block ? problem_draw_into(p, seed, *block, random_fill_normal) : out_of_memory("random parameters");
}

status problem_draw_into(struct problem *p, uint64_t seed, real *block, random_fill *fill)
{
    size_t at = 0;
    for (int r = 1; p->declaration->tensors[r].name; r++) {
        if (!p->tensor[r].present) continue;
        p->tensor[r].data = block + at;
        at += p->tensor[r].count;
        fill(p->tensor[r].data, p->tensor[r].count, seed, (uint64_t)r,
             1 / sqrt(shape_product(p, p->declaration->tensors[r].fan_in)));
        if (p->declaration->tensors[r].adjust) p->declaration->tensors[r].adjust(p->tensor[r].data, p->tensor[r].count);
    }
    return check(p);
}
