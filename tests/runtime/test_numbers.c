/* test_numbers.c -- NaN, infinity, large and tiny numbers
 *
 * tests/runtime/numbers.tsv counts the outputs that are not finite if an entry of a tensor is NaN, infinity or 1e30.
 * NUMBERS=FILE build/tests/runtime/test_numbers writes this table to FILE. */

#include "../support/properties.h"

#define CHANNELS 8
#define PLACES ((size_t)9)      /* tested entries of a tensor, from the first to the last */

/* Each operator, with the equations and variants that treat tensors differently. */
static const struct { const char *name, *options, *sizes, *without; } kind[] = {
    {"msa", "--grid 3x4 --heads 2", "", "ghost_mul ghost_add"},
    {"msa", "--grid 4x4 --heads 2 --window 2 --shift 1", "", "ghost_mul ghost_add rpe"},
    {"sra", "--grid 4x4 --heads 2 --reduction 2", "", ""},
    {"lisa", "--grid 3x4 --heads 2", "D=3", "b_qkv"},
    {"lisa", "--grid 3x4 --heads 2 --equation 4", "", ""},
    {"lisa", "--grid 3x4 --heads 2 --equation 5", "D=3", ""},
    {"lisa", "--grid 3x4 --heads 2 --equation 7", "D=3", ""},
    {"structsa", "--grid 3x4 --heads 2 --kernel 3x3", "D=3", ""},
    {"structsa", "--grid 3x4 --heads 2 --kernel 3x3 --equation 4", "D=3", ""},
    {"elsa", "--grid 4x5 --heads 2 --kernel 3", "", ""},
    {"elsa", "--grid 4x5 --heads 2 --kernel 3 --variant final", "Q=8", "ghost_mul ghost_add"},
    {"fc", "", "M=4 N=3 D=2", ""},
    {"dfc", "", "M=4 N=3 D=2", ""},
    {"dfc-cp", "", "M=4 N=3 D=2 R=3", ""},
    {"dfc-cp", "--positions relative --grid 2x2", "D=2 R=3", ""},
    {"chopd", "--grid 3x4 --gate-size 2", "D=3 R=2 G=2 S=2", ""},
    {"hilo", "--grid 4x4 --heads 2 --alpha 0.5", "", ""},
    {"hilo", "--grid 4x4 --heads 2 --alpha 0.5 --pooled-queries", "", ""},
};

static struct fixture fixture_at(int at)
{
    return fixture(kind[at].options, operator_find(kind[at].name), 2, CHANNELS, kind[at].sizes, kind[at].without);
}

/* Tensor r of the fixture (0: x of the first image); NULL if it is absent or must be finite. */
static real *tensor_of(const struct fixture *t, size_t r, size_t *count)
{
    *count = r ? t->problem.tensor[r].count : t->inputs / 2;
    if (r && !t->problem.tensor[r].data) return NULL;
    if (!strcmp(t->problem.declaration->tensors[r].name, "boxes")) return NULL;
    return r ? t->problem.tensor[r].data : t->x;
}

static size_t place(size_t n, size_t count) { return (count - 1) * n / (PLACES - 1); }

static size_t count_nonfinite(const real *y, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) found += !isfinite((double)y[i]);
    return found;
}

/* The fewest and most outputs that are not finite, over the places. */
struct reach { size_t fewest, most; };

static struct reach reach_of(const struct fixture *t, const struct form *form, size_t r, real value)
{
    struct reach reach = {SIZE_MAX, 0};
    size_t count;
    real *data = tensor_of(t, r, &count);
    for (size_t n = 0; n < PLACES; n++) {
        real kept = data[place(n, count)];
        data[place(n, count)] = value;
        size_t found = count_nonfinite(run_form(&t->problem, form, 1, t->x), t->outputs);
        data[place(n, count)] = kept;
        if (found < reach.fewest) reach.fewest = found;
        if (found > reach.most) reach.most = found;
    }
    return reach;
}

/* Appends "8 to 32 of 256", "none", "all" or "its image"; for a finite value "some", since overflow depends on the
 * order of a sum. */
static void append(char *cell, size_t size, struct reach reach, size_t outputs, bool in_range)
{
    char least[48] = "", most[48];
    size_t at = strlen(cell);
    if (!reach.most || reach.most == outputs || reach.most == outputs / 2)
        snprintf(most, sizeof most, "%s", !reach.most ? "none" : reach.most == outputs ? "all" : "its image");
    else snprintf(most, sizeof most, "%zu of %zu", reach.most, outputs);
    if (reach.fewest < reach.most && !in_range) snprintf(least, sizeof least, "%zu to ", reach.fewest);
    snprintf(cell + at, size - at, "%s%s", least, in_range && reach.most ? "some" : most);
}

/* A cell has the naive form, and each form that differs from it. */
static void make_cell(char *cell, size_t size, const struct fixture *t, size_t r, real value)
{
    const struct form *form;
    bool in_range = isfinite((double)value);
    struct reach naive = {0, 0};
    *cell = '\0';
    for (int f = 0; (form = operator_form_at(t->problem.declaration, f)); f++) {
        struct reach reach = reach_of(t, form, r, value);
        size_t at = strlen(cell);
        if (f == 0) naive = reach;
        else if (in_range ? !reach.most == !naive.most : reach.fewest == naive.fewest && reach.most == naive.most)
            continue;
        if (f) snprintf(cell + at, size - at, "; %s: ", form->name);
        append(cell, size, reach, t->outputs, in_range);
    }
}

static char *lines_of(const char *path)
{
    char *text = keep(1 << 16, 1);
    size_t length = 0;
    FILE *table = fopen(path, "r");
    ck_assert_msg(table != NULL, "%s: cannot be opened", path);
    while (fgets(text + length, (1 << 16) - (int)length, table))
        if (text[length] != '#') length += strlen(text + length);
    ck_assert(feof(table));
    fclose(table);
    text[length] = '\0';
    return text;
}

/* In double the square of 1e30 is finite, and the row has no last cell. */
static void make_row(char *row, size_t size, int at, const struct fixture *t, size_t r)
{
    const real value[] = {(real)NAN, (real)INFINITY, (real)1e30};
    char cell[3][96];
    for (size_t v = 0; v < COUNT(value); v++) make_cell(cell[v], sizeof cell[v], t, r, value[v]);
    snprintf(row, size, "%s %s\t%s\t%s\t%s\t", kind[at].name, kind[at].options,
             t->problem.declaration->tensors[r].name, cell[0], cell[1]);
    if (sizeof(real) == 4) snprintf(row + strlen(row), size - strlen(row), "%s\n", cell[2]);
    else ck_assert_msg(!strcmp(cell[2], "none"), "%s: %s", row, cell[2]);
}

/* In every form, for two images and nine places of each tensor. */
TEST(nan_and_infinity_spread_as_tabulated)
{
    const char *made = getenv("NUMBERS"), *next = made ? NULL : lines_of("tests/runtime/numbers.tsv");
    FILE *table = made ? fopen(made, "w") : NULL;
    ck_assert_msg(table || !made, "%s: cannot be written", made);
    for (int k = 0; k < (int)COUNT(kind); k++) {
        struct fixture t = fixture_at(k);
        for (size_t r = 0; r < PROBLEM_TENSORS; r++) {
            size_t count;
            char row[512];
            if (!tensor_of(&t, r, &count)) continue;
            make_row(row, sizeof row, k, &t, r);
            if (table) fputs(row, table);
            if (table) continue;
            ck_assert_msg(!strncmp(next, row, strlen(row)), "tests/runtime/numbers.tsv: found %.*s, expected %s",
                          (int)strcspn(next, "\n"), next, row);
            next += strcspn(next, "\n") + 1;
        }
    }
    if (table) ck_assert_int_eq(fclose(table), 0);
    else ck_assert_msg(!*next, "tests/runtime/numbers.tsv: found %s, expected no more rows", next);
}

static void finite_and_equal(struct fixture *t, const char *what)
{
    char line[160];
    const struct form *form;
    double tolerance = property_tolerance(&t->problem);
    real *naive = fixture_run(t, "naive", 1);
    ck_assert_msg(!count_nonfinite(naive, t->outputs), "%s: naive is not finite", what);
    for (int f = 1; (form = operator_form_at(t->problem.declaration, f)); f++) {
        real *y = run_form(&t->problem, form, 1, t->x);
        snprintf(line, sizeof line, "%s, %s", what, form->name);
        within(line, relative_difference(y, naive, t->outputs), tolerance);
    }
}

/* 1e-30 (1e-300 in double), the smallest positive number and 0 at three places of each tensor; a zero first token; each
 * tensor zero.  Tolerance: properties.h. */
TESTS(tiny_numbers_give_finite_results, COUNT(kind))
{
    struct fixture t = fixture_at(_i);
    const bool single = sizeof(real) == 4;
    const double value[] = {single ? 1e-30 : 1e-300, single ? 1e-45 : 5e-324, 0};
    char what[64];
    for (size_t r = 0; r < PROBLEM_TENSORS; r++) {
        size_t count;
        real *data = tensor_of(&t, r, &count);
        if (!data) continue;
        const char *name = t.problem.declaration->tensors[r].name;
        real *kept = copy(data, count);
        for (size_t v = 0; v < COUNT(value); v++)
            for (size_t n = 0; n < PLACES; n += 4) {
                snprintf(what, sizeof what, "%s[%zu] = %g", name, place(n, count), value[v]);
                data[place(n, count)] = (real)value[v];
                finite_and_equal(&t, what);
                memcpy(data, kept, count * sizeof *data);
            }
        for (int all = !!r; all < 2; all++) {
            snprintf(what, sizeof what, "%s%s = 0", all ? "" : "first token of ", name);
            memset(data, 0, (all ? count : CHANNELS) * sizeof *data);
            finite_and_equal(&t, what);
            memcpy(data, kept, count * sizeof *data);
        }
    }
}

int main(void) { return run_tests("numbers"); }
