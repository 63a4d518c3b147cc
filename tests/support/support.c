/* support.c -- reproducible inputs and comparisons; see support.h */

#include "support.h"
#include <stdarg.h>
#include "../../reference/io/images.h"
#include "../../reference/runtime/random.h"

static struct kept { struct kept *before; void *data; } *kept;

void *keep(size_t count, size_t size)
{
    struct kept *k = malloc(sizeof *k);
    ck_assert_ptr_nonnull(k);
    k->data = calloc(count ? count : 1, size);
    ck_assert_ptr_nonnull(k->data);
    k->before = kept;
    kept = k;
    return k->data;
}

/* New memory is NaN, so that a form that reads it before writing fails. */
static void set_up(void)
{
    memory_set_junk(true);
}

static void tear_down(void)
{
    while (kept) {
        struct kept *k = kept;
        kept = k->before;
        free(k->data);
        free(k);
    }
}

real *zeros(size_t n)
{
    return keep(n, sizeof(real));
}

real *normal(uint64_t seed, size_t n)
{
    real *a = zeros(n);
    random_fill_normal(a, n, seed, 0, 1);
    return a;
}

real *uniform(uint64_t seed, size_t n, double low, double high)
{
    real *a = zeros(n);
    random_fill_uniform(a, n, seed, 0, low, high);
    return a;
}

real *integers(uint64_t seed, size_t n, int bound)
{
    real *a = zeros(n);
    random_fill_integers(a, n, seed, 0, bound);
    return a;
}

real *copy(const real *a, size_t n)
{
    return memcpy(zeros(n), a, n * sizeof *a);
}

real *filled(size_t n, double value)
{
    real *a = zeros(n);
    for (size_t i = 0; i < n; i++) a[i] = (real)value;
    return a;
}

real *absolute(const real *a, size_t n)
{
    real *b = zeros(n);
    for (size_t i = 0; i < n; i++) b[i] = (real)fabs((double)a[i]);
    return b;
}

real *identity_matrix(size_t n)
{
    real *a = zeros(n * n);
    for (size_t i = 0; i < n; i++) a[i * n + i] = 1;
    return a;
}

real *sum_of(const real *a, double factor, const real *b, size_t n)
{
    real *sum = zeros(n);
    for (size_t i = 0; i < n; i++) sum[i] = a[i] + (real)factor * b[i];
    return sum;
}

real *rows_in_order(const real *a, const size_t *from, size_t rows, size_t columns)
{
    real *b = zeros(rows * columns);
    for (size_t r = 0; r < rows; r++) memcpy(b + r * columns, a + from[r] * columns, columns * sizeof *b);
    return b;
}

real *rows_reversed(const real *a, size_t rows, size_t columns)
{
    real *b = zeros(rows * columns);
    for (size_t n = 0; n < rows * columns; n++) b[n] = a[(rows - 1 - n / columns) * columns + n % columns];
    return b;
}

real *column_of(const real *a, size_t rows, size_t columns, size_t which)
{
    real *b = zeros(rows);
    for (size_t r = 0; r < rows; r++) b[r] = a[r * columns + which];
    return b;
}

real *transposed(const real *a, size_t rows, size_t columns)
{
    real *b = zeros(rows * columns);
    for (size_t n = 0; n < rows * columns; n++) b[n % columns * rows + n / columns] = a[n];
    return b;
}

real *matrix_product(const real *a, const real *b, size_t rows, size_t columns, size_t others)
{
    real *ab = zeros(rows * others);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            for (size_t o = 0; o < others; o++) ab[r * others + o] += a[r * columns + c] * b[c * others + o];
    return ab;
}

size_t matrix_rank(const real *a, size_t rows, size_t columns, double least)
{
    double *m = keep(rows * columns, sizeof *m);
    size_t rank = 0;
    for (size_t i = 0; i < rows * columns; i++) m[i] = (double)a[i];
    for (; columns && rank < rows; rank++) {
        double *top = m + rank * columns;
        size_t pivot = 0;
        for (size_t i = 0; i < (rows - rank) * columns; i++)
            if (fabs(top[i]) > fabs(top[pivot])) pivot = i;
        if (!(fabs(top[pivot]) > least)) break;
        double *chosen = top + pivot / columns * columns;
        for (size_t c = 0; c < columns; c++) {
            double old = top[c];
            top[c] = chosen[c];
            chosen[c] = old;
        }
        for (size_t r = rank + 1; r < rows; r++) {
            double *row = m + r * columns, share = row[pivot % columns] / top[pivot % columns];
            for (size_t c = 0; c < columns; c++) row[c] -= share * top[c];
            row[pivot % columns] = 0;
        }
    }
    return rank;
}

double largest(const real *a, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double size = fabs((double)a[i]);
        if (isnan(size)) return size;
        if (size > worst) worst = size;
    }
    return worst;
}

double largest_difference(const real *a, const real *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (isnan(d)) return d;
        if (d > worst) worst = d;
    }
    return worst;
}

void worse(double *worst, double error)
{
    if (!isnan(*worst) && !(error <= *worst)) *worst = error;
}

double relative_difference(const real *a, const real *b, size_t n)
{
    double difference = largest_difference(a, b, n);
    return difference == 0 ? 0 : difference / largest(b, n);
}

static const char *fault(bool wrong, const char *format, ...) PRINTF_LIKE(2, 3);

static const char *fault(bool wrong, const char *format, ...)
{
    static char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return wrong ? message : NULL;
}

const char *fault_within(const char *what, double error, double tolerance)
{
    printf("    %-52s error %8.1e of %8.1e allowed", what, error, tolerance);
    if (tolerance > 0) printf(" (%.0f %%)", 100 * error / tolerance);
    printf("\n");
    fflush(stdout);
    return fault(!(error <= tolerance), "%s: error %.3e, tolerance %.3e", what, error, tolerance);
}

const char *fault_beyond(const char *what, double error, double tolerance)
{
    printf("    %-52s differs by %8.1e, noticed above %8.1e\n", what, error, tolerance);
    fflush(stdout);
    return fault(!(error > tolerance), "%s: differs by %.3e, expected more than %.3e", what, error, tolerance);
}

const char *fault_equal(const real *a, const real *b, size_t n)
{
    double difference = largest_difference(a, b, n);
    return fault(!(difference == 0), "differ by %g, expected to be equal", difference);
}

const char *fault_unequal(const real *a, const real *b, size_t n)
{
    return fault(!(largest_difference(a, b, n) > 0), "are equal, expected to differ");
}

const char *fault_succeeds(status s)
{
    return fault(s.code, "%s", s.message);
}

const char *fault_rejected(status s, int code, const char *text)
{
    return fault(s.code != code || !strstr(s.message, text), "status %d '%s', expected %d with '%s'", s.code, s.message,
                 code, text);
}

bool images_there(const char *claim)
{
    FILE *images = fopen(IMAGES_DEFAULT, "rb");
    if (images) fclose(images);
    else printf("skipped: %s: no data set at %s\n", claim, IMAGES_DEFAULT);
    return images != NULL;
}

TCase *add_case(Suite *suite, const char *name)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 120);
    suite_add_tcase(suite, c);
    return c;
}

static struct test *first_test, **next_test = &first_test;

void test_register(struct test *t)
{
    *next_test = t;
    next_test = &t->next;
}

void add_tests(TCase *c)
{
    for (const struct test *t = first_test; t; t = t->next) tcase_add_loop_test(c, t->test, 0, t->count());
}

Suite *suite_of_tests(const char *name)
{
    Suite *suite = suite_create(name);
    add_tests(add_case(suite, "tests"));
    return suite;
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run_tests(const char *name) { return run_suite(suite_of_tests(name)); }
