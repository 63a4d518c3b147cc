/* trial.c -- one problem drawn at random, run by whichever form; see trial.h */

#include "trial.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "../reference/heads.h"

/* Whether name is one of the words that *of points at. */
static bool named(const char *name, void *of)
{
    size_t length = strlen(name);
    const char *const *words = of;
    for (const char *w = *words; *w; w += strspn(w, " ")) {
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
    char *copied = keep(strlen(text) + 1, 1);
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

real *run_form(const struct problem *p, const struct form *form, int threads, const real *x)
{
    struct plan plan;
    real *y = zeros(problem_output_count(p));
    size_t before = memory_in_use();
    succeeds(plan_create(&plan, p, form, threads));
    size_t prepared = memory_in_use();
    memory_reset_peak();
    succeeds(plan_run(&plan, y, x));
    ck_assert_msg(memory_peak() == prepared, "%s: run allocated %zu bytes, expected none", form->name,
                  memory_peak() - prepared);
    plan_release(&plan);
    ck_assert_uint_eq(memory_in_use(), before);
    return y;
}

/* Options and sizes, before any shape. */
static status sized(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                    size_t channels, const char *sizes)
{
    const char *word[32], *size[8];
    status s = problem_create(p, d, split(options, word, 32), word);
    if (!s.code) s = problem_set_size(p, "B", batch);
    if (!s.code) s = problem_set_size(p, "C", channels);
    for (int n = 0, given = split(sizes, size, 8); n < given && !s.code; n++) {
        char letter[4] = "";
        size_t length = strcspn(size[n], "=");
        ck_assert_uint_lt(length, sizeof letter);
        memcpy(letter, size[n], length);
        s = problem_set_size(p, letter, strtoul(size[n] + length + 1, NULL, 10));
    }
    return s;
}

struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without)
{
    struct problem p;
    succeeds(sized(&p, options, d, batch, channels, sizes));
    succeeds(problem_shape(&p, named, &without));
    return p;
}

static bool bound(const struct problem *p, const char *letter)
{
    for (int l = 0; l < p->letters; l++)
        if (!strcmp(p->letter[l].name, letter)) return true;
    return isdigit((unsigned char)*letter);
}

/* The first letter of the table that has no size yet; false where there is none. */
static bool open_letter(char letter[4], const struct problem *p)
{
    const struct tensor_row *rows = p->declaration->tensors;
    for (int r = 0; rows[r].name; r++) {
        if (problem_row(p, rows[r].name) != r) continue;
        for (const char *at = rows[r].shape; *at && *at != '|'; at += strspn(at, " *+")) {
            size_t length = strcspn(at, " *+|");
            snprintf(letter, 4, "%.*s", (int)length, at);
            if (!bound(p, letter)) return true;
            at += length;
        }
    }
    return false;
}

status shaped_openly(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                     size_t channels, const char *sizes, const char *without, size_t factor)
{
    static const size_t primes[] = {3, 5, 7, 11, 13, 17, 19, 23};
    char letter[4];
    status s = sized(p, options, d, batch, channels, sizes);
    if (s.code) return s;
    s = problem_shape(p, named, &without);
    for (size_t n = 0; n < COUNT(primes) && s.code && open_letter(letter, p); n++) {
        s = problem_set_size(p, letter, primes[n] * factor);
        if (!s.code) s = problem_shape(p, named, &without);
    }
    return s;
}

struct trial trial(const char *options, const struct declaration *d, size_t batch, size_t channels,
                   const char *sizes, const char *without)
{
    return trial_of(shaped(options, d, batch, channels, sizes, without));
}

struct trial trial_of(struct problem p)
{
    struct trial t = {.problem = p};
    draw_parameters(&t.problem, 1);
    t.outputs = problem_output_count(&t.problem);
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
    return form_multiply_adds(form, &t->problem) - projections_multiply_adds(&t->problem);
}

double trial_difference(struct trial *t, const char *form, int threads)
{
    if (!t->y) t->y = trial_run(t, "naive", 1);
    return relative_difference(trial_run(t, form, threads), t->y, t->outputs);
}

real *trial_tensor(struct trial *t, const char *name)
{
    int row = problem_row(&t->problem, name);
    ck_assert_msg(row > 0 && t->problem.tensor[row].data, "%s has no tensor %s", t->problem.declaration->name, name);
    return t->problem.tensor[row].data;
}

/* Fails request after request, by one of the two ways of memory.h to do so, and
 * counts them. */
static long fail_each(const struct trial *t, const struct form *form, void (*allow)(long requests))
{
    size_t before = memory_in_use();
    for (long n = 0;; n++) {
        struct plan plan;
        ck_assert_int_lt(n, 10000);
        allow(n);
        status s = plan_create(&plan, &t->problem, form, 2);
        allow(-1);
        if (!s.code) succeeds(plan_run(&plan, zeros(t->outputs), t->x));
        plan_release(&plan);
        ck_assert_msg(memory_in_use() == before, "%s leaks when request %ld fails", form->name, n);
        if (!s.code) return n;
        ck_assert_int_eq(s.code, STATUS_FAILURE);
    }
}

void trial_without_memory(const struct trial *t, const char *form)
{
    const struct form *f = operator_form(t->problem.declaration, form);
    long requests = fail_each(t, f, memory_fail_after);
    ck_assert_int_gt(requests, 0);
    ck_assert_int_eq(fail_each(t, f, memory_fail_once), requests);
}
