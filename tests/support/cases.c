/* cases.c -- every operator under every option; see cases.h */

#include "cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"

/* Sizes that an operator does not leave open. */
static const struct { const char *name, *sizes; } special[] = {
    {"elsa", "Q=24"},           /* the groups of its convolution have 8 channels, or 2, or 3 */
};

#define CHANNELS 12             /* of two heads: 6 of a head, no whole number of lanes */

struct one_case cases[512];
const struct declaration *every[64];
int plain_count, case_count, operator_count;

/* In a plane, sides that 2 and 3 divide; and odd ones. */
static const char *const grids[] = {"", "7", "6x12", "3x4x5"}, *const odd_planes[] = {"5x7", "3x9"};
const char *const kernels[] = {"", "3", "3x3", "3x3x3"};

status case_shape(struct problem *p, const struct one_case *one)
{
    const char *sizes = "", *without = one->without;
    for (size_t n = 0; n < COUNT(special); n++)
        if (!strcmp(special[n].name, one->declaration->name)) sizes = special[n].sizes;
    status s = shaped_openly(p, one->options, one->declaration, one->batch ? one->batch : 2, CHANNELS, sizes, without, 1);
    printf("%s %s%s%s%s%s\n", one->declaration->name, one->options, *without ? " without " : "", without,
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
        else if (o->default_value || o->kind == OPTION_FLAG) continue;
        at += (size_t)snprintf(text + at, size - at, "%s--%s %s", at ? " " : "", o->name, value);
    }
}

/* Values of an option other than its default, as "4|5|6".  Kernels and steps are equal along the axes, and not. */
static const char *values(const struct option *o, int axes)
{
    static const char *const windows[] = {"", "1|5", "1x5|5x3", "1x3x5"};
    static const char *const steps[] = {"", "2|9", "2|1x5", "1x2x2"};
    if (o->kind == OPTION_FLAG) return "";
    if (o->kind == OPTION_CHOICE) return o->choices;
    if (!o->default_value || is_heads(o)) return NULL;
    if (o->kind == OPTION_KERNEL) return windows[axes];
    if (o->kind == OPTION_STEPS) return steps[axes];
    if (o->kind == OPTION_INTEGER) return o->low > 0 ? "2|3" : "1|2";   /* windows of 2, in three rows, shift by 1 */
    return o->kind == OPTION_REAL ? o->low <= 2 && o->high >= 2 ? "2" : "0.5" : NULL;
}

/* Appends value `n` of an option, " --equation 4" or " --pooled-queries"; false if it has fewer.  The default is one of
 * them, and appends nothing. */
static bool choose(char *text, size_t size, const struct option *o, int n, int axes)
{
    const char *word = values(o, axes);
    for (; n > 0 && word; n--) {
        word = strchr(word, '|');
        if (word) word++;
    }
    if (!word) return false;
    size_t at = strlen(text), length = strcspn(word, "|");
    bool stands = o->default_value && strlen(o->default_value) == length && !strncmp(o->default_value, word, length);
    if (!stands) snprintf(text + at, size - at, " --%s %.*s", o->name, (int)length, word);
    return true;
}

/* Adds a case that is not there yet. */
static void add(struct one_case one)
{
    for (int c = 0; c < case_count; c++)
        if (cases[c].declaration == one.declaration && !strcmp(cases[c].options, one.options)
            && !strcmp(cases[c].without, one.without))
            return;
    if (case_count < (int)COUNT(cases)) cases[case_count++] = one;
}

static bool chooses(const struct option *o) { return o->kind == OPTION_CHOICE || o->kind == OPTION_FLAG; }

/* The value of an option that add_odd_planes takes in place of add_values, or -1: the last number, kernel or step. */
static int odd_value(const struct option *o, int axes)
{
    const char *word = axes != 2 || chooses(o) || o->kind == OPTION_REAL ? NULL : values(o, axes);
    int n = word ? 0 : -1;
    for (; word && *word; word++) n += *word == '|';
    return n;
}

/* A case with one more option: next_value steps through the values of this option and of all that follow it. */
struct walk { const struct one_case *from; const struct option *option; int next; struct one_case one; };

static bool next_value(struct walk *w)
{
    for (; w->option->name; w->option++, w->next = 0) {
        w->one = *w->from;
        w->one.chosen = true;
        if (choose(w->one.options, sizeof w->one.options, w->option, w->next++, usual_axes(w->from->declaration))) return true;
    }
    return false;
}

/* Every value of each option. */
static void add_values(struct one_case one)
{
    struct walk w = {.from = &one, .option = one.declaration->options};
    while (next_value(&w))
        if (w.next - 1 != odd_value(w.option, usual_axes(one.declaration))) add(w.one);
}

/* True if options and channels are accepted together. */
static bool go_together(const struct one_case *one)
{
    char text[sizeof one->options];
    const char *word[32];
    int words = 0;
    struct problem p;
    memcpy(text, one->options, sizeof text);
    for (char *w = strtok(text, " "); w && words < (int)COUNT(word); w = strtok(NULL, " ")) word[words++] = w;
    return !problem_create(&p, one->declaration, words, word).code && !problem_set_size(&p, "B", 2).code
        && !problem_set_size(&p, "C", CHANNELS).code && !(one->declaration->derive && one->declaration->derive(&p).code);
}

/* A number that is rejected alone, such as a shift without windows: together with each value of another option that
 * permits it. */
static void add_followers(struct one_case one)
{
    struct walk alone = {.from = &one, .option = one.declaration->options};
    while (next_value(&alone)) {
        struct walk both = {.from = &alone.one, .option = one.declaration->options};
        if (chooses(alone.option) || go_together(&alone.one)) continue;
        while (next_value(&both))
            if (both.option != alone.option && go_together(&both.one)) add(both.one);
    }
}

/* Value n of an option (NULL: none) on an odd plane; on one that 3 divides if the operator asks for that. */
static bool add_odd(const struct declaration *d, const struct option *o, int n)
{
    for (size_t g = 0; g < COUNT(odd_planes); g++) {
        struct one_case one = {.declaration = d, .chosen = true};
        required(one.options, sizeof one.options, d, odd_planes[g], kernels[2]);
        if (o && !choose(one.options, sizeof one.options, o, n, 2)) return false;
        if (!go_together(&one)) continue;
        add(one);
        break;
    }
    return true;
}

/* Each choice and flag, and one value of each number, on an odd plane. */
static void add_odd_planes(const struct declaration *d)
{
    add_odd(d, NULL, 0);
    for (const struct option *o = d->options; o->name; o++) {
        for (int n = 0; chooses(o) && add_odd(d, o, n);) n++;
        if (odd_value(o, 2) >= 0) add_odd(d, o, odd_value(o, 2));
    }
}

/* Every two choices. */
static void add_pairs(struct one_case one)
{
    struct walk first = {.from = &one, .option = one.declaration->options};
    while (next_value(&first)) {
        struct walk second = {.from = &first.one, .option = first.option + 1};
        while (chooses(first.option) && next_value(&second))
            if (chooses(second.option)) add(second.one);
    }
}

static struct one_case usual(const struct declaration *d)
{
    struct one_case one = {.declaration = d};
    required(one.options, sizeof one.options, d, grids[usual_axes(d)], kernels[usual_axes(d)]);
    return one;
}

/* If a tensor is optional with some choices only, those choices without it. */
static void add_optional(struct one_case bare)
{
    for (const struct tensor_row *t = bare.declaration->tensors; t->name; t++) {
        struct walk w = {.from = &bare, .option = bare.declaration->options};
        while (t->optional && t->when && next_value(&w)) {
            size_t length = strlen(w.option->name);
            if (chooses(w.option) && !strncmp(t->when, w.option->name, length) && t->when[length] == '=') add(w.one);
        }
    }
}

void enumerate_cases(const struct declaration *(*declared)(int))
{
    const struct declaration *d;
    const char *asked = getenv("OPERATOR");
    for (int o = 0; (d = declared(o)); o++) {
        if (asked && strcmp(asked, d->name)) continue;
        const struct option *g = grid_option(d);
        struct one_case one = {.declaration = d}, bare = usual(d);
        for (int axes = g ? (int)g->low : 0; axes <= (g ? (int)g->high : 0); axes++) {
            required(one.options, sizeof one.options, d, grids[axes], kernels[axes]);
            add(one);
        }
        add_values(usual(d));
        if (usual_axes(d) == 2) {
            one.chosen = true;      /* a reduction, or windows, need more rows */
            required(one.options, sizeof one.options, d, "1x12", kernels[2]);
            add(one);
            add_odd_planes(d);
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

bool case_fixture(struct fixture *t, const struct one_case *one)
{
    struct problem p;
    status s = case_shape(&p, one);
    if (one->chosen && s.code == STATUS_BAD_INPUT) return false;
    succeeds(s);
    *t = fixture_of(p);
    return true;
}
