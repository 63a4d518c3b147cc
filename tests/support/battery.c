/* battery.c -- one test per row of an operator's tables; see battery.h */

#define _XOPEN_SOURCE 700
#include "battery.h"
#include <assert.h>
#include <glob.h>
#include "golden.h"
#include "properties.h"
#include "../../reference/runtime/heads.h"

/* Index of a loop test: STRIDE times the operator's number, plus the row. */
enum { STRIDE = 1000, MOST = 8 };
static const struct battery *batteries[MOST];
static glob_t golden[MOST];
static int battery_count;

static const struct battery *operator_of(int i) { return batteries[i / STRIDE]; }

/* Rows before the row of zeros; the first member of a row is a text. */
static int rows(const void *table, size_t size)
{
    int n = 0;
    while (table && *(const char *const *)((const char *)table + (size_t)n * size)) n++;
    return n;
}

#define ROWS(table) rows(table, sizeof *(table))

static int variants(const struct battery *b) { return b->variants ? ROWS(b->variants) : 1; }

/* The fixture of test i in a table, and its options. */
static struct fixture fixture_case(const char **options, const struct battery *b, const struct battery_case *table,
                                   int i)
{
    const struct battery_case *row = &table[i % STRIDE / variants(b)];
    char *all = keep(256, 1), *without = keep(256, 1);
    int v = i % STRIDE % variants(b);
    const char *variant = b->variants ? b->variants[v] : "";
    if (b->join) b->join(all, 256, row->options, variant);
    else snprintf(all, 256, "%s %s", row->options, variant);
    snprintf(without, 256, "%s %s", row->without, b->variants_without ? b->variants_without[v] : "");
    *options = all;
    return fixture(all, b->operator, row->batch, row->channels, row->sizes, without);
}

double counted_run(const struct fixture *t, const char *form, real *y)
{
    struct plan plan;
    succeeds(plan_create(&plan, &t->problem, counted_form(t->problem.declaration, form), 1));
    multiplications();
    succeeds(plan_run(&plan, y, t->x));
    plan_release(&plan);
    return (double)multiplications();
}

static double line_bytes(double bytes) { return ceil(bytes / 64) * 64; }
double real_bytes(double count) { return line_bytes(count * sizeof(real)); }
double int_bytes(double count) { return line_bytes(count * sizeof(int)); }

double plan_bytes(const struct declaration *d, const struct form *form)
{
    return line_bytes((double)d->resolved) + line_bytes((double)form->state);
}

START_TEST(forms_agree)
{
    const struct battery *b = operator_of(_i);
    const char *options;
    struct fixture t = fixture_case(&options, b, b->sizes, _i);
    property_one_function(&t, options, property_tolerance(&t.problem));
}

/* Every form gives PyTorch's y, computed in float64. */
START_TEST(golden_vectors)
{
    const struct battery *b = operator_of(_i);
    const char *path = golden[_i / STRIDE].gl_pathv[_i % STRIDE];
    struct golden g;
    golden_read(&g, b->operator, path, "y_expected");
    own_parameters(&g.problem);
    golden_holds(&g, path, property_tolerance(&g.problem));
    golden_close(&g);
}

/* The error comes at the latest when the sizes are known. */
START_TEST(wrong_options_are_errors)
{
    const struct battery *b = operator_of(_i);
    const struct battery_error *row = &b->errors[_i % STRIDE];
    struct problem p;
    rejected(shaped_openly(&p, row->options, b->operator, 1, row->channels, "", "", 1), STATUS_BAD_INPUT, row->message);
}

START_TEST(files_fit_or_are_errors)
{
    const struct battery *b = operator_of(_i);
    const struct battery_file *row = &b->files[_i % STRIDE];
    struct tensors file = file_of(row->tensors, row->without);
    struct problem p;
    status s = bound_to(&p, row->options, b->operator, &file);
    if (row->message) rejected(s, STATUS_BAD_INPUT, row->message);
    else succeeds(s);
}

/* The counting builds of the naive and plain forms give the form's y, and their multiplications plus those of the
 * projections, which BLAS computes, equal the formula. */
START_TEST(forms_multiply_as_their_formulas_say)
{
    const struct battery *b = operator_of(_i);
    const char *options;
    struct fixture t = fixture_case(&options, b, b->counted, _i);
    real *y = zeros(t.outputs);
    for (const char *const *name = (const char *const[]){"naive", "plain", NULL}; *name; name++) {
        ck_assert_ptr_nonnull(counted_form(b->operator, *name));
        const struct form *form = operator_form(b->operator, *name);
        double counted = counted_run(&t, *name, y);
        double projections = b->projections ? b->projections(&t.problem, form) : projections_multiply_adds(&t.problem);
        printf("    %-60s %-5s %10.0f multiplications\n", options, *name, counted);
        ck_assert(counted > 0);
        ck_assert(counted + projections == form_multiply_adds(form, &t.problem));
        within("y", relative_difference(y, fixture_run(&t, *name, 1), t.outputs), property_tolerance(&t.problem));
    }
}

START_TEST(forms_take_the_memory_they_state)
{
    const struct battery *b = operator_of(_i);
    const struct form *form;
    const char *options;
    char what[256];
    struct fixture t = fixture_case(&options, b, b->memory, _i);
    int checked = 0;
    for (int f = 0; (form = operator_form_at(b->operator, f)); f++) {
        double stated = b->stated(&t.problem, form);
        if (stated < 0) continue;
        snprintf(what, sizeof what, "%s, %s: bytes", options, form->name);
        within(what, fabs(fixture_peak(&t, form) - stated), b->slack);
        checked++;
    }
    ck_assert_int_gt(checked, 0);
}

START_TEST(bytes_grow_with_tokens_as_stated)
{
    const struct battery *b = operator_of(_i);
    const struct battery_growth *row = &b->growth[_i % STRIDE];
    double bytes[2];
    for (size_t n = 0; n < 2; n++) {
        char all[256];
        snprintf(all, sizeof all, "--grid %zux%zu %s", row->edge << n, row->edge << n, row->options);
        struct fixture t = fixture(all, b->operator, 1, row->channels, row->sizes, row->without);
        bytes[n] = fixture_peak(&t, operator_form(b->operator, row->form));
    }
    printf("    %s, %s: %.2f times the bytes\n", row->options, row->form, bytes[1] / bytes[0]);
    ck_assert(bytes[1] > row->least * bytes[0] && bytes[1] <= row->most * bytes[0]);
}

static int find_golden(glob_t *found, const struct battery *b)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "tests/golden/%s_*.safetensors", b->operator->name);
    if (glob(pattern, 0, NULL, found)) abort();     /* no file, or no memory */
    return (int)found->gl_pathc;
}

void add_battery(Suite *suite, const struct battery *b)
{
    int first = STRIDE * battery_count, v = variants(b);
    TCase *forms = add_case(suite, "forms"), *vectors = add_case(suite, "golden vectors");
    TCase *properties = add_case(suite, "properties"), *costs = add_case(suite, "costs");
    assert(battery_count < MOST);
    if (b->golden)
        tcase_add_loop_test(vectors, golden_vectors, first, first + find_golden(&golden[battery_count], b));
    batteries[battery_count++] = b;
    tcase_add_loop_test(forms, forms_agree, first, first + v * ROWS(b->sizes));
    tcase_add_loop_test(properties, wrong_options_are_errors, first, first + ROWS(b->errors));
    tcase_add_loop_test(properties, files_fit_or_are_errors, first, first + ROWS(b->files));
    tcase_add_loop_test(costs, forms_multiply_as_their_formulas_say, first, first + v * ROWS(b->counted));
    tcase_add_loop_test(costs, forms_take_the_memory_they_state, first, first + v * ROWS(b->memory));
    tcase_add_loop_test(costs, bytes_grow_with_tokens_as_stated, first, first + ROWS(b->growth));
}

int run_battery(const char *name, const struct battery *b)
{
    Suite *suite = suite_of_tests(name);
    add_battery(suite, b);
    return run_suite(suite);
}
