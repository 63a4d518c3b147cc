/* test_live.c -- the library in WebAssembly, run by node (live.js); skipped without node or a compiler for
 * WebAssembly */

#define _XOPEN_SOURCE 700
#include <glob.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../support/golden.h"
#include "../support/properties.h"

static char module[4096];       /* build/live/library.wasm */
static glob_t vectors;          /* golden vectors of operators */

static const char *missing;     /* a missing tool, or NULL */

static const char *missing_tool(void)
{
    if (access(module, R_OK)) return "no compiler for WebAssembly (make deps)";
    return system("node --version >/dev/null 2>&1") ? "no node" : NULL;
}

static bool skips(const char *question)
{
    if (missing) printf("skipped: %s: %s\n", question, missing);
    return missing;
}

/* Reads the reals that node prints, keeps at most `count`, and returns their number. */
static size_t node(real *to, size_t count, const char *words)
{
    char command[9000];
    snprintf(command, sizeof command, "node tests/library/live.js %s %s", module, words);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    size_t came = fread(to, sizeof *to, count, f);
    while (fgetc(f) != EOF) came++;
    int state = pclose(f);
    ck_assert_msg(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%s: failed", command);
    return came;
}

/* For each golden vector and form except fftw, in float.  Tolerance: properties.h and roundoff.h for two forms with
 * equal terms; shorter vectors, and loops instead of BLAS, sum in another order. */
TESTS(forms_in_webassembly_equal_forms_here, missing ? 1 : (int)vectors.gl_pathc)
{
    const char *path = vectors.gl_pathv[_i], *leaf = strrchr(path, '/') + 1;
    const struct declaration *d;
    const struct form *form;
    struct golden g;
    char name[80], operator[40], what[160], words[400];
    if (skips("forms in WebAssembly")) return;
    snprintf(operator, sizeof operator, "%.*s", (int)strcspn(leaf, "_"), leaf);
    ck_assert_ptr_nonnull(d = operator_find(operator));
    snprintf(name, sizeof name, "%.*s", (int)strcspn(leaf, "."), leaf);
    golden_open(&g, d, name);
    size_t count = g.expected->count, columns = g.expected->size[g.expected->axes - 1];
    double kappa = sensitivity(&g.problem, g.x->data, reference(&g.problem, g.x->data));
    double tolerance = property_tolerance(&g.problem);

    size_t forms = 0;
    int at = snprintf(words, sizeof words, "golden %s", path);
    for (int f = 0; (form = operator_form_at(d, f)); f++)
        if (strcmp(form->name, "fftw")) {
            at += snprintf(words + at, sizeof words - (size_t)at, " %s", form->name);
            forms++;
        }
    real *page = zeros(forms * count);
    ck_assert_uint_eq(node(page, forms * count, words), forms * count);

    for (int f = 0; (form = operator_form_at(d, f)); f++) {
        if (!strcmp(form->name, "fftw")) continue;
        real *here = run_form(&g.problem, form, 1, g.x->data);
        snprintf(what, sizeof what, "%s, %s", name, form->name);
        alike(what, page, here, count, tolerance, statistical_bound(&g.problem, kappa, form, form));
        memcpy(page, here + columns, columns * sizeof *page);
        if (count > columns)
            beyond("    the first token replaced by the second", relative_difference(page, here, count), tolerance);
        page += count;
    }
    golden_close(&g);
}

/* A scene on a small grid.  Its kernel makes `channels` channels of y, from `first` on. */
struct scene {
    const char *name, *settings;
    size_t first, channels;
    const char *map;            /* tensor whose last rows make the value; "": channel 1 of x is the value */
};

static const struct scene scene[] = {
    {"msa", "{\"E\":3}", 0, 9, "w_qkv"},
    {"msa", "{\"E\":3,\"scale\":40}", 0, 9, "w_qkv"},
    {"lisa", "{\"E\":3}", 0, 9, "w_qkv"},
    {"lisa", "{\"E\":3,\"D\":7,\"tables\":\"random\"}", 0, 9, "w_qkv"},
    {"structsa", "{\"E\":3}", 0, 9, "w_qkv"},
    {"structsa", "{\"E\":3,\"K\":5,\"D\":3,\"detectors\":\"centre and surround, by hand\"}", 0, 9, "w_qkv"},
    {"structsa", "{\"E\":3,\"detectors\":\"random\"}", 0, 9, "w_qkv"},
    {"elsa", "{\"E\":3}", 0, 1, "w_qkv"},
    {"elsa", "{\"E\":3,\"K\":5,\"channel\":\"a ring\"}", 6, 1, "w_qkv"},
    {"elsa", "{\"E\":3,\"K\":3,\"ghost\":false}", 0, 9, "w_qkv"},
    {"chopd", "{\"E\":3}", 0, 1, ""},
    {"chopd", "{\"E\":3,\"less\":true,\"gate\":false,\"top\":-0.5,\"right\":1}", 0, 1, ""},
    {"hilo", "{\"E\":4,\"kernel\":\"high\"}", 0, 8, "h_qkv"},
    {"hilo", "{\"E\":4,\"kernel\":\"low\"}", 16, 8, "l_kv"},
    {"hilo", "{\"E\":4,\"alpha\":1,\"scale\":30,\"kernel\":\"low\"}", 0, 8, "l_kv"},
};

/* Opens the file that node writes: a problem and, as its last tensor, the kernel. */
static void open_scene(struct golden *g, const struct scene *s, const char *path)
{
    char command[9000];
    snprintf(command, sizeof command, "node tests/library/live.js %s kernel %s '%s' >%s", module, s->name, s->settings,
             path);
    ck_assert_msg(system(command) == 0, "%s: failed", command);
    golden_read(g, operator_find(s->name), path, "kernel");
    unlink(path);
}

/* Sets random values v [N][channels]: through random rows of the map, or in channel 1 of x, which only u4 reads. */
static void set_random_values(real *v, struct golden *g, const struct scene *s, uint64_t seed)
{
    size_t N = g->x->size[1], C = g->x->size[2];
    real *x = g->x->data;
    if (!*s->map) {
        real *u4 = tensors_find(&g->file, "u4")->data, *values = normal(seed, N);
        for (size_t c = 0; c < C; c++) u4[2 * c] = c == 1;
        for (size_t n = 0; n < N; n++) v[n] = x[n * C + 1] = values[n];
        return;
    }
    struct tensor *map = tensors_find(&g->file, s->map);
    size_t parts = strcmp(s->map, "l_kv") ? 3 : 2, width = map->size[0] / parts;
    size_t offset = strcmp(s->map, "l_kv") ? s->first : 0;      /* of the channel among the rows of the value */
    real *rows = map->data + (parts - 1) * width * C;
    memcpy(rows, normal(seed, width * C), width * C * sizeof *rows);
    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < s->channels; c++) {
            double sum = 0;
            for (size_t in = 0; in < C; in++) sum += (double)x[n * C + in] * (double)rows[(offset + c) * C + in];
            v[n * s->channels + c] = (real)sum;
        }
}

/* Updates the largest error |y - kernel v| and the unit of the tolerance. */
static void compare(double *error, double *unit, const struct golden *g, const struct scene *s, const real *kernel,
                    const real *v, const real *y)
{
    size_t N = g->x->size[1], width = problem_output_count(&g->problem) / N, E = s->channels;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < E; c++) {
            double sum = 0;
            for (size_t j = 0; j < N; j++) sum += (double)kernel[i * N + j] * (double)v[j * E + c];
            worse(error, fabs(sum - (double)y[i * width + s->first + c]));
        }
    worse(unit, largest(y, N * width) + (double)N * largest(kernel, N * N) * largest(v, N * E));
}

/* y = kernel v for N + 3 random v, which determine the kernel.  The naive form here makes y, the fast form in node the
 * kernel.  Tolerance: properties.h, relative to y's largest entry plus N products of the kernel's and v's. */
TESTS(kernel_of_a_live_figure_gives_y, missing ? 1 : (int)COUNT(scene))
{
    const struct scene *s = &scene[_i];
    char path[4200], what[160];
    struct golden g = {0};
    double error = 0, unit = 0, other = 0;
    if (skips("kernels of live figures")) return;
    snprintf(path, sizeof path, "%.*s.scene%d", (int)strlen(module) - 5, module, _i);
    open_scene(&g, s, path);
    size_t N = g.x->size[1];
    real *v = zeros(N * s->channels), *kernel = g.expected->data, *exchanged = copy(kernel, N * N);
    memcpy(exchanged, kernel + N, N * sizeof *kernel);
    memcpy(exchanged + N, kernel, N * sizeof *kernel);

    for (uint64_t draw = 0; draw < N + 3; draw++) {
        set_random_values(v, &g, s, 10 + draw);
        real *y = run_form(&g.problem, operator_form(g.problem.declaration, "naive"), 1, g.x->data);
        compare(&error, &unit, &g, s, kernel, v, y);
        compare(&other, &unit, &g, s, exchanged, v, y);
    }
    snprintf(what, sizeof what, "%s %s", s->name, s->settings);
    within(what, error / unit, property_tolerance(&g.problem));
    beyond("    two rows exchanged", other / unit, property_tolerance(&g.problem));
    golden_close(&g);
}

int main(int argc, char **argv)
{
    char *slash;
    if (argc < 1 || !realpath(argv[0], module) || !(slash = strrchr(module, '/'))) return EXIT_FAILURE;
    snprintf(slash, sizeof module - (size_t)(slash - module), "/../../live/library.wasm");
    if (glob("tests/golden/[!n]*_*.safetensors", 0, NULL, &vectors)) return EXIT_FAILURE;

    missing = missing_tool();
    return run_tests("live");
}
