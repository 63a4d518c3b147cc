/* trial.c -- one random problem, run by any form; see trial.h */

#include "trial.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "../../reference/runtime/heads.h"
#include "../../reference/runtime/sizes.h"

int words_of(const char *text, const char *word[], int most)
{
    int words = 0;
    char *copied = keep(strlen(text) + 1, 1);
    strcpy(copied, text);
    for (char *w = strtok(copied, " "); w && words < most; w = strtok(NULL, " ")) word[words++] = w;
    return words;
}

/* The words of "D=16 R=4" or "rpe w_o" that an operator knows, so that several operators can share a list. */
static char *those_known(const char *list, const struct declaration *d)
{
    const char *word[16];
    char *known = keep(strlen(list) + 2, 1);
    for (int w = 0, words = words_of(list, word, 16); w < words; w++) {
        char letter[4];
        const struct tensor_row *t = d->tensors;
        while (t->name && (strcmp(t->name, word[w]) || !t->optional)) t++;
        snprintf(letter, sizeof letter, "%.*s", (int)strcspn(word[w], "="), word[w]);
        if (strchr(word[w], '=') ? declaration_has_letter(d, letter) : t->name != NULL)
            strcat(strcat(known, *known ? " " : ""), word[w]);
    }
    return known;
}

void own_parameters(struct problem *p)
{
    for (size_t r = 0; r < PROBLEM_TENSORS; r++)
        if (p->tensor[r].data) p->tensor[r].data = copy(p->tensor[r].data, p->tensor[r].count);
}

void draw_parameters(struct problem *p, uint64_t seed)
{
    real *block;
    succeeds(problem_draw(p, seed, &block));
    own_parameters(p);
    memory_free(block);
}

/* Numbers before and after y, which no run may touch; none if AddressSanitizer watches these bytes. */
enum { MARGIN = ROOM_GUARD ? 0 : 4096, MARGIN_BYTE = 0x5a };

static bool untouched(const real *margin)
{
    const unsigned char *byte = (const unsigned char *)margin;
    size_t b = 0;
    while (b < MARGIN * sizeof *margin && byte[b] == MARGIN_BYTE) b++;
    return b == MARGIN * sizeof *margin;
}

real *run_form(const struct problem *p, const struct form *form, int threads, const real *x)
{
    struct plan plan;
    size_t count = problem_output_count(p);
    real *before_y = zeros(count + 2 * MARGIN), *y = before_y + MARGIN;
    memset((void *)before_y, MARGIN_BYTE, MARGIN * sizeof *y);
    memset((void *)(y + count), MARGIN_BYTE, MARGIN * sizeof *y);
    size_t before = memory_in_use();
    succeeds(plan_create(&plan, p, form, threads));
    size_t prepared = memory_in_use();
    memory_reset_peak();
    succeeds(plan_run(&plan, y, x));
    ck_assert_msg(memory_peak() == prepared, "%s: run allocated %zu bytes, expected none", form->name,
                  memory_peak() - prepared);
    plan_release(&plan);
    ck_assert_uint_eq(memory_in_use(), before);
    ck_assert_msg(untouched(before_y) && untouched(y + count), "%s: writes beside y", form->name);
    return y;
}

struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without)
{
    struct problem p;
    const char *word[32];
    const struct outline o = {.words = words_of(options, word, 32), .word = word, .batch = batch, .channels = channels,
                              .sizes = those_known(sizes, d), .without = those_known(without, d)};
    succeeds(outline_problem(&p, d, &o));
    return p;
}

status shaped_openly(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                     size_t channels, const char *sizes, const char *without, size_t factor)
{
    static const size_t primes[] = {3, 5, 7, 11, 13, 17, 19, 23};
    const char *word[32];
    char letter[4], *all = keep(256, 1);
    struct outline o = {.words = words_of(options, word, 32), .word = word, .batch = batch, .channels = channels,
                        .sizes = all, .without = those_known(without, d)};
    snprintf(all, 256, "%s", those_known(sizes, d));
    status s = outline_problem(p, d, &o);
    for (size_t n = 0; n < COUNT(primes) && s.code && outline_open_letter(letter, p); n++) {
        size_t at = strlen(all);
        snprintf(all + at, 256 - at, " %s=%zu", letter, primes[n] * factor);
        s = outline_problem(p, d, &o);
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

/* Bytes that AddressSanitizer's guards add to a plan of one thread (room.h). */
static size_t guard_bytes(const struct problem *p, const struct form *form)
{
    struct plan plan;
    if (!ROOM_GUARD) return 0;
    succeeds(plan_prepare(&plan, p, form, 1));
    struct room bare = plan.room;
    for (int n = 0; n < bare.arrays; n++) bare.bytes[bare.array[n].time] -= ROOM_GUARD;
    size_t bytes = room_bytes(&plan.room) - room_bytes(&bare);
    plan_release(&plan);
    return bytes;
}

double trial_peak(const struct trial *t, const struct form *form)
{
    size_t guards = guard_bytes(&t->problem, form), before = memory_in_use();
    memory_reset_peak();
    run_form(&t->problem, form, 1, t->x);
    return (double)(memory_peak() - before - guards);
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

const char *fault_forms_equal(const struct trial *t, const real *y)
{
    const char *wrong = NULL;
    const struct form *form;
    for (int f = 0; !wrong && (form = operator_form_at(t->problem.declaration, f)); f++)
        wrong = fault_equal(run_form(&t->problem, form, 1, t->x), y, t->outputs);
    return wrong;
}

const char *fault_forms_within(const struct trial *t, const real *y, double tolerance)
{
    const char *wrong = NULL;
    const struct form *form;
    for (int f = 0; !wrong && (form = operator_form_at(t->problem.declaration, f)); f++)
        wrong = fault_within(form->name, relative_difference(run_form(&t->problem, form, 1, t->x), y, t->outputs),
                             tolerance);
    return wrong;
}

/* The row of a parameter that the trial has. */
static int present_row(const struct trial *t, const char *name)
{
    int row = problem_row(&t->problem, name);
    ck_assert_msg(row > 0 && t->problem.tensor[row].data, "%s has no tensor %s", t->problem.declaration->name, name);
    return row;
}

real *trial_tensor(struct trial *t, const char *name) { return t->problem.tensor[present_row(t, name)].data; }
size_t trial_count(const struct trial *t, const char *name) { return t->problem.tensor[present_row(t, name)].count; }

void trial_put(struct trial *t, const char *name, const real *values)
{
    memcpy(trial_tensor(t, name), values, trial_count(t, name) * sizeof *values);
}

void trial_put_identity(struct trial *t, const char *name, size_t n)
{
    ck_assert_uint_eq(trial_count(t, name), n * n);
    trial_put(t, name, identity_matrix(n));
}

void trial_fill(struct trial *t, const char *name, double value)
{
    trial_put(t, name, filled(trial_count(t, name), value));
}

void trial_take(struct trial *to, const struct trial *from, const char *names)
{
    const char *word[32];
    for (int w = 0, words = words_of(names, word, 32); w < words; w++) {
        ck_assert_uint_eq(trial_count(to, word[w]), trial_count(from, word[w]));
        trial_put(to, word[w], from->problem.tensor[present_row(from, word[w])].data);
    }
}

/* Lets one request after another fail, in one of the two ways of memory.h, and counts them. */
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
    form_without_memory(t, operator_form(t->problem.declaration, form));
}

void form_without_memory(const struct trial *t, const struct form *form)
{
    long requests = fail_each(t, form, memory_fail_after);
    ck_assert_int_gt(requests, 0);
    ck_assert_int_eq(fail_each(t, form, memory_fail_once), requests);
}
