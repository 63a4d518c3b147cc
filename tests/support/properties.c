/* properties.c -- properties of every form of every operator; see properties.h */

#include "properties.h"
#include "roundoff.h"
#include "../../reference/runtime/random.h"

static const struct form *form_at(const struct fixture *t, int f)
{
    return (t->form_at ? t->form_at : operator_form_at)(t->problem.declaration, f);
}

real *parameters_of(const struct problem *p)
{
    real *all = zeros(problem_parameters(p)), *next = all;
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
        if (!p->tensor[r].data) continue;
        memcpy(next, p->tensor[r].data, p->tensor[r].count * sizeof *next);
        next += p->tensor[r].count;
    }
    return all;
}

void set_parameters(const struct problem *p, const real *all, real factor)
{
    for (size_t r = 1; r < PROBLEM_TENSORS; r++)
        for (size_t i = 0; p->tensor[r].data && i < p->tensor[r].count; i++) p->tensor[r].data[i] = factor * *all++;
}

double version_tolerance(const struct problem *p, const struct form *version)
{
    return property_tolerance(p) + 32 * sqrt(4) * form_rounding(version);
}

void property_one_function(struct fixture *t, const char *what, double tolerance)
{
    char line[160];
    for (int f = 0; form_at(t, f); f++)
        for (int threads = 1; threads <= 2; threads++) {
            snprintf(line, sizeof line, "%.100s, %s, %d thread%s", what, form_at(t, f)->name, threads,
                     threads == 1 ? "" : "s");
            form_holds(t, line, form_at(t, f), threads, tolerance);
        }
    ck_assert(largest(t->y, t->outputs) > 0);
}

static double larger(double a, double b) { return a > b || isnan(a) ? a : b; }

/* The largest relative differences of a form from the naive form so far: of the maximum, and of the root mean
 * square. */
struct apart { double most, mean; };

static void follow(struct fixture *t, struct apart apart[OPERATOR_FORMS])
{
    for (int f = 1; form_at(t, f); f++) {
        real *y = fixture_run(t, form_at(t, f)->name, 1);
        apart[f].most = larger(apart[f].most, relative_difference(y, t->y, t->outputs));
        apart[f].mean = larger(apart[f].mean, mean_difference(y, t->y, t->outputs));
    }
}

void property_every_tensor_counts(struct fixture *t, double tolerance)
{
    char line[160];
    real *before = fixture_run(t, "naive", 1);
    double kappa = sensitivity(&t->problem, t->x, reference(&t->problem, t->x));
    for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
        double all, single = 0;
        struct apart apart[OPERATOR_FORMS] = {{0}};
        real *data = t->problem.tensor[r].data;
        size_t count = t->problem.tensor[r].count;
        if (!data) continue;

        real *kept = copy(data, count);
        for (size_t i = 0; i < count; i++) data[i] += (real)(random_bits(1, r, i) % 2 ? 0.125 : -0.125);
        t->y = fixture_run(t, "naive", 1);
        all = relative_difference(t->y, before, t->outputs);
        follow(t, apart);
        memcpy(data, kept, count * sizeof *data);

        /* Move the first entry, the last one, then random ones, until y changed five times, but at most 64. */
        for (uint64_t n = 0, noticed = 0; n < 64 && noticed < 5; n++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a tensor with data has at least one number */
            size_t i = n == 0 ? 0 : n == 1 ? count - 1 : (size_t)(random_bits(2, r, n) % count);
            data[i] += (real)0.125;
            t->y = fixture_run(t, "naive", 1);
            double moved = relative_difference(t->y, before, t->outputs);
            single = larger(single, moved);
            noticed += moved > tolerance;
            if (n < 2 || moved > tolerance) follow(t, apart);
            data[i] = kept[i];
        }

        const char *name = t->problem.declaration->tensors[r].name;
        snprintf(line, sizeof line, "naive, all of %s moved; one entry: %.1e", name, single);
        beyond(line, all, tolerance);
        for (int f = 1; form_at(t, f); f++) {
            snprintf(line, sizeof line, "    and %s follows it", form_at(t, f)->name);
            within(line, apart[f].most, tolerance);
            within("        root mean square", apart[f].mean,
                   statistical_bound(&t->problem, kappa, form_at(t, f), form_at(t, 0)));
        }
    }
    t->y = before;
}

void property_repeatable(const struct fixture *t)
{
    size_t parameters = problem_parameters(&t->problem), in = t->inputs, out = t->outputs;
    real *other = normal(3, in), *x = copy(t->x, in), *y = normal(4, out);
    real *before = parameters_of(&t->problem);

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
            ck_assert(same_bits(t->x, x, in) && same_bits(parameters_of(&t->problem), before, parameters));
        }
}

void property_nan_is_seen(const struct fixture *t)
{
    size_t B = problem_size(&t->problem, "B"), in = t->inputs / B, out = t->outputs / B;
    for (size_t image = 0; image < B; image += B - 1) {
        size_t entry = 0, depend = 0;
        real *naive = fixture_run(t, "naive", 1), *naive_moved = naive, *moved = naive;
        real *touched = copy(t->x, t->inputs);
        double noticeable = property_tolerance(&t->problem) * largest(naive, t->outputs);
        for (uint64_t n = 0; n < 16 && !depend; n++) {          /* a strided layer does not see every token */
            entry = image * in + (size_t)(random_bits(3, image, n) % in);
            moved = copy(t->x, t->inputs);
            moved[entry] += 1;
            naive_moved = fixture_run_on(t, "naive", 1, moved);
            for (size_t i = 0; i < t->outputs; i++)
                depend += fabs((double)naive[i] - (double)naive_moved[i]) > noticeable;
        }
        ck_assert_uint_gt(depend, 0);
        touched[entry] = (real)NAN;

        for (int f = 0; form_at(t, f); f++) {
            const struct form *form = form_at(t, f);
            real *y = run_form(&t->problem, form, 2, t->x), *y_moved = run_form(&t->problem, form, 2, moved);
            real *y_nan = run_form(&t->problem, form, 2, touched);
            for (size_t i = 0; i < t->outputs; i++) {
                bool moves = fabs((double)naive[i] - (double)naive_moved[i]) > noticeable;
                bool stays = !moves && same_bits(y + i, y_moved + i, 1);
                ck_assert_msg(stays || isnan((double)y_nan[i]), "%s: entry %zu hides NaN", form->name, i);
                ck_assert_msg(i / out == image || same_bits(y + i, y_nan + i, 1), "%s: entry %zu", form->name, i);
            }
        }
    }
}

void property_memory(const struct fixture *t)
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
        for (size_t r = 1; r < PROBLEM_TENSORS; r++) {
            struct problem bare = t->problem;
            size_t before = memory_in_use();
            if (!bare.tensor[r].data) continue;
            bare.tensor[r].data = NULL;
            rejected(plan_create(&plan, &bare, form_at(t, f), 2), STATUS_FAILURE, "has no data yet");
            ck_assert_uint_eq(memory_in_use(), before);
        }
        form_without_memory(t, form_at(t, f));
    }
}

void property_bytes(const struct fixture *t)
{
    struct problem shape = t->problem;
    real *y = zeros(t->outputs);
    for (size_t r = 0; r < PROBLEM_TENSORS; r++) shape.tensor[r].data = NULL;
    for (int f = 0; form_at(t, f); f++)
        for (int threads = 1; threads <= 3; threads++) {
            struct plan plan;
            size_t before = memory_in_use();
            succeeds(plan_prepare(&plan, &shape, form_at(t, f), threads));
            size_t said = memory_in_use() - before + arena_bytes(&plan.arena);
            plan_release(&plan);
            memory_reset_peak();
            succeeds(plan_create(&plan, &t->problem, form_at(t, f), threads));
            succeeds(plan_run(&plan, y, t->x));
            plan_release(&plan);
            ck_assert_msg(memory_peak() - before == said, "%s, %d threads: took %zu bytes, said %zu",
                          form_at(t, f)->name, threads, memory_peak() - before, said);
        }
}

void property_shared_scratch(const struct fixture *t)
{
    struct plan plan[OPERATOR_FORMS];
    real *expected[OPERATOR_FORMS], *y = zeros(t->outputs);
    size_t bytes = 0;
    int plans = 0;
    for (; form_at(t, plans); plans++) {
        expected[plans] = run_form(&t->problem, form_at(t, plans), 2, t->x);
        succeeds(plan_prepare(&plan[plans], &t->problem, form_at(t, plans), 2));
        size_t needed = arena_scratch_bytes(&plan[plans].arena);
        if (needed > bytes) bytes = needed;
    }
    unsigned char *workspace = memory_get(bytes, 1);
    ck_assert_ptr_nonnull(workspace);
    size_t before = memory_in_use(), kept = 0;
    for (int f = 0; f < plans; f++) {
        succeeds(plan_allocate(&plan[f], workspace));
        succeeds(plan_load(&plan[f]));
        kept += arena_bytes(&plan[f].arena) - arena_scratch_bytes(&plan[f].arena);
        ck_assert_uint_eq(memory_in_use() - before, kept);
    }
    for (int turn = 0; turn < 3 * plans; turn++) {
        int f = turn % plans;
        memset(workspace, 0xff, bytes);     /* NaN, or an integer out of range */
        succeeds(plan_run(&plan[f], y, t->x));
        ck_assert_msg(same_bits(y, expected[f], t->outputs), "%s: turn %d", plan[f].form->name, turn);
    }
    for (int f = 0; f < plans; f++) plan_release(&plan[f]);
    memory_free(workspace);
}

void property_loads_again(const struct fixture *t)
{
    size_t count = problem_parameters(&t->problem);
    real *before = parameters_of(&t->problem), *y = zeros(t->outputs);
    for (int f = 0; form_at(t, f); f++) {
        struct plan plan;
        real *first = run_form(&t->problem, form_at(t, f), 2, t->x);
        succeeds(plan_create(&plan, &t->problem, form_at(t, f), 2));
        succeeds(plan_run(&plan, y, t->x));
        set_parameters(&t->problem, before, (real)0.75);
        size_t bytes = memory_in_use();
        succeeds(plan_load(&plan));
        ck_assert_uint_eq(memory_in_use(), bytes);
        succeeds(plan_run(&plan, y, t->x));
        plan_release(&plan);
        real *other = run_form(&t->problem, form_at(t, f), 2, t->x);
        ck_assert_msg(same_bits(y, other, t->outputs), "%s", form_at(t, f)->name);
        if (count) unequal(y, first, t->outputs);           /* a mean has no parameters */
        set_parameters(&t->problem, before, 1);
    }
}

void property_overflow(const struct problem *p)
{
    const struct form *form;
    size_t before = memory_in_use();
    memory_set_limit(before + (1 << 20));
    for (int f = 0; (form = operator_form_at(p->declaration, f)); f++) {
        struct plan plan;
        status s = plan_prepare(&plan, p, form, 1);
        if (s.code && f > 1) {
            rejected(s, STATUS_BAD_INPUT, "too many for a library's product");
            continue;
        }
        succeeds(s);
        if (arena_bytes(&plan.arena) > 1 << 20)
            rejected(plan_allocate(&plan, NULL), STATUS_FAILURE, "not enough memory");
        plan_release(&plan);
    }
    memory_set_limit(0);
    ck_assert_uint_eq(memory_in_use(), before);
}
