/* trial.c -- one problem drawn at random, run by whichever form; see trial.h */

#include "trial.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "../reference/heads.h"

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

void draw_parameters(struct problem *p, uint64_t seed)
{
    real *block;
    succeeds(problem_draw(p, seed, &block));
    real *kept = copy(block, problem_parameters(p));
    for (size_t r = 0; r < PROBLEM_TENSORS; r++)
        if (p->tensor[r].data) p->tensor[r].data = kept + (p->tensor[r].data - block);
    memory_free(block);
}

static size_t outputs_of(const struct problem *p)
{
    int axes;
    size_t shape[TENSOR_AXES], count = 1;
    succeeds(problem_output_shape(p, &axes, shape));
    for (int a = 0; a < axes; a++) count *= shape[a];
    return count;
}

real *run_form(const struct problem *p, const struct form *form, int threads, const real *x)
{
    struct plan plan;
    real *y = zeros(outputs_of(p));
    size_t before = memory_in_use();
    succeeds(plan_create(&plan, p, form, threads));
    size_t prepared = memory_in_use();
    memory_reset_peak();
    succeeds(plan_run(&plan, y, x));
    ck_assert_msg(memory_peak() == prepared, "%s: run allocated %zu bytes, expected none", form->name, memory_peak() - prepared);
    plan_release(&plan);
    ck_assert_uint_eq(memory_in_use(), before);
    return y;
}

struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without)
{
    struct problem p;
    const char *word[32], *size[8];

    succeeds(problem_create(&p, d, split(options, word, 32), word));
    succeeds(problem_set_size(&p, "B", batch));
    succeeds(problem_set_size(&p, "C", channels));
    for (int s = 0, given = split(sizes, size, 8); s < given; s++) {
        char letter[4] = "";
        size_t n = strcspn(size[s], "=");
        ck_assert_uint_lt(n, sizeof letter);
        memcpy(letter, size[s], n);
        succeeds(problem_set_size(&p, letter, strtoul(size[s] + n + 1, NULL, 10)));
    }
    succeeds(problem_shape(&p, named, (void *)(size_t)without));
    return p;
}

struct trial trial(const char *options, const struct declaration *d, size_t batch, size_t channels,
                   const char *sizes, const char *without)
{
    struct trial t = {.problem = shaped(options, d, batch, channels, sizes, without)};
    draw_parameters(&t.problem, 1);
    t.outputs = outputs_of(&t.problem);
    t.inputs = problem_input_count(&t.problem);
    t.x = normal(2, t.inputs);
    return t;
}

real *trial_run_on(const struct trial *t, const char *form, int threads, const real *x)
{
    const struct form *f = operator_form(t->problem.declaration, form);
    ck_assert_msg(f != NULL, "%s has no form %s", t->problem.declaration->name, form);
    return run_form(&t->problem, f, threads, x);
}

real *trial_run(const struct trial *t, const char *form, int threads)
{
    return trial_run_on(t, form, threads, t->x);
}

double trial_peak(const struct trial *t, const struct form *form)
{
    memory_reset_peak();
    size_t before = memory_in_use();
    run_form(&t->problem, form, 1, t->x);
    return (double)(memory_peak() - before);
}

double trial_hearts(const struct trial *t, const struct form *form)
{
    return form->multiply_adds(&t->problem) - heads_multiply_adds(&t->problem);
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
