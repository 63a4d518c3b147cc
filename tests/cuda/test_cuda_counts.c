/* test_cuda_counts.c -- compares the kernels' memory requests with tests/cuda/counts.tsv
 *
 * The emulator's counts (fast/cuda/counts.h) do not depend on the order of threads: the tolerance is zero.  The
 * argument `count` rewrites the table.  To add a run, add a row that ends after `precision`, and rewrite: the run gets
 * a row for each kernel.  Kernels whose rows are deleted are not compared in that run. */

#include "../support/properties.h"
#include "../../fast/cuda/counts.h"
#include "../../reference/cli/settings.h"
#include "../../fast/cuda/versions.h"

#define TABLE "tests/cuda/counts.tsv"
#define PRECISION (sizeof(real) == 4 ? "float" : "double")

enum { LINE = 512, ROWS = 32 * LINE };

/* ---- problems ------------------------------------------------------------------------------ */

/* Sets all boxes of a chopd to `height` x `width` around offset (y, x + step r) for component r. */
static void set_boxes(struct fixture *t, const char *numbers)
{
    double y, x, height, width, step;
    size_t R = problem_size(&t->problem, "R"), G = problem_size(&t->problem, "G");
    ck_assert_int_eq(sscanf(numbers, "%lf,%lf,%lf,%lf,%lf", &y, &x, &height, &width, &step), 5);
    for (size_t box = 0; box < R * G; box++) {
        double middle = x + step * (double)(box / G);
        const double edge[4] = {y - height / 2, middle - width / 2, y + height / 2, middle + width / 2};
        for (size_t e = 0; e < 4; e++) fixture_tensor(t, "boxes")[4 * box + e] = (real)edge[e];
    }
}

/* A problem in the words of build/figures/bench/cuda, "lisa --grid 7x8 --channels 16 --sizes D=2"; a chopd may add
 * --boxes y,x,height,width,step. */
static struct fixture problem_of(const char *words)
{
    const char *word[32] = {""};
    struct setting own[] = {{.name = "--boxes", .most = 1}, {.name = NULL}}, other;
    const struct declaration *d;
    struct problem p;
    struct problem_sizes o;
    words_of(words, word, COUNT(word) - 1);
    succeeds(operator_named(&d, word[0]));
    succeeds(settings_take(&o, &other, own, word + 1));
    succeeds(problem_from_sizes(&p, d, &o));
    struct fixture t = fixture_of(p);
    if (own->count) set_boxes(&t, setting_word(own));
    return t;
}

/* ---- the table ---------------------------------------------------------------------------- */

/* A run of one version: rows with the same first `key` bytes, which are problem, version and precision. */
static char table[1 << 18];
static struct run { const char *rows; size_t length, key; } runs[512];
static int run_count;

/* True if $OPERATOR is not set, or names this operator. */
static bool selected(const char *operator)
{
    const char *only = getenv("OPERATOR");
    return !only || !strcmp(only, operator);
}

static void read_table(void)
{
    const char *last = "";
    FILE *file = fopen(TABLE, "r");
    if (!file) return;                                          /* every_version_is_in_the_table then fails */
    table[fread(table, 1, sizeof table - 1, file)] = '\0';
    fclose(file);
    for (const char *line = table, *next; (next = strchr(line, '\n')); line = next + 1) {
        char operator[16], precision[16];
        int key = 0;
        if (sscanf(line, "%15[^ #]%*[^\t]\t%*[^\t]\t%15[a-z]%n", operator, precision, &key) < 2) continue;
        if (strcmp(precision, PRECISION) || !selected(operator)) continue;
        if (strncmp(line, last, (size_t)key)) runs[run_count++] = (struct run){line, 0, (size_t)key};
        runs[run_count - 1].length += (size_t)(next + 1 - line);
        last = line;
    }
}

/* True if the run's rows name this kernel, or no kernel. */
static bool compared(const struct run *run, const char *kernel)
{
    char text[80];
    snprintf(text, sizeof text, "\t%s\t", kernel);
    const char *found = strstr(run->rows, text);
    return run->length == run->key + 1 || (found && found < run->rows + run->length);
}

static int alphabetical(const void *a, const void *b) { return strcmp(a, b); }

/* Prints a run's sorted rows to `rows`, one for all equal launches. */
static void count_run(char rows[ROWS], const struct run *run, unsigned seed)
{
    char words[256], version[16], kernel[64];
    sscanf(run->rows, "%255[^\t]\t%15[^\t]", words, version);
    struct fixture t = problem_of(words);
    const struct form *form = operator_version(t.problem.declaration, version);
    ck_assert_msg(form != NULL, "%s has no version %s", words, version);
    emulator_watch(true, seed);
    run_form(&t.problem, form, 1, t.x);
    size_t count = 0, same;
    char (*line)[LINE] = keep(emulator_launches(), LINE);
    for (size_t l = 0; l < emulator_launches(); l++) {
        const struct launch_counts *c = emulator_launch(l);
        sscanf(c->kernel + (*c->kernel == '('), "%63[a-z0-9_]", kernel);    /* without template parameters */
        if (!compared(run, kernel)) continue;
        snprintf(line[count++], LINE, "%s\t%u\t%u\t%zu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu",
                 kernel, c->blocks, c->threads, c->shared_bytes, c->requests, c->sectors, c->asked, c->touched,
                 c->shared_requests, c->wavefronts, c->partial, c->barriers, c->exchanges, c->products);
    }
    emulator_watch(false, 0);
    qsort(line, count, LINE, alphabetical);
    rows[0] = '\0';
    for (size_t l = 0; l < count; l += same) {
        for (same = 1; l + same < count && !strcmp(line[l], line[l + same]); same++) continue;
        size_t length = strlen(rows);
        snprintf(rows + length, ROWS - length, "%.*s\t%s\t%zu\n", (int)run->key, run->rows, line[l], same);
    }
}

/* Seeds 1 and 2 run the two branches of HiLo's cuda5 in both orders. */
TESTS(kernel_counts_equal_the_table, run_count)
{
    const struct run *run = &runs[_i];
    static char rows[ROWS];
    for (unsigned seed = 1; seed <= 2; seed++) {
        count_run(rows, run, seed);
        ck_assert_msg(strlen(rows) == run->length && !memcmp(rows, run->rows, run->length),
                      "seed %u: counted\n%sexpected\n%.*s", seed, rows, (int)run->length, run->rows);
    }
}

TEST(every_version_is_in_the_table)
{
    const struct declaration *d;
    const struct form *form;
    for (int o = 0; (d = operator_at(o)); o++)
        for (int r = 0; selected(d->name) && (form = operator_version_at(d, r)); r++) {
            int found = 0;
            for (int n = 0; n < run_count; n++) {
                char operator[16], version[16];
                sscanf(runs[n].rows, "%15[^ ]%*[^\t]\t%15[^\t]", operator, version);
                found += !strcmp(operator, d->name) && !strcmp(version, form->name);
            }
            ck_assert_msg(found > 0, TABLE " has no run of %s %s in %s", d->name, form->name, PRECISION);
        }
}

/* Not a test: replaces the rows of all runs of this precision, and keeps all other lines. */
#define ACTION(name) START_TEST(name)
ACTION(rewrite_the_table)
{
    static char rows[ROWS];
    const char *kept = table;
    FILE *file = fopen(TABLE ".new", "w");
    ck_assert_ptr_nonnull(file);
    for (int n = 0; n < run_count; n++) {
        count_run(rows, &runs[n], 1);
        fprintf(file, "%.*s%s", (int)(runs[n].rows - kept), kept, rows);
        kept = runs[n].rows + runs[n].length;
    }
    fputs(kept, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(TABLE ".new", TABLE), 0);
}

/* ---- fallbacks ------------------------------------------------------------------------------ */

#define FLOAT_OR_DOUBLE(in_float, in_double) (sizeof(real) == 4 ? (in_float) : (in_double))

/* Problems, and the kernel that the last plain version launches. */
static const struct { const char *problem, *kernel; } fallback[] = {
    {"msa --grid 3x3 --channels 28", "blocked"},
    {"msa --grid 4x4 --channels 28 --window 2 --shift 1", "blocked"},
    {"msa --grid 3x3 --channels 64", FLOAT_OR_DOUBLE("blocked", "tiled")},
    {"msa --grid 3x3 --channels 28 --gamma 1", "tiled"},                                /* a ghost head */
    {"msa --grid 3x3 --channels 66", "each_output"},
    {"structsa --grid 3x3 --channels 64 --kernel 3x3 --sizes D=2", "made_in_place"},
    {"structsa --grid 3x3 --channels 68 --kernel 3x3 --sizes D=2 --stride 3", "each_output"},
    {"structsa --grid 1x3 --channels 40 --kernel 1x1 --sizes D=1 --value-kernel 11x31 --stride 1x3",
     FLOAT_OR_DOUBLE("made_in_place", "tiled")},                                        /* the halo in slabs */
    {"structsa --grid 1x3 --channels 40 --kernel 1x1 --sizes D=1 --value-kernel 65x33 --stride 1x2", "tiled"},
    {"hilo --grid 4x4 --channels 128 --window 2 --alpha 0", "rows_exchanged"},
    {"hilo --grid 4x4 --channels 260 --window 2 --alpha 0", "rows_each_output"},
    {"hilo --grid 8x8 --channels 64 --window 4 --alpha 0", FLOAT_OR_DOUBLE("rows_exchanged", "rows_each_query")},
    {"hilo --grid 8x8 --channels 68 --window 4 --alpha 0", "rows_each_output"},
    {"hilo --grid 5x5 --channels 8 --window 5 --alpha 0", "rows_each_query"},
    {"hilo --grid 8x8 --channels 8 --window 8 --alpha 0", "rows_tiled"},
};

TESTS(a_version_falls_back_to_an_earlier_one, COUNT(fallback))
{
    struct fixture t = problem_of(fallback[_i].problem);
    size_t found = 0;
    emulator_watch(true, 1);
    run_form(&t.problem, operator_version(t.problem.declaration, "cuda"), 1, t.x);
    for (size_t l = 0; l < emulator_launches(); l++)
        found += strstr(emulator_launch(l)->kernel, fallback[_i].kernel) != NULL;
    ck_assert_msg(found == 1, "%s: %zu launches of %s", fallback[_i].problem, found, fallback[_i].kernel);
    emulator_watch(false, 0);
}

/* A block of LiSA's cuda3 takes as many channels as fit twice in a multiprocessor, else one; if one does not fit, cuda3
 * is cuda2 (0).  A channel has `points` complex and `tokens` real numbers, a block `turns` complex ones. */
static const struct { const char *problem, *device; size_t tokens, points, turns, channels; } block[] = {
    {"lisa --grid 28x28 --channels 17 --sizes D=2", NULL, 784, 784, 57, FLOAT_OR_DOUBLE(8, 4)},
    {"lisa --grid 28x28 --channels 17 --sizes D=2", "sm_75", 784, 784, 57, FLOAT_OR_DOUBLE(2, 1)},
    {"lisa --grid 28x28 --channels 17 --sizes D=2", "sm_80", 784, 784, 57, FLOAT_OR_DOUBLE(8, 4)},
    {"lisa --grid 28x28 --channels 17 --sizes D=2", "sm_86", 784, 784, 57, FLOAT_OR_DOUBLE(4, 2)},
    {"lisa --grid 56x56 --channels 2 --sizes D=2", NULL, 3136, 3136, 113, FLOAT_OR_DOUBLE(2, 1)},
    {"lisa --grid 56x56 --channels 2 --sizes D=2", "sm_75", 3136, 3136, 113, FLOAT_OR_DOUBLE(1, 0)},
    {"lisa --grid 56x56 --channels 2 --sizes D=2", "sm_86", 3136, 3136, 113, 1},
    {"lisa --grid 30x40 --channels 5 --sizes D=1", NULL, 1200, 1200, 71, FLOAT_OR_DOUBLE(4, 2)},
    {"lisa --grid 13x11 --channels 5 --sizes D=2", NULL, 143, 525, 47, 8},
    {"lisa --grid 141x141 --channels 1 --sizes D=1", NULL, 0, 0, 0, 0},
    {"lisa --grid 14x14 --channels 9 --sizes D=1 --equation 7", NULL, 196, 729, 55, FLOAT_OR_DOUBLE(16, 8)},
    {"lisa --grid 14x14 --channels 9 --sizes D=1 --equation 7", "sm_75", 196, 729, 55, FLOAT_OR_DOUBLE(4, 2)},
    {"lisa --grid 14x14 --channels 9 --sizes D=1 --equation 7", "sm_120", 196, 729, 55, FLOAT_OR_DOUBLE(4, 2)},
};

TESTS(blocks_take_as_many_channels_as_fit, COUNT(block))
{
    struct fixture t = problem_of(block[_i].problem);
    const struct form *form = operator_version(t.problem.declaration, "cuda3");
    const size_t point = 2 * sizeof(real);
    size_t fused = 0, library = 0, bytes = 0;
    ck_assert(emulator_device(block[_i].device));
    emulator_watch(true, 5);
    real *y = run_form(&t.problem, form, 1, t.x);
    for (size_t l = 0; l < emulator_launches(); l++) {
        const struct launch_counts *c = emulator_launch(l);
        library += !strcmp(c->kernel, "multiply");
        if (strcmp(c->kernel, "fused_output")) continue;
        fused++;
        bytes = c->shared_bytes;
    }
    emulator_watch(false, 0);
    emulator_device(NULL);
    within(block[_i].problem, relative_difference(y, fixture_run(&t, "fast", 1), t.outputs),
           property_tolerance(&t.problem));
    ck_assert_uint_eq(fused, block[_i].channels > 0);
    ck_assert_uint_eq(library > 0, block[_i].channels == 0);
    if (fused)
        ck_assert_uint_eq(bytes, block[_i].turns * point +
                                 block[_i].channels * (block[_i].points * point + block[_i].tokens * sizeof(real)));
}

int main(int argc, char **argv)
{
    (void)argv;
    read_table();
    if (argc == 1) return run_tests("cuda_counts");
    Suite *suite = suite_create("cuda_counts");
    TCase *action = add_case(suite, "action");
    tcase_set_timeout(action, 600);
    tcase_add_test(action, rewrite_the_table);
    return run_suite(suite);
}
