/* cases.c -- every operator under every option; see cases.h */

#include "cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"

/* Sizes that an operator does not leave to anybody. */
static const struct { const char *name, *sizes; } special[] = {
    {"elsa", "Q=24"},           /* the groups of its convolution have 8 channels, or 2, or 3 */
};

#define CHANNELS 12             /* of two heads: 6 of a head, no whole number of lanes */

struct one_case cases[512];
const struct declaration *every[64];
int plain_count, case_count, operator_count;

/* Sides that 2 divides and, in a plane, 3. */
static const char *const grids[] = {"", "7", "6x12", "2x4x6"};
const char *const kernels[] = {"", "3", "3x3", "3x3x3"};

status case_shape(struct problem *p, const struct one_case *one)
{
    const char *sizes = "", *without = one->without;
    for (size_t n = 0; n < COUNT(special); n++)
        if (!strcmp(special[n].name, one->of->name)) sizes = special[n].sizes;
    status s = shaped_openly(p, one->options, one->of, one->batch ? one->batch : 2, CHANNELS, sizes, without, 1);
    printf("%s %s%s%s%s%s\n", one->of->name, one->options, *without ? " without " : "", without,
           s.code ? ": " : "", s.message);
    return s;
}

static const struct option *grid_option(const struct declaration *d)
{
    const struct option *o = d->options;
    while (o->name && o->kind != OPTION_GRID) o++;
    return o->name ? o : NULL;
}

int usual_axes(const struct declaration *d)
{
    const struct option *o = grid_option(d);
    if (!o) return 0;
    return o->low <= 2 && o->high >= 2 ? 2 : (int)o->low;
}

static bool is_heads(const struct option *o) { return o->letter && !strcmp(o->letter, "h"); }

void required(char *text, size_t size, const struct declaration *d, const char *tokens, const char *kernel)
{
    size_t at = 0;
    *text = '\0';
    for (const struct option *o = d->options; o->name && at < size; o++) {
        const char *value = o->kind == OPTION_GRID ? tokens : o->kind == OPTION_KERNEL ? kernel : "3";
        if (is_heads(o)) value = "2";
        else if (o->fallback || o->kind == OPTION_FLAG) continue;
        at += (size_t)snprintf(text + at, size - at, "%s--%s %s", at ? " " : "", o->name, value);
    }
}

/* What an option may be beside what it is where nothing is said, as "4|5|6"; a kernel that need not be given
 * is none of the usual ones, and steps are alike, or not, along so many axes. */
static const char *values(const struct option *o, int axes)
{
    static const char *const windows[] = {"", "1|5", "1x5|5x3", "1x3x5"};
    static const char *const steps[] = {"", "2|9", "2|1x5", "1x2x2"};
    if (o->kind == OPTION_FLAG) return "";
    if (o->kind == OPTION_CHOICE) return o->choices;
    if (!o->fallback || is_heads(o)) return NULL;
    if (o->kind == OPTION_KERNEL) return windows[axes];
    if (o->kind == OPTION_STEPS) return steps[axes];
    if (o->kind == OPTION_INTEGER) return o->low > 0 ? "2|3" : "1|2";   /* windows of 2, in three rows, shift by 1 */
    return o->kind == OPTION_REAL ? o->low <= 2 && o->high >= 2 ? "2" : "0.5" : NULL;
}

/* Appends value `n` of an option, " --equation 4" or " --pooled-queries"; false
 * where it has not so many.  What stands anyway is one of them, and adds nothing. */
static bool choose(char *text, size_t size, const struct option *o, int n, int axes)
{
    const char *word = values(o, axes);
    for (; n > 0 && word; n--) {
        word = strchr(word, '|');
        if (word) word++;
    }
    if (!word) return false;
    size_t at = strlen(text), length = strcspn(word, "|");
    bool stands = o->fallback && strlen(o->fallback) == length && !strncmp(o->fallback, word, length);
    if (!stands) snprintf(text + at, size - at, " --%s %.*s", o->name, (int)length, word);
    return true;
}

/* Adds a case that is not there yet. */
static void add(struct one_case one)
{
    for (int c = 0; c < case_count; c++)
        if (cases[c].of == one.of && !strcmp(cases[c].options, one.options)
            && !strcmp(cases[c].without, one.without))
            return;
    if (case_count < (int)COUNT(cases)) cases[case_count++] = one;
}

static bool chooses(const struct option *o) { return o->kind == OPTION_CHOICE || o->kind == OPTION_FLAG; }

/* Every value of each option, or of each choice and flag. */
static void add_values(struct one_case one, bool choices_alone)
{
    int axes = usual_axes(one.of);
    for (const struct option *o = one.of->options; o->name; o++)
        for (int n = 0; chooses(o) || !choices_alone; n++) {
            struct one_case chosen = one;
            chosen.chosen = true;
            if (!choose(chosen.options, sizeof chosen.options, o, n, axes)) break;
            add(chosen);
        }
}

/* Whether options go together, as far as they and the channels tell. */
static bool go_together(const struct one_case *one)
{
    char text[sizeof one->options];
    const char *word[32];
    int words = 0;
    struct problem p;
    memcpy(text, one->options, sizeof text);
    for (char *w = strtok(text, " "); w && words < (int)COUNT(word); w = strtok(NULL, " ")) word[words++] = w;
    return !problem_create(&p, one->of, words, word).code && !problem_set_size(&p, "B", 2).code
        && !problem_set_size(&p, "C", CHANNELS).code && !(one->of->derive && one->of->derive(&p).code);
}

/* A number that is refused alone, as a shift of windows is where there are none: beside
 * each value of another option that lets it be. */
static void add_followers(struct one_case one)
{
    const struct option *options = one.of->options;
    int axes = usual_axes(one.of);
    one.chosen = true;
    for (const struct option *o = options; o->name; o++)
        for (int n = 0; !chooses(o); n++) {
            struct one_case alone = one;
            if (!choose(alone.options, sizeof alone.options, o, n, axes)) break;
            if (go_together(&alone)) continue;
            for (const struct option *a = options; a->name; a++)
                for (int m = 0; a != o; m++) {
                    struct one_case both = alone;
                    if (!choose(both.options, sizeof both.options, a, m, axes)) break;
                    if (go_together(&both)) add(both);
                }
        }
}

/* Every two choices beside each other. */
static void add_pairs(struct one_case one)
{
    const struct option *options = one.of->options;
    int axes = usual_axes(one.of);
    for (const struct option *a = options; a->name; a++)
        for (const struct option *b = a + 1; b->name && chooses(a); b++)
            for (int n = 0; chooses(b); n++) {
                struct one_case first = one;
                first.chosen = true;
                if (!choose(first.options, sizeof first.options, a, n, axes)) break;
                for (int m = 0;; m++) {
                    struct one_case second = first;
                    if (!choose(second.options, sizeof second.options, b, m, axes)) break;
                    add(second);
                }
            }
}

static struct one_case usual(const struct declaration *d)
{
    struct one_case one = {.of = d};
    required(one.options, sizeof one.options, d, grids[usual_axes(d)], kernels[usual_axes(d)]);
    return one;
}

/* Where a tensor is optional beside some choices only, those without it. */
static void add_optional(struct one_case bare)
{
    int axes = usual_axes(bare.of);
    for (const struct tensor_row *t = bare.of->tensors; t->name; t++)
        for (const struct option *o = bare.of->options; t->optional && t->when && o->name; o++)
            for (int n = 0; chooses(o); n++) {
                struct one_case one = bare;
                one.chosen = true;
                size_t length = strlen(o->name);
                if (!choose(one.options, sizeof one.options, o, n, axes)) break;
                if (!strncmp(t->when, o->name, length) && t->when[length] == '=') add(one);
            }
}

void enumerate_cases(const struct declaration *(*declared)(int))
{
    const struct declaration *d;
    const char *asked = getenv("OPERATOR");
    for (int o = 0; (d = declared(o)); o++) {
        if (asked && strcmp(asked, d->name)) continue;
        const struct option *g = grid_option(d);
        struct one_case one = {.of = d}, bare = usual(d);
        for (int axes = g ? (int)g->low : 0; axes <= (g ? (int)g->high : 0); axes++) {
            required(one.options, sizeof one.options, d, grids[axes], kernels[axes]);
            add(one);
        }
        add_values(usual(d), false);
        if (usual_axes(d) == 2) {
            one.chosen = true;      /* a reduction, or windows, need more rows */
            required(one.options, sizeof one.options, d, "1x12", kernels[2]);
            add(one);
            add_values(one, true);
        }
        add_followers(usual(d));
        every[operator_count++] = d;
        for (const struct tensor_row *t = d->tensors; t->name; t++) {
            size_t at = strlen(bare.without);
            if (t->optional) snprintf(bare.without + at, sizeof bare.without - at, "%s%s", at ? " " : "", t->name);
        }
        if (*bare.without) add(bare);
        if (*bare.without) add_optional(bare);
    }
    plain_count = case_count;
    for (int o = 0; o < operator_count; o++) add_pairs(usual(every[o]));
}
