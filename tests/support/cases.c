/* cases.c -- every operator with every option; see cases.h */

#include "cases.h"
#include "../../reference/networks/layers/layers.h"

/* Operators that need certain sizes. */
static const struct { const char *name, *sizes; } special[] = {
    {"elsa", "Q=24"},           /* groups of its convolution: 8, 3 or 2 channels */
};

#define CHANNELS 12             /* 6 per head: no multiple of 4 lanes */

struct operator_case cases[512];
const struct declaration *every[64];
int plain_count, case_count, operator_count;

/* Grids by the number of axes, with 2 axes divisible by 2 and 3; planes with odd sides. */
static const char *const grids[] = {"", "7", "6x12", "3x4x5"}, *const odd_planes[] = {"5x7", "3x9"};
const char *const kernels[] = {"", "3", "3x3", "3x3x3"};

status case_shape(struct problem *p, const struct operator_case *c)
{
    const char *sizes = "", *without = c->without;
    for (size_t n = 0; n < COUNT(special); n++)
        if (!strcmp(special[n].name, c->declaration->name)) sizes = special[n].sizes;
    status s = shaped_openly(p, c->options, c->declaration, c->batch ? c->batch : 2, CHANNELS, sizes, without, 1);
    printf("%s %s%s%s%s%s\n", c->declaration->name, c->options, *without ? " without " : "", without,
           s.code ? ": " : "", s.message);
    return s;
}

/* The grid, if it is required. */
static const struct option *grid_option(const struct declaration *d)
{
    const struct option *o = d->options;
    while (o->name && (o->kind != OPTION_GRID || o->default_value)) o++;
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

/* Values of an option, as "4|5|6".  Kernels and steps: equal along the axes, and different. */
static const char *values(const struct option *o, int axes)
{
    static const char *const windows[] = {"", "1|5", "1x5|5x3", "1x3x5"};
    static const char *const steps[] = {"", "2|9", "2|1x5", "1x2x2"};
    if (o->kind == OPTION_FLAG) return "";
    if (o->kind == OPTION_CHOICE) return o->choices;
    if (!o->default_value || is_heads(o)) return NULL;
    if (o->kind == OPTION_GRID) return "6x12|1x100";     /* dfc-cp transforms the latter */
    if (o->kind == OPTION_KERNEL) return windows[axes];
    if (o->kind == OPTION_STEPS) return steps[axes];
    if (o->kind == OPTION_INTEGER) return o->low > 0 ? "2|3" : "1|2";   /* window edges; shifts */
    return o->kind == OPTION_REAL ? o->low <= 2 && o->high >= 2 ? "2" : "0.5" : NULL;
}

/* Appends value n of an option, such as " --equation 4"; false if it has fewer.  The default appends nothing. */
static bool choose(char *text, size_t size, const struct option *o, int n, int axes)
{
    const char *word = values(o, axes);
    for (; n > 0 && word; n--) {
        word = strchr(word, '|');
        if (word) word++;
    }
    if (!word) return false;
    size_t at = strlen(text), length = strcspn(word, "|");
    const char *usual = o->default_value;
    if (!usual || strlen(usual) != length || strncmp(usual, word, length))
        snprintf(text + at, size - at, " --%s %.*s", o->name, (int)length, word);
    return true;
}

static void add(struct operator_case c)
{
    for (int n = 0; n < case_count; n++)
        if (cases[n].declaration == c.declaration && !strcmp(cases[n].options, c.options)
            && !strcmp(cases[n].without, c.without))
            return;
    if (case_count < (int)COUNT(cases)) cases[case_count++] = c;
}

static bool chooses(const struct option *o) { return o->kind == OPTION_CHOICE || o->kind == OPTION_FLAG; }

/* Index of the value that add_odd_planes, not add_values, adds: the last number, kernel or step; -1: none. */
static int odd_value(const struct option *o, int axes)
{
    const char *word = axes != 2 || chooses(o) || o->kind == OPTION_REAL ? NULL : values(o, axes);
    int n = word ? 0 : -1;
    for (; word && *word; word++) n += *word == '|';
    return n;
}

/* A case with one more option; next_value steps through the values of this option and of all later ones. */
struct walk { const struct operator_case *from; const struct option *option; int next; struct operator_case now; };

static bool next_value(struct walk *w)
{
    for (; w->option->name; w->option++, w->next = 0) {
        w->now = *w->from;
        w->now.chosen = true;
        int axes = usual_axes(w->from->declaration);
        if (choose(w->now.options, sizeof w->now.options, w->option, w->next++, axes)) return true;
    }
    return false;
}

static void add_values(struct operator_case c)
{
    struct walk w = {.from = &c, .option = c.declaration->options};
    while (next_value(&w))
        if (w.next - 1 != odd_value(w.option, usual_axes(c.declaration))) add(w.now);
}

/* True if the operator accepts the options for CHANNELS channels. */
static bool is_accepted(const struct operator_case *c)
{
    char text[sizeof c->options];
    const char *word[32];
    int words = 0;
    struct problem p;
    memcpy(text, c->options, sizeof text);
    for (char *w = strtok(text, " "); w && words < (int)COUNT(word); w = strtok(NULL, " ")) word[words++] = w;
    return !problem_create(&p, c->declaration, words, word).code && !problem_set_size(&p, "B", 2).code
        && !problem_set_size(&p, "C", CHANNELS).code && !(c->declaration->derive && c->declaration->derive(&p).code);
}

/* Adds each number that is rejected alone, such as a shift without windows, with each value that permits it of another
 * option. */
static void add_dependents(struct operator_case c)
{
    struct walk alone = {.from = &c, .option = c.declaration->options};
    while (next_value(&alone)) {
        struct walk both = {.from = &alone.now, .option = c.declaration->options};
        if (chooses(alone.option) || is_accepted(&alone.now)) continue;
        while (next_value(&both))
            if (both.option != alone.option && is_accepted(&both.now)) add(both.now);
    }
}

/* Adds value n of an option (NULL: none) on the first odd plane that the operator accepts; false without value n. */
static bool add_odd(const struct declaration *d, const struct option *o, int n)
{
    for (size_t g = 0; g < COUNT(odd_planes); g++) {
        struct operator_case c = {.declaration = d, .chosen = true};
        required(c.options, sizeof c.options, d, odd_planes[g], kernels[2]);
        if (o && !choose(c.options, sizeof c.options, o, n, 2)) return false;
        if (!is_accepted(&c)) continue;
        add(c);
        break;
    }
    return true;
}

/* Adds each choice and flag, and odd_value of each number, on an odd plane. */
static void add_odd_planes(const struct declaration *d)
{
    add_odd(d, NULL, 0);
    for (const struct option *o = d->options; o->name; o++) {
        for (int n = 0; chooses(o) && add_odd(d, o, n);) n++;
        if (odd_value(o, 2) >= 0) add_odd(d, o, odd_value(o, 2));
    }
}

static void add_pairs(struct operator_case c)
{
    struct walk first = {.from = &c, .option = c.declaration->options};
    while (next_value(&first)) {
        struct walk second = {.from = &first.now, .option = first.option + 1};
        while (chooses(first.option) && next_value(&second))
            if (chooses(second.option)) add(second.now);
    }
}

static struct operator_case usual(const struct declaration *d)
{
    struct operator_case c = {.declaration = d};
    required(c.options, sizeof c.options, d, grids[usual_axes(d)], kernels[usual_axes(d)]);
    return c;
}

/* If a tensor is optional only with some choices, adds these choices without optional tensors. */
static void add_optional(struct operator_case bare)
{
    for (const struct tensor_row *t = bare.declaration->tensors; t->name; t++) {
        struct walk w = {.from = &bare, .option = bare.declaration->options};
        while (t->optional && t->when && next_value(&w)) {
            size_t length = strlen(w.option->name);
            if (chooses(w.option) && !strncmp(t->when, w.option->name, length) && t->when[length] == '=') add(w.now);
        }
    }
}

const struct declaration *operator_or_layer_at(int at)
{
    int operators = 0;
    while (operator_at(operators)) operators++;
    return at < operators ? operator_at(at) : layer_at(at - operators);
}

void enumerate_cases(const struct declaration *(*declared)(int))
{
    const struct declaration *d;
    const char *asked = getenv("OPERATOR");
    for (int o = 0; (d = declared(o)); o++) {
        if (asked && strcmp(asked, d->name)) continue;
        const struct option *g = grid_option(d);
        struct operator_case c = {.declaration = d}, bare = usual(d);
        for (int axes = g ? (int)g->low : 0; axes <= (g ? (int)g->high : 0); axes++) {
            required(c.options, sizeof c.options, d, grids[axes], kernels[axes]);
            add(c);
        }
        add_values(usual(d));
        if (usual_axes(d) == 2) {
            c.chosen = true;      /* reductions and windows need more rows */
            required(c.options, sizeof c.options, d, "1x12", kernels[2]);
            add(c);
            add_odd_planes(d);
        }
        add_dependents(usual(d));
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

bool case_fixture(struct fixture *t, const struct operator_case *c)
{
    struct problem p;
    status s = case_shape(&p, c);
    if (c->chosen && s.code == STATUS_BAD_INPUT) return false;
    succeeds(s);
    *t = fixture_of(p);
    return true;
}
