/* golden.h -- golden vectors: files with a problem and PyTorch's result (tests/pytorch/) */

#pragma once
#include "roundoff.h"
#include "../../reference/io/safetensors.h"

struct golden {
    struct tensors file;
    struct problem problem;
    struct tensor *x, *expected;
    char options[256];
    const char *word[32];
};

/* The options in a file's metadata. */
static inline void golden_options(struct golden *g, const char *path)
{
    static const char key[] = "\"options\":\"";
    char header[4096] = "";
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    ck_assert(fseek(f, 8, SEEK_SET) == 0);
    header[fread(header, 1, sizeof header - 1, f)] = '\0';
    fclose(f);
    const char *at = strstr(header, key);
    ck_assert_msg(at != NULL, "%s has no options in its metadata", path);
    at += sizeof key - 1;
    /* cppcheck-suppress ctuuninitvar ; written here */
    snprintf(g->options, sizeof g->options, "%.*s", (int)strcspn(at, "\""), at);
}

/* Reads a file and binds it to the operator, which must know all tensors except the last, `result`. */
static inline void golden_read(struct golden *g, const struct declaration *d, const char *path, const char *result)
{
    int words = 0;
    golden_options(g, path);
    for (char *w = strtok(g->options, " "); w && words < 32; w = strtok(NULL, " ")) g->word[words++] = w;
    succeeds(safetensors_read(&g->file, path));
    succeeds(problem_create(&g->problem, d, words, g->word));
    g->expected = tensors_find(&g->file, result);
    g->x = tensors_find(&g->file, "x");
    ck_assert(g->expected && g->x && g->expected == &g->file.tensor[g->file.count - 1]);
    g->file.count--;
    succeeds(problem_bind(&g->problem, &g->file));
}

/* tests/golden/NAME.safetensors */
static inline void golden_open(struct golden *g, const struct declaration *d, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tests/golden/%s.safetensors", name);
    golden_read(g, d, path, "y_expected");
    own_parameters(&g->problem);
}

static inline void golden_close(struct golden *g)
{
    g->file.count++;
    tensors_release(&g->file);
}

/* Each form with two threads is within the tolerance, relative to the largest entry, and within roundoff.h's bound.  If
 * the result's second token replaces the first, the tolerance is exceeded. */
static inline void golden_holds(const struct golden *g, const char *name, double tolerance)
{
    size_t count = g->expected->count, columns = g->expected->size[g->expected->axes - 1];
    const struct form *form;
    const real *x = copy(g->x->data, g->x->count);
    double kappa = sensitivity(&g->problem, x, reference(&g->problem, x));
    for (int f = 0; (form = operator_form_at(g->problem.declaration, f)); f++) {
        char what[160];
        snprintf(what, sizeof what, "%s, %s", name, form->name);
        real *y = run_form(&g->problem, form, 2, x);
        alike(what, y, g->expected->data, count, tolerance, statistical_bound(&g->problem, kappa, form, NULL));
        memcpy(y, g->expected->data + columns, columns * sizeof *y);
        beyond("    the first token replaced by the second", relative_difference(y, g->expected->data, count),
               tolerance);
    }
}
