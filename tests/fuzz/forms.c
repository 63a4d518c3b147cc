/* forms.c -- fuzz target: each form of an operator against the naive form
 *
 * The bytes choose an operator, options, sizes, absent tensors, and numbers.  Both forms fail, or they agree within the
 * tolerance of test_properties.c times a factor for large scores. */

#include "fuzz.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../../reference/networks/operators.h"
#include "../../reference/runtime/lookup.h"
#include "../../reference/runtime/random.h"
#include "../../fast/cuda/versions.h"

#define MOST_WORK 2e6           /* multiply-adds of a form */
#define MOST_EMULATED 5e4       /* of an emulated kernel */
#define MOST_BYTES ((size_t)64 << 20)

/* Appends a value for an option. */
static void choose_value(char *text, size_t size, const struct option *o, int axes, struct bytes *b)
{
    static const char *const reals[] = {"0", "0.25", "0.5", "1", "2", "-1", "1e-3", "3"};
    static const char *const terms[] = {"qk", "qr", "rk", "b", "qk+b", "qr+rk", "qk+qr+rk+b", "qk+rk"};
    size_t at = strlen(text);
    unsigned pick, most = o->kind == OPTION_GRID ? (axes == 1 ? 24 : axes == 2 ? 7 : 4) : 4;
    switch (o->kind) {
    case OPTION_FLAG:
        break;
    case OPTION_REAL:
        snprintf(text + at, size - at, " %s", reals[choose(b, 8)]);
        break;
    case OPTION_INTEGER:
        pick = choose(b, 10);
        snprintf(text + at, size - at, " %.0f", pick == 9 ? o->high : o->low + pick);
        break;
    case OPTION_CHOICE: {
        const char *word = o->choices ? o->choices : terms[choose(b, 8)];
        for (pick = o->choices ? choose(b, 8) : 0; pick > 0; pick--) {
            const char *bar = strchr(word, '|');
            word = bar ? bar + 1 : o->choices;
        }
        snprintf(text + at, size - at, " %.*s", (int)strcspn(word, "|"), word);
        break;
    }
    default:
        for (int a = 0; a < axes; a++) {
            unsigned n = choose(b, most) + 1;
            if (o->kind == OPTION_KERNEL) n = 2 * n - 1;
            at = strlen(text);
            snprintf(text + at, size - at, "%s%u", a ? "x" : " ", n);
            if (o->kind != OPTION_GRID && a == 0 && choose(b, 8) == 0) break;
        }
    }
}

static void choose_options(char *text, size_t size, const struct declaration *d, struct bytes *b)
{
    int axes = 1 + (int)choose(b, 3);
    *text = '\0';
    for (const struct option *o = d->options; o->name; o++) {
        if (o->default_value && choose(b, 3)) continue;
        if (o->kind == OPTION_GRID && axes < (int)o->low) axes = (int)o->low;
        if (o->kind == OPTION_GRID && axes > (int)o->high) axes = (int)o->high;
        size_t at = strlen(text);
        snprintf(text + at, size - at, "%s--%s", at ? " " : "", o->name);
        choose_value(text, size, o, axes, b);
    }
}

static void choose_absent(char *text, size_t size, const struct declaration *d, struct bytes *b)
{
    *text = '\0';
    for (const struct tensor_row *t = d->tensors; t->name; t++) {
        if (!t->optional || choose(b, 3)) continue;
        size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s", at ? " " : "", t->name);
    }
}

static status choose_problem(struct problem *p, const struct declaration *d, char *options, struct bytes *b)
{
    static char without[256];
    static const char *word[48];
    int words = 0;
    choose_options(options, 512, d, b);
    choose_absent(without, sizeof without, d, b);
    for (char *w = strtok(options, " "); w && words < 48; w = strtok(NULL, " ")) word[words++] = w;
    return choose_sizes(p, d, (struct problem_sizes){.words = words, .word = word, .batch = choose(b, 3) + 1,
                                               .channels = choose(b, 26) + 1, .without = without}, b);
}

/* Makes x standard normal, then replaces its first numbers by the remaining bytes, as sixteenths.  One parameter may
 * become zero or integers, but not ghost_mul: powers of these may be NaN. */
static void choose_numbers(struct problem *p, real *x, size_t inputs, struct bytes *b)
{
    unsigned row = choose(b, PROBLEM_TENSORS), kind = choose(b, 4);
    random_fill_normal(x, inputs, 2, 0, 1);
    const struct tensor_row *t = &p->declaration->tensors[row];
    if (row > 0 && p->tensor[row].data && !t->adjust && strcmp(t->name, "ghost_mul")) {
        if (kind == 1) memset(p->tensor[row].data, 0, p->tensor[row].count * sizeof(real));
        if (kind == 2) random_fill_integers(p->tensor[row].data, p->tensor[row].count, 3, row, 2);
    }
    for (size_t n = 0; n < inputs && b->left; n++) x[n] = (real)((int)choose(b, 256) - 128) / 16;
}

/* Relative to the largest entry.  Scores are below 25 times the scale for standard normal x, and grow with the square
 * of x. */
static double tolerance(const struct problem *p, double largest_x)
{
    const struct form *form;
    double most = 1, scale = 1;
    for (int f = 0; (form = operator_form_at(p->declaration, f)); f++) most = fmax(most, form_multiply_adds(form, p));
    if (declaration_option(p->declaration, "scale") >= 0 && problem_given(p, "scale"))
        scale = fmax(1, fabs(problem_number(p, "scale")));
    double scores = 25 * scale * fmax(1, largest_x * largest_x);
    return (1 + 2 * scores) * 32 * sqrt(fmax(1, most / (double)problem_output_count(p))) * (double)REAL_EPSILON / 2;
}

static status run(real *y, const struct problem *p, const struct form *form, int threads, const real *x)
{
    struct plan plan;
    status s = plan_create(&plan, p, form, threads);
    if (!s.code) s = plan_run(&plan, y, x);
    plan_release(&plan);
    return s;
}

static bool small_enough(const struct problem *p, const struct form *form, double most)
{
    struct plan plan;
    double work = form_multiply_adds(form, p);
    if (!(work <= most)) return false;
    status s = plan_prepare(&plan, p, form, 3);
    bool small = s.code || arena_bytes(&plan.arena) <= MOST_BYTES;
    plan_release(&plan);
    return small;
}

/* Compares a form with the naive form's status and y. */
static const char *compare(const struct problem *p, const struct form *form, int threads, const real *x, real *z,
                           status naive, const real *y, double allowed)
{
    const char *name = p->declaration->name;
    double apart = 0, most = 0;
    size_t count = problem_output_count(p), before = memory_in_use();
    status s = run(z, p, form, threads, x);
    const char *fault = wrong_status(s);
    if (fault) return fault;
    if (memory_in_use() != before) return wrong("%s %s: leaks memory", name, form->name);
    if (s.code != naive.code)
        return wrong("%s %s: '%.120s', naive: '%.120s'", name, form->name, s.message, naive.message);
    if (s.code) return NULL;
    for (size_t n = 0; n < count; n++) {
        if (!isfinite((double)z[n]) || !isfinite((double)y[n]))
            return wrong("%s %s: y[%zu] is %g, naive: %g", name, form->name, n, (double)z[n], (double)y[n]);
        apart = fmax(apart, fabs((double)z[n] - (double)y[n]));
        most = fmax(most, fabs((double)y[n]));
    }
    if (apart > allowed * fmax(most, 1e-3))
        return wrong("%s %s, %d threads: %.2e from naive, expected %.2e of %.2e", name, form->name, threads, apart,
                     allowed, most);
    return NULL;
}

const char *fuzz_forms(const uint8_t *bytes, size_t size)
{
    struct bytes b = {bytes, size};
    struct problem p;
    char options[512];
    int operators = 0;
    const char *fault;
    real *block = NULL;
    while (operator_at(operators)) operators++;

    /* Step 1: choose a small problem. */
    const struct declaration *d = operator_at((int)choose(&b, (unsigned)operators));
    int threads = 1 + (int)choose(&b, 3);
    unsigned version = choose(&b, 12);
    status s = choose_problem(&p, d, options, &b);
    const struct form *naive = operator_form(d, "naive"), *form;
    if ((fault = wrong_status(s)) || s.code) return fault;
    for (int f = 0; (form = operator_form_at(d, f)); f++)
        if (!small_enough(&p, form, MOST_WORK)) return NULL;

    /* Step 2: choose its numbers. */
    size_t inputs = problem_input_count(&p), outputs = problem_output_count(&p);
    if (inputs > 100000 || outputs > 100000 || problem_parameters(&p) > 1000000) return NULL;
    real *x = memory_reals(inputs, 1, 1, 1), *y = memory_reals(outputs, 2, 1, 1);
    s = x && y ? problem_draw(&p, 1, &block) : out_of_memory("the fuzz target");
    if (!s.code) {
        double largest_x = 3;
        choose_numbers(&p, x, inputs, &b);
        for (size_t n = 0; n < inputs; n++) largest_x = fmax(largest_x, fabs((double)x[n]));

        /* Step 3: compare the other forms with the naive one. */
        status first = run(y, &p, naive, 1, x);
        fault = wrong_status(first);
        for (int f = 1; (form = operator_form_at(d, f)) && !fault; f++)
            fault = compare(&p, form, threads, x, y + outputs, first, y, tolerance(&p, largest_x / 3));
        form = operator_version_at(d, (int)version);
        if (form && !fault && form_rounding(form) == 0 && small_enough(&p, form, MOST_EMULATED))
            fault = compare(&p, form, threads, x, y + outputs, first, y, tolerance(&p, largest_x / 3));
    }
    memory_free(block);
    memory_free(x);
    memory_free(y);
    return fault;
}
