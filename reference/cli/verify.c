/* verify.c -- the command that compares the forms of an operator with its naive form, on random tensors
 *
 * T is the number of multiply-adds for an entry of y, the largest of all forms but CUDA's; u is the unit roundoff.
 *
 *     largest error  32 sqrt(T) u of the largest entry, as in tests/runtime/test_properties.c: the error of a sum of T
 *                    products exceeds 8 sqrt(T) u with probability 2 exp(-32); twice that for two forms, and twice for
 *                    normalisation and softmax.
 *     rms            4 sqrt(T) u of the root mean square of y: the same with one standard deviation of T independent
 *                    roundings, which is at most sqrt(T) u, instead of eight.
 *
 * A kernel on tensor cores also rounds four factors for each entry, by form_rounding instead of u. */

#include <math.h>
#include <stdio.h>
#include "../../fast/cuda/versions.h"
#include "../runtime/bytes.h"
#include "../runtime/sizes.h"
#include "command.h"
#include "devices.h"

/* The forms of --form, or all but the naive form; with --device also the versions of kernels. */
static status choose_forms(const struct form *form[OPERATOR_FORMS], size_t *forms, const struct call *c)
{
    const struct form *each;
    const char *name[2 * OPERATOR_FORMS], *device = option_text(c, "device", NULL);
    bool used = !device;
    status s = status_ok();
    *forms = (size_t)c->repetitions;
    if (!operator_form_at(c->operator, 1)) return bad_input("has one form, expected an operator with several");
    if (*forms > OPERATOR_FORMS) return bad_input("option --form: given more than %d times", OPERATOR_FORMS);
    for (size_t f = 0; f < *forms; f++) name[f] = c->repeated[f];
    if (!*forms) {
        for (int f = 1; (each = operator_form_at(c->operator, f)); f++) name[(*forms)++] = each->name;
        for (int f = 0; device && (each = operator_version_at(c->operator, f)); f++) name[(*forms)++] = each->name;
    }
    for (size_t f = 0; f < *forms && !s.code; f++) {
        bool plain = operator_form(c->operator, name[f]);
        s = form_on(&form[f], c->operator, name[f], plain ? NULL : device, 0);
        used |= !plain;
    }
    return s.code || used ? s : bad_input("option --device: found '%.40s', but no form that runs on a device", device);
}

/* Computes y with a form.  If y is NULL, only checks its memory and work against the limits. */
static status run(real *y, const struct form *form, const struct problem *p, const struct call *c)
{
    struct plan plan = {0};
    size_t allowed, needed = memory_in_use();
    status s = bytes_allowed(&allowed, option_text(c, "max-memory", NULL));
    if (!s.code) s = work_fits(form_multiply_adds(form, p), work_allowed(c));
    if (!s.code) s = plan_prepare(&plan, p, form, call_threads(c));
    if (!s.code) size_add(&needed, arena_bytes(&plan.arena), 1);
    if (!s.code) s = bytes_fit(needed, allowed);
    for (size_t i = 0; y && i < problem_output_count(p); i++) y[i] = (real)NAN;
    if (!s.code && y) s = plan_allocate(&plan, NULL);
    if (!s.code && y) s = plan_load(&plan);
    if (!s.code && y) s = plan_run(&plan, y, p->tensor[0].data);
    plan_release(&plan);
    return status_at(s, form->name);
}

static void print_problem(const struct problem *p, const struct call *c, const char *origin)
{
    char text[48];
    printf("%s", c->operator->name);
    for (int w = 0; w < c->words; w++) printf(" %s", c->word[w]);
    printf(": grid %s", grid_text(text, sizeof text, &p->grid));
    for (int l = 0; l < p->letters; l++) printf(", %s = %zu", p->letter[l].name, p->letter[l].size);
    printf("\nx: %s\n%-12s %12s %12s %12s %12s\n", origin, "form", "largest", "bound", "rms", "bound");
}

/* Prints the errors of a form; false if one is beyond its bound or NaN. */
static bool holds(const struct form *form, const real *y, const real *naive, const struct problem *p)
{
    double largest = 0, top = 0, squares = 0, size = 0, terms = 1;
    const struct form *each;
    size_t count = problem_output_count(p);
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)y[i] - (double)naive[i]), expected = fabs((double)naive[i]);
        if (error > largest || isnan(error)) largest = error;
        top = fmax(top, expected);
        squares += error * error;
        size += expected * expected;
    }
    for (int f = 0; (each = operator_form_at(p->declaration, f)); f++)
        terms = fmax(terms, form_multiply_adds(each, p) / (double)count);
    double bound = 32 * (sqrt(terms) * REAL_EPSILON / 2 + sqrt(4) * form_rounding(form));
    double relative = largest == 0 ? 0 : largest / top, rms = squares == 0 ? 0 : sqrt(squares / size);
    bool good = relative <= bound && rms <= bound / 8;
    printf("%-12s %12.3g %12.3g %12.3g %12.3g%s\n", form->name, relative, bound, rms, bound / 8,
           good ? "" : "  beyond");
    return good;
}

static status verify(const struct call *c)
{
    struct problem p;
    struct problem_sizes sizes = call_sizes(c);
    const struct form *form[OPERATOR_FORMS] = {NULL}, *naive = operator_form_at(c->operator, 0);
    char origin[ORIGIN_TEXT];
    real *parameters = NULL, *y = NULL;
    size_t forms, results = 0, beyond = 0;
    sizes.small = true;
    status s = choose_forms(form, &forms, c);
    if (s.code || (s = problem_from_sizes(&p, c->operator, &sizes)).code) return s;
    size_add(&results, problem_output_count(&p), 2);
    s = draw_input(&p, c, results, &parameters, origin);
    if (!s.code && !(y = memory_reals(results, 1, 1, 1))) s = out_of_memory("y");
    if (!s.code) s = run(NULL, naive, &p, c);
    for (size_t f = 0; f < forms && !s.code; f++) s = run(NULL, form[f], &p, c);
    if (!s.code) s = run(y, naive, &p, c);
    if (!s.code) print_problem(&p, c, origin);
    for (size_t f = 0; f < forms && !s.code; f++) {
        s = run(y + results / 2, form[f], &p, c);
        beyond += !s.code && !holds(form[f], y + results / 2, y, &p);
    }
    memory_free(y);
    memory_free(parameters);
    memory_free(p.tensor[0].data);
    return s.code || !beyond ? s : failure("%zu of %zu forms beyond a bound", beyond, forms);
}

static const struct option options[] = {
    {.name = "channels", .kind = OPTION_INTEGER, .default_value = "12", .low = 1, .high = 65536, .letter = "C",
     .value = "C", .meaning = "channels of a token"},
    {.name = "batch", .kind = OPTION_INTEGER, .default_value = "2", .low = 1, .high = 65536, .letter = "B",
     .value = "B", .meaning = "images"},
    {.name = "form", .kind = OPTION_CHOICE, .default_value = "", .value = "FORM",
     .meaning = "a form to compare, may be repeated (all, and with --device the CUDA kernels)"},
    OPTIONS_SIZES,
    OPTIONS_IMAGES,
    OPTION_THREADS,
    OPTION_DEVICE,
    OPTION_MAX_MEMORY,
    OPTION_MAX_WORK,
    {0}
};

const struct command verify_command = {
    .declaration = {.name = "verify", .summary = "compare the forms of an operator on a random problem",
                    .options = options},
    .what = "Prints the largest error and the root mean square (rms) of all errors, relative to the naive form, with\n"
            "their bounds. The exit status is 1 if an error is beyond its bound or NaN. Sizes that are not given are\n"
            "small. Large logits (--scale) multiply the errors, and the bounds do not allow for that.",
    .operator = true,
    .inputs = {"[IMAGE]"},
    .repeats = "form",
    .run = verify,
};
