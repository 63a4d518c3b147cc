/* live.c -- the functions that a script in a browser calls
 *
 * naive/, fast/ and the rest of the library are compiled to WebAssembly for the live figures (chapters/live/).  A
 * script sees the memory of the module, and functions that take and return numbers.  Text goes both ways through one
 * buffer, live_text():
 *
 *     live_open      "lisa --grid 14x14 --heads 3": creates a problem with these options
 *     live_shape     "B=1 C=48 D=8 -w_o": sets its sizes, the tensors that it leaves out, and random parameters
 *     live_count     such words after the name of a form: returns its multiply-adds
 *     live_bind      in place of live_shape: sets the shapes of all tensors, "x 1 196 48", one line each
 *     live_tensors   returns their addresses: "x 1 196 48 @ADDRESS", one line each, y last
 *     live_plan      "naive" or "fast": prepares this form
 *     live_run       computes y from x, this many times
 *
 * After an error, functions that return an address or a count return 0, others the code of the status.  The message is
 * in the text. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../networks/operators.h"
#include "../../networks/layers/layers.h"
#include "../../runtime/memory.h"

#define LIVE(name) __attribute__((export_name(#name))) name

enum { TEXT = 1 << 14, WORDS = 64 };

static const size_t memory_limit = (size_t)1 << 30;

struct live {
    struct problem problem;
    char *options;              /* the problem points to them */
    real *x, *y, *parameters;
};

/* Whole networks are not compiled to WebAssembly, so there are no layers. */
const struct form_row layer_forms[] = {{NULL, NULL}};

const struct declaration *layer_find(const char *name) { return (void)name, NULL; }
const struct declaration *layer_at(int at) { return (void)at, NULL; }

static char text[TEXT];

char *LIVE(live_text)(void)
{
    return text;
}

static int report(status s)
{
    if (s.code) snprintf(text, sizeof text, "%s", s.message);
    return s.code;
}

static void append(const char *format, ...) PRINTF_LIKE(1, 2);
static void append(const char *format, ...)
{
    size_t at = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + at, sizeof text - at, format, arguments);
    va_end(arguments);
}

void LIVE(live_close)(struct live *l)
{
    if (!l) return;
    free(l->options);
    memory_free(l->x);
    memory_free(l->y);
    memory_free(l->parameters);
    free(l);
}

/* Cuts `from` into words, in place; returns their number. */
static int words(const char *word[WORDS], char *from)
{
    int count = 0;
    for (char *w = strtok(from, " "); w && count < WORDS; w = strtok(NULL, " ")) word[count++] = w;
    return count;
}

struct live *LIVE(live_open)(void)
{
    const char *word[WORDS];
    const struct declaration *d;
    struct live *l = calloc(1, sizeof *l);
    memory_set_limit(memory_limit);
    if (l) l->options = strdup(text);
    if (!l || !l->options) {
        report(out_of_memory("a problem"));
        live_close(l);
        return NULL;
    }
    int count = words(word, l->options);
    status s = operator_named(&d, count ? word[0] : NULL);
    if (!s.code) s = problem_create(&l->problem, d, count - 1, word + 1);
    if (!report(s)) return l;
    live_close(l);
    return NULL;
}

static status allocate(struct live *l)
{
    size_t inputs = problem_input_count(&l->problem), outputs = problem_output_count(&l->problem);
    l->x = memory_reals(inputs, 1, 1, 1);
    l->y = memory_reals(outputs, 1, 1, 1);
    if (!l->x || !l->y) return out_of_memory("x and y");
    memset(l->x, 0, inputs * sizeof *l->x);
    memset(l->y, 0, outputs * sizeof *l->y);
    l->problem.tensor[0].data = l->x;
    return status_ok();
}

static bool is_left_out(const char *name, void *params)
{
    const char *const *word = params;
    for (; *word; word++)
        if (**word == '-' && !strcmp(*word + 1, name)) return true;
    return false;
}

/* Sizes and absent tensors, from the text after its first `skip` words. */
static status set_shape(struct live *l, int skip)
{
    const char *word[WORDS + 1] = {0};
    char letter[4];
    status s = status_ok();
    int count = words(word, text);
    for (int w = skip; w < count && !s.code; w++) {
        unsigned long size;
        if (*word[w] != '-' && sscanf(word[w], "%3[A-Za-z0-9]=%lu", letter, &size) == 2)
            s = problem_set_size(&l->problem, letter, size);
    }
    word[count < WORDS ? count : WORDS] = NULL;
    return s.code ? s : problem_shape(&l->problem, is_left_out, word);
}

int LIVE(live_shape)(struct live *l)
{
    status s = set_shape(l, 0);
    if (!s.code) s = problem_draw(&l->problem, 1, &l->parameters);
    if (!s.code) s = allocate(l);
    return report(s);
}

double LIVE(live_count)(struct live *l)
{
    const struct form *form;
    char name[80];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
    status s = form_named(&form, l->problem.declaration, name, NULL);
    if (!s.code) s = set_shape(l, 1);
    return report(s) ? 0 : form_multiply_adds(form, &l->problem);
}

/* Tensors of the shapes that the text lists.  The script fills in their numbers. */
int LIVE(live_bind)(struct live *l)
{
    struct tensor list[PROBLEM_TENSORS] = {0};
    struct tensors file = {.tensor = list};
    char *lines = strdup(text);
    size_t sum = 0, at = 0;
    status s = lines ? status_ok() : out_of_memory("a list of tensors");
    for (char *line = lines ? strtok(lines, "\n") : NULL; line && !s.code; line = strtok(NULL, "\n")) {
        struct tensor *t = &list[file.count];
        char *end = strchr(line, ' ');
        if (!end || ++file.count == PROBLEM_TENSORS) {
            s = bad_input("expected at most %d lines of a name and sizes", PROBLEM_TENSORS);
            break;
        }
        *end++ = '\0';
        t->name = line;
        t->count = 1;
        for (; *end && t->axes < TENSOR_AXES; t->axes++) {
            t->size[t->axes] = strtoul(end, &end, 10);
            t->count *= t->size[t->axes];
        }
        sum += t->count;
    }
    if (!s.code) s = problem_bind(&l->problem, &file);
    if (!s.code) {
        l->parameters = memory_reals(sum, 1, 1, 1);
        if (!l->parameters) s = out_of_memory("the tensors");
    }
    for (int t = 0; t < PROBLEM_TENSORS && !s.code; t++)
        if (l->problem.tensor[t].present) {
            l->problem.tensor[t].data = l->parameters + at;
            at += l->problem.tensor[t].count;
        }
    if (!s.code) s = allocate(l);
    free(lines);
    return report(s);
}

static void append_address(const char *name, int axes, const size_t *size, const real *data)
{
    append("%s", name);
    for (int a = 0; a < axes; a++) append(" %zu", size[a]);
    append(" @%zu\n", (size_t)data);
}

void LIVE(live_tensors)(struct live *l)
{
    const struct problem *p = &l->problem;
    size_t size[TENSOR_AXES];
    int axes;
    text[0] = '\0';
    for (int t = 0; p->declaration->tensors[t].name; t++)
        if (p->tensor[t].present)
            append_address(p->declaration->tensors[t].name, p->tensor[t].axes, p->tensor[t].size, p->tensor[t].data);
    if (!problem_output_shape(p, &axes, size).code) append_address("y", axes, size, l->y);
}

struct plan *LIVE(live_plan)(struct live *l)
{
    const struct form *form;
    struct plan *plan = calloc(1, sizeof *plan);
    status s = plan ? form_named(&form, l->problem.declaration, text, NULL) : out_of_memory("a plan");
    if (!s.code && l->problem.declaration->check) s = l->problem.declaration->check(&l->problem);
    if (!s.code) s = plan_create(plan, &l->problem, form, 1);
    if (!report(s)) return plan;
    free(plan);
    return NULL;
}

int LIVE(live_run)(struct live *l, struct plan *plan, int times)
{
    status s = status_ok();
    for (int t = 0; t < times && !s.code; t++) s = plan_run(plan, l->y, l->x);
    return report(s);
}

double LIVE(live_multiply_adds)(const struct live *l, const struct plan *plan)
{
    return form_multiply_adds(plan->form, &l->problem);
}

double LIVE(live_bytes)(const struct plan *plan)
{
    return (double)arena_bytes(&plan->arena);
}

void LIVE(live_release)(struct plan *plan)
{
    plan_release(plan);
    free(plan);
}
