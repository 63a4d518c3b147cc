/* field_support.cc -- replacements over the field for functions of support.h, roundoff.h, random.h and problem.h
 *
 * The Makefile renames the originals. */

#include "exact.h"
#include "theorems.h"
#include "../support/roundoff.h"
#include "../support/support.h"
#include "../../reference/runtime/random.h"

static struct degrees seen;
static size_t compared;

/* A nonzero element counts as 1024. */
double largest(const real *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != real(0)) return 1024;
    return 0;
}

double largest_difference(const real *a, const real *b, size_t n)
{
    double differ = 0;
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) differ = 1;
    degrees_record(&seen, a, b, n);
    compared += n;
    return differ;
}

double relative_difference(const real *a, const real *b, size_t n) { return largest_difference(a, b, n); }
double mean_difference(const real *a, const real *b, size_t n) { return largest_difference(a, b, n); }

const char *fault_equal(const real *a, const real *b, size_t n)
{
    return largest_difference(a, b, n) == 0 ? NULL : "differ, expected to be equal";
}

const char *fault_unequal(const real *a, const real *b, size_t n)
{
    return largest_difference(a, b, n) == 0 ? "are equal, expected to differ" : NULL;
}

/* Tolerances are ignored. */
const char *fault_within(const char *what, double error, double)
{
    static char message[300];
    snprintf(message, sizeof message, "%s: differ", what);
    return error == 0 ? NULL : message;
}

const char *fault_beyond(const char *what, double error, double)
{
    static char message[300];
    snprintf(message, sizeof message, "%s: are equal, expected to differ", what);
    return error > 0 ? NULL : message;
}

void alike(const char *what, const real *a, const real *b, size_t n, double, double)
{
    FAILS_IF(fault_within(what, largest_difference(a, b, n), 0));
}

double *reference(const struct problem *, const real *) { return NULL; }
double sensitivity(const struct problem *, const real *, const double *) { return 1; }
double chance(size_t) { return 0; }
double statistical_bound(const struct problem *, double, const struct form *, const struct form *) { return 0; }

extern "C" {

static void fill(real *a, size_t count, uint64_t seed, uint64_t stream)
{
    for (size_t n = 0; n < count; n++) a[n] = field_number(seed << 32 | stream << 8 | 7, n);
}

void random_fill_uniform(real *a, size_t count, uint64_t seed, uint64_t stream, double, double)
{
    fill(a, count, seed, stream);
}

void random_fill_normal(real *a, size_t count, uint64_t seed, uint64_t stream, double)
{
    fill(a, count, seed, stream);
}

void random_fill_integers(real *a, size_t count, uint64_t seed, uint64_t stream, int)
{
    fill(a, count, seed, stream);
}

/* Tensors that an operator adjusts hold dyadic rationals, since it compares them. */
status problem_draw(struct problem *p, uint64_t seed, real **block)
{
    size_t at = 0;
    *block = memory_reals(problem_parameters(p), 1, 1, 1);
    if (!*block) return out_of_memory("random parameters");
    for (size_t r = 1; p->declaration->tensors[r].name; r++) {
        const struct tensor_row *row = &p->declaration->tensors[r];
        size_t count = p->tensor[r].count;
        real *to = *block + at;
        if (!p->tensor[r].present) continue;
        fill(to, count, seed, r);
        for (size_t n = 0; row->adjust && n < count; n++) to[n] = exact_dyadic(seed << 8 | r, n);
        if (row->adjust) row->adjust(to, count);
        p->tensor[r].data = to;
        at += count;
    }
    return status_ok();
}

}

int exact_tests(const char *name)
{
    Suite *suite = suite_create(name);
    TCase *all = add_case(suite, "tests");
    tcase_set_timeout(all, 600);
    add_tests(all);
    return run_suite(suite);
}

/* The reason that skipped.tsv states for a test; NULL if it runs. */
static const char *skipped(const char *test)
{
    static char line[400];
    const char *found = NULL;
    FILE *list = fopen("tests/exact/skipped.tsv", "r");
    ck_assert_ptr_nonnull(list);
    while (!found && fgets(line, sizeof line, list)) {
        size_t length = strcspn(line, "\t\n");
        line[strcspn(line, "\n")] = '\0';
        if (length == strlen(test) && !strncmp(line, test, length)) found = line + length + (line[length] == '\t');
    }
    fclose(list);
    return found;
}

void exact_claim(const char *test, void (*once)(int index), int index)
{
    const char *why = getenv("LEFT_OUT") ? NULL : skipped(test);
    clock_t start = clock();
    if (why) {
        printf("    %s %d: not here: %s\n", test, index, why);
        return;
    }
    field_random_doubles = true;
    field_constants_are_low = !strcmp(test, "scale_of_query_and_key_has_no_effect");
    exact_begin();
    seen = (struct degrees){0, 0, 0};
    compared = 0;
    degrees_begin();
    for (int draw = 1; draw <= exact_draws(); draw++) {
        field_seed = (uint64_t)draw;
        once(index);
    }
    degrees_record(&seen, NULL, NULL, 0);
    printf("    %s %d: %d draws, %zu numbers compared", test, index, exact_draws(), compared);
    degrees_print(&seen, start);
}
