/* trial.c -- one problem drawn at random, run by whichever form; see trial.h */

#include "trial.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "../reference/random.h"

/* Whether name is one of the words. */
static bool named(const char *name, void *words)
{
    size_t length = strlen(name);
    for (const char *w = words; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        if (n == length && !strncmp(w, name, n)) return true;
        w += n;
    }
    return false;
}

/* Words parted by blanks into word[]; the text they point at is kept. */
static int split(const char *text, const char *word[], int most)
{
    int words = 0;
    char *copied = (char *)zeros(strlen(text) / sizeof(real) + 1);
    strcpy(copied, text);
    for (char *w = strtok(copied, " "); w && words < most; w = strtok(NULL, " ")) word[words++] = w;
    return words;
}

struct trial trial(const char *options, const struct declaration *d, size_t batch, size_t channels,
                   const char *sizes, const char *without)
{
    struct trial t = {.x = NULL};
    const char *word[32], *size[8];
    real *block;

    succeeds(problem_create(&t.problem, d, split(options, word, 32), word));
    succeeds(problem_set_size(&t.problem, "B", batch));
    succeeds(problem_set_size(&t.problem, "C", channels));
    for (int s = 0, given = split(sizes, size, 8); s < given; s++) {
        char letter[4] = "";
        size_t n = strcspn(size[s], "=");
        ck_assert_uint_lt(n, sizeof letter);
        memcpy(letter, size[s], n);
        succeeds(problem_set_size(&t.problem, letter, strtoul(size[s] + n + 1, NULL, 10)));
    }
    succeeds(problem_shape(&t.problem, named, (void *)(size_t)without));
    succeeds(problem_draw(&t.problem, 1, &block));

    /* The block moves into the test's keeping. */
    size_t parameters = problem_parameters(&t.problem);
    real *kept = copy(block, parameters);
    for (int r = 1; d->tensors[r].name; r++)
        if (t.problem.tensor[r].data) t.problem.tensor[r].data = kept + (t.problem.tensor[r].data - block);
    memory_free(block);

    int axes;
    size_t shape[TENSOR_AXES];
    succeeds(problem_output_shape(&t.problem, &axes, shape));
    t.outputs = 1;
    for (int a = 0; a < axes; a++) t.outputs *= shape[a];
    t.inputs = problem_input_count(&t.problem);
    t.x = normal(2, t.inputs);
    return t;
}

real *trial_run_on(const struct trial *t, const char *form, int threads, const real *x)
{
    struct plan plan;
    const struct form *f = operator_form(t->problem.declaration, form);
    ck_assert_msg(f != NULL, "%s has no form %s", t->problem.declaration->name, form);
    real *y = zeros(t->outputs);
    size_t before = memory_in_use();
    succeeds(plan_create(&plan, &t->problem, f, threads));
    size_t prepared = memory_in_use(), peak;
    memory_reset_peak();
    succeeds(plan_run(&plan, y, x));
    peak = memory_peak();
    ck_assert_msg(peak == prepared, "%s: run allocated %zu bytes, expected none", form, peak - prepared);
    plan_release(&plan);
    ck_assert_uint_eq(memory_in_use(), before);
    return y;
}

real *trial_run(const struct trial *t, const char *form, int threads)
{
    return trial_run_on(t, form, threads, t->x);
}

double trial_difference(struct trial *t, const char *form, int threads)
{
    if (!t->y) t->y = trial_run(t, "naive", 1);
    return relative_difference(trial_run(t, form, threads), t->y, t->outputs);
}

real *trial_tensor(struct trial *t, const char *name)
{
    real *data = (real *)(size_t)problem_tensor(&t->problem, name);
    ck_assert_msg(data != NULL, "%s has no tensor %s", t->problem.declaration->name, name);
    return data;
}

void trial_without_memory(const struct trial *t, const char *form)
{
    const struct form *f = operator_form(t->problem.declaration, form);
    size_t before = memory_in_use();
    for (long n = 0;; n++) {
        struct plan plan;
        ck_assert_int_lt(n, 10000);
        memory_fail_after(n);
        status s = plan_create(&plan, &t->problem, f, 2);
        memory_fail_after(-1);
        if (!s.code) {
            plan_release(&plan);
            ck_assert_uint_eq(memory_in_use(), before);
            ck_assert_int_gt(n, 0);
            return;
        }
        ck_assert_int_eq(s.code, STATUS_FAILURE);
        ck_assert_msg(memory_in_use() == before, "%s leaks when request %ld fails", form, n);
    }
}
