/* test_properties.c -- properties of every form of every operator and layer, over the cases of cases.h
 *
 * A layer has one form, which is compared with itself in double. */

#include "../support/cases.h"
#include "../support/properties.h"
#include "../../reference/networks/layers/layers.h"

/* Tolerance: fixture.h derives that of the largest difference, roundoff.h that of the root mean square. */
TESTS(forms_are_one_function, case_count)
{
    struct fixture t;
    if (case_fixture(&t, &cases[_i])) property_one_function(&t, cases[_i].options, property_tolerance(&t.problem));
}

/* Single entries may have no effect: a key's bias adds the same number to all scores of a query. */
TESTS(every_tensor_counts, case_count)
{
    struct fixture t;
    if (case_fixture(&t, &cases[_i])) property_every_tensor_counts(&t, property_tolerance(&t.problem));
}

/* Three images of 384 tokens: a chunk of two, then one. */
TESTS(chunks_follow_one_another, operator_count)
{
    static const char *const wide[] = {"", "384", "16x24", "4x8x12"};
    struct operator_case c = {.declaration = every[_i], .batch = 3};
    int axes = usual_axes(c.declaration);
    struct fixture t;
    required(c.options, sizeof c.options, c.declaration, wide[axes], kernels[axes]);
    case_fixture(&t, &c);
    property_one_function(&t, c.options, property_tolerance(&t.problem));
}

/* Logits in the hundreds (float) or thousands (double) overflow exp unless the largest is subtracted.  Tolerance: 1 + 2
 * L times the above, since a logit L errs by L times as much, and so do its weight and the sum of weights.  L <= 1000
 * (10000): products of two normal vectors of 6 channels stay below 25. */
TESTS(large_logits_do_not_overflow, plain_count)
{
    const bool single = sizeof(real) == 4;
    struct operator_case c = cases[_i];
    struct fixture t;
    bool scaled = declaration_option(c.declaration, "scale") >= 0;
    size_t at = strlen(c.options);
    if (strstr(c.options, "--scale")) return;       /* covered by the case with the default scale */
    if (scaled) snprintf(c.options + at, sizeof c.options - at, " --scale %d", single ? 40 : 400);
    c.chosen = true;
    if (!case_fixture(&t, &c)) return;
    for (size_t n = 0; n < t.inputs && !scaled; n++) t.x[n] *= single ? 8 : 24;
    t.sharp = true;
    property_one_function(&t, c.options, (1 + 2 * (single ? 1e3 : 1e4)) * property_tolerance(&t.problem));
}

/* The properties of properties.h that need no tolerance. */
TESTS(properties_hold, plain_count)
{
    struct fixture t;
    if (!case_fixture(&t, &cases[_i])) return;
    property_nan_is_seen(&t);
    property_repeatable(&t);
    property_loads_again(&t);
    property_memory(&t);
    property_bytes(&t);
    property_shared_scratch(&t);
}

/* With 64-bit addresses: five images of about 4e8 tokens and 12288 channels; without a grid, sizes times 8192. */
TESTS(sizes_that_do_not_fit_take_nothing, operator_count)
{
    static const char *const large[] = {"", "400000000", "19998x19998", "4x10000x10000"};
    const struct declaration *d = every[_i];
    int axes = usual_axes(d);
    char options[128];
    struct problem p;
    required(options, sizeof options, d, large[axes], kernels[axes]);
    succeeds(shaped_openly(&p, options, d, 5, BY_ADDRESSES(12288, 2), "", "",
                           axes ? 1 : BY_ADDRESSES(8192, 256)));
    property_overflow(&p);
}

/* Fails unless each word of "a=b|c & d~e" names an option and one of its choices. */
static void check_condition(const struct declaration *d, const char *when)
{
    while (when) {
        char option[24], list[48];
        size_t length = strcspn(when, " "), n = strcspn(when, "=~");
        snprintf(option, sizeof option, "%.*s", (int)n, when);
        snprintf(list, sizeof list, "%.*s", (int)(length - n - 1), when + n + 1);
        int o = declaration_option(d, option);
        ck_assert_msg(o >= 0, "%s: a tensor depends on --%s, which is no option", d->name, option);
        for (char *word = strtok(list, "|"); word && d->options[o].choices; word = strtok(NULL, "|"))
            ck_assert_msg(word_place(d->options[o].choices, word) >= 0, "%s: --%s is never %s", d->name, option, word);
        when = when[length] ? when + length + 3 : NULL;
    }
}

/* An operator declares every name in its tables and every name that it looks up, resolves with and without data, and
 * states the cost of each form. */
TESTS(names_are_declared, case_count)
{
    struct fixture t;
    const struct declaration *d = cases[_i].declaration;
    const struct form *form;
    if (!case_fixture(&t, &cases[_i])) return;
    void *params = memory_get(d->resolved, 1);
    for (const struct tensor_row *row = d->tensors; row->name; row++) {
        check_condition(d, row->when);
        const struct tensor_row *other = d->tensors;
        while (row->needs && other->name && strcmp(other->name, row->needs)) other++;
        for (const char *asked = row->only_if; asked; asked = strchr(asked, '|') ? strchr(asked, '|') + 1 : NULL) {
            char option[24];
            snprintf(option, sizeof option, "%.*s", (int)strcspn(asked, "|"), asked);
            ck_assert_msg(declaration_option(d, option) >= 0, "%s: %s is asked for by --%s, which is no option",
                          d->name, row->name, option);
        }
        ck_assert_msg(other->name, "%s: %s goes with %s, which is no tensor", d->name, row->name, row->needs);
    }
    succeeds(d->resolve(params, &t.problem));
    for (size_t r = 0; r < PROBLEM_TENSORS; r++) t.problem.tensor[r].data = NULL;
    succeeds(d->resolve(params, &t.problem));
    memory_free(params);
    for (int f = 0; (form = operator_form_at(d, f)); f++) {
        ck_assert(form_multiply_adds(form, &t.problem) > 0);
        ck_assert_ptr_eq(operator_form(d, form->name), form);
    }
    const bool layer = layer_find(d->name) != NULL;
    ck_assert_str_eq(operator_form_at(d, 0)->name, layer ? "layer" : "naive");
    ck_assert_ptr_eq(operator_form(d, "naive"), operator_form_at(d, 0));
    ck_assert_int_eq(layer, operator_form(d, "fast") == operator_form_at(d, 0) && !operator_form_at(d, 1));
    ck_assert_ptr_eq(operator_find(d->name), d);
    ck_assert_int_lt(case_count, (int)COUNT(cases));
}

int main(void)
{
    enumerate_cases(operator_or_layer_at);
    return run_tests("properties");
}
