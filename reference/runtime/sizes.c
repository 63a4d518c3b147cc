/* sizes.c -- a problem from given sizes; see sizes.h */

#include "sizes.h"
#include "shape.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 64
#define SIZE_LIMIT 1000000000   /* the largest size that may be typed */

static const char separators[] = ", ";

/* Sets *piece to the next word of a list, moves *list past it, and returns its length; 0 at the end. */
static size_t next_piece(const char **piece, const char **list)
{
    if (!*list) return 0;
    *piece = *list + strspn(*list, separators);
    size_t length = strcspn(*piece, separators);
    *list = *piece + length;
    return length;
}

/* True if the list *(const char **)params has this name. */
static bool listed(const char *name, void *params)
{
    const char *list = *(const char **)params, *piece;
    for (size_t length; (length = next_piece(&piece, &list)) > 0;)
        if (strlen(name) == length && !strncmp(name, piece, length)) return true;
    return false;
}

/* True if the operator requires a grid. */
static bool has_grid(const struct declaration *d)
{
    for (const struct option *o = d->options; o->name; o++)
        if (o->kind == OPTION_GRID && !o->default_value) return true;
    return false;
}

/* Adds small values of required options that are missing: a grid of 6x12, a kernel of 3 on each axis, the number 3. */
static int add_required(const char *word[], char key[PROBLEM_OPTIONS][32], int words, const struct declaration *d)
{
    static const char *const kernels[] = {"3", "3", "3x3", "3x3x3"};
    int given = words, axes = 2;
    for (int o = 0; o < PROBLEM_OPTIONS && d->options[o].name; o++) {
        const struct option *option = &d->options[o];
        grid g;
        int w = 0;
        snprintf(key[o], sizeof key[o], "--%s", option->name);
        while (w < given && strcmp(word[w], key[o])) w++;
        if (option->kind == OPTION_GRID && w + 1 < given && !grid_parse(&g, word[w + 1]).code) axes = g.axes;
        if (w < given || option->default_value || option->kind == OPTION_FLAG) continue;
        word[words++] = key[o];
        word[words++] = option->kind == OPTION_GRID ? "6x12" : option->kind == OPTION_KERNEL ? kernels[axes] : "3";
    }
    return words;
}

static status create(struct problem *p, const struct declaration *d, const struct problem_sizes *o)
{
    const char *word[WORDS + 2 + 2 * PROBLEM_OPTIONS];
    char key[PROBLEM_OPTIONS][32];
    int words = o->words;
    if (words > WORDS) return bad_input("found %d words of options, expected at most %d", words, WORDS);
    for (int w = 0; w < words; w++) word[w] = o->word[w];
    if (o->grid && has_grid(d)) {
        word[words++] = "--grid";
        word[words++] = o->grid;
    }
    if (o->small) words = add_required(word, key, words, d);
    return problem_create(p, d, words, word);
}

/* Sets the sizes of a list such as "D=16,R=4". */
static status set_sizes(struct problem *p, const char *list)
{
    const char *piece;
    status s = status_ok();
    for (size_t length; !s.code && (length = next_piece(&piece, &list)) > 0;) {
        char letter[8] = "", number[16] = "";
        size_t equals = strcspn(piece, "=");
        if (equals < length) {
            snprintf(letter, sizeof letter, "%.*s", (int)equals, piece);
            snprintf(number, sizeof number, "%.*s", (int)(length - equals - 1), piece + equals + 1);
        }
        unsigned long long size = strtoull(number, NULL, 10);
        bool plain = *number && strspn(number, "0123456789") == strlen(number);
        if (!declaration_has_letter(p->declaration, letter))
            return bad_input("option --sizes: found '%.*s', expected LETTER=n with a letter that 'twicetold help %s'"
                             " names", (int)(length < 40 ? length : 40), piece, p->declaration->name);
        if (!plain || size < 1 || size > SIZE_LIMIT)
            return bad_input("option --sizes: found '%.*s', expected a whole number from 1 to %d behind %s=",
                             (int)(length < 40 ? length : 40), piece, SIZE_LIMIT, letter);
        s = status_at(problem_set_size(p, letter, (size_t)size), "option --sizes");
    }
    return s;
}

static status check_without(const struct declaration *d, const char *list)
{
    const char *piece;
    for (size_t length; (length = next_piece(&piece, &list)) > 0;) {
        const struct tensor_row *t = d->tensors;
        while (t->name && (strlen(t->name) != length || strncmp(t->name, piece, length) || !t->optional)) t++;
        if (!t->name)
            return bad_input("option --without: found '%.*s', expected an optional tensor of %s",
                             (int)(length < 40 ? length : 40), piece, d->name);
    }
    return status_ok();
}

bool problem_open_letter(char letter[4], const struct problem *p)
{
    const struct tensor_row *rows = p->declaration->tensors;
    for (int r = 0; rows[r].name; r++) {
        if (problem_row(p, rows[r].name) != r) continue;
        for (const char *at = rows[r].shape; *at && *at != '|'; at += strspn(at, " *+")) {
            bool known = isdigit((unsigned char)*at);
            size_t length = strcspn(at, " *+|");
            snprintf(letter, 4, "%.*s", (int)length, at);
            for (int l = 0; l < p->letters; l++) known |= !strcmp(p->letter[l].name, letter);
            if (!known) return true;
            at += length;
        }
    }
    return false;
}

/* If the error of problem_shape is a letter without a size, returns one that names all such letters and --sizes. */
static status name_open_letters(const struct problem *p, status error)
{
    struct problem guess = *p;
    char first[4], letter[4], list[80] = "";
    if (!strstr(error.message, "is not known") || !problem_open_letter(first, p)) return error;
    for (size_t at = 0; at + 8 < sizeof list && problem_open_letter(letter, &guess); at = strlen(list)) {
        snprintf(list + at, sizeof list - at, "%s%s=n", at ? "," : "", letter);
        if (problem_set_size(&guess, letter, 1).code) break;
    }
    return bad_input("size %s is not known, expected --sizes %s", first, list);
}

/* Binds the letters that are left open: first to 8, so that groups may divide the channels, then to primes. */
static status shape_small(struct problem *p, const char *without, status s)
{
    static const size_t small[] = {8, 3, 5, 7, 11, 13, 17, 19};
    char letter[4];
    for (size_t n = 0; n < sizeof small / sizeof *small && s.code && strstr(s.message, "is not known"); n++) {
        if (!problem_open_letter(letter, p)) break;
        s = problem_set_size(p, letter, small[n]);
        if (!s.code) s = problem_shape(p, listed, &without);
    }
    return s;
}

static status set_last_shapes(struct problem *p, const char *list)
{
    const struct tensor_row *rows = p->declaration->tensors;
    for (int r = 0; list && rows[r].name; r++) {
        int axes;
        size_t size[TENSOR_AXES];
        const char *shape = shape_next_alternative(rows[r].shape), *more = shape;
        for (; more && !shape_sizes(&axes, size, p, more).code; more = shape_next_alternative(more)) shape = more;
        if (!p->tensor[r].present || !shape || !listed(rows[r].name, &list)) continue;
        status s = shape_sizes(&p->tensor[r].axes, p->tensor[r].size, p, shape);
        if (s.code) return status_at(s, rows[r].name);
        p->tensor[r].count = 1;
        for (int a = 0; a < p->tensor[r].axes; a++)
            if (!size_multiply(&p->tensor[r].count, p->tensor[r].count, p->tensor[r].size[a]))
                return bad_input("tensor %s: its size overflows", rows[r].name);
    }
    return status_ok();
}

status problem_from_sizes(struct problem *p, const struct declaration *d, const struct problem_sizes *o)
{
    const char *without = o->without;
    status s = create(p, d, o);
    if (!s.code) s = check_without(d, o->without);
    if (!s.code) s = problem_set_size(p, "B", o->batch);
    if (!s.code) s = problem_set_size(p, "C", o->channels);
    if (!s.code) s = set_sizes(p, o->sizes);
    if (s.code) return s;
    if (!has_grid(d) && o->grid) {
        if ((s = grid_parse(&p->grid, o->grid)).code) return status_at(s, "option --grid");
        if (!problem_size(p, "M") && (s = problem_set_size(p, "M", p->grid.tokens)).code) return s;
        if (!problem_size(p, "N") && (s = problem_set_size(p, "N", p->grid.tokens)).code) return s;
    }
    s = problem_shape(p, listed, &without);
    if (o->small) s = shape_small(p, without, s);
    if (s.code) return name_open_letters(p, s);
    if ((s = set_last_shapes(p, o->last_shape)).code) return s;
    if (!p->grid.axes) {
        char line[24];
        snprintf(line, sizeof line, "%zu", p->tensor[0].size[1]);
        if ((s = grid_parse(&p->grid, line)).code) return s;
    }
    if (problem_input_count(p) != o->batch * p->grid.tokens * o->channels)
        return bad_input("tensor x: found %zu entries, expected batch x tokens x channels", problem_input_count(p));
    return status_ok();
}
