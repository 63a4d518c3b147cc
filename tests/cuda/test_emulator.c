/* test_emulator.c -- the emulator reports each injected fault, passes correct kernels, and counts exactly
 *
 * kernels.cu has the kernels and what is expected of them. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include "kernels.h"
#include "../support/support.h"

#define SEEDS 20

/* The launch fails with a message that names the line, and only earlier launches are counted. */
TESTS(injected_faults_are_found, fault_count)
{
    const struct fault *f = &faults[_i];
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        emulator_watch(seed % 2, seed);
        status s = f->run(y, x);
        ck_assert_msg(s.code == STATUS_FAILURE, "%s, seed %u: %s", f->name, seed, s.code ? s.message : "not found");
        ck_assert_msg(strstr(s.message, f->message) != NULL, "%s: '%s' lacks '%s'", f->name, s.message, f->message);
        ck_assert_msg(f->library || names_a_marked_line(s.message), "%s: '%s' names another line", f->name, s.message);
        ck_assert_uint_le(emulator_launches(), f->launches_before);
        if (seed == 1) printf("%s: %s\n", f->name, s.message);
        succeeds(correct[seed % (unsigned)correct_count].run(y, x));
    }
    emulator_watch(false, 0);
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Inputs are small whole numbers: no tolerance.  Unwritten memory holds NaN. */
TESTS(correct_kernels_pass, correct_count)
{
    real *x = integers(1, KERNEL_REALS, 9);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        real *y = zeros(KERNEL_REALS);
        emulator_watch(seed % 2, seed);
        succeeds(correct[_i].run(y, x));
        for (int i = 0; i < correct[_i].outputs; i++)
            ck_assert_msg(same((double)y[i], correct[_i].expected(x, i)), "%s, seed %u: y[%d] is %g, expected %g",
                          correct[_i].name, seed, i, (double)y[i], correct[_i].expected(x, i));
    }
    emulator_watch(false, 0);
}

/* PTX ISA, cvt: 11 binary digits, halves away from zero (cvt.rna.tf32), or 8, halves to even (cvt.rn.bf16x2). */
TEST(factors_are_rounded_to_the_nearest)
{
    static const struct { float value; float tf32, bf16; } row[] = {
        {0, 0, 0}, {1, 1, 1}, {-1.5f, -1.5f, -1.5f},
        {1 + 0x1p-10f, 1 + 0x1p-10f, 1}, {1 + 0x1p-11f, 1 + 0x1p-10f, 1}, {1 + 3 * 0x1p-11f, 1 + 0x1p-9f, 1},
        {1 + 0x1p-12f, 1, 1}, {-1 - 0x1p-11f, -1 - 0x1p-10f, -1}, {1 + 0x1p-11f - 0x1p-23f, 1, 1},
        {1 + 0x1p-8f, 1 + 0x1p-8f, 1}, {1 + 3 * 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-6f},
        {1 + 0x1p-8f + 0x1p-23f, 1 + 0x1p-8f, 1 + 0x1p-7f}, {-1 - 3 * 0x1p-8f, -1 - 3 * 0x1p-8f, -1 - 0x1p-6f},
        {0x1.fffffep127f, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY},
    };
    for (size_t n = 0; n < COUNT(row); n++) {
        ck_assert_msg(rounded(row[n].value, 11) == row[n].tf32, "%a: %a in TF32", (double)row[n].value,
                      (double)rounded(row[n].value, 11));
        ck_assert_msg(rounded(row[n].value, 8) == row[n].bf16, "%a: %a in BF16", (double)row[n].value,
                      (double)rounded(row[n].value, 8));
    }
    ck_assert(isnan(rounded(NAN, 11)) && isnan(rounded(NAN, 8)));
}

static const char *text_of(const struct launch_counts *c)
{
    char *text = keep(400, 1);
    snprintf(text, 400, "%u blocks, %u threads, %zu shared bytes, %llu requests, %llu sectors, %llu asked, "
             "%llu touched, %llu shared requests, %llu wavefronts, %llu partial, %llu barriers, %llu exchanges, "
             "%llu atomics, %llu products", c->blocks, c->threads, c->shared_bytes, c->requests, c->sectors,
             c->asked, c->touched, c->shared_requests, c->wavefronts, c->partial, c->barriers, c->exchanges,
             c->atomics, c->products);
    return text;
}

/* In any order of threads.  For wide shared loads see fast/cuda/requests.h. */
TESTS(known_accesses_have_known_counts, counted_count)
{
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        emulator_watch(true, seed);
        succeeds(counted[_i].run(y, x));
        ck_assert_uint_eq(emulator_launches(), 1);
        ck_assert_ptr_null(emulator_launch(1));
        const char *is = text_of(emulator_launch(0)), *expected = text_of(&counted[_i].expected);
        ck_assert_msg(!strcmp(is, expected), "%s, seed %u: %s, expected %s", counted[_i].name, seed, is, expected);
    }
    emulator_watch(false, 0);
}

/* The largest first axis is 2^32 + 1, which 32 bits would truncate to 1. */
TEST(launches_that_no_device_takes_are_rejected)
{
    static const struct { size_t x, y, z, across, down, deep, bytes; const char *complaint; } bad[] = {
        {0, 1, 1, 32, 1, 1, 0, "which no device takes"},           {1, 1, 1, 0, 1, 1, 0, "which no device takes"},
        {1, 1, 1, 1025, 1, 1, 0, "which no device takes"},         {1, 1, 1, 32, 33, 1, 0, "which no device takes"},
        {1, 1, 1, 1, 1, 65, 0, "which no device takes"},           {1, 65536, 1, 32, 1, 1, 0, "which no device takes"},
        {1, 1, 65536, 32, 1, 1, 0, "which no device takes"},
        {(size_t)1 << 31, 1, 1, 32, 1, 1, 0, "which no device takes"},
        {SIZE_MAX > UINT32_MAX ? SIZE_MAX / UINT32_MAX : SIZE_MAX, 1, 1, 32, 1, 1, 0, "which no device takes"},
        {1, 1, 1, 32, 1, 1, (227 << 10) + 1, "found 232449 bytes of dynamic shared memory"},
    };
    for (size_t n = 0; n < COUNT(bad); n++)
        rejected(launch_nothing(bad[n].x, bad[n].y, bad[n].z, bad[n].across, bad[n].down, bad[n].deep, bad[n].bytes),
                STATUS_FAILURE, bad[n].complaint);
    succeeds(launch_nothing(3, 2, 2, 16, 8, 8, 227 << 10));
}

/* The most shared memory of a block, and one byte more (NVIDIA, CUDA C++ Programming Guide, technical specifications
 * per compute capability); a product in TF32, which needs 8.0.  NULL is sm_90; an unknown name changes nothing. */
TEST(devices_have_their_limits)
{
    static const struct { const char *name; size_t kibibytes; bool products; } device[] = {
        {"sm_75", 64, false}, {"sm_80", 163, true}, {"sm_86", 99, true}, {"sm_90", 227, true}, {"sm_120", 99, true},
        {NULL, 227, true},
    };
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    for (size_t n = 0; n < COUNT(device); n++) {
        char complaint[60];
        ck_assert(emulator_device(device[n].name));
        ck_assert(!emulator_device("sm_61") && !emulator_device(""));
        if (device[n].name) ck_assert_str_eq(emulator_device_name((int)n), device[n].name);
        else ck_assert_ptr_null(emulator_device_name((int)n));
        size_t most = device[n].kibibytes << 10;
        snprintf(complaint, sizeof complaint, "shared memory, expected at most %zu", most);
        succeeds(launch_nothing(1, 1, 1, 32, 1, 1, most));
        rejected(launch_nothing(1, 1, 1, 32, 1, 1, most + 1), STATUS_FAILURE, complaint);
        status s = tensor_product(y, x);
        if (device[n].products) succeeds(s);
        else rejected(s, STATUS_FAILURE, "found compute capability 7.5, expected at least 8.0");
    }
}

/* The same seed gives the same order, another seed another one. */
TEST(the_seed_sets_the_order_of_threads)
{
    real *before = zeros(KERNEL_REALS);
    for (int counting = 0; counting < 2; counting++)
        for (unsigned seed = 1; seed <= SEEDS; seed++) {
            real *y = zeros(KERNEL_REALS), *again = zeros(KERNEL_REALS);
            bool there[TICKETS] = {false};
            emulator_watch(counting, seed);
            succeeds(take_tickets(y));
            succeeds(take_tickets(again));
            equal(again, y, TICKETS);
            unequal(y, before, TICKETS);
            for (int n = 0; n < TICKETS; n++) {
                ck_assert(!there[(int)y[n]]);
                there[(int)y[n]] = true;
            }
            before = y;
        }
    emulator_watch(false, 0);
}

/* Either branch runs first for at least five of 20 seeds. */
TEST(the_seed_sets_the_order_of_branches)
{
    int first = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        emulator_watch(false, seed);
        bool one = branch_comes_first();
        ck_assert(branch_comes_first() == one);
        first += one;
    }
    emulator_watch(false, 0);
    printf("first in %d of %d\n", first, SEEDS);
    ck_assert(first >= 5 && first <= SEEDS - 5);
}

struct worker { unsigned seed; const real *x; int wrong; };

/* Counts kernels, faults and correct kernels that differ from what is expected. */
static void *work(void *argument)
{
    struct worker *w = argument;
    static _Thread_local real y[KERNEL_REALS];
    for (int round = 0; round < 3; round++) {
        emulator_watch(true, w->seed);
        for (int k = 0; k < counted_count; k++) {
            memset(y, 0, sizeof y);
            w->wrong += counted[k].run(y, w->x).code || emulator_launches() != (size_t)k + 1;
            if (!w->wrong) w->wrong = emulator_launch((size_t)k)->sectors != counted[k].expected.sectors;
        }
        for (int k = 0; k < fault_count; k++)
            w->wrong += !strstr(faults[k].run(y, w->x).message, faults[k].message);
        for (int k = 0; k < correct_count; k++) {
            memset(y, 0, sizeof y);
            w->wrong += correct[k].run(y, w->x).code;
            for (int i = 0; i < correct[k].outputs; i++) w->wrong += !same((double)y[i], correct[k].expected(w->x, i));
        }
    }
    emulator_watch(false, 0);
    return NULL;
}

/* Each thread of the process has its own emulator. */
TEST(threads_emulate_concurrently)
{
    pthread_t thread[2];
    struct worker w[2];
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (struct worker){i, integers(i, KERNEL_REALS, 9), 0};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    ck_assert_int_eq(w[0].wrong + w[1].wrong, 0);
}

#if !defined __SANITIZE_ADDRESS__
static void *launch_without_memory(void *argument)
{
    struct rlimit before, less;
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    status *s = argument;
    if (f && fscanf(f, "%zu", &pages) == 1 && getrlimit(RLIMIT_AS, &before) == 0) {
        less = before;
        less.rlim_cur = pages * 4096 + (32 << 20);
        if (setrlimit(RLIMIT_AS, &less) == 0) {
            s[0] = launch_nothing(1, 1, 1, 1024, 1, 1, 0);
            setrlimit(RLIMIT_AS, &before);
            s[1] = launch_nothing(1, 1, 1, 1024, 1, 1, 0);
        }
    }
    if (f) fclose(f);
    return NULL;
}

/* The address space may grow by 32 MiB; the stacks of 1024 device threads take 136 MiB. */
TEST(a_launch_reports_memory_that_fails)
{
    status s[2] = {bad_input("no limit could be set"), status_ok()};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, launch_without_memory, s), 0);
    pthread_join(thread, NULL);
    rejected(s[0], STATUS_FAILURE, "memory");
    succeeds(s[1]);
}
#endif

int main(void) { return run_tests("emulator"); }
