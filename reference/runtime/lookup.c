/* lookup.c -- options, sizes and tensors of a problem by name; see lookup.h */

#include "lookup.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* True if any row has this name, in force or not. */
static bool declaration_has_tensor(const struct declaration *d, const char *name)
{
    for (const struct tensor_row *t = d->tensors; t->name; t++)
        if (!strcmp(t->name, name)) return true;
    return false;
}

static void unknown(struct lookup *names, const char *kind, const char *name)
{
    if (!names->error.code)
        names->error = failure("%s has no %s of the name '%.40s'", names->problem->declaration->name, kind, name);
}

size_t lookup_size(struct lookup *names, const char *letter)
{
    const struct problem *p = names->problem;
    size_t size = problem_size(p, letter);
    if (!size && !declaration_has_letter(p->declaration, letter)) unknown(names, "size", letter);
    return size;
}

static int known_option(struct lookup *names, const char *option)
{
    int o = declaration_option(names->problem->declaration, option);
    if (o < 0) unknown(names, "option", option);
    return o;
}

double lookup_number(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    return o < 0 ? 0 : names->problem->option[o].number;
}

size_t lookup_whole(struct lookup *names, const char *option)
{
    return (size_t)lookup_number(names, option);
}

const char *lookup_text(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    return o < 0 || !names->problem->option[o].text ? "" : names->problem->option[o].text;
}

int lookup_choice(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    const char *choices = o < 0 ? NULL : names->problem->declaration->options[o].choices;
    return choices && names->problem->option[o].text ? word_place(choices, names->problem->option[o].text) : -1;
}

bool lookup_given(struct lookup *names, const char *option)
{
    int o = known_option(names, option);
    return o >= 0 && names->problem->option[o].given;
}

const size_t *lookup_sizes(struct lookup *names, const char *option)
{
    static const size_t none[GRID_AXES];
    int o = known_option(names, option);
    return o < 0 ? none : names->problem->option[o].size;
}

/* Index of the tensor in problem.tensor, or -1 if it is absent. */
static int present_tensor(struct lookup *names, const char *name)
{
    int r = problem_row(names->problem, name);
    if (r < 0 && !declaration_has_tensor(names->problem->declaration, name)) unknown(names, "tensor", name);
    return r >= 0 && names->problem->tensor[r].present ? r : -1;
}

const real *lookup_tensor(struct lookup *names, const char *name)
{
    static const real no_data[] = {(real)NAN};
    int r = present_tensor(names, name);
    if (r < 0) return NULL;
    return names->problem->tensor[r].data ? names->problem->tensor[r].data : no_data;
}

size_t lookup_axis(struct lookup *names, const char *name, int axis)
{
    int r = present_tensor(names, name);
    return r < 0 || axis >= names->problem->tensor[r].axes ? 0 : names->problem->tensor[r].size[axis];
}

double problem_number(const struct problem *p, const char *option)
{
    struct lookup names = {.problem = p};
    double number = lookup_number(&names, option);
    return names.error.code ? NAN : number;
}

const char *problem_text(const struct problem *p, const char *option)
{
    struct lookup names = {.problem = p};
    const char *text = lookup_text(&names, option);
    return names.error.code ? NULL : text;
}

bool problem_given(const struct problem *p, const char *option)
{
    struct lookup names = {.problem = p};
    return lookup_given(&names, option);
}

const real *problem_tensor(const struct problem *p, const char *name)
{
    int r = problem_row(p, name);
    return r < 0 ? NULL : p->tensor[r].data;
}

size_t problem_axis(const struct problem *p, const char *name, int axis)
{
    struct lookup names = {.problem = p};
    return lookup_axis(&names, name, axis);
}

/* ---- suggestions ---------------------------------------------------- */

#define LONGEST 63              /* letters of a name that is compared */

static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }
static int folded(char c) { return c == '_' ? '-' : lower(c); }

bool same_letters(const char *a, const char *b)
{
    for (; *a && lower(*a) == lower(*b); a++) b++;
    return lower(*a) == lower(*b);
}

static int least(int a, int b) { return a < b ? a : b; }

/* The Damerau-Levenshtein distance, restricted to edits that do not overlap, from three rows of its table. */
static int distance(const char *a, size_t m, const char *b, size_t n)
{
    int table[3][LONGEST + 1];
    for (size_t j = 0; j <= n; j++) table[0][j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int *row = table[i % 3], *last = table[(i + 2) % 3], *before = table[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = least(last[j - 1] + (folded(a[i - 1]) != folded(b[j - 1])), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return table[m % 3][n];
}

void nearest_try(struct nearest *n, const char *known)
{
    size_t a = strlen(n->found), b = strlen(known);
    if (a > LONGEST || b > LONGEST) return;
    int edits = distance(n->found, a, known, b);
    bool contains = (b > 2 && strstr(n->found, known)) || (a > 2 && strstr(known, n->found));
    if ((edits > (int)a / 3 && !contains) || (n->name && edits >= n->edits)) return;
    n->name = known;
    n->edits = edits;
}

status nearest_suggest(status s, const struct nearest *n)
{
    char text[LONGEST + 30];
    snprintf(text, sizeof text, "; did you mean %s%s?", n->before ? n->before : "", n->name ? n->name : "");
    size_t length = strlen(s.message);
    if (n->name && length + strlen(text) < sizeof s.message)
        memcpy(s.message + length, text, strlen(text) + 1);
    return s;
}

status unknown_option(const char *word, const struct declaration *d, const struct declaration *other)
{
    struct nearest n = {.found = word + strspn(word, "-"), .before = "--"};
    for (const struct option *o = d->options; o->name; o++) nearest_try(&n, o->name);
    for (const struct option *o = other->options; o->name; o++) nearest_try(&n, o->name);
    return nearest_suggest(bad_input("found '%.60s', expected an option ('twicetold help %s')", word, d->name), &n);
}
