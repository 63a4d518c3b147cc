/* promises.c -- what every form promises; see promises.h */

#include "promises.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "support.h"

static bool same_bits(const real *a, const real *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

/* Form f of the trial's operator, or NULL. */
static const struct form *form_at(const struct trial *t, int f)
{
    return f < OPERATOR_FORMS ? t->problem.declaration->forms[f] : NULL;
}

void promise_one_function(struct trial *t, const char *what, double tolerance)
{
    char line[160];
    for (int f = 0; form_at(t, f); f++)
        for (int threads = 1; threads <= 2; threads++) {
            snprintf(line, sizeof line, "%.100s, %s, %d thread%s", what, form_at(t, f)->name, threads, threads == 1 ? "" : "s");
            within(line, trial_difference(t, form_at(t, f)->name, threads), tolerance);
        }
    ck_assert(largest(t->y, t->outputs) > 0);
}

void promise_every_tensor_counts(struct trial *t, double tolerance)
{
    double step = sizeof(real) == sizeof(float) ? 1e-2 : 1e-6;
    (void)trial_difference(t, "naive", 1);
    for (int f = 0; form_at(t, f); f++)
        for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
            char line[160];
            real *data = t->problem.tensor[r].data;
            if (!data) continue;
            real kept = data[0];
            data[0] += (real)step;
            snprintf(line, sizeof line, "%s, %s[0] moved", form_at(t, f)->name, t->problem.declaration->tensors[r].name);
            beyond(line, trial_difference(t, form_at(t, f)->name, 1), tolerance);
            data[0] = kept;
        }
}

void promise_repeatable(const struct trial *t)
{
    size_t parameters = problem_parameters(&t->problem), in = t->inputs, out = t->outputs;
    real *other = normal(3, in), *x = copy(t->x, in), *y = normal(4, out);
    size_t first = 1;
    while (!t->problem.tensor[first].data) first++;
    real *block = t->problem.tensor[first].data, *before = copy(block, parameters);

    for (int f = 0; form_at(t, f); f++)
        for (int threads = 1; threads <= 3; threads++) {
            struct plan plan;
            real *alone = run_form(&t->problem, form_at(t, f), threads, t->x);
            succeeds(plan_create(&plan, &t->problem, form_at(t, f), threads));
            y[0] = (real)NAN;
            for (int round = 0; round < 2; round++) {
                succeeds(plan_run(&plan, y, other));
                ck_assert(!same_bits(y, alone, out));
                succeeds(plan_run(&plan, y, t->x));
                ck_assert(same_bits(y, alone, out));
            }
            plan_release(&plan);
            ck_assert(same_bits(t->x, x, in) && same_bits(block, before, parameters));
        }
}

struct worker { const struct trial *t; const struct form *form; const real *x, *expected; int wrong; };

static void *work(void *argument)
{
    struct worker *w = argument;
    real *y = memory_reals(w->t->outputs, 1, 1, 1);
    for (int round = 0; round < 5; round++) {
        struct plan plan;
        w->wrong += !y || plan_create(&plan, &w->t->problem, w->form, 2).code != STATUS_OK;
        if (w->wrong) break;
        for (int run = 0; run < 3; run++)
            w->wrong += plan_run(&plan, y, w->x).code != STATUS_OK || !same_bits(y, w->expected, w->t->outputs);
        plan_release(&plan);
    }
    memory_free(y);
    return NULL;
}

void promise_plans_apart(const struct trial *t)
{
    for (int f = 0; form_at(t, f); f++) {
        pthread_t thread[2];
        struct worker w[2];
        for (int i = 0; i < 2; i++) {
            real *x = normal((uint64_t)i + 1, t->inputs);
            w[i] = (struct worker){t, form_at(t, f), x, run_form(&t->problem, form_at(t, f), 2, x), 0};
        }
        for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &w[i]), 0);
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        ck_assert_int_eq(w[0].wrong + w[1].wrong, 0);
    }
}

void promise_images_apart(const struct trial *t, size_t entry,
                          bool (*reached)(size_t token, size_t channel, void *of), void *of)
{
    size_t B = problem_size(&t->problem, "B"), in = t->inputs / B, out = t->outputs / B, channels;
    int axes;
    size_t shape[TENSOR_AXES];
    succeeds(problem_output_shape(&t->problem, &axes, shape));
    channels = shape[axes - 1];
    ck_assert_uint_ge(B, 2);

    for (int f = 0; form_at(t, f); f++)
        for (size_t image = 0; image < 2; image++) {
            real *y = run_form(&t->problem, form_at(t, f), 2, t->x), *touched = copy(t->x, t->inputs);
            touched[image * in + entry] = (real)NAN;
            real *y_nan = run_form(&t->problem, form_at(t, f), 2, touched);
            for (size_t b = 0; b < B; b++) {
                if (b != image) ck_assert(same_bits(y + b * out, y_nan + b * out, out));
                else for (size_t i = 0; i < out; i++)
                    ck_assert_msg(isnan((double)y_nan[b * out + i]) == (!reached || reached(i / channels, i % channels, of)),
                                  "%s: token %zu, channel %zu", form_at(t, f)->name, i / channels, i % channels);
            }
        }
}

void promise_memory(const struct trial *t)
{
    real *y = zeros(t->outputs);
    for (int f = 0; form_at(t, f); f++) {
        struct plan plan;
        succeeds(plan_create(&plan, &t->problem, form_at(t, f), 2));
        memory_fail_after(0);
        status s = plan_run(&plan, y, t->x);
        memory_fail_after(-1);
        plan_release(&plan);
        succeeds(s);
        trial_without_memory(t, form_at(t, f)->name);
    }
}

void promise_overflow(struct problem *p)
{
    real box[4] = {-1, -1, 1, 1};       /* what a tensor's first entries may be; no more are looked at */
    for (size_t r = 1; r < PROBLEM_TENSORS; r++)
        if (p->tensor[r].present) p->tensor[r].data = box;
    memory_set_limit(1 << 20);
    for (int f = 0; f < OPERATOR_FORMS && p->declaration->forms[f]; f++) {
        struct plan plan;
        refused(plan_create(&plan, p, p->declaration->forms[f], 1), STATUS_FAILURE, "memory");
    }
    memory_set_limit(0);
    ck_assert_uint_eq(memory_in_use(), 0);
}
