/* test_threads.c -- eight threads of a caller, each with its own problems, plans, runs and files
 *
 * `make races` runs this suite under clang's thread sanitizer, which detects a race even if the bits are right. */

#define _GNU_SOURCE 1           /* sched_setaffinity */

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include "../support/cases.h"
#include "../support/folder.h"
#include "../../reference/io/safetensors.h"
#include "../../reference/hilo.h"

#define THREADS 8
#define MOST 160                /* forms of all operators */

/* A form, its fixture, and its output with one thread and with two when it runs alone. */
static struct item { struct fixture fixture; const struct form *form; real *alone[2]; } all[MOST];
static int count;

static void prepare_all(void)
{
    count = 0;
    for (int o = 0; o < operator_count; o++) {
        struct problem p;
        struct operator_case c = {.declaration = every[o]};
        static const char *const grids[] = {"", "7", "4x6", "2x3x4"};
        int axes = usual_axes(c.declaration);
        required(c.options, sizeof c.options, c.declaration, grids[axes], kernels[axes]);
        succeeds(case_shape(&p, &c));
        struct fixture t = fixture_of(p);
        const struct form *form;
        for (int f = 0; (form = operator_form_at(c.declaration, f)) && count < MOST; f++) {
            all[count] = (struct item){.fixture = t, .form = form};
            for (int threads = 1; threads <= 2; threads++)
                all[count].alone[threads - 1] = fixture_run(&t, form->name, threads);
            count++;
        }
    }
    ck_assert_int_gt(count, operator_count);
    ck_assert_int_lt(count, MOST);
}

struct worker { int number, step, rounds, threads, wrong; pthread_barrier_t *start; };

static void *work(void *argument)
{
    struct worker *w = argument;
    real *y = memory_reals(100000, 1, 1, 1);
    pthread_barrier_wait(w->start);
    for (int round = 0; round < w->rounds; round++) {
        const struct item *item = &all[(w->number * w->step + round) % count];
        struct problem p = item->fixture.problem;
        struct plan plan;
        status s = plan_create(&plan, &p, item->form, w->threads);
        for (int run = 0; run < 2 && !s.code; run++) {
            s = plan_run(&plan, y, item->fixture.x);
            if (!s.code) w->wrong += !same_bits(y, item->alone[w->threads - 1], item->fixture.outputs);
        }
        w->wrong += s.code != 0;
        plan_release(&plan);
    }
    memory_free(y);
    return NULL;
}

static int wrong_in_eight(void *(*job)(void *), int step, int rounds, int threads)
{
    pthread_t thread[THREADS];
    pthread_barrier_t start;
    struct worker w[THREADS];
    int wrong = 0;
    ck_assert_int_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){i, step, rounds, threads, 0, &start};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, job, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        wrong += w[i].wrong;
    }
    pthread_barrier_destroy(&start);
    return wrong;
}

/* Different operators or the same, with one thread per plan or two, give the bits that they give alone. */
TEST(plans_in_eight_threads_are_independent)
{
    prepare_all();
    ck_assert_int_eq(wrong_in_eight(work, 5, count, 1), 0);
    ck_assert_int_eq(wrong_in_eight(work, 0, count, 1), 0);
    ck_assert_int_eq(wrong_in_eight(work, 5, count, 2), 0);
}

struct use { struct plan *plan; const real *x; real *y; status s; };

/* Runs a plan, or releases it if y is NULL. */
static void *use_plan(void *argument)
{
    struct use *u = argument;
    if (u->y) u->s = plan_run(u->plan, u->y, u->x);
    else plan_release(u->plan);
    return NULL;
}

/* One thread creates a plan, two others run it, a fourth releases it.  OpenMP's number of threads stays as set. */
TEST(a_plan_may_move_between_threads)
{
    prepare_all();
    omp_set_num_threads(3);
    for (int n = 0; n < count; n++) {
        struct plan plan;
        succeeds(plan_create(&plan, &all[n].fixture.problem, all[n].form, 2));
        for (int turn = 0; turn < 3; turn++) {
            struct use u = {&plan, all[n].fixture.x, turn < 2 ? zeros(all[n].fixture.outputs) : NULL, {0}};
            pthread_t thread;
            ck_assert_int_eq(pthread_create(&thread, NULL, use_plan, &u), 0);
            pthread_join(thread, NULL);
            succeeds(u.s);
            ck_assert(!u.y || same_bits(u.y, all[n].alone[1], all[n].fixture.outputs));
            ck_assert_int_eq(omp_get_max_threads(), 3);
        }
    }
}

/* Binds OpenMP's threads to one processor, or undoes it. */
static void share_one_processor(bool bind)
{
    static cpu_set_t everywhere;
    cpu_set_t first;
    int n = 0;
    if (bind) ck_assert_int_eq(sched_getaffinity(0, sizeof everywhere, &everywhere), 0);
    while (!CPU_ISSET(n, &everywhere)) n++;
    CPU_ZERO(&first);
    CPU_SET(n, &first);
    #pragma omp parallel num_threads(THREADS)
    sched_setaffinity(0, sizeof first, bind ? &first : &everywhere);
}

/* Eight threads on one processor: when one takes the last item of a step, others are interrupted within theirs.  Memory
 * is NaN before each of 40 runs. */
TEST(lofi_waits_for_all_threads)
{
    struct fixture t = fixture("--grid 48x48 --heads 8 --alpha 1 --pooled-queries", &hilo, 1, 512, "", "");
    real *alone = fixture_run(&t, "fast", 1), *y = zeros(t.outputs);
    struct plan plan;
    int same = 0;
    succeeds(plan_create(&plan, &t.problem, operator_form(&hilo, "fast"), THREADS));
    share_one_processor(true);
    for (int again = 0; again < 40; again++) {
        succeeds(plan_run(&plan, y, t.x));
        same += same_bits(y, alone, t.outputs);
    }
    share_one_processor(false);
    plan_release(&plan);
    ck_assert_int_eq(same, 40);
}

/* A valid header, and headers with errors: in the JSON, in an entry, after the JSON. */
static const char *const headers[] = {
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}",
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":0,16]}}",
    "{\"a\";{}}",
    "{\"missing\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,12]}}",
    "{\"a\":{}} and more",
};

/* The files, each with its status in a single thread. */
static struct { char path[64]; status s; } file[COUNT(headers)];
static const float four[] = {4, 1, 2, 3};

static status read_file(size_t n)
{
    struct tensors list;
    status s = safetensors_read(&list, file[n].path);
    for (size_t i = 0; i < COUNT(four) && !s.code; i++)
        if (list.count != 1 || (float)list.tensor[0].data[i] != four[i]) s = failure("other numbers");
    tensors_release(&list);
    return s;
}

static void *read_files(void *argument)
{
    struct worker *w = argument;
    pthread_barrier_wait(w->start);
    for (int round = 0; round < w->rounds; round++) {
        size_t n = (size_t)(w->number + round) % COUNT(file);
        status s = read_file(n);
        w->wrong += s.code != file[n].s.code || strcmp(s.message, file[n].s.message) != 0;
    }
    return NULL;
}

/* One valid and four broken files, 600 times per thread, give the numbers and messages of a single thread. */
START_TEST(eight_threads_read_files)
{
    for (size_t n = 0; n < COUNT(headers); n++) {
        char bytes[160] = {(char)strlen(headers[n])};
        size_t length = 8 + strlen(headers[n]);
        memcpy(bytes + 8, headers[n], length - 8);
        memcpy(bytes + length, four, sizeof four);
        snprintf(file[n].path, sizeof file[n].path, "%zu", n);
        file_write(file[n].path, bytes, length + sizeof four);
        file[n].s = read_file(n);
        ck_assert_int_eq(file[n].s.code, n ? STATUS_BAD_INPUT : 0);
        for (size_t m = 0; m < n; m++) ck_assert_str_ne(file[n].s.message, file[m].s.message);
    }
    ck_assert_int_eq(wrong_in_eight(read_files, 0, 600, 1), 0);
}

/* Forms that leave each thread's rows to a library's matrix product, which may sum in another order for another number
 * of rows (chapters/appendices/using.md).  An empty option means all options. */
static const struct { const char *name, *form, *option; } by_library[] = {
    {"msa", "naive", ""}, {"msa", "plain", ""}, {"sra", "naive", ""}, {"sra", "plain", ""}, {"lisa", "naive", ""},
    {"lisa", "plain", ""}, {"lisa", "fast", ""}, {"lisa", "fftw", ""}, {"structsa", "naive", ""},
    {"structsa", "plain", ""}, {"elsa", "naive", ""}, {"elsa", "plain", ""}, {"elsa", "fast", "--variant final"},
    {"dfc-cp", "fast", ""}, {"hilo", "naive", ""}, {"hilo", "plain", ""}, {"head", "layer", ""},
};

static bool is_by_library(const struct operator_case *c, const struct form *form)
{
    for (size_t n = 0; n < COUNT(by_library); n++)
        if (!strcmp(c->declaration->name, by_library[n].name) && !strcmp(form->name, by_library[n].form)
            && strstr(c->options, by_library[n].option))
            return true;
    return false;
}

/* With 2, 3, 5 and 8 threads.  Forms in by_library need only repeat their own bits; their tolerance is 1e4 u of the
 * largest entry, which a missing item of work exceeds. */
TESTS(every_option_gives_the_bits_of_one_thread, plain_count)
{
    static const int numbers[] = {2, 3, 5, THREADS};
    struct problem p;
    const struct form *form;
    status s = case_shape(&p, &cases[_i]);
    if (cases[_i].chosen && s.code == STATUS_BAD_INPUT) return;
    succeeds(s);
    struct fixture t = fixture_of(p);
    for (int f = 0; (form = operator_form_at(cases[_i].declaration, f)); f++) {
        real *alone = fixture_run(&t, form->name, 1);
        for (size_t n = 0; n < COUNT(numbers); n++) {
            int threads = numbers[n];
            real *first = fixture_run(&t, form->name, threads);
            ck_assert(same_bits(fixture_run(&t, form->name, threads), first, t.outputs));
            if (!is_by_library(&cases[_i], form))
                ck_assert_msg(same_bits(first, alone, t.outputs), "%s %s: %s with %d threads",
                              cases[_i].declaration->name, cases[_i].options, form->name, threads);
            else within(form->name, relative_difference(first, alone, t.outputs), 1e4 * UNIT_ROUNDOFF);
        }
    }
}

int main(void)
{
    enumerate_cases(operator_or_layer_at);
    Suite *suite = suite_of_tests("threads");
    tcase_add_test(add_folder_case(suite, "files"), eight_threads_read_files);
    return run_suite(suite);
}
