/* test_emulator.c -- the emulator finds what is planted, lets pass what is right, and counts
 *
 * tests/kernels.cu has the kernels.  That the rungs of fast/cuda pass (test_cuda.c) says
 * something only if their mistakes would be found: here are mistakes. */

#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "kernels.h"
#include "support.h"

#define SEEDS 20

/* Claim      A kernel with a mistake fails, whatever the order of its threads, and the
 *            message names the line: barriers that are missing, missed or not one; races in
 *            a warp, in a block and between blocks, with atomics too; shuffles and products with
 *            lanes that do not come; factors that nobody rounded; indices out of range at both
 *            ends, halos and tails among them; wide accesses off their place; too much memory, static
 *            and dynamic together if the launch does not ask for more than 48 KiB.
 * Measure    The status and its message, for 20 seeds; and that a right kernel passes after it.
 * Would it fail?  Seen with blocks and warps that do not race, a meeting of some lanes that
 *            orders all, shuffles that order memory, barriers that are all one, atomics that
 *            leave no trace, stacks that nobody looks at, and static memory that is not added. */
START_TEST(planted_mistakes_are_found)
{
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        emulator_watch(seed % 2, seed);
        status s = planted[_i].run(y, x);
        ck_assert_msg(s.code == STATUS_FAILURE, "%s, seed %u: %s", planted[_i].name, seed,
                      s.code ? s.message : "not found");
        ck_assert_msg(strstr(s.message, planted[_i].complaint) != NULL, "%s: '%s' lacks '%s'", planted[_i].name,
                      s.message, planted[_i].complaint);
        ck_assert_msg(names_a_marked_line(s.message), "%s: '%s' names another line", planted[_i].name, s.message);
        ck_assert_uint_eq(emulator_launches(), 0);
        if (seed == 1) printf("%s: %s\n", planted[_i].name, s.message);
        succeeds(right[3].run(y, x));
    }
    emulator_watch(false, 0);
}
END_TEST

/* Claim      So does what two branches do to each other that have not joined: a join that is missing,
 *            words that one writes and the other writes, reads or adds to, in a kernel or by the
 *            library, whichever comes first; and a branch in a branch, or of a form that never said it has one.
 * Measure    As above.  Kernels of the run that came before the mistake are counted, the one
 *            that has it is not.
 * Would it fail?  Seen with readers of both branches that are taken for those of the last, with
 *            adders that are, with libraries that leave no trace, or one as long as a row and a column, and
 *            without a look at branches. */
START_TEST(branches_that_meet_are_found)
{
    const struct meeting_branches *b = &meeting_branches[_i];
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        emulator_watch(true, seed);
        status s = b->planted.run(y, x);
        ck_assert_msg(s.code == STATUS_FAILURE, "%s, seed %u: not found", b->planted.name, seed);
        ck_assert_msg(strstr(s.message, b->planted.complaint) != NULL, "%s: '%s' lacks '%s'", b->planted.name,
                      s.message, b->planted.complaint);
        ck_assert_msg(b->library || names_a_marked_line(s.message), "%s: '%s' names another line", b->planted.name,
                      s.message);
        ck_assert_uint_le(emulator_launches(), b->launches_before);
        if (seed < 3) printf("%s: %s\n", b->planted.name, s.message);
        succeeds(right[right_count - 1].run(y, x));
    }
    emulator_watch(false, 0);
}
END_TEST

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Claim      Right kernels pass and compute what they should, in 20 orders of their
 *            threads: reductions in blocks and warps, half warps with masks of their own,
 *            threads that leave early, votes, halos, atomics, a transposition, wide
 *            accesses.  Memory that nobody wrote is not a number, shared or the device's.
 * Tolerance  None: whole numbers.
 * Would it fail?  Seen with readers of a warp that are never forgotten, with lanes that have
 *            ended waited for, with shared memory of zeros, and with device memory left as it was. */
START_TEST(right_kernels_pass)
{
    real *x = integers(1, KERNEL_REALS, 9);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        real *y = zeros(KERNEL_REALS);
        emulator_watch(seed % 2, seed);
        succeeds(right[_i].run(y, x));
        for (int i = 0; i < right[_i].outputs; i++)
            ck_assert_msg(same((double)y[i], right[_i].expected(x, i)), "%s, seed %u: y[%d] is %g, expected %g",
                          right[_i].name, seed, i, (double)y[i], right[_i].expected(x, i));
    }
    emulator_watch(false, 0);
}
END_TEST

/* Claim      The emulator's product of a warp has the fragments that PTX has: where two places
 *            of one are taken for each other, the matrix is another one.
 * Measure    right_kernels_pass has the products themselves, of whole numbers, against the plain
 *            sum; here, that each mistake shows.
 * Would it fail?  Seen with both rows of the sums alike. */
START_TEST(fragments_that_lie_wrong_show)
{
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    int wrong = 0;
    succeeds(misplaced[_i].run(y, x));
    for (int i = 0; i < misplaced[_i].outputs; i++) wrong += (double)y[i] != misplaced[_i].expected(x, i);
    ck_assert_msg(wrong > misplaced[_i].outputs / 4, "%s: only %d show", misplaced[_i].name, wrong);
}
END_TEST

/* Claim      Factors are the nearest of 11 digits, halves away from zero (cvt.rna.tf32), or of 8,
 *            halves to the even one (cvt.rn.bf16x2); infinities stay, what is too large becomes
 *            one, and NaN is NaN.
 * Paper      NVIDIA, PTX ISA, cvt.
 * Tolerance  None.
 * Would it fail?  Seen with digits cut off, and with halves rounded the other way. */
START_TEST(factors_are_rounded_to_the_nearest)
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
END_TEST

/* Claim      Known accesses have known counts, in any order of the threads: 32 floats in
 *            step are 4 sectors, 32 apart 32, all the same 1, off by one 5, in double 8, 32,
 *            1 and 9; in shared memory a stride of 2 words takes 2 cycles, one of 32 takes
 *            32, one of 33 takes 1; a double is two words.  A shared load of 16 bytes takes 4
 *            cycles and one of 8 takes 2, however many lanes are active; half of that if all
 *            active lanes n and n ^ 1, or all n and n ^ 2, have the same address.  Lanes that leave out a turn
 *            of a loop do not meet others a turn too early, where the warp meets at its end.
 * Paper      NVIDIA developer forum, thread 77228.
 * Would it fail?  Seen with sectors of 64 bytes, with 16 banks, without quarters, with
 *            requests that go on where a warp has met.  Seen also with loads that only the
 *            banks limit, and with pairs of lanes n and n ^ 4. */
START_TEST(known_accesses_have_known_counts)
{
    real *x = integers(1, KERNEL_REALS, 9), *y = zeros(KERNEL_REALS);
    const struct launch_counts *e = &counted[_i].expected;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        emulator_watch(true, seed);
        succeeds(counted[_i].run(y, x));
        ck_assert_uint_eq(emulator_launches(), 1);
        ck_assert_ptr_null(emulator_launch(1));
        const struct launch_counts *c = emulator_launch(0);
        const struct { const char *what; unsigned long long is, expected; } row[] = {
            {"blocks", c->blocks, e->blocks}, {"threads", c->threads, e->threads},
            {"shared_bytes", c->shared_bytes, e->shared_bytes}, {"requests", c->requests, e->requests},
            {"sectors", c->sectors, e->sectors}, {"asked", c->asked, e->asked}, {"touched", c->touched, e->touched},
            {"shared_requests", c->shared_requests, e->shared_requests}, {"wavefronts", c->wavefronts, e->wavefronts},
            {"partial", c->partial, e->partial}, {"barriers", c->barriers, e->barriers},
            {"exchanges", c->exchanges, e->exchanges}, {"atomics", c->atomics, e->atomics},
            {"products", c->products, e->products},
        };
        for (size_t n = 0; n < COUNT(row); n++)
            ck_assert_msg(row[n].is == row[n].expected, "%s, seed %u: %s %llu, expected %llu", counted[_i].name, seed,
                          row[n].what, row[n].is, row[n].expected);
    }
    emulator_watch(false, 0);
}
END_TEST

/* Claim      A launch that no device takes is refused: no threads, too many, too deep, too
 *            large a grid, too much shared memory, sizes beyond 32 bits.
 * Would it fail?  Seen with sizes that were cut to 32 bits, 2^32 + 1 to 1. */
START_TEST(launches_that_no_device_takes_are_refused)
{
    static const struct { size_t x, y, z, across, down, deep, bytes; const char *complaint; } bad[] = {
        {0, 1, 1, 32, 1, 1, 0, "which no device takes"},           {1, 1, 1, 0, 1, 1, 0, "which no device takes"},
        {1, 1, 1, 1025, 1, 1, 0, "which no device takes"},         {1, 1, 1, 32, 33, 1, 0, "which no device takes"},
        {1, 1, 1, 1, 1, 65, 0, "which no device takes"},           {1, 65536, 1, 32, 1, 1, 0, "which no device takes"},
        {1, 1, 65536, 32, 1, 1, 0, "which no device takes"},
        {(size_t)1 << 31, 1, 1, 32, 1, 1, 0, "which no device takes"},
        {SIZE_MAX > UINT32_MAX ? SIZE_MAX / UINT32_MAX : SIZE_MAX, 1, 1, 32, 1, 1, 0, "which no device takes"},
        {1, 1, 1, 32, 1, 1, (227 << 10) + 1, "asks for 232449 bytes of shared memory"},
    };
    for (size_t n = 0; n < COUNT(bad); n++)
        refused(launch_nothing(bad[n].x, bad[n].y, bad[n].z, bad[n].across, bad[n].down, bad[n].deep, bad[n].bytes),
                STATUS_FAILURE, bad[n].complaint);
    succeeds(launch_nothing(3, 2, 2, 16, 8, 8, 227 << 10));
}
END_TEST

/* Claim      Launches have the limits of the device that is named, sm_90 if none is: the largest
 *            shared memory of a block is accepted, one byte more is rejected, and without 8.0
 *            so is a product in TF32.  A name that is not known changes nothing.
 * Paper      NVIDIA, CUDA C++ Programming Guide, technical specifications per compute capability.
 * Would it fail?  Seen with one limit for all devices, and with products on all. */
START_TEST(devices_have_their_limits)
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
        snprintf(complaint, sizeof complaint, "of shared memory, of which there are %zu", most);
        succeeds(launch_nothing(1, 1, 1, 32, 1, 1, most));
        refused(launch_nothing(1, 1, 1, 32, 1, 1, most + 1), STATUS_FAILURE, complaint);
        status s = tensor_product(y, x);
        if (device[n].products) succeeds(s);
        else refused(s, STATUS_FAILURE, "found compute capability 7.5, expected at least 8.0");
    }
}
END_TEST

/* Claim      The seed draws the order of the threads, and the same seed the same order;
 *            each comes once; counting changes nothing of that.
 * Would it fail?  Seen with threads that go by their number. */
START_TEST(the_seed_draws_the_order)
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
END_TEST

/* Claim      The seed draws which of two branches comes first, too.
 * Measure    20 seeds: either order, at least five times.
 * Would it fail?  Seen with branches that always come first. */
START_TEST(the_seed_draws_which_branch_comes_first)
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
END_TEST

struct worker { unsigned seed; const real *x; int wrong; };

/* Right kernels, counted ones and mistakes in turn, each as it is alone. */
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
        for (int k = 0; k < planted_count; k++)
            w->wrong += !strstr(planted[k].run(y, w->x).message, planted[k].complaint);
        for (int k = 0; k < right_count; k++) {
            memset(y, 0, sizeof y);
            w->wrong += right[k].run(y, w->x).code;
            for (int i = 0; i < right[k].outputs; i++) w->wrong += !same((double)y[i], right[k].expected(w->x, i));
        }
    }
    emulator_watch(false, 0);
    return NULL;
}

/* Claim      Two threads of the process emulate at once, and do not meet.
 * Would it fail?  Seen with one machine for all threads. */
START_TEST(threads_emulate_at_once)
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
END_TEST

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

/* Claim      Where there is no memory for the stacks of a block's threads the launch fails,
 *            and the next one, with memory, does not.
 * Measure    32 MiB more than the process has, of the 136 that 1024 stacks take; on a thread
 *            that has no stacks yet.
 * Would it fail?  Seen with malloc's answer not looked at. */
START_TEST(memory_that_fails_is_a_status_of_the_launch)
{
    status s[2] = {bad_input("no limit could be set"), status_ok()};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, launch_without_memory, s), 0);
    pthread_join(thread, NULL);
    refused(s[0], STATUS_FAILURE, "memory");
    succeeds(s[1]);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("emulator");
    TCase *finds = add_case(suite, "what it finds");
    tcase_add_loop_test(finds, planted_mistakes_are_found, 0, planted_count);
    tcase_add_loop_test(finds, branches_that_meet_are_found, 0, meeting_count);
    tcase_add_loop_test(finds, right_kernels_pass, 0, right_count);
    tcase_add_loop_test(finds, fragments_that_lie_wrong_show, 0, misplaced_count);
    tcase_add_test(finds, factors_are_rounded_to_the_nearest);
    tcase_add_test(finds, launches_that_no_device_takes_are_refused);
    tcase_add_test(finds, devices_have_their_limits);
    tcase_add_test(finds, the_seed_draws_the_order);
    tcase_add_test(finds, the_seed_draws_which_branch_comes_first);
    tcase_add_test(finds, threads_emulate_at_once);
#if !defined __SANITIZE_ADDRESS__
    tcase_add_test(finds, memory_that_fails_is_a_status_of_the_launch);
#endif
    TCase *counts = add_case(suite, "what it counts");
    tcase_add_loop_test(counts, known_accesses_have_known_counts, 0, counted_count);
    return run_suite(suite);
}
